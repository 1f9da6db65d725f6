"""Opens any source of rows: a table file, a data frame, or an iterable of mappings."""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import InputError, InputFault
from ..spreadsheets import writable
from .inspect_log import is_log, log_rows, read_eval_log
from .parquet import read_parquet
from .rows import Cells, FaultSink, Row, checked_header, named_rows, read_limits
from .saved_dataset import is_saved_dataset, read_saved_dataset
from .saved_outputs import SAVED_KINDS, read_saved, saved_rows
from .statistical import read_statistical
from .text import read_delimited, read_json
from .xlsx import read_sheet


class TableFormat(NamedTuple):
    """How files of one format are read.

    Attributes:
        suffixes: what their names end in.
        read: brings their rows as `Row`; or, where the first row names the columns, as `Cells`.
        is_cells: whether it is the latter.
        is_text: whether they may be gzipped as well (`.csv.gz`).
    """

    suffixes: tuple[str, ...]
    read: Callable[[Path, FaultSink], Iterator[Any]]
    is_cells: bool = False
    is_text: bool = True


def _read_json(path: Path, sink: FaultSink) -> Iterator[Row]:
    records = read_json(path, sink)
    first = next(records, None)
    if first is None:
        return
    if is_log(first.values):
        yield from log_rows(first.values, sink)
    else:
        yield from saved_rows(chain([first], records), path, sink)


_FORMATS: dict[str, TableFormat] = {
    "csv": TableFormat((".csv",), read_delimited, is_cells=True),
    "tsv": TableFormat((".tsv", ".tab"), partial(read_delimited, delimiter="\t"), is_cells=True),
    "jsonl": TableFormat((".jsonl", ".ndjson"), read_saved),
    "json": TableFormat((".json",), _read_json),
    "eval": TableFormat((".eval",), read_eval_log, is_text=False),
    "parquet": TableFormat((".parquet", ".pq"), read_parquet, is_text=False),
    "xlsx": TableFormat((".xlsx",), read_sheet, is_cells=True, is_text=False),
    "sav": TableFormat((".sav", ".zsav"), read_statistical, is_text=False),
    "dta": TableFormat((".dta",), read_statistical, is_text=False),
    # These are known by their content; a name serves where it is not to be something else.
    **{kind: TableFormat((), partial(read_saved, kind=kind)) for kind in SAVED_KINDS},
}
"""A new format of files is a reader and a line here."""

TABLE_FORMATS = tuple(_FORMATS)


def table_format(path: Path, name: str | None = None) -> TableFormat:
    """Returns the format of a file: the one named, or the one its suffix says.

    Raises:
        InputError: for a name or suffix that is not one of the formats.
    """
    if name is not None:
        if name not in _FORMATS:
            raise InputError(f"format: must be one of {', '.join(TABLE_FORMATS)}, got {name!r}")
        return _FORMATS[name]
    file = path.name.lower()
    suffix = Path(file.removesuffix(".gz")).suffix
    for one in _FORMATS.values():
        if suffix in one.suffixes and (one.is_text or not file.endswith(".gz")):
            return one
    text, other = (
        ", ".join(end for one in _FORMATS.values() if one.is_text is kind for end in one.suffixes)
        for kind in (True, False)
    )
    allowed = f"{text} (each also with .gz), {other}"
    raise InputError(
        [InputFault(str(path), f"must end in one of {allowed}; got {path.name!r}")],
        hint="name the format where the suffix does not say it",
    )


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
        path: the file; or a folder that Hugging Face `datasets` saved, of several splits the
            folder of one.
        format: one of `TABLE_FORMATS`; by default the suffix says.
        faults: a list that takes the faults of format (ragged row, malformed JSON line, …), the
            row then being left out; by default the first one is raised.

    Raises:
        InputError: at once for a missing file, a folder, an empty file or an unknown suffix; while
            reading for a fault of format where no list was given, or at the `FAULT_LIMIT`th.
    """
    source = Path(path)
    sink = FaultSink(source, faults)
    if is_saved_dataset(source):
        return _counted(read_saved_dataset(source, sink), sink)
    chosen = table_format(_existing(source), format)
    rows = chosen.read(source, sink)
    return _counted(_named(rows, sink) if chosen.is_cells else rows, sink)


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
    chosen = table_format(source, format)
    if not chosen.is_cells:
        wanted = "rows of cells need CSV, TSV or xlsx"
        raise InputError([InputFault(str(source), f"{wanted}, not {chosen.suffixes[0]}")])
    return chosen.read(source, FaultSink(source, faults))


def _counted(rows: Iterator[Row], sink: FaultSink) -> Iterator[Row]:
    limits = read_limits()
    for n, row in enumerate(rows, start=1):
        if fault := limits.rows_fault(n):
            sink.report(row.line, fault)
            return
        yield row


def _named(rows: Iterator[Cells], sink: FaultSink) -> Iterator[Row]:
    header = next(rows, None)
    if header is None and not sink.n_reported:
        raise InputError([InputFault(str(sink.path), "the file holds no rows, not even a header")])
    names = None if header is None else checked_header(header, sink)
    if names is not None:
        yield from named_rows(rows, names, sink)


def _existing(path: Path) -> Path:
    try:
        if path.is_dir():
            raise InputError([InputFault(str(path), "is a folder; name a file")])
        size = path.stat().st_size
    except FileNotFoundError:
        raise InputError([InputFault(str(path), "there is no such file")]) from None
    except (OSError, ValueError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    fault = "the file is empty" if size == 0 else read_limits().bytes_fault(size)
    if fault is not None:
        raise InputError([InputFault(str(path), fault)])
    return path


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
        is_spooled: bool = False,
        format: str | None = None,  # noqa: A002
    ) -> None:
        self.path = path
        # A file's name may be bytes that no UTF-8 file can hold.
        self.description: str = writable(description)
        self._format = format
        self._is_spooled = is_spooled
        if is_spooled:
            # A caller who forgets to close leaves no copies of texts behind.
            self._delete = weakref.finalize(self, path.unlink, missing_ok=True)

    def where(self, line: int) -> str:
        """Returns the place of a row as messages name it."""
        return f"row {line}" if self._is_spooled else f"{self.description}:{line}"

    def rows(self, faults: list[InputFault] | None = None) -> Iterator[Row]:
        """Returns the rows from the first one on; as `read_rows`."""
        # No row at all is for the reader of the rows to judge, here as for a header alone.
        if self._is_spooled and self.path.stat().st_size == 0:
            return iter(())
        return read_rows(self.path, format=self._format, faults=faults)

    def stamp(self) -> tuple[int, int]:
        """Returns size and time of change, to notice a file that changes between two readings."""
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns

    def close(self) -> None:
        """Deletes the spooled copy, where there is one."""
        if self._is_spooled:
            self._delete()

    def __enter__(self) -> Table:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_table(source: Any, *, format: str | None = None) -> Table:  # noqa: A002
    """Returns the source as a `Table`.

    A path is read in place; `hf://owner/name…` is a data set on a Hugging Face hub (see
    `integrations.hugging_face.from_hub`). A pandas or polars data frame, a Hugging Face data set,
    or any other iterable of mappings (a generator too), is copied once to a temporary JSON lines
    file, which `close` deletes: it is read twice.

    Raises:
        InputError: for a source of another kind, or with rows that are not mappings.
    """
    if isinstance(source, str | Path):
        if not _HUB_ADDRESS.match(str(source)):
            return _file(Path(source), str(Path(source)), format)
        hub = import_module("...integrations.hugging_face", __package__)
        description, found = hub.from_hub(str(source))
        if isinstance(found, Path):
            return _file(found, description, format)
        return _spooled(description, found)
    return _spooled(*_records(source))


_HUB_ADDRESS = re.compile(r"hf:/+")
"""Of a data set on a Hugging Face hub; a `Path` made of one has a single slash."""


def _file(path: Path, description: str, format: str | None) -> Table:  # noqa: A002
    read_rows(path, format=format)  # a missing file is said now, not in the middle of things
    return Table(path, description, format=format)


def _spooled(description: str, records: Iterable[Any]) -> Table:
    limits = read_limits()
    with tempfile.NamedTemporaryFile(
        "w", encoding="ascii", suffix=".jsonl", prefix="areopagus-", delete=False
    ) as spool:
        path = Path(spool.name)
        try:
            for number, record in enumerate(records, start=1):
                fault = limits.rows_fault(number)
                if fault is not None:
                    raise InputError([InputFault(description, fault)])
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
