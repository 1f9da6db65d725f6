"""The prompt construction graph as a LangGraph server would call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prompt_world import PromptWorld, model

from areopagus.errors import InputError
from areopagus.served import prompts, served_panel
from areopagus.testing import ProviderServer


@pytest.fixture(autouse=True)
def _fresh_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AREOPAGUS_PANEL", raising=False)
    served_panel.cache_clear()


async def test_the_stand_in_writes_and_nobody_judges() -> None:
    state = await prompts.ainvoke({"scenario_text": "Two neighbours share a well."})
    (bundle,) = state["constructed"]["bundles"]
    assert (bundle["generator"], bundle["status"]) == ("offline/generator", "complete")
    assert [prompt["quality"] for prompt in bundle["prompts"]] == ["not_checked"] * 5
    assert state["constructed"]["votes"] == []


async def test_the_panels_models_write_and_judge_what_the_others_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProviderServer(PromptWorld(flaws={("alpha", 1): "judgmental"})) as server:
        models = {"models": [model(server, name) for name in ("alpha", "beta")]}
        (tmp_path / "panel.yaml").write_text(json.dumps(models))
        monkeypatch.setenv("AREOPAGUS_PANEL", str(tmp_path / "panel.yaml"))
        state = await prompts.ainvoke({"scenario_text": "Context: case s1.", "scenario_id": "s1"})
    first, second = state["constructed"]["bundles"]
    assert [prompt["quality"] for prompt in first["prompts"]] == ["failed"] + ["passed"] * 4
    assert {prompt["quality"] for prompt in second["prompts"]} == {"passed"}
    assert {(vote["generator"], vote["judge"]) for vote in state["constructed"]["votes"]} == {
        ("alpha", "beta"), ("beta", "alpha"),
    }  # fmt: skip
    served_panel.cache_clear()


async def test_a_state_without_a_scenario_is_refused() -> None:
    with pytest.raises(InputError, match="scenario_text"):
        await prompts.ainvoke({"scenario_id": "s"})
