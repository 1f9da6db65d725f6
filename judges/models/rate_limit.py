"""How fast one backend may be asked: requests and tokens a minute, and calls in flight.

Everything waits; nothing is refused. The number of calls in flight adapts: it starts low, doubles
with every round of answers until the first 429, then grows by one a round, halves on a 429, and
holds still for a while after a server error.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

START_IN_FLIGHT = 8
_START_SHARE = 8
"""Of the most that may be in flight: whoever allows 256 has three rounds of answers to wait for
them, and not five, and a backend that was named too much for still shows it with few calls."""
_HOLD_AFTER_SERVER_ERROR_S = 10.0
AHEAD_S = 0.1
"""So much time's answers may be noted ahead: those of two periods of the ledger's commits
(`APART_S` of the ledger), since what one commit notes must last until the next is written."""
_AHEAD_LEAST = 2
_AHEAD_MOST_SHARE = 2
"""Of what may be in flight: a kill counts what is noted ahead as calls that may have been paid."""
_RATE_OVER_S = 1.0
"""Longer than most pauses between answers that come in bursts, which would else seem to stop."""
_EARLY_S = 1e-6
"""Timers may go off a moment early: what is left then is no reason to wait again."""
# Several calls in flight meet the same limit at once: one burst of 429s is one event.
_ONE_CUT_WITHIN_S = 1.0


class StoppedError(Exception):
    """The run is stopping: no further call is to be sent.

    Attributes:
        attempts: how often the call had been sent before, without a reply.
    """

    attempts = 0


@dataclass(slots=True)
class TokenBucket:
    """A rate a minute, smoothed: at most one second's worth may be taken at once."""

    per_minute: float
    _level: float = 0.0
    _updated: float | None = None

    def delay_for(self, amount: float, now: float) -> float:
        """Seconds until `amount` may be taken."""
        per_second = self.per_minute / 60.0
        # A single request larger than a second's worth must still pass, when the bucket is full.
        capacity = max(per_second, 1.0)
        if self._updated is None:
            self._level, self._updated = capacity, now
        self._level = min(capacity, self._level + (now - self._updated) * per_second)
        self._updated = now
        lacking = min(amount, capacity) - self._level
        return lacking / per_second if lacking > 1e-9 else 0.0

    def take(self, amount: float) -> None:
        """Takes so much (below 0: gives it back); what is missing the next ones wait for."""
        self._level -= amount


class Limiter:
    """Lets calls to one backend through at the rate it takes. Used from one event loop.

    Attributes:
        most: calls that may ever be in flight.
        allowed: calls that may be in flight now.
        in_flight: calls that are.
        is_probing: whether one call goes before all others, to see whether the backend answers
            again.
        limited: since when the backend has answered nothing but 429s, and until when it was to be
            left alone; None after an answer. Kept by the client.
        closed_at: when the client gave the backend up.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        rpm: float | None = None,
        tpm: float | None = None,
        is_probing: bool = False,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Limits that have let nobody through yet.

        Args:
            concurrency: most calls in flight.
            rpm, tpm: requests and tokens a minute.
            is_probing: whether one call goes before all others, to see whether the backend answers
                again; until it has.
            clock: seconds, in place of the event loop's.
        """
        self.most = concurrency
        start = 1 if is_probing else max(START_IN_FLIGHT, concurrency // _START_SHARE)
        self.allowed = float(min(start, concurrency))
        self.is_probing = is_probing
        self.in_flight = 0
        self.limited: tuple[float, float] | None = None
        self.closed_at: float | None = None
        self._slow_start = True
        self._waiting: deque[tuple[float, asyncio.Future[None]]] = deque()  # with their tokens
        self._timer: asyncio.TimerHandle | None = None
        self._inside = 0
        self._outside: deque[asyncio.Future[None]] = deque()
        self._answers_a_second = 0.0  # of late: each counts for less the longer ago it came
        self._answered_at = 0.0
        self._requests = TokenBucket(rpm) if rpm else None
        self._tokens = TokenBucket(tpm) if tpm else None
        self._not_before = 0.0
        self._hold_until = 0.0
        self._last_cut = float("-inf")
        self._closed: Callable[[], Exception] | None = None
        self._wake = asyncio.Event()
        self._clock = clock or (lambda: asyncio.get_running_loop().time())

    @property
    def is_short(self) -> bool:
        """Whether a place is free and no call waits that takes it: none is noted that could."""
        return not self._waiting and self.in_flight < int(self.allowed)

    async def approach(self) -> bool:
        """Waits until a call is about to be its backend's next; `leave` ends what this begins.

        So many calls as may be in flight are let in, and beside them as many as have come back
        in `AHEAD_S`, at most half as many as may be in flight: these are noted in the ledger
        meanwhile, so that a place that comes free is filled at once, and not after a commit. A
        kill finds no more calls than all these between note and reply.

        Returns:
            Whether the call may be noted now; False where it might wait long for its place.

        Raises:
            StoppedError: the run is stopping; or what else the backend was closed with.
        """
        self.check()
        if self._outside or self._inside >= self._room():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._outside.append(future)
            await _granted(future, self.leave)
        else:
            self._inside += 1
        if self._requests is not None or self._tokens is not None:
            return False
        return not self._not_before or self._not_before <= self._clock()

    def leave(self) -> None:
        """Lets the next one approach."""
        self._inside -= 1
        self._let_in()

    async def acquire(self, tokens: float) -> None:
        """Waits for a place in flight, for the rates, and for a pause that a 429 asked for.

        Args:
            tokens: likely size of the call.

        Raises:
            StoppedError: the run is stopping; or what else the backend was closed with.
        """
        if self.try_acquire(tokens):
            return
        self.check()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((tokens, future))
        self._admit()
        try:
            await _granted(future, self.release)
        except asyncio.CancelledError:
            self._admit()  # the next one may have less to wait for
            raise

    def try_acquire(self, tokens: float) -> bool:
        """Takes a place if there is one just now and nobody was there before."""
        return not self._waiting and self._enter(tokens) == 0.0

    def release(self, storing: asyncio.Future[None] | None = None) -> None:
        """Gives the place back.

        Args:
            storing: done when the ledger holds the reply. Here nobody waits for it: the call that
                comes next is noted by the same commit or a later one.
        """
        self.in_flight -= 1
        now = self._clock()
        faded = math.exp((self._answered_at - now) / _RATE_OVER_S)
        self._answers_a_second = self._answers_a_second * faded + 1.0 / _RATE_OVER_S
        self._answered_at = now
        self._admit()

    def succeeded(self, *, estimated_tokens: float, used_tokens: float | None) -> None:
        """An answer came: room for more, unless a server error was seen just now."""
        self.is_probing = False
        if used_tokens is not None and self._tokens is not None:
            self._tokens.take(used_tokens - estimated_tokens)
        if self.allowed >= self.most or self._clock() < self._hold_until:
            return
        # Only a backend that is kept busy shows that it can take more. Where answers come in a
        # burst the places are empty for a moment, although many wait to be let in.
        if self._outside or self.in_flight >= self.allowed - 1:
            step = 1.0 if self._slow_start else 1.0 / self.allowed
            self.allowed = min(float(self.most), self.allowed + step)
            self._admit()
            self._let_in()

    def throttled(self, retry_after_s: float | None) -> None:
        """A 429: fewer calls in flight, and nobody goes before the time it named."""
        now = self._clock()
        self._slow_start = False
        if now - self._last_cut >= _ONE_CUT_WITHIN_S:
            self._last_cut = now
            self.allowed = max(1.0, self.allowed / 2.0)
        if retry_after_s:
            self._not_before = max(self._not_before, now + retry_after_s)

    def server_error(self) -> None:
        """A 5xx or a broken connection says nothing about the rate: no growth for a while."""
        self._hold_until = self._clock() + _HOLD_AFTER_SERVER_ERROR_S

    def check(self) -> None:
        """Raises what the backend was closed with, if it was."""
        if self._closed is not None:
            raise self._closed()

    def close(self, reason: Callable[[], Exception]) -> None:
        """Lets nobody through any more: whoever waits, and whoever comes, gets the exception."""
        if self._closed is None or reason is StoppedError:
            self._closed = reason
        self._wake.set()
        for future in (*self._outside, *(waiting for _, waiting in self._waiting)):
            if not future.done():
                future.set_exception(reason())
        self._outside.clear()
        self._waiting.clear()

    def stop(self) -> None:
        """Closes the backend with `StoppedError`."""
        self.close(StoppedError)

    async def pause(self, seconds: float) -> None:
        """Sleeps, unless the backend is closed first.

        Raises:
            StoppedError, or what it was closed with.
        """
        if seconds > 0 and self._closed is None:
            try:
                async with asyncio.timeout(seconds):
                    await self._wake.wait()
            except TimeoutError:
                pass
        self.check()

    def _room(self) -> int:
        """How many may have approached and not left."""
        allowed = int(self.allowed)
        ahead = min(int(AHEAD_S * self._answers_a_second), allowed // _AHEAD_MOST_SHARE)
        return allowed + max(_AHEAD_LEAST, ahead)

    def _let_in(self) -> None:
        while self._outside and self._inside < self._room():
            future = self._outside.popleft()
            if not future.done():
                self._inside += 1
                future.set_result(None)

    def _admit(self) -> None:
        """Gives places to those who wait for one, in order of arrival: no large call is starved."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            tokens, future = self._waiting[0]
            if not future.done():
                delay = self._enter(tokens)
                if delay:
                    if delay < math.inf:
                        loop = asyncio.get_running_loop()
                        self._timer = loop.call_later(delay, self._admit)
                    return
                future.set_result(None)
            self._waiting.popleft()

    def _enter(self, tokens: float) -> float:
        """Takes a place, or says in how many seconds to try again; 0.0 where it has taken one.

        Infinite while all places are taken. Rates are drawn when nothing else is left to wait for:
        what many drew before a pause would leave all at once when it ends.
        """
        if self._closed is not None or self.in_flight >= int(self.allowed):
            return math.inf
        if self._not_before and (left := self._not_before - self._clock()) > _EARLY_S:
            return left
        if self._requests is not None or self._tokens is not None:
            now = self._clock()
            drawn = [
                (bucket, amount)
                for bucket, amount in ((self._requests, 1.0), (self._tokens, tokens))
                if bucket is not None
            ]
            delay = max(bucket.delay_for(amount, now) for bucket, amount in drawn)
            if delay:
                return delay
            for bucket, amount in drawn:
                bucket.take(amount)
        self.in_flight += 1
        return 0.0


async def _granted(future: asyncio.Future[None], give_back: Callable[[], None]) -> None:
    """Waits for what somebody else grants; who is cancelled just then gives it back."""
    try:
        await future
    except asyncio.CancelledError:
        if future.done() and not future.cancelled() and future.exception() is None:
            give_back()
        raise
