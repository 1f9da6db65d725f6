"""`Row` of a table file, `Limits` of what is read, and `FaultSink` for the faults of a file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError, InputFault

FAULT_LIMIT = 1000
"""After so many faults of format a file is given up: it is not what its suffix says."""

MAX_COLUMNS = 16_384
"""Most columns of a table: as many as a sheet has."""

FIELD_LIMIT_CHARS = 16 * 1024 * 1024
"""Longest cell; a quote that is never closed would otherwise swallow the file into one cell."""

LINE_LIMIT_BYTES = 64 * 1024 * 1024
"""Longest row or line that is read."""

DEFAULT_MAX_ROWS = 20_000_000
DEFAULT_MAX_GB = 64.0


class Limits(NamedTuple):
    """How much of one table is read: rows, and bytes once unpacked."""

    rows: int
    bytes: int

    def bytes_fault(self, n: float) -> str | None:
        """Returns why a table of n bytes, unpacked, is refused; None where it is not."""
        if n <= self.bytes:
            return None
        return (
            f"holds {n / 1e9:,.1f} GB unpacked; at most {self.bytes / 1e9:g} GB are read "
            "(AREOPAGUS_MAX_GB sets another limit)"
        )

    def rows_fault(self, n: int) -> str | None:
        """Returns why a table of n rows is refused; None where it is not."""
        if n <= self.rows:
            return None
        return (
            f"holds more than {self.rows:,} rows, which is the most that is read "
            "(AREOPAGUS_MAX_ROWS sets another limit)"
        )


def read_limits() -> Limits:
    """Returns the limits that `AREOPAGUS_MAX_ROWS` and `AREOPAGUS_MAX_GB` set, or the usual ones.

    Raises:
        InputError: a variable that is not a number above 0.
    """
    found: list[float] = []
    for name, default in (
        ("AREOPAGUS_MAX_ROWS", DEFAULT_MAX_ROWS),
        ("AREOPAGUS_MAX_GB", DEFAULT_MAX_GB),
    ):
        said = os.environ.get(name, "").strip() or default
        try:
            number = float(said)
        except ValueError:
            number = 0.0
        if not 0 < number < 1e15:
            raise InputError([InputFault(name, f"must be a number above 0, got {said!r}")])
        found.append(number)
    return Limits(int(found[0]), int(found[1] * 1e9))


class Row(NamedTuple):
    """One record and the place it came from.

    `line` is the line on which the record starts (CSV, TSV, JSON lines), the sheet's row (xlsx),
    or the number of the record from 1 (JSON, Parquet). In CSV and xlsx an empty cell is "".
    """

    line: int
    values: dict[str, Any]


class Cells(NamedTuple):
    """One row of a file without regard to a header."""

    line: int
    values: list[Any]


class Excluded(NamedTuple):
    """Stands in the place of a row that the tool that wrote the file marks as not to be used."""

    line: int
    reason: str


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


def too_many_columns(n: int) -> str:
    """Returns why a table of n columns is refused."""
    return f"has {n:,} columns; at most {MAX_COLUMNS:,} are read"


def checked_header(header: Cells, sink: FaultSink) -> list[str] | None:
    """Returns the column names, trimmed; None where they do not serve, with faults reported."""
    if len(header.values) > MAX_COLUMNS:
        sink.report(header.line, too_many_columns(len(header.values)))
        return None
    names = [str(cell).strip() for cell in header.values]
    before = sink.n_reported
    for position, name in enumerate(names, start=1):
        if not name:
            sink.report(
                header.line,
                f"column {position} of the header has no name "
                "(pandas writes one such column unless told index=False)",
            )
        elif "\x00" in name:
            sink.report(header.line, f"column {position}: the name must not hold a NUL character")
    for name, n in Counter(name for name in names if name).items():
        if n > 1:
            places = [i for i, other in enumerate(names, start=1) if other == name]
            shown = ", ".join(map(str, places[:10])) + (", …" if n > 10 else "")
            sink.report(
                header.line, f"the name stands twice in the header (columns {shown})", field=name
            )
    return names if sink.n_reported == before else None


def named_rows(rows: Iterable[Cells], names: Sequence[str], sink: FaultSink) -> Iterator[Row]:
    """Returns the rows below a header; one of another width is a fault and left out."""
    for line, cells in rows:
        if len(cells) != len(names):
            sink.report(line, f"must have {len(names)} cells as the header has, got {len(cells)}")
            continue
        yield Row(line, dict(zip(names, cells, strict=True)))
