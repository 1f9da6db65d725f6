"""Rows of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .tables import FaultSink, Row

_BATCH_ROWS = 1024
"""Small, because one row may carry whole essays."""


def read_parquet(path: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the rows, dates and times as ISO 8601 text; a null is None."""
    opened = _opened(path, sink)
    if opened is None or not _sound_names(opened.schema_arrow.names, sink):
        return
    number = 0
    import pyarrow as pa

    try:
        for batch in opened.iter_batches(batch_size=_BATCH_ROWS):
            for values in batch.to_pylist():
                number += 1
                yield Row(number, {name: plain_value(value) for name, value in values.items()})
    except (pa.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        sink.report(number + 1, f"the Parquet data are broken: {error}")
    finally:
        opened.close()


def parquet_columns(path: Path, sink: FaultSink) -> list[str]:
    """Returns the column names of a Parquet file."""
    opened = _opened(path, sink)
    if opened is None:
        return []
    names = [str(name) for name in opened.schema_arrow.names]
    opened.close()
    return names if _sound_names(names, sink) else []


def plain_value(value: Any) -> Any:
    """Returns the value with dates and times as ISO 8601 text, everything else unchanged."""
    isoformat = getattr(value, "isoformat", None)
    return isoformat() if callable(isoformat) else value


def _opened(path: Path, sink: FaultSink) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        sink.report(None, f"not readable as Parquet: {error}")
        return None


def _sound_names(names: list[str], sink: FaultSink) -> bool:
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    for name in twice:
        sink.report(None, "two columns have this name", field=name)
    return not twice
