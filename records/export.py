"""Exports a run's judgments: CSV, JSONL, Parquet, xlsx, and the layout of the paper's tool."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copyfile
from typing import Any, Literal, get_args

from ..errors import InputError, InputFault, visible_text
from .run_folder import (
    JUDGMENTS_FILE,
    REPORT_FILE,
    RUN_FILE,
    SCORES_FILE,
    csv_table,
    read_run_file,
    replaced,
)
from .spreadsheets import CsvLines, cut_for_cell, spreadsheet_safe, write_text
from .tables import read_judgments, score_cells

ExportKind = Literal["csv", "jsonl", "parquet", "scores", "scrub", "xlsx"]
EXPORT_KINDS: tuple[ExportKind, ...] = get_args(ExportKind)

SCRUB_RUBRIC = "critical_thinking"
SCRUB_DIMENSIONS = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)
SCRUB_COLUMNS = (
    "response_id",
    "respondent_id",
    "judge_model",
    "perspective_id",
    *SCRUB_DIMENSIONS,
    "abstained",
)
"""The columns of the paper's released scoring tool."""

_OWN_FILES = (RUN_FILE, JUDGMENTS_FILE, SCORES_FILE, REPORT_FILE)
WORKBOOK_ROWS = 1_048_575


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote.

    Attributes:
        path: the file.
        total: judgments of the run.
        written: judgments in the file.
        left_out: status to number of judgments that the form has no place for.
        unit: what `total` and `written` count.
    """

    path: Path
    total: int
    written: int
    left_out: dict[str, int] = field(default_factory=dict)
    unit: str = "judgment"


def export_run(
    folder: str | Path, kind: str, out: str | Path | None = None, *, verbatim: bool = False
) -> Exported:
    """Writes the judgments of a run in another form; an earlier export is replaced.

    Args:
        folder: the run folder.
        kind: one of `EXPORT_KINDS`.
        out: the file; `judgments.KIND` (or `scrub.csv`) in the folder when left out. Parquet and
            scores are what the folder holds already, so they need a place.
        verbatim: leave CSV text as it is, also where a spreadsheet would take it for a formula.

    Raises:
        InputError: no run, an unknown form, or a run that the form cannot hold.
        StoreError: the file cannot be written.
    """
    folder = Path(folder)
    record = read_run_file(folder, kind="panel")
    if kind not in EXPORT_KINDS:
        raise InputError(f"must be one of {', '.join(EXPORT_KINDS)}, got {kind!r}")
    name = {"scrub": "scrub.csv", "scores": SCORES_FILE}.get(kind, f"judgments.{kind}")
    target = Path(out) if out is not None else folder / name
    if target.resolve() in {(folder / own).resolve() for own in _OWN_FILES}:
        raise InputError(
            [InputFault(str(target), "is a file of the run itself; name another as `out`")]
        )
    if not (folder / JUDGMENTS_FILE).is_file():
        raise InputError(
            [InputFault(str(folder), f"has no {JUDGMENTS_FILE} yet: the run has not ended")],
            hint="Give the command that started it again; what is paid is known by the ledger.",
        )
    if kind == "scrub":
        return _scrub(folder, record, target, verbatim=verbatim)
    total = int(record["n_planned"])
    with replaced(target) as part:
        if kind == "parquet":
            copyfile(folder / JUDGMENTS_FILE, part)
        elif kind == "scores":
            _write_scores(part, folder, verbatim=verbatim)
        elif kind == "csv":
            total = _write_csv(part, read_judgments(folder), verbatim=verbatim)
        elif kind == "jsonl":
            total = _write_jsonl(part, read_judgments(folder))
        else:
            total = _write_xlsx(part, read_judgments(folder))
    return Exported(target, total, total)


def _scrub(folder: Path, record: dict[str, Any], target: Path, *, verbatim: bool) -> Exported:
    identity = record["identity"]
    faults: list[str] = []
    if identity["rubric"]["id"] != SCRUB_RUBRIC:
        faults.append(
            f"was scored with the rubric {identity['rubric']['id']}; the layout is that of "
            f"{SCRUB_RUBRIC}"
        )
    elif tuple(identity["criteria"]) != SCRUB_DIMENSIONS or list(identity["scale"]) != [1, 10]:
        faults.append(
            "was scored on other criteria or another scale than the paper's five dimensions from "
            f"1 to 10: {', '.join(identity['criteria'])} on {identity['scale'][0]} to "
            f"{identity['scale'][1]}"
        )
    if int(identity["repeats"]) != 1:
        faults.append("asked each judge more than once; the layout has no repeats")
    if faults:
        raise InputError([InputFault(str(folder), fault) for fault in faults])
    left_out: dict[str, int] = {}
    total = written = 0
    with csv_table(target, SCRUB_COLUMNS) as writer:
        for row in read_judgments(folder):
            total += 1
            status = row["status"]
            if status not in ("scored", "abstained"):
                # The layout writes a failure as -1: a number where there is none. Not here.
                left_out[status] = left_out.get(status, 0) + 1
                continue
            written += 1
            names = [row[name] for name in ("response_id", "respondent_id", "model", "persona")]
            writer.write(
                [
                    *(names if verbatim else map(spreadsheet_safe, names)),
                    *(_plain_number(row[name]) for name in SCRUB_DIMENSIONS),
                    status == "abstained",
                ]
            )
    return Exported(target, total, written, left_out)


def _write_csv(part: Path, rows: Iterable[dict[str, Any]], *, verbatim: bool) -> int:
    count = 0
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = CsvLines(file)
        for count, row in enumerate(rows, start=1):
            if count == 1:
                writer.write(row)  # the names of its columns
            cells = map(_plain_number, row.values())
            writer.write(cells if verbatim else map(spreadsheet_safe, cells))
    return count


def _write_scores(part: Path, folder: Path, *, verbatim: bool) -> None:
    if not verbatim:
        copyfile(folder / SCORES_FILE, part)
        return
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = CsvLines(file)
        for cells in score_cells(folder):
            writer.write(cells)


def _write_jsonl(part: Path, rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    with part.open("w", encoding="utf-8") as file:
        for count, row in enumerate(rows, start=1):  # noqa: B007 - the last number is the result
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return count


def _write_xlsx(part: Path, rows: Iterable[dict[str, Any]]) -> int:
    try:
        import xlsxwriter
        from xlsxwriter.exceptions import FileCreateError
    except ImportError as error:
        raise InputError("xlsx needs another package: pip install 'areopagus[xlsx]'") from error
    count = 0
    # Neither formulas nor links are made of anybody's text.
    options = {"strings_to_formulas": False, "strings_to_urls": False, "constant_memory": True}
    try:
        with xlsxwriter.Workbook(str(part), options) as book:
            sheet = book.add_worksheet("judgments")
            for count, row in enumerate(rows, start=1):
                if count > WORKBOOK_ROWS:
                    raise InputError(f"a worksheet holds {WORKBOOK_ROWS:,} rows; export as parquet")
                if count == 1:
                    sheet.write_row(0, 0, list(row))
                for column, value in enumerate(row.values()):
                    _write_cell(sheet, count, column, value)
    except FileCreateError as error:
        # The library's own class around the error of the disk.
        raise OSError(str(error)) from error
    return count


def _write_cell(sheet: Any, line: int, column: int, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, str):
        # Joiners of letters and of emoji stay too: a workbook is read by its text, not acted on.
        plain = visible_text(value, keep="\n\t\u200c\u200d")
        write_text(sheet, line, column, cut_for_cell(plain))
    else:
        sheet.write(line, column, value)


def _plain_number(value: Any) -> Any:
    """Whole scores without a decimal point; nothing for a missing one."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return "" if value is None else value
