"""What became of asking target models, and the table that holds it."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .asking import ModelAnswer
from .errors import InputError, InputFault
from .judges.models.usage import Spending

COLUMNS = (
    "response_id",
    "prompt_id",
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
"""Columns of the responses table before those that the prompts carried."""


@dataclass(slots=True)
class ResponseCounts:
    """What became of the planned responses; the sum is `planned`.

    `answered` includes what was cut off at the token limit, which is also counted in `cut_off`;
    `empty` are replies without text.
    """

    planned: int = 0
    answered: int = 0
    empty: int = 0
    refused: int = 0
    failed: int = 0
    not_asked: int = 0
    cut_off: int = 0


@dataclass(frozen=True, slots=True)
class RespondEstimate:
    """What a job would call and cost.

    Attributes:
        planned, stored, calls: responses planned, those in the ledger, and those to be asked for.
        likely_usd: cost at the length asked for (or of a usual essay), reasoning apart; None =
            a price is unknown.
        most_usd: cost if every reply used all the tokens it may.
    """

    planned: int
    stored: int
    calls: int
    likely_usd: float | None
    most_usd: float | None


@dataclass(slots=True)
class RespondResult:
    """A finished table of responses.

    Attributes:
        path: the table, as `score` reads it.
        counts: what became of the planned responses.
        sent, from_ledger, repeated: calls of this session; see `CallCounts`.
        spent_usd, possibly_spent_usd, unknown_price_calls: what they cost; see `Budget`.
        faults: class of fault to number of failed calls.
        spending: the same by kind, when all is asked.
        interrupted, over_budget: why not everything was asked.
    """

    path: Path
    counts: ResponseCounts
    sent: int = 0
    from_ledger: int = 0
    repeated: int = 0
    spent_usd: float = 0.0
    possibly_spent_usd: float = 0.0
    unknown_price_calls: int = 0
    interrupted: bool = False
    over_budget: bool = False
    faults: dict[str, int] = field(default_factory=dict)
    spending: Spending = field(default_factory=Spending)

    @property
    def exit_code(self) -> int:
        """The command line's exit code for this outcome."""
        if self.over_budget:
            return 4
        return 3 if self.counts.failed or self.counts.refused or self.counts.empty else 0


def answer_cells(answer: ModelAnswer) -> list[Any]:
    """The cells of an answer, from `status` to the last of `COLUMNS`."""
    usage = answer.usage
    is_reply = answer.status in ("answered", "empty", "refused")
    tail = [
        answer.finish_reason or None,
        len(answer.text.split()) if is_reply else None,
        answer.answered_by,
        usage.input_tokens,
        usage.output_tokens,
        answer.cost_usd,
    ]
    return [answer.status, answer.reason, *("" if v is None else v for v in tail)]


def check_target(out: Path) -> None:
    """Refuses a place that no table can be written to, or that holds somebody else's file.

    Raises:
        InputError: with what stands there.
    """
    if out.is_dir():
        raise InputError([InputFault(str(out), "is a folder; name a CSV file to write")])
    if out.suffix.lower() != ".csv":
        raise InputError([InputFault(str(out), "must end in .csv")])
    if not out.parent.is_dir():
        raise InputError([InputFault(str(out.parent), "is not a folder")])
    if out.exists():
        with out.open(encoding="utf-8", errors="replace", newline="") as file:
            if tuple(next(csv.reader(file), ()))[: len(COLUMNS)] != COLUMNS:
                raise InputError(
                    [InputFault(str(out), "exists and is no table of responses of ours")],
                    hint="Nothing was overwritten; choose another name.",
                )
