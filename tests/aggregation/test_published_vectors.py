"""Published or independently computed figures that no other test of the estimators holds."""

import math
from typing import get_args

import numpy as np
import pytest
from scipy import optimize

from areopagus.aggregation import (
    abstention_bounds,
    conformal_width,
    durbin_w,
    effective_judges,
    icc_interval,
    kendall_w,
    mean_spearman_from_w,
    plackett_luce,
    rogan_gladen,
    sign_flip_test,
    skillings_mack,
)
from areopagus.aggregation.reliability import IccForm

NAN = math.nan

# Seven points and seven lines of the Fano plane: every pair of points lies on one line.
FANO = [(0, 1, 2), (0, 3, 4), (0, 5, 6), (1, 3, 5), (1, 4, 6), (2, 3, 6), (2, 4, 5)]

# Critchlow and Fligner (1991), Psychometrika 56: 32 judges rank four salad dressings A B C D by
# tartness, 1 the most tart; ranks and how many judges gave them.
SALAD = {
    (1, 2, 3, 4): 2, (2, 1, 3, 4): 1, (2, 1, 4, 3): 2, (2, 3, 1, 4): 1, (3, 1, 2, 4): 2,
    (3, 1, 4, 2): 1, (3, 4, 2, 1): 1, (4, 1, 2, 3): 11, (4, 1, 3, 2): 6, (4, 2, 1, 3): 3,
    (4, 3, 1, 2): 1, (4, 3, 2, 1): 1,
}  # fmt: skip


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


@pytest.mark.parametrize(
    "ratings",
    [
        [[1, 2, NAN], [NAN, 1, 2]],
        [[1, 2, 3], [NAN, 1, 2]],
        [[NAN, NAN], [NAN, NAN]],
        np.empty((0, 3)),
        [[1, NAN], [NAN, 1]],
    ],
)
def test_durbins_w_is_undefined_where_the_design_is_not_balanced(ratings) -> None:
    assert math.isnan(durbin_w(ratings))
    with pytest.raises(ValueError, match="raters, items"):
        durbin_w([1.0, 2.0])


def test_skillings_mack_has_no_correction_for_ties() -> None:
    # Four raters agree on four items and all tie the last two: m (n - 1) W = 12 with the
    # correction. Without it: rank sums 4 8 14 14 about 10, S = 72, 12 * 72 / (4 * 4 * 5) = 10.8.
    ratings = [[1, 2, 3, 3]] * 4
    assert skillings_mack(ratings, resamples=99).statistic == pytest.approx(10.8)
    assert 4 * 3 * kendall_w(ratings) == pytest.approx(12)


def test_the_mean_spearman_of_ten_films_by_three_judges() -> None:
    # S = 320.5: W = 12 * 320.5 / (9 * 990).
    w = 12 * 320.5 / (9 * 990)
    assert w == pytest.approx(0.4316, abs=5e-5)
    assert mean_spearman_from_w(w, 3) == pytest.approx(0.1475, abs=5e-5)


@pytest.mark.parametrize(
    ("form", "low", "high"),
    [
        ("ICC(1,1)", -0.133, 0.723),
        ("ICC(2,1)", 0.019, 0.761),
        ("ICC(3,1)", 0.342, 0.946),
        ("ICC(1,k)", -0.884, 0.912),
        ("ICC(2,k)", 0.071, 0.927),
        ("ICC(3,k)", 0.676, 0.986),
    ],
)
def test_limits_of_shrout_and_fleiss_example(form: IccForm, low: float, high: float) -> None:
    # The limits that R's psych prints for the example of Shrout and Fleiss.
    rows = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = icc_interval(np.array(rows, dtype=float).T, form)
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-4)
    assert found.low < found.value < found.high


def test_limits_of_the_anxiety_data() -> None:
    anxiety = [
        [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3],
        [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4],
        [2, 1, 4, 4, 3, 2, 1, 6, 1, 1, 1, 2, 3, 3, 1, 1, 3, 3, 2, 2],
    ]
    found = icc_interval(anxiety, "ICC(2,1)")
    assert (found.value, found.low, found.high) == pytest.approx((0.198, -0.039, 0.494), abs=5e-4)


def test_limits_are_refused_where_nothing_varies() -> None:
    constant = icc_interval(np.full((3, 5), 4.0), "ICC(2,1)")
    assert math.isnan(constant.value)
    assert constant.reason == "items do not vary"
    perfect = icc_interval([[1, 2, 3, 4]] * 3, "ICC(3,1)")
    assert perfect.value == pytest.approx(1)
    assert math.isnan(perfect.low)
    assert perfect.reason is not None
    with pytest.raises(ValueError, match="level"):
        icc_interval([[1, 2, 3], [2, 1, 3]], "ICC(3,1)", level=1)


def test_limits_enclose_the_value_or_are_missing_with_a_reason() -> None:
    # Three raters, three items, every item and every rater with mean 2: no mean square but the
    # residual's is above 0, and the degrees of freedom are 0 / 0.
    alike = icc_interval([[1, 2, 3], [2, 3, 1], [3, 1, 2]], "ICC(2,1)")
    assert math.isnan(alike.low)
    assert alike.reason == "the means of items differ too little for limits by normal theory"
    rng = np.random.default_rng(0)
    for _ in range(60):
        table = rng.integers(1, 5, size=(rng.integers(2, 5), rng.integers(2, 5))).astype(float)
        for form in get_args(IccForm):
            found = icc_interval(table, form)
            if found.reason is None:
                assert found.low <= found.value <= found.high <= 1
            else:
                assert math.isnan(found.low)
                assert math.isnan(found.high)


def test_bounds_of_a_mean_with_abstentions() -> None:
    # 25 scores with sum 130, five abstentions, scale 1 to 10: (130 + 5) / 30, (130 + 50) / 30.
    scores = [5.0] * 20 + [6.0] * 5 + [NAN] * 5
    found = abstention_bounds(scores)
    assert (found.mean, found.low, found.high) == pytest.approx((5.2, 4.5, 6.0))
    assert (found.n_scored, found.n_abstained, found.coverage) == (25, 5, 25 / 30)
    nobody = abstention_bounds([NAN, NAN], lowest=0, highest=1)
    assert math.isnan(nobody.mean)
    assert (nobody.low, nobody.high) == (0, 1)
    for scores, options in (([], {}), ([11.0], {}), ([5.0], {"lowest": 6.0, "highest": 6.0})):
        with pytest.raises(ValueError, match="got"):
            abstention_bounds(scores, **options)


def test_rogan_gladen_with_the_limits_of_lee_and_others() -> None:
    found = rogan_gladen(
        0.4, 1000, specificity=0.7, n_negative=200, sensitivity=0.9, n_positive=200
    )
    # (.4 + .7 - 1) / (.7 + .9 - 1) = 1/6; limits as their own code prints them.
    assert found.value == pytest.approx(1 / 6)
    assert (found.low, found.high) == pytest.approx((0.0564, 0.2627), abs=5e-5)
    # By hand: z² = 3.841459, p = 401.920729 / 1003.841459 = .400383, q0 = 141/202 = .698020,
    # q1 = 181/202 = .896040; θ = .098403 / .594059 = .165645.
    # v0 = .210788/202 = .00104351, v1 = .0931526/202 = .000461152
    # shift = 7.682918 (.165645 · .000461152 − .834355 · .00104351) = −.00610220
    # SE² = (.240077/1003.841 + .696148 · .00104351 + .0274383 · .000461152) / .352906 = .00277197
    # θ + shift ± 1.959964 · .0526495 = .159543 ± .103191
    assert (found.low, found.high) == pytest.approx((0.056352, 0.262734), abs=2e-6)


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    found = rogan_gladen(0.4, 100, specificity=0.5, n_negative=50, sensitivity=0.5, n_positive=50)
    assert math.isnan(found.value)
    assert found.reason is not None
    perfect = rogan_gladen(
        0.4, 10_000, specificity=1, n_negative=10_000, sensitivity=1, n_positive=10_000
    )
    assert perfect.value == pytest.approx(0.4)
    assert perfect.high - perfect.low == pytest.approx(2 * 1.96 * math.sqrt(0.24 / 1e4), rel=0.02)
    with pytest.raises(ValueError, match="shares"):
        rogan_gladen(1.4, 0, specificity=1, n_negative=1, sensitivity=1, n_positive=1)
    with pytest.raises(ValueError, match="level"):
        rogan_gladen(0.4, 9, specificity=1, n_negative=1, sensitivity=1, n_positive=1, level=0)


def salad_fit(counts: dict[tuple[int, ...], int]) -> tuple[list[float], float]:
    fit = plackett_luce(np.array(list(counts), dtype=float), weights=list(counts.values()))
    return (fit.log_worth[1:] - fit.log_worth[0]).tolist(), fit.log_likelihood


def test_the_salad_rankings_against_a_plain_optimiser() -> None:
    def loss(beta: np.ndarray) -> float:
        worth, total = np.array([0.0, *beta]), 0.0
        for ranks, times in SALAD.items():
            order = np.argsort(ranks)
            for at in range(3):
                left = worth[order[at:]]
                total -= times * (left[0] - math.log(np.exp(left).sum()))
        return total

    best = optimize.minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8})
    worths, log_likelihood = salad_fit(SALAD)
    assert sum(SALAD.values()) == 32
    assert worths == pytest.approx(best.x.tolist(), abs=1e-5)
    assert log_likelihood == pytest.approx(-best.fun, abs=1e-6)


def test_the_salad_figures_in_circulation_come_from_one_ranking_read_otherwise() -> None:
    # 2.61891 1.52862 1.03837 and -77.81872 belong to the data with one 4213 read as 4312.
    changed = {**SALAD, (4, 2, 1, 3): 2, (4, 3, 1, 2): 2}
    assert salad_fit(SALAD)[0] == pytest.approx([2.72991, 1.56154, 1.02684], abs=1e-5)
    # (4, 3, 1, 2) stood once before.
    worths, log_likelihood = salad_fit(changed)
    assert worths == pytest.approx([2.61891, 1.52862, 1.03837], abs=1e-5)
    assert log_likelihood == pytest.approx(-77.81872, abs=1e-5)


@pytest.mark.parametrize(
    ("correlation", "worth"), [(0.1, 7.69), (0.3, 3.09), (0.6, 1.63), (0.8, 1.24)]
)
def test_thirty_judges_of_equal_correlation_are_worth_what_kish_says(
    correlation: float, worth: float
) -> None:
    # Errors with exactly that correlation: a shared column and thirty own ones, orthogonal to
    # each other and to the constant.
    rng = np.random.default_rng(0)
    columns = np.linalg.qr(np.column_stack([np.ones(60), rng.normal(size=(60, 31))]))[0][:, 1:]
    errors = math.sqrt(correlation) * columns[:, :1] + math.sqrt(1 - correlation) * columns[:, 1:]
    found = effective_judges(errors, np.zeros(60), draws=0)
    assert found.mean_correlation == pytest.approx(correlation)
    assert found.kish == pytest.approx(worth, abs=5e-3)


@pytest.mark.parametrize(("level", "fewest"), [(0.9, 9), (0.95, 19)])
def test_a_conformal_width_needs_nine_scores_for_ninety_per_cent(level: float, fewest: int) -> None:
    errors = np.arange(1.0, fewest + 1)
    assert conformal_width(np.zeros(fewest), errors, level=level).width == fewest
    assert not math.isfinite(conformal_width(np.zeros(fewest - 1), errors[:-1], level=level).width)


@pytest.mark.parametrize(("prompts", "smallest"), [(3, 0.25), (5, 0.0625), (6, 0.03125)])
def test_the_smallest_p_of_a_sign_flip_test(prompts: int, smallest: float) -> None:
    assert sign_flip_test(np.arange(1.0, prompts + 1)).p_value == smallest
