"""`areopagus.stress`, and the stress test as a job: rewrite, respond, score, retest, estimate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import run_async
from ..errors import InputError, InputFault
from ..experiment.ask import ask_each
from ..experiment.config import takes_options
from ..experiment.cost_cap import CapStop
from ..experiment.dry_run import DryRun
from ..experiment.job import Job, run_job
from ..experiment.score import score_within
from ..formats import units
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..panel import Panel, opened
from ..progress import ESTIMATING, OnProgress, doing
from ..records.run_folder import csv_table
from ..records.spreadsheets import writable
from .asking import (
    RESPONSE_COLUMNS,
    asked_again,
    askings_of,
    baseline_prompts,
    questions,
    response_cells,
    response_id,
    retested,
    twice,
)
from .config import StressConfig
from .counts import ConditionCounts, count, count_missing, count_supplied
from .design import design_of
from .dry_run import stage_costs
from .estimates import estimate
from .responses import (
    CARRIED,
    RESPONSES_FILE,
    StressResponse,
    StressSource,
    panel_rows,
)
from .rewriting import rewrite_all
from .run import StressRun
from .scores import read_panel

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.estimates import Estimates
    from ..records.ledger import Ledger

PANEL_FOLDER = "panel"
RETEST_FOLDER = "retest"

_ASSUMPTION = (
    "What is not written yet is assumed: variants somewhat longer than their prompt, answers of "
    "the length asked for, else 500 words. At most: every reply as long as it may be, every repair "
    "and second review made."
)


@takes_options(StressConfig)
def stress(
    prompts: Any = None,
    *,
    panel: Panel | None = None,
    target: Any = None,
    rewriters: Any = None,
    responses: Any = None,
    on_progress: OnProgress = None,
    **options: Any,
) -> StressRun:
    """Measures how a model's critical thinking moves when its prompts are reframed.

    Each prompt is rewritten into conversational framings, the target answers baseline and
    variants, the panel scores all answers, and the degradation (baseline minus variant) is
    reported with the prompt as the unit. The same call goes on where an earlier one stopped.

    Args:
        prompts: a file, a DataFrame or an iterable with prompt_text and optional prompt_id.
        panel: who judges; the embedded baseline when left out.
        target: the models under test: model strings, settings, chat models or backends; the
            embedded stand-in when left out.
        rewriters: models that rewrite the prompts, dealt out by the seed; the panel's models when
            left out.
        responses: responses that are there already, instead of prompts and target: response_id,
            prompt_id, condition, prompt_text, response_text, respondent_id; and repeat, from 0,
            where there are several to a prompt and condition.
        on_progress: as of `Panel.score_many`.
        options: the fields of `StressConfig`, which the command takes as well.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored; the same call
            goes on.
    """
    config = StressConfig.checked(**options)
    with opened(panel) as spec:
        return run_job(
            StressJob(
                spec, prompts, config, targets=target, rewriters=rewriters, responses=responses,
                on_progress=on_progress,
            )
        )  # fmt: skip


@takes_options(StressConfig)
async def astress(
    prompts: Any = None,
    *,
    panel: Panel,
    target: Any = None,
    rewriters: Any = None,
    responses: Any = None,
    on_progress: OnProgress = None,
    **options: Any,
) -> StressRun:
    """The asynchronous twin of `stress`; the panel is the caller's."""
    job = StressJob(
        panel.spec, prompts, StressConfig.checked(**options), targets=target, rewriters=rewriters,
        responses=responses, on_progress=on_progress,
    )  # fmt: skip
    return await run_async(job.run())


class StressJob(Job[StressRun]):
    """A stress test: of models that are asked, or of responses that are supplied."""

    kind = "stress"
    run_type = StressRun

    def __init__(
        self,
        panel: PanelSpec,
        prompts: Any = None,
        config: StressConfig | None = None,
        *,
        targets: Any = None,
        rewriters: Any = None,
        responses: Any = None,
        on_progress: OnProgress = None,
    ) -> None:
        """Checks everything that can be checked offline; see `stress`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        config = config or StressConfig()
        self.panel = panel
        self.design = design_of(
            panel, prompts, config, targets=targets, rewriters=rewriters, responses=responses
        )
        self.chosen = self.design.config
        self.variants = self.design.variants
        if self.chosen.for_people is not None and "rewrite" not in self.design.stages:
            told = "no model rewrites prompts here, so there are no variants to check"
            raise InputError([InputFault("`for_people`", told)])
        self.stages = self.design.stages
        identity = {"kind": self.kind} | self.design.identity() | {"panel": panel.identity()}
        name = f"stress-{Path(self.design.name).stem}"
        super().__init__(self.chosen, identity=identity, name=name, on_progress=on_progress)
        supplied = self.design.supplied
        self._source: StressSource | None = supplied.source if supplied else None
        self.counts: dict[tuple[str, str], ConditionCounts] = {
            (target, name): ConditionCounts()
            for target in self.design.target_names
            for name in self.design.conditions
        }
        self._judged: dict[str, Path | None] = {}

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return (*self.panel.notices, *self.design.notices)

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Everybody who may be asked."""
        judges = () if self.chosen.rewrite_only else self.panel.backends
        return (*self.design.others, *judges)

    @property
    def ledger(self) -> Ledger:
        """The store of calls: the panel's."""
        return self.panel.ledger

    async def dry_run(self) -> DryRun:
        """Calls and cost of every stage and backend."""
        return DryRun(tuple(await stage_costs(self.design, self.panel)), (_ASSUMPTION,))

    async def run_stages(self, client: Client) -> Estimates | None:
        """All stages; a prompt that fails in one leaves the others standing, counted."""
        repeats = self.chosen.response_repeats
        if self.design.supplied is not None:
            refused = count_supplied(self._responses(), self.counts, repeats)
        else:
            if self.design.variants is None:
                await self._rewrite(client)
            if self.chosen.rewrite_only:
                return None
            refused = await self._respond(client)
        await self._score("score", PANEL_FOLDER, self.panel)
        if "retest" in self.stages:
            only = retested(self.chosen, self._responses())
            await self._score("retest", RETEST_FOLDER, twice(self.panel), only)
        schema = self.panel.judge_prompt.schema
        texts = baseline_prompts(self.design, self._responses())
        scores = read_panel(
            self._judged.get("score"),
            self._judged.get("retest"),
            self.counts,
            targets=self.design.target_names,
            conditions=self.design.conditions,
            prompts={name: texts.get(name, name) for name in self.design.prompt_ids},
            criteria=self.panel.criteria,
            repeats=repeats,
            panel_repeats=self.panel.repeats,
            refused=refused,
            scale=(schema.low, schema.high),
        )
        doing(ESTIMATING)
        found, self.result = estimate(scores, self.chosen, self.outcome.get("rewrite"))
        stop = self.cap_stop
        self.result["cost_cap"] = None if stop is None else stop.sentence
        return found

    async def _rewrite(self, client: Client) -> None:
        design = self.design
        self.begin("rewrite", total=len(design.prompts), unit="prompts")
        self.variants, outcome = await rewrite_all(
            self.path,
            design.prompts,
            framings=design.framings,
            rewriters=design.rewriters,
            reviewers=design.reviewers,
            seed=self.chosen.seed,
            client=client,
            step=lambda troubled: self.step(is_troubled=troubled),
        )
        self.outcome["rewrite"] = outcome
        self.over_budget |= outcome["not_asked_for_budget"] > 0

    async def _respond(self, client: Client) -> set[str]:
        """Asks everything into responses.csv; returns the ids of responses that are refusals."""
        design, repeats = self.design, self.chosen.response_repeats
        assert self.variants is not None  # noqa: S101 - read or written before
        askings = askings_of(design, self.variants)
        asked = list(questions(askings, design.targets, repeats, asked_again(design, askings)))
        self.begin("respond", total=len(asked), unit="responses")
        # Variants that were handed in without a text are missing, whatever became of them before.
        written = self.variants.rows if design.variants is None else ()
        unasked = {(row.prompt_id, row.condition) for row in written if row.status == "not_asked"}
        there = {(asking.prompt_id, asking.condition) for asking in askings}
        count_missing(there, design.prompt_ids, self.counts, repeats, unasked)
        refused: set[str] = set()
        faults: dict[str, int] = {}
        with csv_table(self.path / RESPONSES_FILE, list(RESPONSE_COLUMNS)) as writer:
            each = ask_each(asked, client, design.wording, design.targets)
            async with aclosing(each) as answers:
                async for question, answer in answers:
                    counts = self.counts[question.backend.spec.name, question.item.condition]
                    count(counts, answer.status, is_again=question.repeat >= repeats)
                    if answer.fault is not None:
                        faults[answer.fault] = faults.get(answer.fault, 0) + 1
                    if answer.status == "refused":
                        refused.add(response_id(question))
                    writer.write([writable(cell) for cell in response_cells(question, answer)])
                    self.step(is_troubled=answer.status != "answered")
        totals = {
            name: sum(getattr(one, name) for one in self.counts.values())
            for name in ("planned", "answered", "empty", "refused", "failed", "not_asked")
        }
        again: dict[str, int] = {}
        for one in self.counts.values():
            for status, number in one.regenerated.items():
                again[status] = again.get(status, 0) + number
        self.outcome["respond"] = totals | {"regenerated": again, "faults": faults}
        left = totals["not_asked"] + again.get("not_asked", 0)
        self.over_budget |= left > 0 and not client.stopped
        if any(totals[name] + again.get(name, 0) for name in ("answered", "empty", "refused")):
            self._source = StressSource(self.path / RESPONSES_FILE)
            self._source.check()
        return refused

    def _responses(self) -> Iterator[StressResponse]:
        return self._source.rows() if self._source is not None else iter(())

    async def _score(
        self, stage: str, folder: str, panel: PanelSpec, only: frozenset[str] | None = None
    ) -> None:
        baselines = baseline_prompts(self.design, self._responses())
        rows = panel_rows(self._responses(), self.chosen.judged_prompt, baselines, only=only)
        self._judged[stage] = await score_within(self, stage, panel, rows, folder)

    @property
    def cap_stop(self) -> CapStop | None:
        """What the cost cap left out; None where it left out nothing."""
        cap = self._budget.cap
        if not self.over_budget or cap is None:
            return None
        judging = [self.outcome.get(stage, {}) for stage in ("score", "retest")]
        not_asked = sum(stage.get("counts", {}).get("not_asked", 0) for stage in judging)
        if self.design.supplied is not None:
            planned = sum(stage.get("n_planned", 0) for stage in judging)
            return CapStop(cap, planned, planned - not_asked, "judgments")
        planned = sum(one.planned for one in self.counts.values())
        left = sum(one.not_asked for one in self.counts.values())
        rest = [f"{units(not_asked, 'judgment')} not asked for"] if not_asked else []
        unwritten = self.outcome.get("rewrite", {}).get("not_asked", 0)
        rest += [f"{units(unwritten, 'variant')} not written"] if unwritten else []
        return CapStop(cap, planned, planned - left, "responses", rest=", ".join(rest))

    def describe(self) -> dict[str, Any]:
        """What run.json says of a stress test."""
        return {
            "demonstration": self.is_demonstration,
            "source": self.design.name,
            "notices": list(self.notices),
            "prompts": {"n": len(self.design.prompt_ids)},
            "targets": list(self.design.target_names),
            "conditions": list(self.design.conditions),
            "rewriters": [backend.spec.name for backend in self.design.rewriters],
            "panel": self.panel.describe(),
            "carried": list(CARRIED),
            "effective_parameters": {
                backend.spec.name: backend.effective_parameters()
                for backend in (
                    *self.design.targets,
                    *self.design.rewriters,
                    *self.design.reviewers,
                )
            },
        }

    async def close(self) -> None:
        """Closes the supplied or asked responses too."""
        if self._source is not None:
            self._source.close()
        await super().close()
