"""A file of human judgments before its layout is known, the layout, and the file's flat rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ....errors import InputFault
from ...readers.dispatch import read_cells, read_rows
from ...readers.rows import Cells, Excluded, FaultSink, Row

_PEEKED_ROWS = 200


@dataclass(frozen=True, slots=True)
class HumanFile:
    """A file to be opened.

    Attributes:
        path, format: the file, and its format where its suffix does not say it.
        faults: takes the faults of format.
        first: its first row, or record.
    """

    path: Path
    format: str | None
    faults: list[InputFault]
    first: Mapping[str, Any]

    def has(self, *names: str) -> bool:
        """Returns whether there are such columns; the names in lower case."""
        return self.lower_names() >= set(names)

    def lower_names(self) -> set[str]:
        """Returns the names of the columns in lower case."""
        return {name.strip().lower() for name in self.first}

    def rows(self) -> Iterator[Row]:
        """Returns the rows below the header, or the records."""
        return read_rows(self.path, format=self.format, faults=self.faults)

    def cells(self) -> Iterator[Cells]:
        """Returns the rows as bare cells, the header among them."""
        return read_cells(self.path, format=self.format, faults=self.faults)

    def sink(self) -> FaultSink:
        """Returns what takes the faults of a reader."""
        return FaultSink(self.path, self.faults)


@dataclass(slots=True)
class Opened:
    """A file as flat rows, one a person and item.

    Attributes:
        rows: the rows, and in their place those that do not count, with the reason.
        housekeeping: columns of the tool itself, which are neither ids nor ratings.
        rater: the column that says who answered, where the tool has one of its own for that.
        header: the file's columns, for messages, where the rows have others as well.
        is_survey: whether columns stand for questions, which no guess can connect to responses.
        labels: columns that hold labels, known once their rows are read.
        titles: column to what its file says of it, which may be a name that is known (SPSS, Stata).
        words: columns whose answers are words: labels where they are few and repeated.
        notices: sentences for the user: what was assumed.
    """

    rows: Iterator[Row | Excluded]
    housekeeping: frozenset[str] = frozenset()
    rater: str | None = None
    header: tuple[str, ...] | None = None
    is_survey: bool = False
    labels: set[str] = field(default_factory=set)
    titles: Mapping[str, str] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    notices: tuple[str, ...] = ()

    def peek(self) -> list[Row]:
        """Returns some first rows that count; `rows` still brings them."""
        first = list(itertools.islice(self.rows, _PEEKED_ROWS))
        self.rows = itertools.chain(first, self.rows)
        return [row for row in first if isinstance(row, Row)]


class Layout(NamedTuple):
    """One tool's way to write judgments.

    Attributes:
        name: what users call it.
        fits: whether a file has it, by its first row or record.
        open: the file's rows.
        known_by: what of the file shows it, in words.
    """

    name: str
    fits: Callable[[HumanFile], bool]
    open: Callable[[HumanFile], Opened]
    known_by: str = ""
