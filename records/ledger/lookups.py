"""Looking many keys up at once: askers of one round of the event loop share a statement."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

Found = TypeVar("Found")
Look = Callable[[Sequence[str]], Mapping[str, Found]]
_Asked = list[tuple[str, "asyncio.Future[Found | None]"]]


class GatheredLookups(Generic[Found]):
    """Answers whoever asks for a key, with one statement for all that ask together.

    The thirty judges of a response ask in one round of the event loop. Where the ledger is on a
    server, a statement travels there and back: it is sent from a thread, so that the loop goes on,
    and whoever asks meanwhile shares the next one.
    """

    def __init__(self, look: Look[Found], *, aside: bool) -> None:
        """Keeps what it needs.

        Args:
            look: what is stored of some keys; may raise StoreError.
            aside: whether `look` is to run in a thread.
        """
        self._look = look
        self._aside = aside
        self._asked: dict[asyncio.AbstractEventLoop, _Asked[Found]] = {}
        self._under_way: set[asyncio.AbstractEventLoop] = set()

    async def find(self, key: str) -> Found | None:
        """What is stored of a key, or None.

        Raises:
            StoreError: the ledger cannot be read.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Found | None] = loop.create_future()
        asked = self._asked.get(loop)
        if asked is None:
            asked = self._asked[loop] = []
            if loop not in self._under_way:
                loop.call_soon(self._start, loop)
        asked.append((key, future))
        return await future

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        asked = self._asked.pop(loop)
        keys = list(dict.fromkeys(key for key, future in asked if not future.done()))
        if not self._aside:
            try:
                found = self._look(keys)
            except BaseException as error:
                _fail(asked, error)
            else:
                _answer(asked, found)
            return
        self._under_way.add(loop)
        looking = loop.run_in_executor(None, self._look, keys)

        def ended(done: asyncio.Future[Mapping[str, Found]]) -> None:
            self._under_way.discard(loop)
            if self._asked.get(loop):
                self._start(loop)
            if done.cancelled():
                _fail(asked, asyncio.CancelledError())
            elif (error := done.exception()) is not None:
                _fail(asked, error)
            else:
                _answer(asked, done.result())

        looking.add_done_callback(ended)


def _answer(asked: _Asked[Found], found: Mapping[str, Found]) -> None:
    for key, future in asked:
        if not future.done():
            future.set_result(found.get(key))


def _fail(asked: _Asked[Any], error: BaseException) -> None:
    for _, future in asked:
        if not future.done():
            future.set_exception(error)
