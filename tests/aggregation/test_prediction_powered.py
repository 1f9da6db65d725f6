"""Prediction-powered means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.prediction_powered import ppi_mean


def test_the_published_prediction_powered_example() -> None:
    found = ppi_mean([3, 5, 4, 6], [4, 5, 5, 7], [5, 6, 4, 7, 5, 6])
    assert found.weight == pytest.approx(0.584135, abs=1e-6)
    assert found.interval.value == pytest.approx(4.646034, abs=1e-6)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (3.919651, 5.372416), abs=1e-6
    )


def test_clusters_of_one_come_close_to_independent_responses() -> None:
    rng = np.random.default_rng(4)
    truth = rng.normal(6, 1, 400)
    y, f = truth + rng.normal(0, 0.5, 400), truth + rng.normal(0, 0.5, 400)
    plain = ppi_mean(y[:200], f[:200], f[200:])
    clustered = ppi_mean(
        y[:200], f[:200], f[200:], groups=range(200), unlabelled_groups=range(200, 400)
    )
    assert clustered.interval.high == pytest.approx(plain.interval.high, abs=0.01)
    assert clustered.interval.high - clustered.interval.low < (
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
    assert shared.interval.value == apart.interval.value
    assert shared.interval.high != pytest.approx(apart.interval.high)


def test_a_useless_panel_gets_no_weight() -> None:
    found = ppi_mean([1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3])
    assert found.weight == 0
    assert found.interval.value == 2.5


def test_few_groups_give_no_prediction_powered_interval() -> None:
    found = ppi_mean(
        [1, 2, 3, 4], [1, 2, 3, 5], [1, 2, 3], groups=[0, 0, 1, 1], unlabelled_groups=[2, 3, 4]
    )
    assert np.isnan(found.interval.low)
    assert found.interval.reason == "fewer than 6 labelled groups"


def test_the_labelled_mean_beside_it_is_the_t_interval() -> None:
    found = ppi_mean([3, 5, 4, 6], [4, 5, 5, 7], [5, 6, 4])
    expected = stats.t.interval(0.95, 3, 4.5, stats.sem([3, 5, 4, 6]))
    assert (found.labelled_only.low, found.labelled_only.high) == pytest.approx(expected)


def test_groups_must_be_given_on_both_sides() -> None:
    with pytest.raises(ValueError, match="together"):
        ppi_mean([1, 2], [1, 2], [1], groups=[0, 1])
