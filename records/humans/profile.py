"""What a file's columns hold: numbers, texts and missing values, counted over all its rows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import visible_text
from ..readers.cells import read_number
from ..readers.rows import Excluded, Row
from .columns import HumanColumns
from .missing import MissingCodes

_TEXTS_KEPT = 50
_ROWS_KEPT = 6
_TEXT_SHOWN = 24
_FEW_TEXTS = 5
_CELLS_KNOWN = 2_000

_NO_RATING = re.compile(
    r"(unnamed: ?\d+|index|row|row[ _]?(id|no|nr|number)|id|#|no\.?|nr\.?|seed|age|age[ _]years"
    r"|(year[ _]of[ _]birth|birth[ _]?year)|latitude|longitude|zip([ _]?code)?|post[ _]?code"
    r"|(n|number)[ _](of[ _])?(words|chars|characters|tokens)|word[ _]count"
    r"|(text|response)[ _]length|response[ _]words)",
    re.IGNORECASE,
)
"""Columns of numbers whose name says that they are about a row, a person or a text."""

_COMMA = re.compile(r"[-+]?\d+,\d+")
"""A number as much of Europe writes it: no number here, and no word either."""


@dataclass(slots=True)
class Profile:
    """What one column holds.

    Attributes:
        n_numbers, n_texts, n_missing: cells of each kind; texts that codes turn into numbers are
            numbers.
        lowest, highest: number; infinite without one.
        texts: text to (count, first rows), the first 50 different ones.
        has_more_texts: whether there are more different texts.
    """

    n_numbers: int = 0
    n_texts: int = 0
    n_missing: int = 0
    lowest: float = math.inf
    highest: float = -math.inf
    texts: dict[str, tuple[int, list[int]]] = field(default_factory=dict)
    has_more_texts: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether every cell that holds something holds a number."""
        return self.n_numbers > 0 and self.n_texts == 0

    @property
    def looks_like_ratings(self) -> bool:
        """Whether numbers prevail over texts, or the texts are a few codes among numbers."""
        with_comma = sum(n for text, (n, _) in self.texts.items() if _COMMA.fullmatch(text))
        numbers, texts = self.n_numbers + with_comma, self.n_texts - with_comma
        is_few = len(self.texts) <= _FEW_TEXTS and not self.has_more_texts
        return numbers > texts or (is_few and numbers > 0 and 9 * numbers >= texts)

    def holds(self) -> str:
        """Returns what the column holds, in words."""
        parts: list[str] = []
        if self.n_numbers:
            parts.append(f"numbers, {self.span()}")
        if self.n_texts:
            shown = ", ".join(map(shown_text, list(self.texts)[:3]))
            shown += ", …" if len(self.texts) > 3 else ""
            many = f"{'more than ' if self.has_more_texts else ''}{len(self.texts)} different"
            parts.append(f"text, {many}: {shown}" if len(self.texts) > 1 else f"text: {shown}")
        return "; ".join(parts) or "nothing"

    def span(self) -> str:
        """Returns the range of its numbers."""
        if self.lowest == self.highest:
            return f"all {self.lowest:g}"
        return f"{self.lowest:g} to {self.highest:g}"

    def add_number(self, number: float) -> None:
        """Counts a number."""
        self.n_numbers += 1
        if number < self.lowest:
            self.lowest = number
        if number > self.highest:
            self.highest = number

    def add_text(self, text: str, line: int) -> None:
        """Counts a text."""
        self.n_texts += 1
        known = self.texts.get(text)
        if known is None:
            if len(self.texts) == _TEXTS_KEPT:
                self.has_more_texts = True
            else:
                self.texts[text] = (1, [line])
            return
        n, lines = known
        if len(lines) < _ROWS_KEPT:
            lines.append(line)
        self.texts[text] = (n + 1, lines)


def profiles_of(
    rows: Iterable[Row | Excluded], codes: MissingCodes, column_map: HumanColumns
) -> dict[str, Profile]:
    """Returns the columns of all rows that count, in order of first appearance."""
    found: dict[str, Profile] = {}
    numbers = column_map.numbers_of_codes()
    # The same few texts make up most cells: what one is, is found out once.
    known: dict[str, float | str | None] = {}
    for row in rows:
        if isinstance(row, Excluded):
            continue
        for name, cell in row.values.items():
            profile = found.get(name)
            if profile is None:
                profile = found[name] = Profile()
            if type(cell) is not str:
                what = _what(cell, codes, numbers)
            elif cell in known:
                what = known[cell]
            else:
                what = _what(cell, codes, numbers)
                if len(known) < _CELLS_KNOWN and len(cell) < _TEXT_SHOWN:
                    known[cell] = what
            if what is None:
                profile.n_missing += 1
            elif isinstance(what, str):
                profile.add_text(what, row.line)
            else:
                profile.add_number(what)
    return found


def _what(cell: Any, codes: MissingCodes, numbers: Mapping[str, float]) -> float | str | None:
    """Returns a cell's number, or its text, or None where it is missing."""
    if isinstance(cell, str) and (number := numbers.get(cell.strip().lower())) is not None:
        return number
    if codes.code_of(cell) is not None:
        return None
    try:
        number = read_number(cell)
    except ValueError:
        number = None
    return str(cell)[:200].strip() if number is None else number


def is_named_otherwise(column: str) -> bool:
    """Whether a column's name says that its numbers are no ratings."""
    return _NO_RATING.fullmatch(column.strip()) is not None


def shown_text(text: str) -> str:
    """Returns the beginning of a text between quotes, without control characters."""
    line = " ".join(visible_text(text, keep="\n").split())
    return repr(line if len(line) <= _TEXT_SHOWN else f"{line[: _TEXT_SHOWN - 1]}…")
