"""Shares of yes and no: Wilson's interval, chi-square."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from .estimate import Estimate


def wilson(successes: int, trials: int, *, level: float = 0.95, unit: str = "item") -> Estimate:
    """Returns a proportion with Wilson's score interval.

    (p̂ + z²/2n ± z sqrt(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n). Trials must be independent: repeats
    of one prompt are not.

    Returns:
        nan, with the reason, without trials.

    Raises:
        ValueError: successes outside [0, trials], or level outside (0, 1).

    Source: Wilson (1927).
    """
    _check(successes, trials, level)
    if trials == 0:
        nan = math.nan
        return Estimate(nan, nan, nan, 0, unit, "wilson", level, f"no {unit}s")
    low, high = _wilson_limits(successes, trials, level)
    return Estimate(successes / trials, low, high, trials, unit, "wilson", level)


def _wilson_limits(successes: int, trials: int, level: float) -> tuple[float, float]:
    # By hand: scipy.stats, which has it too, takes longer to load than a small run lasts.
    z2 = float(ndtri((1 + level) / 2)) ** 2
    share, spread = successes / trials, z2 / trials
    middle = share + spread / 2
    half = math.sqrt(spread * (share * (1 - share) + spread / 4))
    low, high = ((middle + sign * half) / (1 + spread) for sign in (-1, 1))
    # At the ends the limit is exact, whatever rounding left.
    return (0.0 if successes == 0 else low), (1.0 if successes == trials else high)


def _check(successes: int, trials: int, level: float) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be in [0, trials], got {successes} of {trials}")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A test of independence of rows and columns.

    Attributes:
        statistic: Pearson's; nan where undefined.
        df: (rows − 1)(columns − 1) of what is not empty.
        p: by the chi-square distribution.
        n: observations.
        reason: why it is undefined, or None.
    """

    statistic: float
    df: int
    p: float
    n: int
    reason: str | None = None


def chi_square_test(counts: npt.ArrayLike) -> ChiSquare:
    """Returns Pearson's test of independence of a table of counts.

    X² = Σ (O − E)² / E. Observations must be independent: models that answered the same prompts
    are not independent samples, and this test finds differences between them too readily.

    Args:
        counts: shape (rows, columns), whole numbers from 0; empty rows and columns are left out.

    Returns:
        nan, with the reason, where fewer than two rows or columns have an observation.

    Raises:
        ValueError: not two-dimensional, or negative or fractional counts.

    Source: Pearson (1900).
    """
    from scipy import stats

    table = np.asarray(counts)
    if table.ndim != 2:
        raise ValueError(f"counts must be two-dimensional, got shape {table.shape}")
    whole = table.astype(np.int64)
    if (whole < 0).any() or (whole != table).any():
        raise ValueError("counts must be whole numbers from 0 up")
    whole = whole[whole.sum(axis=1) > 0][:, whole.sum(axis=0) > 0]
    n = int(whole.sum())
    rows, columns = whole.shape
    if rows < 2 or columns < 2:
        reason = f"{rows} rows and {columns} columns have observations"
        return ChiSquare(math.nan, 0, math.nan, n, reason)
    test = stats.chi2_contingency(whole, correction=False)
    return ChiSquare(float(test.statistic), int(test.dof), float(test.pvalue), n)
