"""Means, shares and the agreement of two labelings over clusters: by hand, published rows."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.agreement import cohen_kappa
from areopagus.aggregation.clustered import (
    cluster_mean,
    cluster_share,
    clustered_proportion,
)
from areopagus.aggregation.clustered_agreement import (
    balanced_accuracy,
    clustered_agreement,
    clustered_kappa,
    kappa_of,
    mcc_of,
)

LABELS = Path(__file__).parents[2] / ".." / "shared" / "data" / "silverspoon" / "labels.csv"


def test_the_figures_of_a_two_by_two_table_are_those_computed_by_hand() -> None:
    #            second 0  second 1
    # first 0        3         1
    # first 1        2         4
    first = [0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
    second = [0, 0, 0, 1, 0, 0, 1, 1, 1, 1]
    found = clustered_agreement(first, second, range(10))
    value = {name: one.value for name, one in found.figures.items()}
    assert found.table == ((3, 1), (2, 4))
    assert value["acc"] == value["dsc"] == pytest.approx(0.7)
    assert value["jsc"] == pytest.approx(0.7 / 1.3)
    # Chance agreement .4 x .5 + .6 x .5 = .5.
    assert value["ckc"] == pytest.approx((0.7 - 0.5) / 0.5) == cohen_kappa(first, second)
    # (3 x 4 - 1 x 2) / sqrt(4 x 6 x 5 x 5)
    assert value["mcc"] == pytest.approx(10 / math.sqrt(600))
    assert (value["jaccard_0"], value["jaccard_1"]) == pytest.approx((3 / 6, 4 / 7))
    assert (value["dice_0"], value["dice_1"]) == pytest.approx((6 / 9, 8 / 11))
    assert value["always_0"] == pytest.approx(0.4)
    table = np.asarray(found.table, dtype=float)
    assert (kappa_of(table), mcc_of(table)) == pytest.approx((value["ckc"], value["mcc"]))


def test_who_always_says_the_same_has_no_kappa_and_no_correlation() -> None:
    found = clustered_agreement([0, 1, 1, 0, 1, 0, 1], [0] * 7, range(7)).figures
    assert found["acc"].value == pytest.approx(3 / 7)
    for name in ("ckc", "mcc"):
        # The formula of kappa would give (a - a)/(1 - a) = 0.
        assert not found[name].is_defined
        assert found[name].reason == "one side gives a single label"
    # The paper's JSC and DSC are accuracies, and stay.
    assert (found["jsc"].is_defined, found["dsc"].is_defined) == (True, True)
    alone = clustered_agreement([0] * 7, [0] * 7, range(7)).figures
    assert alone["jaccard_1"].reason == "neither gives this label"


def test_missing_labels_are_counted_and_left_out() -> None:
    found = clustered_agreement([0, math.nan, 1, 0], [0, 1, math.nan, 1], "abcd")
    assert (found.n_missing, found.figures["acc"].value, found.figures["acc"].n) == (2, 0.5, 2)
    nothing = clustered_agreement([math.nan], [1], "a").figures["acc"]
    assert nothing.reason == "no item has both labels"
    with pytest.raises(ValueError, match="one length"):
        clustered_agreement([1], [1, 0], "ab")


def test_copies_of_an_item_add_nothing_to_its_unit() -> None:
    rng = np.random.default_rng(3)
    first, second = (rng.random(60) < 0.4).astype(float), (rng.random(60) < 0.3).astype(float)
    once = clustered_agreement(first, second, range(60))
    thrice = clustered_agreement(np.tile(first, 3), np.tile(second, 3), [*range(60)] * 3)
    for name in ("acc", "ckc", "mcc"):
        a, b = once.figures[name], thrice.figures[name]
        assert (a.low, a.high, a.n) == pytest.approx((b.low, b.high, b.n)), name


def test_where_few_units_make_the_error_the_interval_of_kappa_is_longer() -> None:
    # 28 units of agreement on 0, one of agreement on 1, one of disagreement.
    first, second = [0] * 28 + [1, 1], [0] * 28 + [1, 0]
    found = clustered_kappa(first, second, range(30))
    table = np.asarray([[28.0, 0.0], [1.0, 1.0]])
    left = []
    for a, b in zip(first, second, strict=True):
        less = table.copy()
        less[a, b] -= 1
        left.append(float(kappa_of(less)))
    deviations = np.asarray(left) - np.mean(left)
    error = math.sqrt(29 / 30 * float((deviations**2).sum()))
    degrees = 2 / (float(stats.kurtosis(left)) / 30 + 2 / 29)
    assert degrees < 4
    reach = float(stats.t.ppf(0.975, degrees)) * error
    assert found.value == pytest.approx(float(kappa_of(table)))
    assert found.se == pytest.approx(error)
    # Either limit lies beyond what a kappa can be.
    assert found.value - reach < -1
    assert (found.low, found.high) == (-1.0, 1.0)
    assert found.method.endswith("cut at -1 and 1, where the range of the figure ends")
    # Its mirror: two more units of agreement on 1 let the limits lie inside.
    inside = clustered_kappa([*first, 1, 1], [*second, 1, 1], range(32))
    assert -1 < inside.low < inside.value < inside.high == 1.0


def test_the_balanced_share_is_a_half_for_whoever_says_one_thing() -> None:
    first = [0] * 10 + [1] * 30
    for said in (0, 1):
        assert balanced_accuracy(first, [said] * 40, range(40)).value == 0.5
    assert balanced_accuracy(first, [0] * 10 + [0] * 15 + [1] * 15, range(40)).value == 0.75


@pytest.mark.skipif(not LABELS.is_file(), reason="the paper's labels are not here")
def test_the_published_rows_of_yi_come_out_of_the_papers_labels() -> None:
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    published = {
        "lower_end": (0.468, 0.007, 0.305, 0.468, 0.009),
        "upper_end": (0.51, 0.044, 0.342, 0.51, 0.047),
    }
    for end, expected in published.items():
        both = ([float(row[name]) for row in rows] for name in (end, "Yi6B_bin"))
        found = clustered_agreement(*both, range(len(rows))).figures
        values = [found[name].value for name in ("acc", "ckc", "jsc", "dsc", "mcc")]
        assert values == pytest.approx(expected, abs=0.00051)


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
    with pytest.raises(ValueError, match="one size a sum"):
        cluster_share([1, 2], [1])


def test_a_mean_of_clusters_of_one_is_a_mean_with_its_t_interval() -> None:
    x = np.random.default_rng(4).normal(size=9)
    found = cluster_mean(x, np.ones(9))
    low, high = stats.t.interval(0.95, 8, loc=x.mean(), scale=stats.sem(x))
    assert (found.low, found.high, found.se) == pytest.approx((low, high, stats.sem(x)))


def test_where_all_clusters_have_one_value_there_is_no_interval() -> None:
    alike = cluster_mean([9 * 0.07] * 9 + [5.0], [9] * 9 + [0])
    assert (alike.n, alike.value) == (9, pytest.approx(0.07))
    assert not alike.has_interval
    assert alike.reason == "the statistic does not vary over prompts"
