"""Whichever client litellm takes: a redirect is not followed, and key and text stay."""

from __future__ import annotations

import json

import httpx
import pytest
from wire_world import ANSWERS, CANARY, OPENAI, VOTE, Recorder, backend, request

from areopagus.errors import ProviderError
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.wire import passing
from areopagus.testing import ProviderServer

pytestmark = pytest.mark.usefixtures("clients", "key")


@pytest.fixture(params=["settings", "environment"])
def no_aiohttp(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "settings":
        monkeypatch.setattr(litellm_module(), "disable_aiohttp_transport", True)
    else:
        monkeypatch.setenv("DISABLE_AIOHTTP_TRANSPORT", "True")


def moved(recorder: Recorder, server: ProviderServer) -> None:
    """From here on the recorder sends everybody to the server."""
    # Another name is another origin: a client that follows takes some of its headers off.
    address = server.base.replace("127.0.0.1", "localhost")
    recorder.head = (
        f"HTTP/1.1 307 Temporary Redirect\r\nlocation: {address}/v1/chat/completions\r\n"
    )


async def stays(asked: LitellmBackend, server: ProviderServer) -> None:
    with pytest.raises(
        ProviderError, match=r"not_found: .*redirects to http://localhost"
    ) as caught:
        await asked.send(request(asked))
    assert CANARY not in str(caught.value)
    assert server.counts.connections == 0


MODELS = ["openai/x", "hosted_vllm/x", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"]


@pytest.mark.usefixtures("no_aiohttp")
@pytest.mark.parametrize("model", MODELS)
async def test_without_aiohttp_a_redirect_is_not_followed(
    recorder: Recorder, server: ProviderServer, model: str
) -> None:
    recorder.body = json.dumps(ANSWERS[model]).encode()
    asked = backend(model, f"http://127.0.0.1:{recorder.port}")
    for _ in range(5):
        assert (await asked.send(request(asked))).text == VOTE
    # The lane sends over a pool of aiohttp's: where there is none, litellm's own call goes on.
    assert (asked.lane.fast, asked.lane.plain, len(recorder.raw)) == (0, 5, 5)
    moved(recorder, server)
    await stays(asked, server)


@pytest.mark.parametrize("model", ["aiohttp_openai/x", "oobabooga/x"])
async def test_clients_with_another_way_out_do_not_follow_a_redirect(
    recorder: Recorder, server: ProviderServer, model: str
) -> None:
    # The one has a session of aiohttp alone, the other a client that is not asynchronous.
    recorder.body = json.dumps(OPENAI).encode()
    asked = backend(model, f"http://127.0.0.1:{recorder.port}")
    assert (await asked.send(request(asked))).text == VOTE
    moved(recorder, server)
    await stays(asked, server)


async def test_a_request_of_somebody_who_is_told_is_not_taken_for_the_calls_own(
    recorder: Recorder,
) -> None:
    # Where neither address nor key is known, nothing tells the two apart but their clients.
    litellm_module()
    recorder.body = json.dumps(OPENAI).encode()
    async with httpx.AsyncClient() as others:
        with passing() as passage:
            for _ in range(2):
                answer = await others.post(f"http://127.0.0.1:{recorder.port}", content=b"{}")
                assert answer.status_code == 200
            assert passage.sent is None
        with passing(is_untold=True) as passage:
            await others.post(f"http://127.0.0.1:{recorder.port}", content=b"{}")
            assert passage.sent is not None
            with pytest.raises(httpx.RemoteProtocolError, match="second request"):
                await others.post(f"http://127.0.0.1:{recorder.port}", content=b"{}")
