"""The tables of a run, written as verdicts come, in constant memory, and read back.

judgments.parquet holds a row for each planned judgment, scores.csv one for each response, and
texts.parquet the prompts and responses for the report.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import InputError, InputFault, StoreError
from .readers.text import allow_long_cells
from .run_folder import JUDGMENTS_FILE, SCORES_FILE, TEXTS_FILE, replaced, unwritable
from .spreadsheets import (
    CsvLines,
    carried_names,
    spreadsheet_safe,
    spreadsheet_safe_or_number,
    spreadsheet_text,
    writable,
)
from .types import Judgment, Verdict

if TYPE_CHECKING:
    import pandas as pd

ROW_GROUP = 20_000

JUDGMENT_COLUMNS = (
    "response_id",
    "prompt_id",
    "respondent_id",
    "persona",
    "axis",
    "model",
    "repeat",
    "status",
    "reason",
    "detail",
)
"""Columns of judgments.parquet before the criteria."""

PROVENANCE_COLUMNS = (
    "rationale",
    "mode",
    "score_mode",
    "structured",
    "answered_by",
    "repaired",
    "calls",
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_usd",
    "ledger_key",
)
"""Columns of judgments.parquet after the criteria. HTTP attempts, and whether a reply came from the
ledger, belong to a session and not to the vote: a rerun must give the same table."""

_INTEGERS = frozenset(
    {
        "repeat",
        "calls",
        "input_tokens",
        "cached_input_tokens",
        "output_tokens",
        "reasoning_tokens",
    }
)

SCORE_COLUMNS = (
    "response_id",
    "prompt_id",
    "respondent_id",
    "status",
    "reason",
    "n_scored",
    "n_planned",
    "composite",
    "composite_low",
    "composite_high",
    "interval_method",
    "interval_reason",
    "median",
    "trimmed_mean",
    "sd",
    "disagreement",
    "share_abstained",
    "n_abstained",
    "n_refused",
    "n_unreadable",
    "n_failed",
    "n_not_asked",
    "cost_usd",
    "flags",
)
"""Columns of scores.csv that every run has; then the criteria with their limits, and the means by
axis, model and persona, and last what the input carried."""


class _Parts:
    """Files of a folder that take their places together, when all went well."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._places = ExitStack()
        self._writers = ExitStack()

    def parquet(self, name: str, schema: Any) -> Any:
        """A writer of a Parquet table."""
        import pyarrow.parquet as parquet

        part = self._places.enter_context(replaced(self.folder / name))
        writer = parquet.ParquetWriter(part, schema, compression="zstd")
        self._writers.callback(writer.close)
        return writer

    def csv(self, name: str) -> CsvLines:
        """A writer of a CSV table."""
        part = self._places.enter_context(replaced(self.folder / name))
        handle = part.open("w", encoding="utf-8", newline="")
        return CsvLines(self._writers.enter_context(handle))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turns errors of the disk into StoreError."""
        try:
            yield
        except OSError as error:
            raise unwritable(self.folder, error) from error

    @contextmanager
    def opening(self) -> Iterator[None]:
        """As `writing`; what was opened is dropped where something goes wrong."""
        with ExitStack() as stack, self.writing():
            stack.callback(self.abandon)
            yield
            stack.pop_all()

    def close(self) -> None:
        """Puts the files in place, once all are closed: the last bytes of one may find the disk
        full, and the tables of a folder belong together.
        """
        with self.writing():
            self._writers.close()
            self._places.close()

    def abandon(self) -> None:
        """Drops what was written; files that were there before stay as they are."""
        error = _AbandonedError()
        # The disk may be as full for the last bytes as it was for those before.
        with suppress(OSError, StoreError):
            self._writers.close()
        with suppress(OSError, StoreError):
            self._places.__exit__(type(error), error, None)


class TableWriter:
    """Writes both tables; they take their places when `close` is called without an error."""

    def __init__(
        self,
        folder: Path,
        *,
        criteria: Sequence[str],
        personas: Sequence[str],
        models: Sequence[str],
        axes: Sequence[str],
        carried: Sequence[str] = (),
    ) -> None:
        self._criteria = tuple(criteria)
        self._personas, self._models, self._axes = tuple(personas), tuple(models), tuple(axes)
        self._schema = judgment_schema(criteria)
        header = score_header(criteria, personas, models, axes)
        self._carried = tuple(carried)
        header += carried_names(carried, header)
        self._rows: list[Judgment] = []
        self._parts = _Parts(folder)
        with self._parts.opening():
            self._csv = self._parts.csv(SCORES_FILE)
            self._parquet = self._parts.parquet(JUDGMENTS_FILE, self._schema)
            self._csv.write(map(spreadsheet_safe, header))

    def add(self, verdict: Verdict, carried: Mapping[str, Any] | None = None) -> None:
        """One response: its judgments and its row.

        Raises:
            StoreError: the folder cannot be written any more.
        """
        self._rows.extend(verdict.judgments)
        extra = carried or {}
        with self._parts.writing():
            if len(self._rows) >= ROW_GROUP:
                self._flush()
            self._csv.write(
                [
                    *self._score_row(verdict),
                    *(spreadsheet_safe_or_number(_cell(extra.get(name))) for name in self._carried),
                ]
            )

    def close(self) -> None:
        """Finishes both files and puts them in place.

        Raises:
            StoreError: the folder cannot be written any more; what was there stays as it is.
        """
        with self._parts.writing():
            self._flush()
        self._parts.close()

    def abandon(self) -> None:
        """Drops what was written; tables that were there before stay as they are."""
        self._parts.abandon()

    def _flush(self) -> None:
        if not self._rows:
            return
        import pyarrow as pa

        columns = {
            name: [getattr(row, name) for row in self._rows]
            for name in (*JUDGMENT_COLUMNS, *PROVENANCE_COLUMNS)
        }
        for name in self._criteria:
            columns[name] = [row.scores.get(name) for row in self._rows]
        for name, values in columns.items():
            if self._schema.field(name).type == pa.string():
                columns[name] = [writable(text) for text in values]
        self._parquet.write_table(pa.table(columns, schema=self._schema))
        self._rows.clear()

    def _score_row(self, verdict: Verdict) -> list[Any]:
        counts = verdict.counts
        low, high = verdict.interval or (None, None)
        row = [
            *map(_text_cell, (verdict.response_id, verdict.prompt_id, verdict.respondent_id)),
            verdict.status,
            _text_cell(verdict.reason),
            verdict.n_scored,
            verdict.n_planned,
            _shown(verdict.composite),
            _shown(low),
            _shown(high),
            _text_cell(verdict.interval_method),
            _text_cell(verdict.interval_reason),
            _shown(verdict.median),
            _shown(verdict.trimmed_mean),
            _shown(verdict.sd),
            verdict.disagreement,
            _shown(verdict.share_abstained),
            *(counts[s] for s in ("abstained", "refused", "unreadable", "failed", "not_asked")),
            _shown(verdict.cost_usd, digits=8),
            _text_cell(" ".join(verdict.flags)),
        ]
        for name in self._criteria:
            limits = verdict.dimension_intervals.get(name) or (None, None)
            row += [_shown(verdict.dimensions.get(name)), _shown(limits[0]), _shown(limits[1])]
        row += [_shown(verdict.by_axis.get(axis)) for axis in self._axes]
        row += [_shown(verdict.by_model.get(model)) for model in self._models]
        row += [_shown(verdict.by_persona.get(persona)) for persona in self._personas]
        return [_cell(value) for value in row]


def score_header(
    criteria: Sequence[str], personas: Sequence[str], models: Sequence[str], axes: Sequence[str]
) -> list[str]:
    """The columns of scores.csv before those that the input carried."""
    header = list(SCORE_COLUMNS)
    for name in criteria:
        # The single criterion of the single-integer modes is the composite under another name.
        header += [name, f"{name}_low", f"{name}_high"]
    header += [f"axis_{axis}" for axis in axes]
    header += [f"model_{model}" for model in models]
    return header + [f"persona_{persona}" for persona in personas]


def judgment_schema(criteria: Sequence[str]) -> Any:
    """The Arrow schema of judgments.parquet."""
    import pyarrow as pa

    def kind(name: str) -> Any:
        if name in _INTEGERS:
            return pa.int64()
        if name == "cost_usd":
            return pa.float64()
        return pa.bool_() if name == "repaired" else pa.string()

    return pa.schema(
        [(name, kind(name)) for name in JUDGMENT_COLUMNS]
        + [(name, pa.float64()) for name in criteria]
        + [(name, kind(name)) for name in PROVENANCE_COLUMNS]
    )


def read_judgments(folder: str | Path) -> Iterator[dict[str, Any]]:
    """The rows of judgments.parquet, in order, as dictionaries.

    Raises:
        InputError: there is no such table in the folder.
    """
    with _opened(Path(folder) / JUDGMENTS_FILE) as file:
        for batch in file.iter_batches(batch_size=4096):
            yield from batch.to_pylist()


def judgment_frame(folder: str | Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """judgments.parquet as a DataFrame, one row a planned judgment.

    A million responses by thirty judges have 30 million rows: name the columns that are needed.

    Args:
        folder: the run folder.
        columns: those to be read; by default all.

    Raises:
        InputError: there is no such table in the folder, or no such column in the table.
    """
    with _opened(Path(folder) / JUDGMENTS_FILE) as file:
        known = file.schema_arrow.names
        wrong = [name for name in columns or () if name not in known]
        if wrong:
            raise InputError(f"{JUDGMENTS_FILE} has no column {wrong[0]!r}: {', '.join(known)}")
        frame: pd.DataFrame = file.read(columns=columns and list(columns)).to_pandas()
    return frame


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    import pyarrow.parquet as parquet

    try:
        file = parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    with file:
        yield file


def read_scores(folder: str | Path) -> list[dict[str, str]]:
    """The rows of scores.csv, as text and without the apostrophes that keep formulas from running.

    Raises:
        InputError: there is no such table in the folder.
    """
    header, *rows = score_cells(folder)
    return [dict(zip(header, row, strict=False)) for row in rows]


def score_frame(folder: str | Path) -> pd.DataFrame:
    """scores.csv as a DataFrame, one row a response; ids as text, empty cells missing.

    Raises:
        InputError: there is no such table in the folder.
    """
    import pandas as pd

    path = Path(folder) / SCORES_FILE
    ids = dict.fromkeys(("response_id", "prompt_id", "respondent_id"), str)
    try:
        frame = pd.read_csv(path, dtype=ids, keep_default_na=False, na_values=[""])
    except (OSError, ValueError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]):
            frame[name] = frame[name].map(spreadsheet_text, na_action="ignore")
    return frame.rename(columns=spreadsheet_text)


def score_cells(folder: str | Path) -> Iterator[list[str]]:
    """The rows of scores.csv as cells, the header first; raises as `read_scores`."""
    path = Path(folder) / SCORES_FILE
    allow_long_cells()
    try:
        with path.open(encoding="utf-8", newline="") as file:  # carriage returns are text
            for cells in csv.reader(file):
                yield [spreadsheet_text(cell) for cell in cells]
    except (OSError, ValueError, csv.Error) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error


class _AbandonedError(Exception):
    """Unwinds the writers without putting their files in place."""


def _shown(value: float | None, *, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _cell(value: Any) -> Any:
    return "" if value is None else writable(value)


def _text_cell(value: Any) -> Any:
    """A cell whose text somebody else wrote: no formula, whatever it begins with."""
    return spreadsheet_safe(_cell(value))


TEXT_COLUMNS: Final = ("response_id", "prompt_text", "response_text")

_GROUP_CHARS: Final = 8_000_000
"""Characters of text that are held before they are written."""

_ROW_CHARS: Final = 200
"""What a row counts beside its texts, so that millions of empty ones are not held either."""


class TextWriter:
    """Writes texts.parquet as responses come; it takes its place when `close` is called."""

    def __init__(self, folder: Path) -> None:
        """Opens the file.

        Raises:
            StoreError: the folder cannot be written.
        """
        import pyarrow as pa

        self._schema = pa.schema([(name, pa.string()) for name in TEXT_COLUMNS])
        self._rows: list[tuple[str, str, str]] = []
        self._chars = 0
        self._parts = _Parts(folder)
        with self._parts.opening():
            self._file = self._parts.parquet(TEXTS_FILE, self._schema)

    def add(self, response_id: str, prompt_text: str, response_text: str) -> None:
        """One more response, in the order of the tables.

        Raises:
            StoreError: the folder cannot be written any more.
        """
        self._rows.append((response_id, prompt_text, response_text))
        self._chars += len(prompt_text) + len(response_text) + _ROW_CHARS
        if self._chars >= _GROUP_CHARS:
            self._flush()

    def close(self) -> None:
        """Finishes the file and puts it in place.

        Raises:
            StoreError: the folder cannot be written any more; what was there stays as it is.
        """
        self._flush()
        self._parts.close()

    def abandon(self) -> None:
        """Drops what was written; a file that was there before stays as it is."""
        self._parts.abandon()

    def _flush(self) -> None:
        if not self._rows:
            return
        import pyarrow as pa

        columns = [[writable(text) for text in column] for column in zip(*self._rows, strict=True)]
        with self._parts.writing():
            self._file.write_table(
                pa.table(dict(zip(TEXT_COLUMNS, columns, strict=True)), schema=self._schema)
            )
        self._rows.clear()
        self._chars = 0


def read_texts(folder: str | Path, wanted: Iterable[str]) -> Mapping[str, tuple[str, str]]:
    """Response id to (prompt text, response text) of those wanted; empty where none are stored.

    Raises:
        InputError: the file is there and cannot be read.
    """
    path = Path(folder) / TEXTS_FILE
    if not path.is_file():
        return {}
    ids = set(wanted)
    found: dict[str, tuple[str, str]] = {}
    prompts: dict[str, str] = {}
    try:
        with _opened(path) as file:
            for batch in file.iter_batches(batch_size=1024, columns=list(TEXT_COLUMNS)):
                columns: dict[str, list[Any]] = batch.to_pydict()
                for name, prompt, response in zip(*columns.values(), strict=True):
                    if name in ids:
                        # One string for all the responses to a prompt.
                        found[name] = (prompts.setdefault(prompt, prompt), response)
    except (OSError, ValueError, KeyError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    return found
