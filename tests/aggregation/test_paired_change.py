"""Changes of figures: pseudo-values, ratios by unit, and limits made of two intervals."""

from __future__ import annotations

import numpy as np
import pytest

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.paired_change import (
    change_of_limits,
    of_separate_units,
    pseudo_values,
    ratios,
)
from areopagus.aggregation.rules import decided, separate


def test_of_a_mean_the_pseudo_values_are_the_values_of_the_units() -> None:
    values = np.array([1.0, 4.0, 2.0, 9.0])
    without = (values.sum() - values) / 3
    found = pseudo_values(values.mean(), without, np.ones(4, dtype=bool))
    assert found == pytest.approx(values)


def test_units_that_have_no_part_in_a_figure_have_no_pseudo_value() -> None:
    # A share of a part: units 0 and 1 belong to it (1 of 2, 2 of 2), units 2 and 3 do not.
    sums, sizes = np.array([1.0, 2.0, 0.0, 0.0]), np.array([2.0, 2.0, 0.0, 0.0])
    value, without, rests = ratios([(sums, sizes, 1.0)])
    assert value == 0.75
    assert without[:2] == pytest.approx([1.0, 0.5])  # 2/2 without the first, 1/2 without the other
    assert rests.tolist() == [True, True, False, False]
    # 2 × .75 − 1 × 1 = .5 and 2 × .75 − 1 × .5 = 1: their mean is the share.
    found = pseudo_values(value, without, rests)
    assert found[:2] == pytest.approx([0.5, 1.0])
    assert np.isnan(found[2:]).all()


def test_a_difference_of_two_groups_is_made_of_the_units_of_both() -> None:
    one = (np.array([3.0, 5.0, 0, 0]), np.array([1.0, 1.0, 0, 0]), 1.0)
    other = (np.array([0, 0, 1.0, 2.0]), np.array([0, 0, 1.0, 1.0]), -1.0)
    value, without, rests = ratios([one, other])
    assert value == 2.5  # 4 − 1.5
    assert without == pytest.approx([3.5, 1.5, 2.0, 3.0])
    assert rests.all()
    assert np.mean(pseudo_values(value, without, rests)) == pytest.approx(2.5)


def test_what_cannot_be_computed_without_some_unit_has_no_pseudo_values() -> None:
    value, without, rests = ratios([(np.array([1.0, 0.0]), np.array([1.0, 0.0]), 1.0)])
    assert np.isnan(pseudo_values(value, without, rests)).all()
    some = np.array([True, True, True])
    assert np.isnan(pseudo_values(1.0, [1.0, np.nan, 2.0], some)).all()


def test_limits_of_two_intervals_are_those_of_a_difference_of_means_where_they_are_symmetric() -> (
    None
):
    before, after = Estimate(5.0, 4.0, 6.0, n=20), Estimate(3.0, 1.0, 5.0, n=20)
    # Independent: sqrt(2² + 1²); with correlation .5: sqrt(4 + 1 − 2 × .5 × 2 × 1) = sqrt(3).
    found = change_of_limits(after, before, 0.0)
    assert (found.low, found.value, found.high) == (
        pytest.approx(-2 - 5**0.5), -2.0, pytest.approx(-2 + 5**0.5),
    )  # fmt: skip
    found = change_of_limits(after, before, 0.5)
    assert found.low == pytest.approx(-2 - 3**0.5)
    # The short arms towards 0 make the limit on that side: the root of a mean square.
    found = change_of_limits(Estimate(0.0, 0.0, 3.0), Estimate(4.0, 1.0, 6.0), 0.0)
    assert found.low == pytest.approx(-4 - 2.0)  # nothing below 0 after, 2 above before
    assert found.high == pytest.approx(-4 + (3**2 + 3**2) ** 0.5)


def test_twelve_changes_that_are_none_are_rarely_called_one_and_intervals_hold_them() -> None:
    """A small form of benchmarks/simulate_changes.py: shares of eight answers over 16 units."""
    rng = np.random.default_rng(38)
    false_alarms, held, n = 0, 0, 0
    for _ in range(120):
        own = rng.normal(0.5, 0.2, (16, 12))
        sides = []
        for _side in range(2):
            rate = np.clip(own + rng.normal(0, 0.1, own.shape), 0, 1)
            sizes = rng.integers(4, 9, own.shape).astype(float)
            sides.append((rng.binomial(sizes.astype(int), rate).astype(float), sizes))
        columns = []
        for k in range(12):
            (b, b_without, rests), (a, a_without, _) = (
                ratios([(sums[:, k], sizes[:, k], 1.0)]) for sums, sizes in sides
            )
            columns.append(pseudo_values(a - b, a_without - b_without, rests))
        changes = decided(np.stack(columns, axis=1))
        false_alarms += any(change.verdict in ("higher", "lower") for change in changes)
        held += sum(change.covers(0.0) for change in changes)
        n += 12
    # .05 and .95 are stated; 120 worlds have a Monte Carlo error of .02, 1,440 intervals of .006.
    assert false_alarms / 120 <= 0.11
    assert 0.93 <= held / n <= 0.97


def test_without_limits_of_both_a_difference_has_none() -> None:
    after = Estimate(30.0, 20.0, 40.0, n=40)
    for pair in ((after, Estimate(0.0, n=40)), (Estimate(0.0, n=40), after)):
        found = change_of_limits(*pair, 0.3)
        assert not found.has_interval
        assert np.isnan([found.low, found.high]).all()


def test_a_difference_of_groups_that_share_a_unit_is_not_one_of_separate_groups() -> None:
    one, other = np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 1.0])
    assert of_separate_units([(one, one, 1.0), (other, other, -1.0)], [(one, one, 1.0)] * 2) is None
    assert of_separate_units([(one, one, 1.0)], [(one, one, 1.0)]) is None


def test_few_units_on_one_side_have_the_degrees_of_freedom_of_few() -> None:
    """A small form of `separate` in benchmarks/simulate_changes.py: 6 units and 60."""
    rng = np.random.default_rng(6)
    is_first = np.arange(66) < 6
    masks = [(is_first, 1.0), (~is_first, -1.0)]
    pairs = []
    for _ in range(800):
        own = rng.normal(size=66)
        before, after = (
            [(np.where(m, own + again, 0.0), m.astype(float), sign) for m, sign in masks]
            for again in rng.normal(size=(2, 66))
        )
        found = of_separate_units(before, after)
        assert found is not None
        assert found[1].sum() == 6
        pairs.append((found[0][found[1]], -found[0][~found[1]]))
    held = np.mean([change.covers(0.0) for change in separate(pairs)])
    assert 0.93 < held < 0.97  # all 66 units together hold .88
