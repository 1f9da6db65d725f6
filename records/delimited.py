"""Rows of CSV and TSV files."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path

from .tables import Cells, FaultSink
from .text_lines import read_lines

FIELD_LIMIT_CHARS = 16 * 1024 * 1024
"""Longest cell; a quote that is never closed would otherwise swallow the file into one cell."""


def read_delimited(path: Path, sink: FaultSink, *, delimiter: str | None) -> Iterator[Cells]:
    """Returns the rows as lists of text, blank ones left out.

    Args:
        path: the file.
        sink: takes the faults.
        delimiter: by default the comma, or where the first line has none, the semicolon or tab.
    """
    lines = read_lines(path, sink)
    first = next(lines, None)
    if first is None:
        return
    chosen = delimiter or _delimiter_of(first[1])
    # The limit is one setting for the whole process; it is only ever raised here.
    csv.field_size_limit(max(csv.field_size_limit(), FIELD_LIMIT_CHARS))
    reader = csv.reader(
        (text for _, text in itertools.chain([first], lines)),
        delimiter=chosen,
        strict=True,
    )
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            message, is_fatal = _explained(error)
            sink.report(start, message)
            if is_fatal:
                return
            continue
        if not any(cells):
            continue
        if any("\x00" in cell for cell in cells):
            sink.report(start, "the row holds a NUL byte; is this a text file?")
            continue
        yield Cells(start, cells)


def _delimiter_of(header: str) -> str:
    if "," in header:
        return ","
    return next((mark for mark in (";", "\t") if mark in header), ",")


def _explained(error: csv.Error) -> tuple[str, bool]:
    """Returns a sentence for the reader's error, and whether reading cannot go on after it."""
    text = str(error)
    if "unexpected end of data" in text:
        return "a quoted cell is opened here and never closed", True
    if "field larger than field limit" in text:
        return f"a cell is longer than {FIELD_LIMIT_CHARS:,} characters (a quote left open?)", True
    if "new-line character seen" in text:
        return "a bare carriage return outside quotes; save with usual line ends", False
    if "expected after" in text:
        return 'a quoted cell is followed by text; quotes inside a cell are doubled ("")', False
    return f"not readable as CSV: {text}", False
