"""Means and shares Σ x / Σ n over clusters, from the sum and the size of each cluster alone.

What a cluster consists of need not be kept: a million answers come as a few thousand sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from .estimate import Estimate
from .proportions import FEWEST_CLUSTERS
from .sign_flips import hall_interval

Floats = npt.NDArray[np.float64]

_NO_SPREAD = 1e-12


@dataclass(frozen=True, slots=True)
class _Ratio:
    """Σ x / Σ n, with what its intervals need."""

    value: float
    clusters: int
    size: float
    rests: Floats
    reason: str | None

    @property
    def variance(self) -> float:
        """Between clusters: G/(G − 1) Σ (x_g − R n_g)² / n²; nan below two."""
        if self.clusters < 2:
            return math.nan
        scale = self.clusters / (self.clusters - 1) / self.size**2
        return scale * float(self.rests @ self.rests)


def cluster_mean(
    sums: npt.ArrayLike, sizes: npt.ArrayLike, *, level: float = 0.95, unit: str = "prompt"
) -> Estimate:
    """Returns R = Σ x / Σ n with its t interval over clusters; `se` is √(G/(G − 1) Σ r_g²) / n.

    r_g = x_g − R n_g for the G clusters with n_g > 0.

    Args:
        sums: shape (clusters,), x_g.
        sizes: n_g; a cluster of size 0 counts for nothing.
        level: nominal coverage.
        unit: what a cluster is.

    Returns:
        n is the number of clusters; no limits with fewer than six; nan without any.

    Raises:
        ValueError: different lengths.
    """
    found = _ratio(sums, sizes, unit)
    if found.reason is not None:
        return _refused(found, "t", level, unit)
    error = math.sqrt(found.variance)
    reach = float(stdtrit(found.clusters - 1, (1 + level) / 2)) * error
    return Estimate(
        found.value, found.value - reach, found.value + reach, found.clusters, unit, "t", level,
        se=error,
    )  # fmt: skip


def cluster_share(
    sums: npt.ArrayLike, sizes: npt.ArrayLike, *, level: float = 0.95, unit: str = "prompt"
) -> Estimate:
    """Returns Σ x / Σ n, x_g of n_g, with the interval of `clustered_proportion`.

    Args:
        sums, sizes, level, unit: as in `cluster_mean`.

    Raises:
        ValueError: different lengths.
    """
    found = _ratio(sums, sizes, unit)
    method = "clustered wilson"
    if found.reason is not None:
        return _refused(found, method, level, unit)
    p, n = found.value, found.size
    effective = float(found.clusters)
    if p not in (0.0, 1.0):
        spread = found.variance
        effective = min(n, p * (1 - p) / spread) if spread > _NO_SPREAD * p * (1 - p) / n else n
    quantile = float(stdtrit(found.clusters - 1, (1 + level) / 2))
    centre = p + quantile**2 / (2 * effective)
    reach = quantile * math.sqrt(p * (1 - p) / effective + quantile**2 / (4 * effective**2))
    scale = 1 + quantile**2 / effective
    low = 0.0 if p == 0 else (centre - reach) / scale
    high = 1.0 if p == 1 else (centre + reach) / scale
    return Estimate(p, low, high, found.clusters, unit, method, level)


def skewed_cluster_mean(
    sums: npt.ArrayLike, sizes: npt.ArrayLike, *, level: float = 0.95, unit: str = "prompt"
) -> Estimate:
    """Returns R = Σ x / Σ n with its interval by Hall's transformation of t: `hall_interval`.

    For values of which a few clusters carry most, such as squared gaps.

    Args:
        sums, sizes, level, unit: as in `cluster_mean`.

    Raises:
        ValueError: different lengths.
    """
    found = _ratio(sums, sizes, unit)
    if found.reason is not None:
        return _refused(found, "t without its skewness", level, unit)
    rests = found.rests
    square = float(rests @ rests)
    x, n = np.asarray(sums, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    skewness = excess = 0.0
    if square > _NO_SPREAD * float(x @ x + found.value**2 * (n @ n)):
        mean_square = square / found.clusters
        skewness = float((rests**3).mean()) / mean_square**1.5
        excess = float((rests**4).mean()) / mean_square**2 - 3
    return hall_interval(
        found.value, math.sqrt(found.variance), skewness, excess, found.clusters,
        level=level, unit=unit,
    )  # fmt: skip


def _ratio(sums: npt.ArrayLike, sizes: npt.ArrayLike, unit: str) -> _Ratio:
    x, n = np.asarray(sums, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if x.shape != n.shape or x.ndim != 1:
        raise ValueError(f"one size a sum: got shapes {x.shape} and {n.shape}")
    x, n = x[n > 0], n[n > 0]
    size = float(n.sum())
    value = float(x.sum()) / size if size else math.nan
    reason = None
    if not x.size:
        reason = "nothing measured"
    elif x.size < FEWEST_CLUSTERS:
        reason = f"an interval needs {FEWEST_CLUSTERS} {unit}s, there are {x.size}"
    return _Ratio(value, int(x.size), size, x - value * n, reason)


def _refused(found: _Ratio, method: str, level: float, unit: str) -> Estimate:
    nan = math.nan
    return Estimate(found.value, nan, nan, found.clusters, unit, method, level, found.reason)
