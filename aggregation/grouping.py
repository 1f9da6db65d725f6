"""Integer codes for the labels of groups (prompts): the one way groups are read here."""

from collections.abc import Sequence
from typing import Any

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
