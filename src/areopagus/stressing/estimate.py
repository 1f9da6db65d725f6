"""What a stress test would call and cost, stage by stage, without sending anything.

The stages are rehearsed on what the ledger holds: a stored variant is asked with its own text, a
stored response judged with its own; what is not there yet is assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..access import prepare_all
from ..asking import read_answer
from ..estimate import BackendEstimate, Estimate, estimate
from ..loop import run_sync
from ..records.readers.responses import open_responses
from ..responding import USUAL_WORDS
from .answers import Asking, questions, response_id
from .panel_rows import NO_RESPONSE, panel_rows
from .rewriting_estimate import rehearse_variants
from .source import StressResponse
from .stage_estimate import StageEstimate

if TYPE_CHECKING:
    from .job import StressJob

__all__ = ["StageEstimate", "calls_left", "rehearse"]

_WORDS_TO_TOKENS = 4 / 3
_JUDGE_CALLS = 2
"""A judge's reply, and its one repair."""


def rehearse(job: StressJob) -> list[StageEstimate]:
    """Calls and cost of every stage and backend; see `Estimate` for how tokens are counted.

    Raises:
        InputError: unknown providers, and parameters that a model does not take.
    """
    prepare_all(job.backends)
    return run_sync(_rehearse(job))


async def calls_left(job: StressJob) -> dict[str, int]:
    """Backend to the calls that the ledger cannot answer."""
    left: dict[str, int] = {}
    for item in await _rehearse(job):
        left[item.backend] = left.get(item.backend, 0) + item.calls
    return left


async def _rehearse(job: StressJob) -> list[StageEstimate]:
    found: list[StageEstimate] = []
    if job.design.supplied is not None:
        rows_given = job.design.supplied.source.rows()
        responses = [row for row in rows_given if row.extra.get("status") not in NO_RESPONSE]
    else:
        assert job.design.prompts is not None  # noqa: S101 - one of the two is there
        askings, stages = await rehearse_variants(job, job.design.prompts)
        found += stages
        if job.design.rewrite_only:
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
        if not some:
            return found
        both = estimate(job.twice(), open_responses(some))
        found += _difference(both, estimate(job.panel, open_responses(some)))
    return found


def _rehearse_answers(
    job: StressJob, askings: list[Asking]
) -> tuple[list[StressResponse], list[StageEstimate]]:
    stages = {name: StageEstimate("respond", name) for name in job.design.target_names}
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


def _stages_of(stage: str, found: Estimate) -> Iterator[StageEstimate]:
    for item in found.backends:
        yield StageEstimate(
            stage, item.name, item.planned, item.stored, item.calls, item.likely_usd, item.most_usd,
            most_calls=_JUDGE_CALLS * item.calls,
        )  # fmt: skip


def _difference(both: Estimate, once: Estimate) -> Iterator[StageEstimate]:
    """What asking twice comes to beyond asking once."""

    def less(name: str, a: BackendEstimate, b: BackendEstimate) -> Any:
        first, second = getattr(a, name), getattr(b, name)
        return None if first is None or second is None else first - second

    for a, b in zip(both.backends, once.backends, strict=True):
        names = ("planned", "stored", "calls", "likely_usd", "most_usd")
        found = StageEstimate("retest", a.name, *(less(name, a, b) for name in names))
        found.most_calls = _JUDGE_CALLS * found.calls
        yield found
