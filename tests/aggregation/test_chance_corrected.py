"""Cohen's kappa and Gwet's AC2 against published values, scikit-learn and hand calculation."""

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from areopagus.aggregation.agreement import cohen_kappa, gwet_ac2

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


def test_ac2_ignores_the_order_of_raters_and_items_and_linear_maps() -> None:
    value = gwet_ac2(C, weights="quadratic")
    assert gwet_ac2(C[::-1, ::-1], weights="quadratic") == pytest.approx(value)
    assert gwet_ac2(C * 10 + 5, weights="quadratic") == pytest.approx(value)
    assert gwet_ac2(-C, weights="ordinal") == pytest.approx(gwet_ac2(C, weights="ordinal"))


def test_ac2_refuses_bad_input() -> None:
    with pytest.raises(ValueError, match="weights must be one of"):
        gwet_ac2(C, weights="radical")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="in labels"):
        gwet_ac2(C, labels=[1, 2, 3])
    with pytest.raises(ValueError, match="raters, items"):
        gwet_ac2([1, 2])
