"""Krippendorff's alpha for nominal, ordinal, interval and ratio data, missing values allowed."""

import math
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

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
