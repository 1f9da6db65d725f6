"""Agreement of order across prompts that have one response each, with the prompts as units.

Where every prompt was answered once, no two responses belong together, and pairs of responses to
different prompts are all there is. What a rater makes of a prompt is then in what he makes of its
response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BLOCK_CELLS: Final = 4_000_000
"""Pairs that are held at once."""


MOST_ITEMS: Final = 2000
"""Items whose pairs are counted: they grow with the square, and so many tell enough."""


def drawn_items(n: int, *, seed: int = 0) -> npt.NDArray[np.int64]:
    """Places of the items whose pairs are counted, in order: all, or `MOST_ITEMS` drawn of n."""
    if n <= MOST_ITEMS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MOST_ITEMS, replace=False))


@dataclass(frozen=True, slots=True)
class ItemPairs:
    """Sums over the pairs of each item with all others; every pair stands with both its items.

    Attributes:
        difference: shape (items,), concordant less discordant pairs.
        first, second: shape (items,), pairs that x orders, and that y orders.
    """

    difference: Floats
    first: Floats
    second: Floats

    @property
    def tau_b(self) -> float:
        """Kendall's tau-b over all pairs; nan where a side orders none."""
        return _ratio(self.difference.sum(), math.sqrt(self.first.sum() * self.second.sum()))

    @property
    def somers_d(self) -> float:
        """(C - D) / pairs that y orders: a tie of x is no order."""
        return _ratio(self.difference.sum(), self.second.sum())

    def tau_b_left_out(self) -> Floats:
        """Shape (items,), tau-b without each item in turn: without both ends of its pairs."""
        first, second = (one.sum() - 2 * one for one in (self.first, self.second))
        return _ratios(self._difference_left_out(), np.sqrt(np.maximum(first * second, 0)))

    def somers_d_left_out(self) -> Floats:
        """Shape (items,), the same of Somers' d."""
        return _ratios(self._difference_left_out(), self.second.sum() - 2 * self.second)

    def _difference_left_out(self) -> Floats:
        found: Floats = self.difference.sum() - 2 * self.difference
        return found


def item_pairs(x: npt.ArrayLike, y: npt.ArrayLike) -> ItemPairs:
    """Returns the sums of every item; an item without x or y has no pair.

    Args:
        x, y: shape (items,), higher is better; nan is missing.

    Raises:
        ValueError: different shapes.
    """
    one, other = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if one.ndim != 1 or one.shape != other.shape:
        raise ValueError(f"x and y must be vectors of one length, got {one.shape}, {other.shape}")
    known = np.flatnonzero(np.isfinite(one) & np.isfinite(other))
    u, v = one[known], other[known]
    sums = np.zeros((3, len(one)))
    step = max(1, BLOCK_CELLS // max(len(known), 1))
    for start in range(0, len(known), step):
        rows = slice(start, start + step)
        by_x, by_y = np.sign(u[rows, None] - u), np.sign(v[rows, None] - v)
        at = known[rows]
        sums[0, at] = (by_x * by_y).sum(axis=1)
        sums[1, at], sums[2, at] = np.abs(by_x).sum(axis=1), np.abs(by_y).sum(axis=1)
    return ItemPairs(*sums)


def _ratio(top: float, bottom: float) -> float:
    return float(top / bottom) if bottom > 0 else math.nan


def _ratios(top: Floats, bottom: Floats) -> Floats:
    found: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0.5)
    return found
