"""Writes a run's table for SPSS (.sav) and Stata (.dta), with labels and codes for missing values.

A judgment without a vote is a user-missing value with its status as the label: SPSS and Stata leave
it out of every mean, and show why it is missing in every table of frequencies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ..errors import InputError, StoreError
from ..formats import units, words
from ..records.export import KINDS, Exported
from ..records.run_folder import replaced
from ..records.variables import Variable
from .tables import LETTERS, UNITS, RunTable, SpssCodes, TableName, run_table

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS: Final = 2_000_000
"""Both formats are written from memory."""
SPSS_TEXT: Final = 32_767
STATA_TEXT: Final = 2_000_000_000
CUT_OFF: Final = " … [cut off]"

_SPSS_RESERVED: Final = frozenset(
    ("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with")
)
_STATA_RESERVED: Final = frozenset(
    ("_all", "_b", "_coef", "_cons", "_n", "_pi", "_pred", "_rc", "_se", "_skip", "byte", "double",
     "float", "if", "in", "int", "long", "strl", "using", "with")
)  # fmt: skip
_MEASURES: Final = {"category": "nominal", "number": "scale", "count": "scale"}


class _Form(NamedTuple):
    """What a format allows."""

    kind: str
    name_length: int
    reserved: frozenset[str]
    label_length: int  # of a variable, in bytes
    value_length: int  # of a value's label, in bytes
    file_length: int  # of the file's label, in bytes
    text_length: int  # in bytes


SPSS: Final = _Form("sav", 64, _SPSS_RESERVED, 255, 120, 64, SPSS_TEXT)
# The writer names a set of value labels after its variable and a number, in 32 characters together.
STATA: Final = _Form("dta", 28, _STATA_RESERVED, 80, 30_000, 80, STATA_TEXT)


def export_sav(
    folder: Path,
    out: Path | None = None,
    *,
    table: TableName = "scores",
    texts: bool = False,
    personas: Sequence[str | Path] = (),
) -> Exported:
    """A run's table as an SPSS file; see `export_run`.

    Args:
        folder: the run folder.
        out: the file; scores.sav or judgments.sav in the folder when left out.
        table: "scores", one row a response, or "judgments", one row a planned judgment.
        texts: whether prompts and responses are in it, and what judges wrote.
        personas: folders with the personas' and the rubric's files, where they are not built in.

    Raises:
        InputError: pyreadstat is not installed, or there are too many rows.
        StoreError: the file cannot be written.
    """
    return _export(SPSS, folder, out, table, texts=texts, folders=personas)


def export_dta(
    folder: Path,
    out: Path | None = None,
    *,
    table: TableName = "scores",
    texts: bool = False,
    personas: Sequence[str | Path] = (),
) -> Exported:
    """A run's table as a Stata file (14 or newer); see `export_sav`."""
    return _export(STATA, folder, out, table, texts=texts, folders=personas)


def _export(
    form: _Form,
    folder: Path,
    out: Path | None,
    name: TableName,
    *,
    texts: bool,
    folders: Sequence[str | Path],
) -> Exported:
    import pandas as pd

    try:
        import pyreadstat
    except ImportError as error:
        raise InputError("SPSS and Stata files need pyreadstat", hint=(
            'Install it with: pip install "areopagus[stata]".'
        )) from error  # fmt: skip
    table = run_table(folder, name, texts=texts, folders=folders)
    default = folder / KINDS[form.kind].file
    target = out or default.with_stem(name)
    codes = SpssCodes(table)
    pieces = []
    n = 0
    for frame in table.chunks():
        n += len(frame)
        if n > MOST_ROWS:
            raise InputError(
                f"a file of this kind is written from memory, at most {MOST_ROWS:,} rows; "
                "export as parquet"
            )
        codes.add(frame)
        pieces.append(frame)
    whole = pd.concat(pieces, ignore_index=True) if len(pieces) > 1 else pieces[0]
    made = _columns(form, table, whole, codes.codes())
    data: Any = made.frame  # the library's own type is of two kinds of frames at once
    with replaced(target) as part:
        # The library closes its file in a way that hides a full disk: it says that writing failed.
        try:
            if form is SPSS:
                pyreadstat.write_sav(
                    data, part, file_label=_file_label(table, form), note=_notes(table),
                    column_labels=made.labels, variable_value_labels=made.values,
                    missing_ranges=made.missing, variable_measure=made.measures,
                    variable_format=made.formats, row_compress=True,
                )  # fmt: skip
            else:
                pyreadstat.write_dta(
                    data, part, file_label=_file_label(table, form),
                    column_labels=made.labels, variable_value_labels=made.values,
                    missing_user_values=made.missing, version=15,
                )  # fmt: skip
        except pyreadstat.PyreadstatError as error:
            raise StoreError(f"{target}: cannot be written: {error}") from error
    return Exported(
        target, n, n, unit=UNITS[name],
        notes=_told(made, form),
    )  # fmt: skip


class _Made:
    """A table in a format's own terms, by its names of the variables."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.labels: dict[str, str | None] = {}
        self.values: dict[str, dict[Any, str]] = {}
        self.missing: dict[str, list[Any]] = {}
        self.measures: dict[str, str] = {}
        self.formats: dict[str, str] = {}
        self.renamed: dict[str, str] = {}
        self.cut: dict[str, int] = {}


def _columns(form: _Form, table: RunTable, frame: pd.DataFrame, codes: dict[str, int]) -> _Made:
    import pandas as pd

    names = legal_names([one.name for one in table.variables], form)
    columns: dict[str, Any] = {}
    made = _Made(frame)
    for variable, name in zip(table.variables, names, strict=True):
        if name != variable.name:
            made.renamed[variable.name] = name
        made.labels[name] = cut_bytes(variable.label, form.label_length)
        made.measures[name] = _MEASURES.get(variable.kind, "nominal")
        column = frame[variable.name]
        if variable.is_numeric:
            columns[name] = _numbers(form, table, variable, name, frame, made, codes)
            if form is SPSS:
                # Votes are whole, and their means are shown with the decimals of the variable.
                digits = {"judgments": 0, "tokens": 0, "US dollars": 8}.get(variable.unit, 4)
                made.formats[name] = f"F14.{digits}"
        elif variable.kind == "category":
            code_of = category_codes(variable, column.dropna().unique())
            columns[name] = column.map(code_of).astype("float64")
            made.values[name] = {
                float(code): cut_bytes(value_label(table, variable, value), form.value_length)
                for value, code in code_of.items()
            }
            if form is SPSS:
                made.formats[name] = "F10.0"
        else:
            columns[name], made.cut[name] = _texts(column, form.text_length)
    made.frame = pd.DataFrame(columns, index=frame.index)
    return made


def _numbers(
    form: _Form,
    table: RunTable,
    variable: Variable,
    name: str,
    frame: pd.DataFrame,
    made: _Made,
    codes: dict[str, int],
) -> Any:
    """The numbers, each missing one with a reason as its code."""
    column = frame[variable.name].astype("float64")
    reasons = table.why_missing(variable, frame)
    if not variable.reasons:
        return column
    told = {one: words(one) for one in variable.reasons}
    if form is SPSS:
        own = [codes[one] for one in variable.reasons]
        made.missing[name] = [{"lo": float(min(own)), "hi": float(max(own))}]
        made.values[name] = {float(codes[one]): told[one] for one in variable.reasons}
        return column.where(reasons.isna(), reasons.map(codes))
    made.missing[name] = [LETTERS[one] for one in variable.reasons]
    made.values[name] = {LETTERS[one]: told[one] for one in variable.reasons}
    if not reasons.notna().any():
        return column
    return column.astype(object).where(reasons.isna(), reasons.map(LETTERS))


def _texts(column: pd.Series[Any], most: int) -> tuple[Any, int]:
    """The texts, "" where there is none, and how many were cut."""
    import pandas as pd

    n_cut = 0
    found = []
    for one in column:
        # Neither format holds a character of code 0.
        text = "" if pd.isna(one) else str(one).replace("\0", "\ufffd")
        text = text.encode("utf-8", "replace").decode("utf-8")
        if len(text) * 4 > most and len(text.encode("utf-8")) > most:
            n_cut += 1
            text = cut_bytes(text, most, CUT_OFF)
        found.append(text)
    return pd.Series(found, index=column.index, dtype=object), n_cut


def category_codes(variable: Variable, seen: Iterable[Any]) -> dict[str, int]:
    """Value to its number, the known values first, so that runs of a kind share them."""
    known = list(variable.values)
    more = sorted(str(one) for one in set(seen) - set(known))
    first = 0 if known == ["no", "yes"] else 1
    return {value: code for code, value in enumerate([*known, *more], start=first)}


def value_label(table: RunTable, variable: Variable, value: str) -> str:
    """How a category's value is written for people; the persona's name for its id."""
    if variable.name == "persona":
        labels = {
            one["id"]: one.get("label", "")
            for one in table.record.get("panel", {}).get("personas", ())
        }
        return labels.get(value) or value
    return words(value) if variable.name in ("status", "mode") else value


def legal_names(names: Sequence[str], form: _Form) -> list[str]:
    """Names that the format takes, each once, whatever its case; in the order of those given.

    Letters lose their accents and other signs become underscores. A name that is too long is cut,
    and one that is taken gets a number.
    """
    found: list[str] = []
    taken: set[str] = set()
    for place, name in enumerate(names, start=1):
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", plain).strip("_") or f"v{place}"
        if not plain[0].isalpha():
            plain = f"v_{plain}"
        reserved = plain.lower() in form.reserved or re.fullmatch(r"(?i)str\d+", plain)
        if reserved:
            plain = f"{plain}_v"
        plain = plain[: form.name_length].rstrip("_")
        unique, number = plain, 1
        while unique.lower() in taken:
            number += 1
            tail = f"_{number}"
            unique = plain[: form.name_length - len(tail)].rstrip("_") + tail
        taken.add(unique.lower())
        found.append(unique)
    return found


def cut_bytes(text: str, most: int, mark: str = "…") -> str:
    """The text in at most so many bytes of UTF-8, marked where it was cut."""
    plain = text.encode("utf-8", "replace")
    if len(plain) <= most:
        return plain.decode("utf-8")
    return plain[: most - len(mark.encode())].decode("utf-8", "ignore") + mark


def _file_label(table: RunTable, form: _Form) -> str:
    head = "DEMONSTRATION, no findings. " if table.record.get("demonstration") else ""
    return cut_bytes(f"{head}{_made_by(table)}", form.file_length)


def _made_by(table: RunTable) -> str:
    version = table.record.get("versions", {}).get("areopagus", "")
    return f"Areopagus {version}, run {table.folder.resolve().name}"


def _notes(table: RunTable) -> list[str]:
    """Lines of 80 bytes at most, as SPSS keeps them."""
    import textwrap

    record = table.record
    days = [str(one.get("started", ""))[:10] for one in record.get("sessions", ())]
    told = (
        [f"{_made_by(table)}, judged {' to '.join(sorted({days[0], days[-1]}))}."] if days else []
    )
    if record.get("demonstration"):
        told.insert(0, "DEMONSTRATION: embedded stand-ins judged, no language model. No findings.")
    told.append(
        "One row a response." if table.name == "scores" else
        "One row a planned judgment. Judgments of one response are not independent cases."
    )  # fmt: skip
    told.append("Missing values have codes by what became of a judgment: see the value labels.")
    lines = [line for one in told for line in textwrap.wrap(one, 76)]
    return [cut_bytes(line, 80) for line in lines]


def _told(made: _Made, form: _Form) -> tuple[str, ...]:
    told = [
        f"{units(n, 'text')} of {name} cut off at {form.text_length:,} bytes, and marked so."
        for name, n in made.cut.items()
        if n
    ]
    if made.renamed:
        told.append(
            "Names that the format does not take were changed: "
            + ", ".join(f"{old} is {new}" for old, new in made.renamed.items())
            + "."
        )
    told.append("What each variable means stands in the codebook (`kind='codebook'`).")
    return tuple(told)
