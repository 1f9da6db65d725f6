"""Where an answer does not count what it was asked, both lanes count alike."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_world import ANSWERS, OPENAI, Recorder, backend, request

from areopagus.judges.models.litellm_setup import litellm_module

pytestmark = pytest.mark.usefixtures("clients", "key")

COUNTS = {"usage", "prompt_eval_count", "eval_count"}


@pytest.mark.parametrize("structured", ["json_schema", "json_object", "prompt"])
@pytest.mark.parametrize("model", ["ollama_chat/x", "hosted_vllm/x", "openai/x", "mistral/x"])
@pytest.mark.parametrize("first", [True, False])
async def test_an_answer_that_does_not_count_is_counted_as_litellm_counts_it(
    recorder: Recorder, model: str, structured: Any, first: bool
) -> None:
    # Ollama leaves the count out where the whole prompt was in its cache.
    whole = ANSWERS.get(model, OPENAI)
    bare = {name: value for name, value in whole.items() if name not in COUNTS}
    base = f"http://127.0.0.1:{recorder.port}"
    fast, slow = backend(model, base), backend(model, base, lane="litellm")
    recorder.body = json.dumps(bare if first else whole).encode()
    for number in range(4):
        await fast.send(request(fast, f"Découvert {number}.", structured=structured))
    assert fast.lane.fast == 2
    recorder.body = json.dumps(bare).encode()
    for n_words in (30, 3000):
        text = "word " * n_words + "end"
        found = await fast.send(request(fast, text, structured=structured))
        expected = await slow.send(request(slow, text, structured=structured))
        assert found.usage == expected.usage
    assert fast.lane.fast == 4
    if model.startswith("ollama"):
        assert (found.usage.input_tokens or 0) > 3000


async def test_an_answer_that_counts_is_read_without_counting(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[Any] = []
    count = litellm_module().token_counter

    def spied(*given: Any, **named: Any) -> int:
        counted.extend(named.get("messages") or ())
        return int(count(*given, **named))

    asked = backend("ollama_chat/x", f"http://127.0.0.1:{recorder.port}")
    recorder.body = json.dumps(ANSWERS["ollama_chat/x"]).encode()
    for number in range(3):
        await asked.send(request(asked, f"Text {number}."))
    monkeypatch.setattr(litellm_module(), "token_counter", spied)
    reply = await asked.send(request(asked))
    assert (asked.lane.fast, reply.usage.input_tokens, counted) == (2, 900, [])
