"""Paired differences: by hand, against scipy, over judges that both sides have, in null worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.differences import (
    HIGHER,
    LOWER,
    NOT_TOLD_APART,
    Difference,
    decided,
    in_both_universes,
    paired_differences,
    sides_of,
)
from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.rater_severity import AdditiveFit

Floats = np.ndarray


def differences(
    table: Floats,
    pairs: list[tuple[int, int]],
    *,
    margin: float | None = None,
) -> list[list[Difference]]:
    """Of scores (sides, prompts, personas, models[, columns]); nan where nothing was scored."""
    table = table if table.ndim == 5 else table[..., None]
    n_sides, n_prompts, n_personas, n_models, n_columns = table.shape
    side, prompt, persona, model = (
        axis.ravel() for axis in np.indices((n_sides, n_prompts, n_personas, n_models))
    )
    sides = sides_of(
        table.reshape(-1, n_columns), np.ones(side.size, dtype=bool), side=side, item=prompt,
        judge=persona * n_models + model, n_sides=n_sides, n_judges=n_personas * n_models,
    )  # fmt: skip
    return paired_differences(
        sides, pairs, prompt_of=np.arange(n_prompts), most=9.0, margin=margin,
        persona=np.repeat(np.arange(n_personas), n_models),
        model=np.tile(np.arange(n_models), n_personas),
    )  # fmt: skip


def world(
    rng: np.random.Generator, *, sides: int = 2, prompts: int = 30, shift: float = 0.0
) -> Floats:
    """Scores of ten personas on three models; side 0 is better by the shift."""
    severity = rng.normal(size=(10, 1)) * 0.5 + rng.normal(size=3)
    quality = rng.normal(size=(sides, prompts, 1, 1))
    quality += rng.normal(size=(1, prompts, 1, 1))
    quality[0] += shift
    return 5 + quality + severity + rng.normal(size=(sides, prompts, 10, 3)) * 0.7


def test_a_complete_design_gives_the_paired_t_test() -> None:
    table = world(np.random.default_rng(1), shift=0.5)
    ((one,),) = differences(table, [(0, 1)])
    first, second = table.mean(axis=(2, 3))
    referee = stats.ttest_rel(first, second)
    low, high = referee.confidence_interval(0.95)
    assert one.this_panel.value == pytest.approx(float((first - second).mean()))
    assert (one.this_panel.low, one.this_panel.high) == pytest.approx((low, high))
    assert one.this_panel.p == pytest.approx(referee.pvalue)
    assert one.won.value == pytest.approx(float((first > second).mean()))
    assert (one.moved, one.n_unbalanced) == (pytest.approx(0.0, abs=1e-12), 0)
    assert one.such_judges.low < one.this_panel.low


def test_a_judge_counts_on_neither_side_where_it_is_missing_on_one() -> None:
    # One persona, three models; side 1 lacks the harsh model on every prompt but those of one pair.
    # Differences of the models that both have are 1 and 1; the plain means would differ by more.
    table = np.full((2, 8, 1, 3), 6.0)
    table[0] += 1.0
    table[:, :, 0, 2] -= 3.0
    table[1, 2:, 0, 2] = np.nan
    table += np.linspace(0, 1, 8)[None, :, None, None]
    ((one,),) = differences(table, [(0, 1)])
    assert one.by_prompt == pytest.approx(np.ones(8))
    # On six of eight prompts: (7 + 7 + 4) / 3 - 6 = 0, so the plain mean is 2/8 and moved 6/8.
    assert one.moved == pytest.approx(0.75)
    assert one.n_unbalanced == 6


def test_a_prompt_with_fewer_than_two_common_judges_is_left_out_and_counted_by_why() -> None:
    table = world(np.random.default_rng(2), prompts=10)
    table[1, 4, :, 1:] = np.nan  # ten of thirty judges are left, which are enough
    table[1, 5].flat[1:] = np.nan  # one judge scored the second side
    table[0, 6].flat[:14] = np.nan  # sixteen judges scored either side, one of them both
    table[1, 6].flat[15:] = np.nan
    ((one,),) = differences(table, [(0, 1)])
    assert (one.this_panel.n, one.this_panel.n_planned) == (8, 10)
    assert one.pairs.reason == (
        "1 scored by fewer than 2 judges on one side; 1 scored on both sides by fewer than 2 of "
        "the same judges"
    )
    assert (one.only_first, one.only_second) == (1, 0)
    table[1] = np.nan
    ((none,),) = differences(table, [(0, 1)])
    assert none.this_panel.reason == "no prompt has 2 judges who scored both"
    assert (none.this_panel.n, none.this_panel.verdict) == (0, None)


def test_one_planned_judge_is_enough_for_a_prompt() -> None:
    table = world(np.random.default_rng(3), prompts=10)[:, :, :1, :1]
    table[1, 4] = np.nan
    ((one,),) = differences(table, [(0, 1)])
    assert (one.this_panel.n, one.this_panel.n_planned) == (9, 10)
    assert one.pairs.reason == "1 scored by no judge on one side"
    table[1] = np.nan
    ((none,),) = differences(table, [(0, 1)])
    assert none.this_panel.reason == "no prompt has a judge who scored both"


def test_votes_missing_at_random_keep_prompts_power_and_coverage() -> None:
    # Three votes in ten missing at random, ten personas on three models: a quorum of two thirds of
    # the judges common to both sides kept 1 of 30 prompts and found nothing.
    kept, higher, covered = 0, 0, 0
    worlds = 60
    for seed in range(worlds):
        rng = np.random.default_rng([7, seed])
        table = world(rng, shift=0.8)
        table[rng.random(table.shape) < 0.3] = np.nan
        ((one,),) = differences(table, [(0, 1)])
        kept += one.this_panel.n
        higher += one.this_panel.verdict == "higher"
        covered += one.this_panel.covers(0.8)
    assert kept == 30 * worlds
    # Without missing votes, the paired t test has a power of .85 at d = .8 / sqrt(2.03), n = 30.
    assert higher / worlds > 0.7
    assert covered / worlds > 0.88


def test_a_model_missing_on_most_prompts_widens_the_interval_by_what_its_effect_is_uncertain() -> (
    None
):
    # Models with tastes of their own: what a model would have said where it is missing is read off
    # the prompts that it scored. With 6 of 30 of them for two of three models, the scatter of
    # freed values alone covers the truth too seldom.
    covered, plainly = 0, 0
    worlds = 150
    for seed in range(worlds):
        rng = np.random.default_rng([11, seed])
        taste = 0.6 * rng.normal(size=3)
        table = world(rng)
        table[0] += taste + 0.8 * rng.normal(size=(30, 1, 3))
        truth = taste.mean()
        table[1, 3:, :, 1] = np.nan
        table[1, :24, :, 2] = np.nan
        ((one,),) = differences(table, [(0, 1)])
        covered += one.this_panel.covers(truth)
        half = stats.t.ppf(0.975, 29) * one.by_prompt.std(ddof=1) / np.sqrt(30)
        plainly += abs(one.by_prompt.mean() - truth) <= half
    assert one.this_panel.value == pytest.approx(one.by_prompt.mean())
    assert covered / worlds > 0.87
    assert covered > plainly


def test_an_additive_fit_takes_out_who_was_missing() -> None:
    # Without error the fit is exact: response + judge.
    rng = np.random.default_rng(3)
    response, judge = rng.normal(size=12), rng.normal(size=5)
    judge -= judge.mean()
    scores = response[:, None] + judge
    counts = np.ones((12, 5))
    counts[3:, 2] = 0
    counts[5, 0] = 0
    fit = AdditiveFit(5, 1)
    for rows in (slice(0, 7), slice(7, 12)):  # in blocks, as a run comes
        fit.add((scores * counts)[rows, :, None], counts[rows])
    assert fit.severity[:, 0] == pytest.approx(judge)
    plain = (scores * counts).sum(axis=1) / counts.sum(axis=1)
    assert plain + fit.moved(counts)[:, 0] == pytest.approx(response)
    assert (fit.moved(counts)[:3] == 0).all()  # nothing is missing there


def test_sides_of_different_severity_sets_are_equal_in_a_null_world() -> None:
    # A third of the second side's prompts lack the harshest model: no difference is made of it.
    rng = np.random.default_rng(4)
    called = 0
    for _ in range(200):
        table = world(rng, prompts=30)
        harshest = int(np.nanmean(table, axis=(0, 1, 2)).argmin())
        table[1, 10:, :, harshest] = np.nan
        ((one,),) = differences(table, [(0, 1)])
        called += one.this_panel.verdict != "not told apart"
    assert called <= 22  # of 10 expected; more than that has a chance of .0003


def test_verdicts_are_those_of_holm_over_all_pairs() -> None:
    rng = np.random.default_rng(5)
    pairs = [(a, b) for a in range(6) for b in range(a)]
    any_called = 0
    for _ in range(60):
        found = differences(world(rng, sides=6, prompts=20), pairs)
        any_called += any(one.this_panel.verdict in ("higher", "lower") for (one,) in found)
    assert any_called <= 9  # of 3 expected; more than that has a chance of .0007
    assert found[0][0].this_panel.family == "15 pairs"


def test_a_planted_difference_is_found_for_such_judges_too() -> None:
    table = world(np.random.default_rng(6), prompts=60, shift=1.5)
    ((one,),) = differences(table, [(0, 1)], margin=0.5)
    assert (one.this_panel.verdict, one.such_judges.verdict) == ("higher", "higher")
    assert one.equivalence is not None
    assert one.equivalence.verdict == "not shown"
    assert one.prompts_needed is not None


def test_a_margin_finds_equal_sides_equivalent_and_says_how_many_prompts_tell_it() -> None:
    rng = np.random.default_rng(7)
    table = world(rng, prompts=100)
    table[1] = table[0] + rng.normal(size=(100, 10, 3)) * 0.3
    ((one,),) = differences(table, [(0, 1)], margin=0.3)
    assert one.equivalence is not None
    assert (one.this_panel.verdict, one.equivalence.verdict) == ("not told apart", "inside")
    table[1] = table[0]
    ((same,),) = differences(table, [(0, 1)], margin=0.3)
    assert same.equivalence is not None
    assert (same.this_panel.verdict, same.equivalence.verdict) == ("not told apart", "inside")


def test_one_model_or_judge_says_for_whom_its_interval_cannot_speak() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=(20, 4, 1))
    counts = np.ones((20, 4))
    (of_personas,) = in_both_universes(
        values, counts, np.arange(4), np.zeros(4, dtype=int), bounds=(-9.0, 9.0)
    )
    assert "personas within one model" in of_personas.such_judges.method
    assert of_personas.such_judges.has_interval
    (alone,) = in_both_universes(values[:, :1], counts[:, :1], [0], [0], bounds=(-9.0, 9.0))
    assert alone.such_judges.reason == "only one judge scored"
    assert not alone.such_judges.has_interval


def test_the_order_of_sides_only_turns_the_sign() -> None:
    table = world(np.random.default_rng(9), shift=0.4)
    ((one,),) = differences(table, [(0, 1)])
    ((other,),) = differences(table, [(1, 0)])
    assert one.this_panel.value == pytest.approx(-other.this_panel.value)
    assert one.such_judges.high == pytest.approx(-other.such_judges.low)
    assert one.won.value + other.won.value == pytest.approx(1 - one.tied.value)


def test_the_composite_and_the_criteria_are_two_families_and_alpha_itself_tells_apart() -> None:
    """Holm by hand: three pairs; then three pairs by two criteria, of which one has no test."""
    values = [[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    p = [[0.02, 0.01, 0.009], [0.025, 0.5, 0.0125], [0.06, math.nan, 0.5]]
    table = [
        [Estimate(value, n=9, p=one) for value, one in zip(*rows, strict=True)]
        for rows in zip(values, p, strict=True)
    ]
    made = decided(table, 0.05)
    adjusted = [[one.p_adjusted for one in row] for row in made]
    # Composite: 3 x .02, max(.06, 2 x .025), max(.06, .06). Criteria, five tests: 5 x .009,
    # max(.045, 4 x .01), max(.045, 3 x .0125), then 2 x .5.
    assert adjusted == [
        pytest.approx([0.06, 0.045, 0.045]),
        pytest.approx([0.06, 1.0, 0.045]),
        pytest.approx([0.06, math.nan, 1.0], nan_ok=True),
    ]
    assert [[one.verdict for one in row] for row in made] == [
        [NOT_TOLD_APART, HIGHER, LOWER],
        [NOT_TOLD_APART, NOT_TOLD_APART, HIGHER],
        [NOT_TOLD_APART, None, NOT_TOLD_APART],
    ]
    assert [one.family for one in made[0]] == [
        "3 pairs", "5 pairs and criteria", "5 pairs and criteria",
    ]  # fmt: skip
    ((exact,),) = decided([[Estimate(1.0, n=9, p=0.05)]], 0.05)
    assert exact.verdict == HIGHER
    ((beyond,),) = decided([[Estimate(1.0, n=9, p=0.0500001)]], 0.05)
    assert beyond.verdict == NOT_TOLD_APART
    assert decided([], 0.05) == []
