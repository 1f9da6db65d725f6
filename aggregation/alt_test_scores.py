"""How close a judge and each rater come to the other raters: the scores of the alt-test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

Score = Literal["accuracy", "neg_rmse", "rank"]

TIE: float = 1e-9
"""Scores closer than this are equal: rounding must not decide who wins."""


def item_differences(
    judge: Floats, table: Floats, score: Literal["accuracy", "neg_rmse"]
) -> tuple[Floats, Floats]:
    """Returns d = 1[rater >= judge] - 1[judge >= rater], and 1[judge >= rater], item by item.

    Both are (raters, items), nan where the rater, the judge or all other raters are missing. Works
    through sums over the raters of an item, so that its cost is that of one pass over the ratings.

    Args:
        judge: shape (items,); table: shape (raters, items); numbers, or codes for labels.
        score: "accuracy", the share of the other raters who say the same, or "neg_rmse", minus
            the root of the mean squared difference from them.
    """
    there = np.isfinite(table)
    d, wins = np.full(table.shape, np.nan), np.full(table.shape, np.nan)
    count = there.sum(axis=0)
    rater, item = np.nonzero(there & np.isfinite(judge) & (count > 1))
    if len(item) == 0:
        return d, wins
    own, other = table[rater, item], judge[item]
    n = count[item] - 1
    if score == "accuracy":
        closeness = _same_label(table, there, item, own, n)
    else:
        closeness = _minus_error(table, there, item, own, n)
    of_rater, of_judge = closeness(own), closeness(other)
    at_least = of_judge >= of_rater - TIE
    d[rater, item] = (of_rater >= of_judge - TIE).astype(float) - at_least
    wins[rater, item] = at_least
    return d, wins


def _same_label(
    table: Floats, there: npt.NDArray[np.bool_], item: Integers, own: Floats, n: Integers
) -> Callable[[Floats], Floats]:
    """Share of an item's other raters who give the value."""
    labels, codes = np.unique(table[there], return_inverse=True)
    items = np.nonzero(there)[1]
    said = np.bincount(items * len(labels) + codes, minlength=table.shape[1] * len(labels))

    def closeness(values: Floats) -> Floats:
        at = np.minimum(np.searchsorted(labels, values), len(labels) - 1)
        known = labels[at] == values
        same = np.where(known, said[item * len(labels) + at], 0) - (own == values)
        return np.asarray(same / n, dtype=np.float64)

    return closeness


def _minus_error(
    table: Floats, there: npt.NDArray[np.bool_], item: Integers, own: Floats, n: Integers
) -> Callable[[Floats], Floats]:
    """Minus the root mean squared difference of the value from an item's other raters."""
    # From the middle, so that squares of large numbers do not swallow the differences.
    middle = table[there].mean()
    filled = np.where(there, table - middle, 0.0)
    total, squares = filled.sum(axis=0), (filled * filled).sum(axis=0)
    mine = own - middle
    first, second = total[item] - mine, squares[item] - mine * mine

    def closeness(values: Floats) -> Floats:
        value = values - middle
        error = (second - 2 * value * first + n * value * value) / n
        return np.asarray(-np.sqrt(np.maximum(error, 0.0)), dtype=np.float64)

    return closeness


class RankBlocks:
    """Which pairs of items each rater has ordered, prompt by prompt: the same in every world.

    A block is one rater and one prompt with at least two items that the rater, the judge and
    another rater have.
    """

    def __init__(
        self, there: npt.NDArray[np.bool_], judged: npt.NDArray[np.bool_], groups: Integers
    ) -> None:
        """Finds the pairs.

        Args:
            there: shape (raters, items), which ratings there are.
            judged: shape (items,), which items the judge has.
            groups: shape (items,), prompt codes from 0.
        """
        self.shape = (len(there), int(groups.max(initial=-1)) + 1)
        rater, item = np.nonzero(there)
        self.item = item
        self.count = there.sum(axis=0)
        usable = np.flatnonzero(judged[item] & (self.count[item] > 1))
        block = rater[usable] * self.shape[1] + groups[item[usable]]
        order = np.argsort(block, kind="stable")
        usable, block = usable[order], block[order]
        found, starts, sizes = np.unique(block, return_index=True, return_counts=True)
        first, second, of_block = [], [], []
        for size in np.unique(sizes[sizes > 1]):
            mine = np.flatnonzero(sizes == size)
            one, two = np.triu_indices(size, k=1)
            first.append((starts[mine][:, None] + one).ravel())
            second.append((starts[mine][:, None] + two).ravel())
            of_block.append(np.repeat(mine, len(one)))
        none = np.zeros(0, dtype=np.int64)
        of_pair = np.concatenate([none, *of_block])
        by_block = np.argsort(of_pair, kind="stable")
        self.first = usable[np.concatenate([none, *first])[by_block]]
        self.second = usable[np.concatenate([none, *second])[by_block]]
        blocks, self.starts = np.unique(of_pair[by_block], return_index=True)
        self.rater, self.prompt = np.divmod(found[blocks], self.shape[1])

    @property
    def n_pairs(self) -> int:
        """Pairs over all blocks."""
        return len(self.first)

    def differences(self, judge: Floats, ratings: Floats) -> tuple[Floats, Floats]:
        """Returns d and wins, shape (worlds, raters, prompts), nan where there is no block.

        Args:
            judge: shape (worlds, items).
            ratings: shape (worlds, ratings), in the order of the ratings that there are.
        """
        worlds = len(judge)
        d = np.full((worlds, *self.shape), np.nan)
        wins = np.full((worlds, *self.shape), np.nan)
        if self.n_pairs == 0:
            return d, wins
        total = np.stack(
            [np.bincount(self.item, weights=row, minlength=len(self.count)) for row in ratings]
        )
        n = np.maximum(self.count[self.item] - 1, 1)
        others = (total[:, self.item] - ratings) / n
        reference = self._signs(others, self.first, self.second)
        of_rater = self._tau(self._signs(ratings, self.first, self.second), reference)
        items = self.item[self.first], self.item[self.second]
        of_judge = self._tau(self._signs(judge, *items), reference)
        at_least = of_judge >= of_rater - TIE
        d[:, self.rater, self.prompt] = (of_rater >= of_judge - TIE).astype(float) - at_least
        wins[:, self.rater, self.prompt] = at_least
        return d, wins

    @staticmethod
    def _signs(values: Floats, first: Integers, second: Integers) -> Floats:
        difference = values[:, first] - values[:, second]
        return np.where(np.abs(difference) < TIE, 0.0, np.sign(difference))

    def _tau(self, x: Floats, y: Floats) -> Floats:
        def by_block(values: Floats) -> Floats:
            return np.add.reduceat(values, self.starts, axis=1)

        scale = np.sqrt(by_block(np.abs(x)) * by_block(np.abs(y)))
        return np.asarray(by_block(x * y) / np.where(scale > 0, scale, 1.0), dtype=np.float64)


def rank_differences(judge: Floats, table: Floats, groups: Integers) -> tuple[Floats, Floats]:
    """Returns the same two figures prompt by prompt, from within-prompt tau-b.

    A prompt's score is tau-b with the mean of the other raters, 0 where undefined, over the
    items that the rater, the judge and at least one other rater have; prompts with fewer than
    two such items are nan.

    Args:
        judge: shape (worlds, items).
        table: shape (worlds, raters, items), the same cells missing in every world.
        groups: shape (items,), prompt codes from 0.

    Returns:
        Two arrays of shape (worlds, raters, prompts).
    """
    there = np.isfinite(table[0])
    return RankBlocks(there, np.isfinite(judge[0]), groups).differences(judge, table[:, there])


def winning_rates(p: Floats, q: float) -> Floats:
    """Returns the share of raters whose null Benjamini-Yekutieli rejects, world by world.

    Args:
        p: shape (worlds, raters), no nan.
        q: false discovery rate.
    """
    m = p.shape[1]
    rank = np.arange(1, m + 1)
    passed = np.sort(p, axis=1) <= rank / m * q / (1 / rank).sum()
    return np.asarray(np.where(passed, rank, 0).max(axis=1) / m, dtype=np.float64)
