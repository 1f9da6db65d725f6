"""The interval for the mean of a finite population of which a part was drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from areopagus.aggregation.intervals import half_width, shrinking


def test_against_a_hand_calculation() -> None:
    # values 1, 2, 3: s^2 = 1; t(2) at 97.5% = 4.302653; n = 3 of N = 9:
    # 4.302653 * sqrt((1 - 3/9) * 1 / 3) = 4.302653 * sqrt(2/9) = 2.028290
    assert half_width([1.0, 2.0, 3.0], 9) == pytest.approx(2.028290, abs=1e-6)


def test_against_scipy_for_a_population_without_end() -> None:
    values = [4.2, 5.0, 6.1, 5.5, 4.9]
    low, high = stats.t.interval(0.9, 4, np.mean(values), stats.sem(values))
    assert half_width(values, 10**12, level=0.9) == pytest.approx((high - low) / 2)


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


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="3 values of a population of 2"):
        half_width([1.0, 2.0, 3.0], 2)
    with pytest.raises(ValueError, match="level"):
        half_width([1.0, 2.0], 3, level=1.0)
    with pytest.raises(ValueError, match="grain"):
        half_width([1.0, 2.0], 3, grain=-1.0)


def test_the_interval_covers_the_mean_of_the_population_in_a_single_look() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(2000):
        population = rng.normal(size=20)
        drawn = rng.choice(population, 6, replace=False)
        held += abs(drawn.mean() - population.mean()) <= half_width(list(drawn), 20)
    # binomial error of a share of .95 with 2,000 draws is .005
    assert held / 2000 == pytest.approx(0.95, abs=0.02)
