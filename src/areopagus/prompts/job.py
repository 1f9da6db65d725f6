"""The construction of prompts as a job: write, check, filter and compare, scenario by scenario."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import run_async
from ..experiment.backends import settings_of
from ..experiment.cost_cap import CapStop
from ..experiment.dry_run import DryRun, StageCost
from ..experiment.job import Job, run_job
from ..formats import units
from ..graphs.generate import CallOutcome
from ..graphs.prompt_construction import (
    BUNDLE_STATUSES,
    Constructed,
    Construction,
    PromptRef,
    construct,
)
from ..graphs.prompt_template import load_prompt_template
from ..graphs.prompt_writing import Material
from ..judges.factory import is_made_of_settings
from ..judges.models.backend import Backend
from ..judges.models.budget import Budget
from ..judges.models.client import Client
from ..progress import ESTIMATING, OnProgress, doing
from ..records.estimates import Estimates
from .concepts import load_technology_terms
from .config import PromptsConfig
from .dry_run import ASSUMPTION, most_per_scenario, stage_costs
from .embedding import EmbeddingBackend, embedding_from
from .estimates import SET, estimate
from .map import Embedded, embed_all, map_estimates, require_projection, write_map
from .models import Models, model_notices, models_from
from .result import PromptRun
from .scenarios import (
    BBQ,
    CONCEPTS,
    SCENARIOS_FILE,
    Funnel,
    Scenario,
    ScenarioSet,
    read_scenarios,
    write_scenarios,
)
from .tables import PROMPTS_FILE, prompt_id, short_names, tables_of, write_tables

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.ledger import Ledger

TOPIC_CHARACTERS = 60
STEREOTYPES = (
    "BBQ's items play on stereotypes of social groups, and models are shown them; what they write "
    "can repeat them"
)


class PromptJob(Job[PromptRun]):
    """Scenarios in, a prompt set with all votes and figures out."""

    kind = PromptRun.kind
    run_type = PromptRun
    config: PromptsConfig

    def __init__(
        self,
        scenarios: Any,
        *,
        models: Any = None,
        judges: Any = None,
        embedding: Any = None,
        funnel: Funnel | None = None,
        ledger: str | Path | Ledger | None = None,
        on_progress: OnProgress = None,
        **options: Any,
    ) -> None:
        """Checks everything that can be checked offline; see `construct_prompts`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        config = PromptsConfig.checked(**options)
        self.scenarios: ScenarioSet = (
            scenarios
            if isinstance(scenarios, ScenarioSet)
            else read_scenarios(scenarios, columns=config.columns, limit=config.limit)
        )
        self.models: Models = models_from(models, judges, effort=config.effort)
        self.embedding: EmbeddingBackend | None = None
        if embedding is not None:
            self.embedding = embedding_from(embedding)
            require_projection(config.projection)
        terms = load_technology_terms(config.technology)
        self.technology = terms.pattern()
        self.funnel = funnel
        identity: dict[str, Any] = {
            "kind": self.kind,
            "scenarios_sha256": self.scenarios.fingerprint(),
            "generators": settings_of(self.models.generators),
            "judges": settings_of(self.models.asked_judges),
            "plan": config.asked_json(),
            "templates": [
                load_prompt_template(name).version
                for name in ("construct", "quality", "equivalence")
            ],
        }
        if config.technology is not None:
            identity["technology"] = list(terms.terms)
        if self.embedding is not None:
            identity["embedding"] = settings_of([self.embedding])
        self.stages = ("construct", "embed") if self.embedding else ("construct",)
        super().__init__(
            config,
            identity=identity,
            name=f"prompts-{Path(self.scenarios.name).stem}",
            ledger=ledger,
            on_progress=on_progress,
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        found = model_notices(self.models, self.config)
        if any(row.source == BBQ for row in self.scenarios.rows):
            found.append(STEREOTYPES)
        return tuple(found)

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in takes part."""
        return self.models.is_demonstration

    @property
    def generator_names(self) -> tuple[str, ...]:
        """The writers, in order."""
        return tuple(backend.spec.name for backend in self.models.generators)

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Everybody who may be asked."""
        extra: tuple[Backend, ...] = () if self.embedding is None else (self.embedding,)
        return (*self.models.generators, *self.models.asked_judges, *extra)

    async def dry_run(self) -> DryRun:
        """Calls and cost of every stage and backend."""
        return DryRun(tuple(await self._stage_costs()), (ASSUMPTION,))

    async def _stage_costs(self) -> list[StageCost]:
        client = Client(self.ledger)
        client.stop()  # what is stored is answered, nothing is sent

        async def done() -> AsyncGenerator[tuple[Construction, Constructed], None]:
            rows = iter(self.scenarios.rows)
            async with aclosing(self.construct_each(client, at_once=8)) as outcomes:
                async for outcome in outcomes:
                    yield self.construction(next(rows), client), outcome

        async with aclosing(done()) as found:
            return await stage_costs(found, self.models, self.ledger, self.embedding)

    async def run_stages(self, client: Client) -> Estimates:
        """All scenarios; one that fails leaves the others standing, counted."""
        rows = self.scenarios.rows
        self.begin("construct", total=len(rows), unit="scenarios")
        found: list[Constructed] = []
        async with aclosing(self.construct_each(client)) as outcomes:
            async for outcome in outcomes:
                found.append(outcome)
                self.step(is_troubled=any(b.status != "complete" for b in outcome.bundles))
        self.outcome["construct"] = counted(found)
        self.over_budget = is_short_of_money(found)
        doing(ESTIMATING)
        estimates = self._write_set(found)
        if self.embedding is not None:
            texts = self._texts(found)
            self.begin("embed", total=len(texts), unit="texts")
            self.outcome["embed"], placed = await embed_all(
                client, self.embedding, texts, lambda troubled: self.step(is_troubled=troubled)
            )
            coordinates, areas = map_estimates(
                placed, self.config.projection, seed=self.config.seed
            )
            write_map(self.path, [item for item, _ in placed], coordinates)
            estimates.extend(areas)
            estimates.add(SET, "texts", self.outcome["embed"]["texts"])
            estimates.add(SET, "texts_placed", len(placed))
            self.over_budget |= self.outcome["embed"]["not_asked_for_budget"] > 0
        return estimates

    def _write_set(self, outcomes: list[Constructed]) -> Estimates:
        """Writes the prompt set and the tables of all votes, and returns the figures."""
        asked = (*self.models.generators, *self.models.asked_judges)
        tables = tables_of(
            self.scenarios.rows,
            outcomes,
            self.generator_names,
            models={backend.spec.name: backend.spec.model for backend in asked},
            wanted=self.config.per_scenario,
            rule=self.config.equivalence,
        )
        # Beside the prompts stand the texts that they were made of.
        write_scenarios(self.path / SCENARIOS_FILE, self.scenarios.rows)
        write_tables(self.path, tables, self.scenarios.columns)
        self.outcome["construct"]["prompts_in_set"] = len(tables[PROMPTS_FILE])
        found = Estimates() if self.funnel is None else self.funnel.estimates()
        found.extend(
            estimate(
                tables,
                self.generator_names,
                rule=self.config.equivalence,
                level=self.config.level,
                has_pairs=self.config.diversity_of != "none",
            )
        )
        return found

    async def construct_each(
        self, client: Client, *, at_once: int | None = None
    ) -> AsyncGenerator[Constructed, None]:
        """What became of each scenario, in their order.

        Under a cost cap no scenario begins before the money for all of it, at the most, is there
        beside that of those at work: else the models asked first would get what there is, and few
        scenarios would be whole. One is always at work.

        Raises:
            StoreError: the ledger cannot be written.
        """
        most_usd = 0.0
        if client.budget.cap is not None:
            most_usd = most_per_scenario(await self._stage_costs())
        busy = at_once or max(4, sum(b.spec.concurrency for b in self.models.generators) // 2)
        slots = asyncio.Semaphore(busy)
        queue: deque[asyncio.Task[Constructed]] = deque()

        async def one(scenario: Scenario) -> Constructed:
            try:
                return await construct(self.construction(scenario, client))
            finally:
                slots.release()

        try:
            for scenario in self.scenarios.rows:
                await slots.acquire()
                while at_work := [task for task in queue if not task.done()]:
                    if _left(client.budget) >= most_usd * (len(at_work) + 1):
                        break
                    await asyncio.wait(at_work, return_when=asyncio.FIRST_COMPLETED)
                queue.append(asyncio.create_task(one(scenario)))
                while queue and queue[0].done():
                    yield await queue.popleft()
            while queue:
                yield await queue.popleft()
        finally:
            for task in queue:
                task.cancel()
            await asyncio.gather(*queue, return_exceptions=True)

    def construction(self, scenario: Scenario, client: Client) -> Construction:
        """What the graph needs for one scenario."""
        return Construction(
            material_of(scenario, self.config.per_scenario),
            self.models.generators,
            self.models.asked_judges,
            client,
            self.config.design,
            self.technology,
        )

    def _texts(self, outcomes: Sequence[Constructed]) -> list[Embedded]:
        """The scenarios and all usable prompts."""
        short = short_names(self.generator_names)
        found: list[Embedded] = []
        for row, outcome in zip(self.scenarios.rows, outcomes, strict=False):
            found.append(Embedded(row.scenario_id, row.scenario_id, row.source, "", row.text))
            for bundle in outcome.bundles:
                for block in bundle.usable:
                    ref = PromptRef(bundle.generator, block.number)
                    name = prompt_id(row.scenario_id, ref, short)
                    found.append(
                        Embedded(
                            name, row.scenario_id, row.source, bundle.generator, block.question,
                            block.angle,
                        )
                    )  # fmt: skip
        return found

    @property
    def cap_stop(self) -> CapStop | None:
        """What the cost cap left out so far; None where it left out nothing."""
        cap = self._budget.cap
        if not self.over_budget or cap is None:
            return None
        found = self.outcome["construct"]
        bundles, votes = found["bundles"], found["votes"].get("not_asked", 0)
        pairs = found["pair_votes"].get("not_asked", 0)
        unembedded = self.outcome.get("embed", {}).get("not_asked_for_budget", 0)
        left_out = [
            f"{units(number, what)} not asked for"
            for number, what in ((votes, "vote"), (pairs, "comparison"), (unembedded, "embedding"))
            if number
        ]
        planned = sum(bundles.values())
        asked = planned - bundles["not_asked"]
        return CapStop(cap, planned, asked, "bundles", rest=", ".join(left_out))

    def describe(self) -> dict[str, Any]:
        """What run.json says of a construction."""
        stop = self.cap_stop
        return {
            "demonstration": self.is_demonstration,
            "source": self.scenarios.name,
            "sources": dict(Counter(row.source for row in self.scenarios.rows)),
            "notices": list(self.notices),
            "scenarios": {"n": len(self.scenarios.rows)},
            "generators": list(self.generator_names),
            "judges": [backend.spec.name for backend in self.models.asked_judges],
            "embedding": None if self.embedding is None else self.embedding.spec.model,
            "cost_cap": None if stop is None else stop.to_json(),
        }


def material_of(scenario: Scenario, count: int) -> Material:
    """A scenario as the graph takes it."""
    topic = " ".join(scenario.stratum.replace("_", " ").lower().split())[:TOPIC_CHARACTERS]
    return Material(
        scenario.scenario_id,
        scenario.source,
        scenario.text,
        topic or "this matter",
        count,
        technology=scenario.source == CONCEPTS,
    )


def counted(outcomes: list[Constructed]) -> dict[str, Any]:
    """What became of bundles and votes, for run.json."""
    bundles: Counter[str] = Counter(dict.fromkeys(BUNDLE_STATUSES, 0))
    votes: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    repaired = unjudged = 0
    reasons: Counter[str] = Counter()
    refused: dict[str, list[str]] = {}
    for outcome in outcomes:
        for bundle in outcome.bundles:
            bundles[bundle.status] += 1
            repaired += bundle.is_repaired
            if bundle.status != "complete":
                reasons[f"{bundle.generator}: {bundle.status}"] += 1
            if bundle.status == "refused":
                refused.setdefault(bundle.generator, []).append(outcome.scenario_id)
        votes.update(vote.asked.status for vote in outcome.votes)
        pairs.update(vote.asked.status for vote in outcome.pairs)
        unjudged += len(outcome.unjudged_pairs)
    return {
        "scenarios": len(outcomes),
        "bundles": dict(bundles),
        "repaired": repaired,
        "troubled": dict(reasons.most_common(30)),
        "refused": refused,
        "votes": dict(votes),
        "pair_votes": dict(pairs),
        "unjudged_pairs": unjudged,
    }


def _left(budget: Budget) -> float:
    """What the cap leaves, US dollars, what is set aside for calls in flight included."""
    cap = math.inf if budget.cap is None else budget.cap
    return cap - budget.spent - budget.possibly_spent


def is_short_of_money(outcomes: list[Constructed]) -> bool:
    """Whether the cost cap left a call out."""
    return any(
        any(bundle.status == "not_asked" and bundle.reason == "budget" for bundle in one.bundles)
        or any(asked.status == "not_asked" and asked.detail == "budget" for asked in _asked(one))
        for one in outcomes
    )


def _asked(outcome: Constructed) -> list[CallOutcome]:
    return [*(vote.asked for vote in outcome.votes), *(vote.asked for vote in outcome.pairs)]


def construct_prompts(scenarios: Any, **options: Any) -> PromptRun:
    """Turns scenarios into a filtered set of open-ended prompts, and measures it.

    Each model writes prompts for each scenario; the others vote on their quality; two that wrote
    neither say of each pair whether it is one prompt in two wordings.

    Args:
        scenarios: a table with scenario_id and scenario_text, as `prompts bbq`, `hle` and
            `concepts` write it, or a `ScenarioSet`.
        **options: `models` (who writes, and judges what the others wrote; an embedded stand-in
            when left out), `judges` (further models that judge and do not write), `embedding` (a
            model for the map of the prompts; no map when left out), `ledger` (a file,
            `postgresql://…` or an open Ledger), `on_progress`, and every field of `PromptsConfig`:
            `per_scenario`, `filter_judges`, `equivalence`, `diversity_of`, `cross_pairs`, `seed`,
            `out`, `max_cost`, …

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored; the same call
            goes on.
    """
    return run_job(PromptJob(scenarios, **options))


async def aconstruct_prompts(scenarios: Any, **options: Any) -> PromptRun:
    """The asynchronous twin of `construct_prompts`."""
    return await run_async(PromptJob(scenarios, **options).run())


def construction_of(
    panel: PanelSpec, scenario: Scenario, client: Client, **options: Any
) -> Construction:
    """What one scenario is made into prompts with by the panel's models, in no folder.

    Where the panel has only embedded judges, the embedded generator writes, and nobody votes.

    Args:
        panel: whose models write and judge.
        scenario: what prompts are made from.
        client: where calls are handed in.
        **options: fields of `PromptsConfig`.

    Raises:
        InputError: settings that are none.
    """
    config = PromptsConfig.checked(**options)
    models = models_from(
        [
            # A backend of our own is made anew from its settings, with the generator's limits.
            backend.spec if is_made_of_settings(backend) else backend
            for backend in panel.backends
            if not backend.spec.is_offline
        ]
    )
    return Construction(
        material_of(scenario, config.per_scenario), models.generators, models.asked_judges, client,
        config.design, load_technology_terms().pattern(),
    )  # fmt: skip


def constructed_json(outcome: Constructed) -> dict[str, Any]:
    """What became of a scenario, as plain values.

    Returns:
        `scenario_id`; `bundles` with model, status, reason and prompts, each with what its votes
        come to; `votes` and `pairs` as they were cast.
    """
    known = outcome.qualities()
    return {
        "scenario_id": outcome.scenario_id,
        "bundles": [
            {
                "generator": bundle.generator,
                "status": bundle.status,
                "reason": bundle.reason,
                "prompts": [
                    {
                        "number": block.number,
                        "prompt_text": block.question,
                        "angle": block.angle,
                        "dimensions": block.dimensions,
                        "quality": known[PromptRef(bundle.generator, block.number)].outcome,
                    }
                    for block in bundle.usable
                ],
            }
            for bundle in outcome.bundles
        ],
        "votes": [
            {
                "generator": vote.prompt.generator,
                "number": vote.prompt.number,
                "judge": vote.judge,
                "status": vote.asked.status,
                "value": dict(vote.asked.value),
            }
            for vote in outcome.votes
        ],
        "pairs": [
            {
                "first": list(vote.pair.one),
                "second": list(vote.pair.other),
                "judge": vote.judge,
                "equivalent": vote.value,
            }
            for vote in outcome.pairs
        ],
    }
