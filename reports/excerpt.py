"""One in so many of a long run's responses, as a folder, for a report of bounded size."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ..errors import InputError, InputFault
from ..records.readers.text import allow_long_cells
from ..records.run_folder import JUDGMENTS_FILE, SCORES_FILE, TEXTS_FILE
from ..records.spreadsheets import spreadsheet_text

MOST_RESPONSES: Final = 50_000
MOST_JUDGMENTS: Final = 1_500_000
"""What a report reads at most: with more, memory and patience end before the page does."""

_BATCH_ROWS: Final = 50_000


def excerpt_step(record: Mapping[str, Any]) -> int:
    """k where the report of a run reads every k-th response; 1 where it reads them all."""
    by_responses = record["responses"]["n"] / MOST_RESPONSES
    by_judgments = record["n_planned"] / MOST_JUDGMENTS
    return max(1, math.ceil(float(max(by_responses, by_judgments))))


def write_excerpt(folder: Path, into: Path, *, step: int) -> None:
    """Writes the tables of every `step`-th response of a run folder into another folder.

    The tables stream: memory does not grow with the run.

    Raises:
        InputError: a table cannot be read.
    """
    ids = _scores(folder / SCORES_FILE, into / SCORES_FILE, step)
    for name in (JUDGMENTS_FILE, TEXTS_FILE):
        if (folder / name).exists() or name == JUDGMENTS_FILE:
            _rows_of(ids, folder / name, into / name)


def _scores(source: Path, target: Path, step: int) -> list[str]:
    allow_long_cells()
    ids: list[str] = []
    try:
        with (
            source.open(encoding="utf-8", newline="") as read,
            target.open("w", encoding="utf-8", newline="") as written,
        ):
            rows = csv.reader(read)
            header = next(rows)
            place = header.index("response_id")
            writer = csv.writer(written, lineterminator="\n")
            writer.writerow(header)
            for row in islice(rows, 0, None, step):
                ids.append(spreadsheet_text(row[place]))
                writer.writerow(row)
    except (OSError, ValueError, StopIteration, csv.Error) as error:
        raise InputError([InputFault(str(source), f"cannot be read: {error}")]) from error
    return ids


def _rows_of(ids: list[str], source: Path, target: Path) -> None:
    import pyarrow as pa
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    wanted = pa.array(ids, pa.string())
    try:
        with (
            parquet.ParquetFile(source) as file,
            parquet.ParquetWriter(target, file.schema_arrow) as writer,
        ):
            for batch in file.iter_batches(batch_size=_BATCH_ROWS):
                chosen = compute.is_in(batch.column("response_id"), value_set=wanted)
                writer.write_batch(batch.filter(chosen))
    except (OSError, ValueError, KeyError) as error:
        raise InputError([InputFault(str(source), f"cannot be read: {error}")]) from error
