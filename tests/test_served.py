"""The graphs of `langgraph.json` as a LangGraph server would load and call them."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import InputError
from areopagus.graphs.framings import BUILTIN
from areopagus.served import served_panel

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _fresh_panel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path))
    monkeypatch.delenv("AREOPAGUS_PANEL", raising=False)
    served_panel.cache_clear()
    yield
    if served_panel.cache_info().currsize:
        served_panel().close()
    served_panel.cache_clear()


def named(graph: str) -> Any:
    place = json.loads((ROOT / "langgraph.json").read_text())["graphs"][graph]
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


@pytest.fixture
def panel() -> Any:
    return named("panel")


@pytest.fixture
def reframing() -> Any:
    return named("reframing")


def test_every_graph_named_can_be_loaded() -> None:
    graphs = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    nodes = {name: sorted(named(name).get_graph().nodes) for name in graphs}
    assert nodes == {
        "panel": ["__end__", "__start__", "score"],
        "reframing": ["__end__", "__start__", "reframe"],
        "prompts": ["__end__", "__start__", "construct"],
    }


async def test_the_graph_of_langgraph_json_answers_texts_with_a_verdict(panel: Any) -> None:
    state = await panel.ainvoke(
        {
            "prompt_text": "What does a city owe to its poorest?",
            "response_text": "Duty means what we owe. For example, 40% of rents rose in 2019.",
            "respondent_id": "anna",
        }
    )
    verdict = state["verdict"]
    assert json.loads(json.dumps(verdict, allow_nan=False)) == verdict
    assert verdict["status"] == "scored"
    assert verdict["respondent_id"] == "anna"
    assert len(verdict["judgments"]) == verdict["n_planned"] == 10


async def test_the_served_graph_takes_the_panel_of_a_file(
    panel: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "panel.yaml").write_text("personas: [historian, ethicist]\nmode: holistic\n")
    monkeypatch.setenv("AREOPAGUS_PANEL", str(tmp_path / "panel.yaml"))
    state = await panel.ainvoke({"prompt_text": "Why?", "response_text": "Because it binds."})
    assert {judgment["persona"] for judgment in state["verdict"]["judgments"]} == {
        "historian",
        "ethicist",
    }
    assert list(state["verdict"]["dimensions"]) == ["overall"]


async def test_the_served_graph_says_which_text_is_missing(panel: Any) -> None:
    with pytest.raises(InputError, match="prompt_text: must be given"):
        await panel.ainvoke({"response_text": "Because."})


async def test_a_prompt_comes_back_in_every_built_in_framing(reframing: Any) -> None:
    state = await reframing.ainvoke({"prompt_text": "What do neighbours owe each other?"})
    assert state["reframed"]["status"] == "accepted"
    assert tuple(state["reframed"]["variants"]) == BUILTIN
    assert state["reframed"]["rewriter"] == "offline/rewriter"
    assert state["reframed"]["checks"]["review"] == "not_checked"


async def test_a_state_without_a_prompt_is_refused(reframing: Any) -> None:
    with pytest.raises(InputError, match="prompt_text"):
        await reframing.ainvoke({"prompt_id": "p"})
