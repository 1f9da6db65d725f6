"""Raters pooled by a column: all ratings of one pool of a response become their mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .table import Coded, HumanTable

_BETWEEN = "\x1f"
"""Stands between pool and rater while a file is read; no id holds a control character."""


def within_pool(pool: str, rater: str) -> str:
    """Returns the id that a rater has until the table is pooled."""
    return f"{pool}{_BETWEEN}{rater}"


def raters_in(table: HumanTable) -> set[str]:
    """Returns the raters of a table that is not pooled yet."""
    return {name.partition(_BETWEEN)[2] for name in table.rater_id.used()}


@dataclass(frozen=True, slots=True)
class Pools:
    """What pooling did to a table.

    Attributes:
        n_raters, n_pools: raters before, and pools.
        n_ratings, n_means: ratings that went into the means, and means.
        repeated_lines: rows of ratings that repeated one of the same rater and were left out.
    """

    n_raters: int
    n_pools: int
    n_ratings: int
    n_means: int
    repeated_lines: tuple[int, ...]


def pooled(table: HumanTable) -> tuple[HumanTable, Pools]:
    """Returns a rating a pool, response, criterion and kind: the mean over its raters.

    A rater's first rating of a response counts, as everywhere. A mean keeps row and texts of its
    first rating; durations, times, labels and comments are those of single raters, and go.

    Args:
        table: raters named by `within_pool`.
    """
    names = [name.partition(_BETWEEN) for name in table.rater_id.names]
    pools = tuple(dict.fromkeys(pool for pool, _, _ in names))
    index = {pool: place for place, pool in enumerate(pools)}
    pool_at = np.array([index[pool] for pool, _, _ in names], dtype=np.int32)
    first, _, _ = _groups(table, table.rater_id.codes)
    is_first = np.zeros(len(table), dtype=bool)
    is_first[first] = True
    repeated = tuple(sorted(table.line[~is_first].tolist()))
    once = table.select(is_first)
    code = pool_at[once.rater_id.codes] if pools else once.rater_id.codes
    first, inverse, counts = _groups(once, code)
    sums = np.bincount(inverse, weights=once.value, minlength=len(first))
    made = once.select(first)
    nothing = Coded(np.full(len(first), -1, dtype=np.int32), ())
    made = replace(
        made,
        rater_id=Coded(code[first].astype(np.int32), pools),
        value=sums / np.maximum(counts, 1),
        duration_s=np.full(len(first), np.nan),
        time=nothing,
        comment=nothing,
        blinded_label=nothing,
    )
    n_raters = len(once.rater_id.used())
    return made, Pools(n_raters, len(made.rater_id.used()), len(once), len(made), repeated)


def _groups(
    table: HumanTable, who: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Returns first entry, each entry's group and size, in order of first appearance."""
    codes = [who, table.prompt_id.codes, table.response_id.codes, table.criterion.codes]
    keys = np.stack([*codes, table.is_rank.astype(np.int32)])
    _, first, inverse, counts = np.unique(
        keys, axis=1, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return first[order], place[inverse.reshape(-1)], counts[order]
