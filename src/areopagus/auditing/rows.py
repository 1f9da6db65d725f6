"""The table of answers as it stands between two stages, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BATCH_ROWS = 2_048


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table in order, in constant memory."""
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            yield from batch.to_pylist()
