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
        """Seconds until `amount` may be taken; 0.0 takes it."""
        per_second = self.per_minute / 60.0
        # A single request larger than a second's worth must still pass, when the bucket is full.
        capacity = max(per_second, 1.0)
        if self._updated is None:
            self._level, self._updated = capacity, now
        self._level = min(capacity, self._level + (now - self._updated) * per_second)
        self._updated = now
        need = min(amount, capacity)
        if self._level >= need - 1e-9:
            self._level -= amount  # may go below zero: the debt is waited out by the next ones
            return 0.0
        return (need - self._level) / per_second

    def correct(self, amount: float) -> None:
        """Takes (or gives back) the difference between an estimate and what was used."""
        self._level -= amount


@dataclass(slots=True)
class _Rate:
    """How many come a second, of late: each counts for less the longer ago it came."""

    per_second: float = 0.0
    _counted: float = 0.0

    def count(self, now: float) -> None:
        """Counts one that comes now."""
        faded = math.exp((self._counted - now) / _RATE_OVER_S)
        self.per_second = self.per_second * faded + 1.0 / _RATE_OVER_S
        self._counted = now


class Limiter:
    """Lets calls to one backend through at the rate it takes. Used from one event loop."""

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
        self._at_rates = 0
        self.peak_in_flight = 0
        self.throttled_times = 0
        self._slow_start = True
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._inside = 0
        self._outside: deque[asyncio.Future[None]] = deque()
        self._rate = _Rate()
        self._buckets = (
            TokenBucket(rpm) if rpm else None,
            TokenBucket(tpm) if tpm else None,
        )
        self._rate_lock = asyncio.Lock()
        self._not_before = 0.0
        self._hold_until = 0.0
        self._last_cut = float("-inf")
        self._closed: Callable[[], Exception] | None = None
        self._wake = asyncio.Event()
        self._moved = asyncio.Event()
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
            try:
                await future  # entered in _let_in, on this one's behalf
            except asyncio.CancelledError:
                if future.done() and not future.cancelled() and future.exception() is None:
                    self.leave()
                raise
        else:
            self._inside += 1
        return self._buckets == (None, None) and not self._pause_left()

    def leave(self) -> None:
        """Lets the next one approach."""
        self._inside -= 1
        self._let_in()

    async def acquire(self, tokens: float) -> None:
        """Waits for a place in flight, for the rates, and for a pause that a 429 asked for.

        Raises:
            StoppedError: the run is stopping.
        """
        await self._place()
        self._at_rates += 1
        self._moved.set()
        try:
            await self._rates(tokens)
        except BaseException:
            self.release()
            raise
        finally:
            self._at_rates -= 1

    def release(self) -> None:
        """Gives the place back."""
        self.in_flight -= 1
        self._rate.count(self._clock())
        self._moved.set()
        self._admit()

    def succeeded(self, *, estimated_tokens: float, used_tokens: float | None) -> None:
        """An answer came: room for more, unless a server error was seen just now."""
        self.is_probing = False
        if used_tokens is not None and self._buckets[1] is not None:
            self._buckets[1].correct(used_tokens - estimated_tokens)
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
        self.throttled_times += 1
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
        self._moved.set()
        for queue in (self._waiting, self._outside):
            while queue:
                future = queue.popleft()
                if not future.done():
                    future.set_exception(reason())

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

    async def _place(self) -> None:
        self.check()
        if not self._waiting and self.in_flight < int(self.allowed):
            self._enter()
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future  # the place is taken in _admit, on this one's behalf
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.release()
            raise

    def _enter(self) -> None:
        self.in_flight += 1
        self.peak_in_flight = max(self.peak_in_flight, self.in_flight)

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.allowed):
            future = self._waiting.popleft()
            if not future.done():
                self._enter()
                future.set_result(None)

    def _room(self) -> int:
        allowed = int(self.allowed)
        ahead = min(int(AHEAD_S * self._rate.per_second), allowed // _AHEAD_MOST_SHARE)
        return allowed + max(_AHEAD_LEAST, ahead)

    def _let_in(self) -> None:
        while self._outside and self._inside < self._room():
            future = self._outside.popleft()
            if not future.done():
                self._inside += 1
                future.set_result(None)

    async def _rates(self, tokens: float) -> None:
        if self._buckets == (None, None):
            await self._until_clear()
        else:
            # The lock keeps the order of arrival: a large request is not starved by small ones.
            async with self._rate_lock:
                # Drawn only when nothing else is left to wait for: what many drew before a pause
                # would leave all at once when it ends.
                await self._until_clear()
                while delay := self._draw(tokens):
                    await self.pause(delay)
                    await self._until_clear()
        self.check()

    def _draw(self, tokens: float) -> float:
        """Seconds until requests and tokens allow the call; 0.0 takes of both."""
        now = self._clock()
        taken: list[tuple[TokenBucket, float]] = []
        for bucket, amount in zip(self._buckets, (1.0, tokens), strict=True):
            if bucket is None:
                continue
            if delay := bucket.delay_for(amount, now):
                for other, drawn in taken:
                    other.correct(-drawn)
                return delay
            taken.append((bucket, amount))
        return 0.0

    async def _until_clear(self) -> None:
        """Waits out a pause, and while more calls are sent than a 429 has left places.

        Whoever waits here has a place already, of the time before that 429.
        """
        await self._until_allowed()
        while self.in_flight - self._at_rates >= int(self.allowed) and self._closed is None:
            self._moved.clear()
            await self._moved.wait()
            await self._until_allowed()

    def _pause_left(self) -> float:
        """Seconds until the time that a 429 named; 0.0 where it has come, or none was named."""
        return max(0.0, self._not_before - self._clock()) if self._not_before else 0.0

    async def _until_allowed(self) -> None:
        # Timers may go off a nanosecond early: what is left then is no reason to sleep again.
        while (wait := self._pause_left()) > 1e-6:
            await self.pause(wait)
