"""The layouts of files of human judgments: which one a file has, and its rows.

A new layout is a name in `columns.Layout`, a function from `HumanFile` to `Opened`, and a line in
`_LAYOUTS`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

from ...errors import InputError, InputFault
from ..readers.dispatch import read_cells, read_rows
from ..readers.rows import Excluded, Row
from .annotation_tools import argilla, is_argilla, is_task, label_studio
from .columns import HumanColumns, Layout
from .human_file import HumanFile, Opened
from .surveys import is_limesurvey, is_prolific_roster, limesurvey, mturk, qualtrics

_PEEKED_ROWS = 200


def _is_qualtrics(file: HumanFile) -> bool:
    names = file.lower_names()
    return "responseid" in names and not names.isdisjoint(("startdate", "recordeddate"))


def _has(*names: str) -> Callable[[HumanFile], bool]:
    return lambda file: file.lower_names() >= set(names)


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


_LAYOUTS: tuple[tuple[Layout, Callable[[HumanFile], bool], Callable[[HumanFile], Opened]], ...] = (
    # Name, whether a file is of it, how it is opened; the first that fits is taken.
    ("label-studio", lambda file: is_task(file.first), label_studio),
    ("qualtrics", _is_qualtrics, qualtrics),
    ("limesurvey", is_limesurvey, limesurvey),
    ("mturk", _has("hitid", "assignmentid", "workerid"), mturk),
    ("label-studio", _has("annotation_id", "annotator"), label_studio),
    ("argilla", is_argilla, argilla),
    ("scrub", _has("judge_id", "true_id", "true_source", "item_type"), _scrub),
    ("rows", lambda file: True, _rows),
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
    return next(
        opener(file)
        for name, is_of_it, opener in _LAYOUTS
        if (is_of_it(file) if layout == "auto" else name == layout)
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
