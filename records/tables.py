"""The tables of a run, written as verdicts come, in constant memory, and read back.

judgments.parquet holds a row for each planned judgment, scores.csv one for each response, and
texts.parquet the prompts and responses for the report.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from ..errors import InputError, InputFault, StoreError
from .prompt_units import prompt_text_id
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

_TOKENS = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens")

PROVENANCE_COLUMNS = (
    "rationale",
    "mode",
    "score_mode",
    "structured",
    "answered_by",
    "repaired",
    "calls",
    *_TOKENS,
    "cost_usd",
    "ledger_key",
)
"""Columns of judgments.parquet after the criteria. HTTP attempts, and whether a reply came from the
ledger, belong to a session and not to the vote: a rerun must give the same table."""

LENGTH_COLUMN: Final = "response_length"
"""Column of scores.csv in an imported run: lengths that the imported file states, in its unit."""

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
    "unbalanced",
    "prompt_text_id",
)
"""Columns of scores.csv that every run has; then the criteria with their limits, and the means by
axis, model and persona, and last what the input carried."""


TEXT_COLUMNS: Final = ("response_id", "prompt_text", "response_text")

_GROUP_CHARS: Final = 8_000_000
"""Characters of text that are held before they are written."""

_ROW_CHARS: Final = 200
"""What a row counts beside its texts, so that millions of empty ones are not held either."""


class RunTables:
    """The three tables, written verdict by verdict; used in a `with` block.

    At its end they take the places of earlier ones, together; where the block breaks off, those
    stay as they are.
    """

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
        """Takes the folder, what gives the columns their names, and what the input carries."""
        self._folder = folder
        self._criteria = tuple(criteria)
        self._personas, self._models, self._axes = tuple(personas), tuple(models), tuple(axes)
        self._carried = tuple(carried)
        self._judgments: list[Judgment] = []
        self._texts: list[tuple[str, str, str]] = []
        self._text_chars = 0

    def __enter__(self) -> Self:
        """Opens the files.

        Raises:
            StoreError: the folder cannot be written.
        """
        import pyarrow as pa
        import pyarrow.parquet as parquet

        header = score_header(self._criteria, self._personas, self._models, self._axes)
        header += carried_names(self._carried, header)
        with ExitStack() as files, self._writing():
            # What is entered first is left last: each takes its place once all are closed, since
            # the last bytes of one may find the disk full.
            scores, judgments, texts = (
                files.enter_context(replaced(self._folder / name))
                for name in (SCORES_FILE, JUDGMENTS_FILE, TEXTS_FILE)
            )
            handle = files.enter_context(scores.open("w", encoding="utf-8", newline=""))
            self._score_lines = CsvLines(handle)
            self._judgment_file, self._text_file = (
                files.enter_context(parquet.ParquetWriter(part, schema, compression="zstd"))
                for part, schema in (
                    (judgments, judgment_schema(self._criteria)),
                    (texts, pa.schema([(name, pa.string()) for name in TEXT_COLUMNS])),
                )
            )
            self._score_lines.write(map(spreadsheet_safe, header))
            self._files = files.pop_all()
        return self

    def add(
        self,
        verdict: Verdict,
        prompt_text: str,
        response_text: str,
        carried: Mapping[str, Any] | None = None,
    ) -> None:
        """One response: its judgments, its row and its texts.

        Raises:
            StoreError: the folder cannot be written any more.
        """
        self._judgments.extend(verdict.judgments)
        if prompt_text or response_text:
            self._texts.append((verdict.response_id, prompt_text, response_text))
        self._text_chars += len(prompt_text) + len(response_text) + _ROW_CHARS
        extra = [(carried or {}).get(name) for name in self._carried]
        cells = map(spreadsheet_safe_or_number, map(_cell, extra))
        with self._writing():
            self._score_lines.write([*self._score_row(verdict, prompt_text), *cells])
            if len(self._judgments) >= ROW_GROUP:
                self._write_judgments()
            if self._text_chars >= _GROUP_CHARS:
                self._write_texts()

    def __exit__(self, *error: Any) -> None:
        """Finishes the files and puts them in place.

        Raises:
            StoreError: the folder cannot be written any more; what was there stays as it is.
        """
        if error[0] is not None:
            # The disk may be as full for the last bytes as it was for those before.
            with suppress(OSError, StoreError):
                self._files.__exit__(*error)
            return
        with self._writing(), self._files:
            self._write_judgments()
            self._write_texts()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise unwritable(self._folder, error) from error

    def _write_judgments(self) -> None:
        rows = self._judgments
        columns = {
            name: [getattr(row, name) for row in rows]
            for name in (*JUDGMENT_COLUMNS, *PROVENANCE_COLUMNS)
        }
        for name in self._criteria:
            columns[name] = [row.scores.get(name) for row in rows]
        _write_rows(self._judgment_file, columns)
        rows.clear()

    def _write_texts(self) -> None:
        columns = zip(*self._texts, strict=True) if self._texts else ((), (), ())
        _write_rows(self._text_file, dict(zip(TEXT_COLUMNS, columns, strict=True)))
        self._texts.clear()
        self._text_chars = 0

    def _score_row(self, verdict: Verdict, prompt_text: str) -> list[Any]:
        low, high = verdict.interval or (None, None)
        cost = verdict.cost_usd
        derived = {
            "composite_low": low,
            "composite_high": high,
            "cost_usd": None if cost is None else f"{cost:.8f}",
            "flags": " ".join(verdict.flags),
            "unbalanced": ", ".join(verdict.unbalanced),
            "prompt_text_id": prompt_text_id(prompt_text) if prompt_text else "",
            **{f"n_{status}": n for status, n in verdict.counts.items()},
        }
        row = [
            derived[name] if name in derived else getattr(verdict, name) for name in SCORE_COLUMNS
        ]
        for name in self._criteria:
            limits = verdict.dimension_intervals.get(name) or (None, None)
            row += [verdict.dimensions.get(name), *limits]
        row += [verdict.by_axis.get(axis) for axis in self._axes]
        row += [verdict.by_model.get(model) for model in self._models]
        row += [verdict.by_persona.get(persona) for persona in self._personas]
        return [
            f"{value:.4f}" if isinstance(value, float) else spreadsheet_safe(_cell(value))
            for value in row
        ]


def _write_rows(file: Any, columns: Mapping[str, Sequence[Any]]) -> None:
    """Writes columns as one row group; nothing where they are empty."""
    import pyarrow as pa

    if not columns["response_id"]:
        return
    texts = {field.name for field in file.schema if field.type == pa.string()}
    arrays = {
        name: [writable(text) for text in values] if name in texts else values
        for name, values in columns.items()
    }
    file.write_table(pa.table(arrays, schema=file.schema))


def _cell(value: Any) -> Any:
    return "" if value is None else writable(value)


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

    kinds = {"cost_usd": pa.float64(), "repaired": pa.bool_(), "repeat": pa.int64()}
    kinds |= {name: pa.int64() for name in ("calls", *_TOKENS)}
    kinds |= {name: pa.float64() for name in criteria}
    names = (*JUDGMENT_COLUMNS, *criteria, *PROVENANCE_COLUMNS)
    return pa.schema([(name, kinds.get(name, pa.string())) for name in names])


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


def read_texts(folder: str | Path, wanted: Iterable[str]) -> Mapping[str, tuple[str, str]]:
    """Response id to (prompt text, response text) of those wanted; empty where none are stored.

    Raises:
        InputError: the file is there and cannot be read.
    """
    path = Path(folder) / TEXTS_FILE
    if not path.is_file():
        return {}
    import pyarrow as pa
    import pyarrow.compute as compute

    ids = pa.array(list(set(wanted)), pa.string())
    found: dict[str, tuple[str, str]] = {}
    prompts: dict[str, str] = {}
    try:
        with _opened(path) as file:
            for batch in file.iter_batches(batch_size=1024, columns=list(TEXT_COLUMNS)):
                kept = batch.filter(compute.is_in(batch.column("response_id"), value_set=ids))
                columns: dict[str, list[Any]] = kept.to_pydict()
                for name, prompt, response in zip(*columns.values(), strict=True):
                    # One string for all the responses to a prompt.
                    found[name] = (prompts.setdefault(prompt, prompt), response)
    except (OSError, ValueError, KeyError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    return found
