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
        self._waiting: list[asyncio.Future[None]] = []

    def __enter__(self) -> None:
        self._under_way += 1

    def __exit__(self, *_: object) -> None:
        self._under_way -= 1

    async def together(self) -> None:
        """Waits until others start too, 5 ms at most."""
        if self._under_way < _FEW:
            return
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(min(_MOST_S, self._under_way * _EACH_S), self._start)
        elif self._waiting[0].get_loop() is not loop:  # theirs cannot wake a call of another
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _start(self) -> None:
        waiting, self._waiting = self._waiting, []
        for turn in waiting:
            if not turn.done():  # cancelled
                turn.set_result(None)
