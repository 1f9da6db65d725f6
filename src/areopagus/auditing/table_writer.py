"""Rows into a Parquet file, group by group; the file takes its place when all is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..audits.answers_table import ColumnKind, arrow_schema
from ..records.run_folder import replaced
from ..records.spreadsheets import writable

ROW_GROUP = 5_000


class RowWriter:
    """Takes rows as dictionaries; columns that a row leaves out are missing in it."""

    def __init__(self, path: Path, columns: Mapping[str, ColumnKind]) -> None:
        import pyarrow.parquet as parquet

        self._schema = arrow_schema(columns)
        self._columns: dict[str, list[Any]] = {name: [] for name in columns}
        self._file = parquet.ParquetWriter(path, self._schema, compression="zstd")
        self.n_rows = 0

    def write(self, row: Mapping[str, Any]) -> None:
        """One row.

        Raises:
            ValueError: the row has a column that the table does not have.
        """
        if not row.keys() <= self._columns.keys():
            unknown = sorted(set(row) - set(self._columns))
            raise ValueError(f"the audit declares no column {', '.join(unknown)}")
        for name, values in self._columns.items():
            values.append(writable(row.get(name)))
        self.n_rows += 1
        if self.n_rows % ROW_GROUP == 0:
            self._flush()

    def close(self) -> None:
        """Writes what is left and closes the file."""
        try:
            if next(iter(self._columns.values())):
                self._flush()
        finally:
            self._file.close()

    def _flush(self) -> None:
        import pyarrow as pa

        self._file.write_table(pa.table(self._columns, schema=self._schema))
        for values in self._columns.values():
            values.clear()


@contextmanager
def written_rows(path: Path, columns: Mapping[str, ColumnKind]) -> Iterator[RowWriter]:
    """A writer whose file takes its place when the block ends without an error.

    Raises:
        StoreError: the folder cannot be written, or the disk is full.
    """
    with replaced(path) as part:
        writer = RowWriter(part, columns)
        try:
            yield writer
        finally:
            writer.close()
