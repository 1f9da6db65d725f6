"""Counts of concordant, discordant and tied pairs, group by group, in O(n log n)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Labels = Sequence[Any] | npt.NDArray[Any]
"""One label an item; text, numbers or any hashable, none missing."""


def group_codes(groups: Labels | None, n_items: int) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Returns the group code of every item, 0-based by first appearance, and the labels.

    Args:
        groups: one label an item; None puts all items into one group.
        n_items: how many items there are.

    Raises:
        ValueError: another length than n_items, or a missing label (None or nan): an item whose
            prompt is unknown cannot be compared within its prompt.
    """
    if groups is None:
        return np.zeros(n_items, dtype=np.int64), [None]
    if len(groups) != n_items:
        raise ValueError(f"groups must have one label an item, got {len(groups)} for {n_items}")
    # Not by np.asarray: a list that mixes text and numbers would become text, and 1 is not "1".
    if isinstance(groups, np.ndarray) and groups.ndim == 1 and groups.dtype.kind in "iuUSb":
        labels, first, inverse = np.unique(groups, return_index=True, return_inverse=True)
        # Sorted order would do, but first appearance keeps prompts as their file lists them.
        order = np.argsort(first)
        position = np.empty_like(order)
        position[order] = np.arange(order.size)
        return position[inverse].astype(np.int64), labels[order].tolist()
    seen: dict[Any, int] = {}
    codes = np.empty(n_items, dtype=np.int64)
    missing = 0
    for index, label in enumerate(groups):
        if label is None or label != label:
            missing += 1
            continue
        codes[index] = seen.setdefault(label, len(seen))
    if missing:
        raise ValueError(f"groups must not be missing, got {missing} missing labels")
    return codes, list(seen)


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How the pairs of items fall, summed over groups.

    Attributes:
        concordant: pairs that x and y order alike.
        discordant: pairs that x and y order oppositely.
        tied_x: pairs tied in x only.
        tied_y: pairs tied in y only.
        tied_both: pairs tied in both.
        n_pairs: all pairs counted: the sum of the five above.
    """

    concordant: int
    discordant: int
    tied_x: int
    tied_y: int
    tied_both: int
    n_pairs: int


@dataclass(frozen=True, slots=True)
class GroupPairCounts:
    """`PairCounts` as arrays, one entry a group, in the order of `labels`."""

    labels: list[Any]
    concordant: Integers
    discordant: Integers
    tied_x: Integers
    tied_y: Integers
    tied_both: Integers
    n_items: Integers

    def total(self) -> PairCounts:
        """Returns the counts summed over groups."""
        return PairCounts(
            concordant=int(self.concordant.sum()),
            discordant=int(self.discordant.sum()),
            tied_x=int(self.tied_x.sum()),
            tied_y=int(self.tied_y.sum()),
            tied_both=int(self.tied_both.sum()),
            n_pairs=int((self.n_items * (self.n_items - 1) // 2).sum()),
        )


def pair_counts(x: npt.ArrayLike, y: npt.ArrayLike, groups: Labels | None = None) -> PairCounts:
    """Returns the counts of concordant, discordant and tied pairs within groups.

    Args:
        x: shape (items,); nan is missing, and the item's pairs are not counted.
        y: shape (items,), likewise.
        groups: one label an item; only pairs within a group count. None: all pairs count.

    Raises:
        ValueError: x, y and groups of different lengths, or a missing group label.
    """
    return group_pair_counts(x, y, groups).total()


def group_pair_counts(
    x: npt.ArrayLike, y: npt.ArrayLike, groups: Labels | None = None
) -> GroupPairCounts:
    """Returns the pair counts of every group; arguments as in `pair_counts`."""
    first, second = paired_values(x, y)
    codes, labels = group_codes(groups, first.size)
    keep = ~(np.isnan(first) | np.isnan(second))
    return count_coded_pairs(first[keep], second[keep], codes[keep], labels)


def paired_values(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Returns x and y as float vectors of one length.

    Raises:
        ValueError: not one-dimensional, or of different lengths.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            f"x and y must be vectors of one length, got shapes {first.shape} and {second.shape}"
        )
    return first, second


def count_coded_pairs(x: Floats, y: Floats, codes: Integers, labels: list[Any]) -> GroupPairCounts:
    """Returns the pair counts of complete vectors whose groups are already codes.

    With the items sorted by group, x and y, a discordant pair is an inversion of y within a group;
    ties are runs of equal values. The five counts then follow by inclusion and exclusion.
    """
    n_groups = len(labels)
    sizes = np.bincount(codes, minlength=n_groups).astype(np.int64)
    x_rank, y_rank = _dense_ranks(x), _dense_ranks(y)
    order = np.lexsort((y_rank, x_rank, codes))
    codes, x_rank, y_rank = codes[order], x_rank[order], y_rank[order]
    tied_in_x = _tied_pairs(codes, [x_rank], n_groups)
    tied_in_both = _tied_pairs(codes, [x_rank, y_rank], n_groups)
    by_y = np.lexsort((y_rank, codes))
    tied_in_y = _tied_pairs(codes[by_y], [y_rank[by_y]], n_groups)
    discordant = _inversions(y_rank, codes, n_groups)
    every_pair = sizes * (sizes - 1) // 2
    return GroupPairCounts(
        labels=labels,
        concordant=every_pair - tied_in_x - tied_in_y + tied_in_both - discordant,
        discordant=discordant,
        tied_x=tied_in_x - tied_in_both,
        tied_y=tied_in_y - tied_in_both,
        tied_both=tied_in_both,
        n_items=sizes,
    )


def _dense_ranks(values: Floats) -> Integers:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _tied_pairs(codes: Integers, keys: list[Integers], n_groups: int) -> Integers:
    """Pairs of equal keys within each group; items sorted so that equal keys are neighbours."""
    if codes.size == 0:
        return np.zeros(n_groups, dtype=np.int64)
    changes = np.diff(codes) != 0
    for key in keys:
        changes |= np.diff(key) != 0
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
    runs = np.diff(np.concatenate((starts, [codes.size])))
    tied = np.zeros(n_groups, dtype=np.int64)
    np.add.at(tied, codes[starts], runs * (runs - 1) // 2)
    return tied


def _inversions(ranks: Integers, codes: Integers, n_groups: int) -> Integers:
    """Pairs within each group (items sorted by group) whose later item has the smaller rank.

    A radix pass from the highest bit: two ranks are inverted exactly when, at the first bit in
    which they differ, the earlier one has 1 and the later one 0. Each pass counts those pairs
    inside blocks of equal higher bits, then splits every block by its bit, keeping order.
    """
    inverted = np.zeros(n_groups, dtype=np.int64)
    if ranks.size == 0:
        return inverted
    bits = max(int(ranks.max()).bit_length(), 1)
    key = (codes << bits) | ranks
    for bit in range(bits - 1, -1, -1):
        block = key >> (bit + 1)
        is_start = np.concatenate(([True], np.diff(block) != 0))
        start = np.flatnonzero(is_start)
        block_index = np.cumsum(is_start) - 1
        one = (key >> bit) & 1
        ones_before = np.cumsum(one) - one
        ones_in_block_before = ones_before - ones_before[start][block_index]
        zero = one == 0
        np.add.at(inverted, (key >> bits)[zero], ones_in_block_before[zero])
        place_in_block = np.arange(key.size) - start[block_index]
        zeros_before = place_in_block - ones_in_block_before
        sizes = np.diff(np.concatenate((start, [key.size])))
        zeros_in_block = sizes - np.add.reduceat(one, start)
        target = start[block_index] + np.where(
            zero, zeros_before, zeros_in_block[block_index] + ones_in_block_before
        )
        split = np.empty_like(key)
        split[target] = key
        key = split
    return inverted


HUMAN, MODEL = 0, 1
"""Codes of who wrote a response."""

PairType = Literal["all", "model-model", "human-human", "cross", "within-source"]
PAIR_TYPES: tuple[PairType, ...] = ("model-model", "human-human", "cross", "within-source")


@dataclass(frozen=True, slots=True)
class PairSums:
    """Sums over the pairs of a type that the reference decides, one entry a prompt.

    Attributes:
        right: concordant pairs plus half of the judge's ties.
        decided: pairs that the reference decides and the judge has seen.
        ties: those that the judge ties.
        difference: concordant minus discordant.
        ordered: pairs that the judge orders.
    """

    right: Floats
    decided: Floats
    ties: Floats
    difference: Floats
    ordered: Floats

    @property
    def accuracy(self) -> tuple[Floats, Floats]:
        """(right, decided): the two sums that pair accuracy is the ratio of."""
        return self.right, self.decided

    @property
    def tau(self) -> float:
        """The stratified tau-b of these pairs; nan when a side orders none."""
        scale = float(np.sqrt(self.ordered.sum() * self.decided.sum()))
        return float(self.difference.sum()) / scale if scale else float("nan")

    def minus(self, other: PairSums) -> PairSums:
        """Returns the sums without those of a part."""
        return PairSums(*(getattr(self, name) - getattr(other, name) for name in self.__slots__))

    def plus(self, other: PairSums) -> PairSums:
        """Returns the sums of both."""
        return PairSums(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def round_ties(values: Floats) -> Floats:
    """Returns values to eleven digits of the largest: ties that summing in another order broke.

    Means of the same numbers in another order differ in the last digit, which is no difference.
    """
    largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
    if largest == 0.0:
        return values
    return np.round(values, 10 - math.floor(math.log10(largest)))


def pair_sums(
    judge: Floats,
    reference: Floats,
    prompt: Integers,
    mask: npt.NDArray[np.bool_] | None = None,
    *,
    n_prompts: int,
) -> PairSums:
    """Returns the sums over all within-prompt pairs of the responses in the mask.

    Args:
        judge, reference: shape (R,), higher is better; nan is missing.
        prompt: shape (R,), codes below n_prompts.
        mask: responses to take; all by default.
        n_prompts: entries of the result.
    """
    keep = np.isfinite(judge) & np.isfinite(reference)
    if mask is not None:
        keep = keep & mask
    counts = count_coded_pairs(
        round_ties(judge[keep]), round_ties(reference[keep]), prompt[keep],
        [None] * n_prompts,
    )  # fmt: skip
    return _sums(counts)


def sums_by_type(
    judge: Floats, reference: Floats, prompt: Integers, source: Integers, *, n_prompts: int
) -> dict[PairType, PairSums]:
    """Returns the sums of every pair type; responses of unknown source take no part.

    Cross pairs are those of both sources together less those within each: where people's texts and
    models' texts answer the same prompt, a judge that only recognises the source orders every cross
    pair alike and no other, and one tau over all pairs hides that.

    Args:
        judge, reference, prompt, n_prompts: as in `pair_sums`.
        source: shape (R,), `HUMAN`, `MODEL` or another number.
    """
    is_human, is_model = source == HUMAN, source == MODEL

    def of(mask: npt.NDArray[np.bool_]) -> PairSums:
        return pair_sums(judge, reference, prompt, mask, n_prompts=n_prompts)

    model, human, together = of(is_model), of(is_human), of(is_human | is_model)
    within = model.plus(human)
    return {
        "all": together,
        "model-model": model,
        "human-human": human,
        "cross": together.minus(within),
        "within-source": within,
    }


def _sums(counts: GroupPairCounts) -> PairSums:
    concordant = counts.concordant.astype(np.float64)
    discordant = counts.discordant.astype(np.float64)
    tied_judge = counts.tied_x.astype(np.float64)
    return PairSums(
        right=concordant + tied_judge / 2,
        decided=concordant + discordant + tied_judge,
        ties=tied_judge,
        difference=concordant - discordant,
        ordered=concordant + discordant + counts.tied_y,
    )
