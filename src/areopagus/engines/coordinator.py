"""Limits, cost cap and counts of a run on several nodes.

The `Coordinator` holds them for the whole run, in an actor of its own; it knows nothing of Ray.
Nodes ask for many places at once and report in batches, so that its cost does not grow with the
number of calls, and a report never waits behind a crowd of requests that it would serve. A node
that has been silent for `SILENCE_S` is given up: its places go to others, and the money it had set
aside counts as possibly spent, so that the cap holds whatever the node did last. If it lives, it
asks again for what it was waiting for.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..judges.models.backend import BackendSpec
from ..judges.models.budget import Budget, BudgetSpentError
from ..judges.models.rate_limit import Limiter, StoppedError
from ..judges.models.usage import UsageSnapshot

SILENCE_S = 20.0
"""After this silence a node is given up; they report every few seconds."""
STOPPED = -1
"""Instead of a number of places: the run is stopping."""
REFUSED = -1
"""Instead of a number of worst cases: the cost cap does not allow the first."""

Report = tuple[Any, ...]


@dataclass(slots=True)
class _Node:
    """What is known of one worker process."""

    seen: float
    in_flight: Counter[str] = field(default_factory=Counter)
    reserved: float = 0.0
    reservations: int = 0


class Coordinator:
    """Used from one event loop; every public method is one message."""

    def __init__(
        self,
        backends: Iterable[BackendSpec],
        cap: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Lets nobody through yet.

        Args:
            backends: what each takes, over all nodes together.
            cap: US dollars for all nodes together; None = no cap.
            clock: seconds, never going back.
        """
        self._limiters = {
            spec.name: Limiter(concurrency=spec.concurrency, rpm=spec.rpm, tpm=spec.tpm)
            for spec in backends
        }
        self._budget = Budget(cap=cap)
        self._told = UsageSnapshot()
        self._nodes: dict[str, _Node] = {}
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
        ("release", amount, last), ("usage", what was sent since the last one).
        """
        known = self._hear(node)
        for report in reports:
            self._take(known, report)
        self._give_up_silent()
        return self._stopped

    async def totals(self) -> UsageSnapshot:
        """What all nodes have sent and spent so far."""
        self._give_up_silent()
        budget = self._budget
        return replace(self._told, spent_usd=budget.spent, possibly_spent_usd=budget.possibly_spent)

    async def stop(self) -> None:
        """No further call is let through."""
        self._stopped = True
        for limiter in self._limiters.values():
            limiter.stop()

    def _take(self, known: _Node, report: Report) -> None:
        match report:
            case "leave", backend:
                if known.in_flight[backend]:  # else the node was given up, and the place with it
                    known.in_flight[backend] -= 1
                    self._limiters[backend].release()
            case "ok", backend, estimated, used:
                self._limiters[backend].succeeded(estimated_tokens=estimated, used_tokens=used)
            case "throttled", backend, seconds:
                self._limiters[backend].throttled(seconds)
            case "server_error", backend:
                self._limiters[backend].server_error()
            case "book", amount, certain:
                self._budget.book(amount, certain=certain)
            case "release", amount, last:
                if known.reservations:
                    known.reserved -= amount
                    known.reservations -= 1 if last else 0
                    self._budget.release(amount, last=last)
            case "usage", added:
                self._told = self._told.plus(added)
            case _:
                raise ValueError(f"no such report: {report[0]}")

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
            for backend, number in known.in_flight.items():
                for _ in range(number):
                    self._limiters[backend].release()
            if known.reservations:
                # What it had in flight may have been paid.
                self._budget.book(max(0.0, known.reserved), certain=False)
                for left in range(known.reservations - 1, -1, -1):
                    self._budget.release(0.0 if left else known.reserved)
