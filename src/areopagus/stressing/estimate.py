"""What a stress test would call and cost, stage by stage, without sending anything.

The stages are rehearsed on what the ledger holds: a stored variant is asked with its own text, a
stored response judged with its own; what is not there yet is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..access import prepare_all
from ..asking import read_answer
from ..estimate import BackendEstimate, Estimate, estimate
from ..graphs.rewriting_call import rewrite_request
from ..graphs.variant_review import review_request
from ..judges.backend import Backend
from ..judges.call import reserve_usd
from ..judges.desk import Desk
from ..judges.request import Request
from ..loop import run_sync
from ..records.responses import open_responses
from ..responding import USUAL_WORDS
from .answers import Asking, questions, response_id
from .material import Prompts
from .panel_rows import NO_RESPONSE, panel_rows
from .rewriting import assignments, reframe_each
from .source import StressResponse

if TYPE_CHECKING:
    from ..graphs.reframing_state import Reframed
    from ..graphs.rewriters import Assignment
    from ..records.responses import PromptRow
    from .job import StressJob

VARIANT_FACTOR = 1.3
"""How much longer than its prompt a variant is assumed to be."""
_WORDS_TO_TOKENS = 4 / 3


@dataclass(slots=True)
class StageEstimate:
    """One backend's part in one stage; the fields are those of `BackendEstimate`."""

    stage: str
    backend: str
    planned: int = 0
    stored: int = 0
    calls: int = 0
    likely_usd: float | None = 0.0
    most_usd: float | None = 0.0

    def add(self, backend: Backend, request: Request, *, output_tokens: float) -> None:
        """Counts one call to send."""
        self.calls += 1
        text = "\n".join(message["content"] for message in request.messages)
        output = min(round(output_tokens), backend.spec.max_tokens)
        likely = backend.likely_cost(backend.likely_tokens(text), output)
        self.likely_usd = _plus(self.likely_usd, likely)
        self.most_usd = _plus(self.most_usd, reserve_usd(backend, request))


def rehearse(job: StressJob) -> list[StageEstimate]:
    """Calls and cost of every stage and backend; see `Estimate` for how tokens are counted.

    Raises:
        InputError: unknown providers, and parameters that a model does not take.
    """
    backends = (*job.rewriters, *job.reviewers, *job.targets)
    prepare_all(backends if job.rewrite_only else (*backends, *job.panel.backends))
    return run_sync(_rehearse(job))


async def calls_left(job: StressJob) -> dict[str, int]:
    """Backend to the calls that the ledger cannot answer."""
    left: dict[str, int] = {}
    for item in await _rehearse(job):
        left[item.backend] = left.get(item.backend, 0) + item.calls
    return left


async def _rehearse(job: StressJob) -> list[StageEstimate]:
    found: list[StageEstimate] = []
    if job.supplied is not None:
        responses = [
            row for row in job.supplied.source.rows() if row.extra.get("status") not in NO_RESPONSE
        ]
    else:
        assert job.prompts is not None  # noqa: S101 - one of the two is there
        askings, stages = await _rehearse_variants(job, job.prompts)
        found += stages
        if job.rewrite_only:
            return found
        responses, stages = _rehearse_answers(job, askings)
        found += stages
    plan, baselines = job.plan, _baselines(job, responses)
    rows = list(panel_rows(responses, plan, baselines))
    if not rows:
        return found
    once = estimate(job.panel, open_responses(rows))
    found += _stages_of("score", once)
    if "retest" in job.stages:
        only = job.retested(iter(responses))
        some = list(panel_rows(responses, plan, baselines, only=only))
        both = estimate(job.twice(), open_responses(some))
        found += _difference(both, estimate(job.panel, open_responses(some)))
    return found


async def _rehearse_variants(
    job: StressJob, prompts: Prompts
) -> tuple[list[Asking], list[StageEstimate]]:
    if job.variants is not None:
        return job.askings(), []
    assigned = assignments(prompts, job.rewriters, job.reviewers, job.plan.seed)
    stages = {
        backend.spec.name: StageEstimate("rewrite", backend.spec.name)
        for backend in (*job.rewriters, *job.reviewers)
    }
    askings: list[Asking] = []
    desk = Desk(job.ledger)
    desk.stop()  # what is stored is answered, nothing is sent
    each = reframe_each(prompts, assigned, job.framings, desk, at_once=8)
    async with aclosing(each) as outcomes:
        async for row, outcome in outcomes:
            _count_rewriting(job, row, outcome, assigned[row.prompt_id], stages)
            askings.append(Asking(row.prompt_id, job.plan.baseline, row.prompt_text))
            for name in job.conditions[1:]:
                if outcome.status == "not_asked":
                    length = round(len(row.prompt_text) * VARIANT_FACTOR)
                    text = (row.prompt_text * 2)[:length]
                    askings.append(Asking(row.prompt_id, name, text))
                elif name in outcome.variants:
                    askings.append(Asking(row.prompt_id, name, outcome.variants[name]))
    return askings, list(stages.values())


def _count_rewriting(
    job: StressJob,
    row: PromptRow,
    outcome: Reframed,
    who: Assignment,
    stages: dict[str, StageEstimate],
) -> None:
    writing = stages[who.rewriter.spec.name]
    writing.planned += 1
    secret = job.ledger.secret
    tokens = len(job.framings) * who.rewriter.likely_tokens(row.prompt_text) * VARIANT_FACTOR
    if outcome.status != "not_asked":
        writing.stored += 1
    elif outcome.calls == 0:
        request = rewrite_request(
            who.rewriter, row.prompt_text, job.framings, secret=secret, rung="json_schema"
        )
        writing.add(who.rewriter, request, output_tokens=tokens)
    if who.reviewer is None:
        return
    reviewing = stages[who.reviewer.spec.name]
    reviewing.planned += 1
    if outcome.status != "not_asked":
        reviewing.stored += 1
        return
    variants = {framing.id: (row.prompt_text * 2) for framing in job.framings}
    request = review_request(
        who.reviewer, row.prompt_text, variants, job.framings, secret=secret, rung="json_schema"
    )
    reviewing.add(who.reviewer, request, output_tokens=60 * len(job.framings))


def _rehearse_answers(
    job: StressJob, askings: list[Asking]
) -> tuple[list[StressResponse], list[StageEstimate]]:
    stages = {name: StageEstimate("respond", name) for name in job.target_names}
    words = job.wording.protocol.words or USUAL_WORDS
    assumed = "word " * words
    responses: list[StressResponse] = []
    asked = questions(askings, job.targets, job.plan, job.asked_again(askings))
    for number, question in enumerate(asked):
        backend, asking = question.backend, question.item
        stage = stages[backend.spec.name]
        stage.planned += 1
        request = job.wording.request(backend, question.prompt, question.repeat)
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
    if job.prompts is not None:
        return job.prompts.texts
    name = job.plan.baseline
    return {row.prompt_id: row.prompt_text for row in responses if row.condition == name}


def _stages_of(stage: str, found: Estimate) -> Iterator[StageEstimate]:
    for item in found.backends:
        yield StageEstimate(
            stage, item.name, item.planned, item.stored, item.calls, item.likely_usd, item.most_usd
        )


def _difference(both: Estimate, once: Estimate) -> Iterator[StageEstimate]:
    """What asking twice comes to beyond asking once."""

    def less(name: str, a: BackendEstimate, b: BackendEstimate) -> Any:
        first, second = getattr(a, name), getattr(b, name)
        return None if first is None or second is None else first - second

    for a, b in zip(both.backends, once.backends, strict=True):
        names = ("planned", "stored", "calls", "likely_usd", "most_usd")
        yield StageEstimate("retest", a.name, *(less(name, a, b) for name in names))


def _plus(total: float | None, amount: float | None) -> float | None:
    return None if total is None or amount is None else total + amount
