"""Where litellm's requests pass on their way out: looked at, sent at most once, or not sent at all.

litellm hands every request, whichever client built it, to its aiohttp transport. Within `passing`
the request that arrives there is noted, and a second one is refused: litellm would send again when
a connection broke, and follow redirects with the key. With an answer to replay nothing is sent:
litellm reads what was received elsewhere. Where nobody is to be told of the call, litellm does not
work out what it would tell (a cost by its own list, records for callbacks): that is a fifth to a
half of what a call through it takes. Calls that others make through litellm in the same process
keep its behaviour.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

_KEPT_BYTES = 1_000_000
"""Most bytes of an answer that are kept to be read a second time."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it went to the wire.

    Attributes:
        transport: litellm's, which knows certificates, proxies and the pool of connections.
        method, url: as sent.
        headers: names and values in order, as sent; keys among them.
        body: the exact bytes.
    """

    transport: Any
    method: str
    url: str
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Received:
    """An answer as it came from the wire.

    Attributes:
        status, headers: 0 and none where nothing came.
        body: as it came, compressed or not; what had come when the connection broke.
        broken: why there is no whole answer; None where there is one.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    body: bytes = field(repr=False)
    broken: Exception | None = None


@dataclass(slots=True)
class Passage:
    """What one call through litellm sent and received.

    Attributes:
        replay: the answer that litellm is given instead of asking anybody.
        is_untold: whether litellm has nobody to tell of the call.
        sent, received: what passed; None where nothing did, or more than is worth keeping.
        moved_to: the address that a redirect named, which is not followed.
    """

    replay: Received | None = None
    is_untold: bool = False
    sent: Sent | None = None
    received: Received | None = None
    moved_to: str | None = None


_passage: ContextVar[Passage | None] = ContextVar("passage", default=None)


@contextlib.contextmanager
def passing(replay: Received | None = None, *, is_untold: bool = False) -> Iterator[Passage]:
    """A block in which litellm sends at most one request, or none where an answer is replayed."""
    passage = Passage(replay, is_untold)
    mark = _passage.set(passage)
    try:
        with _internal() if is_untold else contextlib.nullcontext():
            yield passage
    finally:
        _passage.reset(mark)


@contextlib.contextmanager
def _internal() -> Iterator[None]:
    """A block whose calls litellm takes for steps of its own, of which it tells nobody."""
    try:
        from litellm._internal_context import is_internal_call
    except ImportError:  # a litellm without it tells its empty lists
        yield
        return
    mark = is_internal_call.set(True)
    try:
        yield
    finally:
        is_internal_call.reset(mark)


def watch_litellm() -> None:
    """Puts the watch on litellm's transport and HTTP handler; to be called once a process."""
    from litellm.litellm_core_utils.litellm_logging import Logging
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    _watch_transport(LiteLLMAiohttpTransport)
    _send_once(AsyncHTTPHandler)
    _price_what_is_told(Logging)


def _watch_transport(transport: Any) -> None:
    import httpx

    send = transport.handle_async_request

    async def watched(self: Any, request: Any) -> Any:
        passage = _passage.get()
        if passage is None:
            return await send(self, request)
        if passage.sent is not None:
            raise httpx.RemoteProtocolError("a second request of one call is not sent")
        passage.sent = Sent(
            self,
            request.method,
            str(request.url),
            tuple(request.headers.raw),
            await request.aread(),
        )
        if passage.replay is not None:
            response = _replayed(passage.replay, request)
        else:
            response = await send(self, request)
        location = response.headers.get("location")
        if location is not None and 300 <= response.status_code < 400:
            passage.moved_to = str(location)
            await response.aclose()
            raise httpx.RemoteProtocolError("the address redirects; redirects are not followed")
        if passage.replay is None:
            response.stream = _noted_stream(response, passage)
        return response

    transport.handle_async_request = watched


def _replayed(answer: Received, request: Any) -> Any:
    import httpx
    from litellm.llms.custom_httpx.aiohttp_transport import map_aiohttp_exceptions

    class Replay(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield answer.body
            if answer.broken is not None:
                with map_aiohttp_exceptions():
                    raise answer.broken

    if not answer.status and answer.broken is not None:
        with map_aiohttp_exceptions():
            raise answer.broken
    return httpx.Response(
        answer.status, headers=list(answer.headers), stream=Replay(), request=request
    )


def _noted_stream(response: Any, passage: Passage) -> Any:
    """The stream of an answer, which notes what goes by once it has ended."""
    import httpx

    inner = response.stream

    class Noted(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            parts: list[bytes] = []
            size = 0
            async for part in inner:
                size += len(part)
                if size <= _KEPT_BYTES:
                    parts.append(part)
                yield part
            if size <= _KEPT_BYTES:
                passage.received = Received(
                    response.status_code, tuple(response.headers.raw), b"".join(parts)
                )

        async def aclose(self) -> None:
            await inner.aclose()

    return Noted()


def _send_once(handler: Any) -> None:
    """Stops litellm's HTTP handler from sending a request again after a broken connection.

    The provider may have done the work, and been paid, when the connection breaks; whether to ask
    again is decided, counted and stored by the desk.
    """
    again = getattr(handler, "single_connection_post_request", None)
    if again is None:  # a litellm that does not send again
        return

    async def not_again(self: Any, *given: Any, **named: Any) -> Any:
        if _passage.get() is not None:
            raise  # noqa: PLE0704 - what the first attempt met: litellm calls this in its handler
        return await again(self, *given, **named)

    handler.single_connection_post_request = not_again


def _price_what_is_told(record: Any) -> None:
    """Keeps litellm from pricing calls of which it tells nobody; the backend prices its own."""
    price = getattr(record, "response_cost_calculator", None)
    if price is None:
        return

    def priced(self: Any, *given: Any, **named: Any) -> Any:
        passage = _passage.get()
        return None if passage is not None and passage.is_untold else price(self, *given, **named)

    record.response_cost_calculator = priced
