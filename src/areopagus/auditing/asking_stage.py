"""The first stage: every item goes to every target, and rules read what comes back."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from ..asking import ModelAnswer, Question, ask_each
from ..audits.definition import AuditItem, Reading
from ..judges.models.client import Desk
from .planned import Plan

if TYPE_CHECKING:
    from .job import AuditJob


async def answers(
    job: AuditJob, desk: Desk
) -> AsyncGenerator[tuple[AuditItem, str, int, ModelAnswer], None]:
    """Item, target, repeat and answer of everything planned, in order.

    Raises:
        StoreError: the ledger cannot be written.
    """
    if job.supplied is not None:
        for item, repeat in job.plan.askings():
            for name in job.target_names:
                yield item, name, repeat, job.supplied.answer(item.item_id, name, repeat)
        return
    asked = questions(job, job.plan)
    async with aclosing(ask_each(asked, desk, job.wording, job.targets)) as found:
        async for question, answer in found:
            yield question.item, question.backend.spec.name, question.repeat, answer


def questions(job: AuditJob, plan: Plan) -> Iterator[Question[AuditItem]]:
    """Every asking of every target."""
    for item, repeat in plan.askings():
        for backend in job.targets:
            yield Question(item, item.prompt, backend, repeat)


def read_by_rule(job: AuditJob, item: AuditItem, answer: ModelAnswer) -> Reading | None:
    """What rules make of the answer; None where there is no reply to read."""
    if answer.status in ("failed", "not_asked"):
        return None
    return job.audit.read(item, answer, job.options)


def answer_row(
    item: AuditItem, target: str, repeat: int, answer: ModelAnswer, reading: Reading | None
) -> dict[str, Any]:
    """The row of an answer that no judge has seen yet."""
    status = reading.status if reading is not None else answer.status
    reason = reading.reason if reading is not None else answer.reason
    return {
        **item.fields,
        **(reading.values if reading is not None else {}),
        "item_id": item.item_id,
        "unit": item.cluster,
        "target": target,
        "repeat": repeat,
        "prompt_text": item.prompt,
        "response_text": answer.text if reading is not None else None,
        "status": status,
        "by": "rule" if status == "classified" else "",
        "reason": reason,
        "is_cut_off": answer.is_cut_off,
        "finish_reason": answer.finish_reason,
        "answered_by": answer.answered_by,
        "input_tokens": answer.usage.input_tokens,
        "output_tokens": answer.usage.output_tokens,
        "cost_usd": answer.cost_usd,
        "judging": "",
        "judge_calls": 0,
        "judge_cost_usd": 0.0,
    }
