"""The sign-flip test: listings and published vectors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.intervals import degrees_by_excess
from areopagus.aggregation.sign_flips import sign_flip_test

NAN = math.nan
# Darwin's maize, crossed minus self-fertilised, in eighths of an inch.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_the_published_test_of_darwins_maize() -> None:
    # Fisher (1935), The Design of Experiments, section 21: 1,726 of 2^15 sign vectors.
    assert sign_flip_test(MAIZE).p == pytest.approx(1726 / 2**15)
    assert sign_flip_test(MAIZE, alternative="greater").p == pytest.approx(863 / 2**15)


def test_all_sign_vectors_are_counted() -> None:
    values = np.round(np.random.default_rng(2).normal(0.4, 1, 9), 1)
    listed = [np.dot(signs, values) for signs in itertools.product((1, -1), repeat=9)]
    reached = np.abs(listed) >= abs(values.sum()) - 1e-9
    assert sign_flip_test(values).p == pytest.approx(reached.mean())
    drawn = sign_flip_test(np.tile(values, 4), rng=3)
    assert drawn.p_method is not None
    assert 0 < drawn.p <= 1


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


def test_sign_flip_of_nothing_and_of_zeros() -> None:
    nothing = sign_flip_test([NAN, NAN])
    assert math.isnan(nothing.p)
    assert nothing.reason == "no value"
    assert sign_flip_test([0.0, 0.0, 0.0]).p == 1
    assert sign_flip_test([*MAIZE, NAN]).p == 1726 / 32768
    with pytest.raises(ValueError, match="vector"):
        sign_flip_test([[1.0]])
