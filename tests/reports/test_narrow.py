"""What a narrow screen does with a table: names in one cell, constants said once."""

from __future__ import annotations

from pathlib import Path

from areopagus.reports import Cell, Column, Document, Section, Table, write_html
from areopagus.reports.narrow import Fold, fold_of

NAMES = [Column("target", "id"), Column("framing"), Column("dimension")]
COLUMNS = [*NAMES, Column("delta", "number")]


def table(*rows: list[object], columns: list[Column] | None = None) -> Table:
    return Table("Cells.", "Cells", columns or COLUMNS, rows)  # type: ignore[arg-type]


def test_names_before_the_first_number_are_folded_and_constant_ones_said_once() -> None:
    fold = fold_of(table(["one", "calm", "clarity", 1.0], ["one", "calm", "depth", 2.0]))
    assert fold == Fold(frozenset({1, 2}), (2,), (("target", "one"), ("framing", "calm")), True)
    assert fold.names(["one", "calm", "depth", 2.0]) == ["depth"]


def test_a_first_name_that_differs_stays_the_head() -> None:
    fold = fold_of(table(["one", "calm", "clarity", 1.0], ["two", "calm", "depth", 2.0]))
    assert fold == Fold(frozenset({1, 2}), (2,), (("framing", "calm"),), False)


def test_a_single_row_holds_no_constant_and_a_foot_names_all() -> None:
    fold = fold_of(table(["one", "calm", "clarity", 1.0]))
    assert (fold.varying, fold.same) == ((1, 2), ())
    assert fold.names(["total", "", "all", 3.0], is_foot=True) == ["all"]


def test_nothing_is_folded_without_a_number_or_with_one_that_is_in_sight() -> None:
    words = [Column("setting"), Column("value", "wide"), Column("note", "wide")]
    assert fold_of(table(["a", "b", "c"], columns=words)) == Fold()
    near = [Column("name"), Column("n", "count"), Column("why", "wide")]
    assert fold_of(table(["a", 1, "c"], columns=near)) == Fold()


def test_what_a_head_opens_stays_within_reach() -> None:
    rows = [[Cell("one", record=("rows", k)), "calm", str(k), 1.0] for k in range(2)]
    assert not fold_of(table(*rows)).hides_first


def test_all_rows_alike_keep_their_head() -> None:
    fold = fold_of(table(*[["one", "calm", "clarity", 1.0]] * 2))
    assert (fold.hides_first, fold.varying) == (False, ())
    assert fold.same == (("framing", "calm"), ("dimension", "clarity"))


def test_the_page_holds_both_forms(tmp_path: Path) -> None:
    rows = table(["one", "calm", "a_b", 1.0], ["one", "calm", "<b>", 2.0])
    page = Document("Title", "stress", [Section("first", "First", [rows])])
    source = write_html(tmp_path / "page.html", page).read_text(encoding="utf-8")
    assert '<td class="wide-only"><bdi class="text">calm</bdi></td>' in source
    assert '<span class="narrow-only"><bdi class="text">a_<wbr>b</bdi></span>' in source
    assert '<span class="narrow-only"><bdi class="text">&lt;b&gt;</bdi></span>' in source
    assert "In every row: " in source
