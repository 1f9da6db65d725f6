"""Our connections: bounded answers, proxies, one send a call, keys, and who is told of calls."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from typing import Any

import pytest
from transport_world import (
    ANSWERS,
    CANARY,
    OPENAI,
    PROTOCOLS,
    VOTE,
    WAYS,
    Recorder,
    backend,
    request,
)

from areopagus.errors import ProviderError
from areopagus.judges.models import litellm_calls
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.connections import MOST_BYTES, proxy_of
from areopagus.judges.models.litellm_backend import LitellmBackend
from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.testing import Fault, ProviderServer, by_hash, constant, reserved_port

pytestmark = pytest.mark.usefixtures("clients", "key")
LANES = ("auto", "litellm")


async def failed(asked: LitellmBackend) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await asked.send(request(asked))
    assert CANARY not in str(caught.value)
    return caught.value


# How much is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "lane"), WAYS)
async def test_no_packed_answer_is_invited_and_one_that_comes_is_read(
    recorder: Recorder, model: str, lane: str
) -> None:
    plain = json.dumps(ANSWERS[model]).encode()
    head = recorder.head
    for packed, kind in (
        (gzip.compress(plain), "gzip"),
        (zlib.compress(plain), "deflate"),
    ):
        recorder.body = packed
        recorder.head = f"{head}content-encoding: {kind}\r\n"
        asked = backend(model, f"http://127.0.0.1:{recorder.port}", lane=lane)
        assert (await asked.send(request(asked))).text == VOTE
        assert dict(recorder.raw[-1][1])["accept-encoding"] == "identity"


@pytest.mark.parametrize("lane", LANES)
async def test_a_packed_answer_is_unpacked_to_the_limit_and_a_badly_packed_one_not_at_all(
    recorder: Recorder, lane: str
) -> None:
    head = recorder.head
    recorder.body = gzip.compress(bytes(20_000_000))
    recorder.head += "content-encoding: gzip\r\n"
    error = await failed(backend("openai/x", f"http://127.0.0.1:{recorder.port}", lane=lane))
    assert (error.fault, error.may_be_billed) == ("bad_reply", True)
    assert "8,000,000 bytes" in str(error)
    recorder.body = b"no gzip at all"
    for kind in ("gzip", "br", "zstd", "gzip, gzip"):
        recorder.head = f"{head}content-encoding: {kind}\r\n"
        asked = backend("openai/x", f"http://127.0.0.1:{recorder.port}", lane=lane)
        assert (await failed(asked)).fault == "bad_reply"


@pytest.mark.parametrize("lane", LANES)
async def test_an_answer_without_end_is_read_to_the_limit(lane: str) -> None:
    sent = 0
    gone = asyncio.Event()

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        try:
            while sent < 10 * MOST_BYTES:
                writer.write(b"10000\r\n" + bytes(0x10000) + b"\r\n")
                sent += 0x10000
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()
            gone.set()

    server = await asyncio.start_server(pour, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    error = await failed(backend("openai/x", f"http://127.0.0.1:{port}", lane=lane))
    assert error.fault == "bad_reply"
    assert sent < 4 * MOST_BYTES
    server.close()
    # What is still open when the loop ends would be found, and told, in whatever test comes then.
    await asyncio.wait_for(gone.wait(), 30)
    await asyncio.sleep(0)


@pytest.mark.parametrize("lane", LANES)
async def test_an_answer_that_says_it_is_too_long_is_a_bad_reply(
    recorder: Recorder, lane: str
) -> None:
    recorder.body = b"x" * (MOST_BYTES + 1)
    asked = backend("openai/x", f"http://127.0.0.1:{recorder.port}", lane=lane)
    assert (await failed(asked)).fault == "bad_reply"


# Proxies ------------------------------------------------------------------------------------------


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    proxy_of.cache_clear()


@pytest.mark.usefixtures("no_proxies")
@pytest.mark.parametrize("lane", LANES)
async def test_the_environments_proxy_is_taken_but_for_this_machine(
    recorder: Recorder, server: ProviderServer, monkeypatch: pytest.MonkeyPatch, lane: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{recorder.port}")
    recorder.body = json.dumps(OPENAI).encode()
    asked = backend("openai/x", "http://judges.invalid/v1", lane=lane)
    assert (await asked.send(request(asked))).text == VOTE
    assert {line for line, _, _ in recorder.raw} == {
        "POST http://judges.invalid/v1/chat/completions HTTP/1.1"
    }
    here = backend("openai/x", server.openai_base, lane=lane)
    await here.send(request(here))
    assert len(recorder.raw) == 1
    assert server.counts.total == 1


@pytest.mark.usefixtures("no_proxies")
def test_which_variables_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def proxies(*urls: str) -> list[str | None]:
        proxy_of.cache_clear()
        return [proxy_of(url) for url in urls]

    far = ("http://a.example/v1", "https://b.example:8443/v1")
    near = ("http://localhost:11434", "https://127.0.0.9/v1", "http://[::1]:8000")
    assert proxies(*far, *near) == [None] * 5
    monkeypatch.setenv("ALL_PROXY", "proxy.example:1")
    assert proxies(*far, *near) == ["http://proxy.example:1"] * 2 + [None] * 3
    monkeypatch.setenv("https_proxy", "http://user:pw@proxy.example:2")
    assert proxies(*far) == ["http://proxy.example:1", "http://user:pw@proxy.example:2"]
    monkeypatch.setenv("NO_PROXY", "b.example")
    assert proxies(*far) == ["http://proxy.example:1", None]


# One attempt is one send --------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "lane"), WAYS)
async def test_nothing_is_sent_twice_whatever_this_process_has_told_litellm(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch, model: str, lane: str
) -> None:
    monkeypatch.setattr(litellm_module(), "num_retries", 3)
    asked = backend(model, server.bases[PROTOCOLS[model]], lane=lane)
    for fault in (
        *(Fault.RESET_BEFORE_ANSWER, Fault.CLOSE_BEFORE_ANSWER),
        *(Fault.SERVER_ERROR, Fault.RATE_LIMIT),
    ):
        server.reset()
        server.judge = by_hash(1, 10)
        await asked.send(request(asked))  # over a connection that is open the next time
        server.judge = constant(fault)
        await failed(asked)
        assert server.counts.total == 2


@pytest.mark.parametrize("lane", LANES)
async def test_no_cookie_is_sent_back(recorder: Recorder, lane: str) -> None:
    recorder.body = json.dumps(OPENAI).encode()
    recorder.head += "set-cookie: __bm=abc; path=/; HttpOnly\r\n"
    asked = backend("openai/x", f"http://127.0.0.1:{recorder.port}", lane=lane)
    for _ in range(3):
        await asked.send(request(asked))
    assert all("cookie" not in dict(headers) for _, headers, _ in recorder.raw)


async def test_an_endpoint_that_dies_is_a_connection_that_cost_nothing() -> None:
    with reserved_port() as port, ProviderServer(by_hash(1, 10), port=port) as server:
        asked = backend("openai/x", server.openai_base)
        await asked.send(request(asked))
        server.stop()
        assert (await failed(asked)).fault == "connection"
        refused = await failed(asked)
        assert (refused.fault, refused.may_be_billed) == ("connection", False)
        server.start()
        assert (await asked.send(request(asked))).text


async def test_a_cancelled_call_is_cancelled_and_nothing_else(server: ProviderServer) -> None:
    asked = backend("openai/x", server.openai_base)
    server.judge = constant(Fault.HANG)
    task = asyncio.create_task(asked.send(request(asked)))
    for _ in range(500):
        if server.in_flight:
            break
        await asyncio.sleep(0.01)
    assert server.in_flight == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


# Keys ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", sorted(ANSWERS))
async def test_a_server_of_ones_own_is_sent_nobodys_key(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    provider = model.partition("/")[0].upper().removesuffix("_CHAT")
    for name in (f"{provider}_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_AUTH_TOKEN",
                 "GOOGLE_API_KEY", "OPENAI_ORGANIZATION"):  # fmt: skip
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setattr(litellm_module(), "api_key", CANARY)
    recorder.body = json.dumps(ANSWERS[model]).encode()
    base = f"http://127.0.0.1:{recorder.port}"
    for lane in LANES:
        asked = backend(model, base, api_key_env=None, lane=lane)
        await asked.send(request(asked))
    assert len(recorder.raw) == 2
    assert CANARY not in str(recorder.raw)


async def test_a_key_that_changes_is_taken_at_the_next_call(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.api_key = CANARY
    asked = backend("openai/x", server.openai_base)
    await asked.send(request(asked))
    monkeypatch.setenv("OUR_ACCESS", "another-key")
    error = await failed(asked)
    assert error.fault == "authentication"
    assert "another-key" not in str(error)


def test_the_providers_own_key_goes_to_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for model, name, header in (
        ("openai/gpt-4o-mini", "OPENAI_API_KEY", "authorization"),
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY", "x-api-key"),
        ("gemini/gemini-2.5-flash", "GEMINI_API_KEY", "x-goog-api-key"),
        ("mistral/mistral-small-latest", "MISTRAL_API_KEY", "authorization"),
    ):
        monkeypatch.setenv(name, f"{CANARY}-{name}")
        asked = LitellmBackend(BackendSpec(model=model))
        url, headers = asked.translate_request(request(asked))[:2]
        assert url.startswith("https://")
        found = {name.lower(): value for name, value in headers.items()}
        assert found[header].endswith(f"{CANARY}-{name}")


# Who is told --------------------------------------------------------------------------------------


async def test_whoever_listens_to_litellm_is_told_of_every_call(
    server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    litellm = litellm_module()
    from litellm.integrations.custom_logger import CustomLogger

    told: asyncio.Queue[Any] = asyncio.Queue()

    class Listener(CustomLogger):
        async def async_log_success_event(self, kwargs: Any, *_: Any, **__: Any) -> None:
            await told.put(kwargs["model"])

    for name in litellm_calls._LISTENERS:  # litellm hands them on from one list to others
        monkeypatch.setattr(litellm, name, [])
    asked = backend("openai/gpt-4o-mini", server.openai_base)
    untold = await asked.send(request(asked))
    monkeypatch.setattr(litellm, "callbacks", [Listener()])
    heard = await asked.send(request(asked))
    assert await asyncio.wait_for(told.get(), 20) == "gpt-4o-mini"
    assert (untold.text, untold.usage, untold.cost_usd) == (heard.text, heard.usage, heard.cost_usd)
