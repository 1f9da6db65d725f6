"""Two counts that should have one share: published figures, enumeration, an independent test."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.proportions import exact_p, gap_rate, is_gap_beyond


def test_the_rate_of_gaps_by_hand_by_published_figures_and_by_simulation() -> None:
    # Two answers each, p = .5: flagged unless equal: 1 - (1 + 4 + 1)/16 = .625.
    assert gap_rate(2, 2, 0.5, 0.2) == pytest.approx(0.625)
    rates = [gap_rate(10, 10, p, 0.2) for p in (0.1, 0.2, 0.3, 0.4, 0.5)]
    assert rates == pytest.approx([0.2436, 0.3944, 0.4626, 0.4941, 0.5034], abs=5e-5)
    assert gap_rate(10, 10, 0.1, 0.5) == pytest.approx(0.0013, abs=5e-5)
    assert math.isnan(gap_rate(0, 10, 0.5, 0.2))
    rng = np.random.default_rng(1)
    one, other = rng.binomial(10, 0.3, 100_000), rng.binomial(8, 0.3, 100_000)
    found = (np.abs(one / 10 - other / 8) >= 0.2 - 1e-9).mean()
    # Monte Carlo error .0016.
    assert gap_rate(10, 8, 0.3, 0.2) == pytest.approx(found, abs=0.006)


def by_fractions(a: int, n: int, b: int, m: int) -> float:
    """The exact p with the squared statistic in fractions, for some values of the common share."""

    def squared(j: int, k: int) -> Fraction:
        pooled = Fraction(j + k, n + m)
        variance = pooled * (1 - pooled) * (Fraction(1, n) + Fraction(1, m))
        return (Fraction(j, n) - Fraction(k, m)) ** 2 / variance if variance else Fraction(0)

    extreme = [(j, k) for j in range(n + 1) for k in range(m + 1) if squared(j, k) >= squared(a, b)]
    return max(
        sum(float(stats.binom.pmf(j, n, p) * stats.binom.pmf(k, m, p)) for j, k in extreme)
        for p in [*np.linspace(0.005, 0.995, 20).tolist(), 0.5]
    )


def test_the_exact_test_is_barnards_and_forty_points_are_its_smallest_gap_at_ten() -> None:
    for a, n, b, m in ((7, 10, 3, 10), (9, 10, 4, 10), (6, 9, 1, 9)):
        table = [[a, b], [n - a, m - b]]
        assert exact_p(a, n, b, m) == pytest.approx(stats.barnard_exact(table).pvalue, abs=0.002)
    for a, n, b, m in ((8, 10, 3, 7), (1, 5, 4, 6), (9, 10, 4, 10)):
        # Where the sizes differ SciPy misses outcomes that tie but for rounding: by fractions.
        assert exact_p(a, n, b, m) == pytest.approx(by_fractions(a, n, b, m), abs=0.002)
        assert exact_p(a, n, b, m) == pytest.approx(exact_p(b, m, a, n))
        assert exact_p(a, n, b, m) == pytest.approx(exact_p(n - a, n, m - b, m))
    significant = [
        abs(a - b) for a in range(11) for b in range(11) if exact_p(a, 10, b, 10) <= 0.05
    ]
    assert min(significant) == 4
    assert exact_p(0, 10, 0, 10) == 1
    assert math.isnan(exact_p(0, 0, 1, 10))


def test_more_than_the_threshold_is_said_of_a_twentieth_of_those_at_it() -> None:
    # Shares .6 and .4, ten answers each, over every outcome: published .051 for a gap of 20.
    of_one, of_other = (stats.binom.pmf(np.arange(11), 10, p) for p in (0.6, 0.4))
    said = sum(
        of_one[a] * of_other[b] * is_gap_beyond(a, 10, b, 10, 0.2)
        for a in range(11) for b in range(11)
    )  # fmt: skip
    assert said == pytest.approx(0.051, abs=0.002)
    assert is_gap_beyond(10, 10, 1, 10, 0.2)
    assert is_gap_beyond(1, 10, 10, 10, 0.2)
    assert not is_gap_beyond(7, 10, 4, 10, 0.2)
