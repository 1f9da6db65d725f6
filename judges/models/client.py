"""The client of a run: it sends each call once and stores the reply before anybody reads it.

The steps of a call, in order: look it up in the ledger; wait where the same call is in flight; set
money aside; wait for the backend's limits; note in the ledger that the call is being sent; make an
attempt, and retry where that makes sense; store the reply in the ledger.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...errors import ProviderError
from ...records.ledger import Ledger, PendingCall
from ...records.types import Reply
from .backend import Backend
from .budget import Budget, BudgetReservation, BudgetSpentError, reserve_usd, worst_usd
from .prices import TokenPrices
from .provider_errors import CLOSES_BACKEND, TRANSIENT, is_about_format
from .rate_limit import Limiter, StoppedError
from .request import Request, ResponseFormat
from .usage import CallCounts, FaultCounts, RunUsage, UsageSnapshot

if TYPE_CHECKING:
    from tenacity import RetryCallState

# Spreads retries; no result depends on it.
_jitter = random.Random()  # noqa: S311 - nothing secret
_BACKOFF_FIRST_S = 0.5
_BACKOFF_MOST_S = 30.0
RETRY_AFTER_MOST_S = 60.0
_LOOK_AGAIN_FIRST_S, _LOOK_AGAIN_MOST_S = 0.05, 1.0
"""Pauses between two looks at whether a call of another process is answered."""
_USUAL_OUTPUT_TOKENS = 120
TRY_AGAIN_AFTER_S = 600.0
"""A backend that was closed lets one call through after so long: a client may live for days."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply and where it came from."""

    reply: Reply
    key: str
    from_ledger: bool


class _InFlightElsewhereError(Exception):
    """Another process has answered this call, or has it in flight."""


@dataclass(slots=True)
class _Call:
    """One call under way: what is asked, and what has happened to it so far."""

    backend: Backend
    request: Request
    key: str
    reservation: BudgetReservation
    limiter: Limiter
    likely_tokens: float
    is_claim: bool
    pending: PendingCall | None = None
    attempts: int = 0
    hard_failures: int = 0
    may_be_billed: bool = False
    is_sending: bool = False
    is_paid: bool = False
    last_error: ProviderError | None = None

    def write_off(self) -> None:
        """Books the worst case of an attempt that may have been billed without an answer."""
        self.reservation.write_off(worst_usd(self.backend, self.request))

    def gives_up(self, state: RetryCallState) -> bool:
        """Rate limits are waited out for as long as the settings say; other faults are counted."""
        error = state.outcome.exception() if state.outcome else None
        if not (isinstance(error, ProviderError) and error.fault == "rate_limit"):
            self.hard_failures += 1
        spec = self.backend.spec
        # Only the pauses count: time spent in the queue of a slow backend is nobody's fault.
        paused = state.idle_for + state.upcoming_sleep
        return self.hard_failures >= spec.max_attempts or paused > spec.max_wait_s


class Client:
    """Sends calls to backends for one run. Used from one event loop.

    Attributes:
        counts, usage, faults: calls sent, tokens and dollars used, and what failed.
        response_formats, format_probes: what `structured.ask` has learnt of the backends, by their
            identity, and who is trying it out; None where that failed.
        changed: tells whoever follows the run that its counts may have changed.
        unclaimed: what batches have brought and nobody has asked for yet. Whoever asks for it
            first takes this run's own answer, and nothing that was paid before. A run on several
            nodes hands it on to them.
        unanswered: what to raise, instead of sending, for a request of a backend that the ledger
            does not answer, by its key; None = it is sent.
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
        self.usage = RunUsage()
        self.faults = FaultCounts()
        self.response_formats: dict[str, ResponseFormat] = {}
        self.format_probes: dict[str, asyncio.Lock | None] = {}
        self.changed = on_change or (lambda: None)
        self.unclaimed: set[int] = set()
        self.unanswered: Callable[[Backend, str], Exception] | None = None
        self._limiters: dict[str, Limiter] = {}
        self._in_flight: dict[str, asyncio.Future[None]] = {}
        self._stop = asyncio.Event()

    @property
    def stopped(self) -> bool:
        """Whether the run is stopping: calls in flight end, no further one is sent."""
        return self._stop.is_set()

    def stop(self) -> None:
        """No further call is sent; those in flight are awaited and stored."""
        self._stop.set()
        for limiter in self._limiters.values():
            limiter.stop()

    def in_flight(self) -> dict[str, int]:
        """Calls that wait for their reply, by backend."""
        return {name: limiter.in_flight for name, limiter in self._limiters.items()}

    async def pause(self, seconds: float) -> None:
        """Sleeps, unless the run stops first.

        Raises:
            StoppedError: the run is stopping.
        """
        try:
            async with asyncio.timeout(seconds):
                await self._stop.wait()
        except TimeoutError:
            return
        raise StoppedError

    def spending(self) -> UsageSnapshot:
        """What has been sent and spent until now; later calls do not change it."""
        budget = self.budget
        return UsageSnapshot(
            replace(self.counts),
            budget.spent,
            budget.possibly_spent,
            budget.unknown_calls,
            self.usage.plus(RunUsage()),
            self.faults.since(FaultCounts()),
        )

    def reservation(self) -> BudgetReservation:
        """A reservation on this run's budget."""
        return BudgetReservation(self.budget)

    def limiter(self, backend: Backend) -> Limiter:
        """The limiter of this backend; a new one where it was closed and is to be tried again."""
        spec = backend.spec
        limiter = self._limiters.get(spec.name)
        is_probing = (
            limiter is not None
            and limiter.closed_at is not None
            and _now() - limiter.closed_at >= TRY_AGAIN_AFTER_S
        )
        if limiter is None or is_probing:
            self._limiters[spec.name] = limiter = Limiter(
                concurrency=spec.concurrency, rpm=spec.rpm, tpm=spec.tpm, is_probing=is_probing
            )
            if self.stopped:
                limiter.stop()
        return limiter

    def brought(
        self, key: str, reply: Reply, prices: TokenPrices | None, usual: TokenPrices | None
    ) -> None:
        """Counts a reply that a batch has just brought into the ledger; it is unclaimed.

        Args:
            key: its key.
            reply: what came.
            prices, usual: see `RunUsage.paid_in_batch`.
        """
        self.usage.paid_in_batch(reply, prices, usual)
        self.unclaimed.add(_short(key))
        self.changed()

    # The steps of a call

    async def ask(
        self, backend: Backend, request: Request, reservation: BudgetReservation
    ) -> Answer:
        """The reply to this request, from the ledger or from the backend.

        The same call in flight is waited for, in this process and in others.

        Raises:
            ProviderError: no reply came, after the retries that made sense.
            BudgetSpentError: the cost cap does not allow the call.
            StoppedError: the run is stopping.
        """
        key = request.key()
        while (running := self._in_flight.get(key)) is not None:
            # Whoever waits holds no money, which the other may be waiting for.
            reservation.close()
            await asyncio.wait([running])
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = mine
        is_claim = True
        try:
            while True:
                stored = await self.ledger.find(key)
                if stored is not None:
                    return self._found(key, stored)
                if self.unanswered is not None:
                    raise self.unanswered(backend, key)
                tokens = request.size_bytes() / 4 + _USUAL_OUTPUT_TOKENS
                limiter = self.limiter(backend)
                call = _Call(backend, request, key, reservation, limiter, tokens, is_claim)
                try:
                    return Answer(await self._send(call), key, from_ledger=False)
                except _InFlightElsewhereError:
                    reservation.close()
                    is_claim = await self._wait_for_others(backend, key)
        finally:
            del self._in_flight[key]
            mine.cancel()  # wakes those who wait; they look into the ledger again

    def _found(self, key: str, stored: Reply) -> Answer:
        if self.unclaimed and (short := _short(key)) in self.unclaimed:
            self.unclaimed.discard(short)
        else:
            self.counts.from_ledger += 1
            self.usage.found(stored)
        return Answer(stored, key, from_ledger=True)

    async def _wait_for_others(self, backend: Backend, key: str) -> bool:
        """Returns when nobody else has this call in flight; False when that takes too long.

        Too long is the time in which a call ends, whatever the endpoint does: a process that has
        had it in flight for longer was stopped and is not gone.

        Raises:
            StoppedError: the run is stopping.
        """
        spec = backend.spec
        patience_ends = _now() + spec.max_wait_s + spec.max_attempts * spec.timeout_s
        pause = _LOOK_AGAIN_FIRST_S
        while await self.ledger.in_flight(key):
            if _now() > patience_ends:
                return False
            await self.pause(pause)
            pause = min(2 * pause, _LOOK_AGAIN_MOST_S)
        return True

    async def _send(self, call: _Call) -> Reply:
        """The reply, after as many attempts as make sense; what became of the call is stored."""
        try:
            try:
                return await self._attempt(call)
            except ProviderError as error:
                return await self._retry(call, error)
        except BaseException as error:
            await self._ended_without_reply(call, error)
            raise
        finally:
            self.changed()

    async def _retry(self, call: _Call, first: ProviderError) -> Reply:
        # Nearly every call is answered at once: tenacity takes its time for the others only.
        from tenacity import AsyncRetrying, retry_if_exception

        async for attempt in AsyncRetrying(
            retry=retry_if_exception(_may_pass),
            stop=call.gives_up,
            wait=_wait_before_retry,
            sleep=call.limiter.pause,
            reraise=True,
        ):
            with attempt:
                if attempt.retry_state.attempt_number == 1:
                    raise first
                return await self._attempt(call)
        raise AssertionError("the retries end with a reply or an error")

    async def _attempt(self, call: _Call) -> Reply:
        limiter, asked = call.limiter, call.request
        limiter.check()
        if self.budget.cap is not None:
            await call.reservation.need(reserve_usd(call.backend, asked))
        may_write = await limiter.approach()
        try:
            if may_write:
                await self._pending_call(call, soon=limiter.is_short)
            await limiter.acquire(call.likely_tokens)
            storing: asyncio.Future[None] | None = None
            try:
                pending = await self._pending_call(call)
                reply = await self._send_once(call, pending)
                storing = self.ledger.finish(
                    pending,
                    reply,
                    purpose=asked.purpose,
                    request=asked.description(),
                    endpoint=asked.endpoint,
                )
            finally:
                limiter.release(storing)
        finally:
            # Not before: whoever is let in now is noted by the commit that stores this answer or a
            # later one, so that a kill never finds more notes without an answer than are let in.
            limiter.leave()
            if limiter.is_short:
                self.ledger.hurry()  # a note made ahead is not ahead any more
        await storing
        self.counts.answered += 1
        return reply

    async def _pending_call(self, call: _Call, *, soon: bool = True) -> PendingCall:
        """The ledger's entry that the call is in flight, made once."""
        if call.pending is None:
            enter = self.ledger.claim if call.is_claim else self.ledger.begin
            call.pending = await enter(call.key, backend=call.backend.spec.name, soon=soon)
            if call.pending is None:
                raise _InFlightElsewhereError
        return call.pending

    async def _send_once(self, call: _Call, pending: PendingCall) -> Reply:
        """The reply to one attempt; the limiter and the counts learn how it ended."""
        call.limiter.check()
        if call.attempts == 0:
            self.counts.sent += 1
            self.counts.repeated += 1 if pending.repeats else 0
        call.attempts += 1
        self.counts.attempts += 1
        call.is_sending = True
        try:
            reply = await call.backend.send(call.request)
        except ProviderError as error:
            call.is_sending = False
            self._learn_from(call, error)
            raise
        call.is_sending, call.is_paid = False, True
        if reply.attempts != call.attempts:
            reply = replace(reply, attempts=call.attempts)
        if reply.cost_usd is not None:
            call.reservation.pay(reply.cost_usd)
        else:
            call.reservation.pay(None, worst_usd=worst_usd(call.backend, call.request))
        self.usage.paid_online(reply, call.backend.unit_prices)
        call.limiter.limited = None
        sent, said = reply.usage.input_tokens, reply.usage.output_tokens
        call.limiter.succeeded(
            estimated_tokens=call.likely_tokens,
            used_tokens=None if sent is None else sent + (said or 0),
        )
        return reply

    def _learn_from(self, call: _Call, error: ProviderError) -> None:
        """What a failed attempt says about the backend, and may have cost."""
        call.last_error = error
        if error.may_be_billed:
            call.may_be_billed = True
            call.write_off()
        if error.fault == "rate_limit":
            self._slow_down(call, error)
        elif error.fault in CLOSES_BACKEND and not is_about_format(error):
            self._close(call, error, "not sent")
        elif error.fault in TRANSIENT:
            call.limiter.server_error()

    def _slow_down(self, call: _Call, error: ProviderError) -> None:
        """After a 429; closes a backend that has answered nothing else for `max_wait_s`."""
        limiter, most = call.limiter, call.backend.spec.max_wait_s
        now = _now()
        since, until = limiter.limited or (now, now)
        if now - until > most:
            since = now  # nobody asked in between
        lasted = now - since
        asked = min(error.retry_after_s or 0.0, RETRY_AFTER_MOST_S)
        # Without advice all pause for longer, the longer nobody has been answered.
        wait = asked or min(lasted / 4, _BACKOFF_MOST_S)
        limiter.throttled(wait)
        limiter.limited = since, max(until, now + wait)
        if limiter.is_probing:
            self._close(call, error, "given up: still nothing but rate limits")
        elif lasted + asked > most:
            self._close(
                call,
                error,
                f"given up: nothing but rate limits for {lasted:.0f} s and {asked:.0f} s more to "
                f"wait, where max_wait_s is {most:g}",
            )

    def _close(self, call: _Call, error: ProviderError, why: str) -> None:
        """Lets no further call through to a backend; each is told what the backend said."""
        detail = f"{why}; the backend said before: {error.detail}"
        call.limiter.closed_at = _now()
        call.limiter.close(lambda: ProviderError(error.fault, detail))

    async def _ended_without_reply(self, call: _Call, error: BaseException) -> None:
        """Counts what became of a call, and leaves the right note of it in the ledger."""
        fault = call.last_error
        if isinstance(error, ProviderError):
            fault = error
            self.faults.add(error)
            self.counts.failed += 1
        elif call.attempts and not call.is_paid:
            self.counts.failed += 1  # it was sent, and nothing came of it
        if isinstance(error, ProviderError | BudgetSpentError | StoppedError):
            error.attempts = call.attempts
        if call.pending is None or call.is_paid:
            return  # what stores the reply ends the note as well
        if call.is_sending:
            # The attempt is cut off, and may have been paid.
            call.write_off()
            self.ledger.cut_off(call.pending)
        elif fault is None or not call.attempts:
            await self.ledger.withdraw(call.pending)  # noted, and never sent
        else:
            await self.ledger.fail(
                call.pending, fault, attempts=call.attempts, may_be_billed=call.may_be_billed
            )


def _may_pass(error: BaseException) -> bool:
    """Whether the same call may succeed after this."""
    return (
        isinstance(error, ProviderError)
        and error.fault in TRANSIENT
        and not is_about_format(error)  # it would answer the same again
    )


def _wait_before_retry(state: RetryCallState) -> float:
    """What the endpoint asked for, or exponential growth, in seconds; with jitter either way."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after_s if isinstance(error, ProviderError) else None
    if asked:  # "0" is no advice: asking again at once would meet the same limit
        return min(asked, RETRY_AFTER_MOST_S) + _jitter.uniform(0.0, 0.25)
    ceiling = min(_BACKOFF_MOST_S, _BACKOFF_FIRST_S * 2 ** (state.attempt_number - 1))
    return _jitter.uniform(ceiling / 2, ceiling)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _short(key: str) -> int:
    """Enough of a key to tell those of one run apart, at a quarter of the memory."""
    return int(key[:16], 16)
