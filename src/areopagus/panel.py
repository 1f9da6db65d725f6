"""The panel: personas on backends with a rubric, and what can be asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from .errors import InputError, InputFault
from .graphs.state import Bench, Sitting, judge_id
from .judges.backend import Backend
from .judges.brief import DEFAULT_ORDER, TEMPLATE_VERSION, Brief, Order, Rationale
from .judges.desk import Desk
from .judges.judge import Judge, Matter
from .judges.llm import LitellmBackend
from .judges.offline_roles import require_role
from .loop import run_async, run_sync
from .named_models import Model, faults_of, sorted_models
from .personas import Persona, list_personas, load_personas
from .records.judgment import Mode, ScoreMode
from .records.verdict import Verdict
from .rubrics import Rubric, list_rubrics, load_rubric
from .settings import PanelSettings, read_settings

if TYPE_CHECKING:
    from .engines import Engine
    from .estimate import Estimate
    from .job import Progress, ScoreJob
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
            repeats: askings of each judge, as separate judgments.
            score_mode: `expected` takes the probability-weighted score where a backend gives
                log-probabilities.
            quorum: share of the planned judgments that must be scored for a verdict.
            ledger: a file, `postgresql://…` or an open Ledger; the user's shared one if left out.
            checkpointer: a LangGraph checkpointer; not needed, the ledger resumes every call.

        Raises:
            InputError: with everything wrong in the settings, personas and rubric.
        """
        specs, given = sorted_models(models)
        try:
            settings = PanelSettings(
                models=tuple(specs),
                mode=mode,
                order=order,
                rationale=rationale,
                anchors=anchors,
                repeats=repeats,
                score_mode=score_mode,
                quorum=quorum,
            )
        except ValidationError as error:
            raise InputError(faults_of(error)) from error
        self.settings = settings
        self.backends: tuple[Backend, ...] = tuple(
            given.get(index)
            or LitellmBackend(
                spec.model_copy(update={"score_mode": spec.score_mode or settings.score_mode})
            )
            for index, spec in enumerate(settings.models)
        )
        require_role(self.backends, "judge")
        self.rubric = load_rubric(rubric, persona_folders)
        self.personas = _personas(personas, persona_folders)
        self.notices = _hidden(personas, rubric, persona_folders)
        self.brief = Brief(
            rubric=self.rubric, mode=mode, order=order, rationale=rationale, anchors=anchors
        )
        judges = [
            Judge(persona, backend, backend.spec.score_mode or score_mode)
            for backend in self.backends
            for persona in self.personas
        ]
        self.bench = Bench(
            judges={judge_id(judge): judge for judge in judges},
            brief=self.brief,
            repeats=repeats,
            quorum=quorum,
        )
        self._ledger_location: str | Path | None = None
        self._ledger: Ledger | None = None
        if ledger is None or isinstance(ledger, str | Path):
            self._ledger_location = ledger
        else:
            self._ledger = ledger
        self._owns_ledger = self._ledger is None
        self._checkpointer = checkpointer
        self._graph: Any = None
        self._desk: Desk | None = None
        self._opening = asyncio.Lock()
        self._prepared = False

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

    @property
    def criteria(self) -> tuple[str, ...]:
        """What judges score: the rubric's dimensions, or `overall`."""
        return self.brief.contract.criteria

    @property
    def ledger(self) -> Ledger:
        """The store of calls, opened when first needed."""
        if self._ledger is None:
            from .records.ledger import Ledger

            self._ledger = Ledger.open(self._ledger_location)
        return self._ledger

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in is among the judges."""
        return any(backend.spec.is_offline for backend in self.backends)

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
        matter = _matter(prompt, response, response_id, prompt_id, respondent_id)
        return run_sync(self._score(matter))

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
        matter = _matter(prompt, response, response_id, prompt_id, respondent_id)
        return await run_async(self._score(matter))

    def score_many(
        self,
        source: Any,
        out: str | Path | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        resume: bool = False,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        engine: Engine | None = None,
    ) -> Run:
        """Scores every response of a source into a run folder.

        Args:
            source: a CSV, JSONL or Parquet file, a DataFrame, or an iterable of mappings.
            out: the run folder; `runs/NAME-xxxxxxxx` when left out. The same call goes on where an
                earlier one stopped.
            columns: our column name to theirs.
            limit: only the first so many responses.
            resume: demand that the run folder exists.
            max_cost: US dollars that are not passed; what does not fit is not asked.
            on_progress: called on every change, on the package's loop: keep it short.
            engine: what does the work, such as `engines.RayEngine(address)`; this process when left
                out. It serves one job.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
            StoreError: the ledger or the folder cannot be written.
            RunInterrupted: a KeyboardInterrupt came; the tables are written, `.run` holds them.
        """
        job = self.job(
            source,
            out,
            columns=columns,
            limit=limit,
            resume=resume,
            max_cost=max_cost,
            on_progress=on_progress,
            engine=engine,
        )
        from .job import run_job

        return run_job(job)

    async def ascore_many(
        self,
        source: Any,
        out: str | Path | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        resume: bool = False,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        engine: Engine | None = None,
    ) -> Run:
        """The asynchronous twin of `score_many`."""
        job = self.job(
            source,
            out,
            columns=columns,
            limit=limit,
            resume=resume,
            max_cost=max_cost,
            on_progress=on_progress,
            engine=engine,
        )
        return await run_async(job.run())

    def job(
        self,
        source: Any,
        out: str | Path | None = None,
        *,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        resume: bool = False,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        engine: Engine | None = None,
    ) -> ScoreJob:
        """A checked job, for callers that want to hold its handle; see `score_many`."""
        from .job import ScoreJob
        from .records.responses import open_responses

        return ScoreJob(
            self,
            open_responses(source, columns=columns, limit=limit),
            out=out,
            resume=resume,
            max_cost=max_cost,
            on_progress=on_progress,
            engine=engine,
        )

    def estimate(
        self, source: Any, *, columns: Mapping[str, str] | None = None, limit: int | None = None
    ) -> Estimate:
        """Calls, tokens and cost of scoring a source, without sending anything."""
        from .estimate import estimate
        from .records.responses import open_responses

        self.prepare()
        return estimate(self, open_responses(source, columns=columns, limit=limit))

    def messages(
        self, persona: str, prompt: str, response: str, *, nonce: str = "0" * 16
    ) -> tuple[dict[str, str], ...]:
        """The exact messages that a judge of this panel gets.

        Raises:
            InputError: no such persona in the panel.
        """
        for candidate in self.personas:
            if candidate.id == persona:
                return self.brief.messages(candidate, prompt, response, nonce)
        names = ", ".join(candidate.id for candidate in self.personas)
        raise InputError([InputFault(persona, f"is not in this panel; it has {names}")])

    def identity(self) -> dict[str, Any]:
        """What makes two runs runs of the same panel: a change here changes what is asked."""
        contract = self.brief.contract
        return {
            "rubric": {"id": self.rubric.id, "sha256": self.rubric.sha256},
            "personas": {persona.id: persona.sha256 for persona in self.personas},
            "models": {
                backend.spec.name: {
                    "model": backend.spec.model,
                    "api_base": backend.spec.api_base,
                    "structured": backend.spec.structured,
                    "score_mode": backend.spec.score_mode or self.settings.score_mode,
                    "parameters": backend.spec.parameters(),
                }
                for backend in self.backends
            },
            "mode": self.settings.mode,
            "order": self.settings.order,
            "rationale": self.settings.rationale,
            "anchors": self.settings.anchors,
            "repeats": self.settings.repeats,
            "template": TEMPLATE_VERSION,
            "criteria": list(contract.criteria),
            "scale": [contract.low, contract.high],
        }

    def describe(self) -> dict[str, Any]:
        """The panel as run.json records it beside its identity."""
        return {
            "personas": [
                {"id": p.id, "label": p.label, "axis": p.axis, "version": p.version}
                for p in self.personas
            ],
            "rubric": {"id": self.rubric.id, "label": self.rubric.label},
            "quorum": self.settings.quorum,
            "models": [
                {
                    "name": backend.spec.name,
                    "requested": backend.spec.parameters(),
                    "effective": backend.effective_parameters(),
                    "structured": self.ledger.capability(backend.spec.identity)
                    if backend.spec.structured == "auto"
                    else backend.spec.structured,
                }
                for backend in self.backends
            ],
        }

    def prepare(self) -> None:
        """Checks the backends' settings offline; a job does it by itself, with the access to them.

        Raises:
            InputError: unknown providers, and parameters that a model does not take.
        """
        if not self._prepared:
            from .access import prepare_all

            prepare_all(self.backends)
            self._prepared = True

    def close(self) -> None:
        """Closes connections, and the ledger if this panel opened it."""
        run_sync(self._close())

    def __enter__(self) -> Panel:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        models = ", ".join(backend.spec.name for backend in self.backends)
        return f"Panel({len(self.personas)} personas on {models}; rubric {self.rubric.id})"

    async def _score(self, matter: Matter) -> Verdict:
        from .scoring import sit

        sitting = Sitting(matter, self.bench, await self._open_desk(matter))
        if self._checkpointer is None:
            return await sit(sitting)
        if self._graph is None:
            from .graphs.panel import build_panel_graph

            self._graph = build_panel_graph(self._checkpointer)
        return await sit(sitting, graph=self._graph, config=self._thread(matter))

    async def _open_desk(self, matter: Matter) -> Desk:
        from .access import all_paid, require_access

        # One desk for all calls that are made at once: its limits are those of the backends.
        async with self._opening:
            if self._desk is not None:
                return self._desk
            desk = Desk(self.ledger)
            faultless = True

            def is_paid(backend: Backend) -> bool:
                nonlocal faultless
                faultless = False
                return all_paid(self, [matter], backend)

            await require_access(self.backends, is_paid)
            if faultless:  # else the next response is looked at anew
                self._desk = desk
            return desk

    def _thread(self, matter: Matter) -> dict[str, Any]:
        from .records.run_folder import run_identity_hash

        texts = asdict(matter)
        return {"configurable": {"thread_id": run_identity_hash(self.identity() | texts)}}

    async def _close(self) -> None:
        for backend in self.backends:
            await backend.close()
        if self._ledger is not None and self._owns_ledger:
            self._ledger.close()
            self._ledger = None
        self._desk = None


def _personas(
    personas: Sequence[str | Path | Persona] | None, folders: Sequence[str | Path]
) -> tuple[Persona, ...]:
    if isinstance(personas, str | Path | Persona):
        personas = [personas]
    return load_personas(personas, folders)


def _hidden(
    personas: Sequence[str | Path | Persona] | None,
    rubric: str | Path | Rubric,
    folders: Sequence[str | Path],
) -> tuple[str, ...]:
    """A sentence for every file that stands in the place of a built-in one of its name."""
    if isinstance(personas, str | Path | Persona):
        personas = [personas]
    named = None if personas is None else {str(name) for name in personas}
    found = [
        ("persona", item)
        for item in list_personas(folders)
        if item.hides_builtin and (named is None or item.name in named)
    ] + [
        ("rubric", item)
        for item in list_rubrics(folders)
        if item.hides_builtin and item.name == str(rubric)
    ]
    return tuple(f"{kind} {item.name}: {item.path} hides the built-in one" for kind, item in found)


def _matter(
    prompt: str, response: str, response_id: str, prompt_id: str, respondent_id: str
) -> Matter:
    if not isinstance(prompt, str) or not isinstance(response, str):
        raise InputError("prompt and response must be text")
    faults = [
        f"the {name} holds half of a surrogate pair, which is not text"
        for name, text in (("prompt", prompt), ("response", response))
        if any("\ud800" <= character <= "\udfff" for character in text)
    ]
    if not prompt.strip():
        faults.append("the prompt is empty: the panel must know what was asked")
    if faults:
        raise InputError(faults)
    return Matter(response_id, prompt_id, respondent_id, prompt, response)
