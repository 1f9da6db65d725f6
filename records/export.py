"""Exports a run in another form: a table of forms, and the writers of the plain ones.

A form of another tool is written in a module of its own, which is imported when it is asked for.
Its function is `function(run_folder, out, *, option=…) -> Exported`: its keyword-only parameters
are the options that the form takes.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from shutil import copyfile
from typing import Any, Final, NamedTuple

from ..errors import InputError, InputFault, visible_text
from .run_folder import (
    ANSWERS_FILE,
    JUDGMENTS_FILE,
    REPORT_FILE,
    RUN_FILE,
    SCORES_FILE,
    TEXTS_FILE,
    csv_table,
    read_run_file,
    replaced,
)
from .spreadsheets import CsvLines, cut_for_cell, spreadsheet_safe, write_text
from .tables import read_judgments, score_cells


class ExportKind(NamedTuple):
    """A form of export.

    Attributes:
        file: its name in the run folder where no other is given.
        module: of the function that writes it, relative to this package.
        function: its name.
    """

    file: str
    module: str
    function: str


KINDS: Final[dict[str, ExportKind]] = {
    "csv": ExportKind("judgments.csv", ".export", "export_csv"),
    "jsonl": ExportKind("judgments.jsonl", ".export", "export_jsonl"),
    "parquet": ExportKind(JUDGMENTS_FILE, ".export", "export_parquet"),
    "scores": ExportKind(SCORES_FILE, ".export", "export_scores"),
    "scrub": ExportKind("scrub.csv", ".export", "export_scrub"),
    "xlsx": ExportKind("judgments.xlsx", ".export", "export_xlsx"),
    "sav": ExportKind("scores.sav", "..publishing.statistical", "export_sav"),
    "codebook": ExportKind("codebook.html", "..publishing.codebook", "export_codebook"),
    "dta": ExportKind("scores.dta", "..publishing.statistical", "export_dta"),
    "inspect": ExportKind("inspect", "..integrations.inspect_ai", "export_inspect"),
    "hf": ExportKind("hf", "..integrations.hugging_face", "export_hf"),
}
"""Every form, by the name that `--as` takes."""

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

_OWN_FILES = (
    RUN_FILE,
    JUDGMENTS_FILE,
    SCORES_FILE,
    TEXTS_FILE,
    ANSWERS_FILE,
    "estimates.parquet",
    "estimates.csv",
    REPORT_FILE,
)
WORKBOOK_ROWS = 1_048_575


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote.

    Attributes:
        path: the file or folder.
        total: units of the run.
        written: those of them that the export holds.
        left_out: status to number of units that the form has no place for.
        unit: what is counted: "judgment" or "response".
        notes: sentences on what a reader of the export must know, such as texts cut off.
    """

    path: Path
    total: int
    written: int
    left_out: dict[str, int] = field(default_factory=dict)
    unit: str = "judgment"
    notes: tuple[str, ...] = ()


def export_run(
    folder: str | Path, kind: str, out: str | Path | None = None, **options: Any
) -> Exported:
    """Writes a run in another form; an earlier export is replaced.

    Args:
        folder: the run folder.
        kind: one of `KINDS`.
        out: the file or folder; the kind's `file` in the run folder when left out. Parquet and
            scores are what the folder holds already, so they need a place.
        options: what the form takes: `verbatim` (csv, scores, scrub: text stays as it is, also
            where a spreadsheet would take it for a formula) and others, see the function that
            writes it. None counts as left out.

    Raises:
        InputError: no run, an unknown form, an option that it does not take, or a run that it
            cannot hold.
        StoreError: it cannot be written.
    """
    folder = Path(folder)
    read_run_file(folder, kind="panel")
    if kind not in KINDS:
        raise InputError(f"must be one of {', '.join(KINDS)}, got {kind!r}")
    target = Path(out) if out is not None else folder / KINDS[kind].file
    require_other_file(folder, target)
    if not (folder / JUDGMENTS_FILE).is_file():
        raise InputError(
            [InputFault(str(folder), f"has no {JUDGMENTS_FILE} yet: the run has not ended")],
            hint="Give the command that started it again; what is paid is known by the ledger.",
        )
    write = _writer(KINDS[kind])
    given = {name: value for name, value in options.items() if value not in (None, False, ())}
    taken = [
        one.name
        for one in inspect.signature(write).parameters.values()
        if one.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    if unknown := [name for name in given if name not in taken]:
        fits = ", ".join(f"`{name}`" for name in taken) or "none"
        raise InputError(
            [InputFault("", f"is no option of {kind}, whose options are: {fits}", name)
             for name in unknown]
        )  # fmt: skip
    return write(folder, None if out is None else target, **given)


def require_other_file(folder: Path, target: Path) -> None:
    """Refuses a target that is one of the run's own files, which the export would replace.

    Raises:
        InputError: it is.
    """
    if target.resolve() in {(folder / own).resolve() for own in _OWN_FILES}:
        raise InputError(
            [InputFault(str(target), "is a file of the run itself; name another as `out`")]
        )


def _writer(kind: ExportKind) -> Callable[..., Exported]:
    found: Callable[..., Exported] = getattr(import_module(kind.module, __package__), kind.function)
    return found


def _target(folder: Path, out: Path | None, kind: str) -> Path:
    return folder / KINDS[kind].file if out is None else out


def export_csv(folder: Path, out: Path | None = None, *, verbatim: bool = False) -> Exported:
    """Judgments as CSV, a row each; see `export_run`."""
    target = _target(folder, out, "csv")
    with replaced(target) as part:
        n = _write_csv(part, read_judgments(folder), verbatim=verbatim)
    return Exported(target, n, n)


def export_jsonl(folder: Path, out: Path | None = None) -> Exported:
    """Judgments as JSON, an object a line, nothing lost; see `export_run`."""
    target = _target(folder, out, "jsonl")
    with replaced(target) as part:
        n = _write_jsonl(part, read_judgments(folder))
    return Exported(target, n, n)


def export_parquet(folder: Path, out: Path | None = None) -> Exported:
    """A copy of judgments.parquet; see `export_run`."""
    target = _target(folder, out, "parquet")
    with replaced(target) as part:
        copyfile(folder / JUDGMENTS_FILE, part)
    n = int(read_run_file(folder)["n_planned"])
    return Exported(target, n, n)


def export_scores(folder: Path, out: Path | None = None, *, verbatim: bool = False) -> Exported:
    """scores.csv, a row a response; see `export_run`."""
    target = _target(folder, out, "scores")
    with replaced(target) as part:
        _write_scores(part, folder, verbatim=verbatim)
    n = int(read_run_file(folder)["responses"]["n"])
    return Exported(target, n, n, unit="response")


def export_xlsx(folder: Path, out: Path | None = None) -> Exported:
    """Judgments as a workbook of one sheet; see `export_run`."""
    target = _target(folder, out, "xlsx")
    with replaced(target) as part:
        n = _write_xlsx(part, read_judgments(folder))
    return Exported(target, n, n)


def export_scrub(folder: Path, out: Path | None = None, *, verbatim: bool = False) -> Exported:
    """Scored and abstained judgments in the layout of the paper's tool; see `export_run`.

    Raises:
        InputError: a run on other criteria, on another scale or with repeats.
    """
    target = _target(folder, out, "scrub")
    identity = read_run_file(folder)["identity"]
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
