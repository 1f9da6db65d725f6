"""Reads SPSS (.sav, .zsav) and Stata (.dta) files, with their value labels and missing codes.

A number with a value label is a number that knows its label: an id is then the label, a rating the
number. Where SPSS says that a variable is nominal, its codes are no numbers, and the label alone
is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError, InputFault
from .cells import plain_value
from .rows import MAX_COLUMNS, FaultSink, Row, too_many_columns

_CHUNK_ROWS = 100_000
"""A compressed file is read from its beginning for each piece: few, and not too large."""

SUFFIXES = (".sav", ".zsav", ".dta")


class LabelledNumber(float):
    """A number that has a label."""

    label: str

    def __new__(cls, value: float, label: str) -> LabelledNumber:
        """Makes the number."""
        made = super().__new__(cls, value)
        made.label = label
        return made


class MissingCode(float):
    """A missing value (nan) that says by which code its file marks it.

    Attributes:
        code: "-99", or "-99 (no answer)" where the code has a label.
    """

    code: str

    def __new__(cls, code: str) -> MissingCode:
        """Makes the missing value."""
        made = super().__new__(cls, math.nan)
        made.code = code
        return made


class _Variable(NamedTuple):
    name: str
    labels: Mapping[Any, str]
    missing: tuple[tuple[Any, Any], ...]
    is_nominal: bool


def read_statistical(path: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the rows, numbered from 1.

    A user-missing value is a `MissingCode`, a system-missing one None, a whole number an int. Text
    is taken in the encoding that the file declares, else in Windows' western one.

    Raises:
        InputError: where pyreadstat is not installed.
    """
    line = 0
    for encoding in (None, "WINDOWS-1252"):
        try:
            for row in _rows(path, sink, encoding):
                if row.line > line:
                    line = row.line
                    yield row
        except InputError:
            raise
        except Exception as error:
            # pyreadstat has no public list of errors; a damaged file raises what it runs into.
            is_text = isinstance(error, UnicodeError) or "convert string" in str(error)
            if encoding is None and is_text:
                continue
            sink.report(None, f"is not readable as an SPSS or Stata file: {error}")
        return


def variable_labels(path: Path) -> dict[str, str]:
    """Returns the variables that have a label (their question, their long name) to that label.

    None of a file that cannot be read: that is said where its rows are.
    """
    library = _library(path)
    try:
        _, meta = _reader(library, path)(str(path), metadataonly=True)
    except Exception:
        return {}
    return {name: label for name, label in meta.column_names_to_labels.items() if label}


def _rows(path: Path, sink: FaultSink, encoding: str | None) -> Iterator[Row]:
    library = _library(path)
    line = 0
    pieces = library.read_file_in_chunks(
        _reader(library, path), str(path), chunksize=_CHUNK_ROWS,
        output_format="dict", user_missing=True, **({"encoding": encoding} if encoding else {}),
    )  # fmt: skip
    for columns, meta in pieces:
        if len(meta.column_names) > MAX_COLUMNS:
            sink.report(None, too_many_columns(len(meta.column_names)))
            return
        variables = [_variable(meta, name) for name in meta.column_names]
        for cells in zip(*(_listed(columns[one.name]) for one in variables), strict=True):
            line += 1
            values = {
                one.name: _cell(one, cell) for one, cell in zip(variables, cells, strict=True)
            }
            if any(cell is not None and cell != "" for cell in values.values()):
                yield Row(line, values)


def _listed(column: Any) -> list[Any]:
    found: list[Any] = column if isinstance(column, list) else column.tolist()
    return found


def _variable(meta: Any, name: str) -> _Variable:
    ranges = [(one["lo"], one["hi"]) for one in meta.missing_ranges.get(name, ())]
    ranges += [(letter, letter) for letter in meta.missing_user_values.get(name, ())]
    labels = meta.variable_value_labels.get(name, {})
    return _Variable(
        name, labels, tuple(ranges), meta.variable_measure.get(name, "unknown") == "nominal"
    )


def _cell(variable: _Variable, cell: Any) -> Any:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    label = variable.labels.get(cell)
    if any(
        isinstance(low, str) is isinstance(cell, str) and low <= cell <= high
        for low, high in variable.missing
    ):
        shown = cell if isinstance(cell, str) else f"{cell:g}"
        return MissingCode(f"{shown} ({label})" if label else shown)
    if label is not None and isinstance(cell, float | int):
        return label if variable.is_nominal else LabelledNumber(cell, label)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= 2**53:
        return int(cell)
    return plain_value(cell)


def _reader(library: Any, path: Path) -> Any:
    return library.read_dta if path.name.lower().endswith(".dta") else library.read_sav


def _library(path: Path) -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise InputError(
            [InputFault(str(path), "reading SPSS and Stata files needs pyreadstat")],
            hint='install it with: pip install "areopagus[stata]" (or save the file as CSV)',
        ) from None
    return pyreadstat
