"""Runs the package's coroutines from anywhere: one event loop, in a thread of its own.

litellm and the ledger keep connections and futures that belong to one loop. Running everything on
this one makes the synchronous calls work inside a notebook's running loop too, and the asynchronous
ones from any loop. The loop is uvloop's where that is installed, and asyncio's own elsewhere.

A process that was forked from one with such a loop has no thread that runs it, and gets its own.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")

_THREAD_NAME = "areopagus-loop"
_lock = threading.Lock()
_loops: list[asyncio.AbstractEventLoop] = []
_left_behind: list[asyncio.AbstractEventLoop] = []


def run_stoppable(
    work: Coroutine[Any, Any, Result], stop: Callable[[], None]
) -> tuple[Result, bool]:
    """The coroutine's result, and whether a KeyboardInterrupt stopped it early.

    A first KeyboardInterrupt lets what is in flight finish.

    Args:
        work: does the job.
        stop: asks it, from any thread, to end soon.

    Raises:
        KeyboardInterrupt: after a second one; calls in flight are then lost.
    """
    future = submit(work)
    try:
        return future.result(), False
    except KeyboardInterrupt:
        stop()
        try:
            return future.result(), True
        except KeyboardInterrupt:
            future.cancel()
            raise


def submit(work: Coroutine[Any, Any, Result]) -> Future[Result]:
    """Starts the coroutine on the package's loop."""
    return asyncio.run_coroutine_threadsafe(work, _running_loop())


def run_sync(work: Coroutine[Any, Any, Result]) -> Result:
    """The coroutine's result; it is cancelled when the waiting is interrupted."""
    if threading.current_thread().name == _THREAD_NAME:
        work.close()
        raise RuntimeError(
            "a synchronous call was made from inside the package's own event loop; "
            "use the asynchronous twin there"
        )
    future = submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def run_async(work: Coroutine[Any, Any, Result]) -> Result:
    """The coroutine's result, awaited from the caller's own loop."""
    if asyncio.get_running_loop() in _loops:
        return await work
    return await asyncio.wrap_future(submit(work))


def _running_loop() -> asyncio.AbstractEventLoop:
    with _lock:
        if not _loops:
            started = threading.Event()
            loop = new_loop()

            def serve() -> None:
                asyncio.set_event_loop(loop)
                loop.call_soon(started.set)
                loop.run_forever()

            threading.Thread(target=serve, name=_THREAD_NAME, daemon=True).start()
            started.wait()
            _loops.append(loop)
        return _loops[0]


def new_loop() -> asyncio.AbstractEventLoop:
    """The loop that all of the package's work runs on, not running yet."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


def _forget_the_parents() -> None:
    global _lock  # noqa: PLW0603 - a thread of the parent may have held it
    _lock = threading.Lock()
    # Kept, and not closed: what the loop listens to is shared with the parent.
    _left_behind.extend(_loops)
    _loops.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_forget_the_parents)


Work = TypeVar("Work")

_AHEAD = 4096
"""How many finished results may wait for one slow one, so that it does not stall the others."""


async def ordered_map(
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
