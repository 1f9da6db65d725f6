"""Kendall's coefficient of concordance W, its chance-corrected form, and tests of concordance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from .pair_counting import Labels, group_codes

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SkillingsMack:
    """The Skillings-Mack test of no difference between items, raters as blocks.

    Attributes:
        statistic: chi-square-like, nan when undefined.
        degrees_of_freedom: items − 1 (items that some usable rater ranked).
        p_chi_square: by the chi-square approximation.
        p_permutation: (1 + k) / (B + 1) over permutations within raters.
        resamples: B.
        n_raters: raters with two or more items.
    """

    statistic: float
    degrees_of_freedom: int
    p_chi_square: float
    p_permutation: float
    resamples: int
    n_raters: int


@dataclass(frozen=True, slots=True)
class MeanConcordance:
    """Concordance prompt by prompt, its mean, and a permutation p.

    Attributes:
        mean_w: mean tie-corrected W over defined groups. Its value under chance depends on m.
        mean_spearman: mean over the same groups of r̄ = (mW − 1) / (m − 1); chance value 0.
        chance_w: mean of 1/m over the same groups: what mean_w is when nobody agrees.
        p_permutation: (1 + k) / (B + 1), one-sided, for mean_spearman; nan when undefined.
        resamples: B.
        w: W of each group in the order of labels, nan where undefined.
        n_raters: complete raters of each group (m).
        labels: the groups, by first appearance.
        n_defined: groups that entered the means.
        n_partial_raters: rater-and-group cells left out because part of the group is missing.
    """

    mean_w: float
    mean_spearman: float
    chance_w: float
    p_permutation: float
    resamples: int
    w: tuple[float, ...]
    n_raters: tuple[int, ...]
    labels: tuple[object, ...]
    n_defined: int
    n_partial_raters: int


def kendall_w(ratings: npt.ArrayLike) -> float:
    """Returns Kendall's W with the correction for ties.

    W = 12 S / (m²(n³ − n) − m Σ_j T_j)      S: squared deviations of the n rank sums from their
    mean; T_j = Σ(t³ − t) over the tie groups of rater j. Scores are turned into mid-ranks within
    each rater first, so that scores and ranks give the same W.

    Args:
        ratings: shape (m raters, n items). A rater without any value was absent and is left out;
            a rater who rated only some items makes W undefined (see `skillings_mack`).

    Returns:
        In [0, 1], with mean 1/m when nobody agrees; nan when undefined: a partly missing rater,
        every rater ties every item, fewer than two raters or items.

    Raises:
        ValueError: not two-dimensional.

    Source: Kendall & Gibbons (1990), ch. 6.
    """
    table = _table(ratings)
    table = table[~np.isnan(table).all(axis=1)] if table.size else table
    n_raters, n_items = table.shape
    if n_raters < 2 or n_items < 2 or np.isnan(table).any():
        return math.nan
    return float(_w_of_ranks(stats.rankdata(table, axis=1)[None])[0])


def _w_of_ranks(ranks: Floats) -> Floats:
    """W of each of a stack of mid-rank tables, shape (tables, raters, items)."""
    _, n_raters, n_items = ranks.shape
    sums = ranks.sum(axis=1)
    squares = ((sums - n_raters * (n_items + 1) / 2) ** 2).sum(axis=-1)
    # Σ(t³ − t) of a rater is 12 times what its ties take from the variance of 1 … n.
    spread = ((ranks - (n_items + 1) / 2) ** 2).sum(axis=(1, 2))
    possible = n_raters * spread
    w: Floats = np.divide(squares, possible, out=np.full(squares.shape, np.nan), where=possible > 0)
    return w


def kendall_w_uncorrected(ranks: npt.ArrayLike) -> float:
    """Returns W as published with SCRuB: raw rank column, no re-ranking, no tie correction.

    W = 12 S / (m²(n³ − n))      S: squared deviations of the rank sums from their own mean.
    For comparison with that paper only: where ranks are tied or taken out of a longer list it is
    not a coefficient of concordance and can fall far short of `kendall_w` (or exceed 1).

    Args:
        ranks: shape (m raters, n items), as written by the raters; raters with any missing rank
            are left out, as there.

    Returns:
        nan with fewer than two complete raters or two items.

    Raises:
        ValueError: not two-dimensional.
    """
    table = _table(ranks)
    table = table[~np.isnan(table).any(axis=1)]
    n_raters, n_items = table.shape
    if n_raters < 2 or n_items < 2:
        return math.nan
    sums = table.sum(axis=0)
    squares = float(((sums - sums.mean()) ** 2).sum())
    return float(12 * squares / (n_raters**2 * (n_items**3 - n_items)))


def mean_spearman_from_w(w: float, n_raters: int) -> float:
    """Returns r̄ = (mW − 1) / (m − 1), the mean pairwise Spearman correlation that W implies.

    An identity without ties, close with them. Its chance value is 0 whatever m is, so that r̄ and
    not W may be averaged over prompts with different numbers of raters.

    Args:
        w: in [0, 1]; nan is carried.
        n_raters: m, at least 2.

    Raises:
        ValueError: fewer than two raters.
    """
    if n_raters < 2:
        raise ValueError(f"n_raters must be at least 2, got {n_raters}")
    return (n_raters * w - 1) / (n_raters - 1)


def mean_concordance(
    ratings: npt.ArrayLike,
    groups: Labels | None = None,
    *,
    resamples: int = 9999,
    rng: np.random.Generator | int | None = 0,
) -> MeanConcordance:
    """Returns W and r̄ by group, their means, and the permutation p of the mean r̄.

    The null permutes each rater's values among the items of a group, ties included.

    Args:
        ratings: shape (raters, items); in each group only raters who rated all its items count.
        groups: one label an item; None puts all items in one group.
        resamples: permutations, B.
        rng: generator or seed.

    Raises:
        ValueError: not two-dimensional, or labels that do not fit.
    """
    table = _table(ratings)
    codes, labels = group_codes(groups, table.shape[1])
    generator = np.random.default_rng(rng)
    w, sizes, permuted, partial = [], [], np.zeros(resamples), 0
    for code in range(len(labels)):
        block = table[:, codes == code]
        missing = np.isnan(block)
        partial += int((missing.any(axis=1) & ~missing.all(axis=1)).sum())
        block = block[~missing.any(axis=1)]
        value = kendall_w(block)
        w.append(value)
        sizes.append(block.shape[0])
        if math.isnan(value):
            continue
        ranks = stats.rankdata(block, axis=1)
        m = block.shape[0]
        for start in range(0, resamples, 1000):
            count = min(1000, resamples - start)
            stack = np.broadcast_to(ranks, (count, *ranks.shape))
            drawn = _w_of_ranks(generator.permuted(stack, axis=2))
            permuted[start : start + count] += (m * drawn - 1) / (m - 1)
    values, counts = np.array(w), np.array(sizes, dtype=np.float64)
    defined = ~np.isnan(values)
    n_defined = int(defined.sum())
    if not n_defined:
        mean_w = mean_spearman = chance = p_value = math.nan
    else:
        by_group = (counts[defined] * values[defined] - 1) / (counts[defined] - 1)
        mean_w, chance = float(values[defined].mean()), float((1 / counts[defined]).mean())
        mean_spearman = float(by_group.mean())
        reached = permuted / n_defined >= mean_spearman - 1e-9
        p_value = float((1 + reached.sum()) / (resamples + 1))
    return MeanConcordance(
        mean_w=mean_w,
        mean_spearman=mean_spearman,
        chance_w=chance,
        p_permutation=p_value,
        resamples=resamples,
        w=tuple(w),
        n_raters=tuple(sizes),
        labels=tuple(labels),
        n_defined=n_defined,
        n_partial_raters=partial,
    )


def skillings_mack(
    ratings: npt.ArrayLike,
    *,
    resamples: int = 9999,
    rng: np.random.Generator | int | None = 0,
) -> SkillingsMack:
    """Returns the Skillings-Mack test for raters who each rated only some of the items.

    A = Σ_j sqrt(12 / (k_j + 1)) (rank − (k_j + 1) / 2), missing cells 0;  statistic = A' Σ⁻ A
    k_j: items of rater j;  Σ_ii = Σ of (k_j − 1) over raters who rated i;  Σ_ih = −(raters who
    rated both). It has no correction for ties, so with ties trust the permutation p.

    Args:
        ratings: shape (raters, items), nan where not rated; raters with one item are left out.
        resamples: permutations of each rater's values among the items that rater rated.
        rng: generator or seed.

    Returns:
        nan statistic and p when fewer than two raters or items are usable, or when the items
        fall into sets that no rater connects.

    Raises:
        ValueError: not two-dimensional.

    Source: Skillings & Mack (1981), Technometrics 23, 171–177.
    """
    table = _table(ratings)
    table = table[(~np.isnan(table)).sum(axis=1) >= 2]
    table = table[:, (~np.isnan(table)).any(axis=0)] if table.size else table[:, :0]
    n_raters, n_items = table.shape
    seen = ~np.isnan(table)
    together = seen.T.astype(np.float64) @ seen.astype(np.float64)
    np.fill_diagonal(together, 0.0)
    covariance = np.diag(together.sum(axis=1)) - together
    connected = n_items >= 2 and np.linalg.matrix_rank(covariance) == n_items - 1
    if n_raters < 2 or not connected:
        return SkillingsMack(math.nan, max(n_items - 1, 0), math.nan, math.nan, resamples, n_raters)
    scores = np.zeros(table.shape)
    for row in range(n_raters):
        rank = stats.rankdata(table[row, seen[row]])
        scores[row, seen[row]] = math.sqrt(12 / (rank.size + 1)) * (rank - (rank.size + 1) / 2)
    inverse = np.linalg.pinv(covariance, hermitian=True)
    adjusted = scores.sum(axis=0)
    statistic = float(adjusted @ inverse @ adjusted)
    generator = np.random.default_rng(rng)
    reached = 0
    for start in range(0, resamples, 1000):
        count = min(1000, resamples - start)
        sums = np.zeros((count, n_items))
        for row in range(n_raters):
            mine = np.broadcast_to(scores[row, seen[row]], (count, int(seen[row].sum())))
            sums[:, seen[row]] += generator.permuted(mine, axis=1)
        drawn = np.einsum("bi,ij,bj->b", sums, inverse, sums)
        reached += int((drawn >= statistic - 1e-9).sum())
    return SkillingsMack(
        statistic=statistic,
        degrees_of_freedom=n_items - 1,
        p_chi_square=float(stats.chi2.sf(statistic, n_items - 1)),
        p_permutation=(1 + reached) / (resamples + 1),
        resamples=resamples,
        n_raters=n_raters,
    )


def _table(ratings: npt.ArrayLike) -> Floats:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must be (raters, items), got shape {table.shape}")
    return table


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
