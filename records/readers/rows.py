"""One row of a table file, and where the faults of a file are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError, InputFault

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


class Excluded(NamedTuple):
    """Stands in the place of a row that the tool itself marks as not to be used."""

    line: int
    reason: str
