"""Contrasts of cell means whose cells differ in spread: Welch's test for factorial designs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import special

from .estimate import Estimate, undefined
from .intervals import MIN_UNITS

Floats = npt.NDArray[np.float64]

RESAMPLES = 1_999
"""Permutations of a test; over seven effects Holm's smallest p is then .0035."""


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
        return WelchJames(nan, rank, nan, nan, estimate, nan, "a group has fewer than two values")
    errors = np.asarray(
        [values.var(ddof=1) / values.size if values.size > 1 else 0.0 for values in known]
    )
    found = _statistics(means[None], errors[None], sizes, matrix)
    if math.isnan(found[0][0]):
        return WelchJames(nan, rank, nan, nan, estimate, nan, "too few groups vary")
    statistic, df_rest, p = (float(part[0]) for part in found)
    error = math.sqrt(float(matrix[0] ** 2 @ errors)) if rank == 1 else nan
    return WelchJames(statistic, rank, df_rest, p, estimate, error)


def permuted_welch_james(
    cells: Sequence[npt.ArrayLike],
    contrasts: npt.ArrayLike,
    *,
    strata: int,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> WelchJames:
    """Returns the test that C μ = 0 with its p by permuting values between the cells of a stratum.

    p = (1 + #{p_b ≤ p}) / (B + 1) over random permutations, p_b the p of `welch_james` after a
    permutation. Where a stratum's cells have one distribution that is exact, whatever it is like:
    near 0 and 1 F's is not, and a test of three contrasts rejects too often. As the statistic is
    studentised, it is right for many values also where cells differ in spread, or where the
    contrasts are 0 and the cells are not alike.

    Measured false alarms: benchmarks/simulate_silverspoon.py, and the page on this audit.

    Args:
        cells: the values of each cell, stratum by stratum, as many cells in each; nan is left out.
        contrasts: C, between the cells of a stratum: each row adds up to 0 in every stratum.
        strata: how many there are; no value leaves its own.
        resamples: B; no p is below 1 / (B + 1).
        seed: of the permutations.

    Returns:
        As `welch_james`, with another p. A permutation that has no p counts as reaching it.

    Raises:
        ValueError: the cells are not so many strata; a contrast compares strata; B below 1.

    Source: Janssen (1997), Statistics & Probability Letters 36, 9–21; Chung & Romano (2013), Annals
    of Statistics 41, 484–507, for the studentised statistic.
    """
    matrix = np.atleast_2d(np.asarray(contrasts, dtype=np.float64))
    if strata < 1 or len(cells) % strata:
        raise ValueError(f"{len(cells)} cells are not {strata} strata of one size")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    test = welch_james(cells, matrix)
    if np.abs(matrix.reshape(len(matrix), strata, -1).sum(axis=2)).max() > 1e-9:
        raise ValueError("contrasts must compare cells of one stratum")
    if math.isnan(test.p):
        return test
    generator = np.random.default_rng(seed)
    width = len(cells) // strata
    means = np.empty((resamples, len(cells)))
    errors = np.empty((resamples, len(cells)))
    sizes = np.empty(len(cells), dtype=np.int64)
    for first in range(0, len(cells), width):
        parts = [np.asarray(cell, dtype=np.float64) for cell in cells[first : first + width]]
        parts = [part[~np.isnan(part)] for part in parts]
        pool = np.broadcast_to(np.concatenate(parts), (resamples, sum(map(len, parts))))
        pool = generator.permuted(pool, axis=1)
        start = 0
        for cell, part in enumerate(parts, start=first):
            drawn = pool[:, start : start + part.size]
            start += part.size
            sizes[cell] = part.size
            means[:, cell], errors[:, cell] = 0.0, 0.0
            if part.size > 1:
                means[:, cell] = drawn.mean(axis=1)
                errors[:, cell] = drawn.var(axis=1, ddof=1) / part.size
    p = _statistics(means, errors, sizes, matrix)[2]
    # Equal up to rounding is equal; nan is not above.
    reached = int((~(p > test.p * (1 + 1e-9))).sum())
    return replace(test, p=(1 + reached) / (resamples + 1))


def _statistics(
    means: Floats, errors: Floats, sizes: npt.NDArray[np.int64], matrix: Floats
) -> tuple[Floats, Floats, Floats]:
    """F, its second degrees of freedom and p of each row; nan where its contrasts do not vary.

    Args:
        means, errors: shape (rows, cells), mean and squared standard error.
        sizes: values of each cell.
        matrix: C.
    """
    rank = len(matrix)
    # Column by column c c', flat: sums over cells are then matrix products, much the fastest here.
    products = np.einsum("ik,jk->kij", matrix, matrix).reshape(matrix.shape[1], rank**2)
    covariance = (errors @ products).reshape(-1, rank, rank)
    roots = np.linalg.eigvalsh(covariance)
    is_sound = (roots[:, -1] > 1e-18) & (roots[:, 0] > 1e-10 * roots[:, -1])
    inverse = np.linalg.inv(np.where(is_sound[:, None, None], covariance, np.eye(rank)))
    gap = means @ matrix.T
    total = (gap[:, None, :] @ inverse @ gap[:, :, None]).ravel()
    parts = errors * (inverse.reshape(-1, rank**2) @ products.T)
    used = np.abs(matrix).sum(axis=0) > 0
    spread = (parts[:, used] ** 2 / (sizes[used] - 1)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df_rest = rank * (rank + 2) / (3 * spread)
        statistic = total / (rank + 2 * spread - 6 * spread / (rank + 2))
        p = special.fdtrc(rank, df_rest, statistic)
    statistic, df_rest, p = (np.where(is_sound, part, np.nan) for part in (statistic, df_rest, p))
    return statistic, df_rest, p


def helmert(levels: int) -> Floats:
    """Independent contrasts of so many levels, shape (levels − 1, levels)."""
    found = np.zeros((levels - 1, levels))
    for row in range(levels - 1):
        found[row, : row + 1] = 1 / (row + 1)
        found[row, row + 1] = -1
    return found


def contrast_of_means(
    cells: Sequence[npt.ArrayLike], weights: npt.ArrayLike, *, unit: str, outcome: str
) -> Estimate:
    """Returns Σ w_c m_c with its interval and p by Welch's t; see `welch_james`.

    Args:
        cells: the values of each cell, one a unit; nan is missing and left out.
        weights: one a cell, of any shape; a cell of weight 0 plays no part.
        unit: what one value stands for.
        outcome: what the values are, for the method's name.

    Returns:
        n counts the values of the cells that play a part; no limits below six of them.
    """
    w = np.asarray(weights, dtype=np.float64).reshape(-1)
    test = welch_james(cells, w)
    used = [np.asarray(cell, float) for cell, one in zip(cells, w, strict=True) if one != 0]
    n = sum(int((~np.isnan(cell)).sum()) for cell in used)
    method, p_method = f"difference of {outcome}", f"Welch's t over {unit}s"
    if not math.isfinite(test.estimate):
        return undefined(test.reason or "undefined", unit=unit, method=method, n=n)
    if n < MIN_UNITS:
        reason = f"an interval needs {MIN_UNITS} {unit}s, there are {n}"
        return Estimate(
            test.estimate, n=n, unit=unit, method=method, reason=reason, p=test.p,
            p_method=p_method,
        )  # fmt: skip
    low, high = test.limits()
    method += f"; 95% Welch t over {unit}s" if math.isfinite(low) else ""
    return Estimate(
        test.estimate, low, high, n, unit, method, reason=test.reason, se=test.error, p=test.p,
        p_method=p_method,
    )  # fmt: skip
