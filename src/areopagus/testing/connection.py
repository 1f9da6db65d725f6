"""One HTTP/1.1 connection of the loopback server, without a task of its own.

Callbacks and timers only: a connection costs no coroutine, a hanging answer costs nothing, and
there is no task to leak when a client goes away.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from http import HTTPStatus

from .answers import HttpAnswer
from .exchange import Fault

MAX_HEAD_BYTES = 64 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024
_SETTLE_S = 0.02
"""Time for the client to read the first half before a reset throws away what is unread."""

_REASONS = {status.value: status.phrase for status in HTTPStatus} | {529: "Overloaded"}


class Connection(asyncio.Protocol):
    """Reads requests, hands each to `on_request`, writes one answer before the next is read.

    Args:
        on_request: called with the connection, method, path, headers and body; it must lead to
            exactly one call of `answer` or `break_off`, now or later, or to none for a hang.
        on_open: called with the connection when it is made.
        on_lost: called with the connection when it is gone, answered or not.
    """

    def __init__(
        self,
        on_request: Callable[[Connection, str, str, dict[str, str], bytes], None],
        on_open: Callable[[Connection], None],
        on_lost: Callable[[Connection], None],
    ) -> None:
        self._on_request, self._on_open, self._on_lost = on_request, on_open, on_lost
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._head: tuple[str, str, dict[str, str]] | None = None
        self._body_length = 0
        self._busy = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a TCP server has no other
        self._transport = transport
        self._on_open(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None
        self._on_lost(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._advance()

    def _advance(self) -> None:
        while not self._busy and self._transport is not None:
            if self._head is None and not self._read_head():
                return
            if self._head is None or len(self._buffer) < self._body_length:
                return
            method, path, headers = self._head
            body = bytes(self._buffer[: self._body_length])
            del self._buffer[: self._body_length]
            self._head, self._busy = None, True
            self._on_request(self, method, path, headers, body)

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                self._refuse(431, "the head of the request is too long")
            return False
        lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        words = lines[0].split(" ")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        length = headers.get("content-length", "0")
        if len(words) != 3 or not length.isdigit():
            self._refuse(400, "not an HTTP request")
            return False
        if "transfer-encoding" in headers:
            self._refuse(411, "send a content-length")
            return False
        if int(length) > MAX_BODY_BYTES:
            self._refuse(413, "the body is too long")
            return False
        self._head = (words[0], words[1].partition("?")[0], headers)
        self._body_length = int(length)
        if headers.get("expect", "").lower() == "100-continue":
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _refuse(self, status: int, text: str) -> None:
        self._write(encoded(HttpAnswer(status, {"connection": "close"}, text.encode())))
        if self._transport is not None:
            self._transport.close()

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def later(self, delay_s: float, act: Callable[[], None]) -> None:
        """Calls `act` after a delay, unless the connection is lost before."""
        self._timer = asyncio.get_running_loop().call_later(delay_s, act)

    def answer(self, answer: HttpAnswer) -> None:
        """Writes a whole answer and goes on to the next request."""
        self._write(encoded(answer))
        self._busy = False
        if self._buffer:
            self._advance()

    def break_off(self, fault: Fault, answer: HttpAnswer) -> None:
        """Breaks the connection in the way of a fault that resets or closes it."""
        reset = fault in (Fault.RESET_BEFORE_ANSWER, Fault.RESET_MID_BODY)
        if fault in (Fault.RESET_MID_BODY, Fault.CLOSE_MID_BODY):
            whole = encoded(answer)
            self._write(whole[: len(whole) - max(1, len(answer.body) // 2)])
            self.later(_SETTLE_S, lambda: self.drop(reset=reset))
        else:
            self.drop(reset=reset)

    def trickle(self, answer: HttpAnswer, every_s: float, done: Callable[[], None]) -> None:
        """Writes the head at once and the body byte by byte, then calls `done`."""
        whole = encoded(answer)
        start = len(whole) - len(answer.body)
        self._write(whole[:start])

        def step(position: int) -> None:
            if position < len(whole):
                self._write(whole[position : position + 1])
                self.later(every_s, lambda: step(position + 1))
                return
            self._busy = False
            done()
            self._advance()

        step(start)

    def drop(self, *, reset: bool) -> None:
        """Ends the connection: a TCP reset, or an orderly close."""
        if self._transport is None:
            return
        if not reset:
            self._transport.close()
            return
        handle = self._transport.get_extra_info("socket")
        if handle is not None:  # no lingering: the kernel sends RST instead of FIN
            handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()


def encoded(answer: HttpAnswer) -> bytes:
    """The bytes of an answer, with its length."""
    lines = [f"HTTP/1.1 {answer.status} {_REASONS.get(answer.status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    lines.append(f"content-length: {len(answer.body)}\r\n\r\n")
    return "\r\n".join(lines).encode("latin-1") + answer.body
