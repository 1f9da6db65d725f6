"""Requests straight over the pool's connections, written and read as aiohttp's client does it."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import aiohttp
import httptools
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wire_world import CANARY

from areopagus.judges.models.litellm_setup import litellm_module
from areopagus.judges.wire.connection import Connection
from areopagus.judges.wire.exchange import Exchange
from areopagus.judges.wire.passage import Received, Sent
from areopagus.loop import new_loop

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
BODY = b'{"overall": 7}'
HEAD = (
    (b"host", b"ignored.invalid"),
    (b"Content-Type", b"application/json"),
    (b"authorization", f"Bearer {CANARY}".encode()),
    (b"X-Other", b"1, 2"),
    (b"content-length", b"3"),
)


@dataclass
class Speaker:
    """A server that keeps the bytes of each request and answers with bytes, part by part."""

    answer: Sequence[bytes] = ()
    ends: bool = False
    resets: bool = False
    waits_for: int = 1
    """Answers once so many bytes of a request have come."""
    port: int = 0
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                if self.waits_for > 1:
                    await reader.readexactly(min(self.waits_for, length))
                    self.requests.append(head)
                else:
                    self.requests.append(head + await reader.readexactly(length))
                for part in self.answer:
                    writer.write(part)
                    await writer.drain()
                    if len(self.answer) > 1:
                        await asyncio.sleep(0)
                if self.ends or self.resets:
                    break
        if self.resets:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()


@pytest.fixture
async def speaker() -> AsyncIterator[Speaker]:
    speaker = Speaker()
    server = await asyncio.start_server(speaker.serve, "127.0.0.1", 0)
    speaker.port = server.sockets[0].getsockname()[1]
    yield speaker
    server.close()
    for writer in speaker.writers:
        writer.close()
    await asyncio.sleep(0)


@pytest.fixture
async def transport() -> AsyncIterator[Any]:
    litellm_module()
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    handler = AsyncHTTPHandler()
    yield handler.client._transport
    await handler.close()


def connection(
    transport: Any,
    port: int,
    head: Sequence[tuple[bytes, bytes]] = HEAD,
    path: str = "/v1/chat?a=b%20c",
) -> Connection:
    return Connection(Sent(transport, "POST", f"http://127.0.0.1:{port}{path}", tuple(head), b""))


def straight(connection: Connection) -> Any:
    """Its way straight over the pool; None where it takes none."""
    return connection._exchanges(connection._transport.get_valid_client_session())


def by_client(connection: Connection) -> Connection:
    """The same, always through aiohttp's client."""
    connection._straight = connection._transport.get_valid_client_session(), None
    return connection


async def both(
    speaker: Speaker, transport: Any, answer: Sequence[bytes]
) -> tuple[Received, Received, Connection]:
    """One answer read on the straight way, and by aiohttp's client."""
    speaker.answer = answer
    ours = connection(transport, speaker.port)
    assert straight(ours) is not None
    async with asyncio.timeout(20):
        received = await ours.post(BODY)
        return received, await by_client(connection(transport, speaker.port)).post(BODY), ours


def with_length(body: bytes, extra: bytes = b"") -> bytes:
    return OK + extra + b"Content-Length: %d\r\n\r\n" % len(body) + body


# What is written ----------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [BODY, b"", b"x" * 300_000, "für".encode()])
@pytest.mark.parametrize("path", ["/", "/v1/chat?a=b%20c&d=%C3%A9", "/v1/models/a:generate"])
async def test_the_bytes_are_those_of_aiohttps_client(
    speaker: Speaker, transport: Any, body: bytes, path: str
) -> None:
    speaker.answer = [with_length(BODY)]
    one = connection(transport, speaker.port, path=path)
    other = by_client(connection(transport, speaker.port, path=path))
    assert straight(one) is not None
    for _ in range(2):
        await one.post(body)
        await other.post(body)
    ours, clients = speaker.requests[0::2], speaker.requests[1::2]
    assert ours == clients
    assert len(set(ours)) == 1
    assert CANARY.encode() in ours[0]
    assert ours[0].endswith(b"\r\n\r\n" + body)


@pytest.mark.parametrize(
    "more",
    [
        (b"x-name", "für".encode()),
        (b"x-name", b"a\r\nx-forged: 1"),
        (b"x-name", b"tab\tin it"),
        (b"x-other", b"twice"),
        (b"expect", b"100-continue"),
        (b"transfer-encoding", b"chunked"),
        (b"upgrade", b"h2c"),
    ],
)
async def test_a_head_of_another_kind_is_aiohttps_to_write(
    speaker: Speaker, transport: Any, more: tuple[bytes, bytes]
) -> None:
    assert straight(connection(transport, speaker.port, (*HEAD, more))) is None
    assert straight(connection(transport, speaker.port, (*HEAD, (b"x-name", b"plain")))) is not None


# What is read -------------------------------------------------------------------------------------

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n" + BODY[:7] + b"\r\n"
ANSWERS = {
    "a length": with_length(BODY),
    "an empty body": with_length(b""),
    "parts": CHUNKED + b"7;by=x\r\n" + BODY[7:] + b"\r\n0\r\nX-Trailer: 1\r\n\r\n",
    "parts with white space": CHUNKED + b"7 \r\n" + BODY[7:] + b"\r\n0\r\n\r\n",
    "packed": with_length(gzip.compress(BODY, mtime=0), b"Content-Encoding: gzip\r\n"),
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + with_length(BODY),
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" * 2 + with_length(BODY),
    "no body": b"HTTP/1.1 204 No Content\r\nX-A: 1\r\n\r\n",
    "not modified": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 14\r\n\r\n",
    "an error": b"HTTP/1.1 500 Oh No\r\nContent-Length: 2\r\n\r\nno",
    "a redirect": b"HTTP/1.1 307 T\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
    "old HTTP": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "closing": with_length(BODY, b"Connection: close\r\n"),
    "odd heads": with_length(
        BODY, b"X-Empty:\r\nx-sPaCe:  a b  \r\nSet-Cookie: a=b\r\nX-Empty: 2\r\n"
    ),
    "bare line ends": b"HTTP/1.1 200 OK\nContent-Length: 2\nX-A: 1\n\n{}",
    "a folded line": b"HTTP/1.1 200 OK\r\nX-A: 1\r\n  2\r\nContent-Length: 2\r\n\r\n{}",
    "bytes in a head": with_length(BODY, b"X-Name: f\xc3\xbcr \xff\r\n"),
    "a megabyte": with_length(b"x" * 1_000_000),
}
"""Whole answers."""
ENDED = {
    "no length": OK + b"\r\n" + BODY,
    "no length, old": b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
    "coded, not in parts": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" + BODY,
}
"""Answers that the end of the connection ends."""
BROKEN = {
    "nothing": b"",
    "half a head": OK,
    "half a body": with_length(BODY)[:-3],
    "half of the parts": CHUNKED,
    "early hints alone": b"HTTP/1.1 103 Early Hints\r\n\r\n",
}
"""Answers that break off."""
UNREADABLE = {
    "no HTTP": b"<html>\r\n\r\n",
    "another HTTP": b"HTTP/2 200\r\nContent-Length: 0\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "parts and a length": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
    b"Content-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a long line": with_length(BODY, b"X-Long: " + b"x" * 9_000 + b"\r\n"),
    "many lines": with_length(BODY, b"X-A: 1\r\n" * 200),
    "an endless head": OK + (b"X-" + b"a" * 4_000 + b": 1\r\n") * 400,
    "an endless line": OK + b"X-A: " + b"a" * 2_000_000,
}
"""What is no answer."""


def in_parts(answer: bytes) -> list[bytes]:
    """Byte by byte, or where there are many in a few hundred parts."""
    size = max(1, len(answer) // 300)
    return [answer[at : at + size] for at in range(0, len(answer), size)]


@pytest.mark.both_loops
@pytest.mark.parametrize("split", [lambda answer: [answer], in_parts], ids=["at once", "in parts"])
@pytest.mark.parametrize("name", ANSWERS)
async def test_answers_are_read_as_aiohttp_reads_them(
    speaker: Speaker, transport: Any, name: str, split: Callable[[bytes], list[bytes]]
) -> None:
    ours, clients, way = await both(speaker, transport, split(ANSWERS[name]))
    # Before 3.14.5 aiohttp leaves white space at the end of a line.
    headers = tuple((name, value.strip()) for name, value in clients.headers)
    assert ours == replace(clients, headers=headers)
    assert ours.broken is None
    assert straight(way) is not None


@pytest.mark.both_loops
@pytest.mark.parametrize("name", ENDED)
async def test_answers_that_the_end_of_the_connection_ends(
    speaker: Speaker, transport: Any, name: str
) -> None:
    speaker.ends = True
    ours, clients, _ = await both(speaker, transport, [ENDED[name]])
    assert ours == clients
    assert ours.body == BODY


@pytest.mark.both_loops
@pytest.mark.parametrize("resets", [False, True])
@pytest.mark.parametrize("name", BROKEN)
async def test_answers_that_break_off_are_the_same_fault(
    speaker: Speaker, transport: Any, name: str, resets: bool
) -> None:
    speaker.ends, speaker.resets = not resets, resets
    ours, clients, way = await both(speaker, transport, [BROKEN[name]] if BROKEN[name] else [])
    assert same_fault(ours, clients)
    assert straight(way) is not None


@pytest.mark.both_loops
@pytest.mark.parametrize("name", UNREADABLE)
async def test_what_cannot_be_read_is_aiohttps_to_read_from_then_on(
    speaker: Speaker, transport: Any, name: str
) -> None:
    answer = UNREADABLE[name]
    ours, clients, way = await both(speaker, transport, [answer])
    assert same_fault(ours, clients)
    assert CANARY not in repr(ours)
    assert CANARY not in str(ours.broken)
    assert straight(way) is None
    speaker.answer = [with_length(BODY)]
    assert (await way.post(BODY)).body == BODY


@pytest.mark.parametrize("split", [lambda answer: [answer], in_parts], ids=["at once", "in parts"])
async def test_a_part_without_a_length_breaks_the_answer_off(
    speaker: Speaker, transport: Any, split: Callable[[bytes], list[bytes]]
) -> None:
    # aiohttp's client would wait for more until somebody's time is up.
    speaker.answer = split(CHUNKED + b"seven\r\n" + BODY[7:] + b"\r\n0\r\n\r\n")
    ours = connection(transport, speaker.port)
    received = await asyncio.wait_for(ours.post(BODY), 20)
    assert (received.status, received.body) == (200, BODY[:7])
    assert isinstance(received.broken, aiohttp.ClientPayloadError)
    assert straight(ours) is None


def same_fault(ours: Received, clients: Received) -> bool:
    """Whether both are broken, and litellm's transport takes both for the same."""
    from litellm.llms.custom_httpx.aiohttp_transport import map_aiohttp_exceptions

    kinds = []
    for broken in (ours.broken, clients.broken):
        assert broken is not None
        try:
            with map_aiohttp_exceptions():
                raise broken
        except Exception as error:
            kinds.append(type(error))
    assert kinds[0] is kinds[1]
    return True


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    data=st.data(), name=st.sampled_from(sorted({**ANSWERS, **ENDED} - {"a megabyte": 0}.keys()))
)
def test_where_an_answer_is_cut_changes_nothing(data: st.DataObject, name: str) -> None:
    whole = {**ANSWERS, **ENDED}[name]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=6)))
    parts = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert fed([whole]) == fed(parts)


def fed(parts: Sequence[bytes]) -> Received:
    """What an exchange makes of these parts, of which the last ends the connection."""

    class Pools:
        def connection_lost(self, error: Exception | None) -> None: ...

    async def feed() -> Received:
        exchange = Exchange(Pools(), httptools.HttpResponseParser, ConnectionError)
        for part in parts:
            exchange.data_received(part)
        exchange.connection_lost(None)
        return await exchange.answered

    return run(feed())


def run(work: Awaitable[Received]) -> Received:
    loop = new_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


# The pool -----------------------------------------------------------------------------------------


async def test_a_connection_goes_back_to_the_pool_and_serves_litellm_too(
    speaker: Speaker, transport: Any
) -> None:
    speaker.answer = [with_length(BODY)]
    ours = connection(transport, speaker.port)
    for _ in range(3):
        await ours.post(BODY)
        await by_client(connection(transport, speaker.port)).post(BODY)
    assert (speaker.connections, len(speaker.requests)) == (1, 6)


@pytest.mark.parametrize(
    "answer",
    [
        with_length(BODY, b"Connection: close\r\n"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 14\r\n\r\n" + BODY,
        with_length(BODY) + b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforged!",
        with_length(BODY) + b"junk",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
async def test_a_connection_on_which_something_is_left_does_not(
    speaker: Speaker, transport: Any, answer: bytes
) -> None:
    speaker.answer = [answer]
    ours = connection(transport, speaker.port)
    for number in range(3):
        received = await ours.post(BODY)
        assert received.broken is None
        assert b"forged" not in received.body
        await asyncio.sleep(0.02)
        assert speaker.connections == number + 1


async def test_what_comes_unasked_between_two_requests_answers_nothing(
    speaker: Speaker, transport: Any
) -> None:
    speaker.answer = [with_length(BODY)]
    ours = connection(transport, speaker.port)
    await ours.post(BODY)
    speaker.writers[0].write(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nforged!")
    await asyncio.sleep(0.05)
    assert (await ours.post(BODY)).body == BODY
    assert speaker.connections == 2


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_server_that_speaks_first_is_no_endpoint(transport: Any, at_once: bool) -> None:
    greeted = []

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeted.append(writer)
        writer.write(b"220 mail.invalid ready\r\n")

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    ours = connection(transport, server.sockets[0].getsockname()[1])
    if at_once:  # the greeting is there before the request is written
        exchanges = straight(ours)
        connect = exchanges._connector.connect

        async def late(*given: Any) -> Any:
            found = await connect(*given)
            await asyncio.sleep(0.01)
            return found

        exchanges._connector = SimpleNamespace(connect=late)
    try:
        received = await asyncio.wait_for(ours.post(BODY), 20)
    finally:
        server.close()
        for writer in greeted:
            writer.close()
    assert received.broken is not None
    assert (len(greeted) == 32) if at_once else (1 <= len(greeted) <= 32)


async def test_an_answer_that_comes_before_the_request_is_written_ends_the_connection(
    speaker: Speaker, transport: Any
) -> None:
    speaker.waits_for = 1_000
    speaker.answer = [b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno"]
    ours = connection(transport, speaker.port)
    received = await ours.post(b"x" * 30_000_000)
    assert (received.status, received.body, received.broken) == (413, b"no", None)
    speaker.waits_for = 1
    assert (await ours.post(BODY)).status == 413
    assert speaker.connections == 2


async def test_a_request_that_is_given_up_closes_its_connection(
    speaker: Speaker, transport: Any
) -> None:
    ours = connection(transport, speaker.port)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await ours.post(BODY)
    session = transport.get_valid_client_session()
    assert not session.connector._acquired
    speaker.answer = [with_length(BODY)]
    assert (await ours.post(BODY)).body == BODY
    assert speaker.connections == 2


async def test_a_pool_that_closes_breaks_what_is_under_way(
    speaker: Speaker, transport: Any
) -> None:
    ours = connection(transport, speaker.port)
    post = asyncio.create_task(ours.post(BODY))
    await asyncio.sleep(0.1)
    await transport.get_valid_client_session().close()
    assert isinstance((await post).broken, aiohttp.ServerDisconnectedError)
    speaker.answer = [with_length(BODY)]
    assert (await ours.post(BODY)).body == BODY  # litellm's transport has opened another


async def test_many_at_once_have_a_connection_each(speaker: Speaker, transport: Any) -> None:
    speaker.answer = [with_length(BODY)]
    ours = connection(transport, speaker.port)
    found = await asyncio.gather(*(ours.post(b"%d" % number) for number in range(50)))
    assert {received.body for received in found} == {BODY}
    assert sorted(int(request.rpartition(b"\n")[2]) for request in speaker.requests) == [*range(50)]


# When aiohttp's client is asked -------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {"headers": {"x-more": "1"}},
        {"cookie_jar": None},
        {"trust_env": True},
        {"skip_auto_headers": ["User-Agent"]},
        {"trace_configs": [aiohttp.TraceConfig()]},
        {"middlewares": [lambda request, handler: handler(request)]},
        {"proxy": "http://127.0.0.1:9"},
        {"connector": "closing"},
    ],
    ids=lambda given: next(iter(given)),
)
async def test_a_session_that_adds_something_is_asked_itself(
    speaker: Speaker, transport: Any, given: dict[str, Any]
) -> None:
    plain = {"cookie_jar": aiohttp.DummyCookieJar()}
    options = {**plain, **given}
    if options["cookie_jar"] is None:
        del options["cookie_jar"]
    if "connector" in options:
        options["connector"] = aiohttp.TCPConnector(force_close=True)
    for settings_of, is_straight in ((plain, True), (options, False)):
        async with aiohttp.ClientSession(**settings_of) as session:
            ours = connection(transport, speaker.port)
            assert (ours._exchanges(session) is not None) == is_straight


async def test_a_proxy_that_appears_is_taken(
    speaker: Speaker, transport: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    speaker.answer = [with_length(BODY)]
    for name in ("NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    ours = connection(transport, speaker.port)
    await ours.post(BODY)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{speaker.port}")
    transport.proxy_cache.clear()  # litellm's own memory, by host
    await ours.post(BODY)
    first, second = (request.partition(b" HTTP/1.1")[0] for request in speaker.requests)
    assert first == b"POST /v1/chat?a=b%20c"
    assert second == f"POST http://127.0.0.1:{speaker.port}/v1/chat?a=b%20c".encode()


async def test_without_httptools_everything_is_as_it_was(
    speaker: Speaker, transport: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httptools", None)
    speaker.answer = [with_length(BODY)]
    ours = connection(transport, speaker.port)
    assert straight(ours) is None
    assert (await ours.post(BODY)).body == BODY
