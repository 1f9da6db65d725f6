"""What an attack and a rescoring share: one stage, in which the panel scores made responses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..experiment.dry_run import DryRun, estimate_scoring
from ..experiment.job import Job
from ..experiment.score import score_within
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..records.readers.responses import ResponseSource
from .run import PANEL_FOLDER

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.ledger import Ledger

Outcome = TypeVar("Outcome")


class PanelStage(Job[Outcome]):
    """A job whose one stage is a scoring job on responses that it makes."""

    stages: tuple[str, ...] = ("score",)
    panel: PanelSpec

    @abstractmethod
    def response_rows(self) -> Iterator[dict[str, Any]]:
        """The responses for the panel, made anew on every call."""

    @property
    def ledger(self) -> Ledger:
        """The store of calls: the panel's."""
        return self.panel.ledger

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The judges."""
        return self.panel.backends

    async def dry_run(self) -> DryRun:
        """Calls, tokens and cost of judging the responses, where there are any."""
        if next(self.response_rows(), None) is None:
            return DryRun((), ("No response has a hit of a detector: nobody would be asked.",))
        return estimate_scoring(self.panel, ResponseSource(self.response_rows()))

    async def run_stages(self, client: Client) -> Path | None:
        """The folder of the panel's tables; None where there was nothing to score."""
        return await score_within(self, "score", self.panel, self.response_rows(), PANEL_FOLDER)
