"""How close a judge and each rater come to the other raters: the scores of the alt-test."""

from __future__ import annotations

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

    Both are (raters, items), nan where the rater, the judge or all other raters are missing.

    Args:
        judge: shape (items,); table: shape (raters, items); numbers, or codes for labels.
        score: "accuracy", the share of the other raters who say the same, or "neg_rmse", minus
            the root of the mean squared difference from them.
    """
    there = np.isfinite(table)
    d, wins = np.full(table.shape, np.nan), np.full(table.shape, np.nan)
    for rater in range(len(table)):
        others = there.copy()
        others[rater] = False
        usable = there[rater] & others.any(axis=0) & np.isfinite(judge)
        n = np.maximum(others.sum(axis=0), 1)

        def closeness(values: Floats, mask: npt.NDArray[np.bool_], n: Integers) -> Floats:
            if score == "accuracy":
                return np.asarray(((values == table) & mask).sum(axis=0) / n, dtype=np.float64)
            squares = np.where(mask, (values - np.where(mask, table, 0.0)) ** 2, 0.0)
            return np.asarray(-np.sqrt(squares.sum(axis=0) / n), dtype=np.float64)

        of_rater = closeness(np.where(usable, table[rater], 0.0), others, n)
        of_judge = closeness(np.where(usable, judge, 0.0), others, n)
        at_least = of_judge >= of_rater - TIE
        beaten = of_rater >= of_judge - TIE
        d[rater] = np.where(usable, beaten.astype(float) - at_least, np.nan)
        wins[rater] = np.where(usable, at_least, np.nan)
    return d, wins


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
    worlds, raters, _ = table.shape
    prompts = int(groups.max(initial=-1)) + 1
    d = np.full((worlds, raters, prompts), np.nan)
    wins = np.full((worlds, raters, prompts), np.nan)
    there = np.isfinite(table[0])
    judged = np.isfinite(judge[0])
    filled = np.where(there, table, 0.0)
    total, count = filled.sum(axis=1), there.sum(axis=0)
    for rater in range(raters):
        usable = there[rater] & judged & (count > 1)
        mean = (total - filled[:, rater]) / np.maximum(count - 1, 1)
        for prompt in range(prompts):
            items = np.flatnonzero(usable & (groups == prompt))
            if len(items) < 2:
                continue
            reference = _signs(mean[:, items])
            of_rater = _tau(_signs(table[:, rater, items]), reference)
            of_judge = _tau(_signs(judge[:, items]), reference)
            at_least = of_judge >= of_rater - TIE
            beaten = of_rater >= of_judge - TIE
            d[:, rater, prompt] = beaten.astype(float) - at_least
            wins[:, rater, prompt] = at_least
    return d, wins


def _signs(values: Floats) -> Floats:
    first, second = np.triu_indices(values.shape[1], k=1)
    difference = values[:, first] - values[:, second]
    return np.where(np.abs(difference) < TIE, 0.0, np.sign(difference))


def _tau(x: Floats, y: Floats) -> Floats:
    scale = np.sqrt(np.abs(x).sum(axis=1) * np.abs(y).sum(axis=1))
    return np.asarray((x * y).sum(axis=1) / np.where(scale > 0, scale, 1.0), dtype=np.float64)


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
