"""Two one-sided tests against Lakens' example, statsmodels and simulated power."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from areopagus.aggregation.equivalence import prompts_for_equivalence, tost, tost_from_error

VALUES = [0.1, -0.3, 0.2, 0.4]


def test_tost_of_lakens_example() -> None:
    # Welch from summaries: 5.25 (.95, 95) and 5.22 (.83, 89), bound d = .43.
    error = math.sqrt(0.95**2 / 95 + 0.83**2 / 89)
    bound = 0.43 * math.sqrt((0.95**2 + 0.83**2) / 2)
    result = tost_from_error(5.25 - 5.22, error, 182, bound)
    assert result.t_below == pytest.approx(-2.69, abs=5e-3)
    assert result.p_value == pytest.approx(0.004, abs=5e-4)
    assert result.is_equivalent is True


def test_tost_agrees_with_statsmodels() -> None:
    values = np.random.default_rng(6).normal(0.1, 0.6, 15)
    result = tost(values, 0.5)
    p_value, above, below = ttost_paired(values, np.zeros(15), -0.5, 0.5)
    assert result.p_value == pytest.approx(p_value)
    assert (result.t_above, result.p_above) == pytest.approx(above[:2])
    assert (result.t_below, result.p_below) == pytest.approx(below[:2])
    # The verdict is that the 90% interval lies inside the margin.
    assert result.is_equivalent == (max(-result.low, result.high) < 0.5)
    ninety = stats.t.interval(0.9, 14, values.mean(), stats.sem(values))
    assert (result.low, result.high) == pytest.approx(ninety)


def test_tost_is_undefined_without_variation() -> None:
    for values in ([0.1] * 9, [0.2], []):
        result = tost(values, 0.5)
        assert result.is_equivalent is None
        assert math.isnan(result.p_value)
        assert result.reason
    with pytest.raises(ValueError, match="margin"):
        tost(VALUES, 0)
    with pytest.raises(ValueError, match="level"):
        tost(VALUES, 1, level=0.05)


@pytest.mark.parametrize(("sd", "margin"), [(0.8, 0.5), (0.5, 0.5), (1.2, 0.5)])
def test_prompts_for_equivalence_reach_the_power_and_one_fewer_does_not(sd, margin) -> None:
    rng = np.random.default_rng(0)

    def power(n: int) -> float:
        mean = rng.normal(0, sd / math.sqrt(n), 400_000)
        s = sd * np.sqrt(rng.chisquare(n - 1, mean.size) / (n - 1))
        return float((np.abs(mean) + stats.t.ppf(0.95, n - 1) * s / math.sqrt(n) <= margin).mean())

    n = prompts_for_equivalence(sd, margin)
    # Monte Carlo error .0006.
    assert power(n) > 0.8 - 0.002
    assert power(n - 1) < 0.8 + 0.002


def test_prompts_for_equivalence_are_the_tabled_ones_within_one() -> None:
    tabled = {(0.8, 0.5): 24, (0.8, 0.25): 89, (0.5, 0.5): 10, (1.2, 0.5): 51}
    for (sd, margin), n in tabled.items():
        assert abs(prompts_for_equivalence(sd, margin) - n) <= 1
    with pytest.raises(ValueError, match="above 0"):
        prompts_for_equivalence(0, 1)
