"""The construction of prompts as a job: write, check, filter and compare, scenario by scenario."""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..access import require_access
from ..cap_stop import CapStop
from ..errors import InputError
from ..graphs.prompt_brief import (
    EQUIVALENCE_TEMPLATE,
    GENERATE_TEMPLATE,
    QUALITY_TEMPLATE,
)
from ..graphs.prompt_construction import BUNDLE_STATUSES, Asked, Constructed, Construction, Material
from ..job import default_folder
from ..judges.models.backend import Backend
from ..judges.models.budget import Budget
from ..judges.models.client import Desk
from ..named_models import settings_of
from ..records.run_folder import REPORT_FILE
from ..staged import StagedJob, StageProgress
from ..text_lines import units
from .concepts import load_technology_terms
from .material import Models, model_notices, models_from
from .plan import PromptPlan
from .projection import require_projection
from .run import KIND, PromptRun
from .scenarios import BBQ, CONCEPTS, Scenario, ScenarioSet, read_scenarios

if TYPE_CHECKING:
    from ..records.ledger import Ledger
    from .embedding import EmbeddingBackend

TOPIC_CHARACTERS = 60
STEREOTYPES = (
    "BBQ's items play on stereotypes of social groups, and models are shown them; what they write "
    "can repeat them"
)


class PromptJob(StagedJob):
    """Scenarios in, a prompt set with all votes and figures out."""

    kind = KIND

    def __init__(
        self,
        scenarios: Any,
        *,
        models: Any = None,
        judges: Any = None,
        embedding: Any = None,
        plan: PromptPlan | None = None,
        effort: str | None = None,
        ledger: str | Path | Ledger | None = None,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        out: str | Path | None = None,
        resume: bool = False,
        max_cost: float | None = None,
        technology: str | Path | None = None,
        on_progress: Callable[[StageProgress], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline; see `construct_prompts`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        self.plan = plan or PromptPlan()
        self.scenarios: ScenarioSet = (
            scenarios
            if isinstance(scenarios, ScenarioSet)
            else read_scenarios(scenarios, columns=columns, limit=limit)
        )
        self.models: Models = models_from(models, judges, effort=effort)
        self.embedding: EmbeddingBackend | None = None
        if embedding is not None:
            from .embedding import embedding_from

            self.embedding = embedding_from(embedding)
            require_projection(self.plan.projection)
        terms = load_technology_terms(technology)
        self.technology = terms.pattern()
        identity: dict[str, Any] = {
            "kind": self.kind,
            "scenarios_sha256": self.scenarios.fingerprint(),
            "generators": settings_of(self.models.generators),
            "judges": settings_of(self.models.asked_judges),
            "plan": self.plan.asked_json(),
            "templates": [GENERATE_TEMPLATE, QUALITY_TEMPLATE, EQUIVALENCE_TEMPLATE],
        }
        if technology is not None:
            identity["technology"] = list(terms.terms)
        if self.embedding is not None:
            identity["embedding"] = settings_of([self.embedding])
        self.stages = ("construct", "embed") if self.embedding else ("construct",)
        super().__init__(
            out=out or default_folder(f"prompts-{Path(self.scenarios.name).stem}", identity),
            identity=identity,
            resume=resume,
            max_cost=max_cost,
            on_progress=on_progress,
        )
        self._given_ledger = ledger
        self._ledger: Ledger | None = None
        self._over_budget = False
        self.outcomes: list[Constructed] = []

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        found = model_notices(self.models, self.plan)
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
    def model_strings(self) -> dict[str, str]:
        """Name of every writer and judge to litellm's name of its model."""
        asked = (*self.models.generators, *self.models.asked_judges)
        return {backend.spec.name: backend.spec.model for backend in asked}

    @property
    def ledger(self) -> Ledger:
        """The store of calls, opened when first needed."""
        if self._ledger is None:
            from ..records.ledger import Ledger

            given = self._given_ledger
            self._ledger = given if isinstance(given, Ledger) else Ledger.open(given)
        return self._ledger

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Everybody who may be asked."""
        extra: tuple[Backend, ...] = () if self.embedding is None else (self.embedding,)
        return (*self.models.generators, *self.models.asked_judges, *extra)

    async def require_access(self, desk: Desk) -> None:
        """Raises what keeps any backend from being asked, unless nothing is wanted of it."""
        from .estimate import calls_left

        capped = desk.budget.cap is not None
        try:
            await require_access(self.backends, lambda _: False, capped=capped)
        except InputError:
            # What the ledger holds needs no endpoint; only now is it worth while to look.
            left = await calls_left(self)
            await require_access(
                self.backends, lambda backend: not left.get(backend.spec.name, 0), capped=capped
            )

    async def run_stages(self, desk: Desk) -> list[Constructed]:
        """All scenarios; one that fails leaves the others standing, counted."""
        rows = self.scenarios.rows
        self.begin("construct", total=len(rows), unit="scenarios")
        found: list[Constructed] = []
        async with aclosing(self.construct_each(desk)) as outcomes:
            async for outcome in outcomes:
                found.append(outcome)
                self.step(is_troubled=any(b.status != "complete" for b in outcome.bundles))
        self.outcomes = found
        self.outcome["construct"] = counted(found)
        self._over_budget = is_short_of_money(found)
        from .outputs import write_report, write_set

        n_prompts = write_set(self, found)
        self.outcome["construct"]["prompts_in_set"] = n_prompts
        write_report(self, found, n_prompts)
        if self.embedding is not None:
            from .map import embed_all

            self.begin("embed", total=0, unit="texts")
            self.outcome["embed"], drawn = await embed_all(self, desk)
            write_report(self, found, n_prompts, drawn)
            self._over_budget |= self.outcome["embed"]["not_asked_for_budget"] > 0
        return found

    async def construct_each(
        self, desk: Desk, *, at_once: int | None = None
    ) -> AsyncGenerator[Constructed, None]:
        """What became of each scenario, in their order.

        Under a cost cap no scenario begins before the money for all of it, at the most, is there
        beside that of those at work: else the models asked first would get what there is, and few
        scenarios would be whole. One is always at work.

        Raises:
            StoreError: the ledger cannot be written.
        """
        from ..graphs.prompt_construction import construct

        most_usd = 0.0
        if desk.budget.cap is not None:
            from .estimate import most_per_scenario

            most_usd = await most_per_scenario(self)
        busy = at_once or max(4, sum(b.spec.concurrency for b in self.models.generators) // 2)
        slots = asyncio.Semaphore(busy)
        queue: deque[asyncio.Task[Constructed]] = deque()

        async def one(scenario: Scenario) -> Constructed:
            try:
                return await construct(self.construction(scenario, desk))
            finally:
                slots.release()

        try:
            for scenario in self.scenarios.rows:
                await slots.acquire()
                while at_work := [task for task in queue if not task.done()]:
                    if _left(desk.budget) >= most_usd * (len(at_work) + 1):
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

    def construction(self, scenario: Scenario, desk: Desk) -> Construction:
        """What the graph needs for one scenario."""
        return Construction(
            material_of(scenario, self.plan.per_scenario),
            self.models.generators,
            self.models.asked_judges,
            desk,
            self.plan.design,
            self.technology,
        )

    def finished(self, result: list[Constructed]) -> PromptRun:
        """The run; its tables are written by then. The page also tells what all of it cost."""
        from .page import prompt_page_of, write_prompt_page

        write_prompt_page(self.path / REPORT_FILE, prompt_page_of(self.path))
        return PromptRun(self.path)

    def stopped_by_budget(self) -> bool:
        """Whether the cost cap left something out."""
        return self._over_budget

    @property
    def cap_stop(self) -> CapStop | None:
        """What the cost cap left out so far; None where it left out nothing."""
        cap = self._budget.cap
        if not self._over_budget or cap is None:
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
        return {
            "demonstration": self.is_demonstration,
            "source": self.scenarios.name,
            "sources": dict(Counter(row.source for row in self.scenarios.rows)),
            "notices": list(self.notices),
            "scenarios": {"n": len(self.scenarios.rows)},
            "generators": list(self.generator_names),
            "judges": [backend.spec.name for backend in self.models.asked_judges],
            "embedding": None if self.embedding is None else self.embedding.spec.model,
            "plan": self.plan.to_json(),
        }

    async def close(self) -> None:
        """Closes the models, and the ledger where it was opened here."""
        for backend in {id(backend): backend for backend in self.backends}.values():
            await backend.close()
        if self._ledger is not None and self._ledger is not self._given_ledger:
            self._ledger.close()
            self._ledger = None


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
    for outcome in outcomes:
        bundles.update(bundle.status for bundle in outcome.bundles)
        repaired += sum(bundle.is_repaired for bundle in outcome.bundles)
        reasons.update(
            f"{bundle.generator}: {bundle.status}"
            for bundle in outcome.bundles
            if bundle.status != "complete"
        )
        votes.update(vote.asked.status for vote in outcome.votes)
        pairs.update(vote.asked.status for vote in outcome.pairs)
        unjudged += len(outcome.unjudged_pairs)
    return {
        "scenarios": len(outcomes),
        "bundles": dict(bundles),
        "repaired": repaired,
        "troubled": dict(reasons.most_common(30)),
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


def _asked(outcome: Constructed) -> list[Asked]:
    return [vote.asked for vote in outcome.votes] + [vote.asked for vote in outcome.pairs]
