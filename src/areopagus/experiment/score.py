"""The scoring job: responses of a source, or the answers of targets to prompts, before a panel."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..formats import units
from ..graphs.panel import PanelContext
from ..graphs.stopping import StoppingRule
from ..judges.models.client import Client
from ..precision import PrecisionTally, panel_with_rule
from ..progress import OnProgress
from ..records.estimates import ESTIMATES_FILE
from ..records.readers.responses import ResponseSource, text_key
from ..records.run_folder import (
    ANSWERS_FILE,
    JUDGMENTS_FILE,
    REPORT_FILE,
    SCORES_FILE,
    TEXTS_FILE,
)
from ..records.types import STATUSES
from ..run import Run
from .ask import read_answer
from .backends import all_paid, settings_of
from .config import ScoreConfig
from .dry_run import DryRun, estimate_scoring
from .engine import LocalEngine, judge_sample
from .job import Job
from .respond import RespondJob, ResponseCounts
from .run_record import RunState
from .run_writer import RunningSummary, RunWriter, describe_run

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..judges.models.backend import Backend
    from ..records.ledger import Ledger
    from ..records.types import Sample, Verdict
    from .engine import Engine


class ScoreJob(Job[Run]):
    """Scores responses; those of a `RespondJob` are asked for first, in the same run.

    Every planned answer is then a response of the run: one that did not come has no text, which
    the panel screens. The answers stand in the folder as responses.csv, as `respond` writes them.
    """

    kind = "panel"
    with_results = True

    def __init__(
        self,
        panel: PanelSpec,
        source: ResponseSource | RespondJob,
        config: ScoreConfig | None = None,
        *,
        engine: Engine | None = None,
        on_progress: OnProgress = None,
    ) -> None:
        """Checks everything that can be checked offline.

        Args:
            panel: who judges.
            source: the responses, or the job that asks for them; both are closed with this job.
            config: see `Panel.score_many`; a stopping rule in it is the panel's from then on.
            engine: what does the work; this process when left out. The job closes it.
            on_progress: called on every change.

        Raises:
            InputError: everything wrong with the input.
        """
        config = config or ScoreConfig()
        self._tally: PrecisionTally | None = None
        if (rule := _rule_of(config)) is not None:
            panel, self._tally = panel_with_rule(panel, rule)
        self.panel = panel
        self.engine: Engine = engine or LocalEngine()
        self.stages = ("score",)
        self._given = source
        try:
            if isinstance(source, RespondJob):
                self.stages = ("respond", "score")
                identity = self._identity_with_answers(source)
                planned = source.n_planned
                self.summary = replace(
                    source.summary, n_responses=planned, n_respondents=len(source.backends)
                )
            else:
                self.summary = source.check()
                identity = panel.identity() | {"responses_sha256": self.summary.fingerprint}
            name = Path(self.summary.name).name
            super().__init__(config, identity=identity, name=name, on_progress=on_progress)
        except BaseException:
            (source.source if isinstance(source, RespondJob) else source).close()
            raise
        self.progress.total = self.summary.n_responses
        self.progress.planned = self.summary.n_responses * len(panel.planned())
        self._panel_description: Mapping[str, Any] | None = None
        # While the tables do not stand, neither do counts and means.
        self._scored = RunningSummary(panel)
        self._answer_notices: tuple[str, ...] = ()
        self._answers_state: RunState = "complete"

    def _identity_with_answers(self, answering: RespondJob) -> dict[str, Any]:
        summary = answering.summary
        if "response_text" in summary.columns_carried:
            raise InputError(
                f"{summary.name}: has responses already (a column response_text), so that nobody "
                "has to answer: leave the targets out"
            )
        return self.panel.identity() | {
            "prompts_sha256": summary.fingerprint,
            "targets": settings_of(answering.backends),
            "asked": answering.asked,
        }

    @property
    def answering(self) -> RespondJob | None:
        """The job that asks for the responses, where they are not there yet."""
        return self._given if isinstance(self._given, RespondJob) else None

    @property
    def ledger(self) -> Ledger:
        """The store of calls: the panel's."""
        return self.panel.ledger

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The judges, and the targets where they are asked."""
        targets = self.answering.backends if self.answering is not None else ()
        return (*targets, *self.panel.backends)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return (*self.panel.notices, *self.summary.notices)

    @property
    def state(self) -> RunState:
        """`complete` also after a stop that left nothing out."""
        if self._scored.is_short:
            return "interrupted" if self._client and self._client.stopped else "budget"
        return self._answers_state

    async def dry_run(self) -> DryRun:
        """Calls and cost of the answers and of judging them.

        An answer that the ledger does not hold is taken to have the length asked for, or that of a
        usual essay.
        """
        given = self._given
        if isinstance(given, ResponseSource):
            return estimate_scoring(self.panel, given)
        answers = await given.dry_run()
        rows = list(self._assumed_answers(given))
        return answers.followed_by(estimate_scoring(self.panel, ResponseSource(rows)))

    def _assumed_answers(self, answering: RespondJob) -> Iterator[Mapping[str, str]]:
        for number, (question, reply) in enumerate(answering.stored_replies()):
            # The number, as two answers are hardly ever the same.
            assumed = "word " * answering.likely_words + str(number)
            yield answering.row_of(question, assumed if reply is None else read_answer(reply).text)

    async def require_access(self, client: Client) -> None:
        """Raises what keeps anybody from being asked; see `Engine.require_access`."""
        given, capped = self._given, client.budget.cap is not None
        if isinstance(given, ResponseSource):
            await self._require_judges(given, capped=capped)
            return
        if not given.is_paid():
            # The judges must be there before the first answer is paid for.
            await self.engine.require_access(self.panel, lambda _: False, capped=capped)
        await given.require_access(client)

    async def _require_judges(self, source: ResponseSource, *, capped: bool) -> None:
        def is_paid(backend: Backend) -> bool:
            return all_paid(self.panel, source.rows(), backend)

        try:
            await self.engine.require_access(self.panel, is_paid, capped=capped)
        except InputError:
            if self.panel.rule is None or not await self._is_decided(source.rows()):
                raise
            # Judges who lack a reply are not wanted; what is wrong with the settings still is.
            await self.engine.require_access(self.panel, lambda _: True, capped=capped)

    async def _is_decided(self, rows: Iterable[Sample]) -> bool:
        """Whether the rule comes to its end on every response without a further call.

        Whom the rule asks next depends on the replies before, so the panel sits on every response
        before a client that sends nothing.
        """
        client = Client(self.ledger)
        client.stop()
        for row in rows:
            verdict = await judge_sample(PanelContext(row, self.panel, client))
            if any(judgment.reason == "interrupted" for judgment in verdict.judgments):
                return False
        return True

    async def run_stages(self, client: Client) -> None:
        """Has prompts answered where that is to be done, and scores everything into the tables."""
        source = self._given
        if isinstance(source, RespondJob):
            source = await self._respond(source, client)
            self.summary = source.check()
            await self._require_judges(source, capped=client.budget.cap is not None)
            self._panel_description = None
            self.write_record("running")
        summary = await self._score(client, source)
        self._scored, self._panel_description = summary, None
        self.outcome["score"] = {
            "responses": self.summary.n_responses,
            "n_planned": self.summary.n_responses * len(self.panel.planned()),
            "counts": dict(summary.counts),
            "faults": dict(summary.faults),
        }
        self.over_budget = self.state == "budget"

    async def _respond(self, answering: RespondJob, client: Client) -> ResponseSource:
        answering.write_to(self.path / ANSWERS_FILE)
        result = await answering.run(within=(self, "respond"))
        self.outcome["respond"] = {**asdict(result.counts), "faults": dict(result.faults)}
        self._answer_notices = _missing(result.counts)
        self._answers_state = result.state
        return ResponseSource(result.path)

    async def _score(self, client: Client, source: ResponseSource) -> RunningSummary:
        panel, repeated_texts = self.panel, self.summary.repeated_texts

        def is_repeated(row: Sample) -> bool:
            return bool(repeated_texts) and text_key(row.response_text) in repeated_texts

        self.begin("score", total=self.summary.n_responses, unit="responses")
        self.progress.counts = dict.fromkeys(STATUSES, 0)
        with RunWriter(panel, self.path, carried=self.summary.columns_carried) as writer:
            verdicts = self.engine.score(
                source.rows,
                panel=panel,
                client=client,
                is_repeated=is_repeated,
                folder=self.path,
            )
            # Closed here and now when writing fails: what is in flight must not linger.
            async with aclosing(verdicts):
                async for row, verdict in verdicts:
                    writer.add(verdict, row.prompt_text, row.response_text, row.extra)
                    if self._tally is not None:
                        self._tally.add(verdict, row.prompt_text)
                    self._count(verdict)
        return writer.summary

    def _count(self, verdict: Verdict) -> None:
        counts = self.progress.counts
        for status, number in verdict.counts.items():
            counts[status] += number
            if status in ("refused", "unreadable", "failed"):
                self.progress.troubled += number
        self.step()

    def describe(self) -> dict[str, Any]:
        """What run.json says of a panel's run."""
        if self._panel_description is None:
            self._panel_description = self.panel.describe()
        answering = self.answering
        given = self.summary
        described = describe_run(
            self.panel,
            given.name,
            self._scored,
            responses={
                "n": given.n_responses,
                "prompts": given.n_prompts,
                "respondents": given.n_respondents,
                **({"left_out": dict(given.left_out)} if given.left_out else {}),
            },
            panel_description=self._panel_description,
            notices=(
                # Of the prompts too, where the summary is by now that of their answers.
                *dict.fromkeys((*(answering.notices if answering else ()), *given.notices)),
                *self._answer_notices,
            ),
            is_demonstration=self.is_demonstration,
        )
        if answering is not None:
            described["answers"] = {"file": ANSWERS_FILE, **answering.describe()}
            chosen = {**self.config.to_json(), "answers": answering.config.to_json()}
            described["config"] = chosen
        return described

    def read_stored(self, existing: Mapping[str, Any]) -> Callable[[], Run] | None:
        """Reads the run, where every planned judgment has its outcome and the page stands."""
        counts = existing["stages"].get("score", {}).get("counts", {})
        open_outcomes = ("refused", "unreadable", "failed")
        if self.answering is not None or any(counts.get(name) for name in open_outcomes):
            return None
        if existing["panel"] != json.loads(json.dumps(self.panel.describe())):
            return None  # the page says what the panel was drawn by, too
        files = (JUDGMENTS_FILE, SCORES_FILE, TEXTS_FILE, ESTIMATES_FILE, REPORT_FILE)
        if not counts or not all((self.path / name).is_file() for name in files):
            return None
        return partial(Run, self.path)

    def finished(self, result: None) -> Run:
        """Makes the estimates, writes the report and returns the run."""
        run = Run(self.path)
        return run.write_results(figures=self._within is None) if self.with_results else run

    async def close(self) -> None:
        """Closes the source and the engine; the panel is the caller's."""
        await self.engine.close()
        if isinstance(self._given, RespondJob):
            await self._given.close()
        else:
            self._given.close()
        await super().close()


def _rule_of(config: ScoreConfig) -> StoppingRule | None:
    """The rule that the options make; None where every judge is asked."""
    if config.precision is None and config.judges_per_response is None:
        return None
    return StoppingRule(config.precision, config.judges_per_response, config.order_seed)


async def score_within(
    job: Job[Any],
    stage: str,
    panel: PanelSpec,
    rows: Iterable[Mapping[str, Any]],
    folder: str,
    *,
    with_results: bool = True,
) -> Path | None:
    """Has a panel score rows as a stage of a larger job, into a folder inside its own.

    Args:
        job: the larger one.
        stage: of it.
        panel: who judges.
        rows: the responses.
        folder: inside the job's.
        with_results: whether the folder gets estimates and a report of its own at once, or when
            `areopagus report` is asked for them.

    Returns:
        The folder of the panel's run; None where there was nothing to score.

    Raises:
        InputError: the rows cannot be scored.
        StoreError: the ledger or the folder cannot be written.
    """
    given = iter(rows)
    first = next(given, None)
    if first is None:
        job.outcome[stage] = {"responses": 0, "n_planned": 0, "counts": {}, "faults": {}}
        return None
    source = ResponseSource(chain((first,), given))
    scoring = ScoreJob(panel, source, ScoreConfig(out=job.path / folder))
    scoring.with_results = with_results
    run = await scoring.run(within=(job, stage))
    job.outcome[stage] = scoring.outcome["score"]
    job.over_budget |= run.state == "budget"
    return run.path


def _missing(counts: ResponseCounts) -> tuple[str, ...]:
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
