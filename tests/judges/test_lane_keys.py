"""The fast lane keeps to requests whose key stays, and sees when one no longer does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wire_world import ANSWERS, CANARY, OPENAI, VOTE, Recorder, backend, request

from areopagus.errors import ProviderError
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.testing import ProviderServer, ServedReply

pytestmark = pytest.mark.usefixtures("clients", "key")


async def test_a_key_that_is_exchanged_for_a_token_keeps_a_call_with_litellm(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever asks for a token is answered with one, good for an hour.
    token = {"access_token": "not-for-long", "expires_in": 3600}
    recorder.body = json.dumps({**token, **OPENAI, "model_id": "served"}).encode()
    base = f"http://127.0.0.1:{recorder.port}"
    monkeypatch.setenv("WATSONX_IAM_URL", f"{base}/identity/token")
    monkeypatch.setenv("WATSONX_PROJECT_ID", "project")
    asked = backend("watsonx/ibm/granite", base)
    for _ in range(5):
        reply = await asked.send(request(asked, schema=None, structured="prompt"))
        assert reply.text == VOTE
    assert dict(recorder.raw[-1][1])["authorization"] == "Bearer not-for-long"
    assert (asked.lane.fast, asked.lane.plain) == (0, 5)


@pytest.mark.parametrize("model", ["hosted_vllm/x", "lm_studio/x", "ollama_chat/x", "openai/x"])
async def test_a_server_that_takes_no_key_has_the_lane(recorder: Recorder, model: str) -> None:
    recorder.body = json.dumps(ANSWERS[model]).encode()
    asked = backend(model, f"http://127.0.0.1:{recorder.port}", api_key_env=None)
    for number in range(4):
        await asked.send(request(asked, f"Text {number}."))
    assert asked.lane.fast == 2
    assert CANARY not in str(recorder.raw)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_head_that_has_run_out_is_written_anew_by_litellm(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    now = "first"

    def judge(asked: Any) -> ServedReply:
        said = server.requests[-1].headers["x-session"]
        return ServedReply(VOTE) if said == now else ServedReply("run out", status=status)

    server.judge = judge
    monkeypatch.setattr(litellm_module(), "headers", {"x-session": "first"})
    asked = backend("openai/x", server.openai_base)
    for number in range(3):
        await asked.send(request(asked, f"Text {number}."))
    assert asked.lane.fast == 1
    now = "second"
    server.reset()
    with pytest.raises(ProviderError) as caught:
        await asked.send(request(asked))
    assert caught.value.status == status
    # Turned away with the head that litellm still writes: it is not asked twice.
    assert [served.headers["x-session"] for served in server.requests] == ["first"]

    monkeypatch.setattr(litellm_module(), "headers", {"x-session": "second"})
    server.reset()
    assert (await asked.send(request(asked))).text == VOTE
    assert [served.headers["x-session"] for served in server.requests] == ["first", "second"]
    assert (asked.lane.fast, asked.lane.plain) == (3, 2)
    await asked.send(request(asked))
    assert (asked.lane.fast, asked.lane.plain) == (3, 3)
