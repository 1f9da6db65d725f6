"""Reads the rows of Parquet files, within limits on what they may unpack to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .cells import plain_value
from .rows import (
    FIELD_LIMIT_CHARS,
    LINE_LIMIT_BYTES,
    MAX_COLUMNS,
    FaultSink,
    Row,
    read_limits,
    too_many_columns,
)

GROUP_LIMIT_BYTES = 4 * 1024**3
"""Largest row group, unpacked: writers make groups of 64 MB to 1 GB, and a page of every column of
a group is in memory at once."""

_BATCH_ROWS = 1024
"""Small, because one row may carry whole essays."""

_BATCH_BYTES = 16 * 1024 * 1024
"""Most that is read, and that becomes Python values, at a time; a single row may be larger."""


def read_parquet(path: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the rows, dates and times as ISO 8601 text; a null is None.

    Rows, bytes and row groups beyond the limits are refused from what the file says of itself
    before any is read. A cell or row longer than one of a CSV file may be is a fault.
    """
    import pyarrow as pa

    number = 0
    try:
        for batch in _batches(path, sink):
            # A damaged file may point beyond its dictionary, where Arrow reads whatever lies there.
            batch.validate(full=True)
            for part in _slices(batch, number, sink):
                if part is None:
                    number += 1
                    continue
                for values in part.to_pylist():
                    number += 1
                    yield Row(number, {name: plain_value(value) for name, value in values.items()})
    except (pa.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        sink.report(number + 1, f"the Parquet data are broken: {error}")


def _batches(path: Path, sink: FaultSink) -> Iterator[Any]:
    """Returns the rows in Arrow's batches; texts that the file stores once as dictionaries."""
    import pyarrow as pa

    file = _opened(path, sink)
    if file is None:
        return
    with file:
        if not _is_sound(file, sink):
            return
        mean = _unpacked(file) // max(file.metadata.num_rows, 1)
        batch_rows = min(_BATCH_ROWS, max(1, _BATCH_BYTES // max(mean, 1)))
        leaves = [file.schema.column(place) for place in range(len(file.schema))]
    # A text that the file stores once for a thousand rows is held once here as well.
    texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    is_begun = False
    try:
        with _again(path, texts) as file:
            for batch in file.iter_batches(batch_size=batch_rows):
                is_begun = True
                yield batch
    except (pa.ArrowException, OSError) as error:
        # Arrow cannot read the delta encodings into a dictionary, and says so in this way.
        if is_begun or "Not yet implemented" not in str(error):
            raise
        with _again(path, []) as file:
            yield from file.iter_batches(batch_size=batch_rows)


def _opened(path: Path, sink: FaultSink) -> Any:
    import pyarrow as pa

    try:
        return _again(path, [])
    except (pa.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        sink.report(None, f"not readable as Parquet: {error}")
        return None


def _again(path: Path, texts: list[str]) -> Any:
    import pyarrow.parquet as parquet

    return parquet.ParquetFile(path, read_dictionary=texts)


def _groups(file: Any) -> list[int]:
    """What each row group unpacks to; pyarrow may end the process where columns are asked about."""
    return [
        file.metadata.row_group(place).total_byte_size
        for place in range(file.metadata.num_row_groups)
    ]


def _unpacked(file: Any) -> int:
    return sum(max(size, 0) for size in _groups(file))


def _is_sound(file: Any, sink: FaultSink) -> bool:
    """Whether the names serve and the sizes are within the limits; faults are reported."""
    names = file.schema_arrow.names
    before, limits = sink.n_reported, read_limits()
    if len(names) > MAX_COLUMNS:
        sink.report(None, too_many_columns(len(names)))
        return False
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            sink.report(None, "two columns have this name", field=name)
    for place, size in enumerate(_groups(file), start=1):
        if size > GROUP_LIMIT_BYTES:
            sink.report(
                None,
                f"row group {place} unpacks to {size:,} bytes; at most {GROUP_LIMIT_BYTES:,} are "
                "read (write it with smaller row groups)",
            )
            break
    for fault in (
        limits.bytes_fault(_unpacked(file)),
        limits.rows_fault(file.metadata.num_rows),
    ):
        if fault is not None:
            sink.report(None, fault)
    return sink.n_reported == before


def _slices(batch: Any, before: int, sink: FaultSink) -> Iterator[Any]:
    """Returns the batch in parts that unpack to `_BATCH_BYTES`; None for each row refused.

    Args:
        batch: the rows.
        before: how many rows of the file come before it.
        sink: takes the faults.
    """
    import numpy as np

    sizes = [_cell_bytes(column) for column in batch.columns]
    of_rows = sum(sizes, np.zeros(batch.num_rows, dtype=np.int64))
    upto = np.concatenate([[0], np.cumsum(of_rows)])
    first = 0
    while first < batch.num_rows:
        beyond = int(np.searchsorted(upto, upto[first] + _BATCH_BYTES, side="right")) - 1
        if beyond > first:
            yield batch.slice(first, beyond - first)
            first = beyond
            continue
        n_before = sink.n_reported
        for place, size in enumerate(sizes):
            if size[first] > FIELD_LIMIT_CHARS:
                sink.report(
                    before + first + 1,
                    f"the cell takes {size[first]:,} bytes; at most {FIELD_LIMIT_CHARS:,} are read",
                    field=batch.schema.names[place],
                )
        if sink.n_reported == n_before and of_rows[first] > LINE_LIMIT_BYTES:
            sink.report(
                before + first + 1,
                f"the row takes {of_rows[first]:,} bytes; at most {LINE_LIMIT_BYTES:,} are read",
            )
        yield batch.slice(first, 1) if sink.n_reported == n_before else None
        first += 1


def _cell_bytes(column: Any) -> Any:
    """Returns the bytes of each row's cell, shape (rows,); of lists and objects the mean."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as compute

    kind = column.type
    if pa.types.is_dictionary(kind):
        # What stands where there is a null may point anywhere; nulls are left out first.
        lengths = _cell_bytes(column.dictionary)
        places = np.asarray(column.indices.fill_null(0))
        return lengths[places] if len(lengths) else np.zeros(len(column), dtype=np.int64)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return _cell_bytes(column.cast(pa.large_binary()))
    if (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    ):
        return np.asarray(compute.binary_length(column).fill_null(0)).astype(np.int64)
    mean = column.nbytes // max(len(column), 1)
    return np.full(len(column), mean, dtype=np.int64)
