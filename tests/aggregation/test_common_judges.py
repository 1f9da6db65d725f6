"""Arms over the judges common to them, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from areopagus.aggregation.common_judges import (
    CommonJudges,
    common_judges,
    freed_means,
    panel_means,
)
from areopagus.aggregation.rater_severity import AdditiveFit

NAN = float("nan")
MODELS = ("kind", "kind", "fair", "fair", "harsh", "harsh")
SEVERITY = np.array([1.0, 1.0, 0.0, 0.0, -3.0, -3.0])


def arms(items: int = 6) -> np.ndarray:
    """Two arms of the same items, shape (2, items, 1, 6 judges, 1): the judges' severity alone."""
    return np.broadcast_to(6 + SEVERITY, (2, items, 1, 6))[..., None].copy()


def difference(found: CommonJudges) -> np.ndarray:
    return np.asarray((found.means[0] - found.means[1])[:, 0])


def test_a_complete_panel_gives_its_plain_means() -> None:
    scores = arms() + np.random.default_rng(0).normal(size=(2, 6, 1, 6, 1))
    found = common_judges(scores, MODELS)
    assert np.allclose(found.means, scores.mean(axis=(2, 3)))
    assert np.allclose(found.raw, found.means)
    assert (found.n_common, found.n_planned, found.n_one_sided, found.without) == (36, 36, 0, ())
    assert not found.left_out.any()


def test_a_judge_missing_in_one_arm_counts_in_none() -> None:
    scores = arms()
    scores[1, 0, 0, 4] = NAN
    found = common_judges(scores, MODELS)
    assert difference(found) == pytest.approx([0.0] * 6)
    # By whoever scored: 16/3 + ... of item 0: (7+7+6+6+3+3)/6 = 32/6 against 29/5.
    assert found.raw[0, 0, 0] - found.raw[1, 0, 0] == pytest.approx(32 / 6 - 29 / 5)
    assert found.plain[0, 0, 0] == pytest.approx(29 / 5)
    # The missing harsh judge would have said 3 of both.
    assert found.means[0, 0, 0] == pytest.approx(32 / 6)
    assert (found.n_common, found.n_one_sided) == (35, 1)
    assert found.judges[0].tolist() == [True, True, True, True, False, True]


def test_an_item_with_fewer_than_two_common_judges_is_left_out_and_counted() -> None:
    scores = arms()
    scores[1, 0, 0, 1:] = NAN  # one judge scored both
    scores[1, 1, 0, 2:] = NAN  # two did
    scores[0, 2, 0, :3] = NAN  # both arms have three scores of six, of other judges
    scores[1, 2, 0, 3:] = NAN
    found = common_judges(scores, MODELS)
    assert found.left_out.tolist() == [True, False, True, False, False, False]
    assert np.isnan(found.means[:, [0, 2]]).all()
    assert np.isnan(found.raw[:, [0, 2]]).all()
    assert difference(found)[[1, 3, 4, 5]] == pytest.approx([0.0] * 4)
    # Of a smaller panel all of it is enough.
    assert not common_judges(scores[:, :, :, :1], MODELS[:1]).left_out.any()


def test_means_are_freed_from_which_judges_are_missing() -> None:
    rng = np.random.default_rng(1)
    prompt = rng.normal(size=(1, 8, 1, 1, 1))
    # Models see other changes: -1, 0, 2 in the mean of all.
    scores = np.stack([np.zeros(6), np.repeat([-1.0, 0.0, 4.0], 2)])[:, None, None, :, None]
    scores = scores + SEVERITY[:, None] + prompt
    whole = common_judges(scores, MODELS)
    scores[1, :5, 0, 4:] = NAN
    found = common_judges(scores, MODELS)
    assert difference(whole) == pytest.approx([-1.0] * 8)
    # By hand without error: the means of those that are there are +.5 on five items.
    assert (found.plain[0] - found.plain[1])[:, 0] == pytest.approx([0.5] * 5 + [-1.0] * 3)
    assert found.means.mean(axis=1) == pytest.approx(whole.means.mean(axis=1))


def test_freed_means_of_units_keep_the_mean_over_units_of_the_adjusted_means() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(1, 9, 5, 1))
    values[0, :6, 3] = NAN
    values[0, 2, 0] = NAN
    units = np.array([0, 0, 0, 1, 1, 2, 3, 4, 5])
    fit = AdditiveFit(5, 1)
    totals, counts = np.nan_to_num(values[0]), (~np.isnan(values[0, ..., 0])).astype(float)
    fit.add(totals, counts)
    adjusted = totals.sum(axis=1) / counts.sum(axis=1)[:, None] + fit.moved(counts)
    of_units = [
        np.mean([means[units == k, 0].mean() for k in range(6)])
        for means in (adjusted, freed_means(values, units)[0])
    ]
    assert of_units[0] == pytest.approx(of_units[1])


def test_a_model_without_a_common_judge_is_named() -> None:
    scores = arms()
    scores[1, :, 0, 4:] = NAN
    found = common_judges(scores, MODELS)
    assert found.without == ("harsh",)
    assert found.means[0, :, 0] == pytest.approx([26 / 4] * 6)
    assert difference(found) == pytest.approx([0.0] * 6)
    assert not found.left_out.any()


def test_a_panel_mean_needs_the_quorum_of_the_judges() -> None:
    scores = arms()[0]
    scores[0, 0, 4:] = NAN  # four of six are two thirds
    scores[1, 0, 3:] = NAN
    means = panel_means(scores, 2 / 3)[:, 0]
    assert means[0] == pytest.approx(26 / 4)
    assert np.isnan(means[1])
    assert means[2:] == pytest.approx([32 / 6] * 4)


def test_a_response_that_nobody_scored_is_no_missing_judge() -> None:
    scores = arms()
    scores[1, 0] = NAN
    found = common_judges(scores, MODELS)
    assert (found.n_one_sided, found.n_planned, found.left_out.sum()) == (0, 30, 0)
    assert np.isnan(found.means[:, 0]).all()


def test_judges_are_compared_repeat_by_repeat() -> None:
    scores = np.repeat(arms(), 2, axis=2)
    scores[:, :, 1] += 1.0  # the second response is better in both arms
    scores[1, 0, 1] = NAN  # and missing in one: only the first is compared
    scores[0, 1, 0, 0] = NAN  # one judge has only the second of item 1 in both arms
    found = common_judges(scores, MODELS)
    assert difference(found) == pytest.approx([0.0] * 6)
    assert found.means[0, 0, 0] == pytest.approx(32 / 6)
    assert found.means[0, 1, 0] == pytest.approx((8 + 7.5 + 6.5 * 2 + 3.5 * 2) / 6)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="6 judges"):
        common_judges(arms()[:, :, :, :5], MODELS)
