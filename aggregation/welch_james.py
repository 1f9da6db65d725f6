"""One contrast of the means of separate cells that differ in spread: Welch's t."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from .estimate import Estimate, undefined
from .intervals import MIN_UNITS


@dataclass(frozen=True, slots=True)
class WelchJames:
    """A contrast of cell means.

    Attributes:
        estimate, error: its value and standard error; nan where undefined.
        df_rest: Satterthwaite's degrees of freedom.
        p: that it is 0.
        reason: why it is undefined, or None.
    """

    estimate: float
    error: float = math.nan
    df_rest: float = math.nan
    p: float = math.nan
    reason: str | None = None

    def limits(self, level: float = 0.95) -> tuple[float, float]:
        """Its interval by t."""
        if not (self.error > 0 and self.df_rest > 0):
            return math.nan, math.nan
        reach = float(special.stdtrit(self.df_rest, (1 + level) / 2)) * self.error
        return self.estimate - reach, self.estimate + reach


def welch_james(cells: Sequence[npt.ArrayLike], weights: npt.ArrayLike) -> WelchJames:
    """Returns Σ w_c m_c with variance Σ w_c² s²_c / n_c, of independent cells of unequal variance.

    Args:
        cells: the values of each cell, at least two each; nan is missing and left out.
        weights: w, one a cell; a cell of weight 0 plays no part.

    Returns:
        nan, with the reason, where a cell has fewer than two values or none varies.

    Source: Welch (1947), Biometrika 34, 28–35.
    """
    used = [
        (weight, np.asarray(cell, dtype=np.float64))
        for cell, weight in zip(cells, np.asarray(weights, float).reshape(-1), strict=True)
        if weight
    ]
    known = [(weight, cell[~np.isnan(cell)]) for weight, cell in used]
    if not all(cell.size for _, cell in known):
        return WelchJames(math.nan, reason="a group has no value")
    estimate = sum(float(weight * cell.mean()) for weight, cell in known)
    if any(cell.size < 2 for _, cell in known):
        return WelchJames(estimate, reason="a group has fewer than two values")
    parts = [weight**2 * float(cell.var(ddof=1)) / cell.size for weight, cell in known]
    square = sum(parts)
    if square <= 1e-18:
        return WelchJames(estimate, reason="too few groups vary")
    df = square**2 / sum(
        part**2 / (cell.size - 1) for part, (_, cell) in zip(parts, known, strict=True)
    )
    error = math.sqrt(square)
    p = 2 * float(special.stdtr(df, -abs(estimate) / error))
    return WelchJames(estimate, error, df, p)


def contrast_of_means(
    cells: Sequence[npt.ArrayLike], weights: npt.ArrayLike, *, unit: str, outcome: str
) -> Estimate:
    """Returns Σ w_c m_c with its interval and p by Welch's t.

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
