"""Kappa, AC2, alpha and two labelings against published figures, definitions and libraries."""

from __future__ import annotations

import csv
import gzip
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from areopagus.aggregation import label_agreement
from areopagus.aggregation.agreement import cohen_kappa, gwet_ac2, krippendorff_alpha

NAN = math.nan
# Krippendorff (2011), example C, which Gwet's software uses as well.
C = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)
# Raters 1 and 2 of the anxiety example of R's irr package.
FIRST = [3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3]
SECOND = [3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4]
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
LEVELS = ["nominal", "ordinal", "interval", "ratio"]
PUBLISHED = [("nominal", 0.74342), ("ordinal", 0.81539), ("interval", 0.84911), ("ratio", 0.79740)]
LABELS = Path(__file__).parents[2] / ".." / "shared" / "data" / "silverspoon" / "labels.csv"


def test_kappa_by_hand() -> None:
    # 3 of 4 agree; chance .5 * .25 + .5 * .75 = .5; kappa = (.75 - .5) / .5.
    assert cohen_kappa([1, 1, 2, 2], [1, 2, 2, 2]) == pytest.approx(0.5)


def test_quadratic_kappa_of_the_anxiety_raters() -> None:
    assert cohen_kappa(FIRST, SECOND, weights="quadratic") == pytest.approx(0.297, abs=5e-4)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_agrees_with_scikit_learn_on_the_full_scale(weights) -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(1, 11, 50)
    b = np.clip(a + rng.integers(-3, 4, 50), 1, 10)
    expected = cohen_kappa_score(a, b, weights=weights, labels=range(1, 11))
    assert cohen_kappa(a, b, weights=weights, labels=range(1, 11)) == pytest.approx(expected)


def test_points_of_the_scale_that_nobody_used_keep_their_distance() -> None:
    a, b = [1, 2, 10, 10, 1, 2], [1, 10, 10, 10, 2, 2]
    full = cohen_kappa_score(a, b, weights="quadratic", labels=range(1, 11))
    by_position = cohen_kappa_score(a, b, weights="quadratic")
    assert cohen_kappa(a, b, weights="quadratic") == pytest.approx(full)
    assert abs(full - by_position) > 0.05


def test_kappa_reads_text_in_the_order_of_its_labels() -> None:
    order = ["bad", "fair", "good"]
    a, b = ["bad", "fair", "good", "good"], ["bad", "good", "good", "fair"]
    expected = cohen_kappa([0, 1, 2, 2], [0, 2, 2, 1], weights="linear")
    assert cohen_kappa(a, b, weights="linear", labels=order) == pytest.approx(expected)
    assert cohen_kappa(a, b) == pytest.approx(cohen_kappa_score(a, b))
    with pytest.raises(ValueError, match="given labels"):
        cohen_kappa(a, b, weights="linear")


def test_kappa_deletes_missing_items_and_is_undefined_without_variation() -> None:
    assert cohen_kappa([1, 1, 2, 2, NAN, 1], [1, 2, 2, 2, 1, NAN]) == pytest.approx(0.5)
    assert cohen_kappa(["a", None, "b"], ["a", "b", "b"]) == pytest.approx(1)
    assert math.isnan(cohen_kappa([1, 1], [1, 1]))
    assert math.isnan(cohen_kappa([1, 1], [1, 1], labels=[1, 2], weights="quadratic"))
    assert math.isnan(cohen_kappa([], []))
    # Disagreement on every item by constant raters: observed equals chance.
    assert cohen_kappa([1, 1], [2, 2]) == 0


def test_kappa_refuses_bad_input() -> None:
    with pytest.raises(ValueError, match="one length"):
        cohen_kappa([1], [1, 2])
    with pytest.raises(ValueError, match="in labels"):
        cohen_kappa([1, 3], [1, 2], labels=[1, 2])
    with pytest.raises(ValueError, match="not repeat"):
        cohen_kappa([1], [1], labels=[1, 1])
    with pytest.raises(ValueError, match="weights"):
        cohen_kappa([1], [1], weights="cubic")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "published"),
    [("identity", 0.77544), ("linear", 0.85874), ("ordinal", 0.89894), ("quadratic", 0.91400)],
)
def test_ac2_of_the_published_example(weights, published: float) -> None:
    assert gwet_ac2(C, weights=weights) == pytest.approx(published, abs=5e-6)


def test_ac1_of_two_raters_by_hand() -> None:
    # p_a = 3/4; shares 3/8 and 5/8: p_e = 2 * 15/64 = 15/32; (24 - 15) / (32 - 15).
    assert gwet_ac2([[1, 1, 2, 2], [1, 2, 2, 2]]) == pytest.approx(9 / 17)


def test_ac2_needs_the_whole_scale_to_be_named() -> None:
    ratings = [[1, 1, 2, 2], [1, 2, 2, 2]]
    # The same shares on ten categories: p_e = (15/32) / 9.
    chance = 15 / 32 / 9
    expected = (0.75 - chance) / (1 - chance)
    assert gwet_ac2(ratings, labels=range(1, 11)) == pytest.approx(expected)
    assert gwet_ac2(ratings, labels=range(10, 0, -1)) == pytest.approx(expected)


def test_ac2_in_degenerate_tables() -> None:
    assert math.isnan(gwet_ac2([[1, 1], [1, 1]]))
    assert gwet_ac2([[1, 1], [1, 1]], labels=[1, 2]) == 1
    assert math.isnan(gwet_ac2([[1, NAN], [NAN, 2]]))
    assert math.isnan(gwet_ac2([[NAN, NAN], [NAN, NAN]]))
    assert gwet_ac2([[1, 2], [2, 1]]) == pytest.approx(-1)


def test_ac2_refuses_bad_input() -> None:
    with pytest.raises(ValueError, match="weights must be one of"):
        gwet_ac2(C, weights="radical")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="in labels"):
        gwet_ac2(C, labels=[1, 2, 3])
    with pytest.raises(ValueError, match="raters, items"):
        gwet_ac2([1, 2])


def by_coincidences(ratings, level):
    """The definition, cell by cell of the coincidence matrix."""
    units = [[v for v in unit if not math.isnan(v)] for unit in np.asarray(ratings).T]
    units = [unit for unit in units if len(unit) >= 2]
    values = sorted({v for unit in units for v in unit})
    if len(values) < 2:
        return NAN
    o = np.zeros((len(values), len(values)))
    for unit in units:
        for i, a in enumerate(unit):
            for j, b in enumerate(unit):
                if i != j:
                    o[values.index(a), values.index(b)] += 1 / (len(unit) - 1)
    n = o.sum(axis=1)
    d = np.zeros_like(o)
    for c, a in enumerate(values):
        for k, b in enumerate(values):
            low, high = min(c, k), max(c, k)
            d[c, k] = {
                "nominal": float(a != b),
                "interval": (a - b) ** 2,
                "ratio": ((a - b) / (a + b)) ** 2 if a + b else 0,
                "ordinal": (n[low : high + 1].sum() - (n[c] + n[k]) / 2) ** 2 if c != k else 0,
            }[level]
    return 1 - (n.sum() - 1) * (o * d).sum() / (np.outer(n, n) * d).sum()


@pytest.mark.parametrize(("level", "published"), PUBLISHED)
def test_alpha_of_the_published_example(level, published: float) -> None:
    assert krippendorff_alpha(C, level) == pytest.approx(published, abs=5e-6)


def test_alpha_of_the_summeval_experts() -> None:
    path = SHARED / "summeval" / "human_ratings_12systems.csv.gz"
    if not path.exists():
        pytest.skip("the shared SummEval ratings are not here")
    cells: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    with gzip.open(path, "rt") as lines:
        for row in csv.DictReader(lines):
            if row["rater"].startswith("expert"):
                key = (row["dimension"], row["rater"])
                cells.setdefault(key, {})[row["doc_id"], row["system_id"]] = float(row["score"])
    dimensions = sorted({dimension for dimension, _ in cells})
    tables = {
        d: np.array([[cells[d, f"expert{k}"][item] for item in sorted(cells[d, "expert1"])]
                     for k in (1, 2, 3)])
        for d in dimensions
    }  # fmt: skip
    expected = {"coherence": 0.576, "consistency": 0.899, "fluency": 0.738, "relevance": 0.493}
    assert {d: round(krippendorff_alpha(tables[d], "interval"), 3) for d in tables} == expected
    pooled = np.concatenate([tables[d] for d in dimensions], axis=1)
    assert krippendorff_alpha(pooled, "interval") == pytest.approx(0.733, abs=5e-4)
    assert krippendorff_alpha(pooled, "ordinal") == pytest.approx(0.714, abs=5e-4)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, 1.0, 2.0, 5.0, 5.5, NAN]), min_size=3, max_size=3),
        min_size=1,
        max_size=8,
    )
)
def test_alpha_agrees_with_the_coincidence_matrix(units) -> None:
    ratings = np.array(units).T
    for level in LEVELS:
        expected = by_coincidences(ratings, level)
        assert krippendorff_alpha(ratings, level) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_undefined_when_nothing_could_be_disagreed_about(level) -> None:
    assert math.isnan(krippendorff_alpha([[3, 3, 3], [3, 3, 3]], level))
    assert math.isnan(krippendorff_alpha([[1, NAN], [NAN, 2]], level))
    assert math.isnan(krippendorff_alpha(np.empty((2, 0)), level))


def test_one_disagreement_in_a_sea_of_one_value_is_zero_by_construction() -> None:
    # o: 1-2 twice, n_1 = 23, n_2 = 1: 1 - 23 * 2 / (2 * 23) = 0, while 11 of 12 units agree.
    ratings = [[1.0] * 12, [1.0] * 11 + [2.0]]
    assert krippendorff_alpha(ratings, "nominal") == pytest.approx(0, abs=1e-12)


def test_ac2_stands_where_alpha_falls() -> None:
    # p_a = 11/12; p_e = (23/24 * 1/24 + 1/24 * 23/24) / (q - 1), q = 2.
    ratings = [[1.0] * 12, [1.0] * 11 + [2.0]]
    chance = 2 * (23 / 24) * (1 / 24)
    assert gwet_ac2(ratings) == pytest.approx((11 / 12 - chance) / (1 - chance))


def test_perfect_agreement_is_one_and_units_with_one_rating_drop_out() -> None:
    for level in LEVELS:
        assert krippendorff_alpha([[1, 2, 3], [1, 2, 3]], level) == pytest.approx(1)
        assert krippendorff_alpha([[1, 2, 3, 9], [1, 2, 3, NAN]], level) == pytest.approx(1)


def test_alpha_ignores_what_its_level_ignores() -> None:
    assert krippendorff_alpha(C * 7 + 3, "interval") == pytest.approx(
        krippendorff_alpha(C, "interval")
    )
    assert krippendorff_alpha(C**3, "ordinal") == pytest.approx(krippendorff_alpha(C, "ordinal"))
    assert krippendorff_alpha(C * 4, "ratio") == pytest.approx(krippendorff_alpha(C, "ratio"))
    assert krippendorff_alpha(C + 1e7, "interval") == pytest.approx(
        krippendorff_alpha(C, "interval"), abs=1e-6
    )
    assert krippendorff_alpha(C[::-1, ::-1], "ordinal") == pytest.approx(
        krippendorff_alpha(C, "ordinal")
    )


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="level must be one of"):
        krippendorff_alpha(C, "cardinal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="raters, items"):
        krippendorff_alpha([1, 2])
    with pytest.raises(ValueError, match="negative"):
        krippendorff_alpha([[-1, 2], [1, 2]], "ratio")
    with pytest.raises(ValueError, match="infinite"):
        krippendorff_alpha([[math.inf, 2], [1, 2]])


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
