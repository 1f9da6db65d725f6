"""A finished (or interrupted) stress test: its folder, its estimates, its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ..graphs.framings import load_framings
from ..records.estimates import select
from ..records.readings import MachineReading, Rate, Readings
from ..records.variants import read_variants
from ..run import JobRun, Run

if TYPE_CHECKING:
    import pandas as pd

    from ..reports.document import Document

VARIANTS_FILE = "variants.csv"

_QUESTION = (
    "The original question was put into the mouth of somebody else, as its framing says. Can the "
    "variant be understood by itself, does it ask for the same thinking as the original, could "
    "somebody have typed it, and is it true to its framing?"
)
_VARIANTS = {"accepted": "all of these", "failed": "not all of these"}


class StressRun(JobRun):
    """The folder of a stress test, read."""

    kind: ClassVar[str] = "stress"

    def document(self) -> Document:
        """What is shown: the answer, why it can be trusted, framings, criteria, noise, counts.

        Raises:
            InputError: the test has not come so far.
        """
        from ..calibrated import people_told
        from ..reports.weak_models import with_caution
        from .document import document

        panel = self.path / "panel"
        shown = document(self.record, self.estimates, people=people_told(panel))
        shown = with_caution(shown, panel, len(self.record["panel"]["models"]))
        return self.checked(shown) if self._is_rewritten else shown

    @property
    def _is_rewritten(self) -> bool:
        return "rewrite" in self.record.get("stages", ()) and self.variants_path.is_file()

    def readings(self) -> tuple[Readings, ...]:
        """Whether each variant is fit for use, as rules and a second model found.

        Nothing where nothing was rewritten. A variant that came without a text was not read, and
        one edited by hand no longer is what was.
        """
        if not self._is_rewritten:
            return ()
        labels = {framing.id: framing.label for framing in load_framings()}

        def rows() -> Iterator[MachineReading]:
            for row in read_variants(self.variants_path).rows:
                is_read = row.status in _VARIANTS and row.prompt_text.strip()
                if is_read and row.edited == "generated":
                    shown = (
                        row.baseline_text, labels.get(row.condition, row.condition), row.prompt_text
                    )  # fmt: skip
                    yield MachineReading(shown, row.status, row.prompt_id, (row.condition,))

        rate = Rate("variants accepted", frozenset(["accepted"]))
        shown = ("original", "framing", "variant")
        one = Readings(_QUESTION, _VARIANTS, shown, "prompt", ("framing",), (rate,), rows)
        return (one,)

    @property
    def cells(self) -> pd.DataFrame:
        """The degradation of each respondent, framing and criterion, with p and verdict.

        Raises:
            InputError: the test has not come so far.
        """
        rows = select(self.estimates, "degradation")
        return rows[(rows["measure"] == "degradation") & rows["framing"].notna()]

    @property
    def panel_run(self) -> Run:
        """The panel's own run folder inside: judgments, scores, report."""
        return Run(self.path / "panel")

    @property
    def variants_path(self) -> Path:
        """The table of variants, to be looked through and handed back."""
        return self.path / VARIANTS_FILE

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        if self.state == "budget":
            return 4
        stages = self.record["stages"]
        troubled = stages.get("rewrite", {}).get("failed", 0)
        respond = stages.get("respond", {})
        for counts in (respond, respond.get("regenerated", {})):
            troubled += sum(counts.get(name, 0) for name in ("failed", "refused", "empty"))
        for stage in ("score", "retest"):
            counts = stages.get(stage, {}).get("counts", {})
            troubled += sum(counts.get(name, 0) for name in ("refused", "unreadable", "failed"))
        return 3 if troubled else 0
