"""A part of a long run's responses, as a folder, for a report of bounded size."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from ..aggregation.intervals import MIN_UNITS
from ..errors import InputError, InputFault
from ..formats import count, units
from ..records.prompt_units import prompt_units
from ..records.readers.text import allow_long_cells
from ..records.run_folder import JUDGMENTS_FILE, SCORES_FILE, TEXTS_FILE
from ..records.spreadsheets import spreadsheet_text

MOST_RESPONSES: Final = 50_000
MOST_JUDGMENTS: Final = 1_500_000
"""What a report reads at most: with more, memory and patience end before the page does."""

_BATCH_ROWS: Final = 50_000


def excerpt_step(record: Mapping[str, Any]) -> int:
    """k where the report of a run reads one in k of its responses; 1 where it reads them all."""
    by_responses = record["responses"]["n"] / MOST_RESPONSES
    by_judgments = record["n_planned"] / MOST_JUDGMENTS
    return max(1, math.ceil(float(max(by_responses, by_judgments))))


def write_excerpt(folder: Path, into: Path, *, step: int) -> str:
    """Writes the tables of about one in `step` of a run folder's responses into another folder.

    Prompts are taken whole, so that all who answered one stay together; which ones, a hash of
    their texts says: the same in every run. Where not even six would fit, it is every `step`-th
    response of all.

    The tables stream: memory grows with the prompts alone.

    Returns:
        What was taken, for a sentence.

    Raises:
        InputError: a table cannot be read.
    """
    source = folder / SCORES_FILE
    chosen, n_prompts = _chosen_prompts(source, step)
    wanted = {name for names in chosen or () for name in names}
    ids: list[str] = []
    number = -1
    try:
        with (into / SCORES_FILE).open("w", encoding="utf-8", newline="") as written:
            writer = csv.writer(written, lineterminator="\n")
            rows = _rows(source)
            header = next(rows)
            writer.writerow(header)
            response, prompt = header.index("response_id"), header.index("prompt_id")
            for number, row in enumerate(rows):
                if number % step == 0 if chosen is None else row[prompt] in wanted:
                    ids.append(spreadsheet_text(row[response]))
                    writer.writerow(row)
    except (OSError, ValueError, StopIteration, csv.Error) as error:
        raise InputError([InputFault(str(source), f"cannot be read: {error}")]) from error
    for name in (JUDGMENTS_FILE, TEXTS_FILE):
        if (folder / name).exists() or name == JUDGMENTS_FILE:
            _rows_of(ids, folder / name, into / name)
    taken = f"{count(len(ids))} of {units(number + 1, 'response')}"
    if chosen is None:
        return f"one response in {step}, the prompts being few ({taken})"
    return f"whole prompts at random, {count(len(chosen))} of {count(n_prompts)} ({taken})"


def _rows(source: Path) -> Iterator[list[str]]:
    """The header and the rows of scores.csv, cells as they stand in the file."""
    allow_long_cells()
    with source.open(encoding="utf-8", newline="") as read:
        yield from csv.reader(read)


def _chosen_prompts(source: Path, step: int) -> tuple[list[list[str]] | None, int]:
    """The ids of each prompt that is taken whole, None where too few would fit; how many there are.

    Raises:
        InputError: the table cannot be read.
    """
    sizes: dict[str, int] = {}
    texts: dict[str, str] = {}

    def told() -> Iterator[dict[str, str]]:
        rows = _rows(source)
        header = next(rows, [])
        prompt = header.index("prompt_id")
        text = header.index("prompt_text_id") if "prompt_text_id" in header else None
        for row in rows:
            name, of_text = row[prompt], "" if text is None else row[text]
            sizes[name] = sizes.get(name, 0) + 1
            texts.setdefault(name, of_text or name)
            yield {"prompt_id": name, "prompt_text_id": of_text}

    try:
        unit_of = prompt_units(told())
    except (OSError, ValueError, csv.Error) as error:
        raise InputError([InputFault(str(source), f"cannot be read: {error}")]) from error
    members: dict[str, list[str]] = {}
    for name, unit in unit_of.items():
        members.setdefault(unit, []).append(name)
    room = sum(sizes.values()) // step
    taken: list[str] = []
    for unit in sorted(members, key=lambda unit: _hash(texts[unit])):
        room -= sum(sizes[name] for name in members[unit])
        if room < 0:
            break
        taken.append(unit)
    if len(taken) < MIN_UNITS:
        return None, len(members)
    return [members[unit] for unit in taken], len(members)


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


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
