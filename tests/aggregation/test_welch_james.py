"""Welch's t of a contrast of means, against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.welch_james import contrast_of_means, welch_james


def test_a_contrast_of_two_cells_is_welchs_test() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 1, 8), rng.normal(0.5, 3, 12)
    two = stats.ttest_ind(a, b, equal_var=False)
    found = welch_james([a, b], [1, -1])
    assert found.p == pytest.approx(two.pvalue)
    interval = two.confidence_interval()
    assert found.limits() == pytest.approx((interval.low, interval.high))
    assert welch_james([a, b[:1]], [1, -1]).reason == "a group has fewer than two values"
    assert welch_james([np.ones(4), np.zeros(4)], [1, -1]).reason == "too few groups vary"
    assert math.isnan(welch_james([a, np.asarray([])], [1, -1]).estimate)


def test_a_contrast_of_means_has_the_limits_and_the_p_of_welch() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(0, 1, 8), rng.normal(0.5, 3, 12)
    found = contrast_of_means([a, [*b, math.nan], a], [1, -1, 0], unit="name", outcome="score")
    two = stats.ttest_ind(a, b, equal_var=False)
    limits = two.confidence_interval()
    assert (found.value, found.low, found.high) == pytest.approx(
        (a.mean() - b.mean(), limits.low, limits.high)
    )
    assert (found.p, found.n) == (pytest.approx(two.pvalue), 20)
    few = contrast_of_means([a[:2], b[:3]], [1, -1], unit="name", outcome="score")
    assert few.reason == "an interval needs 6 names, there are 5"
    assert few.p == pytest.approx(stats.ttest_ind(a[:2], b[:3], equal_var=False).pvalue)
    assert contrast_of_means([a, []], [1, -1], unit="name", outcome="s").reason == (
        "a group has no value"
    )
