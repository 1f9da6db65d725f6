"""The scoring job, from start to end: a source of responses, a panel, a run folder."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack, aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..async_runner import run_stoppable
from ..judges.models.budget import Budget
from ..judges.models.client import Client
from ..judges.models.usage import UsageSnapshot, cost_record
from ..records.readers.responses import text_key
from ..records.run_folder import RunFolder
from ..records.run_tables import TableWriter, TextWriter
from ..records.types import STATUSES, Sample
from ..run import Run, RunInterrupted
from .backends import all_paid, check_cap
from .engine import LocalEngine, Scored
from .job import Autosave
from .record import RunningSummary, RunState, run_record, session_record

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..judges.models.backend import Backend
    from ..records.readers.responses import ResponseSource, SourceSummary
    from .engine import Engine


@dataclass(slots=True)
class Progress:
    """How far a job is.

    Attributes:
        done, total: responses.
        planned: judgments planned in all.
        counts: status to number of judgments, of the responses done.
        sent, answered, failed, from_ledger, repeated: calls; see `CallCounts`.
        spent_usd, unknown_price_calls: what this session has paid.
        elapsed_s: seconds since the first response.
    """

    total: int = 0
    planned: int = 0
    done: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    sent: int = 0
    answered: int = 0
    failed: int = 0
    from_ledger: int = 0
    repeated: int = 0
    spent_usd: float = 0.0
    unknown_price_calls: int = 0
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Beginning:
    """What was done in a run's folder before its responses could be scored.

    Attributes:
        folder: open, with the sessions so far; the scoring job closes it.
        identity: of the whole run: what the responses were asked with, instead of their texts.
        answers: what became of the questions, for run.json.
        notices: what a person should know of it.
        is_demonstration: whether an embedded stand-in answered.
        left_by: why questions were left unasked; None where none was.
    """

    folder: RunFolder
    identity: dict[str, Any]
    answers: dict[str, Any]
    notices: tuple[str, ...]
    is_demonstration: bool
    left_by: Literal["budget", "interrupted"] | None


class ScoreJob:
    """Prepared, then run once on the package's loop."""

    def __init__(
        self,
        panel: PanelSpec,
        source: ResponseSource,
        *,
        out: str | Path | None,
        resume: bool = False,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        is_stage: bool = False,
        engine: Engine | None = None,
        beginning: Beginning | None = None,
    ) -> None:
        """Checks the source and opens the folder.

        Args:
            panel, source, out, resume, max_cost, on_progress: see `Panel.score_many`.
            is_stage: the folder belongs to a larger job that has checked whose it is, so that an
                earlier run in it is replaced and not compared.
            engine: what does the work; this process when left out. The job closes it.
            beginning: what was done before in the folder, which is then open already.
        """
        self.panel = panel
        self._beginning = beginning
        self._is_stage = is_stage
        self._engine: Engine = engine or LocalEngine()
        self.source = source
        try:
            check_cap(max_cost)
            self.summary: SourceSummary = source.check()
            if beginning is not None:
                self.identity, self.folder = beginning.identity, beginning.folder
            else:
                self.identity = panel.identity() | {"responses_sha256": self.summary.fingerprint}
                if out is None:
                    out = default_folder(Path(self.summary.name).name, self.identity)
                self.folder = RunFolder.open(
                    out, self.identity, must_exist=resume, replaces_other=is_stage
                )
        except BaseException:
            source.close()
            raise
        self.progress = Progress(
            total=self.summary.n_responses,
            planned=self.summary.n_responses * len(panel.planned()),
        )
        self._budget = Budget(cap=max_cost)
        self._on_progress = on_progress or (lambda progress: None)
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_early = False
        self._started = datetime.now(UTC)
        self._before = UsageSnapshot()
        self._noted: dict[str, Any] = {}
        self._autosave = Autosave(self._note_spending)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return self.summary.notices

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.folder.path

    def stop(self) -> None:
        """Asks the job to end soon, from any thread: calls in flight are awaited and stored."""
        self._stop_early = True
        if self._loop is not None and self._client is not None:
            self._loop.call_soon_threadsafe(self._client.stop)

    async def run(self, client: Client | None = None) -> Run:
        """Scores everything, writes the tables, and returns the run.

        Args:
            client: the client of a larger job, whose budget, limits and counts this one shares.

        Raises:
            InputError: a backend cannot be reached or asked, and the ledger does not hold its
                replies; nothing was spent.
            StoreError: the ledger or the folder cannot be written.
        """
        try:
            return await self._run(client)
        finally:
            self._autosave.end()
            await self._engine.close()
            self.folder.close()
            self.source.close()

    async def _run(self, given: Client | None) -> Run:
        panel = self.panel
        self._loop = asyncio.get_running_loop()
        if given is not None:
            self._budget = given.budget
        client = given or Client(panel.ledger, budget=self._budget, on_change=self._tell)
        self._client = client
        self._before = client.spending()

        def is_paid(backend: Backend) -> bool:
            return all_paid(panel, self.source.rows(), backend)

        capped = self._budget.cap is not None
        await self._engine.require_access(panel, is_paid, capped=capped)
        if self._stop_early:
            client.stop()
        running_summary = RunningSummary(panel.criteria)
        repeated_texts = self.summary.repeated_texts

        def is_repeated(row: Sample) -> bool:
            return bool(repeated_texts) and text_key(row.response_text) in repeated_texts

        self._note(self._record("running", running_summary))
        began = time.monotonic()
        with ExitStack() as unless_done:
            texts = TextWriter(self.folder.path)
            unless_done.callback(texts.abandon)
            writer = TableWriter(
                self.folder.path,
                criteria=panel.criteria,
                personas=[persona.id for persona in panel.personas],
                models=[backend.spec.name for backend in panel.backends],
                axes=sorted({persona.axis for persona in panel.personas}),
                carried=self.summary.columns_carried,
            )
            unless_done.callback(writer.abandon)
            verdicts = self._engine.score(
                self.source.rows(), panel=panel, client=client, is_repeated=is_repeated
            )
            # Closed here and now when writing fails: what is in flight must not linger.
            async with aclosing(verdicts):
                async for scored in verdicts:
                    row = scored.row
                    writer.add(scored.verdict, row.extra)
                    texts.add(row.response_id, row.prompt_text, row.response_text)
                    running_summary.add(scored.verdict)
                    self._count(scored, time.monotonic() - began)
            texts.close()
            writer.close()
            unless_done.pop_all()
        self._autosave.end()
        state: RunState = "complete"
        if self.progress.counts["not_asked"] > running_summary.n_settled_judgments:
            state = "interrupted" if client.stopped else "budget"
        elif self._beginning is not None and self._beginning.left_by is not None:
            state = self._beginning.left_by
        self.folder.write_run_file(self._record(state, running_summary))
        self._write_report()
        return Run(self.folder.path)

    def _write_report(self) -> None:
        from ..reports import write_report

        write_report(self.folder.path, figures=not self._is_stage, is_stage=self._is_stage)

    def _note(self, record: dict[str, Any]) -> None:
        """Writes run.json, and remembers it for what is spent from now on."""
        self.folder.write_run_file(record)
        self._noted = record
        self._autosave.begin()

    def _note_spending(self) -> None:
        record = self._noted
        # The tables do not stand yet, so neither do counts and means.
        sessions = [*record["sessions"][:-1], self._session("running")]
        self.folder.write_run_file(
            {**record, "cost": record["cost"] | cost_record(sessions), "sessions": sessions}
        )

    def _count(self, scored: Scored, elapsed_s: float) -> None:
        self.progress.done += 1
        self.progress.elapsed_s = elapsed_s
        for status, number in scored.verdict.counts.items():
            self.progress.counts[status] += number
        self._tell()

    def _tell(self) -> None:
        client, budget, progress = self._client, self._budget, self.progress
        if client is not None:
            counts = client.counts
            progress.sent, progress.answered = counts.sent, counts.answered
            progress.failed, progress.from_ledger = counts.failed, counts.from_ledger
            progress.repeated = counts.repeated
        progress.spent_usd = budget.spent
        progress.unknown_price_calls = budget.unknown_calls
        self._autosave.changed()
        self._on_progress(progress)

    def _record(self, state: RunState, running_summary: RunningSummary) -> dict[str, Any]:
        begun = self._beginning
        earlier = (self.folder.existing or {}).get("sessions", [])
        return run_record(
            self.panel,
            state=state,
            identity=self.identity,
            source=self.summary,
            running_summary=running_summary,
            counts=self.progress.counts,
            sessions=[*earlier, self._session(state)],
            notices=begun.notices if begun else (),
            answers=begun.answers if begun else None,
            is_demonstration=begun is not None and begun.is_demonstration,
        )

    def _session(self, state: RunState) -> dict[str, Any]:
        spending = self._client.spending().since(self._before) if self._client else UsageSnapshot()
        return session_record(spending, started=self._started, state=state, cap=self._budget.cap)


def run_job(job: ScoreJob) -> Run:
    """Runs a job to its end; a KeyboardInterrupt lets it finish what is in flight.

    Raises:
        RunInterrupted: after an interrupt, when the tables stand.
        KeyboardInterrupt: after a second one; calls in flight are then lost.
    """
    run, was_interrupted = run_stoppable(job)
    if was_interrupted:
        raise RunInterrupted(run)
    return run


def default_folder(name: str, identity: dict[str, Any]) -> Path:
    """`runs/NAME-xxxxxxxx`, the digits from what makes the run: the same command finds it again."""
    from ..records.run_folder import run_identity_hash

    stem = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in name)[:60]
    return Path("runs") / f"{stem.strip('-') or 'responses'}-{run_identity_hash(identity)[:8]}"
