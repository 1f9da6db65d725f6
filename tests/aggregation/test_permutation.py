"""The permutation test within prompts against enumeration, scipy and Kendall's tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from areopagus.aggregation.pair_counting import pair_counts
from areopagus.aggregation.permutation import combined_null, group_null, permutation_test

NAN = math.nan
# Darwin's maize: crossed minus self-fertilised, fifteen pairs, eighths of an inch.
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def difference(x, y) -> int:
    counts = pair_counts(x, y)
    return counts.concordant - counts.discordant


def test_two_perfect_prompts_of_four() -> None:
    result = permutation_test([1, 2, 3, 4] * 2, [5, 6, 7, 8] * 2, [0] * 4 + [1] * 4,
                              alternative="greater")  # fmt: skip
    assert result.p == pytest.approx(1 / 576)
    assert (result.value, result.n) == (pytest.approx(1), 2)
    assert (result.p_method or "").endswith("exact, by convolution")
    assert result.reason is None


def test_null_of_nine_prompts_of_five() -> None:
    one = np.arange(5.0)
    null = combined_null([(one, one)] * 9)
    assert null.standard_deviation() / 90 == pytest.approx(0.136, abs=5e-4)
    two_sided = {s: null.probabilities[np.abs(null.values) >= s].sum() for s in (24, 26)}
    assert two_sided[26] <= 0.05 < two_sided[24]
    critical = 26 / 90
    assert critical == pytest.approx(0.289, abs=5e-4)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=2, max_size=5),
)
def test_the_null_with_ties_is_that_of_all_orders(items) -> None:
    x, y = np.array([i[0] for i in items], float), np.array([i[1] for i in items], float)
    everything = [difference(x, np.array(order)) for order in itertools.permutations(y)]
    null = group_null(x, y)
    for value, probability in zip(null.values.tolist(), null.probabilities, strict=True):
        assert probability == pytest.approx(everything.count(value) / len(everything))
    assert null.probabilities.sum() == pytest.approx(1)


def test_exact_p_agrees_with_scipy_without_ties() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=12), rng.normal(size=12)
    for alternative in ("two-sided", "greater", "less"):
        expected = stats.kendalltau(x, y, method="exact", alternative=alternative).pvalue
        assert permutation_test(x, y, alternative=alternative).p == pytest.approx(expected)


def test_sampling_takes_over_where_a_group_is_too_large() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 5, 80), rng.integers(0, 5, 80)
    groups = np.repeat([0, 1], 40)
    result = permutation_test(x, y, groups, resamples=1999)
    assert (result.p_method or "").endswith("1,999 drawn")
    assert (result.p * 2000) % 1 == pytest.approx(0, abs=1e-9)
    # Var(C - D) adds over groups: the normal approximation of scipy's, group by group.
    z = sum(difference(x[groups == g], y[groups == g]) for g in (0, 1)) / math.sqrt(
        sum(tied_variance(x[groups == g], y[groups == g]) for g in (0, 1))
    )
    assert result.p == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.04)


def tied_variance(x, y) -> float:
    n = len(x)
    t, u = np.unique(x, return_counts=True)[1], np.unique(y, return_counts=True)[1]

    def cubic(k):
        return (k * (k - 1) * (2 * k + 5)).sum()

    def triple(k):
        return (k * (k - 1) * (k - 2)).sum()

    def double(k):
        return (k * (k - 1)).sum()

    return (
        (n * (n - 1) * (2 * n + 5) - cubic(t) - cubic(u)) / 18
        + triple(t) * triple(u) / (9 * n * (n - 1) * (n - 2))
        + double(t) * double(u) / (2 * n * (n - 1))
    )


def test_a_perfect_association_never_has_p_zero() -> None:
    groups = np.repeat(range(400), 5)
    result = permutation_test(np.tile(range(5), 400), np.tile(range(5), 400), groups)
    assert 0 < result.p < 1e-100


def test_permutation_is_undefined_where_nothing_could_be_ordered() -> None:
    result = permutation_test([1, 1, 5, NAN], [1, 2, 3, 4], ["a", "a", "b", "b"])
    assert math.isnan(result.p)
    assert result.reason


def test_permutation_p_ignores_which_side_is_permuted_and_increasing_maps() -> None:
    rng = np.random.default_rng(3)
    x, y, g = rng.integers(1, 5, 30), rng.integers(1, 5, 30), np.repeat(range(6), 5)
    p = permutation_test(x, y, g).p
    assert permutation_test(y, x, g).p == pytest.approx(p)
    assert permutation_test(x**2, np.exp(y), [f"q{k}" for k in g]).p == pytest.approx(p)


def test_drawn_permutations_of_small_and_large_groups_have_the_exact_spread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pair by pair, or counted at once: both against Var(C - D) under ties (Kendall 1970, 4.13)."""
    from areopagus.aggregation import permutation

    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 4, 30).astype(float), rng.integers(0, 6, 30).astype(float)
    n = 30
    t, u = (np.unique(one, return_counts=True)[1] for one in (x, y))
    exact = (
        (n * (n - 1) * (2 * n + 5) - (t * (t - 1) * (2 * t + 5)).sum()
         - (u * (u - 1) * (2 * u + 5)).sum()) / 18
        + (t * (t - 1) * (t - 2)).sum() * (u * (u - 1) * (u - 2)).sum()
        / (9 * n * (n - 1) * (n - 2))
        + (t * (t - 1)).sum() * (u * (u - 1)).sum() / (2 * n * (n - 1))
    )  # fmt: skip
    codes = np.repeat([0, 1], 30)
    for most in (150, 0):
        monkeypatch.setattr(permutation, "MOST_BY_PAIR", most)
        drawn = permutation._permuted_differences(
            np.tile(x, 2), np.tile(y, 2), codes, 20_000, np.random.default_rng(1)
        )
        assert drawn.mean() == pytest.approx(0, abs=4 * math.sqrt(2 * exact / 20_000))
        assert drawn.var() == pytest.approx(2 * exact, rel=0.04)
