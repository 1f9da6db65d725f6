"""Collects a batch's results into the ledger, each answer under the key that it has online."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import ProviderError
from ..judges.models.budget import BudgetReservation, worst_usd
from ..judges.models.client import Client
from ..judges.models.connections import Answer
from .eligible import Planned, Rows, planned_judgments
from .providers import BatchProvider, BatchResults
from .store import BatchRecord

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec

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


class Collector:
    """Takes in the results of one run's batches."""

    def __init__(
        self,
        panel: PanelSpec,
        client: Client,
        rows: Rows,
        errors: dict[str, ProviderError],
    ) -> None:
        """Takes what there is to work with.

        Args:
            panel: who judges.
            client: the ledger and the counts.
            rows: reads the responses again from the first.
            errors: where faults go, by ledger key.
        """
        self._panel = panel
        self._client = client
        self._rows = rows
        self._errors = errors

    async def collect(
        self,
        record: BatchRecord,
        provider: BatchProvider,
        ids: Sequence[str],
        results: BatchResults,
        reservation: BudgetReservation,
        on_step: Callable[[Collected], None],
    ) -> Collected:
        """Stores every answer; what is stored already stays as it is.

        Args:
            record: the batch.
            provider: whose it is.
            ids: of its requests.
            results: what the provider gives; emptied by and by.
            reservation: pays.
            on_step: called with what has been collected so far.

        Raises:
            StoreError: the ledger cannot be written.
        """
        wanted = set(ids)
        found = Collected()
        waiting: list[Planned] = []

        async def take_waiting() -> None:
            taken: list[Awaitable[str | None]] = []
            for item in waiting:
                result = results.lines.pop(item.custom_id, None)
                if result is None and not results.is_whole:
                    # It may have been answered, where nobody could fetch or read the answer.
                    reservation.write_off(worst_usd(provider.backend, item.request))
                taken.append(self._take(record, provider, item, result, reservation))
            waiting.clear()
            for fault in await asyncio.gather(*taken):
                if fault is None:
                    found.answered += 1
                else:
                    found.faults[fault] += 1
            on_step(found)

        for planned in planned_judgments(
            self._panel,
            self._rows(),
            {record.backend: record.structured},
            first_row=record.first_row,
            last_row=record.last_row,
            whole=True,  # it may be of a session with another rule, and is paid for
        ):
            mine = [item for item in planned if item.custom_id in wanted]
            # Two responses may ask the same: the second time there is nothing left to take.
            wanted.difference_update(item.custom_id for item in mine)
            mine = list({item.custom_id: item for item in mine}.values())
            stored = await self._client.ledger.find_all([item.key for item in mine])
            found.answered += len(stored)
            waiting += (item for item in mine if item.key not in stored)
            if len(waiting) >= TOGETHER:
                await take_waiting()
        if wanted:
            found.faults["unknown"] += len(wanted)
        await take_waiting()
        return found

    async def _take(
        self,
        record: BatchRecord,
        provider: BatchProvider,
        item: Planned,
        result: Answer | str | None,
        reservation: BudgetReservation,
    ) -> str | None:
        """Stores one answer; the name of the fault where there is none."""
        counts = self._client.counts
        request, backend, prices = item.request, provider.backend, provider.prices
        name = backend.spec.name
        if not isinstance(result, Answer):
            self._errors[item.key] = _no_answer(result)
            counts.failed += 1
            return result or "missing"
        ledger = self._client.ledger
        try:
            reply = backend.translate_reply(
                request, result, lambda usage: prices.cost(usage) if prices else None
            )
        except ProviderError as error:
            counts.failed += 1
            self._errors[item.key] = error
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
            request={**request.description(), "batch": record.batch_id},
            endpoint=request.endpoint,
        )
        reservation.pay(reply.cost_usd, worst_usd=worst_usd(backend, request))
        self._client.brought(item.key, reply, prices, backend.unit_prices)
        counts.answered += 1
        counts.repeated += 1 if pending_call.repeats else 0
        return None


def _no_answer(problem: str | None) -> ProviderError:
    if problem == "expired":
        return ProviderError("timeout", "the batch expired before this request was answered")
    if problem is None:
        return ProviderError("server", "the results of the batch do not mention this request")
    return ProviderError("server", f"no answer in the batch: {problem[:80]}")
