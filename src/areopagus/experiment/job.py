"""`Job`, the frame of everything that asks models: stages over one client, in one run folder.

A job is prepared, and then estimated or run, once. What it does stands in its hooks:

    backends        everybody who may be asked
    rehearse()      the dry run: calls and cost of every stage
    run_stages()    the work, which counts what became of it
    describe()      what run.json says of this kind of job
    finished()      the result, once run.json is written

The frame opens and locks the folder, holds the budget, stops, tells how far it is, and writes
run.json at the start, every few seconds and at the end. A job may run another one as a stage: that
one shares the client, so that limits, cost cap and stop are those of the whole.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from ..async_runner import run_stoppable, run_sync
from ..errors import InputError
from ..judges.models.budget import Budget
from ..judges.models.client import Client
from ..judges.models.usage import UsageSnapshot, cost_record
from ..records.run_folder import RUN_FORMAT, RunFolder, run_identity_hash
from .autosave import Autosave
from .backends import prepare_all, require_access
from .record import session_record, versions

if TYPE_CHECKING:
    from ..judges.models.backend import Backend
    from ..records.ledger import Ledger
    from .config import JobConfig
    from .dry_run import Estimate


RunState = Literal["running", "complete", "interrupted", "budget"]
Result = TypeVar("Result")


@dataclass(slots=True)
class Progress:
    """How far a job is.

    Attributes:
        stage: the stage at work; `number` of `stages` in all, from 1.
        unit: what is counted in it.
        done, total: units of this stage.
        troubled: of this stage, what came to nothing.
        counts: of this stage, status to number: of judgments while a panel scores, of responses
            while targets respond; empty where a stage has no statuses.
        planned: judgments planned in all, where a panel scores.
        elapsed_s: seconds since this stage began.
        stage_sent: calls sent in this stage.
        sent, answered, failed, from_ledger, repeated: calls of the whole job; see `CallCounts`.
        spent_usd, unknown_price_calls: of the whole job.
    """

    stage: str = ""
    number: int = 0
    stages: int = 0
    unit: str = ""
    done: int = 0
    total: int = 0
    troubled: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    planned: int = 0
    elapsed_s: float = 0.0
    stage_sent: int = 0
    sent: int = 0
    answered: int = 0
    failed: int = 0
    from_ledger: int = 0
    repeated: int = 0
    spent_usd: float = 0.0
    unknown_price_calls: int = 0


class Job(ABC, Generic[Result]):
    """The frame; the subclasses are the jobs.

    Attributes:
        kind: of the run, in run.json.
        stages: their names, in order.
        config, identity: what was chosen, and what makes the run this run.
        path: its folder.
        progress: how far it is.
        outcome: what became of each stage, for run.json.
        over_budget: whether the cost cap left something out.
    """

    kind: str
    stages: tuple[str, ...]

    def __init__(
        self,
        config: JobConfig,
        *,
        identity: Mapping[str, Any],
        name: str = "",
        ledger: str | Path | Ledger | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Takes the settings; the folder is opened when the job is run.

        Args:
            config: what was chosen.
            identity: what makes the run this run.
            name: begins the folder's name where the config names none.
            ledger: a file or an open Ledger; the user's shared one when left out.
            on_progress: called on every change, on the package's loop.
        """
        self.config = config
        self.identity = dict(identity)
        self.path = Path(config.out or default_folder(name, self.identity))
        self.progress = Progress(stages=len(self.stages))
        self.outcome: dict[str, Any] = {}
        self.over_budget = False
        self._budget = Budget(cap=config.max_cost)
        self._given_ledger = ledger
        self._ledger: Ledger | None = None
        self._on_progress = on_progress or (lambda progress: None)
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._within: tuple[Job[Any], str] | None = None
        self._stop_early = False
        self._folder: RunFolder | None = None
        self._autosave = Autosave(lambda: self._write_record("running"))
        self._sessions: list[dict[str, Any]] = []
        self._session_name: str | None = None
        self._session_began = datetime.now(UTC)
        self._spent_before = UsageSnapshot()
        self._stage_began = time.monotonic()
        self._sent_before = 0

    # What a job is

    @property
    @abstractmethod
    def backends(self) -> tuple[Backend, ...]:
        """Everybody who may be asked."""

    @abstractmethod
    async def rehearse(self) -> Estimate:
        """Calls and cost of every stage, as far as the ledger and the input tell; sends nothing."""

    @abstractmethod
    async def run_stages(self, client: Client) -> Any:
        """Does the work; puts counts into `self.outcome` by stage."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What run.json says beside what it says of every job."""

    def finished(self, result: Any) -> Result:
        """The result, after run.json is written for the last time."""
        found: Result = result
        return found

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return ()

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in takes part."""
        return any(backend.spec.is_offline for backend in self.backends)

    @property
    def ledger(self) -> Ledger:
        """The store of calls, opened when first needed."""
        if self._ledger is None:
            from ..records.ledger import Ledger

            given = self._given_ledger
            self._ledger = given if isinstance(given, Ledger) else Ledger.open(given)
        return self._ledger

    # Dry run, run and stop

    def estimate(self) -> Estimate:
        """Calls, tokens and cost of all stages, without sending anything.

        Raises:
            InputError: unknown providers, and parameters that a model does not take.
        """
        prepare_all(self.backends)
        return run_sync(self.rehearse())

    async def run(self, *, within: tuple[Job[Any], str] | None = None) -> Result:
        """Runs all stages and returns what the job makes of them.

        Args:
            within: a larger job, and the stage of it that this one is.

        Raises:
            InputError: the folder holds another run, or a backend cannot be asked at all; nothing
                was spent.
            StoreError: the ledger or the folder cannot be written.
        """
        self._within = within
        try:
            client = self._open()
            await self.require_access(client)
            if self._stop_early:
                client.stop()
            self._write_record("running")
            self._autosave.begin()
            result = await self.run_stages(client)
            self._autosave.end()
            self._write_record(self.state)
            return self.finished(result)
        finally:
            self._release()
            await self.close()

    def stop(self) -> None:
        """Asks the job to end soon, from any thread: calls in flight are awaited and stored."""
        self._stop_early = True
        if self._loop is not None and self._client is not None:
            self._loop.call_soon_threadsafe(self._client.stop)

    async def require_access(self, client: Client) -> None:
        """Raises everything that keeps a backend from being asked, before anything is spent.

        What the ledger holds needs no endpoint; it is only looked through where one is missing.
        """
        capped = client.budget.cap is not None
        try:
            await require_access(self.backends, lambda _: False, capped=capped)
        except InputError:
            left: dict[str, int] = {}
            for item in (await self.rehearse()).stages:
                left[item.backend] = left.get(item.backend, 0) + item.most_calls
            await require_access(
                self.backends, lambda backend: not left.get(backend.spec.name), capped=capped
            )

    @property
    def state(self) -> RunState:
        """How the run ended, once its stages have."""
        if self._client is not None and self._client.stopped:
            return "interrupted"
        return "budget" if self.over_budget else "complete"

    @property
    def owned_backends(self) -> tuple[Backend, ...]:
        """The backends that are closed with the job."""
        return ()

    async def close(self) -> None:
        """Closes what the job has opened."""
        for backend in {id(backend): backend for backend in self.owned_backends}.values():
            await backend.close()
        if self._ledger is not None and self._ledger is not self._given_ledger:
            self._ledger.close()
        self._ledger = None

    # How far it is

    def begin(self, stage: str, *, total: int, unit: str) -> None:
        """Says that a stage begins."""
        if self._within is not None:
            outer, name = self._within
            outer.begin(name, total=total, unit=unit)
            self.progress = outer.progress
            return
        progress = self.progress
        progress.stage, progress.unit = stage, unit
        progress.number = self.stages.index(stage) + 1
        progress.done, progress.total, progress.troubled = 0, total, 0
        progress.counts = {}
        self._stage_began = time.monotonic()
        self._sent_before = self._client.counts.sent if self._client else 0
        self.tell()

    def step(self, *, is_troubled: bool = False) -> None:
        """Counts one unit of the stage at work."""
        self.progress.done += 1
        self.progress.troubled += is_troubled
        self.tell()

    def tell(self) -> None:
        """Hands the newest state to whoever listens."""
        self._autosave.changed()
        if self._within is not None:
            self._within[0].tell()
            return
        client, progress = self._client, self.progress
        if client is not None:
            counts = client.counts
            progress.sent, progress.answered = counts.sent, counts.answered
            progress.failed, progress.from_ledger = counts.failed, counts.from_ledger
            progress.repeated = counts.repeated
        progress.spent_usd = self._budget.spent
        progress.unknown_price_calls = self._budget.unknown_calls
        progress.elapsed_s = time.monotonic() - self._stage_began
        progress.stage_sent = progress.sent - self._sent_before
        self._on_progress(progress)

    @property
    def spending(self) -> UsageSnapshot:
        """What this job has sent and paid since it began, or since the last `next_session`."""
        if self._client is None:
            return UsageSnapshot()
        return self._client.spending().since(self._spent_before)

    # The folder and its record

    def open_folder(self) -> RunFolder | None:
        """The run folder, locked; None for a job that has none."""
        return RunFolder.open(
            self.path,
            self.identity,
            must_exist=self.config.resume,
            replaces_other=self._within is not None,
        )

    def next_session(self, name: str | None, *, state: RunState = "complete") -> None:
        """Ends the entry of this session in run.json, and begins another of that name."""
        self._sessions.append(self._session(state))
        self._start_session(name)

    def _open(self) -> Client:
        self._loop = asyncio.get_running_loop()
        self._folder = self.open_folder()
        if self._folder is not None:
            self._sessions = list((self._folder.existing or {}).get("sessions", []))
        if self._within is None:
            self._client = Client(self.ledger, budget=self._budget, on_change=self.tell)
        else:
            outer = self._within[0]
            self._client, self._budget = outer._client, outer._budget
        assert self._client is not None  # noqa: S101 - the larger job has begun
        self._start_session(self._session_name)
        return self._client

    def _release(self) -> None:
        self._autosave.end()
        if self._folder is not None:
            self._folder.close()
            self._folder = None

    def _start_session(self, name: str | None) -> None:
        self._session_name, self._session_began = name, datetime.now(UTC)
        if self._client is not None:
            self._spent_before = self._client.spending()

    def _session(self, state: RunState) -> dict[str, Any]:
        named = {} if self._session_name is None else {"stage": self._session_name}
        return named | session_record(
            self.spending, started=self._session_began, state=state, cap=self._budget.cap
        )

    def config_json(self) -> dict[str, Any]:
        """What run.json says was chosen."""
        return self.config.to_json()

    def _write_record(self, state: RunState) -> None:
        if self._folder is None:
            return
        sessions = [*self._sessions, self._session(state)]
        described = self.describe()
        record = {
            "format": RUN_FORMAT,
            "kind": self.kind,
            "state": state,
            "identity": self.identity,
            "config": self.config_json(),
            "versions": versions(),
            **described,
            "stages": self.outcome,
            "ledger": self.ledger.place,
            "cost": {**described.get("cost", {}), **cost_record(sessions)},
            "sessions": sessions,
        }
        self._folder.write_run_file(record)


def run_job(job: Job[Result]) -> Result:
    """Runs a job to its end; a KeyboardInterrupt lets it finish what is in flight.

    Raises:
        RunInterrupted: after an interrupt, when the results stand; `.run` holds them.
        KeyboardInterrupt: after a second one; calls in flight are then lost.
    """
    from ..run import RunInterrupted

    run, was_interrupted = run_stoppable(job)
    if was_interrupted:
        raise RunInterrupted(run)
    return run


def default_folder(name: str, identity: Mapping[str, Any]) -> Path:
    """`runs/NAME-xxxxxxxx`, the digits from what makes the run: the same command finds it again."""
    stem = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:60]
    return Path("runs") / f"{stem.strip('-') or 'responses'}-{run_identity_hash(identity)[:8]}"
