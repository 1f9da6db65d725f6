"""Having a model write scenarios of topics, with wordings of each: batches in, a table out.

The batches of a topic are written one after the other: each writer is told what stands already,
and no scenario is written twice. Topics are written side by side.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..async_runner import ordered_map, run_async
from ..errors import InputError
from ..experiment.job import run_job
from ..formats import count, listed, units, words
from ..graphs.prompt_template import load_prompt_template
from ..graphs.scenarios import MOST_TOLD, MadeBatch, make_scenarios
from ..graphs.variant_checks import normalised
from ..judges.models.client import Client
from ..progress import OnProgress
from ..records.estimates import Estimates
from ..records.spreadsheets import CsvLines, writable
from ..reports.document import Document, Section
from ..reports.views import Measure, estimates_table
from .config import ScenariosConfig
from .items import ItemJob, ItemRun, PlannedCalls, UnitOutcome, rows_of, writing_backends

if TYPE_CHECKING:
    from ..records.ledger import Ledger

BATCH: Final = 10
"""Scenarios asked for in one call, as in the paper."""
COLUMNS: Final = ("scenario_id", "base", "topic", "other", "text")
_TABLE: Final = "scenarios"
_TOKENS = 6_000
_LIKELY_INPUT = 500
_LIKELY_WORDS = 90
"""Tokens of a scenario, with who the other is."""
_WORDINGS: Final = {
    "unlike": "too unlike the first",
    "same": "the same as another",
    "missing": "not written",
    "repeated": "written before",
}
"""Why a wording is left out."""


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


class ScenarioRun(ItemRun):
    """The folder of scenarios that a model wrote."""

    kind = "scenarios"
    table_file = "scenarios.csv"
    outcomes_file = "batches.jsonl"

    @staticmethod
    def estimate(records: Iterable[Mapping[str, Any]]) -> Estimates:
        """Counts by topic and over all: batches by status, scenarios, wordings, calls."""
        by_topic: dict[str, Counter[str]] = {}
        for record in records:
            counts = Counter(record["counts"])
            counts["repeated"] = len(record["repeated"]) + counts["repeated"]
            counts["wordings_repeated"] = record.get("wordings_repeated", 0)
            counts[f"batches_{record['status']}"] += 1
            counts["scenarios"] += len(record["texts"])
            counts["texts"] += sum(record["texts"].values())
            counts["calls"] += record["calls"]
            by_topic.setdefault(record["topic"], Counter()).update(counts)
        found = Estimates()
        groups = list(by_topic.items())
        whole: Counter[str] = Counter()
        for _, counts in groups:
            whole.update(counts)
        for topic, counts in [*groups, ("", whole)]:
            for measure in sorted(counts):
                found.add(_TABLE, measure, counts[measure], factor="topic", group=topic)
        return found

    def summary(self) -> Document:
        """The scenarios of those wanted, and what was left out."""
        counts = Counter(self.counts)
        states = {
            name.removeprefix("batches_"): n
            for name, n in counts.items()
            if name.startswith("batches_")
        }
        trust = [("batches", _said(states, states))]
        if left_out := _said(counts, ("unusable", "repeated")):
            trust.append(("left out", left_out))
        wordings = {said: counts[f"wordings_{name}"] for name, said in _WORDINGS.items()}
        if said := _said(wordings, wordings):
            trust.append(("wordings", f"left out: {said}"))
        table = estimates_table(
            self.estimates,
            _TABLE,
            keys={"group": "topic"},
            named={"group": {None: "all"}},
            measures=[
                Measure(name, is_count=True)
                for name in ("wanted", "scenarios", "unusable", "repeated", "texts")
            ],
            caption="Scenarios by topic; unusable and repeated ones are left out. A text is one "
            "wording of a scenario.",
            label="Scenarios by topic",
        )
        wanted, texts = units(counts["wanted"], "scenario"), units(counts["texts"], "text")
        return Document(
            title="Scenarios",
            kind=self.kind,
            headline=[
                f"{count(counts['scenarios'])} of {wanted} wanted are written, in {texts}.",
                f"{self.table_file} is for the audit; read it before use.",
            ],
            trust=trust,
            sections=[Section("topics", "By topic", [table] if table else [], audience="summary")],
        )


def _said(counts: Mapping[str, int], names: Iterable[str]) -> str:
    return listed([f"{counts[name]:,} {words(name)}" for name in names if counts[name]])


class ScenarioJob(ItemJob):
    """Batches of topics in, scenarios with their wordings out."""

    run_type = item_run = ScenarioRun
    config: ScenariosConfig
    unit = "batches"
    head = ",".join(COLUMNS) + "\n"

    def __init__(
        self,
        *,
        models: Any,
        ledger: str | Path | Ledger | None = None,
        on_progress: OnProgress = None,
        **options: Any,
    ) -> None:
        """Checks everything that can be checked offline; see `generate_scenarios`.

        Raises:
            InputError: numbers out of range, topics that are empty or stand twice, no model that
                writes, or more than one.
        """
        config = ScenariosConfig.checked(**options)
        backends = writing_backends(
            models, makes="scenarios", max_tokens=_TOKENS, effort=config.effort
        )
        if len(backends) > 1:
            raise InputError(f"one model writes the scenarios; got {len(backends)}")
        self.topics = config.topics or _topics_of_the_audit()
        self._standing = [
            (row["topic"], row["text"])
            for file in config.beside
            for row in rows_of(file, ("topic", "text"))
        ]
        identity = {
            "topics": list(self.topics),
            "per_topic": config.per_topic,
            "versions": config.versions,
            "similarity": config.similarity,
            "templates": [load_prompt_template(name).version for name in ("scenarios", "wordings")],
        }
        if self._standing:
            identity["beside"] = [list(one) for one in self._standing]
        super().__init__(
            config,
            [
                Batch(place, topic, number, min(BATCH, config.per_topic - number * BATCH))
                for place, topic in enumerate(self.topics, 1)
                for number in range(-(-config.per_topic // BATCH))
            ],
            backends,
            identity=identity,
            ledger=ledger,
            on_progress=on_progress,
        )

    def planned(self) -> list[PlannedCalls]:
        """A call a batch, which may be repaired, and one a scenario for its wordings."""
        writer, n, config = self.backends[0], len(self.units), self.config
        size = min(BATCH, config.per_topic)
        told = sum(min(MOST_TOLD, one.number * BATCH) for one in self.units) // n
        read = _LIKELY_INPUT + told * _LIKELY_WORDS
        written = PlannedCalls(writer, n, 2 * n, read, size * _LIKELY_WORDS)
        if config.versions == 1:
            return [written]
        n_varied = config.per_topic * len(self.topics)
        output = (config.versions - 1) * _LIKELY_WORDS
        return [written, PlannedCalls(writer, n_varied, n_varied, _LIKELY_INPUT, output)]

    async def written(self, client: Client, at_once: int) -> AsyncGenerator[UnitOutcome, None]:
        """What became of each batch; the batches of a topic know of those before them."""
        topics = [list(batches) for _, batches in groupby(self.units, key=lambda one: one.place)]

        async def topic(batches: Sequence[Batch]) -> list[MadeBatch]:
            stands = [text for name, text in self._standing if name == batches[0].topic]
            found: list[MadeBatch] = []
            for batch in batches:
                if found and found[-1].is_open:
                    found.append(MadeBatch.unasked(batch.size, found[-1]))
                    continue
                found.append(await self._batch(client, batch, stands))
                stands += [one.texts[0] for one in found[-1].scenarios]
            return found

        taken = {normalised(text): "a file" for _, text in self._standing}
        async with aclosing(ordered_map(topics, topic, at_once=at_once)) as found:
            async for batches, made in found:
                for batch, one in zip(batches, made, strict=True):
                    yield _outcome(batch, one, taken)

    async def _batch(self, client: Client, batch: Batch, stands: Sequence[str]) -> MadeBatch:
        return await make_scenarios(
            client,
            self.backends[0],
            batch.topic,
            batch=batch.number,
            count=batch.size,
            versions=self.config.versions,
            similarity=self.config.similarity,
            before=stands,
            taken=[text for _, text in self._standing],
        )

    def describe(self) -> dict[str, Any]:
        """What run.json says beside what it says of all items."""
        return {**super().describe(), "scenarios_wanted": self.config.per_topic * len(self.topics)}


def _topics_of_the_audit() -> tuple[str, ...]:
    from ..audits.silverspoon_judgement.dataset import load_scenarios

    return tuple(load_scenarios().labels.values())


def _outcome(batch: Batch, made: MadeBatch, taken: dict[str, str]) -> UnitOutcome:
    """A batch's rows, without scenarios that another topic has already.

    Args:
        batch, made: what was asked for, and what came of it.
        taken: normalised text to where it stands; what is written here is added.
    """
    lines: list[str] = []
    texts: dict[str, int] = {}
    repeated: dict[str, str] = {}
    wordings_repeated = 0
    for one in made.scenarios:
        base = f"{batch.id}_s{one.number}"
        key = normalised(one.texts[0])
        if key in taken:
            repeated[base] = taken[key]
            wordings_repeated += len(one.texts) - 1
            continue
        taken[key] = base
        texts[base] = len(one.texts)
        lines += [
            _csv_line([f"{base}_v{version}", base, batch.topic, one.other, text])
            for version, text in enumerate(one.texts, 1)
        ]
    status = _status(made, is_empty=not texts)
    record = {
        "batch": batch.id,
        "topic": batch.topic,
        "status": status,
        "texts": texts,
        "faults": dict(made.faults),
        "repeated": repeated,
        "wordings_repeated": wordings_repeated,
        "unanswered": {call: list(why) for call, why in made.unanswered.items()},
        "counts": dict(made.counts),
        "calls": made.calls,
        "cost_usd": made.cost_usd,
    }
    return UnitOutcome(
        record,
        lines,
        is_troubled=status != "written",
        is_over_budget=("not_asked", "budget") in made.unanswered.values(),
    )


def _status(made: MadeBatch, *, is_empty: bool) -> str:
    """`written`, `partly` (a reply is missing), `empty` (nothing serves), or the first call's."""
    if made.outcome != "read":
        return made.outcome
    if made.unanswered:
        return "partly"
    return "empty" if is_empty else "written"


def _csv_line(cells: Iterable[str]) -> str:
    file = io.StringIO(newline="")
    CsvLines(file).write(writable(cell) for cell in cells)
    return file.getvalue()


def generate_scenarios(models: Any, **options: Any) -> ItemRun:
    """Has a model write scenarios and wordings of them into a table in a folder.

    The defaults are the paper's design: 1,000 scenarios of ten topics, two more wordings of each,
    3,000 texts, a wording keeping at least .8 of the words. What is paid for is in the ledger: the
    same call again goes on where it stopped. Gold labels are not made: they are for people to give.

    Args:
        models: who writes, as anywhere else ("openai/gpt-4o", or a mapping with settings).
        **options: fields of `ScenariosConfig` (topics, per_topic, versions, similarity, beside,
            effort, out, resume, max_cost), ledger, on_progress; the folder is
            `runs/scenarios-xxxxxxxx` when left out.

    Returns:
        The run: `table` is scenarios.csv (scenario_id, base, topic, other, text), `outcomes` is
        batches.jsonl, `counts` says what was left out.

    Raises:
        InputError: numbers out of range, or a model that cannot write; nothing was spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored.
    """
    return run_job(ScenarioJob(models=models, **options))


async def agenerate_scenarios(models: Any, **options: Any) -> ItemRun:
    """The asynchronous twin of `generate_scenarios`."""
    return await run_async(ScenarioJob(models=models, **options).run())
