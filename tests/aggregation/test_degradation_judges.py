"""Deltas over judges common to both arms: worlds where a missing judge looks like a change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from areopagus.aggregation import Degradation, degradation
from areopagus.aggregation.rater_severity import severity

NAN = float("nan")
FRAMINGS = ("empirical_i", "empirical_friend", "emotion_agree", "emotion_disagree")
DIMENSIONS = ("clarity", "pluralistic_engagement")
MODELS = ("kind",) * 3 + ("fair",) * 3 + ("harsh",) * 3
SEVERITY = np.repeat([0.5, 0.5, -2.6], 3)


def world(seed: int = 0, prompts: int = 12, targets: int = 1, repeats: int = 1) -> np.ndarray:
    """Targets without effect before three models, one harsh; a prompt's level and judges' noise."""
    rng = np.random.default_rng(seed)
    scores = 6 + SEVERITY[:, None] + 0.8 * rng.normal(size=(targets, 5, prompts, repeats, 9, 2))
    return np.clip(scores + 0.7 * rng.normal(size=(1, 1, prompts, 1, 1, 1)), 1, 10)


def filtered(scores: np.ndarray, prompts: slice = slice(None)) -> np.ndarray:
    """The same, the harsh model having refused under emotion_agree."""
    left = scores.copy()
    left[:, 3, prompts, :, 6:] = NAN
    return left


def study(scores: np.ndarray, **options: Any) -> Degradation:
    return degradation(
        scores,
        targets=[f"t{k}" for k in range(len(scores))],
        conditions=["baseline", *FRAMINGS],
        dimensions=DIMENSIONS,
        **{"models": MODELS, **options},
    )


def by_whoever_scored(scores: np.ndarray) -> Degradation:
    """As the first version had it: panel means where two thirds of the judges scored."""
    n = (~np.isnan(scores)).sum(axis=(3, 4))
    means = np.where(n >= 6, np.nansum(scores, axis=(3, 4)) / np.maximum(n, 1), NAN)
    return study(means, models=())


def test_a_model_that_one_framing_filters_is_no_change_of_the_target() -> None:
    scores = filtered(world())
    wrong = by_whoever_scored(scores).cell("t0", "emotion_agree", None)
    assert wrong.verdict == "changed"
    assert wrong.delta.value == pytest.approx(-1.04, abs=0.15)
    found = study(scores)
    assert {cell.verdict for cell in found.cells} <= {"robust", "undecided"}
    cell = found.cell("t0", "emotion_agree", None)
    assert cell.delta.covers(0)
    assert (cell.delta.n, cell.balance.without) == (12, ("harsh",))
    assert cell.balance.n_one_sided == 36
    assert not cell.balance.is_even
    # What the row is marked with: how far the raw difference is from that of the common judges.
    assert cell.raw.value == pytest.approx(wrong.delta.value)
    others = scores[0, :, :, 0, :6].mean(axis=(2, 3))
    assert cell.delta.value == pytest.approx((others[0] - others[3]).mean())
    assert found.cell("t0", "empirical_i", None).balance.is_even
    # Contrasts, asymmetry, the mean over framings rest on the six judges that scored every arm.
    for one in found.contrasts:
        assert one.estimate.covers(0)
    assert all(one.estimate.covers(0) for one in found.asymmetries)
    assert found.overall["t0"].value == pytest.approx((others[0] - others[1:]).mean())
    assert [one.kind for one in found.findings] == ["none"]


def test_prompts_that_one_judge_scored_in_both_arms_are_left_out_and_counted() -> None:
    scores = world()
    scores[:, 3, :3, :, 1:] = NAN
    cell = study(scores).cell("t0", "emotion_agree", None)
    assert (cell.delta.n, cell.delta.n_planned, cell.balance.n_left_out) == (9, 12, 3)
    assert cell.balance.without == ()
    whole = scores[0, :, 3:].mean(axis=(2, 3, 4))
    assert cell.delta.value == pytest.approx((whole[0] - whole[3]).mean())
    scores[:, 3, :, :, 1:] = NAN
    alone = study(scores).cell("t0", "emotion_agree", None)
    assert (alone.delta.n, alone.balance.n_left_out, alone.verdict) == (0, 12, "undecided")
    assert "fewer than 2 judges scored both arms of a prompt" in str(alone.reason)


def test_votes_missing_at_random_leave_prompts_and_find_a_planted_change() -> None:
    # With two thirds of each model's judges asked for, three votes in ten missing left no prompt.
    # Of nine judges two or more are common to both arms of .98 of prompts.
    found = []
    for seed in range(20):
        scores = world(seed, prompts=30)
        scores[:, 3] -= 0.8
        scores[np.random.default_rng(seed).random(scores.shape[:-1]) < 0.3] = NAN
        cell = study(scores, flips=199, scale=(-9, 19)).cell("t0", "emotion_agree", None)
        found.append((cell.delta.n, cell.verdict == "changed", cell.delta.value))
    kept, changed, value = np.mean(found, axis=0)
    assert (kept, changed) == (pytest.approx(29.3, abs=0.7), 1.0)
    assert value == pytest.approx(0.8, abs=0.05)


def test_mean_scores_of_an_arm_still_need_the_quorum() -> None:
    scores = world()
    scores[:, 3, :3, :, 5:] = NAN  # five of nine judges
    found = study(scores)
    assert found.cell("t0", "emotion_agree", None).delta.n == 12
    assert found.levels["t0", "emotion_agree", None].n == 9


def test_over_worlds_the_filter_changes_no_more_verdicts_than_chance() -> None:
    changed = {"common": 0, "whoever": 0}
    for seed in range(60):
        scores = filtered(world(seed))
        for name, found in (("common", study(scores)), ("whoever", by_whoever_scored(scores))):
            means = [cell for cell in found.cells if cell.dimension is None]
            changed[name] += any(cell.verdict == "changed" for cell in means)
    # At most .05 of 60 worlds: 3, and twice the standard error of 1.7 more.
    assert changed["common"] <= 6
    assert changed["whoever"] == 60


def test_each_models_own_deltas_are_there_by_model() -> None:
    scores = world()
    scores[:, 3] -= 1.0
    scores[:, 3, :, :, :3] += 1.0  # the kind model does not see it
    found = study(filtered(scores))
    assert found.by_model["t0", "emotion_agree", "fair"].value == pytest.approx(1.0, abs=0.3)
    assert found.by_model["t0", "emotion_agree", "kind"].value == pytest.approx(0.0, abs=0.3)
    harsh = found.by_model["t0", "emotion_agree", "harsh"]
    assert (harsh.n, harsh.reason) == (0, "its judges scored no prompt in both arms")
    mine = scores[0, :, :, 0, 3:6].mean(axis=(2, 3))
    assert found.by_model["t0", "empirical_i", "fair"].value == pytest.approx(
        (mine[0] - mine[1]).mean()
    )


def test_levels_are_freed_from_who_judged_where_judges_are_missing() -> None:
    scores = world()
    even = study(scores).levels["t0", "emotion_agree", "clarity"]
    assert even.value == pytest.approx(scores[0, 3, ..., 0].mean())
    assert even.verdict is None
    missing = filtered(scores)
    found = study(missing).levels["t0", "emotion_agree", "clarity"]
    assert found.verdict == "unbalanced"
    assert found.value == pytest.approx(even.value, abs=0.3)
    # The additive fit, from the function that has it; the raw mean is a point above.
    given = missing[0, ..., 0]
    code = np.broadcast_to(np.arange(60).reshape(5, 12, 1, 1), given.shape)
    judge = np.broadcast_to(np.arange(9), given.shape)
    fit = severity(given.ravel(), code.ravel(), judge.ravel(), shrink=False)
    assert found.value == pytest.approx(fit.adjusted.reshape(5, 12)[3].mean())
    assert np.nanmean(given[3]) > found.value + 0.7


def test_targets_are_compared_over_the_judges_that_scored_both() -> None:
    scores = world(targets=2, repeats=2)
    scores[1, 3, :, :, 6:] = NAN  # the filter struck at one target only
    found = study(scores)
    one = next(
        row
        for row in found.comparisons
        if row.condition == "emotion_agree" and row.dimension is None
    )
    six = scores[..., :6, :].mean(axis=(3, 4, 5))
    expected = (six[0, 0] - six[0, 3]) - (six[1, 0] - six[1, 3])
    assert one.estimate.value == pytest.approx(expected.mean())
    assert one.estimate.covers(0)
    assert study(scores[:1]).cell("t0", "emotion_agree", None).balance.is_even


def test_prompts_with_the_same_text_are_one_unit() -> None:
    scores = world(prompts=6)
    twice = np.concatenate([scores, scores], axis=2)
    texts = [f"text {k}" for k in range(6)]
    once, both = study(scores), study(twice, units=texts * 2)
    for cell in once.cells:
        other = both.cell(cell.target, cell.condition, cell.dimension)
        assert (other.delta.n, other.delta.n_planned) == (6, 6)
        assert other.delta.value == pytest.approx(cell.delta.value)
        assert other.delta.low == pytest.approx(cell.delta.low)
        assert other.delta.p == cell.delta.p
    # As twelve prompts they would be surer than they are.
    apart = study(twice)
    assert apart.cells[0].delta.n == 12
    # A prompt of the pair that is missing leaves the unit to the other.
    twice[0, 3, 0] = NAN
    assert study(twice, units=texts * 2).cell("t0", "emotion_agree", None).delta.n == 6
    declined = np.zeros((1, 5, 12))
    declined[0, 3, [0, 6, 7]] = 1  # the whole first unit, and half of the second
    row = study(twice, units=texts * 2, abstained=declined).abstentions[2]
    assert (row.only_variant, row.neither) == (1, 5)
