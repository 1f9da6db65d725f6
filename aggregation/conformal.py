"""Panel scores on the human scale: a monotone map, and widths that hold a new human score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression

from .estimate import Estimate, undefined
from .pair_counting import Labels, group_codes

Floats = npt.NDArray[np.float64]

_METHOD: Final = "conformal half-width"

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


def conformal_width(
    predicted: npt.ArrayLike,
    observed: npt.ArrayLike,
    *,
    level: float = 0.9,
    groups: Labels | None = None,
) -> Estimate:
    """Returns the half-width w such that a new observed score lies in prediction ± w.

    w is the smallest |observed - predicted| up to which the misses hold so much of the mass:

        Σ_g 1 / ((G + 1) n_g) #{misses of group g up to w}  >=  level

    G groups of n_g pairs; the mass 1 / (G + 1) of the new group is held to be infinitely far. With
    exchangeable groups a new response of a new group is covered with at least this probability, on
    average over calibration sets. One pair a group gives the ceil((n + 1) level)-th smallest miss.
    Finite only for G >= level / (1 - level): 9 groups for 90%, 19 for 95%. The interval covers the
    *observed* human mean, its human noise included. Nothing is drawn: where one pair a prompt is
    taken at random, the width depends on the draw.

    Measured coverage of a response of a new prompt at level .9 with 9, 26, 100 prompts of 5,
    intraclass correlation .5: .976, .917, .913 (2,000 worlds, Monte Carlo error .006;
    benchmarks/simulate_calibration.py). With nine prompts 90% is the largest miss of all.

    Args:
        predicted: shape (N,), out-of-fold predictions; several of one pair count as several pairs.
        observed: shape (N,), human means. Pairs with a nan are left out.
        level: in (0, 1).
        groups: one prompt a pair; None: pairs are independent.

    Returns:
        The width, `unit` being "pair", or "prompt" with groups; inf, with the reason, where there
        are too few for the level, nan where there is none at all.

    Raises:
        ValueError: lengths that differ, or a level outside (0, 1).

    Source: Lei et al. (2018), JASA 113, 1094; Lee, Barber & Willett (2023), arXiv 2306.06342, for
    groups that weigh alike.
    """
    first = np.asarray(predicted, dtype=np.float64)
    second = np.asarray(observed, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(f"needs vectors of one length, got {first.shape} and {second.shape}")
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, got {level}")
    misses = np.abs(second - first)
    kept = np.isfinite(misses)
    unit, codes = ("pair", np.arange(len(first)))
    if groups is not None:
        unit, codes = "prompt", group_codes(groups, len(first))[0]
    misses, codes = misses[kept], np.unique(codes[kept], return_inverse=True)[1].reshape(-1)
    n = int(codes.max(initial=-1)) + 1
    if n == 0:
        return undefined("no complete pair", unit=unit, method=_METHOD)
    order = np.argsort(misses, kind="stable")
    mass = np.cumsum(1 / np.bincount(codes)[codes[order]]) / (n + 1)
    # rounding: (9 + 1) * .9 must be 9, not a hair above it
    reached = np.flatnonzero(mass >= level - 1e-9)
    if not len(reached):
        needed = int(np.ceil(round(level / (1 - level), 9)))
        reason = f"{n} {unit}s, of which {needed} are needed for {level:.0%}"
        return Estimate(math.inf, n=n, unit=unit, method=_METHOD, level=level, reason=reason)
    width = float(misses[order[reached[0]]])
    return Estimate(width, n=n, unit=unit, method=_METHOD, level=level)
