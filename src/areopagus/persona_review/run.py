"""The folder of a review of personas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..run import JobRun, Run
from .response_table import read_departures

if TYPE_CHECKING:
    from ..reports.document import Document

PANEL_FOLDER = "panel"
"""The draft's judgments on the prompts held out: a panel run."""


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
