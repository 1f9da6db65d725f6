"""Collects a batch's results into the ledger, each answer under the key that it has online."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..errors import ProviderError
from ..judges.models.budget import BudgetReservation, worst_usd
from ..judges.models.client import Client
from ..judges.models.connections import Answer
from .eligible import Planned
from .providers import BatchProvider, BatchResults
from .store import BatchRecord

TOGETHER = 256
"""Answers stored in one go: the ledger commits them together."""
_ANSWERED = 200


@dataclass(slots=True)
class Collected:
    """What a batch brought.

    Attributes:
        answered: requests whose reply is in the ledger now.
        faults: why the others have none, and how many of each.
    """

    answered: int = 0
    faults: Counter[str] = field(default_factory=Counter)

    @property
    def failed(self) -> int:
        """Requests without a reply."""
        return self.faults.total()


@dataclass(frozen=True, slots=True)
class Collector:
    """Takes in the results of one batch.

    Attributes:
        client: with the ledger and the counts.
        record: the batch.
        provider: whose it is.
        results: what the provider gives; emptied by and by.
        reservation: pays.
        errors: where faults go, by ledger key.
    """

    client: Client
    record: BatchRecord
    provider: BatchProvider
    results: BatchResults
    reservation: BudgetReservation
    errors: dict[str, ProviderError]

    async def collect(
        self,
        ids: Iterable[str],
        judgments: Iterable[list[Planned]],
        on_step: Callable[[Collected], None],
    ) -> Collected:
        """Stores every answer; what is stored already stays as it is.

        Args:
            ids: of the batch's requests.
            judgments: those that are among its requests, and others.
            on_step: called with what has been collected so far.

        Raises:
            StoreError: the ledger cannot be written.
        """
        wanted = set(ids)
        found = Collected()
        waiting: list[Planned] = []

        async def take_waiting() -> None:
            taken = [self._take(item) for item in waiting]
            waiting.clear()
            for fault in await asyncio.gather(*taken):
                if fault is None:
                    found.answered += 1
                else:
                    found.faults[fault] += 1
            on_step(found)

        for planned in judgments:
            mine = [item for item in planned if item.custom_id in wanted]
            # Two responses may ask the same: the second time there is nothing left to take.
            wanted.difference_update(item.custom_id for item in mine)
            mine = list({item.custom_id: item for item in mine}.values())
            stored = await self.client.ledger.find_all([item.key for item in mine])
            found.answered += len(stored)
            waiting += (item for item in mine if item.key not in stored)
            if len(waiting) >= TOGETHER:
                await take_waiting()
        if wanted:
            found.faults["unknown"] += len(wanted)
        await take_waiting()
        return found

    async def _take(self, item: Planned) -> str | None:
        """Stores one answer; the name of the fault where there is none."""
        counts, reservation = self.client.counts, self.reservation
        request, backend, prices = item.request, self.provider.backend, self.provider.prices
        name = backend.spec.name
        result = self.results.lines.pop(item.custom_id, None)
        if not isinstance(result, Answer):
            if result is None and not self.results.is_whole:
                # It may have been answered, where nobody could fetch or read the answer.
                reservation.write_off(worst_usd(backend, request))
            self.errors[item.key] = _no_answer(result)
            counts.failed += 1
            return result or "missing"
        ledger = self.client.ledger
        try:
            reply = backend.translate_reply(
                request, result, lambda usage: prices.cost(usage) if prices else None
            )
        except ProviderError as error:
            counts.failed += 1
            self.errors[item.key] = error
            # A request that was refused costs nothing; an answer that nobody can read was paid.
            is_billed = error.may_be_billed and result.status_code == _ANSWERED
            if is_billed:
                reservation.write_off(worst_usd(backend, request))
            pending_call = await ledger.begin(item.key, backend=name)
            await ledger.fail(pending_call, error, attempts=1, may_be_billed=is_billed)
            return error.fault
        pending_call = await ledger.begin(item.key, backend=name)
        await ledger.finish(
            pending_call,
            reply,
            purpose=request.purpose,
            request={**request.description(), "batch": self.record.batch_id},
            endpoint=request.endpoint,
        )
        reservation.pay(reply.cost_usd, worst_usd=worst_usd(backend, request))
        self.client.brought(item.key, reply, prices, backend.unit_prices)
        counts.answered += 1
        counts.repeated += 1 if pending_call.repeats else 0
        return None


def _no_answer(problem: str | None) -> ProviderError:
    if problem == "expired":
        return ProviderError("timeout", "the batch expired before this request was answered")
    if problem is None:
        return ProviderError("server", "the results of the batch do not mention this request")
    return ProviderError("server", f"no answer in the batch: {problem[:80]}")
