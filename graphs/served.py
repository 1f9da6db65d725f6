"""The panel as a graph for a LangGraph server: texts in, verdict out; see `langgraph.json`.

The panel is the one of the `panel.yaml` that `$AREOPAGUS_PANEL` names, else the embedded baseline.
Unlike the panel graph itself, whose state never holds a text, this one takes the texts as input:
a server has no other way in.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from ..errors import InputError, InputFault


class ServedInput(TypedDict, total=False):
    """What a client sends: `prompt_text` and `response_text`, and ids where it has them."""

    prompt_text: str
    response_text: str
    response_id: str
    prompt_id: str
    respondent_id: str


class ServedState(ServedInput, total=False):
    """The input, and the verdict with all its judgments."""

    verdict: dict[str, Any]


@cache
def served_panel() -> Any:
    """The panel that the environment names, put together once a process."""
    from ..panel import Panel

    path = os.environ.get("AREOPAGUS_PANEL")
    return Panel.from_file(path) if path else Panel()


async def deliberate_node(state: ServedState) -> dict[str, Any]:
    """The verdict on the response in the state."""
    missing = [name for name in ("prompt_text", "response_text") if name not in state]
    if missing:
        raise InputError([InputFault("input", "must be given", name) for name in missing])
    ids = {
        name: state[name] for name in ("response_id", "prompt_id", "respondent_id") if name in state
    }
    verdict = await served_panel().ascore(state["prompt_text"], state["response_text"], **ids)
    return {"verdict": verdict.to_json()}


def build_served_graph() -> Any:
    """The compiled graph, without a checkpointer: the server brings its own."""
    graph = StateGraph(ServedState, input_schema=ServedInput)
    graph.add_node("deliberate", deliberate_node)
    graph.add_edge(START, "deliberate")
    graph.add_edge("deliberate", END)
    return graph.compile(name="areopagus")


graph = build_served_graph()
