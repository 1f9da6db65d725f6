"""Sizes of effects: paired differences and detectable changes."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special


def cohen_dz(differences: npt.ArrayLike) -> float:
    """Returns mean / standard deviation of paired differences; nan is missing.

    Depends on the correlation between the two arms: not comparable across designs, so raw points
    come first. nan with fewer than two values or values that do not vary.
    """
    values = np.asarray(differences, dtype=np.float64)
    known = values[~np.isnan(values)]
    if known.size < 2:
        return math.nan
    spread = float(known.std(ddof=1))
    mean = float(known.mean())
    return mean / spread if spread > 1e-12 * max(abs(mean), 1e-3) else math.nan


def cohen_dav(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Returns the mean of first − second over the mean of the two standard deviations.

    Pairs with a missing side are deleted; nan with fewer than two pairs or without spread.

    Raises:
        ValueError: different lengths.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"first and second must be paired, got shapes {a.shape} and {b.shape}")
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < 2:
        return math.nan
    spread = float(a[both].std(ddof=1) + b[both].std(ddof=1)) / 2
    return float((a[both] - b[both]).mean()) / spread if spread > 0 else math.nan


def hedges_correction(degrees_of_freedom: float) -> float:
    """Returns J = Γ(ν/2) / (sqrt(ν/2) Γ((ν − 1)/2)), which unbiases a standardised mean.

    Raises:
        ValueError: degrees of freedom not above 1.

    Source: Hedges (1981).
    """
    if not degrees_of_freedom > 1:
        raise ValueError(f"degrees_of_freedom must be above 1, got {degrees_of_freedom}")
    half = degrees_of_freedom / 2
    return math.exp(special.gammaln(half) - special.gammaln(half - 0.5)) / math.sqrt(half)


def smallest_detectable_change(
    retest_sd: float, n_judges: int, *, repeats: int = 1, n_prompts: int = 1, level: float = 0.95
) -> float:
    """Returns the change of a panel mean that re-asking alone stays below with probability level.

    z sqrt(2) s / sqrt(judges x repeats x prompts). Too small where re-ask noise is shared between
    judges, and meaningless where repeats came from a cache or at temperature 0.

    Args:
        retest_sd: standard deviation of one judge's repeated scores of one response.
        n_judges: judges averaged.
        repeats: askings of each judge averaged.
        n_prompts: prompts averaged.
        level: two-sided, in (0, 1).

    Raises:
        ValueError: an argument outside its range.
    """
    if not (retest_sd >= 0 or math.isnan(retest_sd)) or min(n_judges, repeats, n_prompts) < 1:
        raise ValueError("retest_sd must be at least 0, and every count at least 1")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    z = float(special.ndtri((1 + level) / 2))
    return z * math.sqrt(2) * retest_sd / math.sqrt(n_judges * repeats * n_prompts)
