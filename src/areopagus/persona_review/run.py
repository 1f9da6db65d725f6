"""The folder of a review of personas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..run import JobRun
from .response_table import read_departures

if TYPE_CHECKING:
    from ..reports.document import Document


class ReviewRun(JobRun):
    """A review of personas: where they depart from people.

    run.json, estimates.parquet and .csv, report.html and .txt, departures.csv.
    """

    kind = "persona_review"
    command = "personas review"

    def document(self) -> Document:
        """What is shown of the review.

        Raises:
            InputError: the estimates cannot be read.
        """
        from .document import review_document

        return review_document(self.record, self.estimates, read_departures(self.path))
