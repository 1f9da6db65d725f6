"""The stress test as a job: rewrite, respond, score, measure.

Its dry run goes by what the ledger holds: a stored variant is asked with its own text, a stored
response judged with its own; what is not there yet is assumed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..experiment.ask import read_answer
from ..experiment.config import InputConfig, Track
from ..experiment.cost_cap import CapStop, cap_notices
from ..experiment.dry_run import DryRun, StageCost, estimate_scoring
from ..experiment.job import Job, Progress
from ..experiment.respond import USUAL_WORDS
from ..experiment.score import score_within
from ..formats import units
from ..graphs.framings import Framing
from ..graphs.reframing import (
    MOST_REVIEW_CALLS,
    MOST_WRITING_CALLS,
    ReframingTask,
    most_review_usd,
    most_writing_usd,
)
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..records.readers.responses import ResponseSource
from ..records.run_folder import REPORT_FILE, read_run_file, replaced
from .answers import (
    RESPONSES_FILE,
    Asking,
    cell_name,
    count_missing,
    count_supplied,
    questions,
    response_id,
    write_answers,
)
from .design import design_of
from .measure import StressFigures, measure
from .page import StressPage, write_stress_page
from .panel_rows import CARRIED, NO_RESPONSE, chosen, panel_rows, repeat_of
from .plan import StressPlan
from .rewriting import assignments, reframe_each
from .run import STRESS_FILE, TEXT_FILE, StressRun
from .source import StressResponse, StressSource
from .table import (
    ConditionCounts,
    Floats,
    StressScores,
    read_retest,
    read_stress_scores,
    read_top_shares,
)
from .text import stress_lines

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..graphs.reframing import Assignment, Reframed
    from ..records.ledger import Ledger
    from ..records.readers.responses import PromptRow
    from .material import Prompts


VARIANT_FACTOR = 1.3
"""How much longer than its prompt a variant is assumed to be."""

_REVIEW_TOKENS = 60
"""A reviewer's reply on one variant."""


async def variants_to_write(
    job: StressJob, prompts: Prompts
) -> tuple[list[Asking], list[StageCost]]:
    """What would be asked of the targets, and what it costs to have it written."""
    if job.variants is not None:
        return job.askings(), []
    design = job.design
    assigned = assignments(prompts, design.rewriters, design.reviewers, job.plan.seed)
    stages = {
        backend.spec.name: StageCost("rewrite", backend.spec.name)
        for backend in (*design.rewriters, *design.reviewers)
    }
    askings: list[Asking] = []
    client = Client(job.ledger)
    client.stop()  # what is stored is answered, nothing is sent
    each = reframe_each(prompts, assigned, design.framings, client, at_once=8)
    async with aclosing(each) as outcomes:
        async for row, outcome in outcomes:
            _count(job, row, outcome, assigned[row.prompt_id], stages)
            found = []
            for name in design.conditions[1:]:
                if outcome.status == "not_asked":
                    length = round(len(row.prompt_text) * VARIANT_FACTOR)
                    found.append(Asking(row.prompt_id, name, (row.prompt_text * 2)[:length]))
                elif name in outcome.variants:
                    found.append(Asking(row.prompt_id, name, outcome.variants[name]))
            if found:
                askings.append(Asking(row.prompt_id, job.plan.baseline, row.prompt_text))
                askings += found
    return askings, list(stages.values())


def _count(
    job: StressJob,
    row: PromptRow,
    outcome: Reframed,
    who: Assignment,
    stages: dict[str, StageCost],
) -> None:
    framings, secret = job.design.framings, job.ledger.secret
    task = ReframingTask(row.prompt_text, framings)
    is_open = outcome.status == "not_asked"
    writing = stages[who.rewriter.spec.name]
    writing.planned += 1
    is_written = not is_open or outcome.calls > 0
    writing.stored += is_written
    if is_open:
        request = task.write(secret).request(who.rewriter, "json_schema")
        tokens = len(framings) * who.rewriter.likely_tokens(row.prompt_text) * VARIANT_FACTOR
        if not is_written:
            writing.add_likely(who.rewriter, request, output_tokens=tokens)
        writing.add_most(
            MOST_WRITING_CALLS - is_written,
            most_writing_usd(
                who.rewriter, request, framings=len(framings), is_first_paid=is_written
            ),
        )
    if who.reviewer is None:
        return
    reviewing = stages[who.reviewer.spec.name]
    reviewing.planned += 1
    if not is_open:
        reviewing.stored += 1
        return
    variants = {framing.id: (row.prompt_text * 2) for framing in framings}
    request = task.review(variants, secret).request(who.reviewer, "json_schema")
    reviewing.add_likely(who.reviewer, request, output_tokens=_REVIEW_TOKENS * len(framings))
    reviewing.add_most(MOST_REVIEW_CALLS, most_review_usd(who.reviewer, request))


_WORDS_TO_TOKENS = 4 / 3
_ASSUMPTION = (
    "What is not written yet is assumed: variants somewhat longer than their prompt, answers of "
    "the length asked for, else 500 words. At most: every reply as long as it may be, every repair "
    "and second review made."
)


async def _stage_estimates(job: StressJob) -> list[StageCost]:
    found: list[StageCost] = []
    if job.design.supplied is not None:
        rows_given = job.design.supplied.source.rows()
        responses = [row for row in rows_given if row.extra.get("status") not in NO_RESPONSE]
    else:
        assert job.design.prompts is not None  # noqa: S101 - one of the two is there
        askings, stages = await variants_to_write(job, job.design.prompts)
        found += stages
        if job.design.rewrite_only:
            return found
        responses, stages = _answers_to_write(job, askings)
        found += stages
    plan, baselines = job.plan, _baselines(job, responses)
    rows = list(panel_rows(responses, plan, baselines))
    if not rows:
        return found
    found += estimate_scoring(job.panel, ResponseSource(rows)).stages
    if "retest" in job.stages:
        only = job.retested(iter(responses))
        some = list(panel_rows(responses, plan, baselines, only=only))
        if not some:
            return found
        both = estimate_scoring(job.twice(), ResponseSource(some))
        found += _difference(both, estimate_scoring(job.panel, ResponseSource(some)))
    # Tokens are counted of the judges alone: a dry run of several stages shows none.
    return [replace(item, input_tokens=None, output_tokens=None) for item in found]


def _answers_to_write(
    job: StressJob, askings: list[Asking]
) -> tuple[list[StressResponse], list[StageCost]]:
    stages = {name: StageCost("respond", name) for name in job.design.target_names}
    words = job.design.wording.protocol.words or USUAL_WORDS
    assumed = "word " * words
    responses: list[StressResponse] = []
    asked = questions(askings, job.design.targets, job.plan, job.asked_again(askings))
    for number, question in enumerate(asked):
        backend, asking = question.backend, question.item
        stage = stages[backend.spec.name]
        stage.planned += 1
        request = job.design.wording.request(backend, question.prompt, question.repeat)
        key = request.key()
        stored = job.ledger.lookup([key]).get(key)
        text = f"{assumed}{number}"
        if stored is None:
            stage.add(backend, request, output_tokens=words * _WORDS_TO_TOKENS)
        else:
            stage.stored += 1
            text = read_answer(stored).text
        responses.append(
            StressResponse(
                response_id(question), asking.prompt_id, asking.condition, asking.text, text,
                backend.spec.name, {"repeat": question.repeat}, number,
            )
        )  # fmt: skip
    return responses, list(stages.values())


def _baselines(job: StressJob, responses: Iterable[StressResponse]) -> dict[str, str]:
    if job.design.prompts is not None:
        return job.design.prompts.texts
    name = job.plan.baseline
    return {row.prompt_id: row.prompt_text for row in responses if row.condition == name}


def _difference(both: DryRun, once: DryRun) -> Iterator[StageCost]:
    """What asking twice comes to beyond asking once."""

    def less(first: float | None, second: float | None) -> float | None:
        return None if first is None or second is None else first - second

    for a, b in zip(both.stages, once.stages, strict=True):
        yield StageCost(
            "retest",
            a.backend,
            a.planned - b.planned,
            a.stored - b.stored,
            a.calls - b.calls,
            less(a.likely_usd, b.likely_usd),
            less(a.most_usd, b.most_usd),
            a.most_calls - b.most_calls,
        )


FIGURES_FOLDER = "figures"


def write_outputs(job: StressJob, scores: StressScores) -> StressFigures:
    """Measures, and writes stress.json, stress.txt and the pictures.

    Raises:
        StoreError: the folder cannot be written.
    """
    top = read_top_shares(job.panel_folder, scores, repeats=job.plan.response_repeats)
    figures = measure(scores, job.plan, job.retest_pairs(), top)
    panel = job.panel
    judges = (
        f"{units(len(panel.personas), 'persona')} × {units(len(panel.backends), 'model')} "
        f"({', '.join(backend.spec.name for backend in panel.backends)}), "
        f"rubric {panel.rubric.id}, scale {scores.scale[0]} to {scores.scale[1]}, "
        f"the {'prompt answered' if job.plan.judged_prompt == 'own' else 'baseline prompt'} shown"
    )
    rewriting = job.outcome.get("rewrite")
    stop = job.cap_stop
    lines = stress_lines(
        figures, job.plan, demonstration=job.is_demonstration, judges=judges, rewriting=rewriting,
        is_supplied=job.design.supplied is not None, stop=stop,
    )  # fmt: skip
    plain = {
        "demonstration": job.is_demonstration,
        "supplied": job.design.supplied is not None,
        "cost_cap": None if stop is None else stop.to_json(),
        "plan": job.plan.to_json(),
        "judges": judges,
        "scale": list(scores.scale),
        "rewriting": rewriting,
        **figures.to_json(),
    }
    _write(job.path / STRESS_FILE, json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False))
    draw(
        job.path / FIGURES_FOLDER, figures, scores, bold_at=job.bold_at,
        is_demonstration=job.is_demonstration,
    )  # fmt: skip
    _write(job.path / TEXT_FILE, "\n".join(lines))
    write_stress_page(
        job.path / REPORT_FILE,
        StressPage(
            figures=figures,
            plan=job.plan,
            judges=judges,
            is_demonstration=job.is_demonstration,
            rewriting=rewriting,
            figures_folder=job.path / FIGURES_FOLDER,
            record=read_run_file(job.path, kind=job.kind),
            is_supplied=job.design.supplied is not None,
            notices=tuple(cap_notices(plain)),
        ),
    )
    return figures


def draw(
    folder: Path,
    figures: StressFigures,
    scores: StressScores,
    *,
    bold_at: float,
    is_demonstration: bool,
) -> None:
    """Draws scorecard and heat map as PNG and SVG."""
    from ..reports.stress_figures import draw_delta_heatmap, draw_scorecard

    found = figures.degradation
    folder.mkdir(mode=0o700, exist_ok=True)
    levels = {(one.target, one.condition, one.dimension): one for one in found.levels}
    shape = (len(found.targets), len(found.conditions), len(found.dimensions))
    mean, error = np.full(shape, np.nan), np.full(shape, np.nan)
    for t, target in enumerate(found.targets):
        for c, condition in enumerate(found.conditions):
            for d, dimension in enumerate(found.dimensions):
                level = levels[target, condition, dimension]
                mean[t, c, d], error[t, c, d] = level.interval.value, level.standard_error
    draw_scorecard(
        folder / "scorecard", targets=found.targets, conditions=found.conditions,
        dimensions=found.dimensions, mean=mean, se=error, baseline=found.baseline,
        scale=scores.scale, is_demonstration=is_demonstration,
    )  # fmt: skip
    variants = found.variants
    delta = _cells(found, variants, found.dimensions)
    column = _cells(found, variants, (None,))[:, :, 0]
    draw_delta_heatmap(
        folder / "delta_heatmap", targets=found.targets, conditions=variants,
        dimensions=found.dimensions, delta=delta, mean_column=column, bold_at=bold_at,
        labels=[
            [
                ["*" if found.cell(t, v, d).verdict == "changed" else "" for d in found.dimensions]
                for v in variants
            ]
            for t in found.targets
        ],
        labels_say="* changed (significant after Holm's adjustment)",
        is_demonstration=is_demonstration,
    )  # fmt: skip


def _cells(found: Any, variants: Any, dimensions: Any) -> Any:
    return np.asarray(
        [
            [[found.cell(target, v, d).mean for d in dimensions] for v in variants]
            for target in found.targets
        ]
    )


def _write(path: Path, text: str) -> None:
    with replaced(path) as part:
        part.write_text(text + "\n", encoding="utf-8")


PANEL_FOLDER = "panel"
RETEST_FOLDER = "retest"
FEWEST_RETESTED = 10
"""Responses whose judges are asked again at the least: fewer give no noise floor to speak of."""


class StressJob(Job[StressRun]):
    """A stress test: of models that are asked, or of responses that are supplied."""

    kind = "stress"

    def __init__(
        self,
        panel: PanelSpec,
        prompts: Any = None,
        *,
        targets: Any = None,
        rewriters: Any = None,
        framings: Sequence[str | Path | Framing] | None = None,
        framing_folders: Sequence[str | Path] = (),
        variants: str | Path | None = None,
        responses: Any = None,
        condition: str | None = None,
        plan: StressPlan | None = None,
        track: Track | None = None,
        effort: str | None = None,
        words: int | None = None,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        rewrite_only: bool = False,
        bold_at: float = 1.2,
        out: str | Path | None = None,
        resume: bool = False,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline, and opens the folder; see `stress`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        config = InputConfig.checked(
            out=out, resume=resume, max_cost=max_cost, columns=columns, limit=limit
        )
        self.panel = panel
        self.design = design_of(
            panel, prompts, targets=targets, rewriters=rewriters, framings=framings,
            framing_folders=framing_folders, variants=variants, responses=responses,
            condition=condition, plan=plan or StressPlan(), track=track, effort=effort,
            words=words, columns=columns, limit=limit, rewrite_only=rewrite_only,
        )  # fmt: skip
        self.plan = self.design.plan
        self.variants = self.design.variants
        self.bold_at = bold_at
        self.stages = self.design.stages
        identity = {"kind": self.kind} | self.design.identity() | {"panel": panel.identity()}
        name = f"stress-{Path(self.design.given.name).stem}"
        super().__init__(config, identity=identity, name=name, on_progress=on_progress)
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
        return (*self.panel.notices, *self.design.given.notices)

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Everybody who may be asked."""
        judges = () if self.design.rewrite_only else self.panel.backends
        return (*self.design.others, *judges)

    @property
    def ledger(self) -> Ledger:
        """The store of calls: the panel's."""
        return self.panel.ledger

    async def dry_run(self) -> DryRun:
        """Calls and cost of every stage and backend."""
        return DryRun(tuple(await _stage_estimates(self)), (_ASSUMPTION,))

    async def run_stages(self, client: Client) -> StressScores | None:
        """All stages; a prompt that fails in one leaves the others standing, counted."""
        if self.design.supplied is not None:
            refused = count_supplied(self._responses(), self.counts, self.plan.response_repeats)
        else:
            if self.design.variants is None:
                await self._rewrite(client)
            if self.design.rewrite_only:
                return None
            refused = await self._respond(client)
        await self._score("score", PANEL_FOLDER, self.panel)
        if "retest" in self.stages:
            only = self.retested(self._responses())
            await self._score("retest", RETEST_FOLDER, self.twice(), only)
        return self._read(refused)

    def finished(self, result: StressScores | None) -> StressRun:
        """Writes the figures, also where no response came, and returns the run."""
        if result is not None:
            write_outputs(self, result)
        return StressRun(self.path)

    async def _rewrite(self, client: Client) -> None:
        from .rewriting import rewrite_all

        design = self.design
        assert design.prompts is not None  # noqa: S101 - supplied responses are not rewritten
        self.begin("rewrite", total=len(design.prompts.rows), unit="prompts")
        self.variants, outcome = await rewrite_all(
            self.path,
            design.prompts,
            framings=design.framings,
            rewriters=design.rewriters,
            reviewers=design.reviewers,
            seed=self.plan.seed,
            client=client,
            step=lambda troubled: self.step(is_troubled=troubled),
        )
        self.outcome["rewrite"] = outcome
        self.over_budget |= outcome["not_asked_for_budget"] > 0

    async def _respond(self, client: Client) -> set[str]:
        design = self.design
        askings = self.askings()
        asked = list(questions(askings, design.targets, self.plan, self.asked_again(askings)))
        self.begin("respond", total=len(asked), unit="responses")
        # Variants that were handed in without a text are missing, whatever became of them before.
        written = self.variants.rows if self.variants and design.variants is None else ()
        unasked = {(row.prompt_id, row.condition) for row in written if row.status == "not_asked"}
        repeats = self.plan.response_repeats
        count_missing(askings, design.prompt_ids, self.counts, repeats, unasked)
        faults: dict[str, int] = {}
        refused = await write_answers(
            self.path / RESPONSES_FILE,
            asked,
            client,
            design.wording,
            design.targets,
            self.counts,
            repeats=repeats,
            faults=faults,
            step=lambda troubled: self.step(is_troubled=troubled),
        )
        totals = {
            name: sum(getattr(tally, name) for tally in self.counts.values())
            for name in ("planned", "answered", "empty", "refused", "failed", "not_asked")
        }
        again: dict[str, int] = {}
        for tally in self.counts.values():
            for status, number in tally.regenerated.items():
                again[status] = again.get(status, 0) + number
        self.outcome["respond"] = totals | {"regenerated": again, "faults": faults}
        left = totals["not_asked"] + again.get("not_asked", 0)
        self.over_budget |= left > 0 and not client.stopped
        if any(totals[name] + again.get(name, 0) for name in ("answered", "empty", "refused")):
            self._source = StressSource(self.path / RESPONSES_FILE)
            self._source.check()
        return refused

    def askings(self) -> list[Asking]:
        """The baseline of every prompt and its usable variants, prompt by prompt.

        A prompt without any usable variant is left out whole: its baseline has nothing to be
        compared with.
        """
        assert self.design.prompts is not None  # noqa: S101 - only asked where there are prompts
        assert self.variants is not None  # noqa: S101 - read or written before
        texts = self.variants.usable()
        found: list[Asking] = []
        for row in self.design.prompts.rows:
            mine = [
                Asking(row.prompt_id, name, text)
                for name in self.design.conditions[1:]
                if (text := texts[row.prompt_id].get(name)) is not None
            ]
            if mine:
                found += [Asking(row.prompt_id, self.plan.baseline, row.prompt_text), *mine]
        return found

    def asked_again(self, askings: Sequence[Asking]) -> frozenset[str]:
        """The cells whose response is generated once more."""
        if self.plan.response_repeats > 1 or not self.plan.regenerate_share:
            return frozenset()
        cells = [cell_name(asking, name) for asking in askings for name in self.design.target_names]
        share = self.plan.regenerate_share
        return chosen(cells, share, self.plan.seed, "regenerate", at_least=FEWEST_RETESTED)

    def _responses(self) -> Iterator[StressResponse]:
        return self._source.rows() if self._source is not None else iter(())

    def baseline_prompts(self) -> dict[str, str]:
        """Prompt id to the text of its baseline."""
        if self.design.prompts is not None:
            return self.design.prompts.texts
        return {
            row.prompt_id: row.prompt_text
            for row in self._responses()
            if row.condition == self.plan.baseline
        }

    def retested(self, responses: Iterator[StressResponse]) -> frozenset[str]:
        """The responses whose judges are asked a second time."""
        names = [
            row.response_id
            for row in responses
            if row.extra.get("status") not in NO_RESPONSE and repeat_of(row) == 0
        ]
        return chosen(
            names, self.plan.retest_share, self.plan.seed, "retest", at_least=FEWEST_RETESTED
        )

    def twice(self) -> PanelSpec:
        """The panel whose every judge is asked as often again; the first askings are paid."""
        return replace(self.panel, repeats=2 * self.panel.repeats)

    async def _score(
        self, stage: str, folder: str, panel: PanelSpec, only: frozenset[str] | None = None
    ) -> None:
        rows = panel_rows(self._responses(), self.plan, self.baseline_prompts(), only=only)
        self._judged[stage] = await score_within(self, stage, panel, rows, folder)

    def _read(self, refused: set[str]) -> StressScores:
        schema = self.panel.judge_prompt.schema
        return read_stress_scores(
            self.panel_folder,
            self.counts,
            targets=self.design.target_names,
            conditions=self.design.conditions,
            prompts=self.design.prompt_ids,
            dimensions=self.panel.criteria,
            repeats=self.plan.response_repeats,
            refused=refused,
            scale=(schema.low, schema.high),
        )

    @property
    def panel_folder(self) -> Path | None:
        """The panel's run of this session; None where there was no response to judge."""
        return self._judged.get("score")

    def retest_pairs(self) -> Floats:
        """Panel means of both askings, (responses, 2, dimensions)."""
        folder = self._judged.get("retest")
        return read_retest(folder, self.panel.criteria, self.panel.repeats)

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
        planned = sum(tally.planned for tally in self.counts.values())
        left = sum(tally.not_asked for tally in self.counts.values())
        rest = [f"{units(not_asked, 'judgment')} not asked for"] if not_asked else []
        unwritten = self.outcome.get("rewrite", {}).get("not_asked", 0)
        rest += [f"{units(unwritten, 'variant')} not written"] if unwritten else []
        return CapStop(cap, planned, planned - left, "responses", rest=", ".join(rest))

    def describe(self) -> dict[str, Any]:
        """What run.json says of a stress test."""
        return {
            "demonstration": self.is_demonstration,
            "source": self.design.given.name,
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
