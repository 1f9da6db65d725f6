"""The one rule: simultaneous limits, and what they decide."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.rules import decided, separate, simultaneous, units_needed


def drawn(seed: int, units: int, cells: int, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(shift, 1.0, (units, cells))


def test_a_family_of_one_has_the_limits_of_t() -> None:
    values = drawn(0, 12, 1, 0.4)
    (row,) = decided(values)
    expected = stats.ttest_1samp(values[:, 0], 0)
    interval = expected.confidence_interval(0.95)
    assert (row.low_family, row.high_family) == pytest.approx((interval.low, interval.high))
    assert (row.low, row.high) == pytest.approx((row.low_family, row.high_family))
    assert row.p == pytest.approx(expected.pvalue)


def test_the_limits_of_a_family_are_those_of_an_independent_enumeration() -> None:
    # Without skewness Hall's statistic is t: values that mirror themselves about their mean.
    half = drawn(1, 5, 3)
    values = np.concatenate([half, -half]) + 0.3
    rest = values - values.mean(axis=0)
    largest = []
    for code in range(2**9):
        signs = np.array([1.0 if code >> k & 1 else -1.0 for k in range(9)] + [1.0])
        flipped = signs[:, None] * rest
        t = stats.ttest_1samp(flipped, 0).statistic
        gamma = stats.skew(flipped)
        u = t / np.sqrt(10)
        h = np.sqrt(10) * (u + gamma * u**2 / 3 + gamma**2 * u**3 / 27) + gamma / (6 * np.sqrt(10))
        largest.append(np.abs(h).max())
    critical = np.sort(largest)[int(np.ceil(0.95 * 513)) - 1]
    error = values.std(axis=0, ddof=1) / np.sqrt(10)
    family = simultaneous(values)
    assert family.low == pytest.approx(values.mean(axis=0) - critical * error)
    assert family.high == pytest.approx(values.mean(axis=0) + critical * error)


@pytest.mark.parametrize("units", [6, 9, 12, 40])
def test_the_p_value_reaches_its_level_where_the_limits_reach_zero(units: int) -> None:
    values = drawn(units, units, 8, 0.5)
    family = simultaneous(values)
    excludes = (family.low > 0) | (family.high < 0)
    assert ((family.p <= 0.05 * (1 + 1e-9)) == excludes).all()
    pointwise = list(decided(values))
    assert all(row.low_family <= row.low and row.high <= row.high_family for row in pointwise)


def test_the_five_verdicts() -> None:
    noise = drawn(3, 30, 5) * 0.1
    values = noise + np.array([1.0, -1.0, 0.0, 0.0, 0.0])
    values[:, 3] *= 30
    values[3:, 4] = np.nan
    rows = decided(values, margins=[0.5] * 5)
    assert [row.verdict for row in rows] == ["higher", "lower", "alike", "open", "undefined"]
    assert rows[3].needed is not None
    assert rows[3].needed > 30
    assert rows[4].reason == "3 prompts: an interval needs at least 6"
    assert [row.n_planned for row in rows] == [30] * 5
    assert np.isnan(rows[4].low_family)


def test_a_drop_on_eight_prompts_among_twenty_cells_is_seen() -> None:
    values = drawn(5, 8, 20) * 0.5
    values[:, 0] += 6.4
    rows = decided(values)
    assert rows[0].verdict == "higher"
    assert [row.verdict for row in rows[1:]].count("open") >= 18


def test_values_without_spread_are_decided_by_the_exact_sign_test() -> None:
    values = np.column_stack([np.full(8, 0.5), np.zeros(8), np.full(8, 0.1)])
    rows = decided(values, margins=[None, None, 0.3])
    assert [row.verdict for row in rows] == ["higher", "alike", "higher"]
    assert rows[0].p == pytest.approx(3 * 2 / 2**8)
    few = decided(values[:6], margins=[None, None, 0.3])
    assert [row.verdict for row in few] == ["open", "alike", "alike"]


def test_separate_units_are_compared_by_welch() -> None:
    one, other = drawn(7, 9, 1, 1.0)[:, 0], drawn(8, 14, 1)[:, 0] * 2
    (row,) = separate([(one, -other)])
    expected = stats.ttest_ind(one, other, equal_var=False)
    interval = expected.confidence_interval(0.95)
    assert (row.value, row.low, row.high) == pytest.approx(
        (one.mean() - other.mean(), interval.low, interval.high)
    )
    assert row.p == pytest.approx(expected.pvalue)
    assert row.n == 23
    # One unit on a side has no error of its own: nothing is decided, by no sign test either.
    (lone,) = separate([(one, -other[:1])])
    assert (lone.verdict, lone.reason) == ("undefined", "a group has fewer than two prompts")
    assert np.isfinite(lone.value)


def test_the_number_that_decides_has_the_power_that_it_promises() -> None:
    needed = units_needed(1.0, 0.5)
    assert needed == 34  # one-sample t, 80%: G*Power 3.1
    rng = np.random.default_rng(0)
    seen = [stats.ttest_1samp(rng.normal(0.5, 1, needed), 0).pvalue < 0.05 for _ in range(2000)]
    assert np.mean(seen) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    ("kind", "least"), [("normal", 0.93), ("skewed", 0.90), ("whole points", 0.93)]
)
def test_all_cells_are_covered_at_once(kind: str, least: float) -> None:
    rng = np.random.default_rng(11)
    covered = 0
    for _ in range(300):
        shared = rng.exponential(1, (20, 1)) - 1 if kind == "skewed" else rng.normal(size=(20, 1))
        own = rng.exponential(1, (20, 8)) - 1 if kind == "skewed" else rng.normal(size=(20, 8))
        values = (shared + own) / np.sqrt(2)
        if kind == "whole points":
            values = np.round(values)
        family = simultaneous(values)
        covered += bool(((family.low <= 0) & (family.high >= 0)).all())
    assert covered / 300 >= least
