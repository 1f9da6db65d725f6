"""Calls and cost of a construction, as far as the ledger tells; nothing is sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from ..experiment.dry_run import DryRun, StageCost
from ..graphs.prompt_construction import (
    Bundle,
    Constructed,
    Construction,
    pairs_to_ask,
    prompt_texts,
    votes_to_ask,
)
from ..graphs.prompt_writing import Block, equivalence_question, quality_question
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.models.request import ResponseFormat
from ..records.ledger import Ledger
from .embedding import EmbeddingBackend, embedding_request
from .models import Models
from .scenarios import Scenario, ScenarioSet

_WORDS = 60
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


class Priced(Protocol):
    """What is read of a job to price it."""

    scenarios: ScenarioSet
    models: Models
    embedding: EmbeddingBackend | None

    @property
    def ledger(self) -> Ledger: ...

    def construct_each(
        self, client: Client, *, at_once: int | None = None
    ) -> AsyncGenerator[Constructed, None]: ...

    def construction(self, scenario: Scenario, client: Client) -> Construction: ...


async def most_per_scenario(job: Priced) -> float:
    """The most that a scenario still to be written may cost, in US dollars, on average."""
    found = [item for item in await _stages(job) if item.stage != "embed"]
    unwritten = sum(item.calls for item in found if item.stage == "generate")
    scenarios = max(1, unwritten // max(1, len(job.models.generators)))
    return sum(item.most_usd or 0.0 for item in found) / scenarios


async def dry_run(job: Priced) -> DryRun:
    """Calls and cost of every stage and backend, in order."""
    return DryRun(tuple(await _stages(job)), (_ASSUMPTION,))


async def _stages(job: Priced) -> list[StageCost]:
    """The stages of the dry run.

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
        _count_embeddings(job, texts, stage("embed", job.embedding))
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
    words = " ".join(["word"] * _WORDS)
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


def _count_embeddings(job: Priced, texts: Sequence[str], stage: StageCost) -> None:
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
