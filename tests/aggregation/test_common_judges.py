"""Arms over the judges common to them, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from areopagus.aggregation.common_judges import CommonJudges, common_judges

NAN = float("nan")
MODELS = ("kind", "kind", "fair", "fair", "harsh", "harsh")
SEVERITY = np.array([1.0, 1.0, 0.0, 0.0, -3.0, -3.0])


def arms(items: int = 6) -> np.ndarray:
    """Two arms of the same items, shape (2, items, 1, 6 judges, 1): the judges' severity alone."""
    return np.broadcast_to(6 + SEVERITY, (2, items, 1, 6))[..., None].copy()


def compared(scores: np.ndarray, **options: object) -> CommonJudges:
    options.setdefault("quorum", 2 / 3)
    return common_judges(scores, MODELS, **options)  # type: ignore[arg-type]


def difference(found: CommonJudges) -> np.ndarray:
    return np.asarray((found.means[0] - found.means[1])[:, 0])


def test_a_complete_panel_gives_its_plain_means() -> None:
    scores = arms() + np.random.default_rng(0).normal(size=(2, 6, 1, 6, 1))
    found = compared(scores)
    assert np.allclose(found.means, scores.mean(axis=(2, 3)))
    assert np.allclose(found.raw, found.means)
    assert (found.n_common, found.n_planned, found.n_one_sided, found.without) == (36, 36, 0, ())
    assert not found.left_out.any()


def test_a_judge_missing_in_one_arm_counts_in_none() -> None:
    scores = arms()
    scores[1, 0, 0, 4] = NAN
    # Quorum .5: one of the two harsh judges is enough of its model.
    found = compared(scores, quorum=0.5)
    assert difference(found) == pytest.approx([0.0] * 6)
    # By whoever scored: 16/3 + ... of item 0: (7+7+6+6+3+3)/6 = 32/6 against 29/5.
    assert found.raw[0, 0, 0] - found.raw[1, 0, 0] == pytest.approx(32 / 6 - 29 / 5)
    assert found.means[0, 0, 0] == pytest.approx(29 / 5)
    assert (found.n_common, found.n_one_sided) == (35, 1)
    assert found.judges[0].tolist() == [True, True, True, True, False, True]


def test_an_item_with_too_few_judges_of_one_model_is_left_out_and_counted() -> None:
    scores = arms()
    scores[1, 0, 0, 4] = NAN  # five of six judges are the quorum of all, one of two is not
    found = compared(scores)
    assert found.left_out.tolist() == [True] + [False] * 5
    assert np.isnan(found.means[:, 0]).all()
    assert difference(found)[1:] == pytest.approx([0.0] * 5)


def test_a_model_that_misses_most_items_is_left_out_of_all_and_named() -> None:
    scores = arms()
    scores[1, :3, 0, 4:] = NAN
    found = compared(scores)
    # Half of the items are fewer than two thirds; four of six judges remain everywhere.
    assert found.without == ("harsh",)
    assert found.means[0, :, 0] == pytest.approx([26 / 4] * 6)
    assert difference(found) == pytest.approx([0.0] * 6)
    assert not found.left_out.any()
    # Missing on one item of six it stays, and that item goes.
    scores = arms()
    scores[1, :1, 0, 4:] = NAN
    found = compared(scores)
    assert (found.without, found.left_out.sum()) == ((), 1)


def test_no_model_is_left_out_where_the_others_are_too_few() -> None:
    scores = arms()
    scores[1, :3, 0, 2:] = NAN  # both fair and harsh are missing on half of the items
    found = compared(scores)
    assert found.without == ()
    assert found.left_out.tolist() == [True] * 3 + [False] * 3


def test_a_response_that_nobody_scored_is_no_missing_judge() -> None:
    scores = arms()
    scores[1, 0] = NAN
    found = compared(scores)
    assert (found.n_one_sided, found.n_planned, found.left_out.sum()) == (0, 30, 0)
    assert np.isnan(found.means[:, 0]).all()


def test_judges_are_compared_repeat_by_repeat() -> None:
    scores = np.repeat(arms(), 2, axis=2)
    scores[:, :, 1] += 1.0  # the second response is better in both arms
    scores[1, 0, 1] = NAN  # and missing in one: only the first is compared
    scores[0, 1, 0, 0] = NAN  # one judge has only the second of item 1 in both arms
    found = compared(scores)
    assert difference(found) == pytest.approx([0.0] * 6)
    assert found.means[0, 0, 0] == pytest.approx(32 / 6)
    assert found.means[0, 1, 0] == pytest.approx((8 + 7.5 + 6.5 * 2 + 3.5 * 2) / 6)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="6 judges"):
        compared(arms()[:, :, :, :5])
