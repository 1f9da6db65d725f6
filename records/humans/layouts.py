"""The rows of a file of human judgments, whatever tool wrote it, and which tool that was."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError, InputFault
from ..readers.dispatch import read_cells, read_rows
from ..readers.rows import Excluded, FaultSink, Row
from ..readers.text import parse_json, read_lines
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
    housekeeping: frozenset[str]
    rater: str | None = None
    header: tuple[str, ...] | None = None


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
        return Opened("rows", _numbered(path, format, faults), frozenset())
    if path.suffix.lower() == ".json":
        return _open_json(path, layout, faults)
    first = next(iter(read_rows(path, format=format, faults=[])), None)
    header = [] if first is None else list(first.values)
    chosen = _layout_of(header) if layout == "auto" else layout
    if chosen in ("qualtrics", "limesurvey"):
        cells = read_cells(path, format=format, faults=faults)
        sink = FaultSink(path, faults)
        if chosen == "qualtrics":
            answers = qualtrics_rows(cells, sink)
            rater = qualtrics_rater(header)
            return Opened(chosen, answers, QUALTRICS_COLUMNS, rater, tuple(header))
        answers = limesurvey_rows(cells, sink)
        codes = tuple(name.partition(". ")[0] for name in header)
        return Opened(chosen, answers, LIMESURVEY_COLUMNS, LIMESURVEY_RATER, codes)
    rows = read_rows(path, format=format, faults=faults)
    if chosen == "mturk":
        return Opened(chosen, mturk_rows(rows), mturk_columns(header))
    if chosen == "label-studio":
        return Opened(chosen, flat_rows(rows), LABEL_STUDIO_COLUMNS)
    if chosen == "argilla":
        return Opened(chosen, record_rows(rows), ARGILLA_COLUMNS)
    if is_prolific_roster(header):
        raise InputError(
            [InputFault(str(path), "is a Prolific roster: it names raters and holds no ratings")],
            hint="give the file of answers, and this one as the roster",
        )
    return Opened("scrub" if chosen == "scrub" else "rows", rows, frozenset())


def peeked(
    rows: Iterator[Row | Excluded],
) -> tuple[list[Row], Iterator[Row | Excluded]]:
    """Returns (some first rows, all rows)."""
    first = list(itertools.islice(rows, _PEEKED_ROWS))
    return [row for row in first if isinstance(row, Row)], itertools.chain(first, rows)


def _layout_of(header: list[str]) -> Layout:
    names = {name.strip().lower() for name in header}
    if "responseid" in names and names & {"startdate", "recordeddate"}:
        return "qualtrics"
    codes = {name.partition(". ")[0] for name in names}
    if {"submitdate", "lastpage"} <= codes:
        return "limesurvey"
    if {"hitid", "assignmentid", "workerid"} <= names:
        return "mturk"
    if {"annotation_id", "annotator"} <= names:
        return "label-studio"
    if is_flattened(header) or {"responses", "fields"} <= names:
        return "argilla"
    return "scrub" if names >= {"judge_id", "true_id", "true_source", "item_type"} else "rows"


def _open_json(path: Path, layout: Layout, faults: list[InputFault]) -> Opened:
    sink = FaultSink(path, None)
    if not path.is_file():
        raise InputError([InputFault(str(path), "there is no such file")])
    try:
        content = parse_json("".join(text for _, text in read_lines(path, sink)))
    except ValueError as error:
        raise InputError([InputFault(str(path), str(error))]) from error
    if isinstance(content, dict):
        content = content.get("records", [content])
    records: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, record in enumerate(content if isinstance(content, list) else [content], start=1):
        if isinstance(record, dict):
            records.append(record)
            lines.append(number)
        else:
            faults.append(InputFault(f"{path}:{number}", "must be a list of objects"))
    rows = (Row(line, record) for line, record in zip(lines, records, strict=True))
    first = records[0] if records else {}
    if layout in ("auto", "label-studio") and is_task(first):
        return Opened("label-studio", task_rows(rows), LABEL_STUDIO_COLUMNS)
    if layout == "label-studio" or (layout == "auto" and _layout_of(list(first)) == "label-studio"):
        return Opened("label-studio", flat_rows(rows), LABEL_STUDIO_COLUMNS)
    if layout == "argilla" or (layout == "auto" and _layout_of(list(first)) == "argilla"):
        return Opened("argilla", record_rows(rows), ARGILLA_COLUMNS)
    is_release = layout == "scrub" or (layout == "auto" and _layout_of(list(first)) == "scrub")
    return Opened("scrub" if is_release else "rows", rows, frozenset())


def _numbered(path: Path, format: str | None, faults: list[InputFault]) -> Iterator[Row]:  # noqa: A002
    width: int | None = None
    for line, cells in read_cells(path, format=format, faults=faults):
        width = width if width is not None else len(cells)
        if len(cells) != width:
            message = f"must have {width} cells as the first row has, got {len(cells)}"
            faults.append(InputFault(f"{path}:{line}", message))
            continue
        yield Row(line, {str(number): cell for number, cell in enumerate(cells, start=1)})
