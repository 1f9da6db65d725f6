"""Means of many cells: their tests, families, equivalence and verdicts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation import holm, tost
from areopagus.aggregation.effects import Effect, mean_effects, separate_effects
from areopagus.aggregation.sign_flips import sign_flip_tests, skewness_adjusted_flips

NAN = math.nan
TESTS = ("t", "sign flips", "skewness-adjusted flips")


def world(n: int = 20, cells: int = 4, seed: int = 1) -> np.ndarray:
    table = np.random.default_rng(seed).normal(size=(n, cells))
    table[0, 1:2] = NAN
    return table


def equivalence_p(effect: Effect) -> float:
    assert effect.equivalence is not None
    return effect.equivalence.p


def test_each_figure_is_that_of_the_estimator_it_is_named_after() -> None:
    table = world() + np.array([1.5, 0.3, 0.0, -0.2])
    found = mean_effects(table, tests=TESTS, margin=0.5)  # type: ignore[arg-type]
    t = stats.ttest_1samp(table, 0, nan_policy="omit")
    intervals = t.confidence_interval()
    by_test = {
        "t": np.asarray(t.pvalue),
        "sign flips": sign_flip_tests(table).p_value,
        "skewness-adjusted flips": skewness_adjusted_flips(table).p_value,
    }
    for test, p in by_test.items():
        estimates = [effect.tests[test] for effect in found]  # type: ignore[index]
        assert [one.p for one in estimates] == pytest.approx(p)
        assert [one.p_adjusted for one in estimates] == pytest.approx(holm(p))
    for cell, effect in enumerate(found):
        same = tost(table[:, cell], 0.5)
        assert effect.mean.value == pytest.approx(np.nanmean(table[:, cell]))
        assert (effect.mean.low, effect.mean.high) == pytest.approx(
            (intervals.low[cell], intervals.high[cell])
        )
        assert effect.mean.p == effect.tests["skewness-adjusted flips"].p
        assert effect.equivalence is not None
        assert effect.equivalence.level == pytest.approx(0.9)
        assert (effect.equivalence.low, effect.equivalence.high, effect.equivalence.p) == (
            same.low,
            same.high,
            same.p,
        )
    assert [effect.mean.n for effect in found] == [20, 19, 20, 20]


@pytest.mark.parametrize(
    ("shift", "margin", "verdict"),
    [
        (5.0, 2.0, "differs"),
        (1.0, 2.0, "differs within margin"),
        (0.0, 2.0, "equivalent"),
        (0.0, 0.1, "undecided"),
        (5.0, None, "differs"),
        (0.0, None, "undecided"),
    ],
)
def test_the_verdict_says_what_both_tests_say(
    shift: float, margin: float | None, verdict: str
) -> None:
    values = world(30, 1, seed=5)
    effect = mean_effects(values - values.mean() + shift, margin=margin)[0]
    assert effect.mean.verdict == verdict


def test_cells_are_adjusted_within_their_families_alone() -> None:
    table = world()
    apart = mean_effects(table, families=["own", "own", "all", "own"], margin=1.0)
    alone = mean_effects(table[:, [2]], margin=1.0)[0]
    assert apart[2].mean.p_adjusted == apart[2].mean.p == alone.mean.p
    assert apart[2].mean.family == "all"
    own = [apart[cell].mean for cell in (0, 1, 3)]
    assert [one.p_adjusted for one in own] == pytest.approx(holm([one.p for one in own]))
    by_cell = mean_effects(table, margin=1.0, margin_families=list("abcd"))
    assert all(
        one.equivalence is not None and one.equivalence.p_adjusted == one.equivalence.p
        for one in by_cell
    )


def test_cells_that_cannot_be_measured_say_why_and_count_for_nothing() -> None:
    table = np.column_stack([world(8, 1), np.full(8, NAN), np.full(8, 1.0), np.full(8, 3.0)])
    table[1:, 1] = [1.0, 2.0, *[NAN] * 5]  # two values: a mean, no interval
    few, same, apart = mean_effects(table, tests=("t",), margin=2.0)[1:]
    assert few.mean.value == 1.5
    assert few.mean.reason == "2 prompts: an interval needs at least 6"
    for effect in (same, apart):
        assert math.isnan(effect.mean.p)
        assert effect.mean.reason == "the statistic does not vary over prompts"
    # One value for every unit is known: inside the margin, or not.
    assert (equivalence_p(same), same.mean.verdict) == (0.0, "equivalent")
    assert (equivalence_p(apart), apart.mean.verdict) == (1.0, "undefined")
    nothing = mean_effects(np.full((4, 1), NAN), margin=1.0)[0]
    assert nothing.mean.verdict == "undefined"
    assert not nothing.mean.is_defined
    assert math.isnan(equivalence_p(nothing))


def test_units_and_cells_may_stand_in_any_order() -> None:
    table = world(12)
    found = [one.mean for one in mean_effects(table)]
    turned = [one.mean for one in mean_effects(table[::-1, ::-1])][::-1]
    assert [one.p_adjusted for one in turned] == pytest.approx([one.p_adjusted for one in found])
    mirrored = [one.mean for one in mean_effects(-table)]
    assert [one.value for one in mirrored] == pytest.approx([-one.value for one in found])
    assert [one.p for one in mirrored] == pytest.approx([one.p for one in found])


def test_nothing_is_shown_to_be_the_same_below_the_units_that_an_interval_needs() -> None:
    values = np.array([0.01, -0.01, 0.02, 0.0, -0.02, 0.01])
    five, six = (mean_effects(values[:n, None], margin=0.2)[0] for n in (5, 6))
    assert five.equivalence is not None
    assert five.equivalence.reason == five.mean.reason == "5 prompts: an interval needs at least 6"
    assert not five.equivalence.has_interval
    assert (math.isnan(equivalence_p(five)), five.mean.verdict) == (True, "undecided")
    assert (equivalence_p(six) < 0.05, six.mean.verdict) == (True, "equivalent")
    apart = [separate_effects([(values[:2], values[k:])], margin=0.2)[0] for k in (3, 1)]
    assert [one.mean.n for one in apart] == [5, 7]
    assert [one.mean.verdict for one in apart] == ["undecided", "equivalent"]
    assert apart[0].equivalence is not None
    assert "needs 6" in str(apart[0].equivalence.reason)
