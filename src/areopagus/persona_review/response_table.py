"""departures.csv: the responses on which personas stand farthest from people, with their texts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..records.run_folder import csv_table
from ..records.spreadsheets import writable

DEPARTURES_FILE = "departures.csv"
"""One row a response with one of the largest departures, with its texts, reasons and comments."""

_NUMBERS = ("score", "others", "people", "gap")
_LISTS = ("reasons", "comments")
_COLUMNS = (
    "persona", "response_id", "prompt_id", "respondent_id", "criterion", "kind", *_NUMBERS,
    "prompt", "response", *_LISTS,
)  # fmt: skip


def write_departures(folder: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes the responses with the largest departures.

    Raises:
        StoreError: the folder cannot be written.
    """
    with csv_table(folder / DEPARTURES_FILE, _COLUMNS) as lines:
        for row in rows:
            lists = {name: json.dumps(row[name], ensure_ascii=False) for name in _LISTS}
            numbers = {name: "" if row[name] != row[name] else row[name] for name in _NUMBERS}
            given = {**row, **lists, **numbers}
            lines.write([writable(given[name]) for name in _COLUMNS])


def read_departures(folder: Path) -> list[dict[str, Any]]:
    """The rows of `write_departures`; none where the file is missing."""
    import pandas as pd

    path = folder / DEPARTURES_FILE
    if not path.is_file():
        return []
    found = []
    for row in pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records"):
        plain: dict[str, Any] = {str(name): value for name, value in row.items()}
        plain |= {name: float(plain[name]) if plain[name] else None for name in _NUMBERS}
        plain |= {name: json.loads(plain[name] or "[]") for name in _LISTS}
        found.append(plain)
    return found
