"""Sign-flip tests, plain and freed of skewness, and Hall's interval: listings and vectors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from areopagus.aggregation.intervals import degrees_by_excess
from areopagus.aggregation.sign_flips import (
    hall_interval,
    hall_inverse,
    hall_transformed,
    sign_flip_test,
    sign_flip_tests,
    skewness_adjusted_flips,
)

NAN = math.nan
# Darwin's maize, crossed minus self-fertilised, in eighths of an inch.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_darwins_maize_beside_another_cell() -> None:
    tests = sign_flip_tests(np.column_stack([MAIZE, np.zeros(15)]))
    assert tests.p_value.tolist() == [1726 / 32768, 1]
    assert tests.method == ("exact", "exact")
    assert tests.smallest.tolist() == [2 / 2**15] * 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-8, 8), min_size=1, max_size=13), st.integers(1, 7))
def test_ties_are_counted_as_by_listing_all_vectors(steps, divisor) -> None:
    values = np.array(steps) / divisor
    # Whole steps add up without rounding: every sign vector, listed.
    sums = np.zeros(1, dtype=int)
    for step in steps:
        sums = np.concatenate((sums + step, sums - step))
    total = sum(steps)
    assert sign_flip_tests(values[:, None]).p_value[0] == (np.abs(sums) >= abs(total)).mean()
    assert sign_flip_test(values, alternative="greater").p == (sums >= total).mean()
    assert sign_flip_test(values, alternative="less").p == (sums <= total).mean()


def test_beyond_thirty_values_vectors_are_drawn() -> None:
    rng = np.random.default_rng(2)
    table = rng.normal(0.2, 1, (60, 2))
    table[:35, 1] = NAN
    tests = sign_flip_tests(table, flips=1999, seed=3)
    assert tests.method == ("monte carlo", "exact")
    assert (tests.p_value[0] * 2000) % 1 == pytest.approx(0, abs=1e-9)
    # Normal approximation of the flipped sum: sd = root of the sum of squares.
    z = abs(table[:, 0].sum()) / math.sqrt((table[:, 0] ** 2).sum())
    assert tests.p_value[0] == pytest.approx(2 * stats.norm.sf(z), abs=0.04)
    assert tests.smallest[0] == 1 / 2000
    again = sign_flip_tests(table, flips=1999, seed=3)
    assert again.p_value.tolist() == tests.p_value.tolist()
    strong = sign_flip_tests(np.full((40, 1), 2.0), flips=99)
    assert strong.p_value[0] == 0.01


def moments(x: np.ndarray) -> tuple[float, float, float, float, int]:
    """Mean, standard error, skewness, excess kurtosis and number, as scipy has them."""
    return (
        float(x.mean()), float(stats.sem(x)), float(stats.skew(x)), float(stats.kurtosis(x)), x.size
    )  # fmt: skip


def interval(x: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    found = hall_interval(*moments(x), level=level)
    return found.low, found.high


def published(x: np.ndarray, mean: float) -> float:
    """√n (Q + k3 Q²/3 + k3² Q³/27 + k3/(6n)) with Q = (x̄ − μ)/s, apart from the code under test.

    As EPA's ProUCL guides print it; without the cubic term Johnson's (1978) t, in the form of Lyon,
    Barber & Tsai (1999), Journal of Finance 54, 165.
    """
    s = math.sqrt(((x - x.mean()) ** 2).sum() / (x.size - 1))
    k3 = ((x - x.mean()) ** 3).sum() / x.size / (((x - x.mean()) ** 2).sum() / x.size) ** 1.5
    q = (x.mean() - mean) / s
    return math.sqrt(x.size) * (q + k3 * q**2 / 3 + k3**2 * q**3 / 27 + k3 / (6 * x.size))


def test_the_limits_are_the_roots_of_the_published_cubic() -> None:
    x = np.random.default_rng(1).exponential(size=25)
    mean, error, skewness, excess, n = moments(x)
    assert skewness > 0.5
    low, high = interval(x)
    # 2 / (2/24 + κ/25), and t with these degrees: not n − 1 where a few values carry the spread.
    reach = stats.t.ppf(0.975, 2 / (2 / (n - 1) + max(excess, 0) / n))
    for limit, turned in ((low, reach), (high, -reach)):
        root = optimize.brentq(lambda m, w=turned: published(x, m) - w, mean - 9, mean + 9)
        assert limit == pytest.approx(root, abs=1e-9)
    t_reach = stats.t.ppf(0.975, n - 1) * error
    # To the right of the t interval, and further above the mean than below.
    assert low > mean - t_reach
    assert high > mean + t_reach


def test_by_hand() -> None:
    # Nine 0 and one 1: mean .1, error √(.09/9) = .1, γ = (.9 − .1)/√.09 = 8/3,
    # κ = (1 − 6 × .09)/.09 − 3 + 3 = .46/.09 = 5.111; degrees 2/(2/9 + .5111) = 2.727.
    x = np.array([1.0] + [0.0] * 9)
    mean, error, skewness, excess, n = moments(x)
    assert (mean, error, skewness) == pytest.approx((0.1, 0.1, 8 / 3))
    assert degrees_by_excess(n, excess) == pytest.approx(2 / (2 / 9 + (0.46 / 0.09) / 10))
    # t = 1: u = .31623, u + γu²/3 + γ²u³/27 + γ/60 = .31623 + .08889 + .00833 + .04444 = .45789;
    # times √10.
    assert hall_transformed(1.0, 8 / 3, 10) == pytest.approx(1.44797, abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.floats(-9, 9), st.floats(-4, 4), st.integers(2, 2_000))
def test_the_inverse_undoes_it_and_it_increases_and_is_odd(t: float, gamma: float, n: int) -> None:
    turned = float(hall_transformed(t, gamma, n))
    # Flat where 1 + γt/(3√n) = 0: there the root is known to a third of the digits only.
    assert hall_inverse(turned, gamma, n) == pytest.approx(t, abs=1e-3)
    assert float(hall_transformed(t + 0.5, gamma, n)) > turned
    assert float(hall_transformed(-t, -gamma, n)) == pytest.approx(-turned)
    assert float(hall_transformed(t, 0.0, n)) == pytest.approx(t)


def test_the_limits_have_the_known_expansion() -> None:
    # Hall (1988), Annals of Statistics 16, 927: mean + s/√n (z + γ(2z² + 1)/(6√n)) + O(1/n).
    for z in (-1.7, 0.4, 2.3):
        for gamma in (-2.0, 1.0):
            step = 1e-3
            n = round(1 / step**2)
            slope = (-hall_inverse(-z, gamma, n) - z) / step
            assert slope == pytest.approx(gamma * (2 * z * z + 1) / 6, abs=0.02)


def test_degrees_are_those_of_the_variance_of_a_variance() -> None:
    # n draws of 0 and 1 with p = .1: s² = k(n − k)/(n(n − 1)) with k binomial, exactly.
    n, p = 40, 0.1
    k = np.arange(n + 1)
    weights, s2 = stats.binom.pmf(k, n, p), k * (n - k) / (n * (n - 1))
    sigma2 = float(weights @ s2)
    assert sigma2 == pytest.approx(p * (1 - p))
    variance = float(weights @ (s2 - sigma2) ** 2)
    excess = (1 - 6 * p * (1 - p)) / (p * (1 - p))
    assert degrees_by_excess(n, excess) == pytest.approx(2 * sigma2**2 / variance, rel=1e-9)
    assert degrees_by_excess(12, 0.0) == 11
    assert degrees_by_excess(12, -1.2) == 11


def test_symmetric_values_have_the_t_interval_and_values_alike_a_point() -> None:
    x = np.array([-3.0, -1.0, -1.0, 0.0, 1.0, 1.0, 3.0]) + 5
    reach = stats.t.ppf(0.975, 6) * stats.sem(x)
    # Kurtosis 168/7/(22/7)² = 2.43 < 3: no fewer degrees.
    assert interval(x) == pytest.approx((5 - reach, 5 + reach))
    point = hall_interval(2.0, 0.0, 0.0, 0.0, 9)
    assert (point.low, point.high, point.n) == (2, 2, 9)


def test_turned_values_have_the_turned_interval_whatever_the_unit() -> None:
    x = np.random.default_rng(3).lognormal(size=12)
    low, high = interval(x)
    assert interval(-x) == pytest.approx((-high, -low))
    assert interval(100 * x - 7) == pytest.approx((100 * low - 7, 100 * high - 7))


def listed_p(values: list[float]) -> float:
    """Every sign vector by itself, with scipy's moments."""

    def statistic(x: np.ndarray) -> float:
        mean = float(x.mean())
        if np.ptp(x) <= 1e-12 * np.abs(x).max():
            return math.inf if mean else 0.0
        return float(hall_transformed(mean / stats.sem(x), stats.skew(x), x.size))

    array = np.array(values)
    seen = abs(statistic(array))
    found = [
        abs(statistic(array * signs)) for signs in itertools.product((-1, 1), repeat=array.size)
    ]
    return sum(one >= seen - 1e-7 * max(1.0, min(seen, 1e9)) for one in found) / len(found)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(-6, 9), min_size=2, max_size=6))
def test_up_to_fourteen_values_all_sign_vectors_are_listed(values: list[int]) -> None:
    column = np.array(values, dtype=float)[:, None]
    found = skewness_adjusted_flips(column)
    assert found.p_value[0] == pytest.approx(listed_p(column[:, 0].tolist()))
    for other in (-column, 1e-6 * column, 1e6 * column):
        assert skewness_adjusted_flips(other).p_value[0] == found.p_value[0]
    assert found.method == ("exact",)


def test_cells_use_the_values_they_have() -> None:
    rng = np.random.default_rng(5)
    table = rng.normal(0.6, 1, size=(20, 4))
    table[9:, 1], table[:, 2], table[3, 3] = np.nan, np.nan, np.nan
    found = skewness_adjusted_flips(table, flips=199)
    assert found.n.tolist() == [20, 9, 0, 19]
    assert found.method == ("monte carlo", "exact", "none", "monte carlo")
    assert found.p_value[1] == skewness_adjusted_flips(table[:9, 1:2]).p_value[0]
    assert found.smallest.tolist()[:2] == [1 / 200, 2 / 2**9]
    assert math.isnan(found.p_value[2])
    assert math.isnan(found.smallest[2])
    again = skewness_adjusted_flips(table, flips=199)
    assert again.p_value[[0, 1, 3]].tolist() == found.p_value[[0, 1, 3]].tolist()
    assert skewness_adjusted_flips(table, flips=199, seed=1).p_value[0] > 0
    assert np.isnan(skewness_adjusted_flips(np.empty((0, 2))).p_value).all()


def test_zeros_say_nothing_and_equal_values_as_much_as_can_be_said() -> None:
    for n in (1, 2, 5, 40):
        found = skewness_adjusted_flips(np.column_stack([np.zeros(n), np.full(n, 0.1)]), flips=99)
        assert found.p_value[0] == 1
        # Two of 2^n vectors leave them equal, as in the test of the mean.
        assert found.p_value[1] == (2 / 2**n if n < 40 else 1 / 100)


def test_sign_flip_of_nothing_and_of_zeros() -> None:
    nothing = sign_flip_test([NAN, NAN])
    assert math.isnan(nothing.p)
    assert nothing.reason == "no value"
    assert sign_flip_test([0.0, 0.0, 0.0]).p == 1
    assert sign_flip_test([*MAIZE, NAN]).p == 1726 / 32768
    with pytest.raises(ValueError, match="vector"):
        sign_flip_test([[1.0]])


def test_symmetric_differences_are_tested_at_the_level_and_skewed_ones_nearer_to_it() -> None:
    # One-sided look at the far tail that Holm uses: differences with a long tail to the right.
    rng = np.random.default_rng(6)
    skewed = rng.exponential(size=(60, 800)) - 1
    adjusted = skewness_adjusted_flips(skewed, flips=999).p_value
    plain = sign_flip_tests(skewed, flips=999).p_value
    # .01 is stated, the error of 800 is .0035.
    assert (adjusted <= 0.01).mean() < (plain <= 0.01).mean()
    assert (adjusted <= 0.01).mean() < 0.0205
    symmetric = rng.standard_t(4, size=(10, 800))
    found = skewness_adjusted_flips(symmetric).p_value
    assert abs((found <= 0.05).mean() - 0.05) < 0.024
