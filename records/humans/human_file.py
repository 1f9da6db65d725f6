"""`HumanFile`: a file of human judgments before its layout is known, and `Opened`, after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputFault
from ..readers.dispatch import read_cells, read_rows
from ..readers.rows import Cells, Excluded, FaultSink, Row
from .columns import Layout


class Opened(NamedTuple):
    """A file as flat rows, one a person and item.

    Attributes:
        layout: the tool's layout, never "auto".
        rows: the rows, and in their place those that do not count, with the reason.
        housekeeping: columns of the tool itself, which are neither ids nor ratings.
        rater: the column that says who answered, where the tool has one of its own for that.
        header: the file's columns, for messages, where the rows have others as well.
        is_survey: whether columns stand for questions, which no guess can connect to responses.
    """

    layout: Layout
    rows: Iterator[Row | Excluded]
    housekeeping: frozenset[str] = frozenset()
    rater: str | None = None
    header: tuple[str, ...] | None = None
    is_survey: bool = False


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

    def lower_names(self) -> frozenset[str]:
        """Returns the names of the columns in lower case."""
        return frozenset(name.strip().lower() for name in self.first)

    def rows(self) -> Iterator[Row]:
        """Returns the rows below the header, or the records."""
        return read_rows(self.path, format=self.format, faults=self.faults)

    def cells(self) -> Iterator[Cells]:
        """Returns the rows as bare cells, the header among them."""
        return read_cells(self.path, format=self.format, faults=self.faults)

    def sink(self) -> FaultSink:
        """Returns what takes the faults of a reader."""
        return FaultSink(self.path, self.faults)
