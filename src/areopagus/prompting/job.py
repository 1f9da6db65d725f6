"""The construction of prompts as a job: write, check, filter and compare, scenario by scenario.

Its dry run and what it writes stand here too.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ProviderError
from ..experiment.backends import settings_of
from ..experiment.config import InputConfig
from ..experiment.cost_cap import CapStop
from ..experiment.dry_run import DryRun, StageCost
from ..experiment.job import Job, Progress
from ..formats import units
from ..graphs.generate import CallOutcome
from ..graphs.prompt_construction import (
    BUNDLE_STATUSES,
    Bundle,
    Constructed,
    Construction,
    PromptRef,
    construct,
    pairs_to_ask,
    prompt_texts,
    votes_to_ask,
)
from ..graphs.prompt_template import load_prompt_template
from ..graphs.prompt_writing import (
    Block,
    Material,
    equivalence_question,
    quality_question,
)
from ..judges.models.backend import Backend
from ..judges.models.budget import Budget, BudgetSpentError
from ..judges.models.client import Client
from ..judges.models.rate_limit import StoppedError
from ..judges.models.request import ResponseFormat
from ..records.run_folder import REPORT_FILE, csv_table, replaced
from ..records.spreadsheets import writable
from .concepts import load_technology_terms
from .embedding import EmbeddingBackend, Vector, embedding_request, unpacked
from .map import MAP_FILE, PICTURE, Embedded, PromptMap, draw_map, map_figures
from .material import Models, model_notices, models_from
from .plan import PromptPlan
from .projection import Points, require_projection
from .run import FIGURES_FILE, KIND, TEXT_FILE, PromptRun
from .scenarios import BBQ, CONCEPTS, Scenario, ScenarioSet, read_scenarios, write_scenarios
from .statistics import Placed, measure
from .tables import prompt_id, short_names, write_tables
from .text import prompt_lines

if TYPE_CHECKING:
    from ..records.ledger import Ledger
    from .embedding import EmbeddingBackend


WORDS = 60
"""Words that a prompt which is not written yet is assumed to have."""
_BLOCK_TOKENS = 130
_SCRATCHPAD_TOKENS = 250
_VOTE_TOKENS = 110
_ASSUMPTION = (
    "Prompts that are not written yet are assumed usable, of some sixty words each; one repair of "
    "a reply comes on top where it is needed."
)
_LIKELY_FORMAT: ResponseFormat = "json_schema"
_Stages = Callable[[str, Backend], StageCost]


async def most_per_scenario(job: PromptJob) -> float:
    """The most that a scenario still to be written may cost, in US dollars, on average."""
    found = [item for item in await _stage_estimates(job) if item.stage != "embed"]
    unwritten = sum(item.calls for item in found if item.stage == "generate")
    scenarios = max(1, unwritten // max(1, len(job.models.generators)))
    return sum(item.most_usd or 0.0 for item in found) / scenarios


async def _stage_estimates(job: PromptJob) -> list[StageCost]:
    """Calls and cost of every stage and backend, in order.

    Repairs are not foreseen: they are in the most that a run may cost, and in no count of calls,
    unless a stored reply is known to need one.
    """
    stages: dict[tuple[str, str], StageCost] = {}

    def stage(name: str, backend: Backend) -> StageCost:
        key = (name, backend.spec.name)
        return stages.setdefault(key, StageCost(name, backend.spec.name))

    for backend in job.models.generators:
        stage("generate", backend)
    for name in ("filter", "compare"):
        for backend in job.models.asked_judges:
            stage(name, backend)
    client = Client(job.ledger)
    client.stop()  # what is stored is answered, nothing is sent
    texts: list[str] = []
    async with aclosing(job.construct_each(client, at_once=8)) as outcomes:
        rows = iter(job.scenarios.rows)
        async for outcome in outcomes:
            scenario = next(rows)
            work = job.construction(scenario, client)
            bundles = [_bundle(work, bundle, stage) for bundle in outcome.bundles]
            _count_votes(work, outcome, bundles, stage)
            _count_pairs(work, outcome, bundles, stage)
            texts.append(scenario.text)
            texts += [block.question for bundle in bundles for block in bundle.usable]
    if job.embedding is not None:
        count_embeddings(job, texts, stage("embed", job.embedding))
    return [item for item in stages.values() if item.planned or item.stage == "generate"]


def _bundle(work: Construction, bundle: Bundle, stage: _Stages) -> Bundle:
    """The bundle as it is, or as it is assumed to become; its calls counted."""
    backend = work.generator(bundle.generator)
    item = stage("generate", backend)
    item.planned += 1
    if bundle.status != "not_asked":
        item.stored += 1
        return bundle
    count = work.material.count
    request = work.task.write(work.client.ledger.secret).request(backend, _LIKELY_FORMAT)
    # A first reply that is stored and has no repair yet costs about as much once more.
    item.add(backend, request, output_tokens=_SCRATCHPAD_TOKENS + count * _BLOCK_TOKENS)
    blocks = tuple(
        Block(number, _assumed(work, bundle.generator, number), "an angle", "a dimension")
        for number in range(1, count + 1)
    )
    return replace(bundle, status="complete", blocks=blocks)


def _assumed(work: Construction, generator: str, number: int) -> str:
    """A text of the usual length that no other prompt shares."""
    words = " ".join(["word"] * WORDS)
    return f"{words} {work.material.scenario_id} {generator} {number}"


def _count_votes(
    work: Construction, outcome: Constructed, bundles: list[Bundle], stage: _Stages
) -> None:
    known = {
        (vote.prompt, vote.judge) for vote in outcome.votes if vote.asked.status != "not_asked"
    }
    texts = prompt_texts(bundles)
    for ref, judge in votes_to_ask(work, bundles):
        item = stage("filter", judge)
        item.planned += 1
        if (ref, judge.spec.name) in known:
            item.stored += 1
            continue
        question = quality_question(texts[ref], secret=work.client.ledger.secret)
        request = question.request(judge, _LIKELY_FORMAT)
        item.add(judge, request, output_tokens=_VOTE_TOKENS)


def _count_pairs(
    work: Construction, outcome: Constructed, bundles: list[Bundle], stage: _Stages
) -> None:
    known = {(vote.pair, vote.judge) for vote in outcome.pairs if vote.asked.status != "not_asked"}
    texts = prompt_texts(bundles)
    plan = pairs_to_ask(work, bundles, outcome.votes)
    for pair, judge in plan.pairs:
        item = stage("compare", judge)
        item.planned += 1
        if (pair, judge.spec.name) in known:
            item.stored += 1
            continue
        one, other = texts[pair.one], texts[pair.other]
        secret = work.client.ledger.secret
        question = equivalence_question(one, other, judge.spec.name, secret=secret)
        request = question.request(judge, _LIKELY_FORMAT)
        item.add(judge, request, output_tokens=_VOTE_TOKENS)


SCENARIOS_FILE = "scenarios.csv"


def write_set(job: PromptJob, outcomes: list[Constructed]) -> int:
    """Writes the prompt set and the tables of all votes; how many prompts are in the set.

    Raises:
        StoreError: the folder cannot be written.
    """
    # Beside the prompts stand the texts that they were made of.
    write_scenarios(job.path / SCENARIOS_FILE, job.scenarios.rows)
    return write_tables(
        job.path,
        job.scenarios.rows[: len(outcomes)],
        outcomes,
        job.generator_names,
        models=job.model_strings,
        wanted=job.plan.per_scenario,
        rule=job.plan.equivalence,
    )


def write_report(
    job: PromptJob, outcomes: list[Constructed], n_prompts: int, drawn: PromptMap | None = None
) -> None:
    """Writes prompts.json and prompts.txt.

    Args:
        job: the job.
        outcomes: what became of the scenarios.
        n_prompts: how many prompts are in the set.
        drawn: the map's figures, once there is one.

    Raises:
        StoreError: the folder cannot be written.
    """
    rows = job.scenarios.rows[: len(outcomes)]
    placed = [
        Placed(row.source, row.stratum, outcome)
        for row, outcome in zip(rows, outcomes, strict=True)
    ]
    figures = measure(placed, job.generator_names, job.plan)
    judges = [backend.spec.name for backend in job.models.asked_judges]
    plain = {
        "demonstration": job.is_demonstration,
        "plan": job.plan.to_json(),
        "generators_named": list(job.generator_names),
        "judges_named": judges,
        "notices": list(job.notices),
        "cost_cap": None if job.cap_stop is None else job.cap_stop.to_json(),
        "prompts_in_set": n_prompts,
        **figures.to_json(),
        "map": None if drawn is None else drawn.to_json(),
    }
    text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)
    _write(job.path / FIGURES_FILE, text)
    lines = prompt_lines(
        figures,
        job.plan,
        generators=job.generator_names,
        judges=judges,
        n_scenarios=len(job.scenarios.rows),
        n_prompts=n_prompts,
        demonstration=job.is_demonstration,
        notices=job.notices,
        embedding=None if job.embedding is None else job.embedding.spec.model,
        drawn=drawn,
        stop=job.cap_stop,
    )
    _write(job.path / TEXT_FILE, "\n".join(lines))


def _write(path: Path, text: str) -> None:
    with replaced(path) as part:
        part.write_text(text + "\n", encoding="utf-8")


TOPIC_CHARACTERS = 60
STEREOTYPES = (
    "BBQ's items play on stereotypes of social groups, and models are shown them; what they write "
    "can repeat them"
)


class PromptJob(Job[PromptRun]):
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
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline; see `construct_prompts`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        config = InputConfig.checked(
            out=out, resume=resume, max_cost=max_cost, columns=columns, limit=limit
        )
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
            "templates": [
                load_prompt_template(name).version
                for name in ("construct", "quality", "equivalence")
            ],
        }
        if technology is not None:
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
    def backends(self) -> tuple[Backend, ...]:
        """Everybody who may be asked."""
        extra: tuple[Backend, ...] = () if self.embedding is None else (self.embedding,)
        return (*self.models.generators, *self.models.asked_judges, *extra)

    async def dry_run(self) -> DryRun:
        """Calls and cost of every stage and backend."""
        return DryRun(tuple(await _stage_estimates(self)), (_ASSUMPTION,))

    async def run_stages(self, client: Client) -> list[Constructed]:
        """All scenarios; one that fails leaves the others standing, counted."""
        rows = self.scenarios.rows
        self.begin("construct", total=len(rows), unit="scenarios")
        found: list[Constructed] = []
        async with aclosing(self.construct_each(client)) as outcomes:
            async for outcome in outcomes:
                found.append(outcome)
                self.step(is_troubled=any(b.status != "complete" for b in outcome.bundles))
        self.outcomes = found
        self.outcome["construct"] = counted(found)
        self.over_budget = is_short_of_money(found)

        n_prompts = write_set(self, found)
        self.outcome["construct"]["prompts_in_set"] = n_prompts
        write_report(self, found, n_prompts)
        if self.embedding is not None:
            self.begin("embed", total=0, unit="texts")
            self.outcome["embed"], drawn = await embed_all(self, client)
            write_report(self, found, n_prompts, drawn)
            self.over_budget |= self.outcome["embed"]["not_asked_for_budget"] > 0
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
            most_usd = await most_per_scenario(self)
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
            material_of(scenario, self.plan.per_scenario),
            self.models.generators,
            self.models.asked_judges,
            client,
            self.plan.design,
            self.technology,
        )

    def finished(self, result: list[Constructed]) -> PromptRun:
        """The run; its tables are written by then. The page also tells what all of it cost."""
        from .page import prompt_page_of, write_prompt_page

        write_prompt_page(self.path / REPORT_FILE, prompt_page_of(self.path))
        return PromptRun(self.path)

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


def _asked(outcome: Constructed) -> list[CallOutcome]:
    return [vote.asked for vote in outcome.votes] + [vote.asked for vote in outcome.pairs]


def texts_of(job: PromptJob) -> list[Embedded]:
    """The scenarios and all usable prompts."""
    short = short_names(job.generator_names)
    found: list[Embedded] = []
    for row, outcome in zip(job.scenarios.rows, job.outcomes, strict=False):
        found.append(Embedded(row.scenario_id, row.scenario_id, row.source, "", row.text))
        for bundle in outcome.bundles:
            for block in bundle.usable:
                name = prompt_id(row.scenario_id, PromptRef(bundle.generator, block.number), short)
                found.append(
                    Embedded(
                        name, row.scenario_id, row.source, bundle.generator, block.question,
                        block.angle,
                    )
                )  # fmt: skip
    return found


def count_embeddings(job: PromptJob, texts: Sequence[str], stage: StageCost) -> None:
    """Adds the calls for these texts to an estimate."""
    assert job.embedding is not None  # noqa: S101 - only asked for with a model
    for text in texts:
        request = embedding_request(job.embedding, text)
        key = request.key()
        stage.planned += 1
        if job.ledger.lookup([key]).get(key) is not None:
            stage.stored += 1
        else:
            stage.add(job.embedding, request, output_tokens=0)


async def embed_all(job: PromptJob, client: Client) -> tuple[dict[str, Any], PromptMap]:
    """Embeds everything and writes map.csv and the picture.

    Returns:
        The stage's outcome for run.json (texts embedded, failed, not asked for), and the figures.

    Raises:
        StoreError: the ledger or the folder cannot be written.
    """
    assert job.embedding is not None  # noqa: S101 - only asked for with a model
    items = texts_of(job)
    job.begin("embed", total=len(items), unit="texts")
    slots = asyncio.Semaphore(job.embedding.spec.concurrency + 4)
    backend = job.embedding

    async def one(item: Embedded) -> Vector | str:
        async with slots:
            found = await _embed(client, backend, item.text)
            job.step(is_troubled=isinstance(found, str))
            return found

    tasks = [asyncio.create_task(one(item)) for item in items]
    try:
        vectors = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    reasons = Counter(found for found in vectors if isinstance(found, str))
    sizes = Counter(len(found) for found in vectors if not isinstance(found, str))
    if len(sizes) > 1:
        reasons["vectors of different lengths"] = sum(sizes.values())
    placed = [
        (item, vector)
        for item, vector in zip(items, vectors, strict=True)
        if not isinstance(vector, str) and len(sizes) == 1
    ]
    coordinates, hulls, shares = map_figures(placed, job.plan.projection, seed=job.plan.seed)
    figures = PromptMap(
        backend.spec.model, job.plan.projection, len(items), len(placed), hulls, shares
    )
    _write_map(job, [item for item, _ in placed], coordinates, figures)
    unasked = reasons["budget"] + reasons["interrupted"]
    outcome = {
        "model": backend.spec.model,
        "texts": len(items),
        "embedded": len(placed),
        "failed": len(items) - len(placed) - unasked,
        "not_asked": unasked,
        "not_asked_for_budget": reasons["budget"],
        "reasons": dict(reasons),
    }
    return outcome, figures


async def _embed(client: Client, backend: EmbeddingBackend, text: str) -> Vector | str:
    """The vector, or why there is none."""
    reservation = client.reservation()
    try:
        answer = await client.ask(backend, embedding_request(backend, text), reservation)
        return unpacked(answer.reply.text or "")
    except ProviderError as error:
        return error.fault
    except BudgetSpentError:
        return "budget"
    except StoppedError:
        return "interrupted"
    finally:
        reservation.close()


def _write_map(
    job: PromptJob,
    items: Sequence[Embedded],
    coordinates: Mapping[str, Points],
    figures: PromptMap,
) -> None:

    places: Counter[str] = Counter()
    with csv_table(
        job.path / MAP_FILE, ("name", "source", "scenario_id", "generator", "angle", "x", "y")
    ) as writer:
        for item in items:
            x, y = coordinates[item.source][places[item.source]]
            places[item.source] += 1
            cells = (item.name, item.source, item.scenario_id, item.generator, item.angle)
            writer.write((*(writable(cell) for cell in cells), f"{x:.6g}", f"{y:.6g}"))
    draw_map(job.path / PICTURE, items, coordinates, figures, job.generator_names)
