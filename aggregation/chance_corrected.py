"""Agreement of raters on categories beyond chance: Cohen's kappa and Gwet's AC2."""

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

KappaWeights = Literal["linear", "quadratic"]
AgreementWeights = Literal["identity", "linear", "quadratic", "ordinal"]


def cohen_kappa(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    weights: KappaWeights | None = None,
    labels: Sequence[Any] | None = None,
) -> float:
    """Returns Cohen's kappa of two raters, plain or weighted.

    kappa = 1 − Σ d O / Σ d E      O: share of items in each cell; E: product of the margins;
    d: 1 off the diagonal, |i − j| (linear) or (i − j)² (quadratic).

    Numeric categories are as far apart as their values, so a point of the scale that nobody used
    does not bring its neighbours together (distances by position would). Text categories are
    their position in `labels` apart.

    Args:
        a: shape (items,), numbers or text; nan or None is missing and deletes the item.
        b: shape (items,), likewise.
        weights: None for plain kappa.
        labels: the categories in order; by default the sorted values in use. Needed for
            weighted kappa of text.

    Returns:
        At most 1; nan when no item is left or both raters use one and the same category only.

    Raises:
        ValueError: different lengths, unknown weights, a value that is not in labels, repeated
            labels, or weights on text without labels.

    Source: Cohen (1960); Cohen (1968), Psychological Bulletin 70, 213–220.
    """
    if weights is not None and weights not in get_args(KappaWeights):
        raise ValueError(f"weights must be None, linear or quadratic, got {weights!r}")
    first, second = _as_list(a), _as_list(b)
    if len(first) != len(second):
        raise ValueError(f"a and b must have one length, got {len(first)} and {len(second)}")
    pairs = [
        pair
        for pair in zip(first, second, strict=True)
        if not (_is_missing(pair[0]) or _is_missing(pair[1]))
    ]
    used = {value for pair in pairs for value in pair}
    categories = _categories(used, labels)
    if not pairs:
        return math.nan
    numeric = _numeric(categories)
    if weights is not None and numeric is None and labels is None:
        raise ValueError("weighted kappa of text categories must be given labels in their order")
    position = {category: index for index, category in enumerate(categories)}
    q = len(categories)
    cells = [position[one] * q + position[other] for one, other in pairs]
    observed = np.bincount(cells, minlength=q * q).reshape(q, q) / len(pairs)
    scale = np.arange(q, dtype=np.float64) if numeric is None else numeric
    gap = np.abs(scale[:, None] - scale[None, :])
    distance = {None: (gap > 0).astype(np.float64), "linear": gap, "quadratic": gap**2}[weights]
    expected = np.outer(observed.sum(axis=1), observed.sum(axis=0))
    by_chance = float((distance * expected).sum())
    if by_chance == 0:
        return math.nan
    return 1 - float((distance * observed).sum()) / by_chance


def gwet_ac2(
    ratings: npt.ArrayLike,
    *,
    weights: AgreementWeights = "identity",
    labels: Sequence[float] | None = None,
) -> float:
    """Returns Gwet's AC2 of any number of raters; with identity weights it is AC1.

    p_a = mean over items with r_i ≥ 2 of Σ_k r_ik (r*_ik − 1) / (r_i (r_i − 1));
    p_e = T_w / (q (q − 1)) Σ_k π_k (1 − π_k);   AC2 = (p_a − p_e) / (1 − p_e)
    r_ik: raters who put item i in category k; r*_ik = Σ_l w_kl r_il; π_k: mean over rated items
    of r_ik / r_i; T_w: sum of all weights. Unlike alpha it stays high where nearly all ratings
    share one category.

    Args:
        ratings: shape (raters, items), category values; nan is missing.
        weights: agreement weights, 1 on the diagonal; linear and quadratic by the categories'
            values, ordinal 1 − C(|k − l| + 1, 2) / C(q, 2) by their positions.
        labels: all categories of the scale; by default the values in use. A coefficient on a
            scale of ten points needs all ten: q enters the chance term.

    Returns:
        At most 1; nan when no item has two ratings or there is one category only.

    Raises:
        ValueError: not two-dimensional, unknown weights, a value not in labels, repeated labels.

    Source: Gwet (2008), Br J Math Stat Psychol 61, 29–48; Gwet (2014), Handbook of Inter-Rater
    Reliability, 4th ed.
    """
    if weights not in get_args(AgreementWeights):
        raise ValueError(
            f"weights must be one of {', '.join(get_args(AgreementWeights))}, got {weights!r}"
        )
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must be (raters, items), got shape {table.shape}")
    rated = ~np.isnan(table)
    categories = _categories(set(np.unique(table[rated]).tolist()), labels)
    scale = np.array(categories, dtype=np.float64)
    order = np.argsort(scale)
    scale = scale[order]
    q = scale.size
    per_item = rated.sum(axis=0)
    if q < 2 or not (per_item >= 2).any():
        return math.nan
    n_items = table.shape[1]
    item = np.broadcast_to(np.arange(n_items), table.shape)[rated]
    cells = item * q + np.searchsorted(scale, table[rated])
    counts = np.bincount(cells, minlength=n_items * q).reshape(n_items, q).astype(np.float64)
    weight = _agreement_weights(scale, weights)
    several = per_item >= 2
    r = per_item[several].astype(np.float64)
    weighted = counts[several] @ weight
    agreement = (counts[several] * (weighted - 1)).sum(axis=1) / (r * (r - 1))
    some = per_item >= 1
    share = (counts[some] / per_item[some, None]).mean(axis=0)
    by_chance = float(weight.sum()) / (q * (q - 1)) * float((share * (1 - share)).sum())
    return (float(agreement.mean()) - by_chance) / (1 - by_chance)


def _agreement_weights(scale: Floats, weights: AgreementWeights) -> Floats:
    q = scale.size
    if weights == "identity":
        return np.eye(q)
    if weights == "ordinal":
        steps = np.abs(np.subtract.outer(np.arange(q), np.arange(q))).astype(np.float64)
        ordinal: Floats = 1 - steps * (steps + 1) / (q * (q - 1))
        return ordinal
    gap = np.abs(np.subtract.outer(scale, scale)) / (scale[-1] - scale[0])
    scaled: Floats = 1 - (gap if weights == "linear" else gap**2)
    return scaled


def _as_list(values: npt.ArrayLike) -> list[Any]:
    # Not by way of one array: numpy would turn a list of text and numbers into text.
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)  # type: ignore[arg-type]
    return listed


def _is_missing(value: Any) -> bool:
    return value is None or bool(value != value)


def _categories(used: set[Any], labels: Sequence[Any] | None) -> list[Any]:
    if labels is None:
        return sorted(used)
    given = list(labels)
    if len(set(given)) != len(given):
        raise ValueError("labels must not repeat")
    unknown = used - set(given)
    if unknown:
        raise ValueError(f"values must be in labels, got {sorted(map(str, unknown))}")
    return given


def _numeric(categories: list[Any]) -> Floats | None:
    if all(isinstance(category, int | float | np.number) for category in categories):
        return np.array(categories, dtype=np.float64)
    return None
