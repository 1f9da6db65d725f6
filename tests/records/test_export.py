"""Exports: lossless forms, forms that a spreadsheet opens, and the layout of the paper's tool."""

from __future__ import annotations

import csv
import errno
import inspect
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError, Panel, ProviderError, Run, StoreError
from areopagus.judges.models.request import Request
from areopagus.records import export
from areopagus.records.export import (
    SCRUB_COLUMNS,
    SCRUB_DIMENSIONS,
    _write_xlsx,
    export_run,
    spreadsheet_safe,
)
from areopagus.records.spreadsheets import (
    WORKBOOK_TEXT,
    CsvLines,
    cell_length,
    cut_for_cell,
    write_text,
)
from areopagus.records.tables import JUDGMENT_COLUMNS, PROVENANCE_COLUMNS, read_judgments
from areopagus.testing import ScriptedBackend

GOOD = {name: 5 + place for place, name in enumerate(SCRUB_DIMENSIONS)} | {"abstained": False}
IDS = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-2",
    "@SUM(A1)",
    "＝1",
    " =1",
    "\u202etxt.exe",
    "x" * 300,
    'q"u,o;te',
    "日本",
]
FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")


def answer(request: Request) -> Any:
    persona = request.labels["persona"]
    if persona == "historian":
        return ProviderError("context_length", "=1+1 too long\nby far")
    if persona == "ethicist":
        return {**GOOD, "abstained": True}
    return "no vote here" if persona == "sociologist" else GOOD


def score(folder: Path, ids: list[str], **options: Any) -> Run:
    rows = [
        {
            "response_id": name,
            "prompt_text": "What is owed?",
            "response_text": f"Much is owed, says {number}.",
            "respondent_id": name,
        }
        for number, name in enumerate(ids)
    ]
    with Panel(ScriptedBackend(answer), **options) as panel:
        return panel.score_many(rows, folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AREOPAGUS_HOME", str(folder / "home"))
        patch.setattr("areopagus.run.Run.write_report", lambda run, **_: run.report_path)
        return score(folder / "run", IDS)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_scrub_has_the_layout_of_the_paper_and_no_number_for_a_failure(
    run: Run, tmp_path: Path
) -> None:
    done = export_run(run.path, "scrub", tmp_path / "scrub.csv")
    with done.path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [
        "response_id",
        "respondent_id",
        "judge_model",
        "perspective_id",
        "conceptual_clarity",
        "evidential_grounding",
        "contextual_relevance",
        "pluralistic_engagement",
        "argumentative_soundness",
        "abstained",
    ]
    assert tuple(header) == SCRUB_COLUMNS
    # Ten judges a response: one failed, one gave no vote, one abstained; eight rows are left.
    assert len(rows) == 8 * len(IDS) == done.written
    assert done.total == 10 * len(IDS)
    assert done.left_out == {"failed": len(IDS), "unreadable": len(IDS)}
    assert {row[3] for row in rows}.isdisjoint({"historian", "sociologist"})
    assert {tuple(row[4:9]) for row in rows} == {("5", "6", "7", "8", "9")}
    assert {(row[3], row[9]) for row in rows if row[9] == "True"} == {("ethicist", "True")}
    assert {row[9] for row in rows} == {"True", "False"}


def test_scrub_ids_are_no_formulas_unless_they_are_asked_for_verbatim(
    run: Run, tmp_path: Path
) -> None:
    safe = read_csv(export_run(run.path, "scrub", tmp_path / "a.csv").path)
    raw = read_csv(export_run(run.path, "scrub", tmp_path / "b.csv", verbatim=True).path)
    for row in safe:
        assert not row["response_id"].lstrip(" ").startswith(FORMULA_STARTS)
    assert list(dict.fromkeys(row["response_id"] for row in raw)) == IDS


def test_scrub_refuses_another_mode_another_rubric_and_repeats(tmp_path: Path) -> None:
    holistic = tmp_path / "holistic"
    with Panel(ScriptedBackend("7"), mode="holistic") as panel:
        panel.score_many(
            [{"response_id": "a", "prompt_text": "Why?", "response_text": "It binds."}], holistic
        )
    with pytest.raises(InputError, match="other criteria"):
        export_run(holistic, "scrub")
    repeated = score(tmp_path / "repeated", ["a"], repeats=2)
    with pytest.raises(InputError, match="more than once"):
        export_run(repeated.path, "scrub")
    # Dimensions and scale of the paper under another name are another rubric all the same.
    text = (Path(__file__).parents[2] / "rubrics" / "critical_thinking.yaml").read_text()
    (tmp_path / "house.yaml").write_text(text.replace("id: critical_thinking", "id: house", 1))
    other = score(tmp_path / "other", ["a"], rubric=tmp_path / "house.yaml")
    with pytest.raises(InputError, match="rubric house"):
        export_run(other.path, "scrub")
    assert not list(tmp_path.glob("*/scrub.csv"))


def test_jsonl_and_parquet_lose_nothing(run: Run, tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    wanted = list(read_judgments(run.path))
    lines = export_run(run.path, "jsonl", tmp_path / "j.jsonl").path.read_text(encoding="utf-8")
    assert [json.loads(line) for line in lines.splitlines()] == wanted
    done = export_run(run.path, "parquet", tmp_path / "copy.parquet")
    assert parquet.read_table(done.path).to_pylist() == wanted
    assert done.written == done.total == len(wanted)
    assert list(wanted[0]) == [*JUDGMENT_COLUMNS, *SCRUB_DIMENSIONS, *PROVENANCE_COLUMNS]
    assert list(dict.fromkeys(row["response_id"] for row in wanted)) == IDS


def test_a_csv_holds_no_formula_and_verbatim_holds_the_text(run: Run, tmp_path: Path) -> None:
    safe = read_csv(export_run(run.path, "csv", tmp_path / "safe.csv").path)
    raw = read_csv(export_run(run.path, "csv", tmp_path / "raw.csv", verbatim=True).path)
    assert len(safe) == len(raw) == 10 * len(IDS)
    for row in safe:
        for value in row.values():
            assert not value.lstrip(" ").startswith(FORMULA_STARTS), value
    assert list(dict.fromkeys(row["response_id"] for row in raw)) == IDS
    # Missing is empty and whole numbers stay whole.
    failed = next(row for row in raw if row["status"] == "failed")
    scored = next(row for row in raw if row["status"] == "scored")
    assert (failed["conceptual_clarity"], scored["conceptual_clarity"]) == ("", "5")


def test_a_workbook_holds_text_and_neither_formulas_nor_links(run: Run, tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    done = export_run(run.path, "xlsx", tmp_path / "judgments.xlsx")
    book = openpyxl.load_workbook(done.path)
    sheet = book["judgments"]
    header, *rows = list(sheet.iter_rows())
    assert [cell.value for cell in header] == list(next(read_judgments(run.path)))
    assert len(rows) == done.written == 10 * len(IDS)
    assert {cell.data_type for row in rows for cell in row} <= {"s", "n", "b"}
    assert all(cell.hyperlink is None for row in rows for cell in row)
    ids = list(dict.fromkeys(row[0].value for row in rows))
    # Text that turns the reading direction is made visible; everything else is as it was.
    assert ids == [name.replace("\u202e", "�") for name in IDS]
    book.close()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "scrub", "xlsx"])
def test_a_full_disk_is_one_error_and_an_earlier_export_stays(
    run: Run, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / f"out.{kind}"
    target.write_text("earlier")

    def full(*_: object, **__: object) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if kind == "xlsx":
        import xlsxwriter

        def full_at_the_end(book: Any) -> None:
            for sheet in book.worksheets():
                sheet.row_data_fh.close()
            full()

        monkeypatch.setattr(xlsxwriter.Workbook, "_store_workbook", full_at_the_end)
    elif kind == "parquet":
        monkeypatch.setattr(export, "copyfile", full)
    elif kind == "jsonl":
        monkeypatch.setattr(export.json, "dumps", full)
    else:
        monkeypatch.setattr(CsvLines, "write", full)
    with pytest.raises(StoreError, match="No space left"):
        export_run(run.path, kind, target)
    monkeypatch.undo()
    assert target.read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_nothing_of_the_run_itself_is_overwritten(run: Run) -> None:
    before = {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()}
    for name in ("judgments.parquet", "scores.csv", "run.json", "report.html"):
        with pytest.raises(InputError, match="of the run itself"):
            export_run(run.path, "csv", run.path / ".." / "run" / name)
    with pytest.raises(InputError, match="of the run itself"):
        export_run(run.path, "parquet")
    assert {p: p.read_bytes() for p in run.path.rglob("*") if p.is_file()} == before


def test_no_run_an_unknown_kind_and_a_run_that_has_not_ended_are_said(
    run: Run, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="is not a run folder"):
        export_run(tmp_path, "csv")
    with pytest.raises(InputError, match="must be one of csv, jsonl"):
        export_run(run.path, "docx")
    (tmp_path / "run.json").write_bytes((run.path / "run.json").read_bytes())
    for kind in ("csv", "parquet", "scrub"):
        with pytest.raises(InputError, match="has not ended"):
            export_run(tmp_path, kind, tmp_path / "x")
    with pytest.raises(StoreError, match="cannot be written"):
        export_run(run.path, "csv", tmp_path / "nowhere" / "x.csv")


def test_the_function_of_every_form_is_found_and_takes_a_folder_and_a_place() -> None:
    for name, kind in export.KINDS.items():
        if name == "inspect" and find_spec("inspect_ai") is None:
            continue  # tests/integrations has it
        names = list(inspect.signature(export._writer(kind)).parameters.values())
        assert names[1].name == "out"
        assert all(one.kind is inspect.Parameter.KEYWORD_ONLY for one in names[2:])


def test_what_no_spreadsheet_would_take_for_a_formula_is_left_alone() -> None:
    for value in [None, 1, 1.5, True, "plain", "a=b", ""]:
        assert spreadsheet_safe(value) == value


def test_length_is_counted_in_utf16_units() -> None:
    for text, length in [("", 0), ("abc", 3), ("äß日", 3), ("😀", 2), ("a𠮷\ud800", 4)]:
        assert cell_length(text) == length


def test_what_fits_stays_whole() -> None:
    for text in ["x" * WORKBOOK_TEXT, "😀" * 16_383, "😀" * 16_383 + "x"]:
        assert cut_for_cell(text) == text


def test_a_text_is_cut_between_characters_and_marked() -> None:
    for letter in ["x", "日", "😀"]:
        for start in ["", "x"]:
            cut = cut_for_cell(start + letter * 40_000)
            assert WORKBOOK_TEXT - 1 <= cell_length(cut) <= WORKBOOK_TEXT
            assert cut.endswith(f"{letter} … [cut off]")
            assert cut.encode("utf-8")


def test_a_long_text_of_a_run_is_marked_as_cut_off(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("xlsxwriter")
    text = "😀" * 20_000
    assert _write_xlsx(tmp_path / "o.xlsx", [{"rationale": text}]) == 1
    book = openpyxl.load_workbook(tmp_path / "o.xlsx")
    value = book.active["A2"].value
    book.close()
    assert value == cut_for_cell(text)
    assert value.endswith("😀 … [cut off]")


def test_a_cell_that_the_library_would_cut_or_leave_out_is_an_error(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(str(tmp_path / "o.xlsx")) as book:
        sheet = book.add_worksheet()
        write_text(sheet, 0, 0, "😀" * 16_383)
        with pytest.raises(InputError, match="holds 32,767 characters, a text here has 32,768"):
            write_text(sheet, 0, 1, "😀" * 16_384)
        with pytest.raises(InputError, match="no cell in row 1,048,577"):
            write_text(sheet, 1_048_576, 0, "x")
