"""Prompt construction for a LangGraph server: a scenario in, prompts out; see `langgraph.json`.

The models of the `panel.yaml` that `$AREOPAGUS_PANEL` names write, and judge what the others wrote;
without one the embedded stand-in writes and nobody judges.
"""

from __future__ import annotations

from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from ..errors import InputError, InputFault
from .served import served_panel


class ScenarioInput(TypedDict, total=False):
    """What a client sends: `scenario_text`, and id, source and stratum where it has them."""

    scenario_text: str
    scenario_id: str
    source: str
    stratum: str


class ServedConstruction(ScenarioInput, total=False):
    """The input, and what became of it."""

    constructed: dict[str, Any]


async def construct_node(state: ServedConstruction) -> dict[str, Any]:
    """The prompts for the scenario in the state, with all votes."""
    text = state.get("scenario_text") or ""
    if not text.strip():
        raise InputError([InputFault("input", "must be given", "scenario_text")])
    from ..prompting.one_scenario import construct_one
    from ..prompting.scenarios import OTHER, Scenario

    scenario = Scenario(
        state.get("scenario_id", "scenario"),
        state.get("source", OTHER),
        state.get("stratum", ""),
        text,
    )
    return {"constructed": await construct_one(served_panel(), scenario)}


def build_served_prompts() -> Any:
    """The compiled graph, without a checkpointer: the server brings its own."""
    graph = StateGraph(ServedConstruction, input_schema=ScenarioInput)
    graph.add_node("construct", construct_node)
    graph.add_edge(START, "construct")
    graph.add_edge("construct", END)
    return graph.compile(name="areopagus-prompts")


graph = build_served_prompts()
