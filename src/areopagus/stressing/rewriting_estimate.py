"""What rewriting would call and cost, rehearsed on what the ledger holds."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from ..graphs.rewriting import (
    MOST_REVIEW_CALLS,
    MOST_WRITING_CALLS,
    most_review_usd,
    most_writing_usd,
    review_request,
    rewrite_request,
)
from ..judges.models.client import Desk
from .answers import Asking
from .rewriting import assignments, reframe_each
from .stage_estimate import StageEstimate

if TYPE_CHECKING:
    from ..graphs.reframing import Assignment, Reframed
    from ..records.readers.responses import PromptRow
    from .job import StressJob
    from .material import Prompts

VARIANT_FACTOR = 1.3
"""How much longer than its prompt a variant is assumed to be."""

_REVIEW_TOKENS = 60
"""A reviewer's reply on one variant."""


async def rehearse_variants(
    job: StressJob, prompts: Prompts
) -> tuple[list[Asking], list[StageEstimate]]:
    """What would be asked of the targets, and what it costs to have it written."""
    if job.variants is not None:
        return job.askings(), []
    design = job.design
    assigned = assignments(prompts, design.rewriters, design.reviewers, job.plan.seed)
    stages = {
        backend.spec.name: StageEstimate("rewrite", backend.spec.name)
        for backend in (*design.rewriters, *design.reviewers)
    }
    askings: list[Asking] = []
    desk = Desk(job.ledger)
    desk.stop()  # what is stored is answered, nothing is sent
    each = reframe_each(prompts, assigned, design.framings, desk, at_once=8)
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
    stages: dict[str, StageEstimate],
) -> None:
    framings, secret = job.design.framings, job.ledger.secret
    is_open = outcome.status == "not_asked"
    writing = stages[who.rewriter.spec.name]
    writing.planned += 1
    is_written = not is_open or outcome.calls > 0
    writing.stored += is_written
    if is_open:
        request = rewrite_request(
            who.rewriter, row.prompt_text, framings, secret=secret, rung="json_schema"
        )
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
    request = review_request(
        who.reviewer, row.prompt_text, variants, framings, secret=secret, rung="json_schema"
    )
    reviewing.add_likely(who.reviewer, request, output_tokens=_REVIEW_TOKENS * len(framings))
    reviewing.add_most(MOST_REVIEW_CALLS, most_review_usd(who.reviewer, request))
