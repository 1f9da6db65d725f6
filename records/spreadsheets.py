"""Writes tables that people open in a spreadsheet: CSV rows and the cells of workbooks."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from ..errors import InputError


class CsvLines:
    """Writes rows to an open text file (`newline=""`)."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._line = io.StringIO(newline="")
        # The csv module quotes only what its own line ends hold: with "\n" alone, a bare carriage
        # return in a cell would stand unquoted, and every reader would take it for the row's end.
        self._writer = csv.writer(self._line, lineterminator="\r\n")

    def write(self, cells: Iterable[Any]) -> None:
        """One row."""
        self._line.seek(0)
        self._line.truncate()
        self._writer.writerow(cells)
        self._file.write(self._line.getvalue()[:-2] + "\n")


def carried_names(carried: Sequence[str], taken: Iterable[str]) -> list[str]:
    """Names for columns carried through beside columns of our own: `input_` before one of ours.

    A name that is taken even so gets the prefix again, so that no two columns share one.
    """
    used = {*taken, *carried}
    ours = set(taken)
    names: list[str] = []
    for name in carried:
        chosen = name
        while chosen in ours or (chosen != name and chosen in used):
            chosen = f"input_{chosen}"
        used.add(chosen)
        names.append(chosen)
    return names


def writable(value: Any) -> Any:
    """Text as UTF-8 can hold it: a lone surrogate becomes a question mark; other values as is."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "replace").decode("utf-8")


# A cell beginning with one of these is a formula to Excel, LibreOffice or Google Sheets, also after
# blanks and in the full-width forms of East Asian keyboards.
_FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@＝＋－＠]")
_GUARDED = re.compile(rf"'+(?:{_FORMULA.pattern})")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def spreadsheet_safe(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula, with an apostrophe before it.

    Text that begins with apostrophes and then so gets one more, so that `spreadsheet_text` brings
    all text back. Values that are no text stay as they are.
    """
    if not isinstance(value, str):
        return value
    return f"'{value}" if _FORMULA.match(value) or _GUARDED.match(value) else value


def spreadsheet_safe_or_number(value: Any) -> Any:
    """As `spreadsheet_safe`, for columns that may hold numbers: -0.5, +3 and 1e-4 are left."""
    is_number = isinstance(value, str) and _NUMBER.fullmatch(value)
    return value if is_number else spreadsheet_safe(value)


def spreadsheet_text(cell: str) -> str:
    """The text of a cell that `spreadsheet_safe` wrote."""
    return cell[1:] if _GUARDED.match(cell) else cell


WORKBOOK_TEXT = 32_767
"""UTF-16 units in a cell: letters beyond the basic plane, emoji say, count as two."""

_CUT_OFF = " … [cut off]"


def cell_length(text: str) -> int:
    """How many characters a spreadsheet counts in a text."""
    return len(text) if text.isascii() else len(_utf16(text)) // 2


def cut_for_cell(text: str) -> str:
    """The text, or as much of it as a cell holds with the mark of its being cut off."""
    if cell_length(text) <= WORKBOOK_TEXT:
        return text
    room = WORKBOOK_TEXT - cell_length(_CUT_OFF)
    kept = _utf16(text)[: 2 * room].decode("utf-16-le", "surrogatepass")
    if "\ud800" <= kept[-1] <= "\udbff":
        kept = kept[:-1]  # the first half of a character
    return kept + _CUT_OFF


def too_long_for_cell(length: int) -> str:
    """Why a text of this length is refused."""
    return f"a cell of a workbook holds {WORKBOOK_TEXT:,} characters, a text here has {length:,}"


def write_text(sheet: Any, line: int, column: int, text: str, form: Any = None) -> None:
    """Writes a text into a cell of xlsxwriter's.

    Raises:
        InputError: the sheet cannot hold it. The library itself cuts it off and says so only by
            the number that it returns.
    """
    refused = sheet.write_string(line, column, text, form)
    if refused == -2:
        raise InputError(too_long_for_cell(cell_length(text)))
    if refused:
        raise InputError(f"a worksheet has no cell in row {line + 1:,}, column {column + 1:,}")


def _utf16(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")
