"""What targets are asked in a stress test, and which of their answers are missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..experiment.ask import ModelAnswer, Question, Wording, ask_each
from ..experiment.respond import answer_cells
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..records.run_folder import csv_table
from ..records.spreadsheets import writable
from .panel_rows import NO_RESPONSE, repeat_of
from .plan import StressPlan
from .source import StressResponse
from .table import ConditionCounts

RESPONSES_FILE = "responses.csv"

RESPONSE_COLUMNS = (
    "response_id",
    "prompt_id",
    "condition",
    "prompt_text",
    "response_text",
    "respondent_id",
    "repeat",
    "status",
    "reason",
    "finish_reason",
    "words",
    "answered_by",
    "input_tokens",
    "output_tokens",
    "cost_usd",
)
"""Columns of responses.csv, which is read back as supplied responses are."""


@dataclass(frozen=True, slots=True)
class Asking:
    """One prompt as it is put under one condition."""

    prompt_id: str
    condition: str
    text: str


def questions(
    askings: Iterable[Asking],
    targets: Sequence[Backend],
    plan: StressPlan,
    again: frozenset[str],
) -> Iterator[Question[Asking]]:
    """Every asking of every target, with its repeats.

    Args:
        askings: prompts under conditions.
        targets: whom to ask.
        plan: how often.
        again: cells (see `cell_name`) whose response is generated once more.
    """
    for asking in askings:
        for target in targets:
            repeats = plan.response_repeats
            repeats += cell_name(asking, target.spec.name) in again
            for repeat in range(repeats):
                yield Question(asking, asking.text, target, repeat)


def cell_name(asking: Asking, target: str) -> str:
    """A name for one prompt under one condition before one target."""
    return f"{asking.prompt_id}\x1f{asking.condition}\x1f{target}"


def response_id(question: Question[Asking]) -> str:
    """The id of a response: prompt, condition, target, and the repeat where it is not the first."""
    asking = question.item
    suffix = f"#{question.repeat}" if question.repeat else ""
    return f"{asking.prompt_id}|{asking.condition}|{question.backend.spec.name}{suffix}"


async def write_answers(
    path: Path,
    asked: Iterable[Question[Asking]],
    client: Client,
    wording: Wording,
    targets: Sequence[Backend],
    counts: Mapping[tuple[str, str], ConditionCounts],
    *,
    repeats: int,
    faults: dict[str, int],
    step: Callable[[bool], None],
) -> set[str]:
    """Asks everything, writes the table, and returns the ids of responses that are refusals.

    Args:
        path: the table.
        asked, client, wording, targets: see `ask_each`.
        counts: by target and condition; what became of the responses is added.
        repeats: responses planned a prompt; those beyond are counted as generated once more.
        faults: class of fault to number; added to.
        step: called once a response, with whether it came to nothing.

    Raises:
        StoreError: the ledger or the table cannot be written.
    """
    refused: set[str] = set()
    with csv_table(path, list(RESPONSE_COLUMNS)) as writer:
        async with aclosing(ask_each(asked, client, wording, targets)) as answers:
            async for question, answer in answers:
                count(
                    counts[question.backend.spec.name, question.item.condition],
                    answer.status,
                    is_again=question.repeat >= repeats,
                )
                if answer.fault is not None:
                    faults[answer.fault] = faults.get(answer.fault, 0) + 1
                if answer.status == "refused":
                    refused.add(response_id(question))
                writer.write([writable(cell) for cell in _cells(question, answer)])
                step(answer.status != "answered")
    return refused


def _cells(question: Question[Asking], answer: ModelAnswer) -> list[Any]:
    asking = question.item
    head = [response_id(question), asking.prompt_id, asking.condition, asking.text, answer.text]
    return [*head, question.backend.spec.name, question.repeat, *answer_cells(answer)]


Counts = Mapping[tuple[str, str], ConditionCounts]


def count(tally: ConditionCounts, status: str, *, is_again: bool) -> None:
    """Adds one planned response of this status.

    Args:
        tally: of its target and condition.
        status: a field of `ConditionCounts`.
        is_again: whether it was generated once more, for the spread between responses alone.
    """
    if is_again:
        for name in ("planned", status):
            tally.regenerated[name] = tally.regenerated.get(name, 0) + 1
        return
    tally.planned += 1
    setattr(tally, status, getattr(tally, status) + 1)


def count_missing(
    askings: Sequence[Asking],
    prompt_ids: Iterable[str],
    counts: Counts,
    repeats: int,
    unasked: Collection[tuple[str, str]] = (),
) -> None:
    """Adds what no variant was found for: it was planned all the same.

    The baseline of a prompt without any usable variant is among it.

    Args:
        askings: what is asked.
        prompt_ids: every prompt of the study.
        counts: by target and condition; added to.
        repeats: responses planned a prompt.
        unasked: prompt and condition of the variants that were not asked for, which are no
            failures.
    """
    there = {(asking.prompt_id, asking.condition) for asking in askings}
    halted = {prompt_id for prompt_id, _ in unasked}
    framings = {condition for _, condition in unasked}
    for prompt_id in prompt_ids:
        for (_, condition), tally in counts.items():
            if (prompt_id, condition) in there:
                continue
            tally.planned += repeats
            is_baseline_of_one = prompt_id in halted and condition not in framings
            if (prompt_id, condition) in unasked or is_baseline_of_one:
                tally.not_asked += repeats
            else:
                tally.no_variant += repeats


def count_supplied(responses: Iterable[StressResponse], counts: Counts, repeats: int) -> set[str]:
    """Adds what became of supplied responses, and returns the ids of those marked as refusals.

    Args:
        responses: all of them.
        counts: by target and condition; added to.
        repeats: of a prompt and condition; those beyond are counted as generated once more.
    """
    refused: set[str] = set()
    for row in responses:
        status = str(row.extra.get("status") or "")
        if status not in ("empty", "refused", *NO_RESPONSE):
            status = "answered" if row.response_text.strip() else "empty"
        count(counts[row.target, row.condition], status, is_again=repeat_of(row) >= repeats)
        if status == "refused":
            refused.add(row.response_id)
    return refused
