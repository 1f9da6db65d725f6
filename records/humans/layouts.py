"""The layouts of files of human judgments: a registry with one reader each.

A reader turns a file into flat rows, one a person and item. A new layout is a name in
`columns.Layout`, a reader, and a line in `_READERS`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError, InputFault
from ..readers.dispatch import read_cells, read_rows
from ..readers.rows import Cells, Excluded, FaultSink, Row
from .annotation_tools import (
    ARGILLA_COLUMNS,
    LABEL_STUDIO_COLUMNS,
    flat_rows,
    is_flattened,
    is_task,
    record_rows,
    task_rows,
)
from .columns import HumanColumns, Layout
from .surveys import (
    LIMESURVEY_COLUMNS,
    LIMESURVEY_RATER,
    QUALTRICS_COLUMNS,
    is_prolific_roster,
    limesurvey_rows,
    mturk_columns,
    mturk_rows,
    qualtrics_rater,
    qualtrics_rows,
)

_PEEKED_ROWS = 200


class Opened(NamedTuple):
    """A file as flat rows.

    Attributes:
        layout: the tool's layout, never "auto".
        rows: the rows, and in their place those that do not count, with the reason.
        housekeeping: columns of the tool itself, which are neither ids nor ratings.
        rater: the column that says who answered, where the tool has one of its own for that.
        header: the file's columns, for messages, where the rows have others as well.
    """

    layout: Layout
    rows: Iterator[Row | Excluded]
    housekeeping: frozenset[str] = frozenset()
    rater: str | None = None
    header: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class HumanFile:
    """A file of human judgments before its layout is known; `first` is its first row."""

    path: Path
    format: str | None
    faults: list[InputFault]
    first: Mapping[str, Any]

    def rows(self) -> Iterator[Row]:
        """Returns the rows below the header, or the records."""
        return read_rows(self.path, format=self.format, faults=self.faults)

    def cells(self) -> Iterator[Cells]:
        """Returns the rows as bare cells, the header among them."""
        return read_cells(self.path, format=self.format, faults=self.faults)

    def sink(self) -> FaultSink:
        """Returns what takes the faults of a reader."""
        return FaultSink(self.path, self.faults)


def _qualtrics(file: HumanFile) -> Opened:
    rows = qualtrics_rows(file.cells(), file.sink())
    rater = qualtrics_rater(file.first)
    return Opened("qualtrics", rows, QUALTRICS_COLUMNS, rater, tuple(file.first))


def _limesurvey(file: HumanFile) -> Opened:
    rows = limesurvey_rows(file.cells(), file.sink())
    codes = tuple(name.partition(". ")[0] for name in file.first)
    return Opened("limesurvey", rows, LIMESURVEY_COLUMNS, LIMESURVEY_RATER, codes)


def _mturk(file: HumanFile) -> Opened:
    return Opened("mturk", mturk_rows(file.rows()), mturk_columns(file.first))


def _label_studio(file: HumanFile) -> Opened:
    read = task_rows if is_task(file.first) else flat_rows
    return Opened("label-studio", read(file.rows()), LABEL_STUDIO_COLUMNS)


def _argilla(file: HumanFile) -> Opened:
    return Opened("argilla", record_rows(file.rows()), ARGILLA_COLUMNS)


def _scrub(file: HumanFile) -> Opened:
    return Opened("scrub", file.rows())


def _rows(file: HumanFile) -> Opened:
    if is_prolific_roster(file.first):
        message = "is a Prolific roster: it names raters and holds no ratings"
        raise InputError(
            [InputFault(str(file.path), message)],
            hint="give the file of answers, and this one as the roster",
        )
    return Opened("rows", file.rows())


def _is_limesurvey(names: frozenset[str], first: Mapping[str, Any]) -> bool:
    return {"submitdate", "lastpage"} <= {name.partition(". ")[0] for name in names}


_READERS: tuple[
    tuple[
        Layout,
        Callable[[frozenset[str], Mapping[str, Any]], bool],
        Callable[[HumanFile], Opened],
    ],
    ...,
] = (
    # Name, whether a file is of it by (its columns in lower case, its first row), reader.
    ("label-studio", lambda _, first: is_task(first), _label_studio),
    (
        "qualtrics",
        lambda names, _: (
            "responseid" in names and not names.isdisjoint(("startdate", "recordeddate"))
        ),
        _qualtrics,
    ),
    ("limesurvey", _is_limesurvey, _limesurvey),
    ("mturk", lambda names, _: names >= {"hitid", "assignmentid", "workerid"}, _mturk),
    ("label-studio", lambda names, _: names >= {"annotation_id", "annotator"}, _label_studio),
    (
        "argilla",
        lambda names, first: is_flattened(first) or names >= {"responses", "fields"},
        _argilla,
    ),
    (
        "scrub",
        lambda names, _: names >= {"judge_id", "true_id", "true_source", "item_type"},
        _scrub,
    ),
    ("rows", lambda names, first: True, _rows),
)


def open_rows(
    path: Path,
    layout: Layout,
    column_map: HumanColumns,
    format: str | None,  # noqa: A002
    faults: list[InputFault],
) -> Opened:
    """Returns the rows of the file, flattened by its layout.

    Raises:
        InputError: for a file that cannot be opened, or that is a roster and not answers.
    """
    if not column_map.header:
        return Opened("rows", _numbered(path, format, faults))
    first = next(iter(read_rows(path, format=format, faults=[])), None)
    file = HumanFile(path, format, faults, {} if first is None else first.values)
    names = frozenset(name.strip().lower() for name in file.first)
    return next(
        read(file)
        for name, is_of_it, read in _READERS
        if (is_of_it(names, file.first) if layout == "auto" else name == layout)
    )


def peeked(
    rows: Iterator[Row | Excluded],
) -> tuple[list[Row], Iterator[Row | Excluded]]:
    """Returns (some first rows, all rows)."""
    first = list(itertools.islice(rows, _PEEKED_ROWS))
    return [row for row in first if isinstance(row, Row)], itertools.chain(first, rows)


def _numbered(path: Path, format: str | None, faults: list[InputFault]) -> Iterator[Row]:  # noqa: A002
    width: int | None = None
    for line, cells in read_cells(path, format=format, faults=faults):
        width = width if width is not None else len(cells)
        if len(cells) != width:
            message = f"must have {width} cells as the first row has, got {len(cells)}"
            faults.append(InputFault(f"{path}:{line}", message))
            continue
        yield Row(line, {str(number): cell for number, cell in enumerate(cells, start=1)})
