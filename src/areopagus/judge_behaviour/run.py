"""A finished (or interrupted) examination of judges: its folder, and what is shown of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..records.run_folder import RUN_FILE
from ..run import JobRun

if TYPE_CHECKING:
    from ..reports.document import Document

PROBE_FOLDER = "probe"


class JudgesRun(JobRun):
    """How the judges of a run behave: estimates, report, and the panel's runs of the probe."""

    kind = "judges"

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        if self.state == "budget":
            return 4
        counts = [stage.get("counts", {}) for stage in self.record["stages"].values()]
        troubled = ("refused", "unreadable", "failed")
        return 3 if any(one.get(name, 0) for one in counts for name in troubled) else 0

    def document(self) -> Document:
        """What is shown of the examination.

        Raises:
            InputError: the job has not come so far.
        """
        from .document import judges_document

        source = str(self.record["source"])
        beside = self.path.parent / source
        judged = str(beside) if (beside / RUN_FILE).is_file() else source
        return judges_document(self.record, self.estimates, judged=judged)
