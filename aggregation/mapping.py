"""A monotone map from panel scores to the scale of human scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

Floats = npt.NDArray[np.float64]

FEWEST_PAIRS: Final = 50
"""With fewer pairs a straight line predicts better than an isotonic map."""


@dataclass(frozen=True, slots=True)
class IsotonicMap:
    """A non-decreasing map, linear between its knots and constant beyond them.

    Attributes:
        x, y: the knots, x strictly increasing.
        n: pairs it was fitted on.
        note: a caution, or None.
    """

    x: Floats
    y: Floats
    n: int
    note: str | None = None

    def predict(self, x: npt.ArrayLike) -> Floats:
        """Returns the mapped scores; nan stays nan, beyond the knots the nearest one's value."""
        given = np.asarray(x, dtype=np.float64)
        return np.where(np.isnan(given), np.nan, np.interp(given, self.x, self.y))


def isotonic_map(
    x: npt.ArrayLike, y: npt.ArrayLike, *, scale: tuple[float, float] | None = None
) -> IsotonicMap:
    """Returns the least-squares non-decreasing map from x to y (pool adjacent violators).

    Fit it on panel scores that had no part in what it is applied to (out of fold), and on scores,
    not on ranks: an export of ranks holds an order and no level.

    Args:
        x: shape (N,), panel scores; targets of equal x are averaged first.
        y: shape (N,), human scores. Pairs with a nan are left out.
        scale: (low, high) to which mapped values are clipped.

    Raises:
        ValueError: lengths that differ, no complete pair, or a scale that is not low < high.

    Source: Barlow et al. (1972), Statistical Inference under Order Restrictions.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            f"x and y must be vectors of one length, got {first.shape}, {second.shape}"
        )
    if scale is not None and not scale[0] < scale[1]:
        raise ValueError(f"scale must be (low, high) with low below high, got {scale}")
    kept = np.isfinite(first) & np.isfinite(second)
    if not kept.any():
        raise ValueError("an isotonic map needs at least one complete pair")
    knots, place = np.unique(first[kept], return_inverse=True)
    weights = np.bincount(place).astype(np.float64)
    means = np.bincount(place, weights=second[kept]) / weights
    fitted = np.asarray(isotonic_regression(means, weights=weights).x, dtype=np.float64)
    if scale is not None:
        fitted = np.clip(fitted, *scale)
    n = int(kept.sum())
    return IsotonicMap(
        x=knots,
        y=fitted,
        n=n,
        note=f"fewer than {FEWEST_PAIRS} pairs: a straight line would serve better"
        if n < FEWEST_PAIRS
        else None,
    )
