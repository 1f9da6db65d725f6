"""Scenarios written by a model, with wordings of each: a table that `--scenarios` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...access import require_access
from ...errors import InputError, InputFault
from ...judges.backend import Backend
from ...judges.budget import Budget
from ...judges.desk import Desk
from ...loop import run_sync
from ...named_models import sorted_models
from ...records.csv_lines import CsvLines, writable
from ...records.ledger import Ledger
from ...records.run_folder import replaced
from .material import load_scenarios

BATCH = 10
"""Scenarios asked for in one call, as in the paper."""
_ANSWER_TOKENS = 6_000


@dataclass(frozen=True, slots=True)
class GeneratedScenarios:
    """What was written.

    Attributes:
        path: the table: scenario_id, base, topic, other, text.
        n_scenarios: scenarios.
        n_texts: with their wordings.
        counts: of `MadeBatch.counts`, summed; `repeated` (left out: like one of an earlier batch)
            and batches by outcome besides.
        cost_usd: what calls with a known price cost in this session.
    """

    path: Path
    n_scenarios: int
    n_texts: int
    counts: dict[str, int]
    cost_usd: float


def generate_scenarios(
    model: Any,
    out: str | Path,
    *,
    topics: Sequence[str] = (),
    per_topic: int = 100,
    versions: int = 3,
    similarity: float = 0.8,
    ledger: str | Path | None = None,
    max_cost: float | None = None,
) -> GeneratedScenarios:
    """Has a model write scenarios and wordings of them, and writes the table.

    The defaults are the paper's design: 1,000 scenarios of ten topics, two more wordings of each,
    3,000 texts, a wording keeping at least .8 of the words. What is paid for is in the ledger:
    the same call again goes on where it stopped.

    Args:
        model: who writes, as anywhere else ("openai/gpt-4o", or a mapping with settings).
        out: the CSV file.
        topics: in words; the built-in ten by default.
        per_topic: scenarios a topic, asked for in batches of ten.
        versions: wordings of each, the first one included.
        similarity: least share of words that a wording has in common with its scenario.
        ledger: store of paid calls.
        max_cost: cap in US dollars.

    Raises:
        InputError: numbers out of range, or a model that cannot write.
    """
    return run_sync(
        agenerate_scenarios(
            model, out, topics=topics, per_topic=per_topic, versions=versions,
            similarity=similarity, ledger=ledger, max_cost=max_cost,
        )
    )  # fmt: skip


async def agenerate_scenarios(
    model: Any,
    out: str | Path,
    *,
    topics: Sequence[str] = (),
    per_topic: int = 100,
    versions: int = 3,
    similarity: float = 0.8,
    ledger: str | Path | None = None,
    max_cost: float | None = None,
) -> GeneratedScenarios:
    """The asynchronous twin of `generate_scenarios`."""
    from ...graphs.silverspoon_scenarios import ALIKE, ScenarioWork, make_scenarios
    from ...graphs.silverspoon_scenarios import similarity as similarity_of

    faults = [
        InputFault(name, f"must be {rule}, got {value}")
        for name, value, is_fine, rule in (
            ("per_topic", per_topic, per_topic >= 1, "at least 1"),
            ("versions", versions, 1 <= versions <= 20, "from 1 to 20"),
            ("similarity", similarity, 0 <= similarity <= 1, "in [0, 1]"),
        )
        if not is_fine
    ]
    if faults:
        raise InputError(faults)
    names = list(topics) or list(load_scenarios().labels.values())
    writer = _writer(model)
    counts: Counter[str] = Counter()
    rows: list[tuple[str, str, str, str, str]] = []
    budget = Budget(cap=max_cost)
    store = Ledger.open(ledger)
    try:
        await require_access((writer,), lambda _: False, capped=max_cost is not None)
        desk = Desk(store, budget=budget)
        for place, topic in enumerate(names, 1):
            left, seen = per_topic, list[str]()
            for batch in range(-(-per_topic // BATCH)):
                size = min(BATCH, left)
                left -= size
                made = await make_scenarios(
                    ScenarioWork(desk, writer, topic, batch, size, versions, similarity)
                )
                counts.update(made.counts)
                counts[f"batches_{made.outcome}"] += 1
                for one in made.scenarios:
                    # Batches do not know of each other.
                    if any(similarity_of(one.texts[0], text) >= ALIKE for text in seen):
                        counts["repeated"] += 1
                        continue
                    seen.append(one.texts[0])
                    base = f"t{place}_b{batch + 1}_s{one.number}"
                    for version, text in enumerate(one.texts, 1):
                        rows.append((f"{base}_v{version}", base, topic, one.other, text))
    finally:
        store.close()
        await writer.close()
    path = Path(out)
    with replaced(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        lines = CsvLines(file)
        lines.write(["scenario_id", "base", "topic", "other", "text"])
        for row in rows:
            lines.write([writable(cell) for cell in row])
    n_scenarios = len({base for _, base, _, _, _ in rows})
    return GeneratedScenarios(path, n_scenarios, len(rows), dict(counts), budget.spent)


def _writer(model: Any) -> Backend:
    from ...judges.made import backend_of

    specs, given = sorted_models([model])
    spec = specs[0]
    if spec.is_offline:
        raise InputError(
            [InputFault(spec.name, "is an embedded model, and none of them can write scenarios")]
        )
    backend = given.get(0)
    if backend is not None:
        return backend
    if "max_tokens" not in spec.model_fields_set:
        spec = spec.model_copy(update={"max_tokens": _ANSWER_TOKENS})
    return backend_of(spec)
