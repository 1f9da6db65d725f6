"""Making material for audits as a job: units of work in, a table out, and what became of each unit.

What is made, and of what, is a `Construction`; the folder, the ledger, the budget, the order and
the files are here, once for all of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import ordered_map, run_async
from ..errors import InputError, InputFault
from ..experiment.ask import Protocol, target_backend
from ..experiment.backends import backends_from, settings_of
from ..experiment.config import JobConfig
from ..experiment.dry_run import DryRun, StageCost, plus
from ..experiment.job import Job, Progress, run_job
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.models.usage import UsageSnapshot
from ..records.run_folder import replaced
from ..records.spreadsheets import writable
from .construction import Construction

if TYPE_CHECKING:
    from ..records.ledger import Ledger

_LEAST_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class ConstructionRun:
    """A finished (or interrupted) construction.

    Attributes:
        path: its folder.
        table: what was made, in the folder.
        outcomes: what became of every unit, one a line.
        state: as of every run: "complete", "interrupted", "budget".
        counts: what was counted, by name.
        n_troubled: units that came to nothing or lack a reply.
        spending: calls and money of this session.
        lines: the counts in words.
        made: what the table holds.
    """

    path: Path
    table: Path
    outcomes: Path
    state: str
    counts: Mapping[str, int]
    n_troubled: int
    spending: UsageSnapshot
    lines: tuple[str, ...]
    made: str

    @property
    def exit_code(self) -> int:
        """As of every command; a unit that came to nothing is a trouble."""
        if self.state == "budget":
            return 4
        return 3 if self.n_troubled else 0

    def read_outcomes(self) -> Iterator[dict[str, Any]]:
        """What became of every unit, in their order."""
        with self.outcomes.open(encoding="utf-8") as stream:
            for line in stream:
                yield json.loads(line)


class ConstructionJob(Job[ConstructionRun]):
    """Units in, a table out."""

    stages = ("construct",)

    def __init__(
        self,
        construction: Construction[Any, Any],
        *,
        out: str | Path | None = None,
        resume: bool = False,
        ledger: str | Path | Ledger | None = None,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Takes what is to be made, which has checked itself, and where to.

        Raises:
            InputError: a cap that is no amount of money.
        """
        self.construction = construction
        self.kind = construction.kind
        identity: dict[str, Any] = {
            "kind": self.kind,
            "models": settings_of(construction.backends),
            **construction.identity(),
        }
        super().__init__(
            JobConfig.checked(out=out, resume=resume, max_cost=max_cost),
            identity=identity,
            name=construction.name,
            ledger=ledger,
            on_progress=on_progress,
        )
        self._counts: Counter[str] = Counter()

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Who writes and who checks."""
        return self.construction.backends

    async def dry_run(self) -> DryRun:
        """Calls and cost if nothing is stored: what is asked next depends on the replies."""
        stages: dict[str, StageCost] = {}
        for kind in self.construction.planned():
            name = kind.backend.spec.name
            stage = stages.setdefault(name, StageCost("construct", name))
            stage.planned = len(self.construction.units)
            stage.calls += kind.likely
            stage.likely_usd = plus(stage.likely_usd, kind.likely_usd())
            # Every reply may be asked for a second time.
            stage.add_most(2 * kind.most, kind.most_usd())
        assumption = (
            f"Planned: {self.construction.unit}. Nothing is assumed to be stored. At most: "
            "everything has to be written and asked for twice. Reasoning is not in what is likely."
        )
        return DryRun(tuple(stages.values()), (assumption,))

    async def run_stages(self, client: Client) -> int:
        """How many units came to nothing; one that fails leaves the others standing, counted."""
        making = self.construction
        self.begin("construct", total=len(making.units), unit=making.unit)
        self._sweep()

        async def build(unit: Any) -> Any:
            return await making.build(unit, client)

        at_once = max(_LEAST_AT_ONCE, making.backends[0].spec.concurrency)
        with (
            replaced(self.path / making.table) as table_part,
            replaced(self.path / making.outcomes) as outcomes_part,
            table_part.open("w", encoding="utf-8", newline="") as table,
            outcomes_part.open("w", encoding="utf-8", newline="") as outcomes,
        ):
            table.write(making.head)
            async with aclosing(ordered_map(making.units, build, at_once=at_once)) as found:
                async for unit, built in found:
                    outcome = making.outcome(unit, built)
                    table.writelines(outcome.lines)
                    line = json.dumps(outcome.record, ensure_ascii=False)
                    outcomes.write(writable(line) + "\n")
                    self._counts.update(outcome.counts)
                    self.over_budget |= outcome.is_over_budget
                    self.step(is_troubled=outcome.is_troubled)
        self.outcome["construct"] = {
            making.unit: len(making.units),
            **dict(sorted(self._counts.items())),
        }
        return self.progress.troubled

    def finished(self, result: int) -> ConstructionRun:
        """The run; its files are written by then."""
        making, counts = self.construction, dict(self._counts)
        return ConstructionRun(
            path=self.path,
            table=self.path / making.table,
            outcomes=self.path / making.outcomes,
            state=self.state,
            counts=counts,
            n_troubled=result,
            spending=self.spending,
            lines=tuple(making.lines(counts)),
            made=making.made,
        )

    def describe(self) -> dict[str, Any]:
        """What run.json says of a construction."""
        making = self.construction
        models = [backend.spec.name for backend in making.backends]
        return {**making.describe(), making.unit: len(making.units), "models": models}

    def _sweep(self) -> None:
        """Removes the half-written tables that a killed process left; the folder is locked."""
        for name in (self.construction.table, self.construction.outcomes):
            for part in self.path.glob(f".{name}.*"):
                part.unlink(missing_ok=True)


def constructed(job: ConstructionJob) -> ConstructionRun:
    """The job's run.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after an interrupt, when what is paid for is stored.
    """
    return run_job(job)


async def aconstructed(job: ConstructionJob) -> ConstructionRun:
    """The asynchronous twin of `constructed`."""
    return await run_async(job.run())


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
