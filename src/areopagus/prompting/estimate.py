"""What a construction would call and cost, stage by stage, without sending anything.

The graph is rehearsed on what the ledger holds: a stored prompt is judged with its own text; of
what is not written yet, every prompt wanted is assumed, usable and of the usual length.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from ..access import prepare_all
from ..graphs.prompt_brief import Block
from ..graphs.prompt_construction import (
    Bundle,
    Constructed,
    Construction,
    PromptRef,
    equivalence_request,
    generation_request,
    quality_request,
)
from ..judges.models.backend import Backend
from ..judges.models.client import Desk
from ..judges.models.request import Rung
from ..loop import run_sync
from ..stressing.estimate import StageEstimate

if TYPE_CHECKING:
    from .job import PromptJob

__all__ = ["StageEstimate", "calls_left", "rehearse"]

WORDS = 60
"""Words that a prompt which is not written yet is assumed to have."""
_BLOCK_TOKENS = 130
_SCRATCHPAD_TOKENS = 250
_VOTE_TOKENS = 110
_RUNG: Rung = "json_schema"
_Stages = Callable[[str, Backend], StageEstimate]


def rehearse(job: PromptJob) -> list[StageEstimate]:
    """Calls and cost of every stage and backend, in order.

    Repairs are not foreseen: they are in the most that a run may cost, and in no count of calls,
    unless a stored reply is known to need one.

    Raises:
        InputError: unknown providers, and parameters that a model does not take.
    """
    prepare_all(job.backends)
    return run_sync(_rehearse_and_close(job))


async def calls_left(job: PromptJob) -> dict[str, int]:
    """Backend to the calls that the ledger cannot answer."""
    left: dict[str, int] = {}
    for item in await _rehearse(job):
        left[item.backend] = left.get(item.backend, 0) + item.calls
    return left


async def most_per_scenario(job: PromptJob) -> float:
    """The most that a scenario still to be written may cost, in US dollars, on average."""
    found = [item for item in await _rehearse(job) if item.stage != "embed"]
    unwritten = sum(item.calls for item in found if item.stage == "generate")
    scenarios = max(1, unwritten // max(1, len(job.models.generators)))
    return sum(item.most_usd or 0.0 for item in found) / scenarios


async def _rehearse_and_close(job: PromptJob) -> list[StageEstimate]:
    try:
        return await _rehearse(job)
    finally:
        await job.close()


async def _rehearse(job: PromptJob) -> list[StageEstimate]:
    stages: dict[tuple[str, str], StageEstimate] = {}

    def stage(name: str, backend: Backend) -> StageEstimate:
        key = (name, backend.spec.name)
        return stages.setdefault(key, StageEstimate(name, backend.spec.name))

    for backend in job.models.generators:
        stage("generate", backend)
    for name in ("filter", "compare"):
        for backend in job.models.asked_judges:
            stage(name, backend)
    desk = Desk(job.ledger)
    desk.stop()  # what is stored is answered, nothing is sent
    texts: list[str] = []
    async with aclosing(job.construct_each(desk, at_once=8)) as outcomes:
        rows = iter(job.scenarios.rows)
        async for outcome in outcomes:
            scenario = next(rows)
            work = job.construction(scenario, desk)
            bundles = [_bundle(work, bundle, stage) for bundle in outcome.bundles]
            _count_votes(work, outcome, bundles, stage)
            _count_pairs(work, outcome, bundles, stage)
            texts.append(scenario.text)
            texts += [block.question for bundle in bundles for block in bundle.usable]
    if job.embedding is not None:
        from .map import count_embeddings

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
    request = generation_request(backend, work.material, secret=work.desk.ledger.secret, rung=_RUNG)
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
    from ..graphs.prompt_construction import votes_to_ask

    known = {
        (vote.prompt, vote.judge) for vote in outcome.votes if vote.asked.status != "not_asked"
    }
    texts = _texts(bundles)
    for ref, judge in votes_to_ask(work, bundles):
        item = stage("filter", judge)
        item.planned += 1
        if (ref, judge.spec.name) in known:
            item.stored += 1
            continue
        request = quality_request(judge, texts[ref], secret=work.desk.ledger.secret, rung=_RUNG)
        item.add(judge, request, output_tokens=_VOTE_TOKENS)


def _count_pairs(
    work: Construction, outcome: Constructed, bundles: list[Bundle], stage: _Stages
) -> None:
    from ..graphs.prompt_construction import pairs_to_ask

    known = {(vote.pair, vote.judge) for vote in outcome.pairs if vote.asked.status != "not_asked"}
    texts = _texts(bundles)
    plan = pairs_to_ask(work, bundles, outcome.votes)
    for pair, judge in plan.pairs:
        item = stage("compare", judge)
        item.planned += 1
        if (pair, judge.spec.name) in known:
            item.stored += 1
            continue
        request = equivalence_request(
            judge, texts[pair.one], texts[pair.other], secret=work.desk.ledger.secret, rung=_RUNG
        )
        item.add(judge, request, output_tokens=_VOTE_TOKENS)


def _texts(bundles: list[Bundle]) -> dict[PromptRef, str]:
    return {
        PromptRef(bundle.generator, block.number): block.question
        for bundle in bundles
        for block in bundle.usable
    }
