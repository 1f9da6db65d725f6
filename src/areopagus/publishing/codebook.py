"""The codebook of a run: what each variable is, its values and codes, and what was found in it.

One codebook describes both tables of a run, as they stand in the run folder and as they are
exported for SPSS and Stata. It is an export of its own rather than a companion of one file: the
same page serves whoever opens the CSV in R.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..formats import count, listed_all, number, words
from ..records.export import KINDS, Exported, require_other_file
from ..records.run_folder import csv_table
from ..records.spreadsheets import spreadsheet_safe
from ..records.variables import MISSING, OF_CRITERION, OF_INPUT, OF_PART, OF_VOTE, Variable
from ..reports.document import Cell, Column, Document, Paragraph, Part, Points, Section, Table
from .statistical import SPSS, STATA, category_codes, legal_names, value_label
from .tables import LETTERS, TABLES, RunTable, SpssCodes, run_table, run_texts

if TYPE_CHECKING:
    import pandas as pd

    from ..personas import Persona
    from ..rubrics import Rubric

CSV_COLUMNS: Final = (
    "table",
    "variable",
    "spss_name",
    "stata_name",
    "label",
    "description",
    "type",
    "unit",
    "values",
    "missing_codes",
    "source",
    "n",
    "n_valid",
    "n_missing",
    *(f"n_{name}" for name in MISSING),
    "minimum",
    "mean",
    "maximum",
)
"""Columns of codebook.csv, which has a row a variable."""

_TYPES: Final = {
    "id": "identifier",
    "text": "text",
    "words": "words, with blanks between them",
    "category": "category",
    "count": "whole number",
    "number": "number",
}
_ABOUT_TABLES: Final = {
    "scores": "One row a response. In the run folder: scores.csv.",
    "judgments": "One row a planned judgment: one judge's vote on one response. In the run folder: "
    "judgments.parquet. Judgments of one response are not independent cases.",
}


@dataclass(slots=True)
class Found:
    """What a variable holds.

    Attributes:
        n: rows.
        n_valid: rows with a value.
        missing: reason to rows without one; "" where none is known.
        least, most, total: of the numbers.
        values: value to rows, of a category, and of each of several words.
    """

    n: int = 0
    n_valid: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    least: float = math.inf
    most: float = -math.inf
    total: float = 0.0
    values: Counter[str] = field(default_factory=Counter)

    @property
    def mean(self) -> float | None:
        """The mean of the numbers over rows."""
        return self.total / self.n_valid if self.n_valid and self.most >= self.least else None

    def add(self, table: RunTable, variable: Variable, frame: pd.DataFrame) -> None:
        """Takes some rows of the table."""
        column = frame[variable.name]
        is_there = column.notna()
        if variable.kind in ("id", "text", "words"):
            is_there &= column.astype(object) != ""
        self.n += len(column)
        self.n_valid += int(is_there.sum())
        reasons = table.why_missing(variable, frame)[~is_there].fillna("")
        self.missing.update(str(one) for one in reasons)
        if variable.is_numeric and is_there.any():
            numbers = column[is_there]
            self.least = min(self.least, float(numbers.min()))
            self.most = max(self.most, float(numbers.max()))
            self.total += float(numbers.sum())
        elif variable.kind == "category":
            self.values.update(str(one) for one in column[is_there])
        elif variable.kind == "words":
            self.values.update(word for one in column[is_there] for word in str(one).split())


@dataclass(frozen=True, slots=True)
class TableCodebook:
    """The codebook of one table: its variables in order, what each holds, and the codes."""

    table: RunTable
    found: Mapping[str, Found]
    codes: Mapping[str, int]

    def values_of(self, variable: Variable) -> Iterator[tuple[str, str, str, int]]:
        """(number in SPSS and Stata or "", value, what it means, rows) of each value, in order."""
        rows = self.found[variable.name].values
        if variable.kind == "words":
            seen = [*variable.values, *sorted(set(rows) - set(variable.values))]
            yield from (("", one, variable.values.get(one, ""), rows[one]) for one in seen)
        elif variable.kind == "category":
            for value, code in category_codes(variable, rows).items():
                about = variable.values.get(value, "")
                label = value_label(self.table, variable, value)
                shown = value if label == words(value) else f"{value} ({label})"
                yield str(code), shown, about, rows[value]

    def missing_of(self, variable: Variable) -> Iterator[tuple[str, str, str, int]]:
        """(code in SPSS, code in Stata, reason, rows) of each reason why a number is missing."""
        for one in variable.reasons:
            rows = self.found[variable.name].missing[one]
            yield str(self.codes[one]), f".{LETTERS[one]}", one, rows


def table_codebook(table: RunTable) -> TableCodebook:
    """Goes through the rows of a table once."""
    found = {one.name: Found() for one in table.variables}
    codes = SpssCodes(table)
    for frame in table.chunks():
        codes.add(frame)
        for one in table.variables:
            found[one.name].add(table, one, frame)
    return TableCodebook(table, found, codes.codes())


def export_codebook(
    folder: Path, out: Path | None = None, *, personas: Sequence[str | Path] = ()
) -> Exported:
    """Writes codebook.html, and codebook.csv beside it; see `export_run`.

    Args:
        folder: the run folder.
        out: the page; the CSV file has the same name with its own ending.
        personas: folders with the personas' and the rubric's files, where they are not built in.

    Raises:
        InputError: one of the two would replace a file of the run.
        StoreError: they cannot be written.
    """
    from ..reports.html import write_html

    page = (out or folder / KINDS["codebook"].file).with_suffix(".html")
    rows = page.with_suffix(".csv")
    for one in (page, rows):
        require_other_file(folder, one)
    books = [table_codebook(run_table(folder, name, folders=personas)) for name in TABLES]
    with csv_table(rows, CSV_COLUMNS) as writer:
        for book in books:
            for row in _csv_rows(book):
                writer.write(spreadsheet_safe(one) for one in row)
    write_html(page, codebook_document(books, *run_texts(folder, personas)))
    n = sum(len(book.table.variables) for book in books)
    return Exported(page, n, n, unit="variable", notes=(f"The same as a table: {rows}",))


def _csv_rows(book: TableCodebook) -> Iterator[list[Any]]:
    names = [one.name for one in book.table.variables]
    spss, stata = legal_names(names, SPSS), legal_names(names, STATA)
    for place, one in enumerate(book.table.variables):
        found = book.found[one.name]
        values = [
            f"{code} = {value}" if code else value for code, value, _, _ in book.values_of(one)
        ]
        missing = [
            f"{words(reason)} = {code} or {letter}"
            for code, letter, reason, _ in book.missing_of(one)
        ]
        yield [
            book.table.name, one.name, spss[place], stata[place], one.label, _plain(one.about),
            _TYPES[one.kind], one.unit, " | ".join(values), " | ".join(missing), one.source,
            found.n, found.n_valid, found.n - found.n_valid,
            *(found.missing[reason] if reason in one.reasons else "" for reason in MISSING),
            *(_figure(value) for value in (found.least, found.mean, found.most)),
        ]  # fmt: skip


def _figure(value: float | None) -> float | str:
    """Six significant digits, as many as a reader compares."""
    return "" if value is None or math.isinf(value) else float(f"{value:.6g}")


def _plain(text: str) -> str:
    return text.replace("`", "")


def codebook_document(
    books: Sequence[TableCodebook], rubric: Rubric | None, personas: Mapping[str, Persona]
) -> Document:
    """The page: variables with what was found, their values, codes, criteria and personas."""
    record = books[0].table.record
    run = books[0].table.folder.resolve().name
    n = [f"{count(len(book.table.variables))} variables of {book.table.name}" for book in books]
    sections = [Section("variables", "Variables", list(_variables(books)), "summary")]
    sections.append(Section("missing", "Codes for missing numbers", list(_missing(books))))
    sections.append(Section("values", "Values of categories and flags", list(_values(books))))
    sections.append(Section("criteria", "Criteria", list(_criteria(record, rubric))))
    sections.append(Section("personas", "Personas", list(_personas(record, personas))))
    version = record.get("versions", {}).get("areopagus", "")
    return Document(
        title=f"Codebook of {run}",
        kind="codebook",
        sections=sections,
        headline=[f"{listed_all(n)}: what each one is, its values, its codes and its numbers."],
        trust=[("made by", f"Areopagus {version}, from the tables and run.json of {run}")],
        is_demonstration=bool(record.get("demonstration")),
    )


def _variables(books: Sequence[TableCodebook]) -> Iterator[Part]:
    yield Paragraph(
        "Means here are over rows: they describe the file. Results have prompts as their unit, "
        "with intervals, and stand in the run's report and estimates.",
        "quiet",
    )
    columns = [
        Column("Variable", "id"), Column("What it is", "wide"), Column("Valid", "count"),
        Column("Missing", "count"), Column("Min", "number"), Column("Mean", "number"),
        Column("Max", "number"),
    ]  # fmt: skip
    for book in books:
        rows = []
        for one in book.table.variables:
            found = book.found[one.name]
            note = listed_all(
                [f"{count(n)} {words(why)}" for _, _, why, n in book.missing_of(one) if n]
            )
            numbers = (found.least, found.mean, found.most)
            rows.append(
                [
                    one.name,
                    Cell(f"{one.label}.", note=_note(one)),
                    found.n_valid,
                    Cell(found.n - found.n_valid, note=note),
                    *(None if v is None or math.isinf(v) else v for v in numbers),
                ]
            )
        yield Paragraph(words(book.table.name).capitalize(), "heading")
        yield Table(
            f"{_ABOUT_TABLES[book.table.name]} {count(next(iter(book.found.values())).n)} rows.",
            book.table.name, columns, rows,
        )  # fmt: skip


def _note(one: Variable) -> str:
    """What a variable holds, in the words of the reference, and its unit or type."""
    unit = one.unit or _TYPES[one.kind]
    is_known = one.about not in (OF_CRITERION, OF_VOTE, OF_PART, OF_INPUT, "")
    return f"{_plain(one.about)} ({unit})" if is_known else unit


def _missing(books: Sequence[TableCodebook]) -> Iterator[Part]:
    yield Paragraph(
        "What is missing is never a number: in the run folder the cell is empty, in SPSS it "
        "is a user-missing value with this code, in Stata an extended missing value."
    )
    columns = [
        Column("Reason", "id"), Column("What it means", "wide"),
        *(Column(f"SPSS, {book.table.name}", "text") for book in books), Column("Stata", "text"),
    ]  # fmt: skip
    used = [{one for v in book.table.variables for one in v.reasons} for book in books]
    rows = [
        [
            words(name), about,
            *(
                number(book.codes[name], 0) if name in its else ""
                for book, its in zip(books, used, strict=True)
            ),
            f".{LETTERS[name]}",
        ]
        for name, about in MISSING.items()
    ]  # fmt: skip
    yield Table("By what became of the judgment, or of the response.", "Codes", columns, rows)
    if len({tuple(book.codes.values()) for book in books}) > 1:
        yield Paragraph("Codes stand below every number of their table, so they differ here.")


def _values(books: Sequence[TableCodebook]) -> Iterator[Part]:
    columns = [
        Column("Value", "id"), Column("Code", "text"), Column("What it means", "wide"),
        Column("Rows", "count"),
    ]  # fmt: skip
    for book in books:
        for one in book.table.variables:
            rows: list[list[Any]] = [
                [value, code, _plain(about), n] for code, value, about, n in book.values_of(one)
            ]
            if not rows:
                continue
            caption = f"{one.name} of {book.table.name}: {one.label}."
            if one.kind == "words":
                rows = [row for row in rows if row[3]]
                caption += " Those that were seen; each may stand beside others."
            if rows:
                yield Table(caption, f"{one.name} of {book.table.name}", columns, rows)


def _criteria(record: Mapping[str, Any], rubric: Rubric | None) -> Iterator[Part]:
    low, high = record["identity"]["scale"]
    named = record.get("panel", {}).get("rubric", {})
    yield Paragraph(
        f"Rubric: {named.get('label') or named.get('id', '')}. "
        f"Whole numbers from {low}, the worst, to {high}, the best."
    )
    if rubric is None:
        yield Paragraph(
            "The rubric's file is not built in, or not as the run had it: its texts are left out.",
            "quiet",
        )
        return
    columns = [
        Column("Criterion", "id"), Column("What it is", "wide"),
        Column("What judges are asked", "wide"),
    ]  # fmt: skip
    dimensions = rubric.dimensions
    asked = [one for one in dimensions if one.id in record["identity"]["criteria"]] or dimensions
    yield Table(
        f"As the judges had it: version {rubric.version}.", "Criteria", columns,
        [[one.id, one.definition, one.question] for one in asked],
    )  # fmt: skip
    anchors = [[f"{one.id} {score}", text] for one in asked for score, text in one.anchors.items()]
    if anchors and record["identity"].get("anchors"):
        yield Table(
            "What a score stands for, as the judges were told.", "Anchors",
            [Column("Score", "id"), Column("A response with it", "wide")], anchors,
        )  # fmt: skip


def _personas(record: Mapping[str, Any], personas: Mapping[str, Persona]) -> Iterator[Part]:
    columns = [
        Column("Persona", "id"), Column("Name", "text"), Column("Axis", "text"),
        Column("What it is told it is", "wide"),
    ]  # fmt: skip
    rows = []
    for one in record.get("panel", {}).get("personas", ()):
        persona = personas.get(one["id"])
        told = "its file was not found as the run had it"
        if persona is not None:
            told = re.sub(r"\s+", " ", persona.description).strip()
        rows.append([one["id"], one.get("label", ""), one.get("axis", ""), told])
    yield Table("The judges' perspectives, each put to every model.", "Personas", columns, rows)
    models = record.get("identity", {}).get("models", {})
    yield Points([("Models:", listed_all(list(models)))])
