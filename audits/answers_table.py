"""The table of answers of an audit: one row a planned asking, whatever became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InputError, InputFault
from ..records.run_folder import replaced
from ..records.spreadsheets import writable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

ANSWERS_FILE = "answers.parquet"
VOTES_FILE = "votes.parquet"
_BATCH_ROWS = 8_192
_ROW_GROUP = 5_000

ColumnKind = Literal["text", "integer", "number", "boolean"]

OWN_COLUMNS: Mapping[str, ColumnKind] = {
    "item_id": "text",
    "unit": "text",
    "target": "text",
    "repeat": "integer",
    "prompt_text": "text",
    "response_text": "text",
    "status": "text",
    "by": "text",
    "reason": "text",
    "is_cut_off": "boolean",
    "finish_reason": "text",
    "answered_by": "text",
    "input_tokens": "integer",
    "output_tokens": "integer",
    "cost_usd": "number",
    "judging": "text",
    "judge_calls": "integer",
    "judge_cost_usd": "number",
}
"""Columns that every audit's table begins with; then the audit's item columns, then its values.

`by` says who classified: `rule`, `judges`, or nothing. `judging` is the ruling's outcome, empty
where no judge was asked. Costs are of the calls themselves, whoever paid for them in which session.
"""

VOTE_COLUMNS: Mapping[str, ColumnKind] = {
    "item_id": "text",
    "unit": "text",
    "target": "text",
    "repeat": "integer",
    "question": "text",
    "slot": "text",
    "model": "text",
    "status": "text",
    "detail": "text",
    "value": "text",
    "calls": "integer",
    "cost_usd": "number",
}
"""Columns of the table of judges' votes; `value` is the judge's object as JSON, `question` a hash
of what judges were asked: answers that differ in nothing that judges see are one question."""


def arrow_schema(columns: Mapping[str, ColumnKind]) -> pa.Schema:
    """The columns as a Parquet schema."""
    import pyarrow as pa

    kinds = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
    }
    return pa.schema([(name, kinds[kind]) for name, kind in columns.items()])


class AnswersTable:
    """The answers of one audit run, streamed from disk or as whole columns."""

    def __init__(self, folder: str | Path, targets: Sequence[str]) -> None:
        """Names the folder; nothing is read yet.

        Args:
            folder: the run folder.
            targets: the models under test, or the respondents, in the order of the report.
        """
        self.folder = Path(folder)
        self.targets = tuple(targets)

    def rows(self, *names: str) -> Iterator[dict[str, Any]]:
        """The rows in order, with these columns (all, if none is named), in constant memory."""
        yield from _rows(self.folder / ANSWERS_FILE, names)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        import pyarrow.parquet as parquet

        path = self.folder / ANSWERS_FILE
        with _opened(path):
            return int(parquet.read_metadata(path).num_rows)

    def frames(self, *names: str) -> Iterator[pd.DataFrame]:
        """The same as DataFrames of some thousand rows each."""
        import pyarrow.parquet as parquet

        path = self.folder / ANSWERS_FILE
        with _opened(path):
            file = parquet.ParquetFile(path)
        with file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(names) or None):
                yield _with(names, batch.to_pandas())

    def frame(self, columns: Sequence[str], *, with_prompts: bool = False) -> pd.DataFrame:
        """These columns whole, and `prompt` if asked for: equal numbers where prompts are equal."""
        import pandas as pd
        import pyarrow.parquet as parquet

        path = self.folder / ANSWERS_FILE
        with _opened(path), parquet.ParquetFile(path) as file:
            found = _with(columns, file.read(columns=list(columns)).to_pandas())
        if not with_prompts:
            return found
        places: dict[bytes, int] = {}
        # Sixteen bytes a prompt instead of the prompt: there may be a million.
        prompts = [
            places.setdefault(
                sha256(row["prompt_text"].encode("utf-8", "surrogatepass")).digest()[:16],
                len(places),
            )
            for row in self.rows("prompt_text")
        ]
        found["prompt"] = pd.Series(prompts, index=found.index, dtype="int64")
        return found

    def counts(self) -> dict[str, dict[str, int]]:
        """Target to status to number of askings; the sum over statuses is what was planned."""
        found: dict[str, Counter[str]] = {target: Counter() for target in self.targets}
        for row in self.rows("target", "status"):
            found.setdefault(row["target"], Counter())[row["status"]] += 1
        return {target: dict(sorted(counter.items())) for target, counter in found.items()}

    def votes(self, *names: str) -> Iterator[dict[str, Any]]:
        """The judges' votes in order; none where no judge was asked."""
        if (self.folder / VOTES_FILE).is_file():
            yield from _rows(self.folder / VOTES_FILE, names)


def _rows(path: Path, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as parquet

    with _opened(path):
        file = parquet.ParquetFile(path)
    with file:
        there = set(file.schema_arrow.names)
        absent = {name: None for name in names if name not in there}
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=list(names) or None):
            rows = batch.to_pylist()
            yield from ({**row, **absent} for row in rows) if absent else rows


def _with(names: Sequence[str], found: pd.DataFrame) -> pd.DataFrame:
    """With the columns that an audit has since, empty in a table of before."""
    return found.assign(**{name: None for name in names if name not in found.columns})


class HeldAnswers(AnswersTable):
    """The answers of one respondent in memory, of which parts can be taken.

    For figures that are computed anew without some of the units. There are no votes among them.
    """

    def __init__(self, table: pa.Table, target: str) -> None:
        """Takes the rows, with a number a prompt in the column `_PROMPT`."""
        super().__init__("", (target,))
        self.table = table

    @classmethod
    def read(cls, file: Path, target: str, label: str) -> HeldAnswers:
        """The rows of a respondent, who is called by the label from now on.

        Raises:
            InputError: the table cannot be read.
        """
        import pyarrow as pa
        import pyarrow.compute as compute
        import pyarrow.parquet as parquet

        with _opened(file):
            table = parquet.read_table(file, filters=compute.field("target") == target)
        place = table.schema.get_field_index("target")
        table = table.set_column(place, "target", pa.array([label] * len(table), pa.string()))
        prompts = compute.dictionary_encode(table["prompt_text"].combine_chunks()).indices
        return cls(table.append_column(_PROMPT, prompts.cast(pa.int64())), label)

    def only(self, mask: npt.NDArray[np.bool_]) -> HeldAnswers:
        """These rows alone."""
        import pyarrow as pa

        return HeldAnswers(self.table.filter(pa.array(mask)), self.targets[0])

    def rows(self, *names: str) -> Iterator[dict[str, Any]]:
        """See `AnswersTable.rows`."""
        absent = {name: None for name in names if name not in self.table.column_names}
        yield from ({**row, **absent} for row in self._columns(names).to_pylist())

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.table)

    def frames(self, *names: str) -> Iterator[pd.DataFrame]:
        """All rows at once."""
        if len(self.table):
            yield _with(names, self._columns(names).to_pandas())

    def frame(self, columns: Sequence[str], *, with_prompts: bool = False) -> pd.DataFrame:
        """See `AnswersTable.frame`."""
        found = _with(columns, self._columns(columns).to_pandas())
        return found.assign(prompt=self.table[_PROMPT].to_numpy()) if with_prompts else found

    def votes(self, *names: str) -> Iterator[dict[str, Any]]:
        """None."""
        yield from ()

    def _columns(self, names: Sequence[str]) -> pa.Table:
        if not names:
            return self.table.drop_columns([_PROMPT])
        return self.table.select([name for name in names if name in self.table.column_names])


_PROMPT = "_prompt"


class _opened:  # noqa: N801 - reads as a statement
    """Turns what keeps a table from being read into our error."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError | ValueError):
            raise InputError([InputFault(str(self._path), f"cannot be read: {error}")]) from error


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table in order, in constant memory."""
    yield from _rows(path, ())


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
        if self.n_rows % _ROW_GROUP == 0:
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
