"""The graph of prompt construction: write, check, repair once, filter, compare.

    write → check ┬→ repair (once) → check
                  └→ filter → compare → end

One run is one scenario. All generators write at the same time, each apart from the others; what one
of them refuses or garbles leaves the others standing. Quality is voted on by models that did not
write the prompt, equivalence by two that wrote neither. Every call goes through the desk, so the
ledger makes it resumable. What can be expected to go wrong is a status, not an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from ..judges.models.backend import Backend
from .prompt_construction_blocks import check_set
from .prompt_construction_calls import (
    ask_equivalence,
    ask_quality,
)
from .prompt_construction_judges import (
    Pair,
    PromptRef,
    pair_judges,
    planned_pairs,
    quality_judges,
    quality_outcome,
    vote_passes,
)
from .prompt_construction_state import (
    Bundle,
    Constructed,
    Construction,
    ConstructionState,
    Draft,
    PairVote,
    QualityVote,
    WorkPlan,
    asked_from,
    asked_json,
    usable_numbers,
)
from .prompt_construction_writing import repair_bundle, write_bundle

Result = TypeVar("Result")


async def write_node(state: ConstructionState, runtime: Runtime[Construction]) -> ConstructionState:
    """Every generator's first reply, or why there is none."""
    work = runtime.context
    drafts = await _together([write_bundle(work, generator) for generator in work.generators])
    return {"drafts": {draft.generator: draft.to_json() for draft in drafts}}


async def check_node(state: ConstructionState, runtime: Runtime[Construction]) -> ConstructionState:
    """What is wrong between the prompts of each bundle, as they stand now."""
    technology = runtime.context.material.technology
    drafts: dict[str, dict[str, Any]] = {}
    for name, plain in state.get("drafts", {}).items():
        draft = Draft.from_json(plain)
        checked = replace(draft, blocks=tuple(check_set(draft.blocks, technology=technology)))
        drafts[name] = checked.to_json()
    return {"drafts": drafts}


async def repair_node(
    state: ConstructionState, runtime: Runtime[Construction]
) -> ConstructionState:
    """The prompts at fault written anew; the others stand as they were."""
    work = runtime.context
    drafts = [Draft.from_json(plain) for plain in state.get("drafts", {}).values()]
    mended = await _together([repair_bundle(work, draft) for draft in drafts if draft.wants_repair])
    return {"drafts": {draft.generator: draft.to_json() for draft in mended}}


async def filter_node(
    state: ConstructionState, runtime: Runtime[Construction]
) -> ConstructionState:
    """The votes on quality."""
    work = runtime.context
    bundles = _bundles(work, state)
    texts = _texts(bundles)
    plan = votes_to_ask(work, bundles)
    asked = await _together([ask_quality(work.desk, judge, texts[ref]) for ref, judge in plan])
    return {
        "votes": {
            _vote_key(ref, judge): {
                "prompt": list(ref), "judge": judge.spec.name, "asked": asked_json(found),
            }
            for (ref, judge), found in zip(plan, asked, strict=True)
        }
    }  # fmt: skip


async def compare_node(
    state: ConstructionState, runtime: Runtime[Construction]
) -> ConstructionState:
    """The words of two judges on every pair."""
    work = runtime.context
    bundles = _bundles(work, state)
    texts = _texts(bundles)
    plan = pairs_to_ask(work, bundles, _votes(state))
    asked = await _together(
        [
            ask_equivalence(work.desk, judge, texts[pair.one], texts[pair.other])
            for pair, judge in plan.pairs
        ]
    )
    return {
        "pairs": {
            f"{_ref_key(pair.one)}|{_ref_key(pair.other)}|{judge.spec.name}": {
                "pair": [list(pair.one), list(pair.other)],
                "judge": judge.spec.name,
                "asked": asked_json(found),
            }
            for (pair, judge), found in zip(plan.pairs, asked, strict=True)
        }
    }


def after_check(state: ConstructionState) -> str:
    """Where to go once the checks are done."""
    drafts = (Draft.from_json(plain) for plain in state.get("drafts", {}).values())
    return "repair" if any(draft.wants_repair for draft in drafts) else "filter"


def build_prompt_construction_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; `Construction` is its runtime context."""
    graph: Any = StateGraph(ConstructionState, context_schema=Construction)
    graph.add_node("write", write_node)
    graph.add_node("check", check_node)
    graph.add_node("repair", repair_node)
    graph.add_node("filter", filter_node)
    graph.add_node("compare", compare_node)
    graph.add_edge(START, "write")
    graph.add_edge("write", "check")
    graph.add_conditional_edges("check", after_check, ["repair", "filter"])
    graph.add_edge("repair", "check")
    graph.add_edge("filter", "compare")
    graph.add_edge("compare", END)
    return graph.compile(checkpointer=checkpointer, name="prompt-construction")


@cache
def prompt_construction_graph() -> Any:
    """The graph without a checkpointer, compiled once a process."""
    return build_prompt_construction_graph()


async def construct(work: Construction) -> Constructed:
    """What becomes of one scenario; expected faults are in it, and do not raise.

    Raises:
        StoreError: the ledger cannot be written: nothing more may be paid for.
    """
    from langsmith import tracing_context

    # Whatever the environment says, texts go to the endpoints named and nowhere else.
    with tracing_context(enabled=False):
        state: ConstructionState = await prompt_construction_graph().ainvoke(
            {"drafts": {}, "votes": {}, "pairs": {}}, context=work
        )
    bundles = _bundles(work, state)
    votes = _votes(state)
    pairs = tuple(
        PairVote(_pair(item["pair"]), item["judge"], asked_from(item["asked"]))
        for item in state.get("pairs", {}).values()
    )
    plan = pairs_to_ask(work, bundles, votes)
    return Constructed(work.material.scenario_id, bundles, votes, pairs, plan.unjudged_pairs)


def votes_to_ask(
    work: Construction, bundles: Sequence[Bundle]
) -> tuple[tuple[PromptRef, Backend], ...]:
    """Who is to be asked about the quality of which prompt."""
    found: list[tuple[PromptRef, Backend]] = []
    for bundle in bundles:
        writer = work.generator(bundle.generator)
        judges = quality_judges(writer, work.judges, work.design.filter_judges)
        for block in bundle.usable:
            ref = PromptRef(bundle.generator, block.number)
            found += [(ref, judge) for judge in judges]
    return tuple(found)


def pairs_to_ask(
    work: Construction, bundles: Sequence[Bundle], votes: Sequence[QualityVote]
) -> WorkPlan:
    """Who is to be asked about which pair, and the pairs that nobody can be asked about."""
    design, scenario_id = work.design, work.material.scenario_id
    if design.diversity_of == "none":
        return WorkPlan()
    usable = usable_numbers(bundles)
    if design.diversity_of == "passed":
        outcomes = quality_outcomes(work, bundles, votes)
        # What was not asked yet may pass; whoever estimates plans for it.
        in_set = ("passed", "not_checked", "not_asked")
        usable = {
            name: [n for n in numbers if outcomes[PromptRef(name, n)] in in_set]
            for name, numbers in usable.items()
        }
    pairs: list[tuple[Pair, Backend]] = []
    unjudged: list[Pair] = []
    for pair in planned_pairs(
        usable, cross_pairs=design.cross_pairs, scenario_id=scenario_id, seed=design.seed
    ):
        judges = pair_judges(
            work.generator(pair.one.generator),
            work.generator(pair.other.generator),
            work.judges,
            scenario_id=scenario_id,
            seed=design.seed,
        )
        pairs += [(pair, judge) for judge in judges]
        unjudged += [] if judges else [pair]
    return WorkPlan((), tuple(pairs), tuple(unjudged))


def quality_outcomes(
    work: Construction, bundles: Sequence[Bundle], votes: Sequence[QualityVote]
) -> dict[PromptRef, str]:
    """Prompt to what its votes come to, for every usable prompt."""
    cast: dict[PromptRef, list[QualityVote]] = {}
    for vote in votes:
        cast.setdefault(vote.prompt, []).append(vote)
    found: dict[PromptRef, str] = {}
    for bundle in bundles:
        for block in bundle.usable:
            ref = PromptRef(bundle.generator, block.number)
            mine = cast.get(ref, [])
            read = [vote_passes(vote.asked.value) for vote in mine if vote.asked.status == "read"]
            found[ref] = quality_outcome(
                sum(read),
                len(read) - sum(read),
                len(mine) - len(read),
                is_unasked=any(vote.asked.status == "not_asked" for vote in mine),
            )
    return found


def _bundles(work: Construction, state: ConstructionState) -> tuple[Bundle, ...]:
    drafts = state.get("drafts", {})
    names = [generator.spec.name for generator in work.generators]
    return tuple(Draft.from_json(drafts[name]).bundle() for name in names)


def _texts(bundles: Sequence[Bundle]) -> dict[PromptRef, str]:
    return {
        PromptRef(bundle.generator, block.number): block.question
        for bundle in bundles
        for block in bundle.usable
    }


def _votes(state: ConstructionState) -> tuple[QualityVote, ...]:
    return tuple(
        QualityVote(_ref(item["prompt"]), item["judge"], asked_from(item["asked"]))
        for item in state.get("votes", {}).values()
    )


def _ref(plain: Sequence[Any]) -> PromptRef:
    return PromptRef(str(plain[0]), int(plain[1]))


def _pair(plain: Sequence[Sequence[Any]]) -> Pair:
    return Pair(_ref(plain[0]), _ref(plain[1]))


def _ref_key(ref: PromptRef) -> str:
    return f"{ref.generator}#{ref.number}"


def _vote_key(ref: PromptRef, judge: Backend) -> str:
    return f"{_ref_key(ref)}|{judge.spec.name}"


async def _together(work: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """All results in order; where one raises, the others are cancelled and it is raised."""
    tasks = [asyncio.ensure_future(item) for item in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
