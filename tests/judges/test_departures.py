"""Calls that start together: who waits, how long, and that none is left behind."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from areopagus.judges.wire.departures import Departures


async def start_all(departures: Departures, count: int, started: list[int]) -> None:
    async def call(number: int) -> None:
        with departures:
            await departures.together()
            started.append(number)
            await asyncio.sleep(0.02)

    await asyncio.gather(*(call(number) for number in range(count)))


def delays_of(loop: asyncio.AbstractEventLoop, found: list[float]) -> Callable[..., Any]:
    later = loop.call_later

    def call_later(delay: float, *given: Any, **named: Any) -> asyncio.TimerHandle:
        if getattr(given[0], "__name__", "") == "_start":
            found.append(delay)
        return later(delay, *given, **named)

    return call_later


@pytest.mark.parametrize(
    ("count", "longest"), [(15, None), (16, 0.00064), (100, 0.004), (400, 0.005)]
)
def test_how_long_calls_wait_for_others(
    count: int, longest: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> tuple[list[float], list[int]]:
        loop, delays, started = asyncio.get_running_loop(), list[float](), list[int]()
        monkeypatch.setattr(loop, "call_later", delays_of(loop, delays))
        departures = Departures()
        with contextlib.ExitStack() as others:
            for _ in range(count - 1):
                others.enter_context(departures)
            await start_all(departures, 1, started)
        return delays, started

    delays, started = asyncio.run(run())
    assert started == [0]
    assert delays == ([] if longest is None else [pytest.approx(longest)])


def test_those_that_wait_start_in_the_order_in_which_they_came() -> None:
    started: list[int] = []
    asyncio.run(start_all(Departures(), 200, started))
    few = started[:15]  # while fewer were under way, each at once
    assert few == list(range(15))
    assert started == list(range(200))


def test_a_cancelled_call_neither_holds_up_the_others_nor_stays_under_way() -> None:
    async def run() -> list[int]:
        departures, started = Departures(), list[int]()

        async def call(number: int) -> None:
            with departures:
                await departures.together()
                started.append(number)

        with contextlib.ExitStack() as others:
            for _ in range(50):
                others.enter_context(departures)
            calls = [asyncio.ensure_future(call(number)) for number in range(4)]
            await asyncio.sleep(0)
            calls[1].cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        coroutine = departures.together()
        with pytest.raises(StopIteration):  # nobody under way is left: it does not wait
            coroutine.send(None)
        return started

    assert asyncio.run(run()) == [0, 2, 3]


def test_calls_of_another_loop_do_not_wait_for_those_of_the_first() -> None:
    departures = Departures()

    async def run() -> tuple[bool, bool]:
        first = asyncio.ensure_future(departures.together())
        await asyncio.sleep(0)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:  # which holds up this loop
            elsewhere = pool.submit(asyncio.run, asyncio.wait_for(departures.together(), 5))
            concurrent.futures.wait([elsewhere])
        still_waits = not first.done()
        await asyncio.wait_for(first, 5)
        return elsewhere.exception() is None, still_waits

    with contextlib.ExitStack() as others:
        for _ in range(50):
            others.enter_context(departures)
        assert asyncio.run(run()) == (True, True)


def test_a_loop_closed_while_calls_wait_holds_up_none_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    departures, delays = Departures(), list[float]()

    async def broken_off() -> None:
        waiting = asyncio.ensure_future(departures.together())
        await asyncio.sleep(0)
        assert not waiting.done()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", delays_of(loop, delays))
        await asyncio.gather(*(departures.together() for _ in range(3)))

    with contextlib.ExitStack() as others:
        for _ in range(50):
            others.enter_context(departures)
        asyncio.run(broken_off())
        asyncio.run(asyncio.wait_for(run(), 5))
    assert delays == [pytest.approx(0.002)]
    assert departures._waiting == {}
