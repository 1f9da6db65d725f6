"""The second stage: what rules left unclassified goes to the judges."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..audits.answers_table import VOTE_COLUMNS, VOTES_FILE
from ..audits.definition import Audit, AuditItem, Reading
from ..graphs.adjudication import JudgeQuestion, Ruling
from ..judges.models.client import Desk
from ..ordered import in_order
from .table_writer import RowWriter, written_rows

if TYPE_CHECKING:
    from .job import AuditJob


@dataclass(frozen=True, slots=True)
class Case:
    """One row on its way through the stage, with what judges are asked about it."""

    row: dict[str, Any]
    item: AuditItem
    reading: Reading
    question: JudgeQuestion | None


async def judge_all(job: AuditJob, desk: Desk, rows: Iterator[dict[str, Any]], out: Path) -> None:
    """Writes the table anew with the judges' classifications, and the table of their votes.

    Raises:
        StoreError: the ledger or the folder cannot be written.
    """
    from ..graphs.adjudication import adjudicate

    alone = asyncio.Lock()
    is_first = desk.budget.cap is not None

    async def hear(case: Case) -> Ruling | None:
        nonlocal is_first
        if case.question is None:
            return None
        if is_first:
            # Under a cap the first ruling also finds out how the judges take structured output:
            # only then can the money for two votes be set aside together.
            async with alone:
                if is_first:
                    try:
                        return await adjudicate(desk, case.question, job.judges)
                    finally:
                        is_first = False
        return await adjudicate(desk, case.question, job.judges)

    at_once = min(sum(backend.spec.concurrency for backend in job.judges) + 4, 256)
    cases = (case_of(job, row) for row in rows)
    with (
        written_rows(out, job.columns) as writer,
        written_rows(job.path / VOTES_FILE, VOTE_COLUMNS) as votes,
    ):
        async with aclosing(in_order(cases, hear, at_once=at_once)) as heard:
            async for case, ruling in heard:
                row = case.row
                if ruling is not None:
                    row = ruled_row(job.audit, job.options, case, ruling)
                    write_votes(votes, row, ruling)
                    job.count_ruling(ruling)
                writer.write(row)
                job.count(row)


def case_of(job: AuditJob, row: dict[str, Any]) -> Case:
    """The row with the question that judges are asked about it, if there is one."""
    audit = job.audit
    item = AuditItem(
        row["item_id"],
        row["prompt_text"],
        {name: row[name] for name in audit.item_columns},
        row["unit"],
    )
    values = {name: row[name] for name in audit.value_columns if row[name] is not None}
    reading = Reading(row["status"], values, row["reason"])
    question = None
    if row["status"] == "unclassified":
        question = audit.question(item, row["response_text"], reading, job.options)
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
        reading = audit.ruled(case.item, row["response_text"], case.reading, ruling, options)
        status, values = reading.status, dict(reading.values)
        reason = reading.reason or (ruling.reason if status != "classified" else "")
        by = "judges" if status == "classified" else ""
    costs = [vote.cost_usd for vote in ruling.votes]
    return {
        **{name: item for name, item in row.items() if name not in audit.value_columns},
        **values,
        "status": status,
        "by": by,
        "reason": reason,
        "judging": ruling.outcome,
        "judge_calls": sum(vote.calls for vote in ruling.votes),
        "judge_cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs),
    }


def write_votes(votes: RowWriter, row: dict[str, Any], ruling: Ruling) -> None:
    """One row a vote."""
    for vote in ruling.votes:
        votes.write(
            {
                **{name: row[name] for name in ("item_id", "unit", "target", "repeat")},
                "slot": vote.slot,
                "model": vote.model,
                "status": vote.status,
                "detail": vote.detail,
                "value": json.dumps(dict(vote.value), ensure_ascii=False) if vote.value else None,
                "calls": vote.calls,
                "cost_usd": vote.cost_usd,
            }
        )
