"""Welch and James's test of contrasts, and its permuted form: by hand, and against others."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.welch_james import (
    contrast_of_means,
    helmert,
    permuted_welch_james,
    welch_james,
)


def test_welch_james_is_welchs_test_where_there_are_two_cells_and_anova_with_several() -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(0, 1, 8), rng.normal(0.5, 3, 12), rng.normal(0, 2, 9)
    two = stats.ttest_ind(a, b, equal_var=False)
    found = welch_james([a, b], [1, -1])
    assert found.p == pytest.approx(two.pvalue)
    interval = two.confidence_interval()
    assert found.limits() == pytest.approx((interval.low, interval.high))
    # statsmodels anova_oneway(use_var="unequal") gives the same p for three cells.
    oneway = pytest.importorskip("statsmodels.stats.oneway")
    whole = oneway.anova_oneway([a, b, c], use_var="unequal")
    assert welch_james([a, b, c], helmert(3)).p == pytest.approx(whole.pvalue)
    # Another set of independent contrasts of the same space is the same test.
    assert welch_james([a, b, c], [[1, 0, -1], [0, 1, -1]]).p == pytest.approx(whole.pvalue)
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


def test_names_permuted_between_races_give_the_exact_p_of_all_arrangements() -> None:
    # Two strata of two cells of three names: 20 x 20 arrangements, listed one by one. The statistic
    # is Welch's t of the difference of differences, by hand; a p of its degrees of freedom orders.
    women, men = ([0.1, 0.4, 0.2], [0.6, 0.5, 0.9]), ([0.0, 0.3, 0.1], [0.2, 0.7, 0.8])

    def p_of(cells: list[list[float]]) -> float:
        means = [float(np.mean(cell)) for cell in cells]
        errors = [float(np.var(cell, ddof=1)) / 3 for cell in cells]
        gap = (means[0] - means[1] + means[2] - means[3]) / 2
        error = sum(errors) / 4
        degrees = error**2 / sum((e / 4) ** 2 / 2 for e in errors)
        return float(2 * stats.t.sf(abs(gap) / math.sqrt(error), degrees))

    def arrangements(pool: list[float]) -> list[tuple[list[float], list[float]]]:
        splits = itertools.combinations(range(6), 3)
        return [
            ([pool[i] for i in chosen], [pool[i] for i in range(6) if i not in chosen])
            for chosen in splits
        ]

    observed = p_of([*women, *men])
    drawn = [
        p_of([*one, *other])
        for one in arrangements(women[0] + women[1])
        for other in arrangements(men[0] + men[1])
    ]
    exact = float(np.mean([p <= observed * (1 + 1e-9) for p in drawn]))
    contrast = [0.5, -0.5, 0.5, -0.5]
    cells = [*women, *men]
    assert welch_james(cells, contrast).p == pytest.approx(observed)
    found = permuted_welch_james(cells, contrast, strata=2, resamples=20_000)
    error = math.sqrt(exact * (1 - exact) / 20_000)
    assert found.p == pytest.approx(exact, abs=4 * error)
    assert found.statistic == welch_james(cells, contrast).statistic
    # The same command, the same p; and missing names are left out.
    assert permuted_welch_james(cells, contrast, strata=2) == permuted_welch_james(
        [[*cell, math.nan] for cell in cells], contrast, strata=2
    )
    with pytest.raises(ValueError, match="cells of one stratum"):
        permuted_welch_james(cells, [1, 1, -1, -1], strata=2)
    with pytest.raises(ValueError, match="not 3 strata"):
        permuted_welch_james(cells, contrast, strata=3)
    same = permuted_welch_james([np.ones(4), np.zeros(4)], [1, -1], strata=1)
    assert (math.isnan(same.p), same.reason) == (True, "too few groups vary")


def test_the_test_of_race_keeps_its_level_where_rates_are_low() -> None:
    # Rates of mean .1, intraclass correlation .1. A small form of
    # benchmarks/simulate_silverspoon.py: by F .06 to .07 here.
    rng = np.random.default_rng(17)
    by_race = np.kron(np.full((1, 2), 0.5), helmert(4))
    hits = 0
    for _ in range(400):
        shares = rng.binomial(8, rng.beta(0.9, 8.1, size=96)) / 8
        test = permuted_welch_james(list(shares.reshape(8, 12)), by_race, strata=2, resamples=99)
        hits += test.p <= 0.05
    # .05 and three Monte Carlo errors of .0109
    assert hits / 400 < 0.083
