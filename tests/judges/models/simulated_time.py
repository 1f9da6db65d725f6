"""A loop whose clock leaps over every wait: minutes of a test pass in milliseconds."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any


class _LeapingSelector(selectors.DefaultSelector):
    """Does not wait: says how long it would have."""

    leaped = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if timeout is not None:  # a clock that stood still would never pass a rounding error
            self.leaped += 1e-6 if ready else max(timeout, 1e-6)
        return ready


def in_simulated_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test of coroutines on such a loop."""

    @functools.wraps(test)
    def run(*given: Any, **named: Any) -> None:
        selector = _LeapingSelector()

        class Loop(asyncio.SelectorEventLoop):
            def time(self) -> float:
                return 1000.0 + selector.leaped

        with asyncio.Runner(loop_factory=lambda: Loop(selector)) as runner:
            runner.run(test(*given, **named))

    return run
