"""The reframing graph as a LangGraph server would load and call it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import InputError
from areopagus.graphs.framings import BUILTIN
from areopagus.graphs.served import served_panel

ROOT = Path(__file__).parents[2]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path))
    monkeypatch.delenv("AREOPAGUS_PANEL", raising=False)
    served_panel.cache_clear()
    named = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["reframing"]
    module, _, attribute = named.partition(":")
    return getattr(importlib.import_module(module), attribute)


async def test_a_prompt_comes_back_in_every_built_in_framing(graph: Any) -> None:
    state = await graph.ainvoke({"prompt_text": "What do neighbours owe each other?"})
    assert state["reframed"]["status"] == "accepted"
    assert tuple(state["reframed"]["variants"]) == BUILTIN
    assert state["reframed"]["rewriter"] == "offline/rewriter"
    assert state["reframed"]["checks"]["review"] == "not_checked"


async def test_a_state_without_a_prompt_is_refused(graph: Any) -> None:
    with pytest.raises(InputError, match="prompt_text"):
        await graph.ainvoke({"prompt_id": "p"})
