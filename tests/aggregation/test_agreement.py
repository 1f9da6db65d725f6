"""Kappa, AC2, alpha and two labelings against published figures, definitions and libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

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
LEVELS = ["nominal", "ordinal", "interval", "ratio"]
PUBLISHED = [("nominal", 0.74342), ("ordinal", 0.81539), ("interval", 0.84911), ("ratio", 0.79740)]


def test_quadratic_kappa_of_the_anxiety_raters() -> None:
    assert cohen_kappa(FIRST, SECOND, weights="quadratic") == pytest.approx(0.297, abs=5e-4)


def test_kappa_agrees_with_scikit_learn_on_the_full_scale() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(1, 11, 50)
    b = np.clip(a + rng.integers(-3, 4, 50), 1, 10)
    for weights in (None, "linear", "quadratic"):
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


@pytest.mark.parametrize(
    ("weights", "published"),
    [("identity", 0.77544), ("linear", 0.85874), ("ordinal", 0.89894), ("quadratic", 0.91400)],
)
def test_ac2_of_the_published_example(weights, published: float) -> None:
    assert gwet_ac2(C, weights=weights) == pytest.approx(published, abs=5e-6)


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


def test_alpha_is_undefined_when_nothing_could_be_disagreed_about() -> None:
    for level in LEVELS:
        for ratings in ([[3, 3, 3], [3, 3, 3]], [[1, NAN], [NAN, 2]], np.empty((2, 0))):
            assert math.isnan(krippendorff_alpha(ratings, level))


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
