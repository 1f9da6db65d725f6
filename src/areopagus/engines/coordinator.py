"""Limits, cost cap and counts of a run on several nodes (`Coordinator`), and its `WorkerClient`s.

The `Coordinator` holds them for the whole run, in an actor of its own; it knows nothing of Ray.
Nodes ask for many places at once and report in batches, so that its cost does not grow with the
number of calls, and a report never waits behind a crowd of requests that it would serve. A node
that has been silent for `SILENCE_S` is given up: its places go to others, and the money it had set
aside counts as possibly spent, so that the cap holds whatever the node did last. If it lives, it
asks again for what it was waiting for.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

from ..judges.models.backend import Backend
from ..judges.models.budget import Budget, BudgetSpentError
from ..judges.models.client import Client
from ..judges.models.rate_limit import Limiter, StoppedError
from ..judges.models.usage import CallCounts, FaultCounts, RunUsage, added_to
from ..records.ledger import Ledger

SILENCE_S = 20.0
"""After this silence a node is given up; they report every few seconds."""
STOPPED = -1
"""Instead of a number of places: the run is stopping."""
REFUSED = -1
"""Instead of a number of worst cases: the cost cap does not allow the first."""

Report = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one backend takes, over all nodes; see `BackendSpec`."""

    concurrency: int
    rpm: float | None
    tpm: float | None


@dataclass(frozen=True, slots=True)
class CoordinatorTotals:
    """What has gone through the coordinator so far; amounts in US dollars.

    Attributes:
        counts: `CallCounts` as a mapping.
        spent, possibly_spent, unknown_calls: see `Budget`.
        usage: see `RunUsage.flat`.
        faults: see `FaultCounts.to_json`.
        peak_in_flight: backend to the most calls that were in flight at once.
        given_up: nodes that fell silent.
    """

    counts: dict[str, int]
    spent: float
    possibly_spent: float
    unknown_calls: int
    usage: dict[str, float]
    faults: list[dict[str, Any]]
    peak_in_flight: dict[str, int]
    given_up: int


class _CoordinatorLimiter(Limiter):
    """A limiter that can also be asked without waiting."""

    def try_acquire(self, tokens: float) -> bool:
        """Takes a place if there is one just now and nobody was there before."""
        now = self._clock()
        if (
            self._closed is not None
            or self._waiting
            or self._rate_lock.locked()
            or self.in_flight >= int(self.allowed)
            or now < self._not_before
        ):
            return False
        requests, amounts = self._buckets
        if requests is not None and requests.delay_for(1.0, now):
            return False
        if amounts is not None and amounts.delay_for(tokens, now):
            if requests is not None:
                requests.correct(-1.0)
            return False
        self._enter()
        return True


@dataclass(slots=True)
class _Node:
    """What is known of one worker process."""

    seen: float
    in_flight: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    reserved: float = 0.0
    reservations: int = 0


class Coordinator:
    """Used from one event loop; every public method is one message."""

    def __init__(
        self,
        limits: Mapping[str, Limits],
        cap: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limiters = {
            name: _CoordinatorLimiter(concurrency=item.concurrency, rpm=item.rpm, tpm=item.tpm)
            for name, item in limits.items()
        }
        self._budget = Budget(cap=cap)
        self._counts = CallCounts()
        self._usage = RunUsage()
        self._faults = FaultCounts()
        self._nodes: dict[str, _Node] = {}
        self._given_up = 0
        self._stopped = False
        self._clock = clock

    async def enter(self, node: str, backend: str, tokens: Sequence[float]) -> int:
        """How many of these calls may be sent now, the first ones, or `STOPPED`.

        None where the node was given up while it waited: a node that lives asks again.

        Args:
            node: who asks.
            backend: whom the calls are for.
            tokens: the likely size of each call.
        """
        limiter = self._limiters[backend]
        known = self._hear(node)
        try:
            await limiter.acquire(tokens[0])
        except StoppedError:
            return STOPPED
        if self._nodes.get(node) is not known:
            limiter.release()
            return 0
        granted = 1
        while granted < len(tokens) and limiter.try_acquire(tokens[granted]):
            granted += 1
        known.in_flight[backend] += granted
        return granted

    async def reserve(self, node: str, worst_usd: Sequence[float]) -> int:
        """How many of these worst cases are set aside, the first ones, or `REFUSED`.

        None where the node was given up while it waited: a node that lives asks again.

        Args:
            node: who asks.
            worst_usd: the most that each call can cost, above 0.
        """
        known, budget = self._hear(node), self._budget
        if budget.cap is None:
            return len(worst_usd)
        granted = 0
        while granted < len(worst_usd):
            amount = worst_usd[granted]
            # Only the first waits: what has been granted must not be kept from being sent.
            if granted and amount > (budget.left or 0.0):
                break
            try:
                await budget.reserve(amount)
            except BudgetSpentError:
                return REFUSED
            if self._nodes.get(node) is not known:
                budget.release(amount)
                return 0
            known.reserved += amount
            known.reservations += 1
            granted += 1
        return granted

    async def report(self, node: str, reports: Sequence[Report]) -> bool:
        """Takes what has happened at a node, in order; whether the run is stopping.

        Reports: ("leave", backend), ("ok", backend, estimated tokens, used tokens),
        ("throttled", backend, seconds), ("server_error", backend), ("book", amount, certain),
        ("release", amount, last), ("counts", {field: number}), ("usage", {part.name: number}),
        ("faults", see `FaultCounts.to_json`),
        ("unknown_price", number).
        """
        known = self._hear(node)
        for kind, *values in reports:
            self._take(known, kind, values)
        self._give_up_silent()
        return self._stopped

    async def totals(self) -> CoordinatorTotals:
        """What has gone through so far."""
        self._give_up_silent()
        budget = self._budget
        return CoordinatorTotals(
            counts={item.name: getattr(self._counts, item.name) for item in fields(CallCounts)},
            spent=budget.spent,
            possibly_spent=budget.possibly_spent,
            unknown_calls=budget.unknown_calls,
            usage=self._usage.flat(),
            faults=self._faults.to_json(),
            peak_in_flight={name: item.peak_in_flight for name, item in self._limiters.items()},
            given_up=self._given_up,
        )

    async def stop(self) -> None:
        """No further call is let through."""
        self._stopped = True
        for limiter in self._limiters.values():
            limiter.stop()

    def _take(self, known: _Node, kind: str, values: list[Any]) -> None:
        if kind == "leave":
            (backend,) = values
            if known.in_flight[backend]:  # else the node was given up, and the place with it
                known.in_flight[backend] -= 1
                self._limiters[backend].release()
        elif kind == "ok":
            backend, estimated, used = values
            self._limiters[backend].succeeded(estimated_tokens=estimated, used_tokens=used)
        elif kind == "throttled":
            self._limiters[values[0]].throttled(values[1])
        elif kind == "server_error":
            self._limiters[values[0]].server_error()
        elif kind == "book":
            self._budget.book(values[0], certain=values[1])
        elif kind == "release":
            amount, last = values
            if known.reservations:
                known.reserved -= amount
                known.reservations -= 1 if last else 0
                self._budget.release(amount, last=last)
        elif kind == "counts":
            for name, number in values[0].items():
                setattr(self._counts, name, getattr(self._counts, name) + number)
        elif kind == "usage":
            self._usage.take(values[0])
        elif kind == "faults":
            self._faults.take(values[0])
        elif kind == "unknown_price":
            self._budget.unknown_calls += values[0]
        else:
            raise ValueError(f"no such report: {kind}")

    def _hear(self, node: str) -> _Node:
        known = self._nodes.setdefault(node, _Node(self._clock()))
        known.seen = self._clock()
        return known

    def _give_up_silent(self) -> None:
        now = self._clock()
        for name, known in list(self._nodes.items()):
            if now - known.seen <= SILENCE_S:
                continue
            del self._nodes[name]
            held = any(known.in_flight.values()) or known.reservations
            self._given_up += 1 if held else 0
            for backend, number in known.in_flight.items():
                for _ in range(number):
                    self._limiters[backend].release()
            if known.reservations:
                # What it had in flight may have been paid.
                self._budget.book(max(0.0, known.reserved), certain=False)
                for left in range(known.reservations - 1, -1, -1):
                    self._budget.release(0.0 if left else known.reserved)


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
        budget = SharedBudget(cap=cap)
        budget.attach(self._reporter)
        super().__init__(ledger, budget=budget)
        self._told = asdict(self.counts)
        self._told_unknown = 0
        self._told_usage: dict[str, float] = {}
        self._told_faults = FaultCounts()

    def limiter(self, backend: Backend) -> Limiter:
        """The way to the one coordinator of this backend."""
        spec = backend.spec
        if spec.name not in self._limiters:
            self._limiters[spec.name] = limiter = SharedLimiter(spec.name, self._reporter)
            if self.stopped:
                limiter.stop()
        return self._limiters[spec.name]

    async def keep_in_touch(self) -> None:
        """Reports every few seconds until it is cancelled, and stops when the run does."""
        while True:
            await self.tell()
            await asyncio.sleep(PING_S)

    async def tell(self) -> None:
        """Reports all that has happened, and returns when the coordinator has it."""
        now = asdict(self.counts)
        changed = {
            name: now[name] - self._told[name] for name in now if now[name] != self._told[name]
        }
        self._told = now
        if changed:
            self._reporter.add("counts", changed)
        usage = self.usage.flat()
        added, self._told_usage = added_to(usage, self._told_usage), usage
        if added:
            self._reporter.add("usage", added)
        if failed := self.faults.since(self._told_faults).to_json():
            self._told_faults.take(failed)
            self._reporter.add("faults", failed)
        unknown = self.budget.unknown_calls - self._told_unknown
        self._told_unknown += unknown
        if unknown:
            self._reporter.add("unknown_price", unknown)
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
        self._stopped = self._stopped or await self.coordinator.report(self.node, [])
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
    def is_full_handed(self) -> bool:
        """Not known here: answers are stored with the next note, which no call goes without."""
        return False

    @property
    def is_short(self) -> bool:
        """Nothing is noted ahead here that could be sent."""
        return False

    async def approach(self) -> bool:
        """Nobody waits here, and nothing is noted before the coordinator has let it through."""
        return False

    def leave(self) -> None:
        """Nobody waits here."""

    async def acquire(self, tokens: float) -> None:
        """Waits until the coordinator lets a call through; see `Limiter.acquire`."""
        self.check()
        await self._line.wait(tokens)

    def release(self) -> None:
        """Gives the place back."""
        self._reporter.add("leave", self._backend)

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


@dataclass(slots=True)
class SharedBudget(Budget):
    """Stands in for the coordinator's budget."""

    _reporter: _Reporter | None = None
    _line: _Line | None = None

    def attach(self, reporter: _Reporter) -> None:
        """Says where the money is."""
        self._reporter = reporter
        self._line = _Line(self._reserve_there, self.release)

    async def reserve(self, worst_usd: float) -> float:
        """Sets the worst case aside at the coordinator; see `Budget.reserve`."""
        if self.cap is None or worst_usd <= 0:
            return 0.0
        assert self._line is not None  # noqa: S101 - attached before it is used
        await self._line.wait(worst_usd)
        return worst_usd

    def book(self, amount: float, *, certain: bool = True) -> None:
        """Adds what a call cost, or what it may have cost."""
        if certain:
            self.spent += amount
        else:
            self.possibly_spent += amount
        self._at_coordinator().add("book", amount, certain)

    def release(self, reserved: float, *, last: bool = True) -> None:
        """Gives a reservation back."""
        self._at_coordinator().add("release", reserved, last)

    async def _reserve_there(self, worst_usd: list[float]) -> int:
        reporter = self._at_coordinator()
        granted = await reporter.coordinator.reserve(reporter.node, worst_usd)
        if granted == REFUSED:
            self.closed = True
            raise BudgetSpentError("the cost cap would be passed")
        return granted

    def _at_coordinator(self) -> _Reporter:
        assert self._reporter is not None  # noqa: S101 - attached before it is used
        return self._reporter


async def in_touch(client: WorkerClient, work: Coroutine[Any, Any, Any]) -> Any:
    """What the work returns; the client reports meanwhile, and once more at the end."""
    pinging = asyncio.create_task(client.keep_in_touch())
    try:
        return await work
    finally:
        pinging.cancel()
        await asyncio.gather(pinging, return_exceptions=True)
        await client.tell()
