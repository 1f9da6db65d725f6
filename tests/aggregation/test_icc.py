"""One-way ICC, W as published with SCRuB, and which prompts were rated in rotation."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from areopagus.aggregation.agreement import icc_one_way, kendall_w_uncorrected
from areopagus.aggregation.ratings import Ratings, ratings_of_table, rotation_of

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
NAN = math.nan
# Anxiety of 20 persons by three raters, the example of R's irr package.
ANXIETY = np.array(
    [
        [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
        [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
        [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2],
    ],
    dtype=float,
)
FANO = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]


def test_w_of_the_anxiety_data_is_the_published_one_without_a_correction_for_ties() -> None:
    assert kendall_w_uncorrected(stats.rankdata(ANXIETY, axis=1)) == pytest.approx(0.5019, abs=5e-5)


def test_w_of_the_potato_rankings() -> None:
    path = SHARED / "rankings" / "potato_visual.csv"
    if not path.exists():
        pytest.skip("the shared rankings are not here")
    with path.open() as lines:
        ranks = np.array([[float(cell) for cell in row] for row in csv.reader(lines)])
    assert kendall_w_uncorrected(ranks) == pytest.approx(0.92262, abs=5e-6)


def test_w_of_untied_ranks_is_friedmans_statistic_over_its_largest_value() -> None:
    ranks = np.random.default_rng(4).permuted(np.tile(np.arange(1.0, 9), (4, 1)), axis=1)
    friedman = stats.friedmanchisquare(*ranks.T).statistic
    assert kendall_w_uncorrected(ranks) == pytest.approx(friedman / (4 * 7))


def test_uncorrected_w_of_dense_ranks_falls_short_of_full_agreement() -> None:
    # Three raters agree fully, in three dense levels of six items: 1 1 2 2 3 3.
    # Sums 3 3 6 6 9 9, mean 6: S = 36; 12 * 36 / (9 * 210) = 8/35.
    dense = [[1, 1, 2, 2, 3, 3]] * 3
    assert kendall_w_uncorrected(dense) == pytest.approx(8 / 35)
    assert kendall_w_uncorrected([*dense, [1, 1, 2, 2, 3, NAN]]) == pytest.approx(8 / 35)
    assert math.isnan(kendall_w_uncorrected([[1, 2]]))


def _one_response_a_prompt(table: npt.ArrayLike) -> Ratings:
    """Prompts by raters; nan where there is no rating."""
    x = np.asarray(table, dtype=float)
    item, rater = (axis.ravel() for axis in np.indices(x.shape))
    has = np.isfinite(x).ravel()
    return Ratings("overall", "score", rater[has], item[has], item[has], x.ravel()[has])


SHROUT_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]


def test_one_way_icc_is_that_of_shrout_and_fleiss() -> None:
    """Published: ICC(1,1) .17, ICC(1,4) .44."""
    one, mean = icc_one_way(_one_response_a_prompt(SHROUT_FLEISS))
    assert [one.value, mean.value] == pytest.approx([0.1657, 0.4428], abs=5e-5)
    without = [
        icc_one_way(_one_response_a_prompt(np.delete(SHROUT_FLEISS, k, axis=0)))[0].value
        for k in range(6)
    ]
    spread = np.sqrt(5 / 6 * ((without - np.mean(without)) ** 2).sum())
    assert one.se == pytest.approx(spread)


def test_one_way_icc_asks_not_who_rated_and_takes_unequal_numbers() -> None:
    """Ratings 1 3 | 4 4 | 6 | 5 7 9: the third says nothing. Means 2, 4, 7 of 2, 2, 3; all 33/7.

    SSB = 8 + 32 + 147 − 33²/7 = 220/7, MSB = 110/7; SSW = 2 + 0 + 8 = 10 of 4 degrees, MSW = 2.5;
    m0 = (7 − 17/7) / 2 = 16/7; ICC(1) = (110/7 − 2.5) / (110/7 + 9/7 · 2.5).
    """
    table = np.array([[1, 4, 6, 5], [3, 4, NAN, 7], [NAN, NAN, NAN, 9]])
    one, _ = icc_one_way(ratings_of_table(table, list("abcd")))
    assert one.value == pytest.approx((110 / 7 - 2.5) / (110 / 7 + 9 / 7 * 2.5))
    mixed = np.array([[3, 4, 6, 9], [1, NAN, NAN, 5], [NAN, 4, NAN, 7]])
    assert icc_one_way(ratings_of_table(mixed, list("abcd")))[0].value == pytest.approx(one.value)


def test_one_way_icc_has_no_mean_where_it_is_not_positive_and_no_value_without_variance() -> None:
    apart = np.array([[1, 5, 1, 5], [5, 1, 5, 1]])
    one, mean = icc_one_way(ratings_of_table(apart, list("abcd")))
    assert one.value == -1
    assert math.isnan(mean.value)
    assert math.isnan(icc_one_way(ratings_of_table(np.full((2, 4), 3), list("abcd")))[0].value)


def test_a_rotation_is_told_and_its_balanced_prompts_are_counted() -> None:
    rng = np.random.default_rng(7)
    quality = rng.normal(size=(3, 7))
    table = np.full((7, 21), NAN)
    for rater, line in enumerate(FANO):
        for prompt in range(3):
            mine = np.array(line) if prompt < 2 else rng.permutation(7)[:4]
            table[rater, 7 * prompt + mine] = quality[prompt, mine]
    rotation = rotation_of(ratings_of_table(table, prompt=np.repeat([0, 1, 2], 7)))
    assert rotation is not None
    assert (rotation.n_prompts, rotation.n_balanced) == (3, 2)
    assert (rotation.seen, rotation.responses) == ((3, 4), (7, 7))


def test_one_gap_in_a_complete_table_makes_no_rotation() -> None:
    table = np.random.default_rng(8).normal(size=(5, 12))
    table[0, 0] = NAN
    assert rotation_of(ratings_of_table(table, prompt=np.repeat([0, 1], 6))) is None
