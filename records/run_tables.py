"""The two tables of a run, written as verdicts come, in constant memory, and read back."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from ..errors import InputError, InputFault
from .readers.text import allow_long_cells
from .run_folder import JUDGMENTS_FILE, SCORES_FILE, TEXTS_FILE, replaced, unwritable
from .spreadsheets import CsvLines, carried_names, writable
from .types import Judgment, Verdict

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
        import pyarrow.parquet as parquet

        self._criteria = tuple(criteria)
        self._personas, self._models, self._axes = tuple(personas), tuple(models), tuple(axes)
        self._schema = judgment_schema(criteria)
        header = score_header(criteria, personas, models, axes)
        self._carried = tuple(carried)
        header += carried_names(carried, header)
        self._folder = folder
        self._rows: list[Judgment] = []
        self._stack = ExitStack()
        try:
            with self._told():
                # Both are closed before either takes its place: the last bytes of one may find the
                # disk full, and the tables of a folder belong together.
                table = self._stack.enter_context(replaced(folder / JUDGMENTS_FILE))
                scores = self._stack.enter_context(replaced(folder / SCORES_FILE))
                self._parquet = parquet.ParquetWriter(table, self._schema, compression="zstd")
                self._stack.callback(self._parquet.close)
                handle = self._stack.enter_context(scores.open("w", encoding="utf-8", newline=""))
                self._csv = CsvLines(handle)
                self._csv.write(header)
        except BaseException as error:
            self._abandon(error)
            raise

    def add(self, verdict: Verdict, carried: Mapping[str, Any] | None = None) -> None:
        """One response: its judgments and its row.

        Raises:
            StoreError: the folder cannot be written any more.
        """
        self._rows.extend(verdict.judgments)
        extra = carried or {}
        with self._told():
            if len(self._rows) >= ROW_GROUP:
                self._flush()
            self._csv.write(
                [*self._score_row(verdict), *(_cell(extra.get(name)) for name in self._carried)]
            )

    def close(self) -> None:
        """Finishes both files and puts them in place.

        Raises:
            StoreError: the folder cannot be written any more; what was there stays as it is.
        """
        with self._told():
            self._flush()
            self._stack.close()

    def abandon(self) -> None:
        """Drops what was written; tables that were there before stay as they are."""
        self._abandon(_AbandonedError())

    def _abandon(self, error: BaseException) -> None:
        try:
            self._stack.__exit__(type(error), error, error.__traceback__)
        except BaseException as raised:
            if raised is not error:
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritable(self._folder, error) from error

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
            verdict.response_id,
            verdict.prompt_id,
            verdict.respondent_id,
            verdict.status,
            verdict.reason,
            verdict.n_scored,
            verdict.n_planned,
            _shown(verdict.composite),
            _shown(low),
            _shown(high),
            verdict.interval_method,
            verdict.interval_reason,
            _shown(verdict.median),
            _shown(verdict.trimmed_mean),
            _shown(verdict.sd),
            verdict.disagreement,
            _shown(verdict.share_abstained),
            *(counts[s] for s in ("abstained", "refused", "unreadable", "failed", "not_asked")),
            _shown(verdict.cost_usd, digits=8),
            " ".join(verdict.flags),
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
    import pyarrow.parquet as parquet

    path = Path(folder) / JUDGMENTS_FILE
    try:
        file = parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    with file:
        for batch in file.iter_batches(batch_size=4096):
            yield from batch.to_pylist()


def read_scores(folder: str | Path) -> list[dict[str, str]]:
    """The rows of scores.csv, as text.

    Raises:
        InputError: there is no such table in the folder.
    """
    path = Path(folder) / SCORES_FILE
    try:
        with path.open(encoding="utf-8", newline="") as file:  # carriage returns are text
            text = file.read()
    except OSError as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error.strerror}")]) from error
    # A carried text may be longer than the csv module's own limit, which is one for the process.
    allow_long_cells()
    return list(csv.DictReader(io.StringIO(text, newline="")))


class _AbandonedError(Exception):
    """Unwinds the writers without putting their files in place."""


def _shown(value: float | None, *, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _cell(value: Any) -> Any:
    return "" if value is None else writable(value)


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
        import pyarrow.parquet as parquet

        self._folder = folder
        self._schema = pa.schema([(name, pa.string()) for name in TEXT_COLUMNS])
        self._rows: list[tuple[str, str, str]] = []
        self._chars = 0
        self._stack = ExitStack()
        try:
            part = self._stack.enter_context(replaced(folder / TEXTS_FILE))
            self._file = parquet.ParquetWriter(part, self._schema, compression="zstd")
            self._stack.callback(self._file.close)
        except OSError as error:
            self._give_up(error)
            raise unwritable(folder, error) from error
        except BaseException as error:
            self._give_up(error)
            raise

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
        try:
            self._stack.close()
        except OSError as error:
            raise unwritable(self._folder, error) from error

    def abandon(self) -> None:
        """Drops what was written; a file that was there before stays as it is."""
        self._give_up(_AbandonedTextsError())

    def _flush(self) -> None:
        if not self._rows:
            return
        import pyarrow as pa

        columns = zip(*self._rows, strict=True)
        arrays = [[writable(text) for text in column] for column in columns]
        try:
            self._file.write_table(
                pa.table(dict(zip(TEXT_COLUMNS, arrays, strict=True)), schema=self._schema)
            )
        except OSError as error:
            raise unwritable(self._folder, error) from error
        self._rows.clear()
        self._chars = 0

    def _give_up(self, error: BaseException) -> None:
        try:
            self._stack.__exit__(type(error), error, error.__traceback__)
        except BaseException as raised:
            if raised is not error:
                raise


def read_texts(folder: str | Path, wanted: Iterable[str]) -> Mapping[str, tuple[str, str]]:
    """Response id to (prompt text, response text) of those wanted; empty where none are stored.

    Raises:
        InputError: the file is there and cannot be read.
    """
    import pyarrow.parquet as parquet

    path = Path(folder) / TEXTS_FILE
    if not path.is_file():
        return {}
    ids = set(wanted)
    found: dict[str, tuple[str, str]] = {}
    prompts: dict[str, str] = {}
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024, columns=list(TEXT_COLUMNS)):
                columns: dict[str, list[Any]] = batch.to_pydict()
                for name, prompt, response in zip(*columns.values(), strict=True):
                    if name in ids:
                        # One string for all the responses to a prompt.
                        found[name] = (prompts.setdefault(prompt, prompt), response)
    except (OSError, ValueError, KeyError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    return found


class _AbandonedTextsError(Exception):
    """Unwinds the writer without putting its file in place."""
