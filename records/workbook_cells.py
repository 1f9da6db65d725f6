"""Texts in the cells of a workbook, whose length is counted as spreadsheets count it."""

from __future__ import annotations

from typing import Any

from ..errors import InputError

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
