"""What stands for no rating: empty cells, the usual words, and declared or evident codes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..readers.cells import is_missing, read_number
from .match import Scale, limits_of, off_scale
from .table import HumanTable

EMPTY = "empty"
"""What a cell without anything is called among the codes."""

WORDS = frozenset(
    {
        "na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "-nan", "null", "none", "nil",
        "missing", ".", "-", "--", "–", "—",
    }
)  # fmt: skip
"""Texts in lower case that are nobody's score: those of R, pandas, Excel, SPSS, Stata and SQL."""

ID_WORDS = frozenset({"NA", "<NA>", "N/A", "#N/A", "NaN", "nan", "NULL"})
"""What programs write for an id that is not there. "none" or "." may be somebody's name."""

CODES = (-9999, -999, -99, -9, -888, -88, -8, -777, -77, -7, 99, 999, 9999)
"""Numbers that surveys use for "no answer". Whether one is a score, the scale or the rest says."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Ratings that are not there, by code.

    Attributes:
        code: what stands in the cell ("NA", "-99"), or "empty".
        criterion: of which criterion.
        n: how many.
        lines: the first rows.
    """

    code: str
    criterion: str
    n: int
    lines: tuple[int, ...]


class MissingCodes:
    """Says of a cell whether it stands for no rating."""

    def __init__(
        self,
        declared: Iterable[str | float] = (),
        *,
        values: Collection[str] = (),
    ) -> None:
        """Takes what is known of the file.

        Args:
            declared: codes that the user named, texts or numbers.
            values: texts in lower case that stand for a value, and are therefore no codes.
        """
        self._declared = frozenset(map(_key, declared))
        self._values = frozenset(values)

    def code_of(self, cell: Any, *, is_number: bool = True) -> str | None:
        """Returns the code that stands in a cell, or None where it holds something else.

        Args:
            cell: what to look at; a missing value of SPSS or Stata knows its code.
            is_number: whether a number belongs there. Where words do, "none" may be one of them:
                only what programs write is a code then, and what was declared.
        """
        if is_missing(cell):
            code: str = getattr(cell, "code", EMPTY)
            return code
        if isinstance(cell, str):
            text = cell.strip()
            lower = text.lower()
            if lower in self._values:
                return None
            if lower in WORDS if is_number else text in ID_WORDS:
                return text
        is_declared = bool(self._declared) and _key(cell) in self._declared
        return str(cell).strip() if is_declared else None


def _key(code: Any) -> str | float:
    """A code as it is compared: a number as such, any other text in lower case."""
    try:
        number = read_number(code)
    except ValueError:
        number = None
    return str(code).strip().lower() if number is None else number


def is_code(table: HumanTable, scale: Scale | None) -> NDArray[Any]:
    """Returns bool of shape (ratings,): values that are codes for "no answer", by the rest.

    One of `CODES` is no rating where it is off the stated scale. Where none is stated, it is none
    if it stands apart from all other values of the criterion: below 0 where these are not, or
    farther from them than they are wide. A 99 among scores of 0 to 100 is a score.

    Args:
        table: the ratings.
        scale: of the scores, where it is stated.
    """
    found = np.isin(table.value, CODES)
    if not found.any():
        return found
    off = off_scale(table, scale)
    is_stated: NDArray[Any] = np.isfinite(limits_of(table, scale)).all(axis=1)
    for criterion in np.unique(table.criterion.codes[found]):
        for is_rank in (False, True):
            mine = (table.criterion.codes == criterion) & (table.is_rank == is_rank)
            here = mine & found
            if not here.any():
                continue
            others = table.value[mine & ~found]
            apart = np.zeros(len(table), dtype=bool)
            if len(others):
                low, high = float(others.min()), float(others.max())
                width = max(high - low, 1.0)
                apart = (table.value < low - width) | (table.value > high + width)
                apart |= (table.value < 0) & (low >= 0)
            found[here] = (off if is_stated[here][0] and not is_rank else apart | off)[here]
    return found
