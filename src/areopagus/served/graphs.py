"""The panel, reframing and prompt construction as graphs that take texts.

The nodes and edges are those of `areopagus.graphs`. There a node finds texts, models and ledger in
a runtime context of objects; here the texts are in the state and the context is what a client
chose, so each node is `bound`: it is given the context that it needs, made of the two, and runs on
the package's own event loop.

As part of another graph, a graph answers in a mapping by id, so that many answers can be merged.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from ..async_runner import run_async
from ..errors import InputError, InputFault
from ..graphs.generate import Generated, Generation, add_generate_nodes, merged
from ..graphs.panel import (
    PanelContext,
    PanelState,
    add_panel_nodes,
    aggregate_node,
    ask_personas,
    judge_as,
    persona_node,
    plan_first,
)
from .run_context import JudgingContext, ReframingContext, RefusedInputError, RunContext

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

    from ..graphs.prompt_construction import Construction
    from ..graphs.reframing import Assignment, ReframingTask
    from ..records.types import Sample

State = Mapping[str, Any]
Change = dict[str, Any]
Node = Callable[[Any, Any], Awaitable[Any]]


class ResponseInput(TypedDict, total=False):
    """What a client sends: `prompt_text` and `response_text`, and ids where it has them.

    `repeated_text`: whether the respondent gives this text to another prompt too.
    """

    prompt_text: str
    response_text: str
    response_id: str
    prompt_id: str
    respondent_id: str
    repeated_text: bool


class ResponseState(ResponseInput, PanelState, total=False):
    """The texts, and the panel's state on the way to the verdict."""


class ResponsePart(ResponseState, total=False):
    """The same as part of another graph, with the verdict by its response's id."""

    verdicts: Annotated[dict[str, Any], merged]


class ResponseOutput(TypedDict, total=False):
    """What a client gets: the verdict, with all its judgments."""

    verdict: dict[str, Any]


class VerdictsOutput(TypedDict, total=False):
    """What another graph gets."""

    verdicts: dict[str, Any]


class PromptInput(TypedDict, total=False):
    """What a client sends: `prompt_text`, and `prompt_id` where it has one."""

    prompt_text: str
    prompt_id: str


class WritingState(TypedDict, total=False):
    """The fields of a `Generated` as plain values, which any checkpointer holds."""

    written: dict[str, Any] | None
    faults: list[Any]
    skipped: list[str]
    whole: list[Any]
    ended: str | None
    reply: str
    response_format: str | None
    problem: str | None
    repaired: list[Any] | None
    review: dict[str, Any] | None
    passed: list[str]
    calls: Annotated[dict[str, Any], merged]


class PromptState(WritingState, PromptInput, total=False):
    """The prompt, who rewrites and reviews it where that was decided, and what comes of it."""

    rewriter: str
    reviewer: str | None
    reframed: dict[str, Any]


class PromptOutput(TypedDict, total=False):
    """What a client gets: the variants with statuses and reasons."""

    reframed: dict[str, Any]


class ScenarioInput(TypedDict, total=False):
    """What a client sends: `scenario_text`, and id, source and stratum where it has them."""

    scenario_text: str
    scenario_id: str
    source: str
    stratum: str


class ScenarioState(ScenarioInput, total=False):
    """The scenario; bundles and votes as plain values; and what becomes of it."""

    bundles: Annotated[dict[str, Any], merged]
    votes: list[Any]
    constructed: dict[str, Any]


class BundleState(WritingState, ScenarioInput, total=False):
    """One generator at work on a scenario."""

    generator: str
    bundles: dict[str, Any]


class BundlesOutput(TypedDict, total=False):
    """What one generator brings."""

    bundles: dict[str, Any]


class ScenarioOutput(TypedDict, total=False):
    """What a client gets: the prompts with all votes."""

    constructed: dict[str, Any]


_WATCHED = (
    "start the server with `langgraph dev --allow-blocking`: else it forbids every thread that has "
    "an event loop to read a file, also the one on which Areopagus works beside the server's"
)


def context_of(runtime: Runtime[Any], kind: type[RunContext]) -> Any:
    """What the run's client chose; what the server's file says where it chose nothing."""
    given = runtime.context
    if given is None:
        return kind()
    return given if isinstance(given, RunContext) else kind.of(given)


def on_own_loop(work: Callable[..., Any]) -> Any:
    """The node, run on the package's loop, where ledger and connections live."""

    @wraps(work)
    async def node(state: Any, runtime: Any) -> Any:
        if os.environ.get("LANGGRAPH_ALLOW_BLOCKING") == "false":
            raise RefusedInputError(_WATCHED)
        try:
            return await run_async(work(state, runtime))
        except InputError as error:
            raise RefusedInputError(error.faults, hint=error.hint) from error

    # LangGraph would read the hints of what is wrapped, and take its state for the node's.
    del node.__wrapped__
    node.__annotations__ = {}
    return node


def bound(
    resolve: Callable[[Any, Any], Awaitable[Any]],
    *,
    read: Callable[[Any], Any] = lambda state: state,
    plain: Callable[[Any], Any] = lambda change: change,
) -> Callable[[Node], Any]:
    """Makes nodes and routes that are given another context.

    Args:
        resolve: state and runtime to the context.
        read: the state as the node knows it.
        plain: what a node returns as the state holds it.
    """

    def bind(node: Node) -> Any:
        @wraps(node)
        async def work(state: Any, runtime: Any) -> Any:
            mine = runtime.override(context=await resolve(state, runtime))
            found = node(read(state), mine)
            return plain(await found if isinstance(found, Awaitable) else found)

        return on_own_loop(work)

    return bind


_GENERATED: TypeAdapter[Generated] = TypeAdapter(Generated)


@lru_cache(maxsize=1)
def _fields() -> dict[str, TypeAdapter[Any]]:
    return {name: TypeAdapter(kind) for name, kind in get_type_hints(Generated).items()}


def generated_of(state: Mapping[str, Any]) -> Generated:
    """The state of the generate graph in a `WritingState`."""
    return _GENERATED.validate_python({k: state[k] for k in _fields() if k in state})


def _plain_change(change: Any) -> Any:
    if not isinstance(change, dict):
        return change  # where a route leads
    return {k: _fields()[k].dump_python(value, mode="json") for k, value in change.items()}


def require(state: Any, *names: str, blank: Iterable[str] = ()) -> None:
    """Refuses a state without these texts.

    Args:
        state: a mapping.
        names: what must be there.
        blank: those of them that may be empty.

    Raises:
        InputError: with all that are missing.
    """
    may_be_blank = set(blank)
    faults = [
        InputFault("input", "must be given", name)
        for name in names
        if state.get(name) is None or not (name in may_be_blank or str(state[name]).strip())
    ]
    if faults:
        raise InputError(faults)


# The panel


def sample_of(state: State) -> Sample:
    """The response in the state; an empty text is one, a missing one is not."""
    from ..experiment.single import sample_from

    require(state, "prompt_text", "response_text", blank=("prompt_text", "response_text"))
    return sample_from(
        state["prompt_text"],
        state["response_text"],
        state.get("response_id", "response"),
        state.get("prompt_id", "prompt"),
        state.get("respondent_id", "unnamed"),
    )


async def _panel_context(state: State, runtime: Runtime[Any]) -> PanelContext:
    from ..experiment.single import panel_context

    sample = sample_of(state)
    chosen = context_of(runtime, JudgingContext)
    spec = (await asyncio.to_thread(lambda: chosen.opened)).spec
    repeated = state.get("repeated_text", False)
    return await panel_context(chosen.asking, spec, sample, repeated_text=repeated)


async def whole_verdict_node(state: State, runtime: Runtime[PanelContext]) -> Change:
    """`aggregate`, with the judgments in the verdict, in the order of the plan."""
    change: Change = dict(await aggregate_node(cast("PanelState", state), runtime))
    if verdict := change["verdict"]:
        rows = state["judgments"] | change["judgments"]
        verdict = verdict | {"judgments": [rows[key] for key in state["planned"]]}
        sample = runtime.context.sample
        change |= {"verdict": verdict, "verdicts": {sample.response_id: verdict}}
    return change


@lru_cache(maxsize=32)
def panel_graph(personas: Sequence[str], models: str, *, is_part: bool = False) -> Any:
    """The panel with a node for each persona.

    Args:
        personas: their ids.
        models: the backends on which each of them judges, as a drawing says it.
        is_part: see the head of this module.
    """
    from langgraph.graph import StateGraph

    graph: Any = StateGraph(
        ResponsePart if is_part else ResponseState,
        context_schema=JudgingContext,
        input_schema=ResponseInput,
        output_schema=VerdictsOutput if is_part else ResponseOutput,
    )
    bind = bound(_panel_context)

    def with_judgments(node: Any) -> Any:
        return bind(whole_verdict_node if node is aggregate_node else node)

    judges = {persona_node(name): judge_as(name) for name in personas}

    async def ask(state: PanelState) -> list[str] | str:
        found = await ask_personas(state)
        if missing := [name for name in found if name not in judges and found != "aggregate"]:
            raise InputError(
                f"this graph has no node {missing[0]}: it was made for other personas than the "
                "context of this run names; make it for that context"
            )
        return found

    add_panel_nodes(
        graph,
        ask,
        judges,
        bound=with_judgments,
        first=plan_first,
        metadata={"on": models},
    )
    return graph.compile(name="areopagus")


# Reframing


def _prompt_id(state: State) -> str:
    return str(state.get("prompt_id", "prompt"))


async def _reframing(
    state: State, runtime: Runtime[Any]
) -> tuple[ReframingTask, Assignment, RunContext]:
    """What is asked of whom; where nobody was assigned, by the panel's models."""
    from ..graphs.framings import load_framings
    from ..graphs.reframing import Assignment, ReframingTask, assign_rewriters
    from ..stress_test.rewriting import require_stand_ins, rewriters_from

    require(state, "prompt_text")
    prompt_id, text = _prompt_id(state), state["prompt_text"]
    chosen: ReframingContext = context_of(runtime, ReframingContext)

    def made() -> tuple[ReframingTask, Assignment]:
        opened = chosen.opened
        framings = load_framings(chosen.framings)
        writers, reviewers = rewriters_from(opened.settings_of(chosen.rewriters), opened.spec)
        require_stand_ins(framings, writers)
        task = ReframingTask(text, tuple(framings))
        if "rewriter" not in state:
            who = assign_rewriters([prompt_id], writers, reviewers=reviewers)
            return task, who[prompt_id]
        known = {one.spec.name: one for one in (*reviewers, *writers)}
        reviewer = state.get("reviewer")
        return task, Assignment(
            known[state["rewriter"]], None if reviewer is None else known[reviewer]
        )

    return (*await asyncio.to_thread(made), chosen)


async def _reframing_work(state: State, runtime: Runtime[Any]) -> Generation:
    task, who, chosen = await _reframing(state, runtime)
    asked = [who.rewriter, who.reviewer]
    client = await chosen.asking.of(one for one in asked if one is not None)
    return Generation(task, client, who.rewriter, who.reviewer)


@lru_cache(maxsize=2)
def reframing_graph(context: type[RunContext] = ReframingContext, *, is_part: bool = False) -> Any:
    """A prompt in, its variants out."""
    from langgraph.graph import END, StateGraph

    from ..graphs.reframing import reframed

    async def result(state: State, runtime: Any) -> Change:
        task, who, _ = await _reframing(state, runtime)
        made, prompt_id = generated_of(state), _prompt_id(state)
        outcome = reframed(prompt_id, task, made, who.rewriter, who.reviewer).to_json()
        return {"reframed": {prompt_id: outcome} if is_part else outcome}

    graph: Any = StateGraph(
        PromptState,
        context_schema=context,
        input_schema=PromptState if is_part else PromptInput,
        output_schema=PromptOutput,
    )
    bind = bound(_reframing_work, read=generated_of, plain=_plain_change)
    add_generate_nodes(graph, bound=bind, end="result")
    graph.add_node("result", on_own_loop(result))
    graph.add_edge("result", END)
    return graph.compile(name="areopagus-reframing")


# Prompts


async def _construction(state: State, runtime: Runtime[Any]) -> Construction:
    from ..prompts.job import construction_of
    from ..prompts.scenarios import OTHER, Scenario

    require(state, "scenario_text")
    scenario = Scenario(
        state.get("scenario_id", "scenario"),
        state.get("source", OTHER),
        state.get("stratum", ""),
        state["scenario_text"],
    )
    chosen: RunContext = context_of(runtime, RunContext)
    spec = (await asyncio.to_thread(lambda: chosen.opened)).spec
    asking = chosen.asking
    work = await asyncio.to_thread(construction_of, spec, scenario, asking.client)
    await asking.of((*work.generators, *work.judges))
    return work


async def _bundle_work(state: State, runtime: Runtime[Any]) -> Generation:
    work = await _construction(state, runtime)
    return Generation(work.task, work.client, work.generator(state["generator"]))


@lru_cache(maxsize=1)
def _bundle_graph() -> Any:
    from langgraph.graph import END, StateGraph

    from ..graphs.prompt_construction import Bundle, bundle_of

    async def bundle(state: State, runtime: Any) -> Change:
        work = await _construction(state, runtime)
        found = bundle_of(state["generator"], generated_of(state), work.task)
        return {"bundles": {state["generator"]: _plain(found, Bundle)}}

    graph: Any = StateGraph(BundleState, context_schema=RunContext, output_schema=BundlesOutput)
    bind = bound(_bundle_work, read=generated_of, plain=_plain_change)
    add_generate_nodes(graph, bound=bind, end="bundle")
    graph.add_node("bundle", on_own_loop(bundle))
    graph.add_edge("bundle", END)
    return graph.compile(name="write")


@lru_cache(maxsize=1)
def prompts_graph() -> Any:
    """A scenario in, prompts for it out: all generators write, then the others vote."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    from ..graphs.prompt_construction import (
        Bundle,
        Constructed,
        QualityVote,
        vote_on_pairs,
        vote_on_quality,
    )
    from ..prompts.job import constructed_json

    async def plan(state: State, runtime: Any) -> Change:
        work = await _construction(state, runtime)
        return {"bundles": {one.spec.name: None for one in work.generators}}

    async def each_generator(state: State) -> list[Any]:
        scenario = {name: state[name] for name in ScenarioInput.__annotations__ if name in state}
        return [Send("write", {**scenario, "generator": name}) for name in state["bundles"]]

    def bundles_of(state: State) -> tuple[Bundle, ...]:
        return tuple(_read(one, Bundle) for one in state["bundles"].values())

    async def vote(state: State, runtime: Any) -> Change:
        work = await _construction(state, runtime)
        votes = await vote_on_quality(work, bundles_of(state))
        return {"votes": [_plain(one, QualityVote) for one in votes]}

    async def compare(state: State, runtime: Any) -> Change:
        work = await _construction(state, runtime)
        bundles = bundles_of(state)
        votes = tuple(_read(one, QualityVote) for one in state["votes"])
        pairs, unjudged = await vote_on_pairs(work, bundles, votes)
        found = Constructed(work.material.scenario_id, bundles, votes, pairs, unjudged)
        return {"constructed": constructed_json(found)}

    graph: Any = StateGraph(
        ScenarioState,
        context_schema=RunContext,
        input_schema=ScenarioInput,
        output_schema=ScenarioOutput,
    )
    graph.add_node("plan", on_own_loop(plan))
    graph.add_node("write", _bundle_graph())
    graph.add_node("vote", on_own_loop(vote))
    graph.add_node("compare", on_own_loop(compare))
    graph.add_edge(START, "plan")
    graph.add_conditional_edges("plan", each_generator, ["write"])
    graph.add_edge("write", "vote")
    graph.add_edge("vote", "compare")
    graph.add_edge("compare", END)
    return graph.compile(name="areopagus-prompts")


def _plain(value: Any, kind: Any) -> Any:
    return TypeAdapter(kind).dump_python(value, mode="json")


def _read(value: Any, kind: Any) -> Any:
    return TypeAdapter(kind).validate_python(value)
