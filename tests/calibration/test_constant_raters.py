"""A rater who gives one value throughout is undefined, and makes no other figure wrong."""

from __future__ import annotations

import numpy as np
import pytest

from areopagus.calibration.concordance import concordance
from areopagus.calibration.rater_pairs import pairwise_tau
from areopagus.calibration.rater_severity import severity_table
from areopagus.calibration.ratings import Ratings, make_ratings

N_PROMPTS, N_RESPONSES = 8, 3


def ratings_of(table: np.ndarray) -> Ratings:
    """A table of raters x responses, three responses a prompt."""
    m, n = table.shape
    rater, response = np.repeat(np.arange(m), n), np.tile(np.arange(n), m)
    return make_ratings("overall", "score", rater, response, response // 3, table.ravel())[0]


def world(n_raters: int) -> np.ndarray:
    rng = np.random.default_rng(4)
    quality = rng.normal(size=N_PROMPTS * N_RESPONSES)
    return 5 + quality + rng.normal(size=(n_raters, len(quality)))


def test_of_two_raters_one_constant_every_figure_is_undefined_with_the_reason() -> None:
    table = world(2)
    table[0] = 5
    found = concordance(ratings_of(table))
    for name in (
        "w", "mean_spearman", "p", "icc_one", "icc_mean", "icc_absolute", "top_one", "same_order",
    ):  # fmt: skip
        number = getattr(found, name)
        assert not number.is_defined, name
        assert number.reason == "fewer than two raters vary: 1 of 2 give one value"
    assert np.isnan(found.chance_w)
    assert found.n_constant == 1
    tau = pairwise_tau(ratings_of(table)).tau
    assert tau.reason == "in every pair of raters one side orders nothing"


def test_a_constant_rater_beside_others_changes_nothing_of_w_and_icc() -> None:
    table = world(3)
    with_constant = np.vstack([table, np.full(table.shape[1], 7.0)])
    one, two = (concordance(ratings_of(t)) for t in (table, with_constant))
    assert two.n_constant == 1
    assert two.w == one.w
    assert two.p == one.p
    assert (two.icc_one, two.icc_absolute, two.same_order) == (
        one.icc_one, one.icc_absolute, one.same_order,
    )  # fmt: skip
    assert two.chance_w == pytest.approx(1 / 3)


def test_a_rater_who_ties_some_prompts_only_stays() -> None:
    table = world(3)
    table[0, :9] = 5
    assert concordance(ratings_of(table)).n_constant == 0


def test_a_constant_rater_has_no_severity_and_does_not_move_the_others() -> None:
    table = world(3)
    table[0] -= 2
    names = ("a", "b", "c", "d")
    with_constant = np.vstack([table, np.full(table.shape[1], 9.0)])
    one = severity_table(ratings_of(table), names)
    two = severity_table(ratings_of(with_constant), names)
    assert two.raters[:-1] == one.raters
    last = two.raters[-1]
    assert (last.rater, last.verdict, last.n) == ("d", "constant", 24)
    assert not last.deviation.is_defined
    assert not last.shrunk.is_defined
    assert "no severity" in (last.deviation.reason or "")
    assert one.raters[0].rater == "a"


def test_with_one_rater_who_varies_nobody_is_harsh() -> None:
    table = world(2)
    table[0] = 5
    found = severity_table(ratings_of(table), ("a", "b"))
    assert "fewer than two raters vary" in (found.reason or "")
    assert [row.rater for row in found.raters] == ["a"]
