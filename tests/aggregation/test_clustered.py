"""Means and shares from the sums of clusters are those of the whole list."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.clustered import (
    cluster_mean,
    cluster_share,
    clustered_proportion,
    skewed_cluster_mean,
)
from areopagus.aggregation.sign_flips import hall_interval


def test_shares_from_sums_are_those_of_the_whole_list() -> None:
    rng = np.random.default_rng(2)
    for shares in (rng.uniform(0, 1, 12), np.zeros(12), np.ones(12), np.full(12, 0.5)):
        found = [rng.random(4 + cluster % 3) < p for cluster, p in enumerate(shares)]
        outcomes = np.concatenate(found).astype(float)
        labels = np.repeat(np.arange(12), [one.size for one in found])
        expected = clustered_proportion(outcomes, labels.tolist())
        got = cluster_share([one.sum() for one in found], [one.size for one in found])
        assert (got.value, got.low, got.high, got.n) == pytest.approx(
            (expected.value, expected.low, expected.high, expected.n)
        )
    assert cluster_mean([], []).reason == "nothing measured"
    few = cluster_mean([1, 5], [2, 0], unit="concept pair")
    assert (few.n, few.reason) == (1, "an interval needs 6 concept pairs, there are 1")
    assert skewed_cluster_mean([1], [2]).reason == "an interval needs 6 prompts, there are 1"
    with pytest.raises(ValueError, match="one size a sum"):
        cluster_share([1, 2], [1])


def test_a_mean_of_clusters_of_one_is_a_mean_with_its_t_interval() -> None:
    x = np.random.default_rng(4).normal(size=9)
    found = cluster_mean(x, np.ones(9))
    low, high = stats.t.interval(0.95, 8, loc=x.mean(), scale=stats.sem(x))
    assert (found.low, found.high, found.se) == pytest.approx((low, high, stats.sem(x)))


def test_the_interval_without_skewness_is_halls() -> None:
    rng = np.random.default_rng(8)
    sizes = rng.integers(3, 10, size=14).astype(float)
    x = sizes * rng.exponential(size=14)
    ratio = x.sum() / sizes.sum()
    rests = x - ratio * sizes
    error = math.sqrt(14 / 13 * (rests**2).sum()) / sizes.sum()
    expected = hall_interval(
        ratio, error, float(stats.skew(rests)), float(stats.kurtosis(rests)), 14
    )
    found, without = skewed_cluster_mean(x, sizes), cluster_mean(x, sizes)
    assert (found.value, found.low, found.high) == pytest.approx(
        (ratio, expected.low, expected.high)
    )
    # A long tail to the right: what was not drawn lies there.
    assert found.low > without.low
    assert found.high > without.high
    alike = skewed_cluster_mean([9 * 0.07] * 9 + [5.0], [9] * 9 + [0])
    assert (alike.n, alike.low, alike.high) == (9, pytest.approx(0.07), pytest.approx(0.07))
