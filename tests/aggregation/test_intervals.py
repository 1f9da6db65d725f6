"""Intervals by prompt and of a finite population, against textbook data and simulation."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.intervals import (
    half_width,
    shrinking,
    t_interval,
    variance_degrees,
)

NAN = math.nan
# Extra hours of sleep of ten patients, drug 1 minus drug 2 (Student, 1908).
SLEEP = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]) - np.array(
    [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
)


def test_interval_writes_null_for_nan() -> None:
    interval = Estimate(0.5, NAN, math.inf, 3, "prompt", "t", reason="too few")
    told = {name: value for name, value in interval.to_json().items() if value is not None}
    assert json.loads(json.dumps(told)) == {
        "value": 0.5,
        "n": 3,
        "unit": "prompt",
        "method": "t",
        "level": 0.95,
        "reason": "too few",
    }


def test_t_interval_of_the_sleep_data() -> None:
    interval = t_interval(SLEEP)
    assert interval.value == pytest.approx(-1.58)
    # R's t.test prints -2.4598858 and -0.7001142.
    assert (interval.low, interval.high) == pytest.approx((-2.4598858, -0.7001142), abs=1e-7)
    assert (interval.n, interval.unit, interval.method, interval.reason) == (
        10,
        "prompt",
        "t",
        None,
    )
    test = stats.ttest_1samp(SLEEP, 0)
    assert (test.statistic, test.pvalue) == pytest.approx((-4.0621, 0.002833), abs=5e-5)
    wide = t_interval(SLEEP, level=1 - test.pvalue)
    assert wide.high == pytest.approx(0, abs=1e-9)


def test_t_interval_refuses_few_or_constant_values_with_a_reason() -> None:
    few = t_interval([1, 2, 3, 4, 5])
    assert few.value == 3
    assert math.isnan(few.low)
    assert math.isnan(few.high)
    assert "at least 6" in (few.reason or "")
    constant = t_interval([0.1] * 8)
    assert constant.value == pytest.approx(0.1)
    assert math.isnan(constant.low)
    assert "vary" in (constant.reason or "")
    nothing = t_interval([])
    assert math.isnan(nothing.value)
    assert nothing.reason


def test_one_value_among_many_makes_the_variance_by_hand() -> None:
    # Nine 0 and one 10: mean 1, d = −1 (nine) and 9: Σd² = 90, Σd⁴ = 6570;
    # k = 10 · 6570 / 8100 = 8.1111; df = 2 / (5.1111 / 10 + 2 / 9) = 2 / .733333 = 2.72727
    assert variance_degrees([0] * 9 + [10]) == pytest.approx(30 / 11)


def test_the_kurtosis_is_scipys_and_location_and_scale_do_not_matter() -> None:
    values = np.random.default_rng(4).exponential(size=40)
    expected = 2 / (float(stats.kurtosis(values)) / 40 + 2 / 39)
    assert variance_degrees(values) == pytest.approx(expected)
    assert variance_degrees(3 - 1e-9 * values) == pytest.approx(expected)
    assert variance_degrees(np.flip(values)) == pytest.approx(expected)


def test_against_a_hand_calculation() -> None:
    # values 1, 2, 3: s^2 = 1; t(2) at 97.5% = 4.302653; n = 3 of N = 9:
    # 4.302653 * sqrt((1 - 3/9) * 1 / 3) = 4.302653 * sqrt(2/9) = 2.028290
    assert half_width([1.0, 2.0, 3.0], 9) == pytest.approx(2.028290, abs=1e-6)


def test_nothing_is_open_once_all_are_drawn_and_everything_with_one() -> None:
    assert half_width([1.0, 9.0], 2) == 0.0
    assert half_width([5.0], 2) == math.inf
    assert half_width([], 2) == math.inf
    assert half_width([], 0) == 0.0


def test_equal_values_in_steps_are_not_taken_for_no_spread() -> None:
    equal = [6.0] * 8
    assert half_width(equal, 30) == 0.0
    # s^2 = 1/12 in place of 0: t(7) = 2.364624; 2.364624 * sqrt((22/30) / 12 / 8) = 0.206669
    assert half_width(equal, 30, grain=1.0) == pytest.approx(0.206669, abs=1e-6)


@given(st.lists(st.floats(1, 10), min_size=2, max_size=20), st.floats(-5, 5))
def test_order_and_level_of_the_values_do_not_matter(values: list[float], shift: float) -> None:
    found = half_width(values, 25)
    assert half_width(values[::-1], 25) == pytest.approx(found)
    assert half_width([value + shift for value in values], 25) == pytest.approx(found, abs=1e-7)
    sd = float(np.std(values, ddof=1))
    assert found == pytest.approx(shrinking(len(values), 25) * sd, abs=1e-7)
