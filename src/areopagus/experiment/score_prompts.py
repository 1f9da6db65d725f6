"""The `score PROMPTS --target` job: models answer prompts and the panel judges them, in one run.

The answers stand in the folder as responses.csv, the table that `respond` writes. Every planned
answer is a response of the run: one that did not come has no text, which the panel screens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from ..errors import InputError
from ..graphs.panel_spec import PanelSpec
from ..number import units
from ..records.readers.responses import ResponseSource
from ..records.run_folder import ANSWERS_FILE, RunFolder
from ..records.types import STATUSES
from ..run import Run
from .ask import Track, read_answer
from .backends import prepare_all, settings_of
from .config import JobOptions, seated
from .dry_run import Estimate, estimate
from .job import Autosave
from .record import RunningSummary, RunState, run_record, session_record
from .respond import USUAL_WORDS, RespondJob
from .score import Beginning, ScoreJob, default_folder

if TYPE_CHECKING:
    from .respond import RespondEstimate, RespondResult, ResponseCounts


class PromptScoreJob:
    """Prepared, then run once on the package's loop."""

    def __init__(
        self,
        panel: PanelSpec,
        prompts: Any,
        targets: Sequence[Any] | Any,
        out: str | Path | None = None,
        *,
        track: Track | None = None,
        effort: str | None = None,
        words: int | None = None,
        response_repeats: int = 1,
        on_answers: Callable[[RespondResult], None] | None = None,
        **options: Unpack[JobOptions],
    ) -> None:
        """Checks everything that can be checked offline; see `areopagus.score_prompts`.

        Raises:
            InputError: everything wrong with the input.
        """
        self._on_answers = on_answers or (lambda result: None)
        self._folder: RunFolder | None = None
        self._autosave = Autosave(self._note)
        self._started = datetime.now(UTC)
        self._seated = seated(panel, options)
        self.panel = self._seated.panel
        self._options = options
        self._cap = options.get("max_cost")
        self.answering = RespondJob(
            prompts,
            targets,
            None,
            track=track,
            repeats=response_repeats,
            effort=effort,
            words=words,
            columns=options.get("columns"),
            limit=options.get("limit"),
            ledger=panel.ledger,
            max_cost=self._cap,
            on_progress=self._tell,
        )
        summary, protocol = self.answering.summary, self.answering.protocol
        if "response_text" in summary.columns_carried:
            self.answering.source.close()
            raise InputError(
                f"{summary.name}: has responses already (a column response_text), so that nobody "
                "has to answer: leave the targets out"
            )
        self._protocol = asdict(protocol) | {"repeats": response_repeats}
        self.identity = self.panel.identity() | {
            "prompts_sha256": summary.fingerprint,
            "targets": settings_of(self.answering.backends),
            "asked": self._protocol,
        }
        self.path = Path(out or default_folder(Path(summary.name).name, self.identity))
        self._judging: ScoreJob | None = None
        self._stop_early = False

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return self.answering.summary.notices

    def stop(self) -> None:
        """Asks the job to end soon, from any thread: calls in flight are awaited and stored."""
        self._stop_early = True
        self.answering.stop()
        if self._judging is not None:
            self._judging.stop()

    def estimate(self) -> tuple[RespondEstimate, Estimate]:
        """Calls and cost of the answers and of judging them, without sending anything.

        An answer that the ledger does not hold is taken to have the length asked for, or that of a
        usual essay.

        Raises:
            InputError: unknown providers, and parameters that a model does not take.
        """
        prepare_all((*self.answering.backends, *self.panel.backends))
        with self.answering.source:
            answers = self.answering.estimate(self.panel.ledger)
            rows = list(self._rehearsed())
        return answers, estimate(self.panel, ResponseSource(rows), rule=self.panel.rule)

    async def run(self) -> Run:
        """Has the prompts answered and the answers scored, and returns the run.

        Raises:
            InputError: the folder holds another run, or somebody cannot be asked; nothing was
                spent.
            StoreError: the ledger or the folder cannot be written.
        """
        try:
            folder = RunFolder.open(
                self.path,
                self.identity,
                must_exist=self._options.get("resume", False),
            )
        except BaseException:
            self.answering.source.close()
            raise
        try:
            return await self._run(folder)
        finally:
            await self._seated.engine.close()
            folder.close()
            self.answering.source.close()

    async def _run(self, folder: RunFolder) -> Run:
        answering, panel = self.answering, self.panel
        answering.write_to(folder.path / ANSWERS_FILE)
        if not all(answering.all_paid(panel.ledger, each) for each in answering.backends):
            # The judges must be there before the first answer is paid for.
            capped = self._cap is not None
            await self._seated.engine.require_access(panel, lambda _: False, capped=capped)
        if self._stop_early:
            answering.stop()
        self._folder, self._started = folder, datetime.now(UTC)
        self._autosave.begin(is_written=False)
        try:
            result = await answering.run()
        finally:
            self._autosave.end()
            self._folder = None
        state = _state(result)
        folder.existing = {"sessions": self._sessions(folder, state or "complete")}
        left = None
        if self._cap is not None:
            left = max(0.0, self._cap - result.spent_usd - result.possibly_spent_usd)
        self._judging = job = self._seated.job(
            ResponseSource(result.path),
            folder.path,
            max_cost=left,
            beginning=Beginning(
                folder,
                self.identity,
                self._answers(),
                _notices(result.counts),
                self._is_demonstration,
                state,
            ),
        )
        if self._stop_early or result.interrupted:
            job.stop()
        return await job.run()

    def _tell(self, result: RespondResult) -> None:
        """Keeps run.json up to date while targets answer, and hands the state on."""
        self._autosave.changed()
        self._on_answers(result)

    def _note(self) -> None:
        if self._folder is not None:
            self._folder.write_run_file(self._record(self._folder))

    def _record(self, folder: RunFolder) -> dict[str, Any]:
        """run.json while there are no responses to score yet."""
        answering = self.answering
        source = replace(
            answering.summary,
            n_responses=answering.result.counts.planned,
            n_respondents=len(answering.backends),
        )
        return run_record(
            self.panel,
            state="running",
            identity=self.identity,
            source=source,
            running_summary=RunningSummary(self.panel.criteria),
            counts=dict.fromkeys(STATUSES, 0),
            sessions=self._sessions(folder, "running"),
            answers=self._answers(),
            is_demonstration=self._is_demonstration,
        )

    def _sessions(self, folder: RunFolder, state: RunState) -> list[dict[str, Any]]:
        earlier = (folder.existing or {}).get("sessions", [])
        spending = self.answering.spending()
        newest = session_record(spending, started=self._started, state=state, cap=self._cap)
        return [*earlier, {"stage": "answers", **newest}]

    def _answers(self) -> dict[str, Any]:
        result = self.answering.result
        return {
            "prompts": self.answering.summary.name,
            "file": ANSWERS_FILE,
            "counts": asdict(result.counts),
            "faults": dict(result.faults),
            "asked": self._protocol,
            "effective_parameters": {
                backend.spec.name: backend.effective_parameters()
                for backend in self.answering.backends
            },
        }

    @property
    def _is_demonstration(self) -> bool:
        return any(backend.spec.is_offline for backend in self.answering.backends)

    def _rehearsed(self) -> Iterator[Mapping[str, str]]:
        words = self.answering.protocol.words or USUAL_WORDS
        rehearsed = self.answering.rehearsed(self.panel.ledger)
        for number, (question, reply) in enumerate(rehearsed):
            # The number, as two answers are hardly ever the same.
            text = "word " * words + str(number) if reply is None else read_answer(reply).text
            yield self.answering.row_of(question, text)


def _state(result: RespondResult) -> Literal["interrupted", "budget"] | None:
    """Why questions were left unasked; None where none was."""
    if result.interrupted:
        return "interrupted"
    return "budget" if result.over_budget else None


def _notices(counts: ResponseCounts) -> tuple[str, ...]:
    """What is missing of the answers, or of one of them."""
    absent = {
        "failed": counts.failed,
        "came empty": counts.empty,
        "refused by the endpoint": counts.refused,
        "not asked": counts.not_asked,
        "cut off at the token limit": counts.cut_off,
    }
    told = ", ".join(f"{number} {what}" for what, number in absent.items() if number)
    answered = f"{counts.answered} answered of {units(counts.planned, 'planned response')}"
    return (f"{answered}: {told}",) if told else ()
