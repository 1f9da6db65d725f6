"""Rows of the first sheet of an xlsx workbook."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.parsers import expat

from ...errors import InputError, InputFault
from .parquet import plain_value
from .rows import Cells, FaultSink

ROW_LIMIT = 1_048_576
COLUMN_LIMIT = 16_384
"""Excel's own limits; LibreOffice, Google Sheets and what writes xlsx files keep to them too."""

_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ROW, _CELL = f"{_SHEET} row", f"{_SHEET} c"
_CHUNK_BYTES = 1024 * 1024


class Beyond(NamedTuple):
    """What lies beyond a limit: the row where it was found, and a sentence."""

    line: int
    message: str


def beyond_limits(path: Path) -> Beyond | None:
    """Returns the first row or cell of any sheet that lies beyond the limits, or None.

    Every part is looked at, because a workbook may name its sheets as it likes; nothing is kept.

    Raises:
        Exception: whatever zipfile and zlib run into in a damaged file.
    """
    with zipfile.ZipFile(path) as packed:
        for part in packed.infolist():
            look = _Look()
            with packed.open(part) as stream:
                try:
                    while look.found is None and (chunk := stream.read(_CHUNK_BYTES)):
                        look.parser.Parse(chunk)
                except expat.ExpatError:
                    # A picture, or broken: what reads the sheet says so if it needs this part.
                    continue
            if look.found is not None:
                return look.found
    return None


class _Look:
    """Follows rows and cells of one part, numbered as openpyxl numbers them."""

    def __init__(self) -> None:
        self.found: Beyond | None = None
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self._row = self._column = self._cells = 0

    def _start(self, name: str, given: Mapping[str, str]) -> None:
        if name == _CELL and self.found is None:
            self._cell(given.get("r"))
        elif name == _ROW and self.found is None:
            self._column = self._cells = 0
            self._next_row(given.get("r"))

    def _next_row(self, number: str | None) -> None:
        try:
            # As float, because openpyxl takes "1e12" too.
            found = self._row + 1.0 if number is None else float(number)
        except ValueError:
            return  # which openpyxl refuses
        if found > ROW_LIMIT:
            shown = f"{ROW_LIMIT + 1:,}" if number is None else f"{number[:24]!r}"
            self.found = Beyond(
                self._row + 1,
                f"the row after row {self._row:,} is numbered {shown}; "
                f"a sheet has at most {ROW_LIMIT:,} rows",
            )
        elif found == found:  # not nan
            self._row = int(max(found, 0.0))

    def _cell(self, place: str | None) -> None:
        self._cells += 1
        letters = (place or "").rstrip("0123456789")
        self._column = _column_number(letters) if letters else self._column + 1
        # Cells may all name one place, so that they are counted as well.
        if self._column > COLUMN_LIMIT or self._cells > COLUMN_LIMIT:
            where = f"in column {letters[:12]!r}" if letters else f"as cell {self._cells:,} of it"
            self.found = Beyond(
                self._row,
                f"a cell of row {self._row:,} stands {where}; "
                f"a sheet has at most {COLUMN_LIMIT:,} columns (to XFD)",
            )


@lru_cache(maxsize=COLUMN_LIMIT)
def _column_number(letters: str) -> int:
    """A to XFD as 1 to 16,384; anything longer is beyond it, whatever it is."""
    if len(letters) > 3:
        return COLUMN_LIMIT + 1
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


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
