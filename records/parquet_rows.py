"""Rows of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .delimited import FIELD_LIMIT_CHARS
from .tables import FaultSink, Row
from .text_lines import LINE_LIMIT_BYTES

_BATCH_ROWS = 1024
"""Small, because one row may carry whole essays."""

_BATCH_BYTES = 16 * 1024 * 1024
"""Most that a batch is expected to unpack to, and that becomes Python values at a time, but for a
single row that is larger: as much as the longest cell."""


def read_parquet(path: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the rows, dates and times as ISO 8601 text; a null is None.

    A cell or row that is longer than one of a CSV or JSON lines file may be is a fault. A few
    kilobytes can hold a text that a thousand rows repeat: how many rows are read at a time follows
    from what they unpack to.
    """
    opened = _opened(path, sink)
    if opened is None or not _sound_names(opened.schema_arrow.names, sink):
        return
    number = 0
    import pyarrow as pa

    from .parquet_pages import OversizedPageError, row_bytes

    try:
        most = row_bytes(path, opened.schema)
        batch_rows = min(_BATCH_ROWS, max(1, _BATCH_BYTES // max(most, 1)))
        for batch in opened.iter_batches(batch_size=batch_rows):
            for part in _slices(batch, number, sink):
                if part is None:
                    number += 1
                    continue
                for values in part.to_pylist():
                    number += 1
                    yield Row(number, {name: plain_value(value) for name, value in values.items()})
    except OversizedPageError as error:
        sink.report(None, str(error))
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


def _slices(batch: Any, before: int, sink: FaultSink) -> Iterator[Any]:
    """Returns the batch in parts that unpack to `_BATCH_BYTES`; None for each row refused.

    Args:
        batch: the rows.
        before: how many rows of the file come before it.
        sink: takes the faults.
    """
    import numpy as np

    from .parquet_sizes import unpacked_bytes

    sizes = [unpacked_bytes(column) for column in batch.columns]
    row_bytes = sum(sizes, np.zeros(batch.num_rows, dtype=np.int64))
    upto = np.concatenate([[0], np.cumsum(row_bytes)])
    first = 0
    while first < batch.num_rows:
        beyond = int(np.searchsorted(upto, upto[first] + _BATCH_BYTES, side="right")) - 1
        if beyond > first:
            yield batch.slice(first, beyond - first)
            first = beyond
            continue
        long = [place for place, size in enumerate(sizes) if size[first] > FIELD_LIMIT_CHARS]
        for place in long:
            sink.report(
                before + first + 1,
                f"the cell takes {sizes[place][first]:,} bytes; at most {FIELD_LIMIT_CHARS:,} "
                "are read",
                field=batch.schema.names[place],
            )
        if not long and row_bytes[first] > LINE_LIMIT_BYTES:
            sink.report(
                before + first + 1,
                f"the row takes {row_bytes[first]:,} bytes; at most {LINE_LIMIT_BYTES:,} are read",
            )
        elif not long:
            yield batch.slice(first, 1)
            first += 1
            continue
        yield None
        first += 1


def _sound_names(names: list[str], sink: FaultSink) -> bool:
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    for name in twice:
        sink.report(None, "two columns have this name", field=name)
    return not twice
