"""Rows of the first sheet of an xlsx workbook."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from .parquet_rows import plain_value
from .sheet_limits import beyond_limits
from .tables import Cells, FaultSink

UNPACKED_LIMIT_BYTES = 1024 * 1024 * 1024
"""Most that a workbook may unpack to: a few kilobytes can unpack to more than any memory."""


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
    try:
        unpacked = _unpacked_bytes(path)
    except Exception as error:
        sink.report(None, f"not readable as an xlsx workbook: {_reason(error)}")
        return
    if unpacked > UNPACKED_LIMIT_BYTES:
        sink.report(None, f"the workbook unpacks to more than {UNPACKED_LIMIT_BYTES:,} bytes")
        return
    # openpyxl would make a row for every number that is missing: looked at before it is asked.
    try:
        beyond = beyond_limits(path)
    except Exception as error:
        sink.report(None, f"not readable as an xlsx workbook: {_reason(error)}")
        return
    if beyond is not None:
        sink.report(*beyond)
        return
    try:
        with warnings.catch_warnings():
            # It warns about styles and extensions it does not keep; only values matter here.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except Exception as error:
        sink.report(None, f"not readable as an xlsx workbook: {_reason(error)}")
        return
    with closing(book):
        if not book.worksheets:
            sink.report(None, "the workbook has no sheet")
            return
        rows = _rows(book.worksheets[0])
        while True:
            try:
                row = next(rows, None)
            except Exception as error:
                sink.report(None, f"the workbook is broken: {_reason(error)}")
                return
            if row is None:
                return
            yield row


def _unpacked_bytes(path: Path) -> int:
    with zipfile.ZipFile(path) as packed:
        return sum(part.file_size for part in packed.infolist())


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _rows(sheet: Any) -> Iterator[Cells]:
    # A stray format far to the right or below makes a sheet "wide": only filled columns count.
    sheet.reset_dimensions()
    width = 0
    for line, found in enumerate(sheet.iter_rows(values_only=True), start=1):
        cells = ["" if cell is None else plain_value(cell) for cell in found]
        while len(cells) > width and cells and cells[-1] == "":
            cells.pop()
        if not any(cell != "" for cell in cells):
            continue
        width = width or len(cells)
        yield Cells(line, cells + [""] * (width - len(cells)))
