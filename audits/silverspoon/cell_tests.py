"""Contrasts of cell means whose cells differ in spread: Welch's test for factorial designs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WelchJames:
    """A test that one or several contrasts of cell means are 0.

    Attributes:
        statistic: F; nan where undefined.
        df, df_rest: its degrees of freedom.
        p: of F.
        estimate: value of the contrast; nan with several.
        error: its standard error.
        reason: why it is undefined, or None.
    """

    statistic: float
    df: int
    df_rest: float
    p: float
    estimate: float
    error: float
    reason: str | None = None

    def limits(self, level: float = 0.95) -> tuple[float, float]:
        """Interval of a single contrast, by t with Welch and Satterthwaite's degrees of freedom."""
        if not (math.isfinite(self.estimate) and self.error > 0 and self.df_rest > 0):
            return math.nan, math.nan
        reach = float(special.stdtrit(self.df_rest, (1 + level) / 2)) * self.error
        return self.estimate - reach, self.estimate + reach


def welch_james(cells: Sequence[npt.ArrayLike], contrasts: npt.ArrayLike) -> WelchJames:
    """Returns the test that C μ = 0 for independent cells of unequal variance.

    T = (C m)' (C S C')⁻¹ (C m), S = diag(s²_c / n_c); with P = S C' (C S C')⁻¹ C and
    A = Σ P_cc² / (n_c − 1): F = T / (r + 2A − 6A / (r + 2)) with r and r (r + 2) / (3 A) degrees
    of freedom. With r = 1 that is Welch's t with Satterthwaite's degrees of freedom.

    Args:
        cells: the values of each cell, at least two each; nan is missing and left out.
        contrasts: C, shape (r, cells) or (cells,), rows independent.

    Returns:
        nan, with the reason, where a cell has fewer than two values or the cells that a contrast
        needs do not vary.

    Raises:
        ValueError: C does not have one column a cell.

    Source: Johansen (1980), Biometrika 67, 85–92; Keselman, Carriere & Lix (1993), Journal of
    Educational Statistics 18, 305–319.
    """
    matrix = np.atleast_2d(np.asarray(contrasts, dtype=np.float64))
    if matrix.shape[1] != len(cells):
        raise ValueError(f"{len(cells)} cells, but contrasts of {matrix.shape[1]}")
    known = []
    for cell in cells:
        values = np.asarray(cell, dtype=np.float64)
        known.append(values[~np.isnan(values)])
    sizes = np.asarray([values.size for values in known])
    rank = len(matrix)
    nan = math.nan
    used = np.abs(matrix).sum(axis=0) > 0
    if (sizes[used] < 1).any():
        return WelchJames(nan, rank, nan, nan, nan, nan, "a group has no value")
    means = np.asarray([values.mean() if values.size else 0.0 for values in known])
    estimate = float((matrix @ means)[0]) if rank == 1 else nan
    if (sizes[used] < 2).any():
        return WelchJames(nan, rank, nan, nan, estimate, nan, "a group has fewer than two names")
    variances = np.asarray(
        [values.var(ddof=1) / values.size if values.size > 1 else 0.0 for values in known]
    )
    covariance = matrix @ np.diag(variances) @ matrix.T
    scale = float(np.abs(np.diag(covariance)).max())
    if scale <= 1e-18 or np.linalg.cond(covariance) > 1e10:
        return WelchJames(nan, rank, nan, nan, estimate, nan, "too few groups vary")
    inverse = np.linalg.inv(covariance)
    gap = matrix @ means
    total = float(gap @ inverse @ gap)
    parts = np.diag(np.diag(variances) @ matrix.T @ inverse @ matrix)
    spread = float((parts[used] ** 2 / (sizes[used] - 1)).sum())
    df_rest = rank * (rank + 2) / (3 * spread)
    statistic = total / (rank + 2 * spread - 6 * spread / (rank + 2))
    p = float(special.fdtrc(rank, df_rest, statistic))
    error = math.sqrt(float(covariance[0, 0])) if rank == 1 else nan
    return WelchJames(statistic, rank, df_rest, p, estimate, error)


def helmert(levels: int) -> Floats:
    """Independent contrasts of so many levels, shape (levels − 1, levels)."""
    found = np.zeros((levels - 1, levels))
    for row in range(levels - 1):
        found[row, : row + 1] = 1 / (row + 1)
        found[row, row + 1] = -1
    return found
