"""A table handed in as a file, a data frame or any iterable, readable twice in constant memory."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import InputError, InputFault
from .csv_lines import writable
from .tables import Row, read_rows

_FRAME_ROWS = 1000


class Table:
    """Rows that can be read again and again.

    Attributes:
        path: the file the rows are read from; a spooled copy for what was not a file.
        description: what to call it in messages and in `run.json`.
    """

    def __init__(
        self,
        path: Path,
        description: str,
        *,
        is_spooled: bool,
        format: str | None = None,  # noqa: A002
    ) -> None:
        self.path = path
        # A file's name may be bytes that no UTF-8 file can hold.
        self.description: str = writable(description)
        self._is_spooled = is_spooled
        self._format = format

    def where(self, line: int) -> str:
        """Returns the place of a row as messages name it."""
        return f"row {line}" if self._is_spooled else f"{self.description}:{line}"

    def rows(self, faults: list[InputFault] | None = None) -> Iterator[Row]:
        """Returns the rows from the first one on; as `read_rows`."""
        if not self._is_spooled:
            return read_rows(self.path, format=self._format, faults=faults)
        # No row at all is for the reader of the rows to judge, here as for a header alone.
        if self.path.stat().st_size == 0:
            return iter(())
        return read_rows(self.path, format="jsonl", faults=faults)

    def stamp(self) -> tuple[int, int]:
        """Returns size and time of change, to notice a file that changes between two readings."""
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns

    def close(self) -> None:
        """Deletes the spooled copy, where there is one."""
        if self._is_spooled:
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # A caller who forgets to close leaves no copies of texts behind.
        if getattr(self, "_is_spooled", False):
            self.path.unlink(missing_ok=True)


def open_table(source: Any, *, format: str | None = None) -> Table:  # noqa: A002
    """Returns the source as a `Table`.

    A path is read in place. A pandas or polars data frame, or any other iterable of mappings (a
    generator too), is copied once to a temporary JSON lines file, which `close` deletes.

    Raises:
        InputError: for a source of another kind, or with rows that are not mappings.
    """
    if isinstance(source, str | Path):
        path = Path(source)
        read_rows(path, format=format)  # a missing file is said now, not in the middle of things
        return Table(path, str(path), is_spooled=False, format=format)
    description, records = _records(source)
    with tempfile.NamedTemporaryFile(
        "w", encoding="ascii", suffix=".jsonl", prefix="areopagus-", delete=False
    ) as spool:
        path = Path(spool.name)
        try:
            for number, record in enumerate(records, start=1):
                spool.write(_line(record, number))
        except BaseException:
            spool.close()
            path.unlink(missing_ok=True)
            raise
    return Table(path, description, is_spooled=True)


def _records(source: Any) -> tuple[str, Iterable[Any]]:
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(source, pandas.DataFrame):
        if not source.columns.is_unique:
            twice = sorted({str(name) for name in source.columns[source.columns.duplicated()]})
            raise InputError(f"the DataFrame has columns of the same name: {', '.join(twice)}")
        return "a DataFrame", _frame_records(source)
    if type(source).__module__.partition(".")[0] == "polars" and hasattr(source, "iter_rows"):
        return "a DataFrame", source.iter_rows(named=True)
    if isinstance(source, Mapping | bytes) or not isinstance(source, Iterable):
        raise InputError(
            "the source must be a path, a DataFrame or an iterable of mappings, "
            f"got {type(source).__name__}"
        )
    return "an iterable", source


def _frame_records(frame: Any) -> Iterator[dict[Any, Any]]:
    for start in range(0, len(frame), _FRAME_ROWS):
        yield from frame.iloc[start : start + _FRAME_ROWS].to_dict("records")


def _line(record: Any, number: int) -> str:
    if not isinstance(record, Mapping):
        raise InputError(
            [InputFault(f"row {number}", f"must be a mapping, got {type(record).__name__}")]
        )
    wrong = next((name for name in record if not isinstance(name, str)), None)
    if wrong is not None:
        raise InputError([InputFault(f"row {number}", f"column names must be text, got {wrong!r}")])
    try:
        return json.dumps({name: json_value(value) for name, value in record.items()}) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            [InputFault(f"row {number}", f"holds a value that cannot be stored: {error}")]
        ) from error


def json_value(value: Any) -> Any:
    """Returns the value as JSON can hold it: nan and pandas' missing values as None, numpy numbers
    as Python's, dates as ISO 8601 text, containers likewise throughout.

    Raises:
        TypeError: for a value of another kind.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    for convert in ("tolist", "isoformat"):  # numpy's scalars and arrays; dates and times
        method = getattr(value, convert, None)
        if callable(method):
            found = method()
            return json_value(found) if type(found) is not type(value) else found
    if type(value).__name__ in ("Decimal", "UUID"):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a value of a table")
