"""The dry run of a stress test: every stage on what the ledger holds, the rest assumed.

A stored variant is asked with its own text, a stored response judged with its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from ..experiment.ask import read_answer
from ..experiment.dry_run import DryRun, StageCost, estimate_scoring
from ..experiment.respond import USUAL_WORDS
from ..graphs.reframing import (
    MOST_REVIEW_CALLS,
    MOST_WRITING_CALLS,
    ReframingTask,
    most_review_usd,
    most_writing_usd,
)
from ..judges.models.client import Client
from ..records.readers.responses import ResponseSource
from .asking import (
    Asking,
    asked_again,
    askings_of,
    baseline_prompts,
    questions,
    response_id,
    retested,
    twice,
)
from .design import StressDesign
from .responses import NO_RESPONSE, StressResponse, panel_rows
from .rewriting import assignments, reframe_each

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..graphs.reframing import Assignment, Reframed
    from ..records.readers.responses import PromptRow

VARIANT_FACTOR = 1.3
"""How much longer than its prompt a variant is assumed to be."""

_REVIEW_TOKENS = 60
"""A reviewer's reply on one variant."""


async def stage_costs(design: StressDesign, panel: PanelSpec) -> list[StageCost]:
    """Calls and cost of every stage and backend; sends nothing."""
    config = design.config
    found: list[StageCost] = []
    if design.supplied is not None:
        rows_given = design.supplied.source.rows()
        responses = [row for row in rows_given if row.extra.get("status") not in NO_RESPONSE]
    else:
        askings, stages = await _variants_to_write(design, panel)
        found += stages
        if config.rewrite_only:
            return found
        responses, stages = _answers_to_write(design, panel, askings)
        found += stages
    baselines = baseline_prompts(design, responses)
    rows = list(panel_rows(responses, config.judged_prompt, baselines))
    if not rows:
        return found
    found += estimate_scoring(panel, ResponseSource(rows)).stages
    if "retest" in design.stages:
        only = retested(config, responses)
        some = list(panel_rows(responses, config.judged_prompt, baselines, only=only))
        if not some:
            return found
        both = estimate_scoring(twice(panel), ResponseSource(some))
        found += _difference(both, estimate_scoring(panel, ResponseSource(some)))
    # Tokens are counted of the judges alone: a dry run of several stages shows none.
    return [replace(item, input_tokens=None, output_tokens=None) for item in found]


async def _variants_to_write(
    design: StressDesign, panel: PanelSpec
) -> tuple[list[Asking], list[StageCost]]:
    """What would be asked of the targets, and what it costs to have it written."""
    if design.variants is not None:
        return askings_of(design, design.variants), []
    assigned = assignments(design.prompts, design.rewriters, design.reviewers, design.config.seed)
    stages = {
        backend.spec.name: StageCost("rewrite", backend.spec.name)
        for backend in (*design.rewriters, *design.reviewers)
    }
    askings: list[Asking] = []
    client = Client(panel.ledger)
    client.stop()  # what is stored is answered, nothing is sent
    each = reframe_each(design.prompts, assigned, design.framings, client, at_once=8)
    async with aclosing(each) as outcomes:
        async for row, outcome in outcomes:
            _count(design, panel, row, outcome, assigned[row.prompt_id], stages)
            found = []
            for name in design.conditions[1:]:
                if outcome.status == "not_asked":
                    length = round(len(row.prompt_text) * VARIANT_FACTOR)
                    found.append(Asking(row.prompt_id, name, (row.prompt_text * 2)[:length]))
                elif name in outcome.variants:
                    found.append(Asking(row.prompt_id, name, outcome.variants[name]))
            if found:
                askings.append(Asking(row.prompt_id, design.config.baseline, row.prompt_text))
                askings += found
    return askings, list(stages.values())


def _count(
    design: StressDesign,
    panel: PanelSpec,
    row: PromptRow,
    outcome: Reframed,
    who: Assignment,
    stages: dict[str, StageCost],
) -> None:
    framings, secret = design.framings, panel.ledger.secret
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


def _answers_to_write(
    design: StressDesign, panel: PanelSpec, askings: list[Asking]
) -> tuple[list[StressResponse], list[StageCost]]:
    stages = {name: StageCost("respond", name) for name in design.target_names}
    words = design.wording.protocol.words or USUAL_WORDS
    assumed = "word " * words
    responses: list[StressResponse] = []
    asked = questions(
        askings, design.targets, design.config.response_repeats, asked_again(design, askings)
    )
    for number, question in enumerate(asked):
        backend, asking = question.backend, question.item
        stage = stages[backend.spec.name]
        stage.planned += 1
        request = design.wording.request(backend, question.prompt, question.repeat)
        key = request.key()
        stored = panel.ledger.lookup([key]).get(key)
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
