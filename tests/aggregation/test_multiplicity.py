"""Adjusted p-values against the published family, statsmodels and the exact sign-flip."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from areopagus.aggregation.multiplicity import benjamini_hochberg, holm, max_t
from areopagus.aggregation.sign_flips import sign_flip_test

NAN = math.nan
# Benjamini & Hochberg (1995), the thrombolysis example.
FAMILY = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
          0.4262, 0.5719, 0.6528, 0.7590, 1.0]  # fmt: skip


def test_the_published_family_rejects_four_and_three() -> None:
    assert (benjamini_hochberg(FAMILY) <= 0.05).sum() == 4
    assert (holm(FAMILY) <= 0.05).sum() == 3
    assert (np.array(FAMILY) * 15 <= 0.05).sum() == 3


@pytest.mark.parametrize(("rule", "name"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_adjusted_p_values_agree_with_statsmodels_and_missing_ones_do_not_count(rule, name) -> None:
    p = np.random.default_rng(0).permutation([*FAMILY, 0.0201, 0.0])
    assert rule(p) == pytest.approx(multipletests(p, method=name)[1])
    adjusted = rule([0.01, NAN, 0.04])
    assert math.isnan(adjusted[1])
    assert adjusted[[0, 2]] == pytest.approx(rule([0.01, 0.04]))
    assert rule([0.03]) == pytest.approx([0.03])
    assert rule([]).size == 0


def test_max_t_of_one_cell_is_the_sign_flip_test() -> None:
    values = np.random.default_rng(1).normal(0.5, 1, 11)
    result = max_t(values[:, None])
    assert result.method == "exact"
    assert result.p_adjusted[0] == pytest.approx(sign_flip_test(values).p)
    assert result.t[0] == pytest.approx(stats.ttest_1samp(values, 0).statistic)


def test_max_t_lies_between_the_raw_and_the_holm_values() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal([0, 0.3, 0.8, 1.2], 1, size=(12, 4)) + rng.normal(size=(12, 1))
    raw = np.array([sign_flip_test(column).p for column in values.T])
    adjusted = max_t(values).p_adjusted
    assert (adjusted >= raw - 1e-12).all()
    assert (adjusted <= holm(raw) + 0.02).all()
    order = np.argsort(-np.abs(max_t(values).t))
    assert (np.diff(adjusted[order]) >= 0).all()


def test_max_t_uses_the_units_a_cell_has_and_leaves_empty_cells_out() -> None:
    values = np.random.default_rng(3).normal(0.5, 1, (10, 4))
    values[7:, 1] = NAN
    values[1:, 2] = NAN
    values[:, 3] = 0
    result = max_t(values)
    assert result.n.tolist() == [10, 7, 1, 10]
    assert np.isnan(result.p_adjusted[2:]).all()
    assert result.t[1] == pytest.approx(stats.ttest_1samp(values[:7, 1], 0).statistic)
    assert max_t(values[:, :2]).p_adjusted == pytest.approx(result.p_adjusted[:2])


def test_max_t_samples_beyond_twelve_units() -> None:
    values = np.random.default_rng(4).normal(2, 1, (30, 3))
    result = max_t(values, resamples=499, rng=1)
    assert (result.method, result.resamples) == ("monte carlo", 499)
    assert result.p_adjusted == pytest.approx([1 / 500] * 3)


def test_two_units_are_enough_and_more_than_twelve_are_drawn() -> None:
    # Signs of 1 and 2: |sum| is 3, 1, 1, 3 over the four vectors, so that t is reached by two.
    found = max_t([[1.0], [2.0]])
    assert found.p_adjusted == pytest.approx([0.5])
    assert (found.resamples, found.method) == (4, "exact")
    values = np.random.default_rng(1).normal(0.5, 1, size=(13, 1))
    assert (max_t(values[:12]).method, max_t(values[:12]).resamples) == ("exact", 2**12)
    drawn = max_t(values)
    assert (drawn.method, drawn.resamples) == ("monte carlo", 9999)
    assert drawn.p_adjusted == pytest.approx([stats.ttest_1samp(values[:, 0], 0).pvalue], abs=0.02)
    # Small values are values.
    assert max_t(values[:6] * 1e-3).p_adjusted == pytest.approx(max_t(values[:6]).p_adjusted)


@pytest.mark.parametrize("rule", [holm, benjamini_hochberg])
def test_p_values_beyond_0_and_1_are_refused(rule) -> None:
    for outside in (-0.01, 1.01):
        with pytest.raises(ValueError, match="p-values must be in"):
            rule([0.5, outside])
    assert rule([0.0, 1.0]) == pytest.approx([0.0, 1.0])
