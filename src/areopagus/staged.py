"""A job of several stages in one folder: one desk, one budget, one stop, one record.

Whatever a stage asks goes over the same desk, so that the cost cap, the limits of the endpoints and
the ledger hold over all stages together, and a rerun pays for nothing twice.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .access import check_cap
from .judges.models.budget import Budget
from .judges.models.client import Desk
from .judges.models.usage import Spending, cost_record
from .records.run_folder import RUN_FORMAT, RunFolder
from .renewal import Renewal

if TYPE_CHECKING:
    from .records.ledger import Ledger

StagedState = Literal["running", "complete", "interrupted", "budget"]


@dataclass(slots=True)
class StageProgress:
    """How far a job is.

    Attributes:
        stage: the stage at work; `number` of `stages` in all, from 1.
        unit: what is counted.
        done, total: units of this stage.
        troubled: units of this stage that came to nothing.
        sent, from_ledger, repeated: calls of the whole job; see `CallCounts`.
        spent_usd, unknown_price_calls: of the whole job.
        elapsed_s: seconds since this stage began.
        stage_sent: calls sent in this stage.
    """

    stage: str = ""
    number: int = 0
    stages: int = 0
    unit: str = ""
    done: int = 0
    total: int = 0
    troubled: int = 0
    sent: int = 0
    from_ledger: int = 0
    repeated: int = 0
    spent_usd: float = 0.0
    unknown_price_calls: int = 0
    elapsed_s: float = 0.0
    stage_sent: int = 0


@dataclass(slots=True)
class _Clock:
    began: float = field(default_factory=time.monotonic)
    sent_before: int = 0


class StagedJob(ABC):
    """Prepared, then run once on the package's loop; the subclasses are the jobs."""

    kind: str
    stages: tuple[str, ...]

    def __init__(
        self,
        *,
        out: str | Path,
        identity: Mapping[str, Any],
        resume: bool,
        max_cost: float | None,
        on_progress: Callable[[StageProgress], None] | None,
    ) -> None:
        """Takes the settings; the folder is opened when the job is run.

        Raises:
            InputError: a cap that is no amount of money.
        """
        check_cap(max_cost)
        self.identity = dict(identity)
        self.path = Path(out)
        self._must_exist = resume
        self.progress = StageProgress(stages=len(self.stages))
        self.outcome: dict[str, Any] = {}
        self._budget = Budget(cap=max_cost)
        self._on_progress = on_progress or (lambda progress: None)
        self._clock = _Clock()
        self._started = datetime.now(UTC)
        self._desk: Desk | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_early = False
        self._folder: RunFolder | None = None
        self._renewal = Renewal(self._note)

    def stop(self) -> None:
        """Asks the job to end soon, from any thread: calls in flight are awaited and stored."""
        self._stop_early = True
        if self._loop is not None and self._desk is not None:
            self._loop.call_soon_threadsafe(self._desk.stop)

    async def run(self) -> Any:
        """Runs all stages and returns what the subclass makes of them.

        Raises:
            InputError: the folder holds another run, or a backend cannot be asked at all; nothing
                was spent.
            StoreError: the ledger or the folder cannot be written.
        """
        self._loop = asyncio.get_running_loop()
        try:
            with closing(
                RunFolder.open(self.path, self.identity, must_exist=self._must_exist)
            ) as folder:
                return await self._run(folder)
        finally:
            await self.close()

    async def _run(self, folder: RunFolder) -> Any:
        self._desk = desk = Desk(self.ledger, budget=self._budget, on_change=self.tell)
        await self.require_access(desk)
        if self._stop_early:
            desk.stop()
        folder.write_run_file(self._record("running", folder))
        self._folder = folder
        self._renewal.begin()
        try:
            result = await self.run_stages(desk)
        finally:
            self._renewal.end()
            self._folder = None
        folder.write_run_file(self._record(self._state(desk), folder))
        return self.finished(result)

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """The store of calls."""

    @abstractmethod
    async def require_access(self, desk: Desk) -> None:
        """Raises everything that keeps a backend from being asked, before anything is spent."""

    @abstractmethod
    async def run_stages(self, desk: Desk) -> Any:
        """Does the work; puts counts into `self.outcome` by stage."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What run.json says beside identity, outcome and sessions."""

    def finished(self, result: Any) -> Any:
        """The result, after run.json is written for the last time."""
        return result

    @abstractmethod
    async def close(self) -> None:
        """Releases what the job has opened."""

    @abstractmethod
    def stopped_by_budget(self) -> bool:
        """Whether something was left out because of the cost cap."""

    def begin(self, stage: str, *, total: int, unit: str) -> None:
        """Says that a stage begins."""
        progress = self.progress
        progress.stage, progress.unit = stage, unit
        progress.number = self.stages.index(stage) + 1
        progress.done, progress.total, progress.troubled = 0, total, 0
        self._clock = _Clock(sent_before=self._desk.counts.sent if self._desk else 0)
        self.tell()

    def step(self, *, is_troubled: bool = False) -> None:
        """Counts one unit of the stage at work."""
        self.progress.done += 1
        self.progress.troubled += is_troubled
        self.tell()

    def tell(self) -> None:
        """Hands the newest state to whoever listens."""
        desk, progress = self._desk, self.progress
        if desk is not None:
            progress.sent, progress.from_ledger = desk.counts.sent, desk.counts.from_ledger
            progress.repeated = desk.counts.repeated
        progress.spent_usd = self._budget.spent
        progress.unknown_price_calls = self._budget.unknown_calls
        now = time.monotonic()
        progress.elapsed_s = now - self._clock.began
        progress.stage_sent = progress.sent - self._clock.sent_before
        self._renewal.changed()
        self._on_progress(progress)

    def _note(self) -> None:
        if self._folder is not None:
            self._folder.write_run_file(self._record("running", self._folder))

    def _state(self, desk: Desk) -> StagedState:
        if desk.stopped:
            return "interrupted"
        return "budget" if self.stopped_by_budget() else "complete"

    def _record(self, state: StagedState, folder: RunFolder) -> dict[str, Any]:
        from .run_record import versions

        earlier = (folder.existing or {}).get("sessions", [])
        spending = self._desk.spending() if self._desk else Spending()
        session = {
            "started": self._started.isoformat(timespec="seconds"),
            "ended": None
            if state == "running"
            else datetime.now(UTC).isoformat(timespec="seconds"),
            "state": state,
            **spending.to_json(),
            "max_cost_usd": self._budget.cap,
        }
        sessions = [*earlier, session]
        return {
            "format": RUN_FORMAT,
            "kind": self.kind,
            "state": state,
            "identity": self.identity,
            "versions": versions(),
            **self.describe(),
            "stages": self.outcome,
            "ledger": self.ledger.place,
            "cost": cost_record(sessions),
            "sessions": sessions,
        }
