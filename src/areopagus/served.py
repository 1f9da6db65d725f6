"""The graphs that `langgraph.json` names for a LangGraph server: texts in, results out.

    panel       a prompt and a response in, the verdict out
    reframing   a prompt in, its variants out
    prompts     a scenario in, prompts for it out

The models are those of the `panel.yaml` that `$AREOPAGUS_PANEL` names, else the embedded
stand-ins. Other models than the writer review variants and judge prompts, where there are any.
Unlike the graphs themselves, whose states never hold a text, these take texts as input: a server
has no other way in. They are compiled without a checkpointer: the server brings its own.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from typing import Any, TypedDict, cast

from langgraph.graph import END, START, StateGraph

from .errors import InputError, InputFault


@cache
def served_panel() -> Any:
    """The panel that the environment names, put together once a process."""
    from .panel import Panel

    path = os.environ.get("AREOPAGUS_PANEL")
    return Panel.from_file(path) if path else Panel()


class ResponseInput(TypedDict, total=False):
    """What a client sends: `prompt_text` and `response_text`, and ids where it has them."""

    prompt_text: str
    response_text: str
    response_id: str
    prompt_id: str
    respondent_id: str


class ResponseState(ResponseInput, total=False):
    """The input, and the verdict with all its judgments."""

    verdict: dict[str, Any]


class PromptInput(TypedDict, total=False):
    """What a client sends: `prompt_text`, and `prompt_id` where it has one."""

    prompt_text: str
    prompt_id: str


class PromptState(PromptInput, total=False):
    """The input, and what became of rewriting it."""

    reframed: dict[str, Any]


class ScenarioInput(TypedDict, total=False):
    """What a client sends: `scenario_text`, and id, source and stratum where it has them."""

    scenario_text: str
    scenario_id: str
    source: str
    stratum: str


class ScenarioState(ScenarioInput, total=False):
    """The input, and what became of it."""

    constructed: dict[str, Any]


async def score_node(state: ResponseState) -> dict[str, Any]:
    """The verdict on the response in the state; an empty text is given, a missing one is not."""
    given = cast("dict[str, Any]", state)
    _require(name for name in ("prompt_text", "response_text") if name not in given)
    names = ("response_id", "prompt_id", "respondent_id")
    ids = {name: given[name] for name in names if name in given}
    verdict = await served_panel().ascore(given["prompt_text"], given["response_text"], **ids)
    return {"verdict": verdict.to_json()}


async def reframe_node(state: PromptState) -> dict[str, Any]:
    """The variants of the prompt in the state, with statuses and reasons."""
    text = state.get("prompt_text") or ""
    _require(["prompt_text"] if not text.strip() else [])
    from .stress_test.rewriting import reframe_one

    outcome = await reframe_one(served_panel().spec, state.get("prompt_id", "prompt"), text)
    return {"reframed": outcome.to_json()}


async def construct_node(state: ScenarioState) -> dict[str, Any]:
    """The prompts for the scenario in the state, with all votes."""
    text = state.get("scenario_text") or ""
    _require(["scenario_text"] if not text.strip() else [])
    from .prompts.job import construct_one
    from .prompts.scenarios import OTHER, Scenario

    scenario = Scenario(
        state.get("scenario_id", "scenario"),
        state.get("source", OTHER),
        state.get("stratum", ""),
        text,
    )
    return {"constructed": await construct_one(served_panel().spec, scenario)}


def _require(missing: Iterable[str]) -> None:
    faults = [InputFault("input", "must be given", name) for name in missing]
    if faults:
        raise InputError(faults)


def _served(
    name: str, state: type, given: type, node: str, work: Callable[..., Awaitable[dict[str, Any]]]
) -> Any:
    # Any: the overloads of add_node do not know a node whose state is a variable.
    graph: Any = StateGraph(state, input_schema=given)
    graph.add_node(node, work)
    graph.add_edge(START, node)
    graph.add_edge(node, END)
    return graph.compile(name=name)


panel = _served("areopagus", ResponseState, ResponseInput, "score", score_node)
reframing = _served("areopagus-reframing", PromptState, PromptInput, "reframe", reframe_node)
prompts = _served("areopagus-prompts", ScenarioState, ScenarioInput, "construct", construct_node)
