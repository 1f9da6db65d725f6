"""Reads the rows of a folder that Hugging Face `datasets` saved (`Dataset.save_to_disk`).

The folder holds `state.json`, which names files of Arrow's stream format; the library itself is not
needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .parquet import BATCH_ROWS, read_batches
from .rows import MAX_COLUMNS, FaultSink, Row, read_limits, too_many_columns
from .text import parse_json

STATE_FILE = "state.json"
SPLITS_FILE = "dataset_dict.json"


def is_saved_dataset(folder: Path) -> bool:
    """Whether the folder holds a saved data set, or several (its splits)."""
    return (folder / STATE_FILE).is_file() or (folder / SPLITS_FILE).is_file()


def read_saved_dataset(folder: Path, sink: FaultSink) -> Iterator[Row]:
    """Returns the rows in order, dates and times as ISO 8601 text; a null is None.

    Of a folder of splits, those of the only one; of several, one is to be named by its own folder.
    """
    if (folder / SPLITS_FILE).is_file():
        splits = sorted(one.name for one in folder.iterdir() if (one / STATE_FILE).is_file())
        if len(splits) != 1:
            sink.report(None, f"holds the splits {', '.join(splits)}: name one, as "
                        f"{folder / splits[0]}" if splits else "holds no split")  # fmt: skip
            return
        folder = folder / splits[0]
    try:
        state = parse_json((folder / STATE_FILE).read_text(encoding="utf-8"))
        files = [folder / Path(file["filename"]).name for file in state["_data_files"]]
        fault = read_limits().bytes_fault(sum(file.stat().st_size for file in files))
    except (OSError, ValueError, KeyError, TypeError) as error:
        sink.report(None, f"not readable as a saved data set: {error}")
        return
    if fault is not None:
        sink.report(None, fault)
        return
    yield from read_batches(_batches(files, sink), sink, "Arrow")


def _batches(files: list[Path], sink: FaultSink) -> Iterator[Any]:
    import pyarrow as pa

    for file in files:
        with pa.memory_map(str(file)) as mapped, pa.ipc.open_stream(mapped) as stream:
            if len(stream.schema.names) > MAX_COLUMNS:
                sink.report(None, too_many_columns(len(stream.schema.names)))
                return
            for batch in stream:
                for start in range(0, len(batch), BATCH_ROWS):
                    yield batch.slice(start, BATCH_ROWS)
