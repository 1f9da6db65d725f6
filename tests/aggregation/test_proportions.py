"""Shares with and without clusters, paired tests, chi-square: published figures, libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from areopagus.aggregation.clustered import clustered_proportion
from areopagus.aggregation.proportions import (
    chi_square_test,
    wilson,
)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_of_newcombes_examples(k: int, n: int, low: float, high: float) -> None:
    interval = wilson(k, n)
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=5e-5)
    assert (interval.low, interval.high) == pytest.approx(
        proportion_confint(k, n, method="wilson"), abs=1e-12
    )
    assert interval.value == pytest.approx(k / n)


def test_chi_square_of_party_and_gender() -> None:
    # Agresti: gender by party, 30.07 with 2 degrees of freedom.
    found = chi_square_test([[762, 327, 468], [484, 239, 477]])
    assert (found.statistic, found.df) == (pytest.approx(30.07, abs=5e-3), 2)
    theirs = stats.chi2_contingency([[762, 327, 468], [484, 239, 477]])
    assert (found.p, found.n) == (pytest.approx(theirs.pvalue), 2757)
    empty = chi_square_test([[762, 0, 468], [0, 0, 0]])
    assert empty.reason == "1 rows and 2 columns have observations"


def test_copies_of_an_outcome_add_nothing() -> None:
    outcomes = np.repeat([1.0] * 12 + [0.0] * 28, 6)
    labels = np.repeat(np.arange(40), 6).tolist()
    many = clustered_proportion(outcomes, labels)
    once = clustered_proportion([1.0] * 12 + [0.0] * 28, range(40))
    assert (many.low, many.high) == pytest.approx((once.low, once.high))
    assert many.n == 40


def test_few_clusters_get_no_interval_and_equal_outcomes_one_of_as_many_clusters() -> None:
    few = clustered_proportion([1, 0, 1, 0], [1, 1, 2, 2])
    assert few.value == 0.5
    assert math.isnan(few.low)
    assert few.reason == "an interval needs 6 prompts, there are 2"
    none = clustered_proportion([0.0] * 60, list(range(10)) * 6)
    assert none.low == 0
    # Wilson with t: t²/(G + t²), t(9) = 2.2622, G = 10
    assert none.high == pytest.approx(2.2622**2 / (10 + 2.2622**2), abs=1e-4)
    assert clustered_proportion([math.nan], ["a"]).reason == "no outcome"
