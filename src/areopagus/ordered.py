"""Many pieces of work at once, their results in the order of the work, in bounded memory."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import TypeVar

Work = TypeVar("Work")
Result = TypeVar("Result")

_AHEAD = 4096
"""How many finished results may wait for one slow one, so that it does not stall the others."""


async def in_order(
    items: Iterable[Work], work: Callable[[Work], Awaitable[Result]], *, at_once: int
) -> AsyncGenerator[tuple[Work, Result], None]:
    """Each item with its result, in their order, at most `at_once` at work.

    An exception of a piece of work comes out where its result would, and the rest is cancelled.
    """
    slots = asyncio.Semaphore(at_once)
    queue: deque[tuple[Work, asyncio.Task[Result]]] = deque()

    async def one(item: Work) -> Result:
        try:
            return await work(item)
        finally:
            slots.release()

    try:
        for item in items:
            await slots.acquire()
            queue.append((item, asyncio.create_task(one(item))))
            while queue and (queue[0][1].done() or len(queue) > _AHEAD):
                first, task = queue.popleft()
                yield first, await task
        while queue:
            first, task = queue.popleft()
            yield first, await task
    finally:
        for _, task in queue:
            task.cancel()
        await asyncio.gather(*(task for _, task in queue), return_exceptions=True)
