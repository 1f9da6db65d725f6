"""Kept-alive connections: no call gets the answer of another one."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from transport_world import OPENAI, backend, request

from areopagus.errors import ProviderError
from areopagus.judges.models.connections import post

pytestmark = pytest.mark.usefixtures("clients", "key")
LANES = ("auto", "litellm")
JSON = {"Content-Type": "application/json"}


@dataclass
class Repeating:
    """A server whose answer repeats the request's number; it may send every answer twice.

    Attributes:
        times: what it does beside answering: "once" nothing, "in one packet" it sends the end of
            an answer and the whole of it again, "late" it sends it again after 50 ms.
        latency_s: seconds to the first answer.
    """

    times: str = "once"
    latency_s: float = 0.02
    port: int = 0
    connections: int = 0
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
                asked = (await reader.readexactly(length)).decode()
                number = asked.partition("Number ")[2].partition(" ")[0]
                body = json.dumps(answer(number)).encode()
                opening = (
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    f"content-length: {len(body)}\r\n\r\n"
                ).encode()
                await asyncio.sleep(self.latency_s)
                if self.times == "in one packet":
                    writer.write(opening)
                    await asyncio.sleep(0.01)
                    writer.write(body + opening + body)
                else:
                    writer.write(opening + body)
                if self.times == "late":
                    asyncio.get_running_loop().call_later(0.05, writer.write, opening + body)
        writer.transport.abort()

    async def ask(self, number: int) -> str:
        """The number in the answer to one request."""
        text = f"Number {number} ".encode()
        answer = await post(f"http://127.0.0.1:{self.port}/", JSON, text)
        return str(answer.json()["choices"][0]["message"]["content"])


def answer(number: str) -> dict[str, object]:
    choice = OPENAI["choices"][0]  # type: ignore[index]
    return {**OPENAI, "choices": [{**choice, "message": {"role": "assistant", "content": number}}]}


@pytest.fixture
async def repeating() -> AsyncIterator[Repeating]:
    world = Repeating()
    server = await asyncio.start_server(world.serve, "127.0.0.1", 0)
    world.port = server.sockets[0].getsockname()[1]
    yield world
    server.close()
    for writer in world.writers:
        writer.transport.abort()
    await asyncio.sleep(0)


@pytest.mark.parametrize("times", ["in one packet", "late"])
@pytest.mark.parametrize("at_once", [4, 64])
@pytest.mark.parametrize("lane", LANES)
async def test_a_server_that_answers_twice_answers_no_other_call(
    repeating: Repeating, lane: str, at_once: int, times: str
) -> None:
    repeating.times = times
    judge = backend("openai/x", f"http://127.0.0.1:{repeating.port}", lane=lane)
    places = asyncio.Semaphore(at_once)

    async def vote(number: int) -> str | None:
        async with places:
            return (await judge.send(request(judge, f"Number {number} of them."))).text

    votes = await asyncio.gather(*map(vote, range(160)))
    assert votes == [str(number) for number in range(160)]


async def test_a_server_that_answers_once_is_asked_over_few_connections(
    repeating: Repeating,
) -> None:
    repeating.latency_s = 0.0
    used = []
    for _ in range(5):  # each watch that ends quietly doubles the uses of a connection
        before = repeating.connections
        for number in range(30):
            assert await repeating.ask(number) == str(number)
        used.append(repeating.connections - before)
        await asyncio.sleep(0.3)
    assert used[0] <= 30
    assert used[-1] <= 3


async def test_many_quiet_connections_show_no_more_than_one(repeating: Repeating) -> None:
    for number in range(8):
        await repeating.ask(number)
    await asyncio.sleep(0.5)
    repeating.times = "late"
    votes: list[str] = []
    with contextlib.suppress(ProviderError):
        for number in range(100):
            votes.append(await repeating.ask(number))  # noqa: PERF401  kept where one fails
    assert votes == [str(number) for number in range(len(votes))]
    assert len(votes) < 20


async def test_answers_that_may_be_mixed_up_end_all_calls_to_the_address(
    repeating: Repeating,
) -> None:
    for number in range(8):
        await repeating.ask(number)
    await asyncio.sleep(0.5)
    repeating.times = "late"
    failures: list[ProviderError] = []
    for number in range(100):
        try:
            await repeating.ask(number)
        except ProviderError as error:
            failures.append(error)
    # Nobody can tell that the first answers come too late; the first pause shows it.
    assert len(failures) > 50
    assert "which answers belong to which calls is not known" in failures[0].detail
    assert failures[0].fault == "bad_reply"
    connections = repeating.connections
    with pytest.raises(ProviderError):
        await repeating.ask(0)
    assert repeating.connections == connections


async def test_a_server_that_says_it_is_closing_an_idle_connection_is_asked_again(
    repeating: Repeating,
) -> None:
    for number in range(4):
        await repeating.ask(number)
    await asyncio.sleep(0.5)
    await repeating.ask(4)
    for writer in repeating.writers:
        if not writer.is_closing():
            writer.write(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n")
    await asyncio.sleep(0.05)
    before = repeating.connections
    for number in range(8):
        assert await repeating.ask(number) == str(number)
    assert repeating.connections - before < 8
