"""The thread that writes a ledger: all that waits goes into one transaction (group commit)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import StoreError
from .session import HEARTBEAT_S
from .store import Store

APART_S = 0.05
"""From one commit to the next where nobody is held up. Answers that come one by one would else be
committed one by one, each with its hand-over between the threads and its wait for the disk."""
HURRIED_APART_S = 0.01
"""The same where somebody is, and fewer rows wait than calls are in flight: more are about to come,
and a commit takes as much of the processor as the rest of a call."""


@dataclass(slots=True)
class _Waiting:
    """Something to be written, and the future of who waits for it, if anybody does."""

    kind: str
    row: Any
    future: asyncio.Future[Any] | None
    result: Any = None
    error: StoreError | None = None


class LedgerWriter:
    """Owns the store that writes; commits all that is pending at once.

    While one commit runs, the next batch gathers, and for `APART_S` after it began, or
    `HURRIED_APART_S` at most where somebody cannot go on without what is waiting. After an error
    that cannot pass, such as a full disk, everybody who waits and everybody who comes later gets
    the same StoreError.

    Attributes:
        session: number of the session that it began.
        in_flight: number of its note by key, for each call of this session; the ledger keeps it.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._condition = threading.Condition()
        self._queue: list[_Waiting] = []
        self._hurried = False
        self._idle = False
        self._closing = False
        self._broken: StoreError | None = None
        self.session = store.session
        self.in_flight: dict[str, int] = {}
        self._thread = threading.Thread(
            target=self._run, name=f"areopagus-ledger-{self.session}", daemon=True
        )
        self._thread.start()

    def write(self, kind: str, row: Any, *, soon: bool = False) -> asyncio.Future[Any]:
        """Hands a row over; the result for it, when it is committed.

        A caller that is cancelled while it waits does not take the row with it.

        Args:
            kind: what the row is; see `store.KINDS`.
            row: its values.
            soon: whether something is held up until it is committed.

        Raises:
            StoreError: it could not be stored. The future may bring this error too.
        """
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._hand_over(_Waiting(kind, row, future), soon=soon)
        return future

    def post(self, kind: str, row: Any) -> None:
        """Hands a row over that nobody waits for; a ledger that is closed or broken drops it."""
        with contextlib.suppress(StoreError):
            self._hand_over(_Waiting(kind, row, None))

    def hurry(self) -> None:
        """What is waiting now holds somebody up."""
        with self._condition:
            if self._queue and not self._hurried:
                self._hurried = True
                self._condition.notify()

    def close(self) -> None:
        """Writes what is pending, marks the session as ended, and closes the store."""
        with self._condition:
            if self._closing:
                return
            self._closing = True
            self._condition.notify()
        self._thread.join()
        self._store.close(end_session=self._broken is None)

    def _hand_over(self, waiting: _Waiting, *, soon: bool = False) -> None:
        with self._condition:
            if self._broken is not None:
                raise self._broken
            if self._closing:
                raise StoreError(f"{self._store.place}: the ledger is closed")
            self._queue.append(waiting)
            was_hurried, self._hurried = self._hurried, self._hurried or soon
            if self._idle or (self._hurried and (not was_hurried or self._has_enough())):
                self._condition.notify()

    def _has_enough(self) -> bool:
        return len(self._queue) >= len(self.in_flight)

    def _next_batch(self, began: float) -> list[_Waiting]:
        """All that is waiting, when it is to be written; empty after a while without anything."""
        with self._condition:
            while not (self._closing or (self._hurried and self._has_enough())):
                apart = HURRIED_APART_S if self._hurried else APART_S
                left = began + apart - time.monotonic()
                if left <= 0:
                    break
                self._condition.wait(timeout=left)
            if not (self._queue or self._closing):
                self._idle = True
                self._condition.wait(timeout=HEARTBEAT_S)
                self._idle = False
            batch, self._queue = self._queue, []
            self._hurried = False
            return batch

    def _run(self) -> None:
        heartbeat = time.monotonic()
        began = heartbeat - APART_S  # nothing was committed yet: the first row waits for nobody
        while True:
            batch = self._next_batch(began)
            if not batch and self._closing:
                return
            began = time.monotonic()
            try:
                if began - heartbeat >= HEARTBEAT_S:
                    heartbeat = began
                    self._store.beat()
                if batch:
                    self._commit(batch)
            except StoreError as error:
                self._break(batch, error)
            except BaseException as error:
                place = self._store.place
                self._break(batch, StoreError(f"{place}: the ledger failed: {error!r}"))
            self._tell(batch)

    def _commit(self, batch: Sequence[_Waiting]) -> None:
        by_kind: dict[str, list[_Waiting]] = {}
        for waiting in batch:
            by_kind.setdefault(waiting.kind, []).append(waiting)
        results = self._store.write(
            {kind: [waiting.row for waiting in group] for kind, group in by_kind.items()}
        )
        for kind, told in results.items():
            if told is not None:
                for waiting, result in zip(by_kind[kind], told, strict=True):
                    waiting.result = result

    def _break(self, batch: list[_Waiting], error: StoreError) -> None:
        with self._condition:
            self._broken = error
            batch.extend(self._queue)
            self._queue = []
        for waiting in batch:
            waiting.error = error

    def _tell(self, batch: Sequence[_Waiting]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[_Waiting]] = {}
        for waiting in batch:
            if waiting.future is not None:
                by_loop.setdefault(waiting.future.get_loop(), []).append(waiting)
        for loop, group in by_loop.items():
            # One wake-up a loop and batch, not one a row. Nobody waits in a loop that is closed.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_resolve, group)


def _resolve(group: Sequence[_Waiting]) -> None:
    for waiting in group:
        future = waiting.future
        if future is None or future.done():
            continue
        if waiting.error is not None:
            future.set_exception(waiting.error)
        else:
            future.set_result(waiting.result)
