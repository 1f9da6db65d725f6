"""What an attack and a rescoring share: one stage, in which the panel scores made responses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..experiment.backends import all_paid, prepare_all, require_access
from ..experiment.dry_run import Estimate, estimate
from ..experiment.job import StagedJob
from ..experiment.score import ScoreJob
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..records.readers.responses import ResponseSource
from ..records.types import Sample
from .run import PANEL_FOLDER

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.ledger import Ledger


class PanelStage(StagedJob):
    """A job whose one stage is a scoring job on responses that it makes."""

    stages: tuple[str, ...] = ("score",)
    panel: PanelSpec
    notices: tuple[str, ...] = ()
    _over_budget = False

    @abstractmethod
    def response_rows(self) -> Iterator[dict[str, Any]]:
        """The responses for the panel, made anew on every call."""

    @property
    def ledger(self) -> Ledger:
        """The store of calls: the panel's."""
        return self.panel.ledger

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in is among the judges."""
        return self.panel.is_demonstration

    def estimate(self) -> Estimate:
        """Calls, tokens and cost, without sending anything."""
        prepare_all(self.panel.backends)
        return estimate(self.panel, ResponseSource(self.response_rows()))

    async def require_access(self, client: Client) -> None:
        """Raises what keeps a backend from being asked, unless nothing is wanted of it."""

        def is_paid(backend: Backend) -> bool:
            return all_paid(self.panel, map(_sample, self.response_rows()), backend)

        await require_access(self.panel.backends, is_paid, capped=client.budget.cap is not None)

    async def run_stages(self, client: Client) -> Path | None:
        """The folder of the panel's tables; None where there was nothing to score."""
        if next(self.response_rows(), None) is None:
            self.outcome["score"] = {"responses": 0, "n_planned": 0, "counts": {}, "faults": {}}
            return None
        job = ScoreJob(
            self.panel,
            ResponseSource(self.response_rows()),
            out=self.path / PANEL_FOLDER,
            is_stage=True,
            on_progress=lambda progress: self._tell_scored(progress.done),
        )
        self.begin("score", total=job.progress.total, unit="responses")
        run = await job.run(client)
        self.outcome["score"] = {
            "responses": job.progress.total,
            "n_planned": run.n_planned,
            "counts": run.counts,
            "faults": run.record["faults"],
        }
        self._over_budget = run.state == "budget"
        return self.path / PANEL_FOLDER

    def stopped_by_budget(self) -> bool:
        """Whether the cost cap left something out."""
        return self._over_budget

    async def close(self) -> None:
        """Nothing of its own: the panel is the caller's."""

    def _tell_scored(self, done: int) -> None:
        self.progress.done = done
        self.tell()


def _sample(row: dict[str, Any]) -> Sample:
    return Sample(
        response_id=row["response_id"],
        prompt_id=row["prompt_id"],
        respondent_id=row["respondent_id"],
        prompt_text=row["prompt_text"],
        response_text=row["response_text"],
    )
