"""Rows of the first sheet of an xlsx workbook."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from .parquet_rows import plain_value
from .tables import Cells, FaultSink


def read_sheet(path: Path, sink: FaultSink) -> Iterator[Cells]:
    """Returns the rows of the first sheet, blank ones left out; an empty cell is "".

    A formula counts as the value that the spreadsheet program last stored for it.

    Raises:
        InputError: where openpyxl is not installed.
    """
    try:
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise InputError(
            [InputFault(str(path), "reading xlsx needs openpyxl")],
            hint='install it with: pip install "areopagus[xlsx]" (or save the sheet as CSV)',
        ) from None
    try:
        with warnings.catch_warnings():
            # openpyxl warns about styles and extensions it does not keep; only values matter here.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        sink.report(None, f"not readable as an xlsx workbook: {error}")
        return
    try:
        if not book.worksheets:
            sink.report(None, "the workbook has no sheet")
            return
        yield from _rows(book.worksheets[0])
    finally:
        book.close()


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
