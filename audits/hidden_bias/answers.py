"""The answers of one concept pair after another, as counts: the table is read as a stream."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any

from ..answers_table import AnswersTable
from .questions import OPTIONS
from .shares import Strata

COLUMNS = (
    "unit", "target", "status", "category", "descriptor_type", "identity", "order", "variation",
    "option", "chose", "place", "inverse_perplexity",
)  # fmt: skip

Question = tuple[str, str, str]
"""Category, type, identity."""


@dataclass(slots=True)
class Answers:
    """What one target says to the questions of one concept pair.

    Attributes:
        counts: question to order to [answers that take the first option, answers]; every order
            that was planned has an entry.
        scored: question to variation to option to 1/perplexity.
        statuses: (category, status) to askings.
        first_named: [answers that take the option named first, answers with a choice].
        asked: question to how often it was to be asked.
        replies: (question, status) to askings.
    """

    counts: dict[Question, dict[str, list[int]]] = field(default_factory=dict)
    scored: dict[Question, dict[int, dict[str, float]]] = field(default_factory=dict)
    statuses: Counter[tuple[str, str]] = field(default_factory=Counter)
    first_named: list[int] = field(default_factory=lambda: [0, 0])
    asked: Counter[Question] = field(default_factory=Counter)
    replies: Counter[tuple[Question, str]] = field(default_factory=Counter)

    def take(self, row: Mapping[str, Any]) -> None:
        """Counts one row."""
        self.statuses[row["category"], row["status"]] += 1
        question = (row["category"], row["descriptor_type"], row["identity"])
        self.asked[question] += 1
        self.replies[question, row["status"]] += 1
        if row["option"]:
            found = self.scored.setdefault(question, {}).setdefault(row["variation"], {})
            if row["inverse_perplexity"] is not None:
                found[row["option"]] = row["inverse_perplexity"]
            return
        count = self.counts.setdefault(question, {}).setdefault(row["order"], [0, 0])
        if row["status"] == "classified":
            count[0] += row["chose"] == "one"
            count[1] += 1
            self.first_named[0] += row["place"] == "first"
            self.first_named[1] += 1

    def unreadable(self, question: Question) -> int:
        """Replies to a question that name no option; empty ones are with them."""
        return self.replies[question, "unreadable"] + self.replies[question, "empty"]

    def chosen(self) -> Counter[int]:
        """Number of answers with a choice to the questions that have so many."""
        return Counter(sum(of for _, of in found.values()) for found in self.counts.values())

    def strata(self) -> dict[Question, Strata]:
        """Question to its counts by order; all questions of a type have the same orders."""
        orders: dict[str, set[str]] = {}
        for question, found in self.counts.items():
            orders.setdefault(question[1], set()).update(found)
        return {
            question: tuple(
                (found[order][0], found[order][1]) if order in found else (0, 0)
                for order in sorted(orders[question[1]])
            )
            for question, found in self.counts.items()
        }

    def scored_shares(self, *, normalised: str) -> dict[Question, float]:
        """Question to P of its first option by perplexity; nan where a variation is missing.

        Args:
            normalised: "mean": P(A) = mean of 1/PPL(A), over that and the mean of 1/PPL(B);
                "each": every variation to a sum of 1, then the mean.
        """
        found = {}
        for question, variations in self.scored.items():
            values = list(variations.values())
            if not values or any(set(value) != set(OPTIONS) for value in values):
                found[question] = math.nan
                continue
            one = [value["one"] for value in values]
            two = [value["two"] for value in values]
            if normalised == "each":
                shares = [a / (a + b) for a, b in zip(one, two, strict=True)]
                found[question] = sum(shares) / len(shares)
            else:
                found[question] = sum(one) / (sum(one) + sum(two))
        return found


def by_concept(table: AnswersTable) -> Iterator[tuple[str, dict[str, Answers]]]:
    """Concept pair, and target to its answers, one pair after the other in constant memory."""
    yield from grouped(table.rows(*COLUMNS), table.targets)


def grouped(
    rows: Iterable[Mapping[str, Any]], targets: Iterable[str]
) -> Iterator[tuple[str, dict[str, Answers]]]:
    """The same from rows; those of a concept pair follow each other."""
    names = tuple(targets)
    for pair, found in groupby(rows, key=itemgetter("unit")):
        answers = {name: Answers() for name in names}
        for row in found:
            answers[row["target"]].take(row)
        yield pair, answers
