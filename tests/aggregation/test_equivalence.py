"""Two one-sided tests against Lakens' example, statsmodels and simulated power."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from areopagus.aggregation.equivalence import tost, tost_from_error


def test_tost_of_lakens_example() -> None:
    # Welch from summaries: 5.25 (.95, 95) and 5.22 (.83, 89), bound d = .43; p = .004, t = -2.69.
    error = math.sqrt(0.95**2 / 95 + 0.83**2 / 89)
    bound = 0.43 * math.sqrt((0.95**2 + 0.83**2) / 2)
    result = tost_from_error(5.25 - 5.22, error, 182, bound)
    assert result.p == pytest.approx(stats.t.cdf(-2.69, 182), abs=2e-4)
    assert (round(result.p, 3), result.verdict) == (0.004, "inside")


def test_tost_agrees_with_statsmodels() -> None:
    values = np.random.default_rng(6).normal(0.1, 0.6, 15)
    for margin in (0.5, 0.3):
        result = tost(values, margin)
        assert result.p == pytest.approx(ttost_paired(values, np.zeros(15), -margin, margin)[0])
        # The verdict is that the 90% interval lies inside the margin.
        assert (result.verdict == "inside") == (max(-result.low, result.high) < margin)
    ninety = stats.t.interval(0.9, 14, values.mean(), stats.sem(values))
    assert (result.low, result.high, result.level) == pytest.approx((*ninety, 0.9))


def test_tost_is_undefined_without_variation() -> None:
    for values in ([0.1] * 9, [0.2], []):
        result = tost(values, 0.5)
        assert (result.verdict, result.has_interval, math.isnan(result.p)) == (None, False, True)
        assert result.reason


def test_two_values_are_tested_and_a_margin_of_nothing_is_refused() -> None:
    # 0.1 and 0.3: mean .2, error .1, one degree of freedom; t = (.2 − 1) / .1 = −8.
    result = tost([0.1, 0.3], 1.0)
    assert result.p == pytest.approx(stats.t.cdf(-8, 1))
    assert tost([0.1], 1.0).verdict is None
    for margin in (0.0, -0.1):
        with pytest.raises(ValueError, match="margin must be above 0"):
            tost_from_error(0.1, 0.1, 5, margin)


def test_the_verdict_goes_by_the_level_itself() -> None:
    # p is the smaller tail at the margin: as large as 1 − level, it is inside; larger, it is not.
    p = float(stats.t.cdf(-2.0, 10))
    for level, verdict in ((1 - p - 1e-9, "inside"), (1 - p + 1e-9, "not shown")):
        assert tost_from_error(0.0, 0.5, 10, 1.0, level=level).verdict == verdict
    assert tost_from_error(0.0, 0.5, 10, 1.0, level=0.6).verdict == "inside"
    for level in (0.5, 1.0):
        with pytest.raises(ValueError, match="level must be in"):
            tost_from_error(0.0, 0.5, 10, 1.0, level=level)
    for error, degrees in ((0.0, 10), (0.5, 0)):
        assert tost_from_error(0.0, error, degrees, 1.0).reason is not None
