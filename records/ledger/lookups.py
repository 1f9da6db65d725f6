"""Look-ups of many keys at once: those made in one round of the event loop share a statement."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

Found = TypeVar("Found")


class GatheredLookups(Generic[Found]):
    """Answers whoever asks for a key, with one statement for all that ask together.

    The thirty judges of a response ask in one round of the event loop. Where the ledger is on a
    server, a statement travels there and back: it is sent from a thread, so that the loop goes on,
    and whoever asks meanwhile shares the next one.
    """

    def __init__(
        self, look: Callable[[Sequence[str]], Mapping[str, Found]], *, aside: bool
    ) -> None:
        """Keeps what it needs.

        Args:
            look: what is stored of some keys; may raise StoreError.
            aside: whether `look` is to run in a thread.
        """
        self._look = look
        self._aside = aside
        self._gathering: dict[
            asyncio.AbstractEventLoop, tuple[list[str], asyncio.Task[Mapping[str, Found]]]
        ] = {}
        self._one_at_a_time: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def find(self, key: str) -> Found | None:
        """What is stored of a key, or None.

        Raises:
            StoreError: the ledger cannot be read.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._gathering:
            keys: list[str] = []
            self._gathering[loop] = keys, loop.create_task(self._look_all_up(loop, keys))
        keys, looking = self._gathering[loop]
        keys.append(key)
        # One who is cancelled leaves the others their answer.
        return (await asyncio.shield(looking)).get(key)

    async def _look_all_up(
        self, loop: asyncio.AbstractEventLoop, keys: list[str]
    ) -> Mapping[str, Found]:
        """Runs a round after the first asker, when all of that round have joined."""
        if not self._aside:
            del self._gathering[loop]
            return self._look(list(dict.fromkeys(keys)))
        async with self._one_at_a_time.setdefault(loop, asyncio.Lock()):
            del self._gathering[loop]
            return await loop.run_in_executor(None, self._look, list(dict.fromkeys(keys)))
