"""The budget of a run: a call's worst case is set aside before it is sent, so the cap holds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from .backend import Backend
from .request import Request

_ENVELOPE_TOKENS = 600
"""Tokens that a provider may add around the texts: roles, tool wrappers, schema preambles."""
REPAIR_BYTES = 6_000
"""Most bytes that the one repair ask adds: the echo of the unreadable reply and the request."""
REPAIR_OUTPUT_FACTOR = 2
"""A repair of a reply that was cut off may use this many times the tokens."""


class BudgetSpentError(Exception):
    """The cost cap does not allow this call.

    Attributes:
        attempts: how often it had been sent before, without a reply.
    """

    attempts = 0


_REACHED = "the cost cap was reached, and nothing is sent any more"


@dataclass(slots=True)
class Budget:
    """Spending of one run, in US dollars.

    Attributes:
        cap: the most that may be spent; None = no cap.
        spent: what calls with a known price cost.
        possibly_spent: worst cases of attempts that broke off after they were sent, which the
            provider may have billed, and of answers that did not say what they used; they count
            against the cap.
        unknown_calls: paid calls without a known price (there are none under a cap).
        needed: the most that the cheapest call costs of those that the cap did not allow; None
            where it allowed all.
    """

    cap: float | None = None
    spent: float = 0.0
    possibly_spent: float = 0.0
    unknown_calls: int = 0
    needed: float | None = None
    closed: bool = False
    _reserved: float = 0.0
    _reservations: int = 0
    _changed: asyncio.Event | None = None

    @property
    def left(self) -> float | None:
        """What may still be set aside; None without a cap."""
        if self.cap is None:
            return None
        return max(0.0, self.cap - self.spent - self.possibly_spent - self._reserved)

    async def reserve(self, worst_usd: float) -> float:
        """Sets the worst case aside, waiting for calls in flight to settle where that may help.

        Whoever waits here must hold nothing: two that wait for each other would wait for ever.

        Returns:
            The amount set aside, to be given back with `release`.

        Raises:
            BudgetSpentError: the call cannot be paid for even when all others have settled.
        """
        if self.cap is None or worst_usd <= 0:
            return 0.0
        while not self.closed:
            if worst_usd <= (self.left or 0.0):
                self._reserved += worst_usd
                self._reservations += 1
                return worst_usd
            if self._reservations == 0:
                self.closed = True
                break
            self._changed = self._changed or asyncio.Event()
            await self._changed.wait()
        self._notify()
        raise BudgetSpentError("the cost cap would be passed")

    async def reserve_together(self, worst_usd: Sequence[float]) -> None:
        """Sets several worst cases aside, all or none; each is given back by itself.

        Raises:
            BudgetSpentError: they cannot all be paid for even when all others have settled.
        """
        if await self.reserve(sum(worst_usd)):
            self._reservations += sum(amount > 0 for amount in worst_usd) - 1

    def leave_out(self, worst_usd: float) -> None:
        """Notes what a call costs at most that the cap does not allow."""
        self.needed = worst_usd if self.needed is None else min(self.needed, worst_usd)

    def book(self, amount: float, *, certain: bool = True) -> None:
        """Adds what a call cost, or what it may have cost."""
        if certain:
            self.spent += amount
        else:
            self.possibly_spent += amount
        self._notify()

    def release(self, reserved: float, *, last: bool = True) -> None:
        """Gives a reservation back; `last` unless a part of it is still held."""
        self._reservations -= 1 if last else 0
        # Sums of floats: without a reservation nothing is reserved, to the last digit.
        self._reserved = self._reserved - reserved if self._reservations else 0.0
        self._notify()

    def _notify(self) -> None:
        if self._changed is not None:
            self._changed.set()
            self._changed = None


class BudgetReservation:
    """The part of the budget set aside for one judgment: its call and its repair together."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._held = 0.0

    @staticmethod
    async def together(
        budget: Budget, worst_usd: Sequence[float | None]
    ) -> list[BudgetReservation]:
        """Reservations of calls that are of use only together: all of them are filled, or none.

        Whoever holds one must not wait for anything but the call that it is for.

        Raises:
            BudgetSpentError: the cap does not allow all of them.
        """
        reservations = [BudgetReservation(budget) for _ in worst_usd]
        if budget.cap is None:
            return reservations
        known = [amount for amount in worst_usd if amount is not None]
        if len(known) < len(worst_usd):
            raise BudgetSpentError("the price of this backend is unknown")
        if budget.closed:
            raise BudgetSpentError(_REACHED)
        await budget.reserve_together(known)
        for reservation, amount in zip(reservations, known, strict=True):
            reservation._held = max(amount, 0.0)
        return reservations

    async def need(self, worst_usd: float | None) -> None:
        """Makes sure that at least this much is set aside.

        Raises:
            BudgetSpentError: the cap does not allow it.
        """
        if self._budget.cap is None:
            return
        if worst_usd is None:
            raise BudgetSpentError("the price of this backend is unknown")
        if self._budget.closed and not self._held:
            # Free calls are refused too: with the free judges alone it would be another panel.
            self._budget.leave_out(worst_usd)
            raise BudgetSpentError(_REACHED)
        if worst_usd > self._held:
            self.close()  # waits with nothing in hand
            try:
                self._held = await self._budget.reserve(worst_usd)
            except BudgetSpentError:
                self._budget.leave_out(worst_usd)
                raise

    def pay(self, cost_usd: float | None, *, worst_usd: float | None = None) -> None:
        """Books what a call cost.

        Args:
            cost_usd: None = paid, at an unknown price or for tokens that nobody counted.
            worst_usd: the most that it can have cost, which stands in where that is known.
        """
        if cost_usd is None:
            self._budget.unknown_calls += 1
            self.write_off(worst_usd)
        else:
            self._take(cost_usd)
            self._budget.book(cost_usd)

    def write_off(self, worst_usd: float | None) -> None:
        """Books the worst case of an attempt that may have been billed without an answer."""
        if worst_usd is not None:
            self._take(worst_usd)
            self._budget.book(worst_usd, certain=False)

    def close(self) -> None:
        """Gives back what was not used."""
        if self._held:
            self._budget.release(self._held)
            self._held = 0.0

    def _take(self, amount: float) -> None:
        used = min(amount, self._held)
        self._held -= used
        if used:
            self._budget.release(used, last=self._held == 0.0)


def worst_usd(backend: Backend, request: Request) -> float | None:
    """The most that one attempt can cost, in US dollars; None where the price is unknown.

    No tokenizer makes more tokens of a text than it has bytes.
    """
    most_output = int(request.params.get("max_tokens") or 0)
    return backend.worst_cost(request.size_bytes() + _ENVELOPE_TOKENS, most_output)


def reserve_usd(backend: Backend, request: Request) -> float | None:
    """What is set aside before a request is sent: its worst case, and that of its repair."""
    first = worst_usd(backend, request)
    if request.purpose != "judge" or first is None:
        return first
    most_output = int(request.params.get("max_tokens") or 0)
    repair = backend.worst_cost(
        request.size_bytes() + _ENVELOPE_TOKENS + REPAIR_BYTES, REPAIR_OUTPUT_FACTOR * most_output
    )
    return None if repair is None else first + repair
