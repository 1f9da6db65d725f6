"""Having a model write scenarios of topics, with wordings of each: batches in, a table out."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..audits.silverspoon.material import load_scenarios
from ..errors import InputError, InputFault
from ..graphs.prompt_template import load_prompt_template
from ..graphs.scenarios import SIMILARITY, MadeBatch, are_alike, make_scenarios
from ..judges.models.client import Client
from ..records.spreadsheets import CsvLines, writable
from .constructing import ConstructionJob, writing_backends
from .construction import Construction, PlannedCalls, UnitOutcome

SCENARIOS_FILE: Final = "scenarios.csv"
"""The scenarios and their wordings, one a row: what `--scenarios` reads."""
BATCHES_FILE: Final = "batches.jsonl"
"""What became of every batch, one a line, in their order."""
BATCH: Final = 10
"""Scenarios asked for in one call, as in the paper."""
COLUMNS: Final = ("scenario_id", "base", "topic", "other", "text")
_TOKENS = 6_000
_LIKELY_INPUT = 500
_LIKELY_WORDS = 90
"""Tokens of a scenario, with who the other is."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Scenarios that are asked for together.

    Attributes:
        place: of the topic, from 1.
        topic: in words.
        number: of the batch in its topic, from 0; another number gives other scenarios.
        size: scenarios wanted.
    """

    place: int
    topic: str
    number: int
    size: int

    @property
    def id(self) -> str:
        """Unique in a run; the ids of its scenarios begin so."""
        return f"t{self.place}_b{self.number + 1}"


class WrittenScenarios(Construction[Batch, MadeBatch]):
    """Batches of topics in, scenarios with their wordings out."""

    kind = "scenarios"
    unit = "batches"
    made = "Scenarios"
    table = SCENARIOS_FILE
    outcomes = BATCHES_FILE
    head = ",".join(COLUMNS) + "\n"

    def __init__(
        self,
        *,
        models: Any,
        topics: Sequence[str] = (),
        per_topic: int = 100,
        versions: int = 3,
        similarity: float = SIMILARITY,
        effort: str | None = None,
    ) -> None:
        """Checks everything that can be checked offline; see `generate_scenarios`.

        Raises:
            InputError: numbers out of range, topics that are empty or stand twice, no model that
                writes, or more than one.
        """
        _check(topics, per_topic, versions, similarity)
        self.backends = writing_backends(
            models, makes="scenarios", max_tokens=_TOKENS, effort=effort
        )
        if len(self.backends) > 1:
            raise InputError(f"one model writes the scenarios; got {len(self.backends)}")
        self.topics = tuple(topics) or tuple(load_scenarios().labels.values())
        self.per_topic, self.versions, self.similarity = per_topic, versions, similarity
        self.units = tuple(
            Batch(place, topic, number, min(BATCH, per_topic - number * BATCH))
            for place, topic in enumerate(self.topics, 1)
            for number in range(-(-per_topic // BATCH))
        )
        self._kept: dict[int, dict[str, str]] = {}

    def identity(self) -> dict[str, Any]:
        """What makes the run this run, beside its kind and models."""
        return {
            "topics": list(self.topics),
            "per_topic": self.per_topic,
            "versions": self.versions,
            "similarity": self.similarity,
            "templates": [load_prompt_template(name).version for name in ("scenarios", "wordings")],
        }

    def describe(self) -> dict[str, Any]:
        """What run.json says beside that."""
        return {"scenarios_wanted": self.per_topic * len(self.topics)}

    def planned(self) -> list[PlannedCalls]:
        """A call a batch, which may be repaired, and one a scenario for its wordings."""
        writer, n = self.backends[0], len(self.units)
        size = min(BATCH, self.per_topic)
        written = PlannedCalls(writer, n, 2 * n, _LIKELY_INPUT, size * _LIKELY_WORDS)
        if self.versions == 1:
            return [written]
        n_varied = self.per_topic * len(self.topics)
        output = (self.versions - 1) * _LIKELY_WORDS
        return [written, PlannedCalls(writer, n_varied, n_varied, _LIKELY_INPUT, output)]

    async def build(self, unit: Batch, client: Client) -> MadeBatch:
        """What came of a batch."""
        return await make_scenarios(
            client,
            self.backends[0],
            unit.topic,
            batch=unit.number,
            count=unit.size,
            versions=self.versions,
            similarity=self.similarity,
        )

    def outcome(self, unit: Batch, built: MadeBatch) -> UnitOutcome:
        """Its rows, without scenarios like one of an earlier batch of the topic."""
        kept = self._kept.setdefault(unit.place, {})
        lines: list[str] = []
        written: dict[str, int] = {}
        repeated: dict[str, str] = {}
        counts = Counter(built.counts)
        for one in built.scenarios:
            base = f"{unit.id}_s{one.number}"
            # Batches do not know of each other.
            like = next((name for name, text in kept.items() if are_alike(one.texts[0], text)), "")
            if like:
                repeated[base] = like
                counts["wordings_repeated"] += len(one.texts) - 1
                continue
            kept[base] = one.texts[0]
            written[base] = len(one.texts)
            lines += [
                _csv_line([f"{base}_v{version}", base, unit.topic, one.other, text])
                for version, text in enumerate(one.texts, 1)
            ]
        status = _status(built, is_empty=not written)
        counts.update(
            {
                f"batches_{status}": 1,
                "repeated": len(repeated),
                "scenarios": len(written),
                "texts": len(lines),
                "calls": built.calls,
            }
        )
        record = {
            "batch": unit.id,
            "topic": unit.topic,
            "status": status,
            "texts": written,
            "faults": dict(built.faults),
            "repeated": repeated,
            "unanswered": {call: list(why) for call, why in built.unanswered.items()},
            "counts": dict(built.counts),
            "calls": built.calls,
            "cost_usd": built.cost_usd,
        }
        return UnitOutcome(
            lines,
            record,
            counts,
            is_troubled=status != "written",
            is_over_budget=("not_asked", "budget") in built.unanswered.values(),
        )

    def lines(self, counts: Mapping[str, int]) -> list[str]:
        """The counts in words."""
        states = [name for name in counts if name.startswith("batches_")]
        left_out = _said(counts, ("unusable", "repeated"))
        why = [f"wordings_{name}" for name in ("unlike", "same", "missing", "repeated")]
        wordings = _said(counts, why, "wordings_")
        return [
            f"Batches: {_said(counts, states, 'batches_')}",
            f"Scenarios: {counts.get('scenarios', 0):,} of {counts.get('wanted', 0):,}"
            + (f"; left out: {left_out}" if left_out else ""),
            f"Texts: {counts.get('texts', 0):,}"
            + (f"; wordings left out: {wordings}" if wordings else ""),
        ]


def scenario_job(
    *,
    models: Any,
    topics: Sequence[str] = (),
    per_topic: int = 100,
    versions: int = 3,
    similarity: float = SIMILARITY,
    effort: str | None = None,
    **options: Any,
) -> ConstructionJob:
    """The job of `generate_scenarios`, not yet run."""
    made = WrittenScenarios(
        models=models, topics=topics, per_topic=per_topic, versions=versions,
        similarity=similarity, effort=effort,
    )  # fmt: skip
    return ConstructionJob(made, **options)


def _check(topics: Sequence[str], per_topic: int, versions: int, similarity: float) -> None:
    faults = [
        InputFault(name, f"must be {rule}, got {value}")
        for name, value, is_fine, rule in (
            ("per_topic", per_topic, per_topic >= 1, "at least 1"),
            ("versions", versions, 1 <= versions <= 20, "from 1 to 20"),
            ("similarity", similarity, 0 <= similarity <= 1, "in [0, 1]"),
        )
        if not is_fine
    ]
    counted = Counter(" ".join(topic.split()).casefold() for topic in topics)
    faults += [
        InputFault("topics", f"{name!r} stands twice" if name else "must not be empty")
        for name, n in counted.items()
        if n > 1 or not name
    ]
    if faults:
        raise InputError(faults)


def _status(built: MadeBatch, *, is_empty: bool) -> str:
    """`written`, `partly` (a reply is missing), `empty` (nothing serves), or the first call's."""
    if built.outcome != "read":
        return built.outcome
    if built.unanswered:
        return "partly"
    return "empty" if is_empty else "written"


def _said(counts: Mapping[str, int], names: Iterable[str], prefix: str = "") -> str:
    return ", ".join(
        f"{counts[name]:,} {name.removeprefix(prefix).replace('_', ' ')}"
        for name in names
        if counts.get(name)
    )


def _csv_line(cells: Iterable[str]) -> str:
    file = io.StringIO(newline="")
    CsvLines(file).write(writable(cell) for cell in cells)
    return file.getvalue()
