"""Pearson's chi-square test of independence, by permutation where expected counts are small."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

SMALL_EXPECTED = 5.0
"""Below this expected count in any cell the chi-square distribution is not relied upon."""


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A test of independence of rows and columns.

    Attributes:
        statistic: Pearson's; nan where undefined.
        df: (rows − 1)(columns − 1) of what is not empty.
        p: by `method`.
        p_chi2: by the chi-square distribution, whatever the expected counts are.
        n: observations.
        least_expected: smallest expected count.
        cramers_v: effect size in [0, 1].
        method: "chi-square" or "permutation".
        resamples: tables drawn, 0 without permutation.
        reason: why it is undefined, or None.
    """

    statistic: float
    df: int
    p: float
    p_chi2: float
    n: int
    least_expected: float
    cramers_v: float
    method: str
    resamples: int = 0
    reason: str | None = None


def chi_square_test(
    counts: npt.ArrayLike,
    *,
    resamples: int = 9999,
    rng: np.random.Generator | int | None = 0,
) -> ChiSquare:
    """Returns Pearson's test of independence of a table of counts.

    X² = Σ (O − E)² / E. Observations must be independent: models that answered the same prompts
    are not independent samples (see `cochran_q`). With an expected count below 5 the p-value is
    (1 + #{X²* ≥ X²}) / (B + 1) over tables drawn with both margins as they are.

    Args:
        counts: shape (rows, columns), whole numbers from 0; empty rows and columns are left out.
        resamples: tables drawn in that case.
        rng: generator or seed.

    Returns:
        nan, with the reason, where fewer than two rows or columns have an observation.

    Raises:
        ValueError: not two-dimensional, or negative or fractional counts.

    Source: Pearson (1900); Patefield (1981) for the draws; Phipson & Smyth (2010) for their p.
    """
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
        nan = math.nan
        reason = f"{rows} rows and {columns} columns have observations"
        return ChiSquare(nan, 0, nan, nan, n, nan, nan, "chi-square", 0, reason)
    row, column = whole.sum(axis=1), whole.sum(axis=0)
    expected = np.outer(row, column) / n
    statistic = float(((whole - expected) ** 2 / expected).sum())
    df = (rows - 1) * (columns - 1)
    p_chi2 = float(stats.chi2.sf(statistic, df))
    v = math.sqrt(statistic / (n * (min(rows, columns) - 1)))
    least = float(expected.min())
    if least >= SMALL_EXPECTED or not resamples:
        return ChiSquare(statistic, df, p_chi2, p_chi2, n, least, v, "chi-square")
    generator = np.random.default_rng(rng)
    drawn = stats.random_table(row, column).rvs(size=resamples, random_state=generator)
    found = ((drawn - expected) ** 2 / expected).sum(axis=(1, 2))
    reached = int((found >= statistic * (1 - 1e-9)).sum())
    p = (1 + reached) / (resamples + 1)
    return ChiSquare(statistic, df, p, p_chi2, n, least, v, "permutation", resamples)
