"""Concordance of raters who saw different items: Skillings and Mack's test, Durbin's W."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_BLOCK = 2_000_000
"""Cells permuted at once."""


def mid_ranks(values: Floats) -> Floats:
    """Returns mid-ranks along the last axis, of values without nan.

    As scipy.stats.rankdata, whose module takes a third of a second to load.
    """
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    is_new = np.diff(ordered, axis=-1, prepend=-np.inf) != 0
    is_last = np.diff(ordered, axis=-1, append=np.inf) != 0
    place = np.arange(values.shape[-1])
    first = np.maximum.accumulate(np.where(is_new, place, 0), axis=-1)
    last = np.where(is_last, place, place[-1:])[..., ::-1]
    last = np.minimum.accumulate(last, axis=-1)[..., ::-1]
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    return ranks


@dataclass(frozen=True, slots=True)
class BalancedDesign:
    """A balanced incomplete block design, raters as blocks.

    Attributes:
        items: n.
        seen: items that each rater rated, k.
        times: raters of each item, r.
        shared: raters of each pair of items, λ.
    """

    items: int
    seen: int
    times: int
    shared: int


def balanced_design(seen: npt.NDArray[np.bool_]) -> BalancedDesign | None:
    """Returns the design where it is balanced: equal k, r and λ, λ above 0; else None.

    Args:
        seen: shape (raters, items), whether the rater rated the item.
    """
    seen = seen[seen.any(axis=1)]
    n = seen.shape[1]
    if not len(seen) or n < 2:
        return None
    together = seen.T.astype(np.int64) @ seen.astype(np.int64)
    meetings = together[~np.eye(n, dtype=bool)]
    for counts in (seen.sum(axis=1), np.diag(together), meetings):
        if counts.min() != counts.max():
            return None
    if not meetings[0]:
        return None
    return BalancedDesign(n, int(seen[0].sum()), int(together[0, 0]), int(meetings[0]))


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
        meetings of pairs differ): see `IncompleteRankings`.

    Raises:
        ValueError: not two-dimensional.

    Source: Durbin (1951), British Journal of Statistical Psychology 4, 85–90.
    """
    table = rating_table(ratings)
    table = table[np.isfinite(table).any(axis=1)]
    seen = np.isfinite(table)
    design = balanced_design(seen)
    if design is None:
        return math.nan
    n, k, r, shared = design.items, design.seen, design.times, design.shared
    sums = np.zeros(n)
    for row, mine in zip(table, seen, strict=True):
        sums[mine] += mid_ranks(row[mine])
    top = 12 * float(sums @ sums) - 3 * n * r**2 * (k + 1) ** 2
    return float(top / (shared**2 * n * (n**2 - 1)))


@dataclass(frozen=True, slots=True)
class _Rows:
    """The raters who rated equally many items.

    Attributes:
        scores: shape (raters, k), each rater's scores in rising order.
        own: shape (raters, k), the same in the order of the rater's items.
        place: shape (raters, k), the items.
        which: shape (raters k, items), 1 where the item is.
    """

    scores: Floats
    own: Floats
    place: Integers
    which: Floats


class IncompleteRankings:
    """One block of items that raters saw in part: the statistic of Skillings and Mack, and W.

    A = Σ_j sqrt(12 / (k_j + 1)) (rank − (k_j + 1) / 2), missing cells 0;  statistic T = A' Σ⁻ A
    k_j: items of rater j;  Σ_ii = Σ of (k_j − 1) over raters who rated i;  Σ_ih = −(raters who
    rated both).

    W = T / T_c      T_c: the same where each rater gives the own ranks in the order of Σ⁻ A

    T never exceeds T_c (each rater's part of A' Σ⁻ A is largest in that order), so W lies in
    [0, 1] and is 1 only where all raters follow the one order. It is Kendall's W where all rated
    everything, and Durbin's W in a balanced design, both without ties. Raters with one item are
    left out.

    Attributes:
        statistic, w: nan where fewer than two raters or items are usable, or where the items fall
            into sets that no rater connects.
        degrees_of_freedom: items − 1.
        n_raters: raters with two or more items.
        is_balanced: see `balanced_design`.
        n_cells: ratings.

    Source: Skillings & Mack (1981), Technometrics 23, 171–177; Durbin (1951).
    """

    def __init__(self, ratings: Floats) -> None:
        """Takes ratings of shape (raters, items), nan where not rated."""
        seen = ~np.isnan(ratings)
        ratings = ratings[seen.sum(axis=1) >= 2]
        ratings = ratings[:, (~np.isnan(ratings)).any(axis=0)] if ratings.size else ratings[:, :0]
        seen = ~np.isnan(ratings)
        self.n_raters, self.n_items = ratings.shape
        self.n_cells = int(seen.sum())
        self.degrees_of_freedom = max(self.n_items - 1, 0)
        self.is_balanced = balanced_design(seen) is not None
        together = seen.T.astype(np.float64) @ seen.astype(np.float64)
        np.fill_diagonal(together, 0.0)
        covariance = np.diag(together.sum(axis=1)) - together
        self._inverse: Floats = np.zeros(covariance.shape)
        self._rows: list[_Rows] = []
        self.statistic = self.w = math.nan
        if self.n_items < 2 or np.linalg.matrix_rank(covariance) < self.n_items - 1:
            return
        if self.n_raters < 2:
            return
        self._inverse = np.asarray(np.linalg.pinv(covariance, hermitian=True), dtype=np.float64)
        sizes = seen.sum(axis=1)
        for k in np.unique(sizes).tolist():
            rows, place = np.nonzero(seen & (sizes == k)[:, None])
            ranks = mid_ranks(ratings[rows, place].reshape(-1, k))
            own = math.sqrt(12 / (k + 1)) * (ranks - (k + 1) / 2)
            which = (place[:, None] == np.arange(self.n_items)).astype(np.float64)
            self._rows.append(_Rows(np.sort(own, axis=1), own, place.reshape(-1, k), which))
        sums = np.zeros((1, self.n_items))
        for row in self._rows:
            sums += row.own.reshape(1, -1) @ row.which
        statistic, w = self._of(sums)
        self.statistic, self.w = float(statistic[0]), float(w[0])

    @property
    def is_defined(self) -> bool:
        """Whether there is a statistic."""
        return not math.isnan(self.statistic)

    def drawn(self, rng: np.random.Generator, resamples: int) -> tuple[Floats, Floats]:
        """Returns statistic and W, each of shape (resamples,), where nobody agrees.

        Each rater's values are shuffled among the items that this rater rated.
        """
        step = max(1, _BLOCK // max(self.n_cells, 1))
        found = [self._of(sums) for sums in self._shuffled(rng, resamples, step)]
        statistic, w = (np.concatenate(part) for part in zip(*found, strict=True))
        return statistic, w

    def _shuffled(self, rng: np.random.Generator, resamples: int, step: int) -> Iterator[Floats]:
        for start in range(0, resamples, step):
            count = min(step, resamples - start)
            sums = np.zeros((count, self.n_items))
            for row in self._rows:
                drawn = rng.permuted(
                    np.broadcast_to(row.scores, (count, *row.scores.shape)), axis=2
                )
                sums += drawn.reshape(count, -1) @ row.which
            yield sums

    def _of(self, sums: Floats) -> tuple[Floats, Floats]:
        """Statistic and W of sums of scores, shape (draws, items)."""
        effects = np.round(sums @ self._inverse, 9)
        most = np.zeros(len(sums))
        # items with equal effects stand in either order; the mean of both prefers none
        for turned in (False, True):
            common = np.zeros_like(sums)
            for row in self._rows:
                mine = effects[:, row.place]
                mine = mine[:, :, ::-1] if turned else mine
                place = np.argsort(np.argsort(mine, axis=2, kind="stable"), axis=2)
                place = place[:, :, ::-1] if turned else place
                ordered = np.take_along_axis(np.broadcast_to(row.scores, mine.shape), place, axis=2)
                common += ordered.reshape(len(sums), -1) @ row.which
            most += self._squared(common) / 2
        statistic = self._squared(sums)
        w = np.divide(statistic, most, out=np.full(len(sums), np.nan), where=most > 1e-9)
        return statistic, w

    def _squared(self, sums: Floats) -> Floats:
        found: Floats = np.einsum("bi,ij,bj->b", sums, self._inverse, sums)
        return found


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
        w: see `IncompleteRankings`.
    """

    statistic: float
    degrees_of_freedom: int
    p_chi_square: float
    p_permutation: float
    resamples: int
    n_raters: int
    w: float


def skillings_mack(
    ratings: npt.ArrayLike,
    *,
    resamples: int = 9999,
    rng: np.random.Generator | int | None = 0,
) -> SkillingsMack:
    """Returns the Skillings-Mack test for raters who each rated only some of the items.

    The statistic is that of `IncompleteRankings`. It has no correction for ties, so with ties
    trust the permutation p.

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
    found = IncompleteRankings(rating_table(ratings))
    p_chi_square = p_permutation = math.nan
    if found.is_defined:
        drawn, _ = found.drawn(np.random.default_rng(rng), resamples)
        reached = int((drawn >= found.statistic - 1e-9).sum())
        p_chi_square = float(chdtrc(found.degrees_of_freedom, found.statistic))
        p_permutation = (1 + reached) / (resamples + 1)
    return SkillingsMack(
        found.statistic, found.degrees_of_freedom, p_chi_square, p_permutation, resamples,
        found.n_raters, found.w,
    )  # fmt: skip


def rating_table(ratings: npt.ArrayLike) -> Floats:
    """Returns ratings as a table of floats.

    Raises:
        ValueError: not two-dimensional.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings must be (raters, items), got shape {table.shape}")
    return table
