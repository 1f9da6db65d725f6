"""The folder of a review of personas, and what stands in it beside run.json and the estimates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..records.run_folder import csv_table
from ..records.spreadsheets import writable
from ..run import JobRun, Run

if TYPE_CHECKING:
    from ..reports.document import Document

PANEL_FOLDER = "panel"
"""The draft's judgments on the prompts held out: a panel run."""

DEPARTURES_FILE = "departures.csv"
"""One row a response with one of the largest departures, with its texts, reasons and comments."""

_NUMBERS = ("score", "others", "people", "gap")
_LISTS = ("reasons", "comments")
_COLUMNS = (
    "persona", "response_id", "prompt_id", "respondent_id", "criterion", "kind", *_NUMBERS,
    "prompt", "response", *_LISTS,
)  # fmt: skip


class ReviewRun(JobRun):
    """A review of personas: departures from people, and the check of a draft.

    run.json, estimates.parquet and .csv, report.html and .txt, departures.csv; with a draft
    ID.yaml and ID.diff, and panel/, the draft's judgments.
    """

    kind = "persona_review"
    command = "personas review"

    def document(self) -> Document:
        """What is shown of the review.

        Raises:
            InputError: the job has not come so far.
        """
        from .document import review_document

        return review_document(self.record, self.estimates, read_departures(self.path))

    @property
    def draft(self) -> Path | None:
        """The file of the draft; None where there is none."""
        named = (self.record.get("draft") or {}).get("file")
        return None if named is None else self.path / named

    @property
    def panel_run(self) -> Run:
        """The draft's judgments on the prompts held out."""
        return Run(self.path / PANEL_FOLDER)

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        if self.state == "budget":
            return 4
        draft = self.record.get("draft") or {}
        counts = self.record["stages"].get("score", {}).get("counts", {})
        troubled = sum(counts.get(s, 0) for s in ("refused", "unreadable", "failed"))
        is_missing = draft.get("status", "read") in ("refused", "unreadable", "failed")
        return 3 if troubled or is_missing else 0


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
