"""Prediction-powered means."""

from __future__ import annotations

import numpy as np
import pytest

from areopagus.aggregation.prediction_powered import ppi_mean


def test_the_published_prediction_powered_example() -> None:
    found = ppi_mean([3, 5, 4, 6], [4, 5, 5, 7], [5, 6, 4, 7, 5, 6])
    assert found.weight == pytest.approx(0.584135, abs=1e-6)
    assert found.mean.value == pytest.approx(4.646034, abs=1e-6)
    assert (found.mean.low, found.mean.high) == pytest.approx((3.919651, 5.372416), abs=1e-6)


def test_clusters_of_one_come_close_to_independent_responses() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(6, 1, 400)
    y, f = truth + rng.normal(0, 0.5, 400), truth + rng.normal(0, 0.5, 400)
    plain = ppi_mean(y[:200], f[:200], f[200:])
    clustered = ppi_mean(
        y[:200], f[:200], f[200:], groups=range(200), unlabelled_groups=range(200, 400)
    )
    assert clustered.mean.high == pytest.approx(plain.mean.high, abs=0.01)
    assert clustered.mean.high - clustered.mean.low < (
        clustered.labelled_only.high - clustered.labelled_only.low
    )


def test_a_prompt_on_both_sides_brings_its_covariance() -> None:
    rng = np.random.default_rng(5)
    prompt = np.repeat(np.arange(20), 3)
    f = rng.normal(size=20)[prompt] + rng.normal(0, 0.1, 60)
    y = rng.normal(size=20)[prompt] - f
    other = f + rng.normal(0, 0.1, 60)
    shared = ppi_mean(y + 2 * f, f, other, groups=prompt, unlabelled_groups=prompt)
    apart = ppi_mean(y + 2 * f, f, other, groups=prompt, unlabelled_groups=prompt + 100)
    assert shared.mean.value == apart.mean.value
    assert shared.mean.high != pytest.approx(apart.mean.high)


def test_a_useless_panel_gets_no_weight() -> None:
    found = ppi_mean([1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3])
    assert found.weight == 0
    assert found.mean.value == 2.5


def test_the_weight_of_a_prompt_is_fitted_without_it() -> None:
    """Against the definition: ten prompts, one a fold; lambda of the other nine."""
    rng = np.random.default_rng(7)
    y, f, u = rng.normal(5, 1, 20), rng.normal(6, 1, 20), rng.normal(6, 1, 30)
    groups = np.repeat(np.arange(10), 2)
    found = ppi_mean(y, f, u, groups=groups, unlabelled_groups=np.arange(100, 130))
    expected = []
    for left_out in range(10):
        rest = groups != left_out
        covariance = np.cov(y[rest], f[rest], ddof=0)[0, 1]
        spread = np.concatenate([f[rest], u]).var(ddof=1)
        weight = np.clip(covariance / ((1 + rest.sum() / 30) * spread), 0, 1)
        expected += (y[~rest] - weight * (f[~rest] - u.mean())).tolist()
    assert found.mean.value == pytest.approx(np.mean(expected))


def test_few_groups_give_no_prediction_powered_interval() -> None:
    found = ppi_mean(
        [1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3], groups=[0, 0, 1, 1], unlabelled_groups=[2, 3, 4]
    )
    assert np.isnan(found.mean.low)
    assert found.mean.reason == "fewer than 6 labelled groups"
