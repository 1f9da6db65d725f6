"""Rate and concurrency limits of the kind that providers set."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class RateAllowance:
    """A token bucket: so many requests a minute, so many of them at once.

    Args:
        requests_per_minute: the long-run rate; positive.
        burst: how many may come at once after a rest; None: a second's worth, at least one.
        clock: seconds, never going back.

    Raises:
        ValueError: for a rate that is not positive or a burst below 1.
    """

    def __init__(
        self,
        requests_per_minute: float,
        burst: int | None = None,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if requests_per_minute <= 0:
            raise ValueError(f"requests_per_minute must be positive, got {requests_per_minute}")
        if burst is not None and burst < 1:
            raise ValueError(f"burst must be at least 1, got {burst}")
        self._per_second = requests_per_minute / 60.0
        self._size = float(burst) if burst is not None else max(1.0, self._per_second)
        self._clock = clock
        self.refill()

    def refill(self) -> None:
        """Forgets what was used."""
        self._left, self._as_of = self._size, self._clock()

    def wait_s(self) -> float:
        """0.0 where a request is admitted (and used up); else the seconds until one would be."""
        now = self._clock()
        self._left = min(self._size, self._left + (now - self._as_of) * self._per_second)
        self._as_of = now
        if self._left >= 1.0:
            self._left -= 1.0
            return 0.0
        return (1.0 - self._left) / self._per_second
