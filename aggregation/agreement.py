"""Agreement of raters: kappa, Gwet's AC2, Krippendorff's alpha, one-way ICC, SCRuB's W."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from .estimate import Estimate, undefined
from .jackknife import jackknife
from .ratings import Ratings

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


Level = Literal["nominal", "ordinal", "interval", "ratio"]

_BLOCK = 2_000_000
"""Cells of one block of the value x value table of the ratio metric."""


def krippendorff_alpha(ratings: npt.ArrayLike, level: Level = "nominal") -> float:
    """Returns Krippendorff's alpha, 1 − observed / expected disagreement.

    alpha = 1 − (n − 1) Σ o_ck δ²_ck / Σ n_c n_k δ²_ck      o: coincidences, each unit's ordered
    pairs weighing 1 / (m_u − 1); n_c: how often value c occurs in pairable units; n = Σ n_c.
    δ²: nominal c ≠ k; interval (c − k)²; ratio ((c − k) / (c + k))²; ordinal
    (Σ_{g=c..k} n_g − (n_c + n_k) / 2)². The ordinal metric is the squared difference of the
    values' mid-ranks, so it depends on these data's own margins: alphas of subgroups do not
    compare. The sums over coincidences are taken in closed form, without pairs of ratings.

    Args:
        ratings: shape (raters, items); nan is missing. Items with fewer than two ratings have
            nothing to compare and drop out.
        level: the level of measurement.

    Returns:
        At most 1; 0 is chance, below it systematic disagreement; nan when only one value is used
        (0 / 0: nothing could have been disagreed about) or no item has two ratings.

    Raises:
        ValueError: not two-dimensional, unknown level, an infinite value, or a negative value at
            the ratio level.

    Source: Krippendorff (2011), Computing Krippendorff's alpha-reliability; Hayes & Krippendorff
    (2007), Communication Methods and Measures 1, 77–89.
    """
    if level not in get_args(Level):
        raise ValueError(f"level must be one of {', '.join(get_args(Level))}, got {level!r}")
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must be (raters, items), got shape {table.shape}")
    if np.isinf(table).any():
        raise ValueError("ratings must be finite or nan, got an infinite value")
    rated = ~np.isnan(table)
    pairable = rated.sum(axis=0) >= 2
    table, rated = table[:, pairable], rated[:, pairable]
    unit = np.broadcast_to(np.arange(table.shape[1]), table.shape)[rated]
    values, inverse = np.unique(table[rated], return_inverse=True)
    if values.size < 2:
        return math.nan
    counts = np.bincount(inverse).astype(np.float64)
    per_unit = rated.sum(axis=0).astype(np.float64)
    n = float(counts.sum())
    if level == "nominal":
        observed, expected = _nominal(unit, inverse, counts, per_unit)
    elif level == "ratio":
        if values[0] < 0:
            raise ValueError(f"ratio ratings must not be negative, got {values[0]:g}")
        observed, expected = _ratio(table, per_unit, values, counts)
    else:
        # Mid-ranks of the values within the pairable ratings; differences are all that counts.
        scale = np.cumsum(counts) - counts / 2 if level == "ordinal" else values
        scale = scale - counts @ scale / n
        observed, expected = _squared(unit, scale[inverse], per_unit)
    return float(1 - (n - 1) * observed / expected)


def _nominal(
    unit: npt.NDArray[np.int64], value: npt.NDArray[np.int64], counts: Floats, per_unit: Floats
) -> tuple[float, float]:
    cells, times = np.unique(unit * counts.size + value, return_counts=True)
    same = np.bincount(cells // counts.size, weights=times.astype(np.float64) ** 2)
    observed = float(((per_unit**2 - same) / (per_unit - 1)).sum())
    return observed, float(counts.sum() ** 2 - (counts**2).sum())


def _squared(unit: npt.NDArray[np.int64], scores: Floats, per_unit: Floats) -> tuple[float, float]:
    """Σ over ordered pairs of (a − b)² = 2 (m Σa² − (Σa)²); scores are centred beforehand."""
    sums = np.bincount(unit, weights=scores)
    # About each unit's own mean: unanimous units then give exactly nothing.
    deviations = scores - (sums / per_unit)[unit]
    within = np.bincount(unit, weights=deviations**2)
    observed = float((2 * per_unit * within / (per_unit - 1)).sum())
    expected = 2 * (scores.size * float((scores**2).sum()) - float(scores.sum()) ** 2)
    return observed, expected


def _ratio(table: Floats, per_unit: Floats, values: Floats, counts: Floats) -> tuple[float, float]:
    observed = 0.0
    for row in range(table.shape[0]):
        for other in range(row + 1, table.shape[0]):
            both = ~np.isnan(table[row]) & ~np.isnan(table[other])
            distance = _relative(table[row, both], table[other, both])
            observed += 2 * float((distance / (per_unit[both] - 1)).sum())
    expected = 0.0
    step = max(_BLOCK // values.size, 1)
    for start in range(0, values.size, step):
        block = slice(start, start + step)
        distance = _relative(values[block, None], values[None, :])
        expected += float(counts[block] @ distance @ counts)
    return observed, expected


def _relative(a: Floats, b: Floats) -> Floats:
    """((a − b) / (a + b))², and 0 for two zeros."""
    total = np.asarray(a + b)
    ratio = np.divide(a - b, total, out=np.zeros(total.shape), where=total > 0)
    squared: Floats = ratio**2
    return squared


def kendall_w_uncorrected(ranks: npt.ArrayLike) -> float:
    """Returns W as published with SCRuB: raw rank column, no re-ranking, no tie correction.

    W = 12 S / (m²(n³ − n))      S: squared deviations of the rank sums from their own mean.
    For comparison with that paper only: where ranks are tied or taken out of a longer list it is
    not a coefficient of concordance: it can fall far short of the W that is corrected for ties, and
    exceed 1.

    Args:
        ranks: shape (m raters, n items), as written by the raters; raters with any missing rank
            are left out, as there.

    Returns:
        nan with fewer than two complete raters or two items.

    Raises:
        ValueError: not two-dimensional.
    """
    table = np.asarray(ranks, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ranks must be raters x items, got shape {table.shape}")
    table = table[~np.isnan(table).any(axis=1)]
    n_raters, n_items = table.shape
    if n_raters < 2 or n_items < 2:
        return math.nan
    sums = table.sum(axis=0)
    squares = float(((sums - sums.mean()) ** 2).sum())
    return float(12 * squares / (n_raters**2 * (n_items**3 - n_items)))


def icc_one_way(ratings: Ratings, *, level: float = 0.95) -> tuple[Estimate, Estimate]:
    """Returns ICC(1) of one rating and ICC(1,m) of the mean of a response's m ratings.

    ICC(1) = (MSB − MSW) / (MSB + (m₀ − 1) MSW)      MSB, MSW: mean squares between and within
    responses; m₀ = (N − Σ m_r² / N) / (n − 1), the usual number of ratings of a response. Who
    rated is not asked, so that differences in strictness are error; differences between prompts
    count as agreement. Responses with one rating say nothing. Jackknife over prompts.

    Returns:
        Both at most 1; below 0 where ratings of one response are less alike than any two. The
        second is nan where the first is not positive.

    Source: Shrout & Fleiss (1979), case 1; m₀ by Snedecor, as in Donner (1986).
    """
    _, at, sizes = np.unique(ratings.response, return_inverse=True, return_counts=True)
    mine = ratings.select(sizes[at.reshape(-1)] > 1)
    names = [f"ICC({form}), one-way over responses" for form in ("1", "1,m")]
    if len(mine) < 3 or np.ptp(mine.value) == 0:
        why = "no response has two ratings, or only one value is used"
        return undefined(why, method=names[0]), undefined(why, method=names[1])
    _, first, at, sizes = np.unique(
        mine.response, return_index=True, return_inverse=True, return_counts=True
    )
    x = mine.value - mine.value.mean()
    sums = np.bincount(at.reshape(-1), weights=x)
    squares = np.bincount(at.reshape(-1), weights=x**2)
    # by response: 1, m, m², Σx, (Σx)²/m, Σx²
    parts = np.stack([np.ones(len(sizes)), sizes, sizes**2, sums, sums**2 / sizes, squares], axis=1)
    _, prompt = np.unique(mine.prompt[first], return_inverse=True)
    n_prompts = int(prompt.max()) + 1
    of_prompt = np.stack(
        [np.bincount(prompt.reshape(-1), weights=part, minlength=n_prompts) for part in parts.T],
        axis=1,
    )

    def both(total: Floats) -> Floats:
        n, size, squared_sizes, sum_all, between, square = np.moveaxis(total, -1, 0)
        mean_between = (between - sum_all**2 / size) / (n - 1)
        mean_within = (square - between) / (size - n)
        usual = (size - squared_sizes / size) / (n - 1)
        one = (mean_between - mean_within) / (mean_between + (usual - 1) * mean_within)
        m = size / n
        return np.stack([one, np.where(one > 0, m * one / (1 + (m - 1) * one), np.nan)], axis=-1)

    whole = of_prompt.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        values, without = both(whole), both(whole - of_prompt)
    one = jackknife(
        float(values[0]), without[:, 0], n=n_prompts, method=names[0], level=level,
        bounds=(-math.inf, 1.0),
    )  # fmt: skip
    if not values[0] > 0:
        return one, undefined("ICC(1) is not positive", method=names[1], n=n_prompts)
    return one, jackknife(
        float(values[1]), without[:, 1], n=n_prompts, method=names[1], level=level,
        bounds=(-math.inf, 1.0),
    )  # fmt: skip
