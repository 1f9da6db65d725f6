"""Two labelings compared: hand-made tables, and the published rows of a real file."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

from areopagus.aggregation import label_agreement

LABELS = Path(__file__).parents[2] / ".." / "shared" / "data" / "silverspoon" / "labels.csv"


def test_the_measures_of_a_two_by_two_table_are_those_computed_by_hand() -> None:
    #            second 0  second 1
    # first 0        3         1
    # first 1        2         4
    first = [0] * 4 + [1] * 6
    second = [0, 0, 0, 1, 0, 0, 1, 1, 1, 1]
    found = label_agreement(first, second)
    assert found.table == ((3, 1), (2, 4))
    assert found.accuracy == found.paper_dice == pytest.approx(0.7)
    assert found.paper_jaccard == pytest.approx(0.7 / 1.3)
    # Chance agreement .4 x .5 + .6 x .5 = .5.
    assert found.kappa == pytest.approx((0.7 - 0.5) / 0.5)
    # (3 x 4 - 1 x 2) / sqrt(4 x 6 x 5 x 5)
    assert found.mcc == pytest.approx(10 / math.sqrt(600))
    assert found.jaccard == pytest.approx((3 / 6, 4 / 7))
    assert found.dice == pytest.approx((6 / 9, 8 / 11))


def test_an_empty_margin_leaves_kappa_and_the_correlation_undefined_and_not_0() -> None:
    for first, second in (([1, 1, 1, 1], [1, 0, 1, 1]), ([0, 1, 1, 0], [0, 0, 0, 0])):
        found = label_agreement(first, second)
        # The formula of kappa would give (a - a)/(1 - a) = 0.
        assert math.isnan(found.kappa)
        assert math.isnan(found.mcc)
        assert found.reason == "one labeling gives a single label: kappa and MCC are undefined"
    assert label_agreement([1, 1, 1, 1], [1, 0, 1, 1]).accuracy == 0.75
    assert math.isnan(label_agreement([1, 1], [1, 1]).kappa)


def test_missing_labels_are_counted_and_left_out() -> None:
    found = label_agreement(["a", None, "b", "a"], ["a", "b", None, "b"])
    assert (found.n, found.n_missing) == (2, 2)
    assert found.accuracy == 0.5
    nothing = label_agreement([None], ["a"])
    assert nothing.n == 0
    assert math.isnan(nothing.accuracy)
    assert nothing.reason == "no item has both labels"
    with pytest.raises(ValueError, match="one length"):
        label_agreement([1], [1, 0])


def test_several_labels_follow_the_multiclass_correlation() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    first = ["a", "b", "c", "a", "b", "c", "c", "a"]
    second = ["a", "b", "b", "a", "c", "c", "c", "b"]
    found = label_agreement(first, second)
    assert found.mcc == pytest.approx(metrics.matthews_corrcoef(first, second))
    assert found.kappa == pytest.approx(metrics.cohen_kappa_score(first, second))


@pytest.mark.skipif(not LABELS.exists(), reason="the shared SilverSpoon labels are not here")
def test_the_published_rows_of_silverspoon_come_out() -> None:
    with LABELS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def column(name: str) -> list[str]:
        return [row[name] for row in rows]

    # arXiv 2403.14633, table of normative judgement, Yi-6B: ACC, kappa, JSC, DSC, MCC.
    for end, published in (
        ("lower_end", (0.468, 0.007, 0.305, 0.468, 0.009)),
        ("upper_end", (0.510, 0.044, 0.342, 0.510, 0.047)),
    ):
        found = label_agreement(column(end), column("Yi6B_bin"))
        assert found.n == 3000
        measured = (
            found.accuracy, found.kappa, found.paper_jaccard, found.paper_dice, found.mcc,
        )  # fmt: skip
        assert tuple(round(value, 3) for value in measured) == published
    ends = label_agreement(column("lower_end"), column("upper_end"))
    assert ends.kappa == pytest.approx(0.14179872401728755, abs=1e-12)
    # The names mislead: the paper's forms beside the set forms of the textbook, by label.
    other = label_agreement(column("lower_end"), column("GPT4_bin"))
    assert (round(other.paper_jaccard, 3), round(other.paper_dice, 3)) == (0.479, 0.647)
    assert tuple(round(value, 3) for value in other.jaccard) == (0.637, 0.077)
    assert tuple(round(value, 3) for value in other.dice) == (0.778, 0.143)
