"""`Panel`: personas on backends with a rubric, and everything that can be done with it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from pydantic import ValidationError

from .async_runner import run_async, run_sync
from .errors import InputError, InputFault
from .experiment.backends import Model, backends_from, checked_models, prepare_all
from .experiment.config import faults_of
from .experiment.single import SingleScores, sample_from
from .formats import units
from .graphs.panel_spec import PanelSpec
from .judges.factory import backend_of
from .judges.judge import Judge
from .judges.models.backend import Backend, BackendSpec
from .judges.offline.models import require_role
from .judges.prompt import (
    DEFAULT_ORDER,
    CriterionCalls,
    JudgePrompt,
    Order,
    Rationale,
    require_readable,
)
from .judges.templates import DEFAULT as DEFAULT_TEMPLATE
from .judges.templates import TEMPLATES, JudgeTemplate, load_template
from .personas import PERSONAS, Persona, load_personas
from .progress import READING, OnProgress, doing, heard
from .records.types import Mode, ScoreMode, Verdict
from .rubrics import RUBRICS, Rubric, load_rubric
from .scoring import PromptScoreOptions, ScoreOptions, prompt_score_job, score_job
from .settings import PanelSettings, read_settings

if TYPE_CHECKING:
    from .batch import BatchProgress, BatchSettings
    from .experiment.dry_run import DryRun
    from .experiment.engine import Engine
    from .experiment.score import ScoreJob
    from .experiment.session import Session
    from .records.ledger import Ledger
    from .run import Run


class Panel:
    """Personas on backends, with one rubric.

    Every call has an asynchronous twin. All work happens on one event loop in a thread of its own,
    so the synchronous calls work in a notebook too.
    """

    def __init__(
        self,
        models: Sequence[Model] | Model | None = None,
        *,
        personas: Sequence[str | Path | Persona] | None = None,
        persona_folders: Sequence[str | Path] = (),
        rubric: str | Path | Rubric = "critical_thinking",
        mode: Mode = "dimensions",
        order: Order = DEFAULT_ORDER,
        rationale: Rationale = "none",
        anchors: bool = True,
        criterion_order: int = 0,
        criterion_calls: CriterionCalls = "together",
        template: str | Path | JudgeTemplate = DEFAULT_TEMPLATE,
        datamark: bool = False,
        repeats: int = 1,
        score_mode: ScoreMode = "integer",
        quorum: float = 2 / 3,
        ledger: str | Path | Ledger | None = None,
        checkpointer: Any = None,
    ) -> None:
        """Puts the panel together; nothing is opened, imported from providers, or sent.

        Args:
            models: the backends; the embedded text-feature baseline when left out.
            personas: names, files or objects; all built-in ones and those of the folders when
                left out.
            persona_folders: folders with persona files.
            rubric: a name, a file or an object.
            mode: `dimensions`, `holistic` (one integer, rubric shown) or `no_rubric`.
            order: where the persona stands in the messages.
            rationale: `before` asks each judge for its reasons first.
            anchors: whether judges read the rubric's anchors.
            criterion_order: by how many places the rubric's criteria are rotated in what a judge
                reads and writes; results keep the rubric's order.
            criterion_calls: `apart` asks each judge for one criterion a call.
            template: the wording of the judges' messages: a name, a file or an object.
            datamark: whether a mark stands before every word of a response that judges read. What
                is stored stays as it is.
            repeats: askings of each judge, as separate judgments.
            score_mode: `expected` takes the probability-weighted score where a backend gives
                log-probabilities.
            quorum: share of the planned judgments that must be scored for a verdict.
            ledger: a file, `postgresql://…` or an open Ledger; the user's shared one if left out.
            checkpointer: a LangGraph checkpointer; not needed, the ledger resumes every call. With
                one no call goes before the others for a provider's cache.

        Raises:
            InputError: with everything wrong in the settings, personas, rubric and template.
        """
        named = checked_models(models)
        try:
            self.settings = PanelSettings(
                models=tuple(m if isinstance(m, BackendSpec) else m.spec for m in named),
                mode=mode,
                order=order,
                rationale=rationale,
                anchors=anchors,
                datamark=datamark,
                criterion_order=criterion_order,
                criterion_calls=criterion_calls,
                repeats=repeats,
                score_mode=score_mode,
                quorum=quorum,
            )
        except ValidationError as error:
            raise InputError(faults_of(error)) from error
        backends = backends_from(
            named,
            lambda spec: backend_of(
                spec.model_copy(update={"score_mode": spec.score_mode or score_mode})
            ),
        )
        require_role(backends, "judge")
        if isinstance(personas, str | Path | Persona):
            personas = [personas]
        words = load_template(template)
        if any(backend.spec.is_offline for backend in backends):
            require_readable(words)
        wording = JudgePrompt(
            rubric=load_rubric(rubric, persona_folders),
            mode=mode,
            order=order,
            rationale=rationale,
            anchors=anchors,
            template=words,
            datamark=datamark,
            criterion_order=criterion_order,
            criterion_calls=criterion_calls,
        )
        whole = load_personas(personas, persona_folders)
        judges = [
            Judge(persona, backend, wording, backend.spec.score_mode or score_mode)
            for backend in backends
            for persona in whole
        ]
        self.spec = PanelSpec(
            judges={judge.id: judge for judge in judges},
            open_ledger=lambda: self.ledger,
            repeats=repeats,
            quorum=quorum,
            notices=(
                *_hidden_files(personas, rubric, template, persona_folders),
                *_alike_criteria(wording, backends),
            ),
        )
        self._given_ledger = ledger
        self._ledger: Ledger | None = None
        self._single = SingleScores(checkpointer)

    @classmethod
    def from_file(cls, path: str | Path, **overrides: Any) -> Panel:
        """The panel that a `panel.yaml` describes.

        Args:
            path: the file.
            overrides: arguments of `Panel` that replace what the file says.

        Raises:
            InputError: with every fault of the file.
        """
        settings = read_settings(path)
        arguments: dict[str, Any] = {
            name: getattr(settings, name) for name in PanelSettings.model_fields
        }
        return cls(**{**arguments, **overrides})

    @classmethod
    def of_run(cls, run: Run | str | Path, **overrides: Any) -> Panel:
        """The panel that judged a run, as its run.json describes it.

        Keys come from the environment by the providers' own names, and personas, rubric and
        template are looked up by their ids: files of one's own and other keys have to be given. The
        ledger is the run's, where that is a file here.

        Args:
            run: the run or its folder.
            overrides: arguments of `Panel` that replace what the record says.

        Raises:
            InputError: no run, or a persona, a rubric or a template that is not found.
        """
        from .records.run_folder import read_run_file

        record = read_run_file(run, kind="panel") if isinstance(run, str | Path) else run.record
        said = record["identity"]
        if said.get("imported"):
            fault = "its judgments were imported, so that its judges cannot be asked"
            raise InputError([InputFault(str(getattr(run, "path", run)), fault)])
        own = {"max_tokens", "temperature", "top_p", "seed", "reasoning_effort"}
        prices = {one["name"]: one.get("given_prices") for one in record["panel"]["models"]}
        models = []
        for name, one in said["models"].items():
            given = one["parameters"]
            models.append(
                BackendSpec(
                    model=one["model"], name=name, api_base=one["api_base"],
                    structured=one["structured"], score_mode=one["score_mode"],
                    prices=prices.get(name),
                    extra={key: value for key, value in given.items() if key not in own},
                    **{key: value for key, value in given.items() if key in own},
                )
            )  # fmt: skip
        template, place = said["template"], str(record.get("ledger") or "")
        arguments: dict[str, Any] = {
            "models": models,
            "personas": list(said["personas"]),
            "rubric": said["rubric"]["id"],
            "template": template["id"],
            "quorum": record["panel"]["quorum"],
            "criterion_order": said.get("criterion_order", 0),
            "criterion_calls": said.get("criterion_calls", "together"),
            "datamark": said.get("datamark", False),
            "ledger": place if place and Path(place).is_file() else None,
            **{name: said[name] for name in ("mode", "order", "rationale", "anchors", "repeats")},
        }
        return cls(**{**arguments, **overrides})

    def planned(
        self,
        calibration: str | Path,
        *,
        calls: int | None = None,
        standard_error: float | None = None,
        seed: int = 0,
    ) -> Panel:
        """A panel chosen from this one by the plan of a calibration; use it in its place.

        Args:
            calibration: the folder of a calibration, its run, or a file of `calibrate --json`.
            calls, standard_error: what the plan is for: most calls a response, or a standard
                error in points of the scale; as many calls as the calibrated panel's if left out.
            seed: of the drawing of personas.

        Raises:
            InputError: no plan there, or none of these judges that reaches the standard error.
        """
        from .panel_plan import panel_by_plan, read_plan

        plan = read_plan(
            calibration,
            calls=calls,
            standard_error=standard_error,
            personas=len(self.personas),
            models=len(self.backends),
        )
        planned = copy.copy(self)
        spec = panel_by_plan(self.spec, plan, seed=seed)
        planned.spec = replace(spec, open_ledger=lambda: planned.ledger)
        return planned

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The models behind their endpoints."""
        return self.spec.backends

    @property
    def personas(self) -> tuple[Persona, ...]:
        """Who judges, on every backend."""
        return self.spec.personas

    @property
    def rubric(self) -> Rubric:
        """What is judged by."""
        return self.spec.rubric

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return self.spec.notices

    @property
    def criteria(self) -> tuple[str, ...]:
        """What judges score: the rubric's dimensions, or `overall`."""
        return self.spec.criteria

    @property
    def ledger(self) -> Ledger:
        """The store of calls, opened when first needed."""
        if self._ledger is None:
            from .records.ledger import Ledger

            given = self._given_ledger
            self._ledger = given if isinstance(given, Ledger) else Ledger.open(given)
        return self._ledger

    def score(
        self,
        prompt: str,
        response: str,
        *,
        response_id: str = "response",
        prompt_id: str = "prompt",
        respondent_id: str = "unnamed",
    ) -> Verdict:
        """The panel's verdict on one response.

        Raises:
            InputError: an empty prompt, a missing key, an address at which nobody answers.
            StoreError: the ledger cannot be written.
        """
        sample = sample_from(prompt, response, response_id, prompt_id, respondent_id)
        with heard():
            doing(f"asking {units(len(self.spec.planned()), 'judge')}")
            return run_sync(self._single.score(self.spec, sample))

    async def ascore(
        self,
        prompt: str,
        response: str,
        *,
        response_id: str = "response",
        prompt_id: str = "prompt",
        respondent_id: str = "unnamed",
    ) -> Verdict:
        """The asynchronous twin of `score`."""
        sample = sample_from(prompt, response, response_id, prompt_id, respondent_id)
        return await run_async(self._single.score(self.spec, sample))

    def score_many(
        self,
        source: Any,
        out: str | Path | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        prompts_from: str | Path | None = None,
        format: str | None = None,  # noqa: A002
        limit: int | None = None,
        resume: bool = False,
        max_cost: float | None = None,
        precision: float | None = None,
        judges_per_response: int | None = None,
        order_seed: int = 0,
        batch: bool | BatchSettings = False,
        on_progress: OnProgress = None,
        on_batch: Callable[[BatchProgress], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
        engine: Engine | None = None,
    ) -> Run:
        """Scores every response of a source into a run folder.

        Args:
            source: a CSV, JSONL or Parquet file, outputs that another tool saved, a DataFrame, an
                iterable of mappings, or `hf://owner/name` of a data set on a Hugging Face hub.
            out: the run folder; `runs/NAME-xxxxxxxx` when left out. The same call goes on where an
                earlier one stopped.
            columns: our column name to theirs.
            prompts_from: a file of prompts by prompt_id, such as the input of a batch, where the
                source has no prompt_text.
            format: one of `records.readers.TABLE_FORMATS`, where neither the name nor the content
                of the file says what it is.
            limit: only the first so many responses.
            resume: demand that the run folder exists.
            max_cost: US dollars that are not passed; what does not fit is not asked.
            precision: half width, in points of the scale, to which the whole panel's mean is to be
                known (95%, t with finite-population correction): judges are asked in a balanced
                random order until it is; the rest is `not_asked` with the reason `precision`.
            judges_per_response: judgments that may be asked for on one response.
            order_seed: of those orders; the same seed asks the same judges.
            batch: whether to go through the providers' batch endpoints first, or how.
            on_progress: called on every change, on the package's loop: keep it short. Left out, a
                line shows it in a terminal or a notebook; False shows none anywhere, True one in a
                log as well, every half minute.
            on_batch: the same for changes of the batches.
            on_notice: called with every sentence about batches that a person should read.
            engine: what does the work, such as `engines.RayEngine(address)`; this process when left
                out. It serves one job.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
            StoreError: the ledger or the folder cannot be written.
            RunInterrupted: a KeyboardInterrupt came; the tables are written, `.run` holds them.
        """
        from .experiment.job import run_job

        with heard(False if callable(on_progress) else on_progress):  # it hears of the job alone
            doing(READING)
            return run_job(
                self.job(
                    source,
                    out,
                    columns=columns,
                    prompts_from=prompts_from,
                    format=format,
                    limit=limit,
                    resume=resume,
                    max_cost=max_cost,
                    precision=precision,
                    judges_per_response=judges_per_response,
                    order_seed=order_seed,
                    batch=batch,
                    on_progress=on_progress,
                    on_batch=on_batch,
                    on_notice=on_notice,
                    engine=engine,
                )
            )

    async def ascore_many(
        self, source: Any, out: str | Path | None = None, **options: Unpack[ScoreOptions]
    ) -> Run:
        """The asynchronous twin of `score_many`, with its options."""
        return await run_async(self.job(source, out, **options).run())

    def session(
        self,
        out: str | Path,
        *,
        max_cost: float | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> Session:
        """Single `score` and `ascore` calls under one cost cap, kept in one run folder.

        Use it in a `with` or an `async with` block. A session in a folder that holds an earlier
        one of this panel goes on with it.

        Args:
            out: the run folder.
            max_cost: US dollars that are not passed; what does not fit is not asked.
            tags: names and values that run.json records, such as a commit.

        Raises:
            InputError: a cap that is no amount of money.
        """
        from .experiment.config import SessionConfig
        from .experiment.session import Session

        config = SessionConfig.checked(out=out, max_cost=max_cost, tags=tags or {})
        return Session(self.spec, config)

    def job(
        self, source: Any, out: str | Path | None = None, **options: Unpack[ScoreOptions]
    ) -> ScoreJob:
        """A checked job, for callers that want to hold its handle; options as of `score_many`."""
        return score_job(self.spec, source, out, **options)

    def estimate(self, source: Any, **options: Unpack[ScoreOptions]) -> DryRun:
        """Calls, tokens and cost of scoring a source, without sending anything.

        The options are those of `score_many`.
        """
        return self.job(source, **options).estimate()

    def messages(
        self, persona: str, prompt: str, response: str, *, nonce: str = "0" * 16
    ) -> tuple[dict[str, str], ...]:
        """The exact messages that a judge of this panel gets.

        Raises:
            InputError: no such persona in the panel.
        """
        for candidate in self.personas:
            if candidate.id == persona:
                return self.spec.judge_prompt.messages(candidate, prompt, response, nonce)
        names = ", ".join(candidate.id for candidate in self.personas)
        raise InputError([InputFault(persona, f"is not in this panel; it has {names}")])

    def prepare(self) -> None:
        """Checks the backends' settings offline; a job does it by itself, with the access to them.

        Raises:
            InputError: unknown providers, and parameters that a model does not take.
        """
        prepare_all(self.backends)

    def close(self) -> None:
        """Closes connections, and the ledger if this panel opened it."""
        # In a forked child, the connections are those of the parent, which goes on using them.
        if self._ledger is None or not self._ledger.is_parents:
            run_sync(self._close())

    def __enter__(self) -> Panel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def aclose(self) -> None:
        """The asynchronous twin of `close`."""
        if self._ledger is None or not self._ledger.is_parents:
            await run_async(self._close())

    async def __aenter__(self) -> Panel:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        models = ", ".join(backend.spec.name for backend in self.backends)
        return f"Panel({len(self.personas)} personas on {models}; rubric {self.rubric.id})"

    async def _close(self) -> None:
        if self._ledger is not None and self._ledger is not self._given_ledger:
            self._ledger.close()
        self._ledger = None
        self._single.forget()


@contextmanager
def opened(panel: Panel | None) -> Iterator[PanelSpec]:
    """What a job needs of a panel; for None of the embedded baseline, which is closed at the end.

    A given panel stays open: it is the caller's.
    """
    whole = panel or Panel()
    try:
        yield whole.spec
    finally:
        if panel is None:
            whole.close()


def score_prompts(
    prompts: Any,
    targets: Sequence[Any] | Any,
    out: str | Path | None = None,
    *,
    panel: Panel | None = None,
    **options: Unpack[PromptScoreOptions],
) -> Run:
    """Has every target answer every prompt, and the panel score the answers.

    Args:
        prompts: a file (a prompt set as it is), a DataFrame or an iterable with prompt_text and
            optional prompt_id.
        targets: model strings, settings, chat models or backends.
        out: the run folder, with the answers in it; `runs/NAME-xxxxxxxx` when left out. The same
            call goes on where an earlier one stopped.
        panel: who judges; the embedded baseline when left out.
        options: `track`, `effort`, `words`: how the targets are asked, see `respond`;
            `response_repeats`: answers to each prompt, as separate responses; and those of
            `Panel.score_many`: `columns` and `limit` are of the prompts, `max_cost` is for answers
            and judgments together, and `on_progress` hears of the stages respond and score.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: a KeyboardInterrupt came; the tables are written, `.run` holds them.
    """
    from .experiment.job import run_job

    with opened(panel) as spec:
        return run_job(prompt_score_job(spec, prompts, targets, out, **options))


async def ascore_prompts(
    prompts: Any,
    targets: Sequence[Any] | Any,
    out: str | Path | None = None,
    *,
    panel: Panel,
    **options: Unpack[PromptScoreOptions],
) -> Run:
    """The asynchronous twin of `score_prompts`, with its options; the panel is the caller's."""
    return await run_async(prompt_score_job(panel.spec, prompts, targets, out, **options).run())


def _hidden_files(
    personas: Sequence[str | Path | Persona] | None,
    rubric: str | Path | Rubric,
    template: str | Path | JudgeTemplate,
    folders: Sequence[str | Path],
) -> tuple[str, ...]:
    """A sentence for every file that stands in the place of a built-in one of its name.

    Args:
        personas: the panel's; None = all.
        rubric, template: the panel's.
        folders: where personas and rubric are looked for first.
    """
    return (
        *PERSONAS.hiding(personas, folders),
        *RUBRICS.hiding([rubric], folders),
        *TEMPLATES.hiding([template]),
    )


def _alike_criteria(wording: JudgePrompt, backends: Sequence[Backend]) -> tuple[str, ...]:
    """A sentence where the embedded judge is asked for criteria that it cannot tell apart."""
    if wording.mode != "dimensions" or not any(backend.spec.is_offline for backend in backends):
        return ()
    from .judges.offline.lexical import alike_in_words

    told = alike_in_words([(one.id, one.offline) for one in wording.rubric.dimensions])
    return (told,) if told else ()
