"""Calls start together where many are under way.

A call that goes its way alone finds at each step that the processor's caches hold another one's
code and objects; calls that start together take each step one behind the other. So a call waits a
moment for others, the longer the more are under way, which all take the same processor: the wait is
a few hundredths of what it waits for those anyway.
"""

from __future__ import annotations

import asyncio

_FEW = 16
"""Calls under way below which none waits."""
_EACH_S = 0.00004
_MOST_S = 0.005


class Departures:
    """The moments at which calls start.

    Use it as a context manager around a call, and await `together` within it before the call
    starts.
    """

    def __init__(self) -> None:
        self._under_way = 0
        self._waiting: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}

    def __enter__(self) -> None:
        self._under_way += 1

    def __exit__(self, *_: object) -> None:
        self._under_way -= 1

    async def together(self) -> None:
        """Waits until others of its event loop start too, 5 ms at most."""
        if self._under_way < _FEW:
            return
        loop = asyncio.get_running_loop()
        waiting = self._waiting.get(loop)
        if waiting is None:
            self._forget_closed()
            waiting = self._waiting[loop] = []
            loop.call_later(min(_MOST_S, self._under_way * _EACH_S), self._start, loop)
        turn = loop.create_future()
        waiting.append(turn)
        await turn

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        for turn in self._waiting.pop(loop):
            if not turn.done():  # cancelled
                turn.set_result(None)

    def _forget_closed(self) -> None:
        """A loop that was closed while calls waited never starts them."""
        for loop in list(self._waiting):  # loops of other threads come and go meanwhile
            if loop.is_closed():
                self._waiting.pop(loop, None)
