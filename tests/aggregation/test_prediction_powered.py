"""Prediction-powered means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.prediction_powered import ppi_mean, ppi_over_prompts


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


def test_a_ppi_over_prompts_is_ppi_with_every_prompt_a_group_and_has_its_test() -> None:
    rng = np.random.default_rng(2)
    people, panel = rng.normal(0.5, 1, 40), rng.normal(0, 1, 40)
    people += panel
    people[15:] = np.nan
    panel[39] = np.nan  # neither rated nor scored: no part in it
    found = ppi_over_prompts(people, panel, tests=1)
    same = ppi_mean(
        people[:15], panel[:15], panel[15:39], groups=range(15), unlabelled_groups=range(15, 39)
    )
    assert (found.mean.low, found.mean.high) == (same.mean.low, same.mean.high)
    assert (found.mean.n, found.mean.n_planned, found.mean.unit) == (15, 39, "prompt")
    assert found.people_alone.p == pytest.approx(stats.ttest_1samp(people[:15], 0).pvalue)
    # the p is the level at which the interval ends at 0
    assert found.mean.value > 0
    level = 1 - found.mean.p
    assert ppi_over_prompts(people, panel, level=level).mean.low == pytest.approx(0, abs=1e-9)


def test_where_every_prompt_is_rated_peoples_own_mean_stands() -> None:
    people, panel = np.arange(8.0), np.ones(8)
    found = ppi_over_prompts(people, panel)
    interval = stats.ttest_1samp(people, 0).confidence_interval(0.95)
    assert (found.mean.low, found.mean.high) == pytest.approx(interval)
    assert found.mean == found.people_alone
    assert "people's own mean" in found.mean.method


def test_five_rated_prompts_are_too_few_to_correct_a_mean() -> None:
    people = np.array([1.0, 2, 3, 4, 5, np.nan, np.nan])
    found = ppi_over_prompts(people, np.arange(7.0))
    assert not found.mean.is_defined
    assert found.mean.reason == "people rated 5 of these prompts: 6 are needed"


def test_corrected_differences_cover_where_the_panel_is_biased_and_compressed() -> None:
    """400 small worlds, Monte Carlo error .011; the full size is a benchmark's.

    The panel halves differences and adds .8 to one side; people's is .3."""
    rng = np.random.default_rng(11)
    corrected, panel_covers, widths = 0, 0, []
    for _ in range(400):
        held = rng.normal(0.3, 1, 60)
        people = held + rng.normal(0, 0.8, 60)
        people[rng.permutation(60)[:40]] = np.nan
        panel = 0.5 * held + 0.8 + rng.normal(0, 0.4, 60)
        found = ppi_over_prompts(people, panel)
        corrected += found.mean.covers(0.3)
        half = stats.t.ppf(0.975, 59) * panel.std(ddof=1) / np.sqrt(60)
        panel_covers += abs(panel.mean() - 0.3) < half
        widths.append([one.high - one.low for one in (found.mean, found.people_alone)])
    assert 0.92 < corrected / 400 < 0.98
    assert panel_covers == 0
    narrow, wide = np.mean(widths, axis=0)
    assert narrow < 0.95 * wide


def test_a_panel_that_knows_nothing_gains_nothing_and_costs_no_coverage() -> None:
    rng = np.random.default_rng(12)
    covered, widths = 0, []
    for _ in range(300):
        people = rng.normal(0.3, 1, 60)
        people[20:] = np.nan
        found = ppi_over_prompts(people, rng.normal(0.8, 0.5, 60))
        covered += found.mean.covers(0.3)
        widths.append([one.high - one.low for one in (found.mean, found.people_alone)])
    assert 0.91 < covered / 300 < 0.99
    with_panel, alone = np.mean(widths, axis=0)
    assert 0.98 * alone < with_panel < 1.05 * alone


def test_neither_ids_nor_the_order_of_prompts_matter() -> None:
    rng = np.random.default_rng(8)
    people, panel = rng.normal(0, 1, 60), rng.normal(0, 1, 60)
    people[25:] = np.nan
    order = rng.permutation(60)
    one, other = ppi_over_prompts(people, panel), ppi_over_prompts(people[order], panel[order])
    assert (one.mean.value, one.mean.low) == pytest.approx((other.mean.value, other.mean.low))
    turned = ppi_over_prompts(-people, -panel).mean
    assert (turned.value, turned.high) == pytest.approx((-one.mean.value, -one.mean.low))
