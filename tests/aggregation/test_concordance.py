"""Kendall's W, corrected and as published with SCRuB, Durbin's W, the Skillings-Mack test."""

from __future__ import annotations

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from areopagus.aggregation import durbin_w
from areopagus.aggregation.concordance import (
    concordance,
    icc_across,
    icc_one_way,
    kendall_w_uncorrected,
    w_of_ranks,
)
from areopagus.aggregation.ratings import Ratings, ratings_of_table
from areopagus.aggregation.rotations import mid_ranks, skillings_mack

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
# Assembly times of Skillings and Mack (1981): nine workers, four methods, four cells empty.
ASSEMBLY = [
    [3.2, 4.1, 3.8, 4.2],
    [3.1, 3.9, 3.4, 4.0],
    [4.3, 3.5, 4.6, 4.8],
    [3.5, 3.6, 3.9, 4.0],
    [3.6, 4.2, 3.7, 3.9],
    [4.5, 4.7, 3.7, NAN],
    [NAN, 4.2, 3.4, NAN],
    [4.3, 4.6, 4.4, 4.9],
    [3.5, NAN, 3.7, 3.9],
]


def kendall_w(ratings) -> float:
    """W of a complete table of scores or ranks."""
    return float(w_of_ranks(mid_ranks(np.asarray(ratings, dtype=float))))


def mean_spearman_from_w(w: float, n_raters: int) -> float:
    """The identity r̄ = (mW − 1) / (m − 1)."""
    return (n_raters * w - 1) / (n_raters - 1)


def test_w_of_three_raters_by_hand() -> None:
    # Rank sums 4 5 9, mean 6: S = 4 + 1 + 9 = 14. W = 12 * 14 / (9 * 24) = 7/9.
    assert kendall_w([[1, 2, 3], [1, 2, 3], [2, 1, 3]]) == pytest.approx(7 / 9)


def test_w_with_ties_by_hand() -> None:
    # Mid-ranks 1.5 1.5 3 and 1 2 3: sums 2.5 3.5 6, S = 2.25 + .25 + 4 = 6.5; T = 6.
    # W = 12 * 6.5 / (4 * 24 - 2 * 6) = 78 / 84.
    assert kendall_w([[5, 5, 9], [1, 2, 3]]) == pytest.approx(78 / 84)


def test_w_of_the_anxiety_data_is_the_published_one() -> None:
    w = kendall_w(ANXIETY)
    assert w == pytest.approx(0.5397, abs=5e-5)
    assert 3 * 19 * w == pytest.approx(30.76, abs=5e-3)
    assert stats.chi2.sf(3 * 19 * w, 19) == pytest.approx(0.0429, abs=5e-5)
    assert 3 * 19 * w == pytest.approx(stats.friedmanchisquare(*ANXIETY.T).statistic)
    assert kendall_w_uncorrected(stats.rankdata(ANXIETY, axis=1)) == pytest.approx(0.5019, abs=5e-5)
    assert mean_spearman_from_w(w, 3) == pytest.approx(0.3095, abs=5e-5)
    assert concordance(ratings_of_table(ANXIETY)).mean_spearman.value == pytest.approx(
        0.3095, abs=5e-5
    )
    pairs = [stats.spearmanr(a, b).statistic for a, b in itertools.combinations(ANXIETY, 2)]
    assert np.mean(pairs) == pytest.approx(0.3100, abs=5e-5)


def test_w_of_the_potato_rankings() -> None:
    path = SHARED / "rankings" / "potato_visual.csv"
    if not path.exists():
        pytest.skip("the shared rankings are not here")
    with path.open() as lines:
        ranks = np.array([[float(cell) for cell in row] for row in csv.reader(lines)])
    assert kendall_w(ranks) == pytest.approx(0.92262, abs=5e-6)
    assert kendall_w_uncorrected(ranks) == pytest.approx(0.92262, abs=5e-6)


def test_w_ignores_each_raters_scale_and_the_order_of_raters_and_items() -> None:
    rng = np.random.default_rng(4)
    ratings = rng.integers(1, 5, (4, 8)).astype(float)
    w = kendall_w(ratings)
    assert kendall_w(np.exp(ratings) * [[1], [2], [3], [4]]) == pytest.approx(w)
    assert kendall_w(ratings[::-1, ::-1]) == pytest.approx(w)
    assert kendall_w(-ratings) == pytest.approx(w)


def test_uncorrected_w_of_dense_ranks_falls_short_of_the_corrected_one() -> None:
    # Three raters agree fully, in three dense levels of six items: 1 1 2 2 3 3.
    # Sums 3 3 6 6 9 9, mean 6: S = 36; 12 * 36 / (9 * 210) = 8/35.
    dense = [[1, 1, 2, 2, 3, 3]] * 3
    assert kendall_w(dense) == pytest.approx(1)
    assert kendall_w_uncorrected(dense) == pytest.approx(8 / 35)
    assert kendall_w_uncorrected([*dense, [1, 1, 2, 2, 3, NAN]]) == pytest.approx(8 / 35)
    assert math.isnan(kendall_w_uncorrected([[1, 2]]))


def test_concordance_by_prompt_with_its_chance_level() -> None:
    # a: two raters agree (W 1, r 1); b: two raters disagree (W 0, r -1), the third is partial.
    table = [[1, 2, 3, 1, 2, 3], [1, 2, 3, 3, 2, 1], [NAN, NAN, NAN, 1, 2, NAN]]
    found = concordance(ratings_of_table(table, list("aaabbb")))
    assert [w for _, w in found.w_by_prompt] == pytest.approx([1, 0])
    assert (found.w.value, found.mean_spearman.value, found.chance_w) == pytest.approx(
        (0.5, 0, 0.5)
    )
    assert (found.n_partial, found.mean_raters) == (1, 2)
    assert 0.3 < found.p.value < 1


def test_permutation_p_of_the_mean_w_of_raters_without_signal_is_uniform() -> None:
    rng = np.random.default_rng(8)
    groups = np.repeat(np.arange(4), 5)
    p = [
        concordance(ratings_of_table(rng.normal(size=(3, 20)), groups), seed=world).p.value
        for world in range(40)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_skillings_mack_of_the_assembly_data_is_the_published_one() -> None:
    result = skillings_mack(ASSEMBLY, resamples=1999)
    assert result.statistic == pytest.approx(15.493, abs=5e-4)
    assert result.degrees_of_freedom == 3
    assert result.p_chi_square == pytest.approx(0.00144, abs=5e-6)
    assert result.p_permutation < 0.01


def test_skillings_mack_of_complete_untied_data_is_friedmans() -> None:
    ratings = np.random.default_rng(0).normal(size=(6, 4))
    expected = stats.friedmanchisquare(*ratings.T).statistic
    assert skillings_mack(ratings, resamples=9).statistic == pytest.approx(expected)


def test_skillings_mack_is_undefined_where_no_rater_connects_the_items() -> None:
    result = skillings_mack([[1, 2, NAN, NAN], [NAN, NAN, 1, 2]], resamples=9)
    assert math.isnan(result.statistic)
    assert math.isnan(result.p_permutation)
    assert math.isnan(skillings_mack([[1, NAN], [NAN, 2]], resamples=9).statistic)


# Seven points and seven lines of the Fano plane: every pair of points lies on one line.
FANO = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]


def fano(order: np.ndarray) -> np.ndarray:
    """Seven raters who each rate the three points of a line by the order given."""
    ratings = np.full((7, 7), NAN)
    for rater, line in enumerate(FANO):
        ratings[rater, list(line)] = order[list(line)]
    return ratings


def test_raters_of_a_fano_plane_who_agree_have_w_1() -> None:
    # r = 3, k = 3, lambda = 1: rank sums 3 to 9, 12 * 280 - 3 * 7 * 9 * 16 = 336 = 7 * 48.
    assert durbin_w(fano(np.arange(7.0))) == pytest.approx(1)
    shuffled = np.random.default_rng(3).permutation(7).astype(float)
    assert durbin_w(fano(shuffled)) == pytest.approx(1)


def test_durbins_w_of_complete_rankings_is_kendalls() -> None:
    ratings = np.random.default_rng(0).normal(size=(5, 6))
    assert durbin_w(ratings) == pytest.approx(kendall_w(ratings))


def test_durbins_w_of_a_circle_is_0() -> None:
    # Three raters, three pairs: 0 before 1, 1 before 2, 2 before 0. Every rank sum is 3.
    assert durbin_w([[1, 2, NAN], [NAN, 1, 2], [2, NAN, 1]]) == pytest.approx(0)


def test_durbins_w_is_undefined_where_the_design_is_not_balanced() -> None:
    for ratings in (
        [[1, 2, NAN], [NAN, 1, 2]], [[1, 2, 3], [NAN, 1, 2]], [[NAN, NAN], [NAN, NAN]],
        np.empty((0, 3)), [[1, NAN], [NAN, 1]],
    ):  # fmt: skip
        assert math.isnan(durbin_w(ratings))


def test_skillings_mack_has_no_correction_for_ties() -> None:
    # Four raters agree on four items and all tie the last two: m (n - 1) W = 12 with the
    # correction. Without it: rank sums 4 8 14 14 about 10, S = 72, 12 * 72 / (4 * 4 * 5) = 10.8.
    ratings = [[1, 2, 3, 3]] * 4
    assert skillings_mack(ratings, resamples=99).statistic == pytest.approx(10.8)
    assert 4 * 3 * kendall_w(ratings) == pytest.approx(12)


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


def test_icc_across_prompts_of_one_response_is_that_of_shrout_and_fleiss() -> None:
    """Published: ICC(3,1) .71, ICC(3,4) .91, ICC(2,1) .29; limits as of the table cut by hand."""
    one, mean, absolute, m = icc_across(_one_response_a_prompt(SHROUT_FLEISS))
    found = [one.value, mean.value, absolute.value]
    assert found == pytest.approx([0.7148, 0.9093, 0.2898], abs=5e-5)
    assert (one.n, one.unit, m) == (6, "prompt", 4.0)
    without = [
        icc_across(_one_response_a_prompt(np.delete(SHROUT_FLEISS, k, axis=0)))[0].value
        for k in range(6)
    ]
    spread = np.sqrt(5 / 6 * ((without - np.mean(without)) ** 2).sum())
    assert one.se == pytest.approx(spread)


def test_icc_across_prompts_takes_raters_who_rated_all_and_vary() -> None:
    table = np.array(SHROUT_FLEISS, dtype=float)
    lacking = np.column_stack([table, [np.nan, 1, 2, 3, 4, 5], np.full(6, 4.0)])
    assert icc_across(_one_response_a_prompt(lacking)) == icc_across(_one_response_a_prompt(table))
    alone = icc_across(_one_response_a_prompt(lacking[:, [0, 4]]))[0]
    assert alone.reason == "fewer than two raters rated every response"


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


def partial(values: np.ndarray, rng: np.random.Generator, seen: int) -> np.ndarray:
    """The same with only so many items a rater, drawn."""
    table = np.full(values.shape, NAN)
    for row in range(len(values)):
        mine = rng.permutation(values.shape[1])[:seen]
        table[row, mine] = values[row, mine]
    return table


def test_w_of_incomplete_rankings_is_durbins_where_balanced_and_kendalls_where_complete() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        table = np.full((7, 7), NAN)
        for rater, line in enumerate(FANO):
            table[rater, list(line)] = rng.permutation(3)
        assert skillings_mack(table, resamples=9).w == pytest.approx(durbin_w(table))
        whole = rng.normal(size=(4, 5))
        assert skillings_mack(whole, resamples=9).w == pytest.approx(kendall_w(whole))


def test_w_of_incomplete_rankings_is_1_only_where_all_follow_one_order() -> None:
    rng = np.random.default_rng(5)
    order = np.arange(6.0)
    for _ in range(50):
        agreed = partial(np.tile(order, (8, 1)), rng, 4)
        found = skillings_mack(agreed, resamples=9)
        # the fitted order is the common one in nearly every drawn design, and W is never above 1
        assert 0.95 < found.w <= 1 + 1e-9
        turned = agreed.copy()
        turned[0] = -turned[0]
        assert skillings_mack(turned, resamples=9).w < found.w


def test_w_of_a_rotation_is_about_its_chance_value_where_nobody_agrees() -> None:
    # Balanced, three of seven, one meeting a pair: E T = n - 1 = 6 of the largest 1 * 48 / 4 = 12.
    rng = np.random.default_rng(6)
    values, p = [], []
    for _ in range(60):
        ratings = np.full((7, 14), NAN)
        for rater, line in enumerate(FANO):
            for start in (0, 7):
                ratings[rater, np.array(line) + start] = rng.permutation(3)
        found = concordance(ratings_of_table(ratings, prompt=np.repeat([0, 1], 7)))
        assert found.chance_w == pytest.approx(0.5, abs=0.02)
        values.append(found.w.value)
        p.append(found.p.value)
    assert np.mean(values) == pytest.approx(0.5, abs=0.05)
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_a_rotation_is_named_and_its_balanced_prompts_are_counted() -> None:
    rng = np.random.default_rng(7)
    quality = rng.normal(size=(3, 7))
    table = np.full((7, 21), NAN)
    for rater, line in enumerate(FANO):
        for prompt in range(3):
            mine = np.array(line) if prompt < 2 else rng.permutation(7)[:4]
            table[rater, 7 * prompt + mine] = quality[prompt, mine]
    found = concordance(ratings_of_table(table, prompt=np.repeat([0, 1, 2], 7)))
    rotation = found.rotation
    assert rotation is not None
    assert (rotation.n_prompts, rotation.n_balanced, rotation.seen) == (3, 2, (3, 4))
    assert found.w.value == pytest.approx(1, abs=0.01)
    assert "Durbin's W (2 prompts), W by Skillings-Mack (1 prompts)" in found.w.method
    assert rotation.skillings_mack.p < 0.01
    assert found.p.value < 0.01
    assert not found.icc_one.is_defined


def test_one_gap_in_a_complete_table_leaves_w_with_the_complete_raters() -> None:
    rng = np.random.default_rng(8)
    table = rng.normal(size=(5, 12))
    whole = concordance(ratings_of_table(table, prompt=np.repeat([0, 1], 6)))
    table[0, 0] = NAN
    found = concordance(ratings_of_table(table, prompt=np.repeat([0, 1], 6)))
    assert whole.rotation is None
    assert found.rotation is None
    assert found.n_partial == 1
    first = kendall_w(table[1:, :6])
    assert dict(found.w_by_prompt) == pytest.approx({0: first, 1: kendall_w(table[:, 6:])})


@pytest.mark.parametrize("shape", [(7,), (50, 6), (3, 4, 5), (2, 0), (1, 1)])
def test_mid_ranks_are_those_of_scipy(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(3).integers(0, 4, shape).astype(float)
    np.testing.assert_array_equal(mid_ranks(values), stats.rankdata(values, axis=-1))
