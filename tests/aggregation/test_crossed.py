"""Clusters of several kinds: the case of one kind, a sum by hand, coverage, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.clustered import cluster_mean, clustered_proportion
from areopagus.aggregation.crossed import crossed_mean, crossed_share


def test_with_one_kind_of_clusters_of_one_size_it_is_the_clustered_interval() -> None:
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(20), 6)
    y = (rng.random(120) < 0.3).astype(float)
    mean = crossed_mean(y, [[unit.tolist()]])
    other = cluster_mean(np.bincount(unit, weights=y), np.bincount(unit))
    assert (mean.low, mean.high) == pytest.approx((other.low, other.high))
    share = crossed_share(y, [[unit.tolist()]], null=0.5)
    known = clustered_proportion(y, unit.tolist(), null=0.5)
    assert (share.low, share.high, share.p) == pytest.approx((known.low, known.high, known.p))
    assert share.n == known.n == 20


def test_pairs_that_share_a_label_are_counted_once_in_either_place() -> None:
    # Six units of two observations; every observation has two labels, in either place.
    units = [at // 2 for at in range(12)]
    first = list("abcdefabcdef")
    second = list("ghabijklmnop")
    y = np.arange(12.0) ** 2
    found = crossed_mean(y, [[units], [first, second]])

    def linked(one: int, other: int, *, markers: bool, unit: bool) -> bool:
        shared = {first[one], second[one]} & {first[other], second[other]}
        return (unit and units[one] == units[other]) or (markers and bool(shared))

    rest = y - y.mean()
    variances = []
    for ways in ({"unit": True, "markers": False}, {"unit": False, "markers": True},
                 {"unit": True, "markers": True}):  # fmt: skip
        pairs = [(i, j) for i in range(12) for j in range(12) if i == j or linked(i, j, **ways)]
        total = sum(rest[i] * rest[j] for i, j in pairs)
        variances.append(total / (144 - len(pairs)))
    assert found.se == pytest.approx(math.sqrt(max(variances)))


def test_relabelling_and_reordering_change_nothing_and_a_missing_label_is_nobody_elses() -> None:
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(10), 8)
    markers = rng.integers(0, 9, size=80)
    y = rng.normal(size=80)
    found = crossed_mean(y, [[units.tolist()], [markers.tolist()]])
    order = rng.permutation(80)
    other = crossed_mean(
        y[order], [[[f"u{one}" for one in units[order]]], [(markers[order] + 5).tolist()]]
    )
    assert other.low == pytest.approx(found.low)
    alone = crossed_mean(y, [[units.tolist()], [[None] * 80]])
    assert alone.low == pytest.approx(crossed_mean(y, [[units.tolist()]]).low)
    with_nan = crossed_mean(np.append(y, np.nan), [[[*units, 99]], [[*markers, 98]]])
    assert with_nan.low == pytest.approx(found.low)
    assert with_nan.n == 10


def test_coverage_where_templates_and_markers_differ() -> None:
    hits = np.zeros(2)
    for world in range(200):
        rng = np.random.default_rng(world)
        unit, marker = np.repeat(np.arange(20), 8), np.tile(np.arange(8), 20)
        y = rng.normal(0, 0.5, 20)[unit] + rng.normal(0, 0.5, 8)[marker] + rng.normal(size=160)
        both = crossed_mean(y, [[unit.tolist()], [marker.tolist()]])
        alone = crossed_mean(y, [[unit.tolist()]])
        hits += [both.covers(0.0), alone.covers(0.0)]
    assert hits[0] / 200 > 0.9
    assert hits[1] / 200 < 0.85


def test_where_nothing_can_be_said_the_reason_is() -> None:
    few = crossed_mean([1.0, 2, 3, 4, 5], [[[1, 2, 3, 4, 5]]])
    assert few.reason == "an interval needs 6 prompts, there are 5"
    assert math.isnan(few.low)
    shared = crossed_mean(np.arange(8.0), [[list(range(8))], [["x", "y"] * 4]], unit="template")
    assert shared.reason == "an interval needs 6 of what templates share, there are 2"
    assert crossed_mean([np.nan], [[[1]]]).reason == "nothing measured"
    same = crossed_mean(np.ones(8), [[list(range(8))]], unit="template")
    assert same.reason == "the values do not vary over templates"
    sure = crossed_share(np.ones(8), [[list(range(8))]])
    assert sure.high == 1
    assert 0.5 < sure.low < 1
    together = crossed_mean(np.arange(8.0), [[list(range(8))], [["x"] * 8, list(range(8))]])
    assert together.reason == "every observation shares a cluster with every other"
    with pytest.raises(ValueError, match="one label"):
        crossed_mean([1.0, 2.0], [[[1]]])
    with pytest.raises(ValueError, match="0, 1 or nan"):
        crossed_share([2.0], [[[1]]])
