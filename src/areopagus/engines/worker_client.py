"""The client of one node of a run: the ledger is its own, limits and budget are the coordinator's.

A call waits for its place and for its money at the `Coordinator`, and what happened to it is
reported there; one message asks for all that wait, and one carries all reports.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Protocol

from ..judges.models.backend import Backend
from ..judges.models.budget import Budget, BudgetSpentError
from ..judges.models.client import Client
from ..judges.models.rate_limit import Limiter
from ..judges.models.usage import UsageSnapshot
from ..records.ledger import Ledger
from .coordinator import REFUSED, STOPPED, Report

PING_S = 3.0


class CoordinatorCalls(Protocol):
    """How a node speaks to the coordinator; see the methods of `Coordinator`."""

    async def enter(self, node: str, backend: str, tokens: Sequence[float]) -> int: ...

    async def reserve(self, node: str, worst_usd: Sequence[float]) -> int: ...

    async def report(self, node: str, reports: Sequence[Report]) -> bool: ...


class WorkerClient(Client):
    """Hands calls to backends on behalf of one node of a run."""

    def __init__(
        self, ledger: Ledger, *, coordinator: CoordinatorCalls, node: str, cap: float | None
    ) -> None:
        self._reporter = _Reporter(coordinator, node)
        super().__init__(ledger, budget=SharedBudget(cap, self._reporter))
        self._told = UsageSnapshot()

    def limiter(self, backend: Backend) -> Limiter:
        """The way to the one coordinator of this backend."""
        spec = backend.spec
        if spec.name not in self._limiters:
            self._limiters[spec.name] = limiter = SharedLimiter(spec.name, self._reporter)
            if self.stopped:
                limiter.stop()
        return self._limiters[spec.name]

    @asynccontextmanager
    async def in_touch(self) -> AsyncIterator[None]:
        """Meanwhile reports every few seconds, and stops when the run does; tells all at the end.

        Raises:
            StoreError, or what else keeps the coordinator from hearing.
        """
        pinging = asyncio.create_task(self._keep_telling())
        try:
            yield
        finally:
            pinging.cancel()
            await asyncio.gather(pinging, return_exceptions=True)
            await self.tell()

    async def _keep_telling(self) -> None:
        while True:
            await self.tell()
            await asyncio.sleep(PING_S)

    async def tell(self) -> None:
        """Reports all that has happened, and returns when the coordinator has it."""
        now = self.spending()
        added, self._told = now.since(self._told), now
        self._reporter.add("usage", added)
        if await self._reporter.flush():
            self.stop()


class _Reporter:
    """Gathers reports while one batch is under way, and keeps their order."""

    def __init__(self, coordinator: CoordinatorCalls, node: str) -> None:
        self.coordinator = coordinator
        self.node = node
        self._reports: list[Report] = []
        self._sending: asyncio.Task[None] | None = None
        self._stopped = False
        self._failed: BaseException | None = None

    def add(self, *report: Any) -> None:
        """Sends the report with the next batch."""
        self._reports.append(report)
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send())

    async def flush(self) -> bool:
        """Waits until the coordinator has everything; whether the run is stopping."""
        while self._sending is not None:
            await asyncio.shield(self._sending)
        if self._failed is not None:
            raise self._failed
        return self._stopped

    async def _send(self) -> None:
        try:
            while self._reports:
                batch, self._reports = self._reports, []
                self._stopped = await self.coordinator.report(self.node, batch) or self._stopped
        except Exception as error:
            self._failed = error  # told at the next flush, which every shard ends with
        finally:
            self._sending = None


class _Line:
    """Those who wait for the coordinator: one message asks for all, the first are served."""

    def __init__(
        self, ask: Callable[[list[float]], Awaitable[int]], give_back: Callable[[float], None]
    ) -> None:
        """Nobody waits yet.

        Args:
            ask: how many of these wishes are granted, the first ones; none = ask again.
            give_back: takes what was granted to somebody who is gone.
        """
        self._ask = ask
        self._give_back = give_back
        self._wishes: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._asking: asyncio.Task[None] | None = None

    @property
    def is_waited_in(self) -> bool:
        """Whether somebody waits."""
        return bool(self._wishes)

    async def wait(self, wish: float) -> None:
        """Waits until the coordinator grants this; raises what the asking raised."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wishes.append((wish, granted))
        if self._asking is None:
            self._asking = asyncio.get_running_loop().create_task(self._ask_for_all())
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled() and granted.exception() is None:
                self._give_back(wish)
            raise

    def fail(self, error: Exception) -> None:
        """Wakes everybody with this error."""
        while self._wishes:
            _, granted = self._wishes.popleft()
            if not granted.done():
                granted.set_exception(error)

    async def _ask_for_all(self) -> None:
        try:
            while self._wishes:
                wishes = [wish for wish, _ in self._wishes]
                for wish in wishes[: await self._ask(wishes)]:
                    self._hand_out(wish)
        except Exception as error:
            self.fail(error)
        finally:
            self._asking = None

    def _hand_out(self, wish: float) -> None:
        if not self._wishes:  # the run stopped while the coordinator was asked
            self._give_back(wish)
            return
        _, granted = self._wishes.popleft()
        if granted.done():  # whoever wanted it was cancelled
            self._give_back(wish)
        else:
            granted.set_result(None)


class SharedLimiter(Limiter):
    """Stands in for the coordinator's limiter."""

    def __init__(self, backend: str, reporter: _Reporter) -> None:
        super().__init__(concurrency=1)
        self._backend = backend
        self._reporter = reporter
        self._line = _Line(self._places_granted, lambda _: self.release())

    @property
    def is_short(self) -> bool:
        """Whether calls wait: answers that are stored soon make places for them."""
        return self._line.is_waited_in

    async def approach(self) -> bool:
        """Nobody waits here, and nothing is noted before the coordinator has let it through."""
        return False

    def leave(self) -> None:
        """Nobody waits here."""

    async def acquire(self, tokens: float) -> None:
        """Waits until the coordinator lets a call through; see `Limiter.acquire`."""
        self.check()
        await self._line.wait(tokens)

    def release(self, storing: asyncio.Future[None] | None = None) -> None:
        """Gives the place back when the reply is stored: another node may be given it, which does
        not wait for this one's commit, and a kill of both would cost more calls than had places.
        """
        if storing is None:
            self._reporter.add("leave", self._backend)
        else:
            storing.add_done_callback(lambda _: self._reporter.add("leave", self._backend))

    def succeeded(self, *, estimated_tokens: float, used_tokens: float | None) -> None:
        """An answer came."""
        self._reporter.add("ok", self._backend, estimated_tokens, used_tokens)

    def throttled(self, retry_after_s: float | None) -> None:
        """A 429: the coordinator slows all nodes down."""
        self._reporter.add("throttled", self._backend, retry_after_s)

    def server_error(self) -> None:
        """A 5xx or a broken connection."""
        self._reporter.add("server_error", self._backend)

    def close(self, reason: Callable[[], Exception]) -> None:
        """Lets nobody through any more; see `Limiter.close`."""
        super().close(reason)
        self._line.fail(reason())

    async def _places_granted(self, sizes: list[float]) -> int:
        granted = await self._reporter.coordinator.enter(self._reporter.node, self._backend, sizes)
        if granted == STOPPED:
            self.stop()
            return 0
        return granted


class SharedBudget(Budget):
    """Stands in for the coordinator's budget."""

    def __init__(self, cap: float | None, reporter: _Reporter) -> None:
        super().__init__(cap=cap)
        self._reporter = reporter
        self._line = _Line(self._reserve_there, self.release)

    async def reserve(self, worst_usd: float) -> float:
        """Sets the worst case aside at the coordinator; see `Budget.reserve`."""
        if self.cap is None or worst_usd <= 0:
            return 0.0
        await self._line.wait(worst_usd)
        return worst_usd

    def book(self, amount: float, *, certain: bool = True) -> None:
        """Adds what a call cost, or what it may have cost."""
        super().book(amount, certain=certain)
        self._reporter.add("book", amount, certain)

    def release(self, reserved: float, *, last: bool = True) -> None:
        """Gives a reservation back."""
        self._reporter.add("release", reserved, last)

    async def _reserve_there(self, worst_usd: list[float]) -> int:
        granted = await self._reporter.coordinator.reserve(self._reporter.node, worst_usd)
        if granted == REFUSED:
            self.closed = True
            raise BudgetSpentError("the cost cap would be passed")
        return granted
