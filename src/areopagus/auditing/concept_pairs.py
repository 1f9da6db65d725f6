"""Making concept pairs from sources: each source goes through the construction graph."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..audits.hidden_bias.material import ConceptPair
from ..errors import InputError
from ..graphs.concept_pairs import STEPS, BuiltConcept, build_concept
from ..graphs.prompt_template import load_prompt_template
from ..judges.models.client import Client
from ..prompts.scenarios import Scenario, ScenarioSet, read_scenarios
from .constructing import ConstructionJob, ConstructionRun, constructed, writing_backends
from .construction import Construction, PlannedCalls, UnitOutcome

CONCEPTS_FILE = "concepts.jsonl"
"""The concept pairs that were built, one a line: what `--concepts` reads."""
OUTCOMES_FILE = "sources.jsonl"
"""What became of every source, one a line, in their order."""
_TOKENS = 4_000
_LIKELY_INPUT, _LIKELY_OUTPUT = 650, 80


class ConceptPairs(Construction[Scenario, BuiltConcept]):
    """Sources in, concept pairs out."""

    kind = "concepts"
    unit = "sources"
    made = "Concept pairs"
    table = CONCEPTS_FILE
    outcomes = OUTCOMES_FILE

    def __init__(
        self,
        sources: Any,
        *,
        models: Any,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        effort: str | None = None,
    ) -> None:
        """Checks everything that can be checked offline; see `construct_concepts`.

        Raises:
            InputError: everything wrong with the input.
        """
        self.sources: ScenarioSet = read_scenarios(sources, columns=columns, limit=limit)
        self.units = self.sources.rows
        self.backends = writing_backends(
            models, makes="concept pairs", max_tokens=_TOKENS, effort=effort
        )
        n = len(self.backends)
        if n > 2:
            raise InputError(f"at most two models take part, one who checks; got {n}")
        self.writer, self.checker = self.backends[0], self.backends[-1]
        self._number = 0

    @property
    def name(self) -> str:
        """For the folder's name: the sources' own."""
        return f"{self.kind}-{Path(self.sources.name).stem}"

    def identity(self) -> dict[str, Any]:
        """What makes the run this run, beside its kind and models."""
        return {
            "sources_sha256": self.sources.fingerprint(),
            "template": load_prompt_template("concept_pair").version,
        }

    def describe(self) -> dict[str, Any]:
        """What run.json says beside that."""
        return {"source": self.sources.name}

    def planned(self) -> list[PlannedCalls]:
        """One call a step, the check by whoever checks; a question may be written anew."""
        n, steps = len(self.units), len(STEPS) - 1
        sizes = (_LIKELY_INPUT, _LIKELY_OUTPUT)
        return [
            PlannedCalls(self.writer, n * steps, n * (steps + 1), *sizes),
            PlannedCalls(self.checker, n, n, *sizes),
        ]

    async def build(self, unit: Scenario, client: Client) -> BuiltConcept:
        """What became of a source."""
        return await build_concept(
            unit.scenario_id, unit.text, writer=self.writer, checker=self.checker, client=client
        )

    def outcome(self, unit: Scenario, built: BuiltConcept) -> UnitOutcome:
        """A line in the table where it was built, and what became of it in any case."""
        self._number += 1
        is_built = built.status == "built"
        lines = []
        if is_built:
            pair = pair_of(built, self._number, unit, self.writer.spec.model)
            lines.append(pair.model_dump_json() + "\n")
        return UnitOutcome(
            lines,
            outcome_of(built),
            {
                built.status: 1,
                "refined": int(built.is_refined),
                "repaired": int(bool(built.first_faults)),
            },
            is_troubled=not is_built,
            is_over_budget=built.status == "not_asked" and built.detail == "budget",
        )

    def lines(self, counts: Mapping[str, int]) -> list[str]:
        """The counts in words."""
        said = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in counts.items() if n)
        return [f"Sources: {said}"]


def concept_job(
    sources: Any,
    *,
    models: Any,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    effort: str | None = None,
    **options: Any,
) -> ConstructionJob:
    """The job of `construct_concepts`, not yet run."""
    made = ConceptPairs(sources, models=models, columns=columns, limit=limit, effort=effort)
    return ConstructionJob(made, **options)


def construct_concepts(sources: Any, **options: Any) -> ConstructionRun:
    """Concept pairs and questions from sources, by the construction graph.

    Args:
        sources: a file, a data frame or an iterable with scenario_id and scenario_text: stereotype
            sentences, items of a bias test, anything that holds such a belief.
        **options: models (who writes, and as a second one who checks the pairs), columns, limit,
            effort, out, resume, ledger, max_cost, on_progress; see `areopagus.audit`.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored.
    """
    return constructed(concept_job(sources, **options))


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
