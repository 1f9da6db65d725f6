"""Degrees of freedom of a variance, by hand, by scipy's kurtosis and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.intervals import variance_degrees


def test_one_value_among_many_makes_the_variance_by_hand() -> None:
    # Nine 0 and one 10: mean 1, d = −1 (nine) and 9: Σd² = 90, Σd⁴ = 6570;
    # k = 10 · 6570 / 8100 = 8.1111; df = 2 / (5.1111 / 10 + 2 / 9) = 2 / .733333 = 2.72727
    assert variance_degrees([0] * 9 + [10]) == pytest.approx(30 / 11)


def test_tails_no_heavier_than_the_normals_have_n_less_one() -> None:
    assert variance_degrees([0, 1] * 10) == 19
    assert variance_degrees([2.5] * 7) == 6
    assert variance_degrees(np.arange(30)) == 29


def test_the_kurtosis_is_scipys_and_location_and_scale_do_not_matter() -> None:
    values = np.random.default_rng(4).exponential(size=40)
    expected = 2 / (float(stats.kurtosis(values)) / 40 + 2 / 39)
    assert variance_degrees(values) == pytest.approx(expected)
    assert variance_degrees(3 - 1e-9 * values) == pytest.approx(expected)
    assert variance_degrees(np.flip(values)) == pytest.approx(expected)


def test_degrees_are_twice_the_squared_mean_over_the_variance_of_the_variance() -> None:
    # The definition, over 40,000 samples of 25 Laplace values (kurtosis 6): 9.84
    variances = np.random.default_rng(2).laplace(size=(40_000, 25)).var(axis=1, ddof=1)
    drawn = 2 * variances.mean() ** 2 / variances.var()
    assert drawn == pytest.approx(2 / (3 / 25 + 2 / 24), rel=0.05)
    # One large sample of them has about the degrees that its kurtosis of 6 implies.
    large = variance_degrees(np.random.default_rng(3).laplace(size=20_000))
    assert large == pytest.approx(2 / (3 / 20_000 + 2 / 19_999), rel=0.15)


def test_fewer_than_two_values_are_refused() -> None:
    with pytest.raises(ValueError, match="at least two values"):
        variance_degrees([1.0])
    with pytest.raises(ValueError, match="one dimension"):
        variance_degrees(np.ones((2, 2)))
