"""Reads the rows of the first sheet of an xlsx workbook."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ...errors import InputError, InputFault
from .cells import plain_value
from .rows import MAX_COLUMNS, Cells, FaultSink, too_many_columns

UNPACKED_LIMIT_BYTES = 1024 * 1024 * 1024
"""Most that a workbook may unpack to: a few kilobytes can unpack to more than any memory."""

MAX_SHEET_ROWS = 1_048_576
"""Excel's own limit; LibreOffice, Google Sheets and what writes xlsx files keep to it too."""


def read_sheet(path: Path, sink: FaultSink) -> Iterator[Cells]:
    """Returns the rows of the first sheet, blank ones left out; an empty cell is "".

    A formula counts as the value that the spreadsheet program last stored for it.

    Raises:
        InputError: where openpyxl is not installed.
    """
    try:
        import openpyxl
    except ImportError:
        raise InputError(
            [InputFault(str(path), "reading xlsx needs openpyxl")],
            hint='install it with: pip install "areopagus[xlsx]" (or save the sheet as CSV)',
        ) from None
    # A damaged or forged workbook raises whatever openpyxl or zlib run into, and there is no list.
    # The file is opened here, because openpyxl leaves it open where it fails.
    said = "not readable as an xlsx workbook"
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as packed:
                unpacked = sum(part.file_size for part in packed.infolist())
            if unpacked > UNPACKED_LIMIT_BYTES:
                limit = f"{UNPACKED_LIMIT_BYTES:,}"
                sink.report(None, f"the workbook unpacks to more than {limit} bytes")
                return
            with warnings.catch_warnings():
                # It warns about styles and extensions it does not keep; only values matter here.
                warnings.simplefilter("ignore")
                book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            said = "the workbook is broken"
            with closing(book):
                if book.worksheets:
                    yield from _rows(book.worksheets[0], sink)
                else:
                    sink.report(None, "the workbook has no sheet")
        except InputError:
            raise
        except Exception as error:
            sink.report(None, f"{said}: {type(error).__name__}: {error}"[:300])


def _rows(sheet: Any, sink: FaultSink) -> Iterator[Cells]:
    # A stray format far to the right or below makes a sheet "wide": only filled columns count.
    sheet.reset_dimensions()
    width = 0
    # openpyxl makes an empty row for every number that is left out, and a few bytes can name row
    # 99999999999: it is told to stop one row beyond what a sheet has.
    found_rows = sheet.iter_rows(values_only=True, max_row=MAX_SHEET_ROWS + 1)
    for line, found in enumerate(found_rows, start=1):
        if line > MAX_SHEET_ROWS:
            message = f"names rows beyond row {MAX_SHEET_ROWS:,}, which no sheet has"
            sink.report(None, message)
            return
        if len(found) > MAX_COLUMNS:
            sink.report(line, too_many_columns(len(found)))
            return
        cells = ["" if cell is None else plain_value(cell) for cell in found]
        while len(cells) > width and cells and cells[-1] == "":
            cells.pop()
        if not any(cell != "" for cell in cells):
            continue
        width = width or len(cells)
        yield Cells(line, cells + [""] * (width - len(cells)))
