"""The second stage: baseline and variants go to the targets, and the answers into a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..asking import ModelAnswer, Question, Wording, ask_each
from ..judges.models.backend import Backend
from ..judges.models.client import Desk
from ..records.run_folder import replaced
from ..records.spreadsheets import CsvLines, writable
from ..respond_results import answer_cells
from .missing import count
from .plan import StressPlan
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
    desk: Desk,
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
        asked, desk, wording, targets: see `ask_each`.
        counts: by target and condition; what became of the responses is added.
        repeats: responses planned a prompt; those beyond are counted as generated once more.
        faults: class of fault to number; added to.
        step: called once a response, with whether it came to nothing.

    Raises:
        StoreError: the ledger or the table cannot be written.
    """
    refused: set[str] = set()
    with replaced(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = CsvLines(file)
        writer.write(list(RESPONSE_COLUMNS))
        async with aclosing(ask_each(asked, desk, wording, targets)) as answers:
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
