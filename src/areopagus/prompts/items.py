"""Items for audits, written by models, as a job: units of work in, a table of items out.

What is written, and of what, say the jobs made of this: scenarios of topics, concept pairs of
sources. The folder, the ledger, the budget, the order, the files and the report are here.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import InputError, InputFault
from ..experiment.ask import Protocol, target_backend
from ..experiment.backends import backends_from, settings_of
from ..experiment.config import JobConfig
from ..experiment.dry_run import DryRun, StageCost, plus
from ..experiment.job import Job
from ..judges.models.backend import Backend
from ..judges.models.budget import REPAIR_OUTPUT_FACTOR
from ..judges.models.client import Client
from ..progress import OnProgress
from ..records.estimates import Estimates
from ..records.readers.dispatch import open_table
from ..records.run_folder import replaced
from ..records.spreadsheets import writable
from ..reports.document import Document
from ..reports.run_sections import job_sections
from ..run import JobRun

if TYPE_CHECKING:
    import pandas as pd

    from ..records.ledger import Ledger

AT_ONCE = 4
"""Units at work together, at least."""
_WORST_INPUT = 4
"""How many times longer than likely the texts of a call may be, for the most it can cost."""


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
        record: its line in the file of outcomes, of which the figures are made.
        lines: what it adds to the table, line ends included.
        is_troubled: nothing came of it, or a reply that was wanted is missing.
        is_over_budget: the cost cap left something of it out.
    """

    record: Mapping[str, Any]
    lines: Sequence[str] = field(default=())
    is_troubled: bool = False
    is_over_budget: bool = False


class ItemRun(JobRun):
    """The folder of items, read: a table of them, and what became of every unit."""

    table_file: ClassVar[str]
    outcomes_file: ClassVar[str]

    @property
    def table(self) -> Path:
        """What was written."""
        return self.path / self.table_file

    @property
    def outcomes(self) -> Path:
        """What became of every unit, one a line, in their order."""
        return self.path / self.outcomes_file

    @property
    def counts(self) -> dict[str, int]:
        """What was counted over all units, by name."""
        return counts_of(self.estimates)

    @property
    def exit_code(self) -> int:
        """As of every command; a unit that came to nothing, or lacks a reply, is a trouble."""
        if self.state == "budget":
            return 4
        return 3 if self.record.get("result", {}).get("troubled") else 0

    def read_outcomes(self) -> list[dict[str, Any]]:
        """What became of every unit, in their order."""
        with self.outcomes.open(encoding="utf-8") as stream:
            return [json.loads(line) for line in stream]

    @staticmethod
    @abstractmethod
    def estimate(records: Iterable[Mapping[str, Any]]) -> Estimates:
        """The counts of what became of the units."""

    @abstractmethod
    def summary(self) -> Document:
        """What is shown first; the rest is the same for all items."""

    def document(self) -> Document:
        """What is shown of the items."""
        shown = self.summary()
        told = [replace(one, audience="appendix") for one in job_sections(self.record)]
        return replace(shown, sections=[*shown.sections, *told])


class ItemJob(Job[ItemRun]):
    """Units in, a table of items out.

    Attributes:
        item_run: what the folder is read as.
        unit: what the units are, in the plural.
        head: the first line of the table, where it has one.
        units: the work, in order.
    """

    stages = ("construct",)
    item_run: ClassVar[type[ItemRun]]
    unit: ClassVar[str]
    head: ClassVar[str] = ""

    def __init__(
        self,
        config: JobConfig,
        units: Sequence[Any],
        backends: tuple[Backend, ...],
        *,
        identity: Mapping[str, Any],
        name: str = "",
        ledger: str | Path | Ledger | None = None,
        on_progress: OnProgress = None,
    ) -> None:
        """Takes what is to be written, which is checked by now.

        Args:
            config: what was chosen.
            units: the work, in order.
            backends: who writes and who checks; the first one writes.
            identity: what makes the run this run, beside its kind and models.
            name: begins the folder's name; the kind when left out.
            ledger, on_progress: as of every job.
        """
        self.kind = self.item_run.kind
        self.units, self._backends = units, backends
        known = {"kind": self.kind, "models": settings_of(backends), **identity}
        super().__init__(
            config,
            identity=known,
            name=name or self.kind,
            ledger=ledger,
            on_progress=on_progress,
        )

    @abstractmethod
    def planned(self) -> Sequence[PlannedCalls]:
        """The calls, if nothing is stored."""

    @abstractmethod
    def written(self, client: Client, at_once: int) -> AsyncGenerator[UnitOutcome, None]:
        """What became of each unit, in their order; expected faults are in it, and do not raise."""

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Who writes and who checks."""
        return self._backends

    async def dry_run(self) -> DryRun:
        """Calls and cost if nothing is stored: what is asked next depends on the replies."""
        stages: dict[str, StageCost] = {}
        for kind in self.planned():
            name = kind.backend.spec.name
            stage = stages.setdefault(name, StageCost("construct", name))
            stage.planned = len(self.units)
            stage.calls += kind.likely
            stage.likely_usd = plus(stage.likely_usd, kind.likely_usd())
            # Every reply may be asked for a second time.
            stage.add_most(2 * kind.most, kind.most_usd())
        assumption = (
            f"Planned: {self.unit}. Nothing is assumed to be stored. At most: everything has to be "
            "written and asked for twice. Reasoning is not in what is likely."
        )
        return DryRun(tuple(stages.values()), (assumption,))

    async def run_stages(self, client: Client) -> Estimates:
        """All units; one that fails leaves the others standing, counted."""
        self.begin("construct", total=len(self.units), unit=self.unit)
        files = (self.item_run.table_file, self.item_run.outcomes_file)
        # Half-written tables that a killed process left; the folder is locked.
        for left in (part for name in files for part in self.path.glob(f".{name}.*")):
            left.unlink(missing_ok=True)
        records: list[Mapping[str, Any]] = []
        at_once = max(AT_ONCE, self.backends[0].spec.concurrency)
        with (
            replaced(self.path / files[0]) as table_part,
            replaced(self.path / files[1]) as outcomes_part,
            table_part.open("w", encoding="utf-8", newline="") as table,
            outcomes_part.open("w", encoding="utf-8", newline="") as outcomes,
        ):
            table.write(self.head)
            async with aclosing(self.written(client, at_once)) as found:
                async for outcome in found:
                    table.writelines(outcome.lines)
                    line = json.dumps(outcome.record, ensure_ascii=False)
                    outcomes.write(writable(line) + "\n")
                    records.append(outcome.record)
                    self.over_budget |= outcome.is_over_budget
                    self.step(is_troubled=outcome.is_troubled)
        estimates = self.item_run.estimate(records)
        self.result = {"troubled": self.progress.troubled}
        self.outcome["construct"] = {self.unit: len(self.units), **counts_of(estimates.frame())}
        return estimates

    def describe(self) -> dict[str, Any]:
        """What run.json says of the items."""
        models = [backend.spec.name for backend in self.backends]
        return {self.unit: len(self.units), "models": models}


def counts_of(estimates: pd.DataFrame) -> dict[str, int]:
    """What was counted over all units, by name."""
    whole = estimates[estimates["group"].isna()]
    return {str(k): int(v) for k, v in zip(whole["measure"], whole["value"], strict=True)}


def writing_backends(
    models: Any, *, makes: str, max_tokens: int, effort: str | None
) -> tuple[Backend, ...]:
    """The models that write, with room for what they write.

    Args:
        models: as anywhere else.
        makes: what they make, for messages: "concept pairs".
        max_tokens: of a reply, where a model's settings say nothing.
        effort: reasoning effort, where they say nothing.

    Raises:
        InputError: none, or an embedded stand-in: none of them can write such things.
    """
    if not models:
        raise InputError(f"name a model that writes: no embedded stand-in makes {makes}")
    protocol = Protocol(max_tokens=max_tokens, effort=effort)
    backends = backends_from(models, lambda spec: target_backend(spec, protocol))
    faults = [
        InputFault(backend.spec.name, f"is an embedded model, and none makes {makes}")
        for backend in backends
        if backend.spec.is_offline
    ]
    if faults:
        raise InputError(faults)
    return backends


def rows_of(file: str | Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a file of items that stand already, as text.

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    faults: list[InputFault] = []
    found: list[dict[str, str]] = []
    with open_table(file) as table:
        for line, row in table.rows(faults):
            absent = [name for name in needed if not isinstance(row.get(name), str)]
            faults += [InputFault(table.where(line), "must be given", name) for name in absent]
            if not absent:
                found.append({name: row[name] for name in needed})
    if faults:
        raise InputError(faults)
    return found
