"""What a construction is: units of work, who is asked, and what is written down of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from ..judges.models.backend import Backend
from ..judges.models.budget import REPAIR_OUTPUT_FACTOR
from ..judges.models.client import Client

Unit = TypeVar("Unit")
Built = TypeVar("Built")

_WORST_INPUT = 4
"""How many times longer than likely the material of a call may be, for the most it can cost."""


@dataclass(frozen=True, slots=True)
class PlannedCalls:
    """Calls of one kind.

    Attributes:
        backend: who is asked.
        likely: how many if everything serves at once.
        most: how many if everything has to be written anew; each may be asked for a second time
            where its form cannot be read.
        input_tokens, output_tokens: likely ones of a call.
    """

    backend: Backend
    likely: int
    most: int
    input_tokens: int
    output_tokens: int

    def likely_usd(self) -> float | None:
        """What they cost if everything serves at once; None = price unknown."""
        one = self.backend.likely_cost(self.input_tokens, self.output_tokens)
        return None if one is None else self.likely * one

    def most_usd(self) -> float | None:
        """What they cost at most, the second asking with the first reply in it; None = unknown."""
        room, worst = self.backend.spec.max_tokens, _WORST_INPUT * self.input_tokens
        first = self.backend.worst_cost(worst, room)
        second = self.backend.worst_cost(worst + room, REPAIR_OUTPUT_FACTOR * room)
        return None if first is None or second is None else self.most * (first + second)


@dataclass(frozen=True, slots=True)
class UnitOutcome:
    """What became of one unit.

    Attributes:
        lines: what it adds to the table, line ends included.
        record: its line in the file of outcomes.
        counts: what it adds to the counts.
        is_troubled: nothing came of it, or a reply that was wanted is missing.
        is_over_budget: the cost cap left something of it out.
    """

    lines: Sequence[str]
    record: Mapping[str, Any]
    counts: Mapping[str, int]
    is_troubled: bool
    is_over_budget: bool


class Construction(ABC, Generic[Unit, Built]):
    """What is made of what; an object serves one run.

    Attributes:
        kind: of the run, in run.json and in the name of the folder.
        unit: what is counted: "sources".
        made: what the table holds: "Concept pairs".
        table: the table's file; `head` is its first line, where it has one.
        outcomes: the file of what became of every unit.
        units: the work, in its order.
        backends: who is asked; the first one's concurrency decides how many units are at work.
    """

    kind: ClassVar[str]
    unit: ClassVar[str]
    made: ClassVar[str]
    table: ClassVar[str]
    outcomes: ClassVar[str]
    head: ClassVar[str] = ""
    units: Sequence[Unit]
    backends: tuple[Backend, ...]

    @property
    def name(self) -> str:
        """For the folder's name, where none is given."""
        return self.kind

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What makes the run this run, beside its kind and models."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What run.json says beside that."""

    @abstractmethod
    def planned(self) -> Sequence[PlannedCalls]:
        """The calls, if nothing is stored."""

    @abstractmethod
    async def build(self, unit: Unit, client: Client) -> Built:
        """What came of a unit; what can be expected to go wrong is in it and does not raise."""

    @abstractmethod
    def outcome(self, unit: Unit, built: Built) -> UnitOutcome:
        """What to write down; called once a unit, in their order."""

    @abstractmethod
    def lines(self, counts: Mapping[str, int]) -> list[str]:
        """The counts in words."""
