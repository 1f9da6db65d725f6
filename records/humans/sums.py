"""An overall score that is the sum of the criteria beside it has a scale of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..types import OVERALL
from .match import Scale, scale_of
from .table import HumanTable

_FEWEST_ROWS = 3
_LEAST_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Sum:
    """A score that is a sum.

    Attributes:
        criterion: the score's.
        parts: the criteria it is the sum of.
        n: rows that have the score and all parts.
        wrong_lines: those of them in which it is another number.
    """

    criterion: str
    parts: tuple[str, ...]
    n: int
    wrong_lines: tuple[int, ...]


def sum_in(table: HumanTable) -> Sum | None:
    """Returns what the overall score is the sum of, where it is in nine rows of ten, or None.

    Args:
        table: ratings of which those of one row of the file belong together.
    """
    scores = table.select(~table.is_rank)
    parts = tuple(name for name in scores.criterion.used() if name != OVERALL)
    totals = scores.where("criterion", OVERALL)
    if len(parts) < 2 or not len(totals):
        return None
    others = scores.where("criterion", *parts)
    lines, place = np.unique(others.line, return_inverse=True)
    place = place.reshape(-1)
    n = np.bincount(place)
    added = np.bincount(place, weights=others.value)
    whole = np.isin(totals.line, lines[n == len(parts)])
    stated, line = totals.value[whole], totals.line[whole]
    if len(stated) < _FEWEST_ROWS:
        return None
    is_sum = np.isclose(stated, added[np.searchsorted(lines, line)])
    if is_sum.mean() < _LEAST_SHARE:
        return None
    return Sum(OVERALL, parts, len(stated), tuple(sorted(line[~is_sum].tolist())))


def scale_with(scale: Scale | None, found: Sum | None) -> Scale | None:
    """Returns the scale, with that of a sum: the sums of the lowest and of the highest scores.

    A scale that names the sum's criterion itself holds; so does none.
    """
    if scale is None or found is None:
        return scale
    if isinstance(scale, Mapping) and found.criterion in scale:
        return scale
    ends = [scale_of(scale, part) for part in found.parts]
    known = [one for one in ends if one is not None]
    by_criterion = dict(scale) if isinstance(scale, Mapping) else {"rest": scale}
    if len(known) < len(ends):
        return by_criterion  # a part without a scale: that of the sum is not known either
    low, high = (sum(one[k] for one in known) for k in (0, 1))
    return {**by_criterion, found.criterion: (low, high)}
