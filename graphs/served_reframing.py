"""The reframing graph for a LangGraph server: a prompt in, its variants out; see `langgraph.json`.

The rewriters are the models of the `panel.yaml` that `$AREOPAGUS_PANEL` names, else the embedded
stand-in; with two models or more, another one reviews.
"""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from ..errors import InputError, InputFault
from .served import served_panel


class ReframingInput(TypedDict, total=False):
    """What a client sends: `prompt_text`, and `prompt_id` where it has one."""

    prompt_text: str
    prompt_id: str


class ServedReframing(ReframingInput, total=False):
    """The input, and what became of rewriting it."""

    reframed: dict[str, Any]


async def reframe_node(state: ServedReframing) -> dict[str, Any]:
    """The four variants of the prompt in the state, with statuses and reasons."""
    if not (state.get("prompt_text") or "").strip():
        raise InputError([InputFault("input", "must be given", "prompt_text")])
    from ..stressing.rewriting import reframe_one

    outcome = await reframe_one(
        served_panel(), state.get("prompt_id", "prompt"), state["prompt_text"]
    )
    return {"reframed": outcome.to_json()}


def build_served_reframing() -> Any:
    """The compiled graph, without a checkpointer: the server brings its own."""
    graph = StateGraph(ServedReframing, input_schema=ReframingInput)
    graph.add_node("reframe", reframe_node)
    graph.add_edge(START, "reframe")
    graph.add_edge("reframe", END)
    return graph.compile(name="areopagus-reframing")


graph = build_served_reframing()
