"""Whichever way a call goes: a redirect is not followed, and key and text stay."""

from __future__ import annotations

import json

import pytest
from transport_world import ANSWERS, CANARY, OPENAI, VOTE, Recorder, backend, request

from areopagus.errors import InputError, ProviderError
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.testing import ProviderServer

pytestmark = pytest.mark.usefixtures("clients", "key")
BY_LITELLM = [
    ("azure/x", OPENAI),
    ("text-completion-openai/x", {**OPENAI, "choices": [{"text": VOTE, "finish_reason": "stop"}]}),
    ("watsonx/ibm/granite", OPENAI),
    ("databricks/x", OPENAI),
]


def moved(recorder: Recorder, server: ProviderServer, status: int = 307) -> None:
    """From here on every call is told to go to another host."""
    address = server.base.replace("127.0.0.1", "localhost")
    recorder.head = f"HTTP/1.1 {status} Moved\r\nlocation: {address}/v1/chat/completions\r\n"


async def stays(asked: LitellmBackend, server: ProviderServer) -> None:
    with pytest.raises(
        ProviderError, match=r"not_found: .*redirects to http://localhost"
    ) as caught:
        await asked.send(request(asked, schema=None, structured="prompt"))
    assert CANARY not in str(caught.value)
    assert server.counts.connections == 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("lane", ["auto", "litellm"])
@pytest.mark.parametrize(
    "model", ["openai/x", "hosted_vllm/x", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"]
)
async def test_a_redirect_is_not_followed(
    recorder: Recorder, server: ProviderServer, model: str, lane: str, status: int
) -> None:
    recorder.body = json.dumps(ANSWERS[model]).encode()
    asked = backend(model, f"http://127.0.0.1:{recorder.port}", lane=lane)
    assert (await asked.send(request(asked))).text == VOTE
    moved(recorder, server, status)
    await stays(asked, server)
    assert len(recorder.raw) == 2


@pytest.mark.parametrize(("model", "answer"), BY_LITELLM)
async def test_a_redirect_is_not_followed_by_litellms_own_clients(
    recorder: Recorder,
    server: ProviderServer,
    model: str,
    answer: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base = f"http://127.0.0.1:{recorder.port}"
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    monkeypatch.setenv("WATSONX_PROJECT_ID", "project")
    monkeypatch.setenv("WATSONX_TOKEN", "token")
    recorder.body = json.dumps(answer).encode()
    asked = backend(model, base)
    asked.prepare()
    assert (await asked.send(request(asked, schema=None, structured="prompt"))).text == VOTE
    assert len(recorder.raw) == 1
    moved(recorder, server)
    await stays(asked, server)


@pytest.mark.parametrize("model", ["oobabooga/x", "predibase/x", "petals/x", "nlp_cloud/x"])
def test_a_client_that_nothing_keeps_from_a_redirect_has_no_address_of_ones_own(model: str) -> None:
    asked = backend(model, "http://127.0.0.1:9")
    with pytest.raises(InputError, match="api_base cannot be set"):
        asked.prepare()


async def test_a_client_that_passes_ours_by_is_refused(recorder: Recorder) -> None:
    # Not prepared: the refusal is the last line, after a first answer.
    recorder.body = json.dumps({"results": [{"text": VOTE}], **OPENAI}).encode()
    asked = backend("oobabooga/x", f"http://127.0.0.1:{recorder.port}")
    with pytest.raises(ProviderError):
        await asked.send(request(asked, schema=None, structured="prompt"))
