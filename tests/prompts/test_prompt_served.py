"""The prompt construction graph as a LangGraph server would call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from prompt_world import PromptWorld, model

from areopagus import served
from areopagus.errors import InputError
from areopagus.testing import ProviderServer


@pytest.fixture(autouse=True)
def _no_panel_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AREOPAGUS_PANEL", raising=False)


async def constructed(state: dict[str, Any]) -> Any:
    return (await served.graph("prompts").ainvoke(state))["constructed"]


async def test_the_stand_in_writes_and_nobody_judges() -> None:
    found = await constructed({"scenario_text": "Two neighbours share a well."})
    (bundle,) = found["bundles"]
    assert (bundle["generator"], bundle["status"]) == ("offline/generator", "complete")
    assert [prompt["quality"] for prompt in bundle["prompts"]] == ["not_checked"] * 5
    assert found["votes"] == []


async def test_the_panels_models_write_and_judge_what_the_others_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ProviderServer(PromptWorld(flaws={("alpha", 1): "judgmental"})) as server:
        models = {"models": [model(server, name) for name in ("alpha", "beta")]}
        (tmp_path / "panel.yaml").write_text(json.dumps(models))
        monkeypatch.setenv("AREOPAGUS_PANEL", str(tmp_path / "panel.yaml"))
        found = await constructed({"scenario_text": "Context: case s1.", "scenario_id": "s1"})
    first, second = found["bundles"]
    assert [prompt["quality"] for prompt in first["prompts"]] == ["failed"] + ["passed"] * 4
    assert {prompt["quality"] for prompt in second["prompts"]} == {"passed"}
    assert {(vote["generator"], vote["judge"]) for vote in found["votes"]} == {
        ("alpha", "beta"), ("beta", "alpha"),
    }  # fmt: skip


async def test_a_state_without_a_scenario_is_refused() -> None:
    with pytest.raises(InputError, match="scenario_text"):
        await constructed({"scenario_id": "s"})
