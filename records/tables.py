"""Rows of a table file, one at a time and in constant memory, whatever the format.

Formats, by suffix: .csv, .tsv, .jsonl/.ndjson (each also with .gz), .parquet, .xlsx.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, NoReturn, get_args

from ..errors import InputError, InputFault

TableFormat = Literal["csv", "tsv", "jsonl", "parquet", "xlsx"]
TABLE_FORMATS: tuple[TableFormat, ...] = get_args(TableFormat)

_SUFFIXES: dict[str, TableFormat] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "xlsx",
}


FAULT_LIMIT = 1000
"""After so many faults of format a file is given up: it is not what its suffix says."""


class Row(NamedTuple):
    """One record and the place it came from.

    `line` is the line on which the record starts (CSV, TSV, JSON lines), the sheet's row (xlsx),
    or the number of the row from 1 (Parquet). In CSV and xlsx an empty cell is "".
    """

    line: int
    values: dict[str, Any]


class Cells(NamedTuple):
    """One row of a file without regard to a header."""

    line: int
    values: list[Any]


class FaultSink:
    """Takes faults while rows are read: raises the first, or keeps all in the caller's list."""

    def __init__(self, path: Path, faults: list[InputFault] | None) -> None:
        self.path = path
        self.n_reported = 0
        self._faults = faults

    def report(self, line: int | None, message: str, *, field: str | None = None) -> None:
        """Keeps the fault, or raises it where the caller gave no list."""
        where = str(self.path) if line is None else f"{self.path}:{line}"
        fault = InputFault(where=where, message=message, field=field)
        self.n_reported += 1
        if self._faults is None:
            raise InputError([fault])
        self._faults.append(fault)
        if self.n_reported >= FAULT_LIMIT:
            raise InputError(
                self._faults, hint=f"reading stopped after {FAULT_LIMIT:,} faults of format"
            )


def table_format(path: str | Path, format: str | None = None) -> TableFormat:  # noqa: A002
    """Returns the format of a file: the one named, or the one its suffix says.

    Raises:
        InputError: for a name or suffix that is not one of the formats.
    """
    if format is not None:
        if format not in TABLE_FORMATS:
            raise InputError(f"format: must be one of {', '.join(TABLE_FORMATS)}, got {format!r}")
        return format
    name = Path(path).name.lower()
    packed = name.endswith(".gz")
    suffix = Path(name.removesuffix(".gz")).suffix
    found = _SUFFIXES.get(suffix)
    if found is None or (packed and found in ("parquet", "xlsx")):
        allowed = ".csv, .tsv, .jsonl, .ndjson (each also with .gz), .parquet, .xlsx"
        raise InputError(
            [InputFault(str(path), f"must end in one of {allowed}; got {Path(path).name!r}")],
            hint="name the format where the suffix does not say it",
        )
    return found


def read_rows(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    faults: list[InputFault] | None = None,
) -> Iterator[Row]:
    """Returns the rows of a table file, streamed.

    Text is UTF-8, with or without a byte order mark. Blank lines, and rows whose cells are all
    empty (spreadsheets leave them at the end), are not rows. A CSV whose header has no comma but
    semicolons or tabs is read with those.

    Args:
        path: the file.
        format: one of `TABLE_FORMATS`; by default the suffix says.
        faults: a list that takes the faults of format (ragged row, malformed JSON line, …), the
            row then being left out; by default the first one is raised.

    Raises:
        InputError: at once for a missing file, a folder, an empty file or an unknown suffix; while
            reading for a fault of format where no list was given, or at the `FAULT_LIMIT`th.
    """
    source = _existing(Path(path))
    kind = table_format(source, format)
    sink = FaultSink(source, faults)
    if kind == "jsonl":
        from .json_lines import read_objects

        return read_objects(source, sink)
    if kind == "parquet":
        from .parquet_rows import read_parquet

        return read_parquet(source, sink)
    return _named(_cells(source, kind, sink), sink)


def read_cells(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    faults: list[InputFault] | None = None,
) -> Iterator[Cells]:
    """Returns the rows of a CSV, TSV or xlsx file as bare cells, header rows included, streamed.

    For files without a header, or with several. Raises as `read_rows`, and for other formats.
    """
    source = _existing(Path(path))
    kind = table_format(source, format)
    if kind not in ("csv", "tsv", "xlsx"):
        raise InputError(
            [InputFault(str(source), f"rows of cells need CSV, TSV or xlsx, not {kind}")]
        )
    return _cells(source, kind, FaultSink(source, faults))


def column_names(path: str | Path, *, format: str | None = None) -> list[str]:  # noqa: A002
    """Returns the names of the columns in file order; of the first object for JSON lines.

    Raises:
        InputError: as `read_rows`.
    """
    source = _existing(Path(path))
    kind = table_format(source, format)
    sink = FaultSink(source, None)
    if kind == "parquet":
        from .parquet_rows import parquet_columns

        return parquet_columns(source, sink)
    if kind == "jsonl":
        first = next(iter(read_rows(source, format=kind)), None)
        return [] if first is None else list(first.values)
    header = next(_cells(source, kind, sink), None)
    if header is None:
        _no_header(source)
    names = checked_header(header, sink)
    return names if names is not None else []


def checked_header(header: Cells, sink: FaultSink) -> list[str] | None:
    """Returns the column names, trimmed; None where they do not serve, with faults reported."""
    names = [str(cell).strip() for cell in header.values]
    sound = True
    for position, name in enumerate(names, start=1):
        if not name:
            sound = False
            sink.report(
                header.line,
                f"column {position} of the header has no name "
                "(pandas writes one such column unless told index=False)",
            )
        elif "\x00" in name:
            sound = False
            sink.report(header.line, f"column {position}: the name must not hold a NUL character")
    for name in dict.fromkeys(name for name in names if name and names.count(name) > 1):
        sound = False
        places = ", ".join(str(i) for i, other in enumerate(names, start=1) if other == name)
        sink.report(
            header.line, f"the name stands twice in the header (columns {places})", field=name
        )
    return names if sound else None


def _named(rows: Iterator[Cells], sink: FaultSink) -> Iterator[Row]:
    header = next(rows, None)
    if header is None and sink.n_reported:
        return
    if header is None:
        _no_header(sink.path)
    names = checked_header(header, sink)
    if names is None:
        return
    width = len(names)
    for line, cells in rows:
        if len(cells) != width:
            sink.report(line, f"must have {width} cells as the header has, got {len(cells)}")
            continue
        yield Row(line, dict(zip(names, cells, strict=True)))


def _cells(source: Path, kind: TableFormat, sink: FaultSink) -> Iterator[Cells]:
    if kind == "xlsx":
        from .workbook import read_sheet

        return read_sheet(source, sink)
    from .delimited import read_delimited

    return read_delimited(source, sink, delimiter="\t" if kind == "tsv" else None)


def _existing(path: Path) -> Path:
    try:
        if path.is_dir():
            raise InputError([InputFault(str(path), "is a folder; name a file")])
        size = path.stat().st_size
    except FileNotFoundError:
        raise InputError([InputFault(str(path), "there is no such file")]) from None
    except (OSError, ValueError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    if size == 0:
        raise InputError([InputFault(str(path), "the file is empty")])
    return path


def _no_header(path: Path) -> NoReturn:
    raise InputError([InputFault(str(path), "the file holds no rows, not even a header")])
