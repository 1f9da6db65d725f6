"""A finished (or interrupted) attack or rescoring: its folder, and what is shown of it."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from ..records.estimates import Estimates
from ..reports.panel_answer import panel_worth
from ..run import JobRun, Run
from . import effects, rescoring
from .config import AttackConfig
from .trials import stored_trials

if TYPE_CHECKING:
    from ..reports.document import Document

PANEL_FOLDER = "panel"


class _AuditRun(JobRun):
    """What the two have in common."""

    @property
    def panel_run(self) -> Run:
        """The panel's own run folder inside: judgments, scores, report."""
        return Run(self.path / PANEL_FOLDER)

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome, interruption aside."""
        if self.state == "budget":
            return 4
        counts = self.record["stages"].get("score", {}).get("counts", {})
        return 3 if any(counts.get(s, 0) for s in ("refused", "unreadable", "failed")) else 0

    def _first_version(self) -> dict[str, Any] | None:
        """What the first version wrote in the place of estimates."""
        try:
            found = json.loads((self.path / f"{self.kind}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None


class AttackRun(_AuditRun):
    """An attack: its estimates, its report and the panel's run."""

    kind = "attack"

    def document(self) -> Document:
        """What is shown of the attack.

        Raises:
            InputError: the job has not come so far.
        """
        from ..calibrated import people_told
        from .document import attack_document

        people = people_told(self.path / PANEL_FOLDER)
        return attack_document(self.record, self.estimates, people=people)

    def estimate_stored(self) -> Estimates | None:
        """The estimates of a folder of the first version, from the panel's tables in it."""
        told = self._first_version()
        if told is None or not (self.path / PANEL_FOLDER).is_dir():
            return None
        folder = self.path / PANEL_FOLDER
        trials, dataset = stored_trials(folder)
        criteria = self.panel_run.record["identity"]["criteria"]
        low, high = told["scale"]
        return effects.estimate(
            trials,
            dataset,
            {family["id"]: family["asks"] for family in told["families"]},
            effects.read_panel_scores(folder, [trial.response_id for trial in trials], criteria),
            AttackConfig(**told["plan"]),
            scale=(low, high),
            quorum=self.record["panel"]["quorum"],
            worth=panel_worth(folder),
        )


class RescoreRun(_AuditRun):
    """A rescoring: its estimates, its report, the passages taken out, and the panel's run."""

    kind = "rescore"

    def document(self) -> Document:
        """What is shown of the rescoring.

        Raises:
            InputError: the job has not come so far.
        """
        return rescoring.document(self.record, self.estimates, rescoring.read_passages(self.path))

    def estimate_stored(self) -> Estimates | None:
        """The estimates of a folder of the first version, from its table of responses."""
        told = self._first_version()
        if told is None or not (self.path / rescoring.PASSAGES_FILE).is_file():
            return None
        return rescoring.estimate(
            rescoring.stored_rescored(self.path),
            threshold=told["threshold"],
            n_responses=told["n_responses"],
            n_flagged=told["n_flagged"],
            n_screened=told["n_screened"],
            flags=Counter(told["flags"]),
        )
