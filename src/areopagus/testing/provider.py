"""A provider of models on loopback, for tests and benchmarks."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from math import ceil
from time import monotonic, time
from types import TracebackType
from typing import Any, Literal, Self

from .answers import JSON_HEADERS, HttpAnswer, error_body, http_answer
from .connection import Connection
from .exchange import (
    TRANSPORT_FAULTS,
    Fault,
    ScriptedJudge,
    ServedReply,
    ServedRequest,
    Structured,
    request_key,
)
from .protocols import PATHS, read_body
from .scripted import by_hash


class RateAllowance:
    """A token bucket: so many requests a minute, so many of them at once.

    Args:
        requests_per_minute: the long-run rate; positive.
        burst: how many may come at once after a rest; None: a second's worth, at least one.
        clock: seconds, never going back.

    Raises:
        ValueError: for a rate that is not positive or a burst below 1.
    """

    def __init__(
        self,
        requests_per_minute: float,
        burst: int | None = None,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if requests_per_minute <= 0:
            raise ValueError(f"requests_per_minute must be positive, got {requests_per_minute}")
        if burst is not None and burst < 1:
            raise ValueError(f"burst must be at least 1, got {burst}")
        self._per_second = requests_per_minute / 60.0
        self._size = float(burst) if burst is not None else max(1.0, self._per_second)
        self._clock = clock
        self.refill()

    def refill(self) -> None:
        """Forgets what was used."""
        self._left, self._as_of = self._size, self._clock()

    def wait_s(self) -> float:
        """0.0 where a request is admitted (and used up); else the seconds until one would be."""
        now = self._clock()
        self._left = min(self._size, self._left + (now - self._as_of) * self._per_second)
        self._as_of = now
        if self._left >= 1.0:
            self._left -= 1.0
            return 0.0
        return (1.0 - self._left) / self._per_second


@dataclass(frozen=True, slots=True)
class Counts:
    """Requests that ask a model, since the start or the last `reset`.

    Attributes:
        total: requests that arrived whole.
        answered: answers written whole, of whatever status.
        broken: connections reset or closed on purpose by a fault.
        abandoned: requests whose client (or the server's stop) ended the connection first.
        in_flight: neither answered, broken nor abandoned yet.
        peak_in_flight: the largest number in flight at once.
        connections: connections accepted.
        by_path, by_model: requests that arrived; paths include those that ask no model.
        by_status: answers written, by HTTP status.
    """

    total: int
    answered: int
    broken: int
    abandoned: int
    in_flight: int
    peak_in_flight: int
    connections: int
    by_path: dict[str, int]
    by_model: dict[str, int]
    by_status: dict[int, int]

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values; statuses become text, as keys of JSON are."""
        values = asdict(self)
        values["by_status"] = {str(status): n for status, n in self.by_status.items()}
        return values


class Tally:
    """The running counts behind `Counts`; its owner holds a lock around every use."""

    def __init__(self) -> None:
        self.total = self.broken = self.abandoned = 0
        self.in_flight = self.peak_in_flight = self.connections = 0
        self.by_path: Counter[str] = Counter()
        self.by_model: Counter[str] = Counter()
        self.by_status: Counter[int] = Counter()

    def began(self, model: str) -> None:
        """A request for a model arrived whole."""
        self.total += 1
        self.by_model[model] += 1
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)

    def counts(self) -> Counts:
        """A copy of the counts."""
        return Counts(
            total=self.total,
            answered=sum(self.by_status.values()),
            broken=self.broken,
            abandoned=self.abandoned,
            in_flight=self.in_flight,
            peak_in_flight=self.peak_in_flight,
            connections=self.connections,
            by_path=dict(self.by_path),
            by_model=dict(self.by_model),
            by_status=dict(self.by_status),
        )


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


@dataclass(slots=True)
class _Call:
    """One request between its arrival and the end of its answer."""

    connection: Connection
    request: ServedRequest
    api_key: str
    holds_slot: bool = False


class ProviderServer:
    """An HTTP/1.1 server on 127.0.0.1 that speaks the OpenAI, Anthropic and Ollama protocols.

    It runs on a thread of its own from `start` (or `with`) to `stop`. With litellm:
    `openai/NAME` and `hosted_vllm/NAME` take `api_base=server.openai_base`, `anthropic/NAME`
    takes `server.anthropic_base`, `ollama_chat/NAME` and `ollama/NAME` take
    `server.ollama_base`. Streamed answers are refused.

    Args:
        judge: decides every reply; runs on the server's thread, so it must not block. One that
            raises is answered with status 500 and kept in `errors`.
        port: 0 takes a free one, which is kept over `stop` and `start`.
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
            None if requests_per_minute is None else RateAllowance(requests_per_minute, burst)
        )
        self._lock = threading.Lock()
        self._tally = Tally()
        self._attempts: Counter[str] = Counter()
        self._requests: list[ServedRequest] = []
        self._n = 0
        self._connections: dict[Connection, _Call | None] = {}
        self._waiting: deque[_Call] = deque()
        self._slots_used = 0
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    # Life ------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Starts to listen, on the same port as before where there was one; returns itself."""
        if self._thread is not None:
            raise RuntimeError("the server is running already")
        ready = threading.Event()
        failed: list[OSError] = []
        self._thread = threading.Thread(
            target=self._run, args=(ready, failed), name="areopagus-provider", daemon=True
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
        loop.call_soon_threadsafe(loop.stop)
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

    def _run(self, ready: threading.Event, failed: list[OSError]) -> None:
        loop = asyncio.new_event_loop()
        try:
            server = loop.run_until_complete(
                loop.create_server(
                    self._connection, "127.0.0.1", self.port, backlog=4096, ssl=self.tls
                )
            )
        except OSError as error:
            failed.append(error)
            loop.close()
            ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._loop = loop
        ready.set()
        try:
            loop.run_forever()
        finally:
            server.close()
            self._waiting.clear()
            for connection in list(self._connections):
                connection.drop(reset=True)
            # One turn for the transports to call connection_lost and close their sockets.
            loop.run_until_complete(asyncio.sleep(0))
            loop.run_until_complete(server.wait_closed())
            loop.close()

    def _connection(self) -> Connection:
        return Connection(self._on_request, self._on_open, self._on_lost)

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
            return self._tally.counts()

    @property
    def in_flight(self) -> int:
        """Requests that arrived and have no whole answer yet."""
        return self._tally.in_flight

    def reset(self) -> None:
        """Forgets requests, counts, attempts, errors and used-up rate; goes on serving.

        Requests in flight stay counted as in flight, and nowhere else.
        """
        with self._lock:
            in_flight = self._tally.in_flight
            self._tally = Tally()
            self._tally.in_flight = self._tally.peak_in_flight = in_flight
            self._attempts.clear()
            self._requests.clear()
            self.errors.clear()
            self._n = 0
            if self._allowance is not None:
                self._allowance.refill()

    # Connections -----------------------------------------------------------------------------

    def _on_open(self, connection: Connection) -> None:
        self._connections[connection] = None
        with self._lock:
            self._tally.connections += 1

    def _on_lost(self, connection: Connection) -> None:
        call = self._connections.pop(connection, None)
        if call is not None:
            self._ended(call, status=None, broken=False)

    def _on_request(
        self, connection: Connection, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> None:
        protocol = PATHS.get(path) if method == "POST" else None
        if not path.startswith("/__"):
            with self._lock:
                self._tally.by_path[path] += 1
        if protocol is None:
            if path == "/__reset" and method == "POST":
                self.reset()
                path = "/__counts"
            connection.answer(aside_answer(path, self.counts))
            return
        try:
            params = json.loads(body)
            if not isinstance(params, dict):
                raise ValueError("the body must be a JSON object")
            if params.get("stream") is True:
                raise ValueError("stream: this server does not stream")
            asked = read_body(protocol, path, params)
        except (ValueError, RecursionError) as error:
            connection.answer(HttpAnswer(400, JSON_HEADERS, error_body(protocol, str(error))))
            with self._lock:
                self._tally.by_status[400] += 1
            return
        key = request_key(asked.model, asked.messages)
        with self._lock:
            self._n += 1
            self._attempts[key] += 1
            request = ServedRequest(
                protocol=protocol,
                path=path,
                model=asked.model,
                messages=asked.messages,
                params=params,
                headers=masked(headers),
                schema=asked.schema,
                structured=asked.structured,
                forced_tool=asked.forced_tool,
                n=self._n,
                attempt=self._attempts[key],
                key=key,
                time=time(),
            )
            self._tally.began(asked.model)
            if self.record:
                self._requests.append(request)
        call = _Call(connection, request, key_of(headers))
        self._connections[connection] = call
        self._admit(call)

    # One call --------------------------------------------------------------------------------

    def _admit(self, call: _Call) -> None:
        """Answers at once what is turned away; else starts the work, or queues it."""
        if self.api_key is not None and call.api_key != self.api_key:
            self._send(call, ServedReply(None, fault=Fault.UNAUTHORIZED_ECHOING_KEY))
            return
        wait_s = 0.0 if self._allowance is None else self._allowance.wait_s()
        if wait_s > 0.0:
            headers = {"retry-after": str(ceil(wait_s)), "retry-after-ms": str(ceil(wait_s * 1000))}
            self._send(call, ServedReply(None, headers=headers, fault=Fault.RATE_LIMIT))
            return
        fault = self._incapable(call.request)
        if fault is not None:
            self._send(call, ServedReply(None, fault=fault))
        elif self.max_concurrent is None or self._slots_used < self.max_concurrent:
            self._work(call)
        elif self.when_full == "queue":
            self._waiting.append(call)
        else:
            self._send(call, ServedReply(None, fault=Fault.RATE_LIMIT))

    def _incapable(self, request: ServedRequest) -> Fault | None:
        if request.structured is not None and request.structured not in self.supports:
            return Fault.RESPONSE_FORMAT_UNSUPPORTED
        if self.rejected_parameters:
            options = request.params.get("options")
            given = {*request.params, *(options if isinstance(options, dict) else ())}
            if given & self.rejected_parameters:
                return Fault.TEMPERATURE_UNSUPPORTED
        return None

    def _work(self, call: _Call) -> None:
        call.holds_slot = True
        self._slots_used += 1
        try:
            reply = self.judge(call.request)
        except Exception as error:  # the user's own code: say so instead of hanging
            self.errors.append(error)
            reply = ServedReply(f"the scripted judge raised {error!r}", status=500)
        delay_s = self.delay_s + reply.delay_s
        if delay_s > 0.0:
            call.connection.later(delay_s, partial(self._send, call, reply))
        else:
            self._send(call, reply)

    def _send(self, call: _Call, reply: ServedReply) -> None:
        fault = reply.fault
        if fault is Fault.HANG:
            return
        answer = http_answer(
            call.request, reply, api_key=call.api_key, retry_after_s=self.retry_after_s
        )
        if fault is Fault.TRICKLE:
            call.connection.trickle(
                answer, self.trickle_s, partial(self._answered, call, answer.status)
            )
        elif fault is not None and fault in TRANSPORT_FAULTS:
            self._connections[call.connection] = None
            self._ended(call, status=None, broken=True)
            call.connection.break_off(fault, answer)
        else:
            # Counted first: whoever holds the answer must find it counted.
            self._answered(call, answer.status)
            call.connection.answer(answer)

    def _answered(self, call: _Call, status: int) -> None:
        self._connections[call.connection] = None
        self._ended(call, status=status, broken=False)

    def _ended(self, call: _Call, *, status: int | None, broken: bool) -> None:
        with self._lock:
            self._tally.in_flight -= 1
            if status is not None:
                self._tally.by_status[status] += 1
            elif broken:
                self._tally.broken += 1
            else:
                self._tally.abandoned += 1
        if call.holds_slot:
            self._slots_used -= 1
        if self._waiting:  # in a turn of its own, or a long queue would be a deep recursion
            asyncio.get_running_loop().call_soon(self._work_on_waiting)

    def _work_on_waiting(self) -> None:
        while self._waiting and self._slots_used < (self.max_concurrent or 0):
            waiting = self._waiting.popleft()
            if self._connections.get(waiting.connection) is waiting:  # else its client is gone
                self._work(waiting)
