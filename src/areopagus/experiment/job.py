"""`StagedJob`, a job of several stages over one client; its progress, autosave and cost cap."""

from __future__ import annotations

import asyncio
import textwrap
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import StoreError
from ..judges.models.budget import Budget
from ..judges.models.client import Client
from ..judges.models.usage import UsageSnapshot, cost_record
from ..records.run_folder import RUN_FORMAT, RunFolder
from .backends import check_cap

if TYPE_CHECKING:
    from ..records.ledger import Ledger


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
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_early = False
        self._folder: RunFolder | None = None
        self._autosave = Autosave(self._note)

    def stop(self) -> None:
        """Asks the job to end soon, from any thread: calls in flight are awaited and stored."""
        self._stop_early = True
        if self._loop is not None and self._client is not None:
            self._loop.call_soon_threadsafe(self._client.stop)

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
        self._client = client = Client(self.ledger, budget=self._budget, on_change=self.tell)
        await self.require_access(client)
        if self._stop_early:
            client.stop()
        folder.write_run_file(self._record("running", folder))
        self._folder = folder
        self._autosave.begin()
        try:
            result = await self.run_stages(client)
        finally:
            self._autosave.end()
            self._folder = None
        folder.write_run_file(self._record(self._state(client), folder))
        return self.finished(result)

    @property
    @abstractmethod
    def ledger(self) -> Ledger:
        """The store of calls."""

    @abstractmethod
    async def require_access(self, client: Client) -> None:
        """Raises everything that keeps a backend from being asked, before anything is spent."""

    @abstractmethod
    async def run_stages(self, client: Client) -> Any:
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
        self._clock = _Clock(sent_before=self._client.counts.sent if self._client else 0)
        self.tell()

    def step(self, *, is_troubled: bool = False) -> None:
        """Counts one unit of the stage at work."""
        self.progress.done += 1
        self.progress.troubled += is_troubled
        self.tell()

    def tell(self) -> None:
        """Hands the newest state to whoever listens."""
        client, progress = self._client, self.progress
        if client is not None:
            progress.sent, progress.from_ledger = client.counts.sent, client.counts.from_ledger
            progress.repeated = client.counts.repeated
        progress.spent_usd = self._budget.spent
        progress.unknown_price_calls = self._budget.unknown_calls
        now = time.monotonic()
        progress.elapsed_s = now - self._clock.began
        progress.stage_sent = progress.sent - self._clock.sent_before
        self._autosave.changed()
        self._on_progress(progress)

    def _note(self) -> None:
        if self._folder is not None:
            self._folder.write_run_file(self._record("running", self._folder))

    def _state(self, client: Client) -> StagedState:
        if client.stopped:
            return "interrupted"
        return "budget" if self.stopped_by_budget() else "complete"

    def _record(self, state: StagedState, folder: RunFolder) -> dict[str, Any]:
        from .record import versions

        earlier = (folder.existing or {}).get("sessions", [])
        spending = self._client.spending() if self._client else UsageSnapshot()
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


NOTE_EVERY_S = 5.0
"""A job notes what it has spent so often, so that a kill takes no more than that off the record."""


class Autosave:
    """Writes a record anew when it is old and something has changed; used on one event loop.

    A change soon after the last writing is written too, when its time has come: a run may wait for
    minutes after it.
    """

    def __init__(self, write: Callable[[], None]) -> None:
        """Takes what writes the record; where it fails, the last record stands."""
        self._write = write
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, *, is_written: bool = True) -> None:
        """From now on changes are written; the record was written just now, unless said so."""
        self._due = time.monotonic() + (NOTE_EVERY_S if is_written else 0.0)

    def end(self) -> None:
        """Nothing is written any more."""
        self._due = None
        self._forget_timer()

    def changed(self) -> None:
        """Says that the record tells less than there is."""
        if self._due is None:
            return
        left = self._due - time.monotonic()
        if left <= 0:
            self._renew()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(left, self._renew)

    def _renew(self) -> None:
        self._forget_timer()
        if self._due is not None:
            self.begin()
            with suppress(OSError, StoreError):  # the last record says so if it cannot be written
                self._write()

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


STOPPED_BY_CAP = "Stopped by the cost cap: the rest was not asked. A higher --max-cost goes on."
"""The line that a command prints after its results."""


@dataclass(frozen=True, slots=True)
class CapStop:
    """What the cost cap left out.

    Attributes:
        cap_usd: the cap.
        planned: what the run was to ask for.
        asked: how many of them were asked for.
        unit: what they are, in the plural.
        verb: what was done to get them.
        rest: what else was left out ("judges were not asked about 12 answers"), or "".
    """

    cap_usd: float
    planned: int
    asked: int
    unit: str
    verb: str = "asked for"
    rest: str = ""

    @property
    def sentence(self) -> str:
        """How much of the plan stands behind the figures, without a full stop."""
        left_out = f"; {self.rest}" if self.rest else ""
        return (
            f"stopped by the cost cap of {_dollars(self.cap_usd)}: {self.asked:,} of "
            f"{self.planned:,} planned {self.unit} {self.verb}{left_out}; figures rest on these "
            "alone"
        )

    def lines(self, width: int) -> list[str]:
        """The sentence as a report prints it."""
        return textwrap.wrap(f"{self.sentence[:1].upper()}{self.sentence[1:]}.", width)

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        return {
            "max_cost_usd": self.cap_usd,
            "planned": self.planned,
            "asked": self.asked,
            "unit": self.unit,
            "sentence": self.sentence,
        }


def _dollars(value: float) -> str:
    """The cap as it was given, with cents where it has any."""
    return f"${value:,.2f}" if round(value, 2) == value else f"${value:,}"


def cap_notices(plain: Mapping[str, Any]) -> list[str]:
    """What a written result says of the cost cap that stopped its run, if one did."""
    stop = plain.get("cost_cap")
    return [] if stop is None else [str(stop["sentence"])]
