"""Sends calls for one run: asked once, paid once, stored before anybody reads them.

Around the one attempt that a backend makes stand, in this order: the ledger (is it paid already?),
the same call in flight (wait for it), the budget, the limits of the backend, a durable note that
the call is being sent, retries, and the ledger again.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import ProviderError
from ...records.types import Reply
from .backend import Backend
from .budget import Budget, BudgetSpentError, Purse
from .pricing import TokenPrices
from .provider_errors import CLOSES_BACKEND, TRANSIENT, is_about_format
from .rate_limit import Limiter, StoppedError
from .request import Request, Rung
from .usage import CallCounts, FaultCounts, RunUsage, UsageSnapshot

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from ...records.ledger import Intent, Ledger


# Spreads retries; no result depends on it.
_jitter = random.Random()  # noqa: S311 - nothing secret
_BACKOFF_FIRST_S = 0.5
_BACKOFF_MOST_S = 30.0
RETRY_AFTER_MOST_S = 60.0
_LOOK_AGAIN_FIRST_S, _LOOK_AGAIN_MOST_S = 0.05, 1.0
"""Pauses between two looks at whether a call of another process is answered."""
_ENVELOPE_TOKENS = 600
"""Tokens that a provider may add around the texts: roles, tool wrappers, schema preambles."""
_USUAL_OUTPUT_TOKENS = 120
REPAIR_BYTES = 6_000
"""Most bytes that the one repair ask adds: the echo of the unreadable reply and the request."""
REPAIR_OUTPUT_FACTOR = 2
"""A repair of a reply that was cut off may use this many times the tokens."""


class _InFlightElsewhereError(Exception):
    """Another process has answered this call, or has it in flight."""


@dataclass(slots=True)
class Call:
    """One call on its way: what is asked, and what has happened to it so far."""

    backend: Backend
    request: Request
    key: str
    purse: Purse
    is_claim: bool = True
    intent: Intent | None = None
    attempts: int = 0
    hard_failures: int = 0
    may_be_billed: bool = False
    is_sending: bool = False
    is_paid: bool = False
    last_error: ProviderError | None = None
    likely_tokens: float = 0.0
    worst_usd: float | None = None
    reserve_usd: float | None = None

    def __post_init__(self) -> None:
        size = self.request.size_bytes()
        self.likely_tokens = size / 4 + _USUAL_OUTPUT_TOKENS
        self.worst_usd = worst_usd(self.backend, self.request)
        self.reserve_usd = _with_repair(self.worst_usd, self.backend, self.request)

    @property
    def unit_prices(self) -> TokenPrices | None:
        """What a token of each kind costs, where the cost of a reply is a sum of that."""
        found: TokenPrices | None = getattr(self.backend, "unit_prices", None)
        return found

    def gives_up(self, state: RetryCallState) -> bool:
        """Rate limits are waited out for as long as the settings say; other faults are counted."""
        error = state.outcome.exception() if state.outcome else None
        rate_limited = isinstance(error, ProviderError) and error.fault == "rate_limit"
        if not rate_limited:
            self.hard_failures += 1
        spec = self.backend.spec
        # Only the pauses count: time spent in the queue of a slow backend is nobody's fault.
        paused = state.idle_for + state.upcoming_sleep
        return self.hard_failures >= spec.max_attempts or paused > spec.max_wait_s

    def waits(self, state: RetryCallState) -> float:
        """What the endpoint asked for, or exponential growth; with jitter either way."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_s if isinstance(error, ProviderError) else None
        if asked:  # "0" is no advice: asking again at once would meet the same limit
            return min(asked, RETRY_AFTER_MOST_S) + _jitter.uniform(0.0, 0.25)
        ceiling = min(_BACKOFF_MOST_S, _BACKOFF_FIRST_S * 2 ** (state.attempt_number - 1))
        return _jitter.uniform(ceiling / 2, ceiling)


def worst_usd(backend: Backend, request: Request) -> float | None:
    """The most that one attempt can cost, in US dollars; None where the price is unknown.

    No tokenizer makes more tokens of a text than it has bytes.
    """
    most_output = int(request.params.get("max_tokens") or 0)
    return backend.worst_cost(request.size_bytes() + _ENVELOPE_TOKENS, most_output)


def reserve_usd(backend: Backend, request: Request) -> float | None:
    """What is set aside before a request is sent: its worst case, and that of its repair."""
    return _with_repair(worst_usd(backend, request), backend, request)


def _with_repair(first: float | None, backend: Backend, request: Request) -> float | None:
    if request.purpose != "judge" or first is None:
        return first
    most_output = int(request.params.get("max_tokens") or 0)
    repair = backend.worst_cost(
        request.size_bytes() + _ENVELOPE_TOKENS + REPAIR_BYTES, REPAIR_OUTPUT_FACTOR * most_output
    )
    return None if repair is None else first + repair


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply and where it came from."""

    reply: Reply
    key: str
    from_ledger: bool


class Desk:
    """Hands calls to backends on behalf of one run. Used from one event loop.

    Attributes:
        response_formats, format_probes: what `structured.ask` has learnt of the backends, by their
            identity, and who is trying it out; None where that failed.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        budget: Budget | None = None,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self.ledger = ledger
        self.budget = budget or Budget()
        self.counts = CallCounts()
        self.account = RunUsage()
        self.faults = FaultCounts()
        self._brought: set[int] = set()
        self._on_change = on_change or (lambda: None)
        self._limiters: dict[str, Limiter] = {}
        self._in_flight: dict[str, asyncio.Future[None]] = {}
        self._closed: dict[str, ProviderError] = {}
        self.response_formats: dict[str, Rung] = {}
        self.format_probes: dict[str, asyncio.Lock | None] = {}
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether the run is stopping: calls in flight end, no further one is sent."""
        return self._stopped

    def stop(self) -> None:
        """No further call is sent; those in flight are awaited and stored."""
        self._stopped = True
        for limiter in self._limiters.values():
            limiter.stop()

    def spending(self) -> UsageSnapshot:
        """What has been sent and spent until now; later calls do not change it."""
        budget = self.budget
        return UsageSnapshot(
            replace(self.counts),
            budget.spent,
            budget.possibly_spent,
            budget.unknown_calls,
            self.account.plus(RunUsage()),
            self.faults.since(FaultCounts()),
        )

    def changed(self) -> None:
        """Tells whoever follows the run that its counts may have changed."""
        self._on_change()

    def purse(self) -> Purse:
        """A purse on this run's budget."""
        return Purse(self.budget)

    def limiter(self, backend: Backend) -> Limiter:
        """The one gate of this backend."""
        spec = backend.spec
        if spec.name not in self._limiters:
            self._limiters[spec.name] = limiter = Limiter(
                concurrency=spec.concurrency, rpm=spec.rpm, tpm=spec.tpm
            )
            if self._stopped:
                limiter.stop()
        return self._limiters[spec.name]

    async def ask(self, backend: Backend, request: Request, purse: Purse) -> Answer:
        """The reply to this request, from the ledger or from the backend.

        A call that another process has in flight is waited for, like one of this process.

        Raises:
            ProviderError: no reply came, after the retries that made sense.
            BudgetSpentError: the cost cap does not allow the call.
            StoppedError: the run is stopping.
        """
        key = request.key()
        while (running := self._in_flight.get(key)) is not None:
            # The same question about the same text: one call serves both. Whoever waits holds no
            # money, which the other may be waiting for.
            purse.close()
            await asyncio.wait([running])
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = mine
        is_claim = True
        try:
            while True:
                stored = await self.ledger.find(key)
                if stored is not None:
                    return self._found(key, stored)
                try:
                    reply = await self._send(backend, request, key, purse, is_claim=is_claim)
                    return Answer(reply, key, from_ledger=False)
                except _InFlightElsewhereError:
                    purse.close()
                    is_claim = await self._wait_for_others(backend, key)
        finally:
            del self._in_flight[key]
            mine.cancel()  # wakes those who wait; they look into the ledger again

    async def _wait_for_others(self, backend: Backend, key: str) -> bool:
        """Returns when nobody else has this call in flight; False when that takes too long.

        Too long is the time in which a call ends, whatever the endpoint does: a process that has
        had it in flight for longer was stopped and is not gone.

        Raises:
            StoppedError: the run is stopping.
        """
        spec, limiter = backend.spec, self.limiter(backend)
        clock = asyncio.get_running_loop().time
        patience_ends = clock() + spec.max_wait_s + spec.max_attempts * spec.timeout_s
        pause = _LOOK_AGAIN_FIRST_S
        while await self.ledger.in_flight(key):
            if clock() > patience_ends:
                return False
            await limiter.pause(pause)
            pause = min(2 * pause, _LOOK_AGAIN_MOST_S)
        return True

    def brought(
        self, key: str, reply: Reply, prices: TokenPrices | None, usual: TokenPrices | None
    ) -> None:
        """Counts a reply that a batch has just brought into the ledger.

        Args:
            key: its key: whoever asks for it first takes this desk's own answer, and nothing that
                was paid before.
            reply: what came.
            prices, usual: see `RunUsage.paid_in_batch`.
        """
        self.account.paid_in_batch(reply, prices, usual)
        self._brought.add(_short(key))
        self.changed()

    @property
    def unclaimed(self) -> frozenset[int]:
        """What batches have brought and nobody has asked for yet, for the desks of other nodes."""
        return frozenset(self._brought)

    def expect(self, unclaimed: Iterable[int]) -> None:
        """Takes for this run's own what another desk of it calls unclaimed."""
        self._brought.update(unclaimed)

    def _found(self, key: str, stored: Reply) -> Answer:
        if self._brought and _short(key) in self._brought:
            self._brought.discard(_short(key))
        else:
            self.counts.from_ledger += 1
            self.account.found(stored)
        return Answer(stored, key, from_ledger=True)

    async def _send(
        self, backend: Backend, request: Request, key: str, purse: Purse, *, is_claim: bool
    ) -> Reply:
        spec = backend.spec
        limiter = self.limiter(backend)
        call = Call(backend, request, key, purse, is_claim)
        try:
            try:
                return await self._attempt(call, limiter)
            except ProviderError as error:
                # Nearly every call is answered at once: what stands around the others, and takes
                # its time, is only then put up.
                return await self._try_again(call, limiter, error)
        except ProviderError as error:
            self.counts.failed += 1
            self.faults.add(error)
            error.attempts = call.attempts
            if error.fault in CLOSES_BACKEND and not is_about_format(error):
                self._closed.setdefault(spec.name, error)
            await self._record_failure(call, error)
            raise
        except BaseException as error:
            if call.attempts and not call.is_paid:
                self.counts.failed += 1  # it was sent, and nothing came of it
                if isinstance(error, BudgetSpentError | StoppedError):
                    error.attempts = call.attempts
            await self._end_early(call)
            raise
        finally:
            self.changed()

    async def _end_early(self, call: Call) -> None:
        """Leaves the right note of a call that was stopped or cancelled."""
        if call.is_paid or call.intent is None:
            return  # what stores the reply ends the note as well
        if call.is_sending:
            # The attempt is cut off, and may have been paid.
            call.purse.write_off(call.worst_usd)
            self.ledger.cut_off(call.intent)
        elif call.last_error is not None:
            await self._record_failure(call, call.last_error)
        else:
            await self.ledger.withdraw(call.intent)

    async def _try_again(self, call: Call, limiter: Limiter, first: ProviderError) -> Reply:
        from tenacity import AsyncRetrying, retry_if_exception

        retrying = AsyncRetrying(
            retry=retry_if_exception(
                lambda error: (
                    isinstance(error, ProviderError)
                    and error.fault in TRANSIENT
                    and not is_about_format(error)  # it would answer the same again
                )
            ),
            stop=call.gives_up,
            wait=call.waits,
            sleep=limiter.pause,
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                if attempt.retry_state.attempt_number == 1:
                    raise first
                return await self._attempt(call, limiter)
        raise AssertionError("the retries end with a reply or an error")

    async def _attempt(self, call: Call, limiter: Limiter) -> Reply:
        self._refuse_if_closed(call)
        await call.purse.need(call.reserve_usd)
        may_note = await limiter.approach()
        try:
            self._refuse_if_closed(call)  # it may have closed while this call waited
            if may_note:
                await self._note(call, soon=limiter.is_short)
            await limiter.acquire(call.likely_tokens)
            try:
                reply = await self._sent(call, limiter)
            finally:
                limiter.release()
            storing = self._hand_in(call, await self._note(call), reply)
        finally:
            # Not before: whoever is let in now is noted by the commit that stores this answer or a
            # later one, so that a kill never finds more notes without an answer than are let in.
            limiter.leave()
            if limiter.is_short:
                self.ledger.hurry()  # a note made ahead is not ahead any more
        await storing
        self.counts.answered += 1
        return reply

    def _hand_in(self, call: Call, intent: Intent, reply: Reply) -> Awaitable[None]:
        from ...records.ledger import CallRecord

        name, asked = call.backend.spec.name, call.request
        record = CallRecord(
            call.key, name, asked.endpoint, asked.purpose, asked.description(), reply
        )
        return self.ledger.finish(intent, record)

    async def _note(self, call: Call, *, soon: bool = True) -> Intent:
        if call.intent is None:
            backend = call.backend.spec.name
            note = self.ledger.claim if call.is_claim else self.ledger.begin
            call.intent = await note(call.key, backend=backend, soon=soon)
            if call.intent is None:
                raise _InFlightElsewhereError
        return call.intent

    async def _sent(self, call: Call, limiter: Limiter) -> Reply:
        """One request on the wire, by a call that has its place, and what is learnt from it."""
        self._refuse_if_closed(call)
        intent = await self._note(call)
        if self._stopped:
            raise StoppedError
        if call.attempts == 0:
            self.counts.sent += 1
            self.counts.repeated += 1 if intent.repeats else 0
        call.attempts += 1
        self.counts.attempts += 1
        call.is_sending = True
        try:
            reply = await call.backend.send(call.request)
        except ProviderError as error:
            call.is_sending = False
            self._learn_from(error, call, limiter)
            raise
        if reply.attempts != call.attempts:
            reply = replace(reply, attempts=call.attempts)
        call.is_sending, call.is_paid = False, True
        call.purse.pay(reply.cost_usd, worst_usd=call.worst_usd)
        self.account.paid_online(reply, call.unit_prices)
        usage = reply.usage
        limiter.succeeded(
            estimated_tokens=call.likely_tokens,
            used_tokens=None
            if usage.input_tokens is None
            else usage.input_tokens + (usage.output_tokens or 0),
        )
        return reply

    def _refuse_if_closed(self, call: Call) -> None:
        closed = self._closed.get(call.backend.spec.name)
        if closed is not None:
            raise ProviderError(closed.fault, f"not sent; the backend said before: {closed.detail}")

    def _learn_from(self, error: ProviderError, call: Call, limiter: Limiter) -> None:
        call.last_error = error
        if error.fault == "rate_limit":
            limiter.throttled(min(error.retry_after_s or 0.0, RETRY_AFTER_MOST_S))
        elif error.fault in TRANSIENT:
            limiter.server_error()
        if error.may_be_billed:
            call.may_be_billed = True
            call.purse.write_off(call.worst_usd)

    async def _record_failure(self, call: Call, error: ProviderError) -> None:
        if call.intent is None:
            return
        if call.attempts == 0:  # noted, and never sent
            await self.ledger.withdraw(call.intent)
            return
        await self.ledger.fail(
            call.intent,
            fault=error.fault,
            detail=error.detail,
            status=error.status,
            attempts=call.attempts,
            may_be_billed=call.may_be_billed,
        )


def _short(key: str) -> int:
    """Enough of a key to tell those of one run apart, at a quarter of the memory."""
    return int(key[:16], 16)
