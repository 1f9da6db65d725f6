"""Servers, keys and clients for tests of the roads to the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from transport_world import CANARY, Recorder

from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.testing import ProviderServer, by_hash


@pytest.fixture
async def recorder() -> AsyncIterator[Recorder]:
    recorder = Recorder()
    server = await asyncio.start_server(recorder.serve, "127.0.0.1", 0)
    recorder.port = server.sockets[0].getsockname()[1]
    yield recorder
    server.close()
    for writer in recorder.writers:  # clients that are not asynchronous keep theirs open
        writer.transport.abort()  # at once, also where the client has not read everything
    await asyncio.sleep(0)


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with ProviderServer(by_hash(1, 10), trickle_s=0.05) as running:
        yield running


@pytest.fixture
async def clients() -> AsyncIterator[None]:
    """litellm keeps its clients by event loop, and every test has its own."""
    yield
    await litellm_module().close_litellm_async_clients()
    litellm_module().in_memory_llm_clients_cache.flush_cache()


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_ACCESS", CANARY)
