"""Calls and cost of a construction, as far as the ledger tells; nothing is sent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..experiment.dry_run import StageCost
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
from ..judges.models.request import ResponseFormat
from .embedding import EmbeddingBackend, embedding_request
from .models import Models

if TYPE_CHECKING:
    from ..records.ledger import Ledger


_WORDS = 60
"""Words that a prompt which is not written yet is assumed to have."""
_BLOCK_TOKENS = 130
_SCRATCHPAD_TOKENS = 250
_VOTE_TOKENS = 110
ASSUMPTION = (
    "Prompts that are not written yet are assumed usable, of some sixty words each; one repair of "
    "a reply comes on top where it is needed."
)
_LIKELY_FORMAT: ResponseFormat = "json_schema"
_Stages = Callable[[str, Backend], StageCost]


async def stage_costs(
    done: AsyncIterator[tuple[Construction, Constructed]],
    models: Models,
    ledger: Ledger,
    embedding: EmbeddingBackend | None,
) -> list[StageCost]:
    """Calls and cost of every stage and backend, in order.

    Repairs are not foreseen: they are in the most that a run may cost, and in no count of calls,
    unless a stored reply is known to need one.

    Args:
        done: every scenario with what the ledger has of it, by a client that sends nothing.
        models: who writes and judges.
        ledger: the store of calls.
        embedding: the model of the map, where there is one.
    """
    stages: dict[tuple[str, str], StageCost] = {}

    def stage(name: str, backend: Backend) -> StageCost:
        key = (name, backend.spec.name)
        return stages.setdefault(key, StageCost(name, backend.spec.name))

    for backend in models.generators:
        stage("generate", backend)
    for name in ("filter", "compare"):
        for backend in models.asked_judges:
            stage(name, backend)
    texts: list[str] = []
    async for work, outcome in done:
        bundles = [_bundle(work, bundle, stage) for bundle in outcome.bundles]
        _count_votes(work, outcome, bundles, stage)
        _count_pairs(work, outcome, bundles, stage)
        texts.append(work.material.text)
        texts += [block.question for bundle in bundles for block in bundle.usable]
    if embedding is not None:
        _count_embeddings(embedding, ledger, texts, stage("embed", embedding))
    return [item for item in stages.values() if item.planned or item.stage == "generate"]


def most_per_scenario(stages: Sequence[StageCost]) -> float:
    """The most that a scenario still to be written may cost, in US dollars, on average."""
    found = [item for item in stages if item.stage != "embed"]
    writing = [item for item in found if item.stage == "generate"]
    unwritten = sum(item.calls for item in writing)
    return sum(item.most_usd or 0.0 for item in found) / max(1, unwritten // max(1, len(writing)))


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


def _count_embeddings(
    embedding: EmbeddingBackend, ledger: Ledger, texts: Sequence[str], stage: StageCost
) -> None:
    for text in texts:
        request = embedding_request(embedding, text)
        key = request.key()
        stage.planned += 1
        if ledger.lookup([key]).get(key) is not None:
            stage.stored += 1
        else:
            stage.add(embedding, request, output_tokens=0)
