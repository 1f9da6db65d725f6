"""Kendall's W where each rater ranks a block of the items and the blocks are balanced."""

import math

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]


def durbin_w(ratings: npt.ArrayLike) -> float:
    """Returns Kendall's W of a balanced incomplete design.

    W = (12 Σ_i R_i² − 3 n r² (k + 1)²) / (λ² n (n² − 1))      R_i: sum of the ranks of item i
    n items; each rater ranks k of them; each item is ranked r times; each pair of items meets in
    the blocks of λ raters. 1 where the raters' orders are those of one common order, 0 where rank
    sums are equal; with k = n it is Kendall's W. Ties get mid-ranks, without a correction.

    Args:
        ratings: shape (raters, items), nan where a rater did not rate.

    Returns:
        In [0, 1]; nan where the design is not balanced (block sizes, ratings of an item or
        meetings of pairs differ): Skillings-Mack then tests, and no W is defined.

    Raises:
        ValueError: not two-dimensional.

    Source: Durbin (1951), British Journal of Statistical Psychology 4, 85–90.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must be (raters, items), got shape {table.shape}")
    seen = np.isfinite(table)
    table, seen = table[seen.any(axis=1)], seen[seen.any(axis=1)]
    n = table.shape[1]
    if not len(table) or n < 2:
        return math.nan
    together = seen.T.astype(np.int64) @ seen.astype(np.int64)
    block_sizes, times = seen.sum(axis=1), np.diag(together)
    meetings = together[~np.eye(n, dtype=bool)]
    if any(len(set(counts.tolist())) > 1 for counts in (block_sizes, times, meetings)):
        return math.nan
    k, r, shared = int(block_sizes[0]), int(times[0]), int(meetings[0])
    if not shared:
        return math.nan
    sums = np.zeros(n)
    for row, mine in zip(table, seen, strict=True):
        sums[mine] += stats.rankdata(row[mine])
    top = 12 * float(sums @ sums) - 3 * n * r**2 * (k + 1) ** 2
    return float(top / (shared**2 * n * (n**2 - 1)))
