"""The floor of `panel_speed.py`: connections that are never without a request.

Each of them sends the same bytes again as soon as an answer has come whole, and reads nothing of
it but its length. It is no client and no part of the package: nothing that asks a provider over
loopback comes nearer to the ideal.
"""

from __future__ import annotations

import asyncio
import json
from typing import cast
from urllib.parse import urlsplit

from call_speed import SCHEMA, messages

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class BareWire:
    """So many calls of OpenAI's protocol, to be shared by connections."""

    def __init__(self, base: str, calls: int) -> None:
        place = urlsplit(base)
        self.host, self.port = place.hostname or "", place.port or 80
        self.unsent = calls
        self.unanswered = calls
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        form = {"name": "judgment", "strict": True, "schema": SCHEMA}
        asked = {
            "model": "judge",
            "messages": messages(0),
            "response_format": {"type": "json_schema", "json_schema": form},
        }
        body = json.dumps(asked).encode()
        head = (
            f"POST {place.path}/chat/completions HTTP/1.1\r\nHost: {place.netloc}\r\n"
            "Authorization: Bearer none\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self.request = head.encode() + body

    async def run(self, connections: int) -> None:
        """Makes the calls.

        Raises:
            RuntimeError: the provider said something else than 200, or left.
        """
        loop = asyncio.get_running_loop()
        for _ in range(connections):
            await loop.create_connection(lambda: _Connection(self), self.host, self.port)
        await self.ended

    def answered(self) -> None:
        """Counts an answer."""
        self.unanswered -= 1
        if not self.unanswered:
            self.ended.set_result(None)

    def fail(self, why: str) -> None:
        """Ends everything with an error."""
        if not self.ended.done():
            self.ended.set_exception(RuntimeError(why))


class _Connection(asyncio.Protocol):
    def __init__(self, wire: BareWire) -> None:
        self.wire = wire
        self.read = b""
        self.whole = 0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's own is none by its class
        self._next()

    def data_received(self, data: bytes) -> None:
        self.read += data
        if not self.whole:
            end = self.read.find(_HEAD_END)
            if end < 0:
                return
            head = self.read[:end].lower()
            if not head.startswith(b"http/1.1 200") or _LENGTH not in head:
                self.wire.fail(f"the provider said {self.read[:200]!r}")
                return
            length = head.partition(_LENGTH)[2].partition(b"\r\n")[0]
            self.whole = end + len(_HEAD_END) + int(length)
        if len(self.read) >= self.whole:
            self.wire.answered()
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.wire.unanswered:
            self.wire.fail(f"the provider closed a connection: {exc}")

    def _next(self) -> None:
        self.read, self.whole = b"", 0
        if self.wire.unsent and self.transport is not None:
            self.wire.unsent -= 1
            self.transport.write(self.wire.request)
