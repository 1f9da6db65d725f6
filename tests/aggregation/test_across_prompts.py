"""Agreement where every prompt has one response: scipy, a published table, known worlds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.across_prompts import (
    icc_across,
    one_person_across,
    pairwise_tau_across,
    tau_across,
)
from areopagus.aggregation.pair_counting import group_codes
from areopagus.aggregation.ratings import Ratings, make_ratings, ratings_of_table

# Shrout and Fleiss (1979), table 2: six targets, four judges
SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]


def alone(table: np.ndarray) -> Ratings:
    """Ratings (raters, responses), every response to a prompt of its own."""
    return ratings_of_table(table, np.arange(table.shape[1]))


def world(seed: int, prompts: int = 60) -> tuple[Ratings, np.ndarray]:
    """Three raters with error variance 1 and a panel with .25, truths with variance 1."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=prompts)
    panel = truth + rng.normal(scale=0.5, size=prompts)
    return alone(truth + rng.normal(size=(3, prompts))), panel


def test_the_icc_of_a_complete_table_is_that_of_shrout_and_fleiss() -> None:
    found = icc_across(alone(np.array(SHROUT_FLEISS, float).T))
    assert found.absolute.value == pytest.approx(0.2898, abs=5e-5)
    assert found.one.value == pytest.approx(0.7148, abs=5e-5)
    assert found.mean.value == pytest.approx(0.9093, abs=5e-5)
    assert found.mean_raters == 4
    assert found.one.n == 6


def test_tau_is_scipys_and_its_unit_is_the_prompt() -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(1, 6, 40).astype(float)
    y = x + rng.integers(-2, 3, 40)
    found = tau_across(x, y, np.arange(40))
    assert found.value == pytest.approx(stats.kendalltau(x, y).statistic)
    assert (found.n, found.unit) == (40, "prompt")
    assert found.low < found.value < found.high
    # the same responses twice say no more than once
    twice = tau_across(np.tile(x, 2), np.tile(y, 2), np.tile(np.arange(40), 2))
    assert twice.n == 40
    assert twice.high - twice.low > 0.9 * (found.high - found.low)


def test_pairs_of_raters_are_averaged_and_strangers_have_no_tau() -> None:
    ratings, _ = world(2)
    table = np.array([ratings.value[ratings.rater == k] for k in range(3)])
    pairs = [stats.kendalltau(table[a], table[b]).statistic for a, b in ((0, 1), (0, 2), (1, 2))]
    assert pairwise_tau_across(ratings).value == pytest.approx(np.mean(pairs))
    apart = np.full((2, 40), np.nan)
    apart[0, :20], apart[1, 20:] = 1.0, 2.0
    none = pairwise_tau_across(alone(apart))
    assert (none.is_defined, none.reason) == (False, "no two raters share 10 responses")


def test_one_rating_a_response_has_no_icc() -> None:
    codes, _ = group_codes(None, 12)
    ratings, _ = make_ratings(
        "overall", "score", np.arange(12) % 3, np.arange(12), codes, np.arange(12.0)
    )
    assert not icc_across(ratings).one.is_defined


def test_values_and_their_errors_are_those_of_known_worlds() -> None:
    """60 worlds of 40 prompts; the benchmark of the designs has their coverage."""
    # two raters: rho = 1/2; a rater with the mean of two others: 1 / sqrt(2 x 1.5); the panel with
    # that mean: 1 / sqrt(1.25 x 1.5). Pairs ordered alike: 1/2 + asin(rho) / pi.
    right = [0.5 + math.asin(1 / math.sqrt(v * 1.5)) / math.pi for v in (2, 1.25)]
    truths = [2 / math.pi * math.asin(0.5), 0.5, right[1] - right[0]]
    found = []
    for seed in range(60):
        ratings, panel = world(seed, 40)
        found.append(
            (
                pairwise_tau_across(ratings),
                icc_across(ratings).one,
                one_person_across(ratings, panel).difference,
            )
        )
    for truth, of_worlds in zip(truths, zip(*found, strict=True), strict=True):
        values = np.array([one.value for one in of_worlds])
        spread = values.std(ddof=1)
        assert values.mean() == pytest.approx(truth, abs=4 * spread / math.sqrt(60))
        assert np.mean([one.se for one in of_worlds]) == pytest.approx(spread, rel=0.3)


def test_a_panel_no_better_than_a_rater_is_not_told_apart() -> None:
    rng = np.random.default_rng(5)
    truth = rng.normal(size=200)
    like_one = truth + rng.normal(size=200)
    found = one_person_across(alone(truth + rng.normal(size=(4, 200))), like_one)
    assert found.difference.low < 0 < found.difference.high
    assert found.n_raters == 4
