"""Texts in cells of a spreadsheet: none is cut off unseen, and none amid a character."""

from __future__ import annotations

from pathlib import Path

import pytest

from areopagus import InputError
from areopagus.records.export import _write_xlsx
from areopagus.records.spreadsheets import (
    WORKBOOK_TEXT,
    cell_length,
    cut_for_cell,
    write_text,
)


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("abc", 3), ("äß日", 3), ("😀", 2), ("a𠮷\ud800", 4)]
)
def test_length_is_counted_in_utf16_units(text: str, length: int) -> None:
    assert cell_length(text) == length


@pytest.mark.parametrize("text", ["x" * WORKBOOK_TEXT, "😀" * 16_383, "😀" * 16_383 + "x"])
def test_what_fits_stays_whole(text: str) -> None:
    assert cut_for_cell(text) == text


@pytest.mark.parametrize("start", ["", "x"])
@pytest.mark.parametrize("letter", ["x", "日", "😀"])
def test_a_text_is_cut_between_characters_and_marked(start: str, letter: str) -> None:
    cut = cut_for_cell(start + letter * 40_000)
    assert WORKBOOK_TEXT - 1 <= cell_length(cut) <= WORKBOOK_TEXT
    assert cut.endswith(f"{letter} … [cut off]")
    assert cut.encode("utf-8")


@pytest.mark.parametrize("letter", ["x", "日", "😀"])
def test_a_long_text_of_a_run_is_marked_as_cut_off(tmp_path: Path, letter: str) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    text = letter * 20_000 * (1 if letter == "😀" else 2)
    assert _write_xlsx(tmp_path / "o.xlsx", [{"rationale": text}]) == 1
    book = openpyxl.load_workbook(tmp_path / "o.xlsx")
    value = book.active["A2"].value
    book.close()
    assert value == cut_for_cell(text)
    assert value.endswith(f"{letter} … [cut off]")


def test_a_cell_that_the_library_would_cut_or_leave_out_is_an_error(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(str(tmp_path / "o.xlsx")) as book:
        sheet = book.add_worksheet()
        write_text(sheet, 0, 0, "😀" * 16_383)
        with pytest.raises(InputError, match="holds 32,767 characters, a text here has 32,768"):
            write_text(sheet, 0, 1, "😀" * 16_384)
        with pytest.raises(InputError, match="no cell in row 1,048,577"):
            write_text(sheet, 1_048_576, 0, "x")
