"""Making concept pairs from sources as a job: each source goes through the construction graph."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..access import prepare_all, require_access
from ..asking import target_backend
from ..audits.hidden_bias.material import ConceptPair
from ..errors import InputError, InputFault
from ..graphs.hidden_bias_brief import CONCEPTS_TEMPLATE
from ..graphs.hidden_bias_construction import (
    BUILT_STATUSES,
    STEPS,
    BuiltConcept,
    ConceptWork,
    build_concept,
)
from ..job import default_folder
from ..judges.backend import Backend
from ..judges.desk import Desk
from ..loop import run_stoppable
from ..named_models import sorted_models
from ..prompting.scenarios import Scenario, ScenarioSet, read_scenarios
from ..records.run_folder import replaced
from ..respond_protocol import Protocol
from ..staged import StagedJob, StageProgress
from ..stressing.material import settings_of
from .ordered import in_order

if TYPE_CHECKING:
    from ..records.ledger import Ledger

CONCEPTS_FILE = "concepts.jsonl"
"""The concept pairs that were built, one a line: what `--concepts` reads."""
OUTCOMES_FILE = "sources.jsonl"
"""What became of every source, one a line, in their order."""
_TOKENS = 4_000
_LIKELY_INPUT, _LIKELY_OUTPUT = 650, 80
_MOST_CALLS = 2 * (len(STEPS) + 1)
"""Of a source: every reply asked for again, and a question written anew."""


@dataclass(frozen=True, slots=True)
class ConceptRun:
    """A finished (or interrupted) construction.

    Attributes:
        path: its folder.
        state: as of every run: "complete", "interrupted", "budget".
        counts: status to number of sources; `refined` and `repaired` among them.
    """

    path: Path
    state: str
    counts: Mapping[str, int]

    @property
    def concepts(self) -> Path:
        """The file for `--concepts`."""
        return self.path / CONCEPTS_FILE

    @property
    def exit_code(self) -> int:
        """As of every command; a source that could not be built is a trouble."""
        if self.state == "budget":
            return 4
        return 3 if any(self.counts.get(name) for name in BUILT_STATUSES[1:]) else 0


@dataclass(frozen=True, slots=True)
class ConceptEstimate:
    """What a construction would call and cost.

    Attributes:
        sources: how many; `calls` likely, `most_calls` if everything has to be written twice.
        likely_usd, most_usd: None = price unknown.
    """

    sources: int
    calls: int
    most_calls: int
    likely_usd: float | None
    most_usd: float | None


class ConceptJob(StagedJob):
    """Sources in, concept pairs out."""

    kind = "concepts"
    stages = ("construct",)

    def __init__(
        self,
        sources: Any,
        *,
        models: Any,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        effort: str | None = None,
        out: str | Path | None = None,
        resume: bool = False,
        ledger: str | Path | Ledger | None = None,
        max_cost: float | None = None,
        on_progress: Callable[[StageProgress], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline; see `construct_concepts`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        self.sources: ScenarioSet = read_scenarios(sources, columns=columns, limit=limit)
        self.writer, self.checker = writers_from(models, effort)
        identity: dict[str, Any] = {
            "kind": self.kind,
            "sources_sha256": self.sources.fingerprint(),
            "models": settings_of(self.backends),
            "template": CONCEPTS_TEMPLATE,
        }
        super().__init__(
            out=out or default_folder(f"concepts-{Path(self.sources.name).stem}", identity),
            identity=identity,
            resume=resume,
            max_cost=max_cost,
            on_progress=on_progress,
        )
        self._given_ledger = ledger
        self._ledger: Ledger | None = None
        self._counts: Counter[str] = Counter()
        self._over_budget = False

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Who writes, and who checks where that is another."""
        return (self.writer,) if self.checker is self.writer else (self.writer, self.checker)

    @property
    def ledger(self) -> Ledger:
        """The store of calls; opened when first used."""
        if self._ledger is None:
            from ..records.ledger import Ledger

            given = self._given_ledger
            self._ledger = given if isinstance(given, Ledger) else Ledger.open(given)
        return self._ledger

    def estimate(self) -> ConceptEstimate:
        """Calls and cost if nothing is stored; sends nothing.

        Raises:
            InputError: unknown providers, and parameters that a model does not take.
        """
        prepare_all(self.backends)
        n = len(self.sources.rows)
        likely = self.writer.likely_cost(_LIKELY_INPUT, _LIKELY_OUTPUT)
        most = self.writer.worst_cost(4 * _LIKELY_INPUT, self.writer.spec.max_tokens)
        calls, most_calls = n * len(STEPS), n * _MOST_CALLS
        return ConceptEstimate(
            n,
            calls,
            most_calls,
            None if likely is None else calls * likely,
            None if most is None else most_calls * most,
        )

    async def require_access(self, desk: Desk) -> None:
        """Raises what keeps a backend from being asked."""
        await require_access(self.backends, lambda _: False, capped=desk.budget.cap is not None)

    async def run_stages(self, desk: Desk) -> None:
        """Every source; one that fails leaves the others standing, counted."""
        rows = self.sources.rows
        self.begin("construct", total=len(rows), unit="sources")

        async def build(row: Scenario) -> BuiltConcept:
            return await build_concept(
                ConceptWork(row.scenario_id, row.text, self.writer, self.checker, desk)
            )

        at_once = max(4, self.writer.spec.concurrency)
        with (
            replaced(self.path / CONCEPTS_FILE) as pairs_part,
            replaced(self.path / OUTCOMES_FILE) as outcomes_part,
            pairs_part.open("w", encoding="utf-8") as pairs,
            outcomes_part.open("w", encoding="utf-8") as outcomes,
        ):
            async with aclosing(in_order(rows, build, at_once=at_once)) as found:
                number = 0
                async for row, built in found:
                    number += 1
                    outcomes.write(json.dumps(outcome_of(built), ensure_ascii=False) + "\n")
                    if built.status == "built":
                        pair = pair_of(built, number, row, self.writer.spec.model)
                        pairs.write(pair.model_dump_json() + "\n")
                    self._count(built)
        self.outcome["construct"] = {"sources": len(rows), **dict(sorted(self._counts.items()))}

    def _count(self, built: BuiltConcept) -> None:
        self._counts[built.status] += 1
        self._counts["refined"] += built.is_refined
        self._counts["repaired"] += bool(built.first_faults)
        self._over_budget |= built.status == "not_asked" and built.detail == "budget"
        self.step(is_troubled=built.status != "built")

    def finished(self, result: None) -> ConceptRun:
        """The run; its files are written by then."""
        assert self._desk is not None  # noqa: S101 - it has run
        return ConceptRun(self.path, self._state(self._desk), dict(self._counts))

    def stopped_by_budget(self) -> bool:
        """Whether the cost cap left something out."""
        return self._over_budget

    def describe(self) -> dict[str, Any]:
        """What run.json says of a construction."""
        return {
            "source": self.sources.name,
            "sources": len(self.sources.rows),
            "models": [backend.spec.name for backend in self.backends],
        }

    async def close(self) -> None:
        """Closes the models, and the ledger where it was opened here."""
        for backend in self.backends:
            await backend.close()
        if self._ledger is not None and self._ledger is not self._given_ledger:
            self._ledger.close()
            self._ledger = None


def construct_concepts(sources: Any, **options: Any) -> ConceptRun:
    """Concept pairs and questions from sources, by the construction graph.

    Args:
        sources: a file, a data frame or an iterable with scenario_id and scenario_text: stereotype
            sentences, items of a bias test, anything that holds such a belief.
        **options: models (who writes, and as a second one who checks the pairs), columns, limit,
            effort, out, resume, ledger, max_cost, on_progress; see `areopagus.audit`.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        KeyboardInterrupt: after an interrupt, when what is paid for is stored.
    """
    run, was_interrupted = run_stoppable(ConceptJob(sources, **options))
    if was_interrupted:
        raise KeyboardInterrupt(f"interrupted; the same call goes on ({run.path})")
    found: ConceptRun = run
    return found


def writers_from(models: Any, effort: str | None) -> tuple[Backend, Backend]:
    """Who writes and who checks: one model or two.

    Raises:
        InputError: none, more than two, or an embedded stand-in.
    """
    if not models:
        raise InputError("name a model that writes: no embedded stand-in makes concept pairs")
    specs, given = sorted_models(models)
    if len(specs) > 2:
        raise InputError(f"at most two models take part, one who checks; got {len(specs)}")
    protocol = Protocol(max_tokens=_TOKENS, effort=effort)
    backends = [target_backend(spec, given.get(at), protocol) for at, spec in enumerate(specs)]
    faults = [
        InputFault(backend.spec.name, "is an embedded model, and none makes concept pairs")
        for backend in backends
        if backend.spec.is_offline
    ]
    if faults:
        raise InputError(faults)
    return backends[0], backends[-1]


def pair_of(built: BuiltConcept, number: int, row: Scenario, writer: str) -> ConceptPair:
    """A source that was built as a concept pair; its id is its place, which no source can spoil."""
    carried = "; ".join(f"{name}: {value}" for name, value in row.provenance.items() if value)
    origin = f"{row.source} {row.scenario_id}" + (f" ({carried})" if carried else "")
    return ConceptPair(
        id=f"built-{number:05d}",
        **dict(built.concepts),
        **dict(built.question),
        provenance=f"from {origin}, written by {writer}"[:2_000],
    )


def outcome_of(built: BuiltConcept) -> dict[str, Any]:
    """What became of a source, for the file."""
    return {
        "source_id": built.source_id,
        "status": built.status,
        "step": built.step,
        "detail": built.detail,
        "summary": built.summary,
        "raw": dict(built.raw),
        "concepts": dict(built.concepts),
        "is_refined": built.is_refined,
        "question": dict(built.question),
        "faults": [list(fault) for fault in built.faults],
        "repaired_faults": [list(fault) for fault in built.first_faults],
        "calls": built.calls,
        "cost_usd": built.cost_usd,
    }


def read_outcomes(path: Path) -> Iterator[dict[str, Any]]:
    """The outcomes of a run, in order."""
    with (path / OUTCOMES_FILE).open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)
