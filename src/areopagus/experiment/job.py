"""`Job`, the frame of everything that asks models: stages over one client, in one run folder.

A job is prepared, and then estimated or run, once. What it does stands in its hooks:

    backends        everybody who may be asked
    dry_run()       calls and cost of every stage
    run_stages()    the work, which counts what became of it
    describe()      what run.json says of this kind of job
    run_type        what its folder is read as, once run.json and the estimates are written

The frame opens and locks the folder, holds the budget, stops, tells how far it is, and writes
run.json at the start, every few seconds and at the end. A job may run another one as a stage: that
one shares the client, so that limits, cost cap and stop are those of the whole.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from ..async_runner import run_stoppable, run_sync
from ..errors import InputError
from ..judges.models.budget import Budget
from ..judges.models.client import Client
from ..judges.models.usage import UsageSnapshot
from ..progress import OnProgress, Progress, heard, listener
from ..records.estimates import write_estimates
from ..records.run_folder import RunFolder, run_identity_hash
from .backends import prepare_all, require_access
from .run_record import RunRecord, RunState, versions

if TYPE_CHECKING:
    from ..judges.models.backend import Backend
    from ..records.ledger import Ledger
    from ..run import JobRun
    from .config import JobConfig
    from .dry_run import DryRun


Result = TypeVar("Result")


_TOLD = ("stage", "number", "stages", "unit", "done", "total", "troubled")


class Job(ABC, Generic[Result]):
    """The frame; the subclasses are the jobs.

    Attributes:
        kind: of the run, in run.json.
        stages: their names, in order.
        config, identity: what was chosen, and what makes the run this run.
        path: its folder.
        progress: how far it is.
        outcome: what became of each stage, for run.json.
        result: what came of it in words, for run.json: the figures are estimates.
        over_budget: whether the cost cap left something out.
    """

    kind: str
    stages: tuple[str, ...]
    run_type: ClassVar[type[JobRun] | None] = None

    def __init__(
        self,
        config: JobConfig,
        *,
        identity: Mapping[str, Any],
        name: str = "",
        ledger: str | Path | Ledger | None = None,
        on_progress: OnProgress = None,
    ) -> None:
        """Takes the settings; the folder is opened when the job is run.

        Args:
            config: what was chosen.
            identity: what makes the run this run.
            name: begins the folder's name where the config names none.
            ledger: a file or an open Ledger; the user's shared one when left out.
            on_progress: called on every change, on the package's loop; or see `OnProgress`.
        """
        self.config = config
        self.identity = dict(identity)
        self.path = Path(config.out or default_folder(name, self.identity))
        self.progress = Progress(stages=len(self.stages))
        self.outcome: dict[str, Any] = {}
        self.result: dict[str, Any] = {}
        self.over_budget = False
        self._budget = Budget(cap=config.max_cost)
        self._given_ledger = ledger
        self._ledger: Ledger | None = None
        self._given_listener = on_progress
        self._on_progress: Callable[[Progress], None] = lambda progress: None
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._within: tuple[Job[Any], str] | None = None
        self._stop_early = False
        self._record: RunRecord | None = None
        self._spent_before = UsageSnapshot()
        self._stage_began = time.monotonic()
        self._sent_before = 0

    # What a job is

    @property
    @abstractmethod
    def backends(self) -> tuple[Backend, ...]:
        """Everybody who may be asked."""

    @abstractmethod
    async def dry_run(self) -> DryRun:
        """Calls and cost of every stage, as far as the ledger and the input tell; sends nothing."""

    @abstractmethod
    async def run_stages(self, client: Client) -> Any:
        """Does the work; puts counts into `self.outcome` by stage.

        Returns the `Estimates`, or None where it came to none, as when only a first stage is done.
        """

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What run.json says beside what it says of every job."""

    def finished(self, result: Any) -> Result:
        """The folder, read, once run.json is written for the last time.

        Args:
            result: what `run_stages` has returned; estimates are written, and the report of them.
        """
        found: Any = result
        if self.run_type is not None:
            found = self.run_type(self.path)
            if result is not None:
                write_estimates(self.path, result)
            try:
                if (n := getattr(self.config, "for_people", None)) is not None:
                    found.draw_for_people(n)
                if result is not None:
                    found.take_checks()
            finally:
                # What was paid for is reported, whatever is wrong with labels in the folder.
                if result is not None:
                    found.write_report(figures=self._within is None)
        made: Result = found
        return made

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

    def estimate(self) -> DryRun:
        """Calls, tokens and cost of all stages, without sending anything; the job is then over.

        Raises:
            InputError: unknown providers, and parameters that a model does not take.
        """
        return run_sync(self._estimate())

    async def _estimate(self) -> DryRun:
        try:
            prepare_all(self.backends)
            return await self.dry_run()
        finally:
            await self.close()

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
        with self._heard():
            try:
                client = self._open()
                if (stored := self._stored_result()) is not None:
                    return stored
                await self.require_access(client)
                if self._stop_early:
                    client.stop()
                self.write_record("running")
                result = await self.run_stages(client)
                self.write_record(self.state)
                return self.finished(result)
            finally:
                if self._record is not None:
                    self._record.close()
                await self.close()

    def stop(self) -> None:
        """Asks the job to end soon, from any thread: calls in flight are awaited and stored."""
        self._stop_early = True
        if self._loop is not None and self._client is not None:
            self._loop.call_soon_threadsafe(self._client.stop)

    @property
    def awaited(self) -> tuple[int, float]:
        """Calls in flight, and the seconds after which the last of them has ended in any case."""
        in_flight = {} if self._client is None else self._client.in_flight()
        specs = [backend.spec for backend in self.backends if in_flight.get(backend.spec.name)]
        return sum(in_flight.values()), max((spec.timeout_s for spec in specs), default=0.0)

    async def require_access(self, client: Client) -> None:
        """Raises everything that keeps a backend from being asked, before anything is spent.

        What the ledger holds needs no endpoint; it is only looked through where one is missing.
        """
        capped = client.budget.cap is not None
        try:
            await require_access(self.backends, lambda _: False, capped=capped)
        except InputError:
            left: dict[str, int] = {}
            for item in (await self.dry_run()).stages:
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

    async def close(self) -> None:
        """Closes what the job has opened."""
        if self._ledger is not None and self._ledger is not self._given_ledger:
            self._ledger.close()
        self._ledger = None

    # How far it is

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Has whoever was named hear how far the job is; a stage of a larger one, that one's."""
        if self._within is not None:
            yield
            return
        with heard(self._given_listener):
            hear = listener()
            if hear is None:
                yield
                return
            self._on_progress = hear
            with heard(self._do):
                yield

    def _do(self, told: Progress) -> None:
        """Tells what is done that has nothing to count."""
        self.progress.doing = told.doing
        self._on_progress(self.progress)

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
        progress.counts, progress.doing = {}, ""
        self._stage_began = time.monotonic()
        self._sent_before = self._client.counts.sent if self._client else 0
        self.tell()

    def step(self, *, is_troubled: bool = False) -> None:
        """Counts one unit of the stage at work."""
        self.progress.done += 1
        self.progress.doing = ""
        self.progress.troubled += is_troubled
        self.tell()

    def tell(self) -> None:
        """Hands the newest state to whoever listens."""
        if self._record is not None:
            self._record.changed()
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

    def progress_told(self) -> dict[str, Any]:
        """What run.json says of the stage at work, for as long as there is one."""
        told = asdict(self.progress)
        return {name: told[name] for name in _TOLD}

    @property
    def spending(self) -> UsageSnapshot:
        """What this job has sent and paid since it began."""
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

    def read_stored(self, existing: Mapping[str, Any]) -> Callable[[], Result] | None:
        """Reads the folder's result; None where this job would ask, estimate or draw anything.

        Args:
            existing: the record of the same run, as it stands in the folder.
        """
        return None

    def _stored_result(self) -> Result | None:
        record = self._record
        existing = record.folder.existing if record is not None else None
        if record is None or not existing or self._within is not None:
            return None
        if existing["state"] != "complete" or existing.get("versions") != versions():
            return None
        if _lasting(existing["config"]) != _lasting(self.config.to_json()):
            return None
        read = self.read_stored(existing)
        if read is None:
            return None
        record.write_again(existing)
        return read()

    def write_record(self, state: RunState) -> None:
        """Writes run.json, where there is a folder."""
        if self._record is not None:
            self._record.write(state)

    def _open(self) -> Client:
        self._loop = asyncio.get_running_loop()
        if self._within is not None:
            outer = self._within[0]
            self._client, self._budget = outer._client, outer._budget
        folder = self.open_folder()
        client = self._client or Client(self.ledger, budget=self._budget, on_change=self.tell)
        self._client, self._spent_before = client, client.spending()
        if folder is not None:
            self._record = RunRecord(folder, client, self._describe, progress=self.progress_told)
        return client

    def _describe(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "identity": self.identity,
            "config": self.config.to_json(),
            **self.describe(),
            **({"result": self.result} if self.result else {}),
            "stages": self.outcome,
            "ledger": self.ledger.place,
        }


def _lasting(config: Mapping[str, Any]) -> dict[str, Any]:
    """The choices that a finished run depends on."""
    return {name: value for name, value in config.items() if name != "max_cost"}


def run_job(job: Job[Result]) -> Result:
    """Runs a job to its end; a KeyboardInterrupt lets it finish what is in flight.

    Raises:
        RunInterrupted: after an interrupt, when the results stand; `.run` holds them.
        KeyboardInterrupt: after a second one; calls in flight are then lost.
    """
    from ..run import RunInterrupted

    run, was_interrupted = run_stoppable(job.run(), job.stop)
    if was_interrupted:
        raise RunInterrupted(run)
    return run


def default_folder(name: str, identity: Mapping[str, Any]) -> Path:
    """`runs/NAME-xxxxxxxx`, the digits from what makes the run: the same command finds it again."""
    stem = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:60]
    return Path("runs") / f"{stem.strip('-') or 'responses'}-{run_identity_hash(identity)[:8]}"
