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

BATCH_ROWS = 64
"""Most rows read at a time: one may carry whole essays, and more would hardly be faster."""

_BATCH_BYTES = 16 * 1024 * 1024
"""Most that is read at a time where the rows are large; a single one may be larger."""

_FIRST_ROWS = 4
"""So many rows of a row group are read before it is decided how many at a time."""


def read_parquet(path: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the rows, dates and times as ISO 8601 text; a null is None.

    Rows, bytes and row groups beyond the limits are refused from what the file says of itself
    before any is read, and bytes again from what it turns out to hold: its own figures may be
    wrong, and some encodings store once what many rows share. A cell or row longer than one of a
    CSV file may be is a fault.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(path)
    except (pa.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        sink.report(None, f"not readable as Parquet: {error}")
        return
    with file:
        if _is_sound(file, sink):
            yield from read_batches(_batches(file), sink, "Parquet")


def read_batches(batches: Iterator[Any], sink: FaultSink, kind: str) -> Iterator[Row]:
    """Returns the rows of Arrow's batches; what is broken or beyond the limits is a fault.

    Args:
        batches: small ones: each is in memory whole.
        sink: takes the faults.
        kind: what the data are called.
    """
    import pyarrow as pa

    limits = read_limits()
    number = n_bytes = 0
    try:
        for batch in batches:
            # A damaged file may point beyond its dictionary, where Arrow reads whatever lies there.
            batch.validate(full=True)
            sizes = _cell_sizes(batch)
            n_bytes += int(sizes.sum())
            fault = limits.bytes_fault(n_bytes)
            if fault is not None:
                sink.report(number + 1, fault)
                return
            is_kept = [
                _is_within_limits(number + place, sizes[:, place - 1], batch.schema.names, sink)
                for place in range(1, len(batch) + 1)
            ]
            kept = iter((batch if all(is_kept) else batch.filter(is_kept)).to_pylist())
            for is_read in is_kept:
                number += 1
                if is_read:
                    values = {name: plain_value(value) for name, value in next(kept).items()}
                    yield Row(number, values)
    except (pa.ArrowException, OSError, ValueError, OverflowError, TypeError) as error:
        sink.report(number + 1, f"the {kind} data are broken: {error}")


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
    groups = _group_bytes(file)
    for place, size in enumerate(groups, start=1):
        if size > GROUP_LIMIT_BYTES:
            sink.report(
                None,
                f"row group {place} unpacks to {size:,} bytes; at most {GROUP_LIMIT_BYTES:,} are "
                "read (write it with smaller row groups)",
            )
            break
    for fault in (
        limits.bytes_fault(sum(max(size, 0) for size in groups)),
        limits.rows_fault(file.metadata.num_rows),
    ):
        if fault is not None:
            sink.report(None, fault)
    return sink.n_reported == before


def _group_bytes(file: Any) -> list[int]:
    """What each row group unpacks to; pyarrow may end the process where columns are asked about."""
    return [
        file.metadata.row_group(place).total_byte_size
        for place in range(file.metadata.num_row_groups)
    ]


def _batches(file: Any) -> Iterator[Any]:
    """Returns the rows in Arrow's batches, of about `_BATCH_BYTES` where the rows are large."""
    for group in range(file.metadata.num_row_groups):
        mean = max(_bytes_of_row(file, group), 1)
        rows = min(BATCH_ROWS, max(1, _BATCH_BYTES // mean))
        yield from file.iter_batches(batch_size=rows, row_groups=[group])


def _bytes_of_row(file: Any, group: int) -> int:
    """What a row of a row group takes, by the file's own figures or its first rows, if more."""
    told = file.metadata.row_group(group)
    mean: int = told.total_byte_size // max(told.num_rows, 1)
    first = next(file.iter_batches(batch_size=_FIRST_ROWS, row_groups=[group]), None)
    if first is None:
        return mean
    first.validate(full=True)
    return max(mean, int(_cell_sizes(first).sum()) // max(len(first), 1))


def _is_within_limits(number: int, sizes: Any, names: list[str], sink: FaultSink) -> bool:
    """Whether a row of these cell sizes is read; a fault for each cell that is too long, or one for
    the row.
    """
    total = int(sizes.sum())
    if total <= FIELD_LIMIT_CHARS:
        return True
    before = sink.n_reported
    for name, size in zip(names, sizes.tolist(), strict=True):
        if size > FIELD_LIMIT_CHARS:
            message = f"the cell takes {size:,} bytes; at most {FIELD_LIMIT_CHARS:,} are read"
            sink.report(number, message, field=name)
    if sink.n_reported == before and total > LINE_LIMIT_BYTES:
        sink.report(number, f"the row takes {total:,} bytes; at most {LINE_LIMIT_BYTES:,} are read")
    return sink.n_reported == before


def _cell_sizes(batch: Any) -> Any:
    """Returns the bytes of each cell, shape (columns, rows)."""
    import numpy as np

    sizes = [_cell_bytes(column) for column in batch.columns]
    return np.array(sizes, dtype=np.int64).reshape(len(sizes), len(batch))


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
