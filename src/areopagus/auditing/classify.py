"""What becomes of an answer: read by rule, and judged where the rules leave it unclassified."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from ..async_runner import ordered_map
from ..audits.answers_table import RowWriter
from ..audits.audit import Audit, AuditItem, Reading
from ..experiment.ask import ModelAnswer
from ..graphs.adjudication import JudgeQuestion, Ruling
from ..judges.models.backend import Backend
from ..judges.models.client import Client


def read_by_rule(
    audit: Audit[Any], options: Any, item: AuditItem, answer: ModelAnswer
) -> Reading | None:
    """What rules make of the answer; None where there is no reply to read."""
    if answer.status in ("failed", "not_asked"):
        return None
    return audit.read(item, answer, options)


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


@dataclass(frozen=True, slots=True)
class Case:
    """One row on its way through the stage, with what judges are asked about it."""

    row: dict[str, Any]
    item: AuditItem
    reading: Reading
    question: JudgeQuestion | None


async def rulings(
    client: Client, cases: Iterator[Case], judges: Sequence[Backend]
) -> AsyncGenerator[tuple[Case, Ruling | None], None]:
    """Every case in order with what judges came to; None where nothing was to be asked.

    Raises:
        StoreError: the ledger cannot be written.
    """
    from ..graphs.adjudication import adjudicate

    alone = asyncio.Lock()
    is_first = client.budget.cap is not None

    async def judge(case: Case) -> Ruling | None:
        nonlocal is_first
        if case.question is None:
            return None
        if is_first:
            # Under a cap the first ruling also finds out how the judges take structured output:
            # only then can the money for two votes be set aside together.
            async with alone:
                if is_first:
                    try:
                        return await adjudicate(client, case.question, judges)
                    finally:
                        is_first = False
        return await adjudicate(client, case.question, judges)

    at_once = min(sum(backend.spec.concurrency for backend in judges) + 4, 256)
    async with aclosing(ordered_map(cases, judge, at_once=at_once)) as found:
        async for case, ruling in found:
            yield case, ruling


def case_of(audit: Audit[Any], options: Any, row: dict[str, Any]) -> Case:
    """The row with the question that judges are asked about it, if there is one."""
    columns = audit.definition
    item = AuditItem(
        row["item_id"],
        row["prompt_text"],
        {name: row[name] for name in columns.item_columns},
        row["unit"],
    )
    values = {name: row[name] for name in columns.value_columns if row[name] is not None}
    reading = Reading(row["status"], values, row["reason"])
    question = None
    if row["status"] == "unclassified":
        question = audit.question(item, row["response_text"], reading, options)
    return Case(row, item, reading, question)


def ruled_row(audit: Audit[Any], options: Any, case: Case, ruling: Ruling) -> dict[str, Any]:
    """The row after the judges."""
    row = case.row
    status, reason, by = "unclassified", ruling.reason, ""
    values: dict[str, Any] = dict(case.reading.values)
    if ruling.outcome == "not_asked":
        # The target's answer is there; only its classification was not paid for.
        reason = f"judges not asked: {ruling.reason}"
    else:
        heard = audit.heard(case.item, case.reading, ruling)
        kept = replace(case.reading, values={**case.reading.values, **heard})
        # A ruling without a value must not become one.
        reading = (
            audit.ruled(case.item, row["response_text"], kept, ruling, options)
            if ruling.is_decided
            else replace(kept, status="unclassified", reason=f"judges: {ruling.outcome}")
        )
        status, values = reading.status, dict(reading.values)
        reason = reading.reason or (ruling.reason if status != "classified" else "")
        by = "judges" if status == "classified" else ""
    costs = [vote.cost_usd for vote in ruling.votes]
    return {
        **{name: item for name, item in row.items() if name not in audit.definition.value_columns},
        **values,
        "status": status,
        "by": by,
        "reason": reason,
        "judging": ruling.outcome,
        "judge_calls": sum(vote.calls for vote in ruling.votes),
        "judge_cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs),
    }


def question_hash(question: JudgeQuestion) -> str:
    """What judges are asked, as sixteen digits: the same for answers that look alike to them."""
    shown = json.dumps([question.template, *question.texts.items()], ensure_ascii=False)
    return sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def write_votes(
    votes: RowWriter, row: dict[str, Any], question: JudgeQuestion, ruling: Ruling
) -> None:
    """One row a vote."""
    asked = question_hash(question)
    for vote in ruling.votes:
        votes.write(
            {
                **{name: row[name] for name in ("item_id", "unit", "target", "repeat")},
                "question": asked,
                "slot": vote.slot,
                "model": vote.model,
                "status": vote.status,
                "detail": vote.detail,
                "value": json.dumps(dict(vote.value), ensure_ascii=False) if vote.value else None,
                "calls": vote.calls,
                "cost_usd": vote.cost_usd,
            }
        )
