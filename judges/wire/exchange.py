"""One request and its answer over a connection that aiohttp's pool has opened, and nothing else.

aiohttp's client makes some twenty objects and a task for each request, which costs more than the
lane's own work. What it writes is the same for all requests of one head but their length and their
body, and what it reads is a status, a head and a body. So the pool is asked for a connection (it
knows names, certificates, limits and how long a connection may rest), the request is written there,
and httptools, the parser of Node's HTTP, reads the answer. The pool gets the connection back when
nothing is left on it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .passage import Received

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_SPOILED = 32
"""Connections on which something has come unasked; then no more are opened for one request."""
_MOST_HEADERS = 128
_LONGEST_HEADER = 8190
_LONGEST_HEAD = _MOST_HEADERS * _LONGEST_HEADER
"""As aiohttp's client has it."""


class Exchanges:
    """Requests of one head over the connections of one session.

    Attributes:
        is_trusted: whether every answer was one that could be read. What a stricter parser refuses
            another may read: from then on aiohttp's client is asked.
    """

    def __init__(self, session: Any, request: Any) -> None:
        """Writes the head down.

        Args:
            session: aiohttp's, which is open.
            request: aiohttp's, with any body; it stands for all of them at the pool.

        Raises:
            ImportError, AttributeError: an aiohttp that is made differently, or no httptools.
            ValueError: a head that aiohttp writes in its own way, or refuses.
        """
        from httptools import HttpResponseParser

        self.is_trusted = True
        self._connector = session.connector
        self._request = request
        self._new_parser = HttpResponseParser
        self._before, self._after = _head_of(request)
        if self._connector.force_close:
            raise ValueError("every connection is for one request")

    async def post(self, body: bytes, no_timers: Any) -> Received:
        """What came back, whole or broken off.

        Args:
            body: of the request.
            no_timers: aiohttp's `ClientTimeout` without any.

        Raises:
            Exception: aiohttp's, where no connection was made: nothing was sent.
        """
        connection = await self._clear_connection(no_timers)
        transport, pools = connection.transport, connection.protocol
        exchange = Exchange(pools, self._new_parser, self._error)
        transport.set_protocol(exchange)
        try:
            transport.write(b"".join((self._before, b"%d" % len(body), self._after, body)))
            received = await exchange.answered
        except BaseException:
            connection.close()
            raise
        self.is_trusted = not exchange.is_unreadable
        if exchange.is_over and not transport.get_write_buffer_size():
            transport.set_protocol(pools)
            connection.release()
        else:
            connection.close()
        return received

    async def _clear_connection(self, no_timers: Any) -> Any:
        """One of the pool's, or a new one, on which nothing has come that nobody had asked for."""
        for _ in range(_MOST_SPOILED):
            connection = await self._connector.connect(self._request, [], no_timers)
            if not connection.protocol.should_close:
                return connection
            connection.close()
        from aiohttp import ClientConnectionError

        raise ClientConnectionError("something comes on each connection before it is asked for")

    def _error(self, message: str) -> BaseException:
        """What aiohttp's client raises over a head that it cannot read."""
        from aiohttp import ClientResponseError

        return ClientResponseError(self._request.request_info, (), status=400, message=message)


class Exchange(asyncio.Protocol):
    """Reads the answer to one request, in the place of the pool's own protocol.

    Attributes:
        answered: what came back, as soon as it is whole or broken off.
        is_over: whether the connection may carry another request: the answer is whole, ends by
            itself, and nothing follows it.
        is_unreadable: whether what came was not HTTP as the parser knows it.
    """

    def __init__(
        self,
        pools: Any,
        new_parser: Callable[[Any], Any],
        error: Callable[[str], BaseException],
    ) -> None:
        """Begins before the request is written.

        Args:
            pools: the protocol whose place it takes, which is told when the connection is lost.
            new_parser: httptools' parser of answers.
            error: makes the error over a head that cannot be read.
        """
        self.answered: asyncio.Future[Received] = asyncio.get_running_loop().create_future()
        self.is_over = self.is_unreadable = False
        self._pools = pools
        self._error = error
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self._head_size = 0
        self._has_head = self._until_end = False
        self._parser = parser = new_parser(self)
        # What aiohttp's parser lets pass: broken servers are read alike on both roads.
        parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )

    # What the transport tells --------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Some of the answer."""
        if self.answered.done():
            self.is_over = False  # more than was asked for
            return
        try:
            self._parser.feed_data(data)
        except Exception as error:  # whatever the parser, or what it calls here, objects to
            self.is_over = False
            if not self.answered.done():
                self.is_unreadable = True
                self._break(f"{type(error).__name__}: {error}", error)
        else:
            if not self._has_head:
                self._head_size += len(data)
                if self._head_size > _LONGEST_HEAD:
                    self.is_unreadable = True
                    self._break("the head does not end", None)

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is closed, by whichever side."""
        self._pools.connection_lost(error)
        self.is_over = False
        if self.answered.done():
            return
        if self._until_end and error is None:
            self._end()
            return
        from aiohttp import ClientOSError, ClientPayloadError, ServerDisconnectedError

        broken: BaseException
        if self._has_head:
            broken = ClientPayloadError(f"Response payload is not completed: {error!r}")
        elif isinstance(error, OSError):
            broken = ClientOSError(*error.args)
        else:
            broken = ServerDisconnectedError()
        broken.__cause__ = error
        self._broken_off(broken)

    # What the parser tells -----------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """An answer begins, this one's or another that nobody has asked for."""
        self.is_over = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of the head, or one behind the body, which says nothing of the answer."""
        if self._has_head:
            return
        headers = self._headers
        if len(headers) >= _MOST_HEADERS or len(name) + len(value) > _LONGEST_HEADER:
            raise ValueError("too long a head")
        headers.append((name, value.strip()))

    def on_headers_complete(self) -> None:
        """The head has come."""
        self._has_head = True
        has_length = is_chunked = is_coded = False
        for name, value in self._headers:
            match name.lower():
                case b"content-length":
                    has_length = True
                case b"transfer-encoding":
                    is_coded, is_chunked = True, value.lower().endswith(b"chunked")
        self._until_end = not is_chunked and (is_coded or not has_length)

    def on_body(self, part: bytes) -> None:
        """Some of the body."""
        if not self.answered.done():
            self._parts.append(part)

    def on_message_complete(self) -> None:
        """An answer is whole."""
        if self.answered.done():
            return
        status = self._parser.get_status_code()
        if 100 <= status < 200 and status != 101:  # the answer itself is still to come
            self._headers, self._parts = [], []
            self._has_head = self._until_end = False
            return
        self.is_over = self._parser.should_keep_alive() and status != 101
        self._end()

    # ---------------------------------------------------------------------------------------------

    def _end(self) -> None:
        parts = self._parts
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        status = self._parser.get_status_code()
        self.answered.set_result(Received(status, tuple(self._headers), body))

    def _break(self, what: str, error: Exception | None) -> None:
        """The answer cannot be read on."""
        from aiohttp import ClientPayloadError

        broken = ClientPayloadError(what) if self._has_head else self._error(what)
        broken.__cause__ = error
        self._broken_off(broken)

    def _broken_off(self, broken: BaseException) -> None:
        """What has come, without its end."""
        if not self._has_head:
            self.answered.set_result(Received(0, (), b"", broken))
            return
        status, body = self._parser.get_status_code(), b"".join(self._parts)
        self.answered.set_result(Received(status, tuple(self._headers), body, broken))


def _head_of(request: Any) -> tuple[bytes, bytes]:
    """The head as aiohttp writes it, before and behind the body's length.

    Raises:
        ValueError: it is not written so.
    """
    if request.chunked or request.compress or request.proxy is not None:
        raise ValueError("the body is not sent as it is")
    if any(name in request.headers for name in ("Expect", "Transfer-Encoding", "Upgrade")):
        raise ValueError("the body is not sent at once")
    if len({name.lower() for name in request.headers}) != len(request.headers):
        raise ValueError("a name twice, of which aiohttp's client may take one")
    version = request.version
    lines = [f"{request.method} {request.url.raw_path_qs} HTTP/{version.major}.{version.minor}"]
    at = 0
    for name, value in request.headers.items():
        is_length = name.lower() == "content-length"
        at = len(lines) if is_length else at
        lines.append(f"{name}: {'' if is_length else value}")
    if not at or any(not line.isascii() or not line.isprintable() for line in lines):
        raise ValueError("a head with other characters, or no length")
    before = "\r\n".join(lines[: at + 1])
    after = "".join(f"\r\n{line}" for line in (*lines[at + 1 :], "", ""))
    return before.encode("ascii"), after.encode("ascii")
