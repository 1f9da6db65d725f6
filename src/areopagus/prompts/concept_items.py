"""Making concept pairs from sources: each source goes through the graph, and none comes twice.

Sources are worked on side by side. One that brings what an earlier one has already is worked on
once more, in their order: its writer is told what stands. What repeats it then is refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..async_runner import ordered_map
from ..errors import InputError
from ..experiment.job import run_job
from ..formats import listed, units, words
from ..graphs.concept_pairs import STEPS, BuiltConcept, Taken, build_concept
from ..graphs.prompt_template import load_prompt_template
from ..judges.models.client import Client
from ..progress import OnProgress
from ..records.estimates import Estimates
from ..reports.document import Document, Section
from ..reports.views import Measure, estimates_table
from .config import ConceptPairsConfig
from .items import ItemJob, ItemRun, PlannedCalls, UnitOutcome, rows_of, writing_backends
from .scenarios import Scenario, ScenarioSet, read_scenarios

if TYPE_CHECKING:
    from ..records.ledger import Ledger

_TABLE: Final = "sources"
_REASONS: Final = "reasons"
_TOKENS = 4_000
_LIKELY_INPUT, _LIKELY_OUTPUT = 650, 80
_STATUSES: Final = (
    "built", "unsuitable", "repeated", "refused", "unreadable", "failed", "not_asked",
)  # fmt: skip
_QUESTION: Final = ("concept_one", "concept_two", "scene")


class ConceptRun(ItemRun):
    """The folder of concept pairs that models made."""

    kind = "concepts"
    command = "concept-pairs"
    table_file = "concepts.jsonl"
    outcomes_file = "sources.jsonl"

    @staticmethod
    def estimate(records: Iterable[Mapping[str, Any]]) -> Estimates:
        """Sources by what became of them and why; pairs that were refined or written anew."""
        counts: Counter[str] = Counter()
        reasons: Counter[tuple[str, str, str]] = Counter()
        for record in records:
            counts["sources"] += 1
            counts[record["status"]] += 1
            counts["refined"] += record["is_refined"]
            counts["repaired"] += bool(record["repaired_faults"])
            counts["calls"] += record["calls"]
            reasons.update(_reasons(record))
        found = Estimates()
        for measure in ("sources", *_STATUSES, "refined", "repaired", "calls"):
            found.add(_TABLE, measure, counts[measure])
        for (status, part, why), n in reasons.most_common(30):
            found.add(_REASONS, "n", n, factor="status", group=status, item=part, detail=why)
        return found

    def summary(self) -> Document:
        """The pairs that were built, and what became of the other sources."""
        counts = self.counts
        others = [f"{counts[one]:,} {words(one)}" for one in _STATUSES[1:] if counts[one]]
        reasons = estimates_table(
            self.estimates,
            _REASONS,
            keys={"group": "left out", "item": "part", "detail": "why"},
            named={"detail": load_prompt_template("concept_pair").faults},
            measures=[Measure("n", "sources", is_count=True)],
            caption="Why sources were left out; one source may have several reasons.",
            label="Reasons",
        )
        return Document(
            title="Concept pairs",
            kind=self.kind,
            headline=[
                f"{units(counts['built'], 'pair')} of {units(counts['sources'], 'source')}.",
                f"{self.table_file} is for the audit; read it before use.",
            ],
            trust=[
                ("left out", listed(others) or "none"),
                ("refined", f"{counts['refined']:,} by the check of the concepts"),
                ("repaired", f"{counts['repaired']:,} questions written anew"),
            ],
            sections=[Section("reasons", "Left out", [reasons], audience="summary")]
            if reasons
            else [],
        )


def _reasons(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Status, part and what is wrong with it, of a source that was left out."""
    status = record["status"]
    if status in {"unsuitable", "repeated"}:
        for fault in record["detail"].split("; "):
            part, _, code = fault.partition(": ")
            yield status, words(part), code
    elif status != "built":
        yield words(status), "", record["detail"]


class ConceptJob(ItemJob):
    """Sources in, concept pairs out."""

    run_type = item_run = ConceptRun
    config: ConceptPairsConfig
    unit = "sources"

    def __init__(
        self,
        sources: Any,
        *,
        models: Any,
        ledger: str | Path | Ledger | None = None,
        on_progress: OnProgress = None,
        **options: Any,
    ) -> None:
        """Checks everything that can be checked offline; see `construct_concepts`.

        Raises:
            InputError: everything wrong with the input.
        """
        config = ConceptPairsConfig.checked(**options)
        self.sources: ScenarioSet = read_scenarios(
            sources, columns=config.columns, limit=config.limit
        )
        backends = writing_backends(
            models, makes="concept pairs", max_tokens=_TOKENS, effort=config.effort
        )
        if len(backends) > 2:
            raise InputError(f"at most two models take part, one who checks; got {len(backends)}")
        first_and_last = [*backends]
        self.writer, self.checker = first_and_last[0], first_and_last[-1]
        self._standing = [row for file in config.beside for row in rows_of(file, _QUESTION)]
        identity: dict[str, Any] = {
            "sources_sha256": self.sources.fingerprint(),
            "template": load_prompt_template("concept_pair").version,
        }
        if self._standing:
            identity["beside"] = self._standing
        super().__init__(
            config,
            self.sources.rows,
            backends,
            identity=identity,
            name=f"{self.item_run.kind}-{Path(self.sources.name).stem}",
            ledger=ledger,
            on_progress=on_progress,
        )

    def planned(self) -> list[PlannedCalls]:
        """One call a step, the check by whoever checks; a question may be written anew."""
        n, steps = len(self.units), len(STEPS) - 1
        sizes = (_LIKELY_INPUT, _LIKELY_OUTPUT)
        return [
            PlannedCalls(self.writer, n * steps, n * (steps + 1), *sizes),
            PlannedCalls(self.checker, n, n, *sizes),
        ]

    async def written(self, client: Client, at_once: int) -> AsyncGenerator[UnitOutcome, None]:
        """What became of each source; what stands by then is told to one that repeats it."""
        taken = Taken(self._standing)

        async def build(unit: Scenario, known: Taken) -> BuiltConcept:
            return await build_concept(
                unit.scenario_id, unit.text, writer=self.writer, checker=self.checker,
                client=client, taken=known,
            )  # fmt: skip

        async def first(unit: Scenario) -> BuiltConcept:
            # By the files alone, so that the questions are the same whoever ends first.
            return await build(unit, Taken(self._standing))

        async with aclosing(ordered_map(self.units, first, at_once=at_once)) as found:
            number = 0
            async for unit, draft in found:
                number += 1
                is_repeated = draft.status == "built" and taken.holds(draft.item)
                built = await build(unit, taken) if is_repeated else draft
                if built.status == "built":
                    taken.add(built.item)
                yield self._outcome(unit, built, number)

    def _outcome(self, unit: Scenario, built: BuiltConcept, number: int) -> UnitOutcome:
        """A line in the table where it was built, and what became of it in any case."""
        is_built = built.status == "built"
        return UnitOutcome(
            outcome_of(built),
            [pair_line(built, number, unit, self.writer.spec.model)] if is_built else [],
            is_troubled=not is_built,
            is_over_budget=built.status == "not_asked" and built.detail == "budget",
        )

    def describe(self) -> dict[str, Any]:
        """What run.json says beside what it says of all items."""
        return {**super().describe(), "source": self.sources.name}


def construct_concepts(sources: Any, **options: Any) -> ItemRun:
    """Concept pairs and questions from sources.

    Args:
        sources: a file, a data frame or an iterable with scenario_id and scenario_text: stereotype
            sentences, items of a bias test, anything that holds such a belief.
        **options: models (who writes, and as a second one who checks the pairs), ledger,
            on_progress, and the fields of `ConceptPairsConfig`: columns, limit, beside, effort,
            out, resume, max_cost.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored.
    """
    return run_job(ConceptJob(sources, **options))


def pair_line(built: BuiltConcept, number: int, row: Scenario, writer: str) -> str:
    """A source that was built as a line of the table; its id is its place in the sources."""
    carried = "; ".join(f"{name}: {value}" for name, value in row.provenance.items() if value)
    origin = f"{row.source} {row.scenario_id}" + (f" ({carried})" if carried else "")
    pair = {
        "id": f"built-{number:05d}",
        **built.item,
        "provenance": f"from {origin}, written by {writer}"[:2_000],
    }
    return json.dumps(pair, ensure_ascii=False, separators=(",", ":")) + "\n"


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
