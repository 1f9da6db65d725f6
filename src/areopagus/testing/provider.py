"""A provider of models on loopback, for tests and benchmarks."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from http import HTTPStatus
from math import ceil
from time import monotonic
from types import TracebackType
from typing import Any, Literal, Self

from aiohttp import web

from .answers import JSON_HEADERS, HttpAnswer, error_body, http_answer
from .exchange import (
    TRANSPORT_FAULTS,
    Fault,
    ScriptedJudge,
    ServedReply,
    ServedRequest,
    Structured,
    WireProtocol,
)
from .protocols import PATHS, read_request
from .scripted import by_hash


@contextmanager
def reserved_port() -> Iterator[int]:
    """A port on loopback that refuses connections and that no other program is given.

    A server may listen there, stop and return: without this, another program may have been given
    the port in between.
    """
    with socket.socket() as holder:
        # With this option a server may bind the same port, since the holder never listens.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield int(holder.getsockname()[1])


class _RateAllowance:
    """A token bucket: so many requests a minute, so many of them at once."""

    def __init__(self, requests_per_minute: float, burst: int | None) -> None:
        if requests_per_minute <= 0:
            raise ValueError(f"requests_per_minute must be positive, got {requests_per_minute}")
        if burst is not None and burst < 1:
            raise ValueError(f"burst must be at least 1, got {burst}")
        self._per_second = requests_per_minute / 60.0
        self._size = float(burst or max(1.0, self._per_second))
        self.refill()

    def refill(self) -> None:
        """Forgets what was used."""
        self._left, self._as_of = self._size, monotonic()

    def wait_s(self) -> float:
        """0.0 where a request is admitted (and used up); else the seconds until one would be."""
        now = monotonic()
        self._left = min(self._size, self._left + (now - self._as_of) * self._per_second)
        self._as_of = now
        if self._left >= 1.0:
            self._left -= 1.0
            return 0.0
        return (1.0 - self._left) / self._per_second


@dataclass(slots=True)
class Counts:
    """Requests that ask a model, since the start or the last `reset`.

    Attributes:
        total: requests that arrived whole.
        broken: connections reset or closed on purpose by a fault.
        abandoned: requests whose client (or the server's stop) ended the connection first.
        in_flight: neither answered, broken nor abandoned yet.
        peak_in_flight: the largest number in flight at once.
        connections: connections accepted.
        by_path, by_model: requests that arrived; paths include those that ask no model.
        by_status: answers, by HTTP status.
    """

    total: int = 0
    broken: int = 0
    abandoned: int = 0
    in_flight: int = 0
    peak_in_flight: int = 0
    connections: int = 0
    by_path: Counter[str] = field(default_factory=Counter)
    by_model: Counter[str] = field(default_factory=Counter)
    by_status: Counter[int] = field(default_factory=Counter)

    @property
    def answered(self) -> int:
        """Answers, of whatever status."""
        return self.by_status.total()

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values; statuses become text, as keys of JSON are."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        by_status = {str(status): n for status, n in self.by_status.items()}
        return {**values, "answered": self.answered, "by_status": by_status}


_REASONS = {status.value: status.phrase for status in HTTPStatus} | {529: "Overloaded"}
_KEY_HEADERS = ("authorization", "x-api-key", "api-key")

_FIXED: dict[str, dict[str, Any]] = {
    "/v1/models": {"object": "list", "data": []},
    "/api/tags": {"models": []},
    "/api/version": {"version": "0.0.0"},
    # litellm asks this before a call with a schema, blocking its event loop meanwhile.
    "/api/show": {"template": "", "capabilities": ["completion"], "model_info": {}},
}


def aside_answer(path: str, counts: Counts) -> HttpAnswer:
    """The answer to a path that asks no model; 404 for a path that nobody knows."""
    known = counts.to_json() if path == "/__counts" else _FIXED.get(path)
    if known is None:
        return HttpAnswer(404, {"content-type": "text/plain"}, b"404 page not found")
    return HttpAnswer(200, JSON_HEADERS, json.dumps(known).encode())


def masked(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with every key replaced by `***`."""
    shown = dict(headers)
    for name in _KEY_HEADERS:
        if name in shown:
            shown[name] = "Bearer ***" if shown[name].startswith("Bearer ") else "***"
    return shown


def key_of(headers: Mapping[str, str]) -> str:
    """The API key that a request carries; "" for none."""
    for name in _KEY_HEADERS:
        if name in headers:
            return headers[name].removeprefix("Bearer ")
    return ""


_START_TIMEOUT_S = 10.0
_SETTLE_S = 0.02
"""Time for the client to read the first half before a reset throws away what is unread."""


class _CountingServer(web.Server):
    """aiohttp's server, which says when a connection is made."""

    def __init__(self, *args: Any, on_open: Callable[[], None], **options: Any) -> None:
        super().__init__(*args, **options)
        self._on_open = on_open

    def connection_made(self, handler: Any, transport: asyncio.Transport) -> None:
        """See aiohttp."""
        super().connection_made(handler, transport)
        self._on_open()


class ProviderServer:
    """An HTTP/1.1 server on 127.0.0.1 that speaks the OpenAI, Anthropic and Ollama protocols.

    It runs on a thread of its own from `start` (or `with`) to `stop`. With litellm:
    `openai/NAME` and `hosted_vllm/NAME` take `api_base=server.openai_base`, `anthropic/NAME`
    takes `server.anthropic_base`, `ollama_chat/NAME` and `ollama/NAME` take
    `server.ollama_base`. Streamed answers are refused.

    Args:
        judge: decides every reply; runs on the server's thread, so it must not block. One that
            raises is answered with status 500 and kept in `errors`.
        port: 0 takes a free one. `start` after `stop` takes the same one again, which nothing else
            can have been given if it came from `reserved_port`.
        delay_s: seconds from the arrival of a request to its answer.
        requests_per_minute: above it, 429 with Retry-After; None: no limit.
        burst: requests admitted at once under that limit; None: a second's worth.
        max_concurrent: requests worked on at once; None: no limit.
        when_full: above that number, "reject" (429 without Retry-After) or "queue".
        supports: the kinds of structured output understood; others get the 400 of a server
            that does not know them.
        rejected_parameters: names of body fields (for Ollama also of `options`) that get the
            400 of `Fault.TEMPERATURE_UNSUPPORTED`.
        api_key: other keys get a 401 that echoes them; None: any key will do.
        retry_after_s: what faults with Retry-After say.
        trickle_s: seconds for each byte of `Fault.TRICKLE`.
        record: whether requests are kept in `requests`; counts are kept in any case.
        tls: the server's certificate and key; None: plain HTTP.

    Raises:
        OSError: by `start`, where the port cannot be had.
    """

    def __init__(
        self,
        judge: ScriptedJudge | None = None,
        *,
        port: int = 0,
        delay_s: float = 0.0,
        requests_per_minute: float | None = None,
        burst: int | None = None,
        max_concurrent: int | None = None,
        when_full: Literal["reject", "queue"] = "reject",
        supports: Collection[Structured] = ("json_schema", "json_object"),
        rejected_parameters: Collection[str] = (),
        api_key: str | None = None,
        retry_after_s: float = 1.0,
        trickle_s: float = 1.0,
        record: bool = True,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.judge: ScriptedJudge = judge if judge is not None else by_hash(1, 10)
        self.port = port
        self.delay_s = delay_s
        self.max_concurrent = max_concurrent
        self.when_full = when_full
        self.supports = frozenset(supports)
        self.rejected_parameters = frozenset(rejected_parameters)
        self.api_key = api_key
        self.retry_after_s = retry_after_s
        self.trickle_s = trickle_s
        self.record = record
        self.tls = tls
        self.errors: list[BaseException] = []
        self._allowance = (
            None if requests_per_minute is None else _RateAllowance(requests_per_minute, burst)
        )
        self._lock = threading.Lock()
        self._counts = Counts()
        self._attempts: Counter[str] = Counter()
        self._requests: list[ServedRequest] = []
        self._n = 0
        self._open: set[int] = set()  # the requests (by `id`) that have not ended
        self._slots: asyncio.Semaphore | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = asyncio.Event()

    # Life ------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Starts to listen, on the same port as before where there was one; returns itself."""
        if self._thread is not None:
            raise RuntimeError("the server is running already")
        ready = threading.Event()
        failed: list[OSError] = []
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(ready, failed)),
            name="areopagus-provider",
            daemon=True,
        )
        self._thread.start()
        if not ready.wait(_START_TIMEOUT_S):
            raise RuntimeError("the server did not start")
        if failed:
            self._thread.join()
            self._thread = None
            raise failed[0]
        return self

    def stop(self) -> None:
        """Dies like a killed process: connections are reset, later ones refused."""
        thread, loop = self._thread, self._loop
        if thread is None or loop is None:
            return
        loop.call_soon_threadsafe(self._ended.set)
        thread.join()
        self._thread = self._loop = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def _serve(self, ready: threading.Event, failed: list[OSError]) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        self._slots = asyncio.Semaphore(self.max_concurrent) if self.max_concurrent else None
        server = _CountingServer(
            self._handle, on_open=self._opened, handler_cancellation=True, access_log=None
        )
        runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", self.port, backlog=4096, ssl_context=self.tls)
            try:
                await site.start()
                self.port = runner.addresses[0][1]
            except OSError as error:
                failed.append(error)
                return
            finally:
                ready.set()
            await self._ended.wait()
            for connection in server.connections:
                _reset(connection.transport)
        finally:
            await runner.cleanup()

    # What is known outside -------------------------------------------------------------------

    @property
    def base(self) -> str:
        """The URL of the server, without a path."""
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    @property
    def openai_base(self) -> str:
        """`api_base` for litellm's openai/ and hosted_vllm/, and other OpenAI clients."""
        return f"{self.base}/v1"

    @property
    def anthropic_base(self) -> str:
        """`api_base` for litellm's anthropic/, which adds /v1/messages itself."""
        return self.base

    @property
    def ollama_base(self) -> str:
        """`api_base` for litellm's ollama_chat/ and ollama/."""
        return self.base

    @property
    def bases(self) -> dict[str, str]:
        """The three bases by protocol."""
        return {name: getattr(self, f"{name}_base") for name in ("openai", "anthropic", "ollama")}

    @property
    def requests(self) -> list[ServedRequest]:
        """The requests for a model so far, in order of arrival; a copy."""
        with self._lock:
            return list(self._requests)

    @property
    def counts(self) -> Counts:
        """What was counted so far; a copy."""
        with self._lock:
            return deepcopy(self._counts)

    @property
    def in_flight(self) -> int:
        """Requests that arrived and have no whole answer yet."""
        return self._counts.in_flight

    def reset(self) -> None:
        """Forgets requests, counts, attempts, errors and used-up rate; goes on serving.

        Requests in flight stay counted as in flight, and nowhere else.
        """
        with self._lock:
            in_flight = self._counts.in_flight
            self._counts = Counts(in_flight=in_flight, peak_in_flight=in_flight)
            self._attempts.clear()
            self._requests.clear()
            self.errors.clear()
            self._n = 0
            if self._allowance is not None:
                self._allowance.refill()

    # One request -----------------------------------------------------------------------------

    def _opened(self) -> None:
        with self._lock:
            self._counts.connections += 1

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body, path = await request.content.read(), request.path
        protocol = PATHS.get(path) if request.method == "POST" else None
        if not path.startswith("/__"):
            with self._lock:
                self._counts.by_path[path] += 1
        if protocol is None:
            if path == "/__reset" and request.method == "POST":
                self.reset()
                path = "/__counts"
            return _response(aside_answer(path, self.counts))
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            served = self._read(protocol, path, headers, body)
        except (ValueError, RecursionError) as error:
            with self._lock:
                self._counts.by_status[400] += 1
            return _response(HttpAnswer(400, JSON_HEADERS, error_body(protocol, str(error))))
        try:
            return await self._answer(request, served, key_of(headers))
        except (asyncio.CancelledError, ConnectionError):
            self._count(served, abandoned=1)
            raise

    def _read(
        self, protocol: WireProtocol, path: str, headers: Mapping[str, str], body: bytes
    ) -> ServedRequest:
        """The request, counted.

        Raises:
            ValueError: it is none of this protocol; the text says why.
        """
        params = json.loads(body)
        if not isinstance(params, dict):
            raise ValueError("the body must be a JSON object")
        if params.get("stream") is True:
            raise ValueError("stream: this server does not stream")
        served = read_request(protocol, path, params, masked(headers))
        with self._lock:
            self._n += 1
            self._attempts[served.key] += 1
            served = replace(served, n=self._n, attempt=self._attempts[served.key])
            self._open.add(id(served))
            counts = self._counts
            counts.total += 1
            counts.by_model[served.model] += 1
            counts.in_flight += 1
            counts.peak_in_flight = max(counts.peak_in_flight, counts.in_flight)
            if self.record:
                self._requests.append(served)
        return served

    async def _answer(
        self, request: web.BaseRequest, served: ServedRequest, api_key: str
    ) -> web.StreamResponse:
        turned_away = self._turned_away(served, api_key)
        if turned_away is not None:
            return await self._send(request, served, turned_away, api_key)
        async with self._slots or nullcontext():
            try:
                reply = self.judge(served)
            except Exception as error:  # the user's own code: say so instead of hanging
                self.errors.append(error)
                reply = ServedReply(f"the scripted judge raised {error!r}", status=500)
            delay_s = self.delay_s + reply.delay_s
            if delay_s > 0.0:
                await asyncio.sleep(delay_s)
            return await self._send(request, served, reply, api_key)

    def _turned_away(self, served: ServedRequest, api_key: str) -> ServedReply | None:
        """The answer to a request that no model is asked about; None for others."""
        if self.api_key is not None and api_key != self.api_key:
            return ServedReply(None, fault=Fault.UNAUTHORIZED_ECHOING_KEY)
        wait_s = 0.0 if self._allowance is None else self._allowance.wait_s()
        if wait_s > 0.0:
            headers = {"retry-after": str(ceil(wait_s)), "retry-after-ms": str(ceil(wait_s * 1000))}
            return ServedReply(None, headers=headers, fault=Fault.RATE_LIMIT)
        if served.structured is not None and served.structured not in self.supports:
            return ServedReply(None, fault=Fault.RESPONSE_FORMAT_UNSUPPORTED)
        options = served.params.get("options")
        given = {*served.params, *(options if isinstance(options, dict) else ())}
        if given & self.rejected_parameters:
            return ServedReply(None, fault=Fault.TEMPERATURE_UNSUPPORTED)
        if self.when_full == "reject" and self._slots is not None and self._slots.locked():
            return ServedReply(None, fault=Fault.RATE_LIMIT)
        return None

    async def _send(
        self, request: web.BaseRequest, served: ServedRequest, reply: ServedReply, api_key: str
    ) -> web.StreamResponse:
        fault = reply.fault
        if fault is Fault.HANG:
            await asyncio.Event().wait()  # until the client, or the server, is gone
        answer = http_answer(served, reply, api_key=api_key, retry_after_s=self.retry_after_s)
        if fault is Fault.TRICKLE:
            response = await _begun(request, answer)
            for byte in answer.body[:-1]:
                await response.write(bytes([byte]))
                await asyncio.sleep(self.trickle_s)
            self._count(served, status=answer.status)
            await response.write(answer.body[-1:])
            return response
        if fault is not None and fault in TRANSPORT_FAULTS:
            self._count(served, broken=1)
            return await _broken_off(request, answer, fault)
        # Counted first: whoever holds the answer must find it counted.
        self._count(served, status=answer.status)
        return _response(answer)

    def _count(
        self,
        served: ServedRequest,
        *,
        status: int | None = None,
        broken: int = 0,
        abandoned: int = 0,
    ) -> None:
        """Takes down how a request ended; what becomes of its connection later does not count."""
        with self._lock:
            if id(served) not in self._open:
                return
            self._open.discard(id(served))
            self._counts.in_flight -= 1
            self._counts.broken += broken
            self._counts.abandoned += abandoned
            if status is not None:
                self._counts.by_status[status] += 1


def _response(answer: HttpAnswer) -> web.Response:
    """The whole answer."""
    reason = _REASONS.get(answer.status, "Unknown")
    return web.Response(
        status=answer.status, reason=reason, headers=answer.headers, body=answer.body
    )


async def _begun(request: web.BaseRequest, answer: HttpAnswer) -> web.StreamResponse:
    """The answer, of which the head is sent."""
    reason = _REASONS.get(answer.status, "Unknown")
    response = web.StreamResponse(status=answer.status, reason=reason, headers=answer.headers)
    response.content_length = len(answer.body)
    await response.prepare(request)
    return response


async def _broken_off(
    request: web.BaseRequest, answer: HttpAnswer, fault: Fault
) -> web.StreamResponse:
    """Breaks the connection in the way of a fault that resets or closes it."""
    response: web.StreamResponse = web.Response()
    if fault in (Fault.RESET_MID_BODY, Fault.CLOSE_MID_BODY):
        response = await _begun(request, answer)
        await response.write(answer.body[: len(answer.body) - max(1, len(answer.body) // 2)])
        await asyncio.sleep(_SETTLE_S)
    if fault in (Fault.RESET_BEFORE_ANSWER, Fault.RESET_MID_BODY):
        _reset(request.transport)
    elif request.transport is not None:
        request.transport.close()
    return response


def _reset(transport: asyncio.BaseTransport | None) -> None:
    """Ends a connection with a TCP reset."""
    if not isinstance(transport, asyncio.Transport):
        return  # it is gone already
    handle = transport.get_extra_info("socket")
    if handle is not None:  # no lingering: the kernel sends RST instead of FIN
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
