"""A reasoning effort that no model takes is refused before anything is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

from areopagus import BackendSpec, InputError, Panel, respond
from areopagus.testing import ScriptedBackend


def test_an_unknown_effort_of_targets_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    target = ScriptedBackend("An answer.")
    prompts = [{"prompt_text": "What is fair?"}]
    with pytest.raises(InputError, match="effort: must be one of none, minimal, low"):
        respond(prompts, target, tmp_path / "r.csv", effort="bogus", ledger=tmp_path / "l.sqlite")
    assert target.requests == []


def test_an_unknown_effort_of_a_judge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reasoning_effort"):
        Panel({"model": "openai/gpt-5", "reasoning_effort": "bogus"})


def test_every_effort_that_litellm_takes_is_taken() -> None:
    for effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max", "default"):
        spec = BackendSpec.model_validate({"model": "openai/gpt-5", "reasoning_effort": effort})
        assert spec.parameters()["reasoning_effort"] == effort
