"""How fast a backend is asked: everything waits, nothing is refused."""

from __future__ import annotations

import asyncio

import pytest
from simulated_time import in_simulated_time

from areopagus.judges.models.rate_limit import (
    AHEAD_S,
    START_IN_FLIGHT,
    Limiter,
    StoppedError,
    TokenBucket,
)
from areopagus.records.ledger.writer import APART_S


async def take(limiter: Limiter, number: int, tokens: float = 1.0) -> None:
    for _ in range(number):
        await limiter.acquire(tokens)


async def test_no_more_calls_are_in_flight_than_allowed_and_places_go_in_order_of_arrival() -> None:
    limiter = Limiter(concurrency=3)
    await take(limiter, 3)
    order: list[int] = []

    async def one(number: int) -> None:
        await limiter.acquire(1)
        order.append(number)
        limiter.release()

    tasks = [asyncio.create_task(one(n)) for n in range(5)]
    await asyncio.sleep(0.01)
    assert order == []
    limiter.release()
    await asyncio.wait_for(asyncio.gather(*tasks), 5)
    assert order == [0, 1, 2, 3, 4]
    assert limiter.in_flight == 2


def test_the_number_in_flight_starts_at_eight_or_an_eighth_of_the_most() -> None:
    for most, first in ((3, 3), (8, 8), (64, 8), (128, 16), (256, 32)):
        assert Limiter(concurrency=most).allowed == first


async def test_a_backend_that_is_not_busy_is_not_given_more() -> None:
    limiter = Limiter(concurrency=64)
    for _ in range(100):
        await limiter.acquire(1)
        limiter.succeeded(estimated_tokens=1, used_tokens=None)
        limiter.release()
    assert limiter.allowed == START_IN_FLIGHT


async def test_a_burst_of_429s_halves_once_and_growth_is_slow_afterwards() -> None:
    now = [100.0]
    limiter = Limiter(concurrency=64, clock=lambda: now[0])
    await take(limiter, 8)
    for _ in range(5):
        limiter.throttled(None)
    assert limiter.allowed == 4.0
    now[0] += 2
    limiter.throttled(None)
    assert limiter.allowed == 2.0
    for _ in range(2):
        limiter.succeeded(estimated_tokens=1, used_tokens=None)
    assert 2.5 < limiter.allowed <= 3.0  # about one more a round
    for _ in range(20):
        now[0] += 10
        limiter.throttled(None)
    assert limiter.allowed == 1.0  # never fewer


async def test_a_server_error_holds_growth_for_a_while() -> None:
    now = [0.0]
    limiter = Limiter(concurrency=64, clock=lambda: now[0])
    await take(limiter, 8)
    limiter.server_error()
    limiter.succeeded(estimated_tokens=1, used_tokens=None)
    assert limiter.allowed == START_IN_FLIGHT
    now[0] += 60
    limiter.succeeded(estimated_tokens=1, used_tokens=None)
    assert limiter.allowed == START_IN_FLIGHT + 1


async def test_a_named_time_to_wait_holds_everybody_back() -> None:
    limiter = Limiter(concurrency=8)
    limiter.throttled(0.2)
    started = asyncio.get_running_loop().time()
    await asyncio.gather(*(limiter.acquire(1) for _ in range(3)))
    assert asyncio.get_running_loop().time() - started >= 0.19


def test_a_rate_a_minute_is_kept_over_a_minute_and_smoothed_over_seconds() -> None:
    bucket, now, taken = TokenBucket(120.0), 0.0, []
    while now < 60:
        now += bucket.delay_for(1.0, now)
        bucket.take(1.0)
        taken.append(now)
    assert 119 <= len(taken) <= 122
    assert max(sum(t <= u < t + 1 for u in taken) for t in taken) <= 4


def test_what_is_more_than_the_bucket_holds_passes_and_its_debt_is_waited_out() -> None:
    bucket = TokenBucket(600.0)  # ten a second
    assert bucket.delay_for(100.0, 0.0) == 0.0
    bucket.take(100.0)
    assert bucket.delay_for(1.0, 0.0) == pytest.approx(9.1)
    assert bucket.delay_for(1.0, 9.2) == 0.0
    bucket = TokenBucket(6000.0)
    assert bucket.delay_for(100.0, 0.0) == 0.0
    bucket.take(100.0)
    bucket.take(100.0)  # it was twice as many as estimated
    assert bucket.delay_for(1.0, 0.0) == pytest.approx(1.01)


async def test_requests_and_tokens_a_minute_are_waited_for() -> None:
    loop = asyncio.get_running_loop()
    limiter = Limiter(concurrency=64, rpm=60 * 20)
    started = loop.time()
    await take(limiter, 8)
    await asyncio.sleep(0)
    assert loop.time() - started < 0.2  # one second's worth may go at once
    limiter = Limiter(concurrency=64, tpm=60 * 1000)
    started = loop.time()
    await take(limiter, 3, 500.0)
    assert loop.time() - started >= 0.45


async def test_a_cancelled_wait_gives_its_place_back() -> None:
    limiter = Limiter(concurrency=1)
    await limiter.acquire(1)
    waiting = asyncio.create_task(limiter.acquire(1))
    await asyncio.sleep(0)
    limiter.release()  # the place is promised to the waiting one …
    waiting.cancel()  # … which does not come
    await asyncio.gather(waiting, return_exceptions=True)
    assert limiter.in_flight == 0
    await asyncio.wait_for(limiter.acquire(1), 1)
    limiter = Limiter(concurrency=4, rpm=1)  # and so where the rate is waited for
    await limiter.acquire(1)
    waiting = asyncio.create_task(limiter.acquire(1))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert limiter.in_flight == 1


async def test_a_stop_wakes_everybody_wherever_they_wait() -> None:
    limiter = Limiter(concurrency=1, rpm=1)
    await limiter.acquire(1)
    waiting = [asyncio.create_task(limiter.acquire(1)) for _ in range(3)]
    sleeping = asyncio.create_task(limiter.pause(60))
    await asyncio.sleep(0.01)
    limiter.stop()
    results = await asyncio.gather(*waiting, sleeping, return_exceptions=True)
    assert [type(result) for result in results] == [StoppedError] * 4
    with pytest.raises(StoppedError):
        await limiter.acquire(1)


@pytest.mark.parametrize(("a_second", "ahead"), [(0, 2), (250, 25), (640, 32)])
async def test_as_many_calls_may_be_noted_ahead_as_come_back_in_a_tenth_of_a_second(
    a_second: int, ahead: int
) -> None:
    now = [100.0]
    limiter = Limiter(concurrency=64, clock=lambda: now[0])
    limiter.allowed = 64.0
    for _ in range(10 * a_second):
        await limiter.acquire(1)
        now[0] += 1 / a_second
        limiter.release()
    tasks = [asyncio.create_task(limiter.approach()) for _ in range(200)]
    await asyncio.sleep(0)
    let_in = sum(task.done() for task in tasks)
    assert abs(let_in - (64 + ahead)) <= 1  # a rate is smoothed, and a part of a call cut off
    assert all(task.result() for task in tasks if task.done())
    limiter.leave()
    await asyncio.sleep(0)
    assert sum(task.done() for task in tasks) == let_in + 1
    limiter.stop()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert sum(isinstance(result, StoppedError) for result in results) == 200 - let_in - 1
    with pytest.raises(StoppedError):
        await limiter.approach()


async def test_a_rate_of_long_ago_lets_no_more_in() -> None:
    now = [100.0]
    limiter = Limiter(concurrency=64, clock=lambda: now[0])
    for pause in (*[0.002] * 2000, 60.0):
        await limiter.acquire(1)
        now[0] += pause
        limiter.release()
    tasks = [asyncio.create_task(limiter.approach()) for _ in range(100)]
    await asyncio.sleep(0)
    assert sum(task.done() for task in tasks) == int(limiter.allowed) + 2
    limiter.stop()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_what_is_noted_ahead_lasts_for_two_periods_of_commits() -> None:
    assert AHEAD_S == 2 * APART_S


async def test_a_backend_is_short_where_a_place_is_free_and_nobody_waits_for_it() -> None:
    limiter = Limiter(concurrency=1)
    assert limiter.is_short
    await limiter.acquire(1)
    second = asyncio.create_task(limiter.acquire(1))
    await asyncio.sleep(0)
    assert not limiter.is_short
    limiter.release()
    assert not limiter.is_short  # the second has the place
    await second
    limiter.release()
    assert limiter.is_short


async def test_whoever_gives_up_on_the_way_lets_the_next_one_in() -> None:
    limiter = Limiter(concurrency=1)
    first = [await limiter.approach() for _ in range(3)]
    assert first == [True] * 3
    fourth, fifth = (asyncio.create_task(limiter.approach()) for _ in range(2))
    await asyncio.sleep(0)
    limiter.leave()  # the way is promised to the fourth …
    fourth.cancel()  # … which does not come
    await asyncio.gather(fourth, return_exceptions=True)
    assert await asyncio.wait_for(fifth, 1)


async def test_a_call_that_may_wait_for_a_rate_or_a_pause_is_not_noted_before() -> None:
    assert not await Limiter(concurrency=8, rpm=600).approach()
    paused = Limiter(concurrency=8)
    paused.throttled(30.0)
    assert not await paused.approach()


@pytest.mark.parametrize(
    ("rpm", "tpm", "tokens", "a_minute"),
    [(600, None, 1, 600), (None, 600, 1200, 0.5), (60, 1200, 100, 12)],
)
@in_simulated_time
async def test_the_rates_hold_over_five_minutes_and_are_used(
    rpm: float | None, tpm: float | None, tokens: float, a_minute: float
) -> None:
    sent: list[float] = []
    limiter = Limiter(concurrency=50, rpm=rpm, tpm=tpm)
    loop = asyncio.get_running_loop()
    started = loop.time()

    async def one() -> None:
        while True:
            await limiter.acquire(tokens)
            sent.append(loop.time() - started)
            limiter.succeeded(estimated_tokens=tokens, used_tokens=tokens)
            limiter.release()

    workers = [asyncio.create_task(one()) for _ in range(20)]
    await asyncio.sleep(300)
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    assert limiter.in_flight == 0
    burst = max(1.0, a_minute / 60)
    assert a_minute * 5 - 1 <= len(sent) <= a_minute * 5 + burst + 1
    for start in sent:
        within = sum(start <= moment < start + 60 for moment in sent)
        assert within <= a_minute + burst + 1


@in_simulated_time
async def test_a_429_that_comes_while_a_call_waits_for_its_rate_is_not_charged_twice() -> None:
    limiter = Limiter(concurrency=5, rpm=60)
    loop = asyncio.get_running_loop()
    await limiter.acquire(1)
    second = asyncio.create_task(limiter.acquire(1))  # its rate comes in a second
    await asyncio.sleep(0.5)
    limiter.throttled(10.0)
    started = loop.time()
    await second
    assert loop.time() - started == pytest.approx(10.0, abs=0.01)
    limiter.release()
    started = loop.time()
    await limiter.acquire(1)  # charged twice it would be 2
    assert loop.time() - started == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("rates", [{"rpm": 600}, {"rpm": 600, "tpm": 6000}])
@in_simulated_time
async def test_calls_that_wait_for_a_rate_do_not_leave_together_after_a_pause(
    rates: dict[str, float],
) -> None:
    left: list[float] = []
    limiter = Limiter(concurrency=64, **rates)  # type: ignore[arg-type]
    limiter.allowed = 64.0
    loop = asyncio.get_running_loop()
    started = loop.time()

    async def one() -> None:
        await limiter.acquire(10.0)
        left.append(round(loop.time() - started, 2))
        limiter.release()

    calls = asyncio.gather(*(one() for _ in range(60)))
    await asyncio.sleep(1.05)
    limiter.throttled(5.0)
    await asyncio.sleep(3.0)
    limiter.throttled(5.0)  # the pause is lengthened while it lasts
    await calls
    assert limiter.in_flight == 0
    before = [moment for moment in left if moment < 1.1]
    after = left[len(before) :]
    assert len(before) == 20
    assert after[0] == pytest.approx(9.05, abs=0.02)
    assert sum(moment < after[0] + 0.05 for moment in after) == 10  # one second's worth
    assert after[-1] == pytest.approx(12.05, abs=0.05)


@pytest.mark.parametrize("rates", [{}, {"rpm": 600}])
@in_simulated_time
async def test_calls_that_wait_keep_to_the_places_that_a_429_has_left(
    rates: dict[str, float],
) -> None:
    limiter = Limiter(concurrency=64, **rates)  # type: ignore[arg-type]
    limiter.throttled(2.0)
    limiter.allowed = 64.0  # as for calls that got their places before
    calls = [asyncio.create_task(limiter.acquire(1)) for _ in range(64)]
    await asyncio.sleep(1.5)
    limiter.allowed = 8.0
    limiter.throttled(None)
    await asyncio.sleep(60)
    assert sum(call.done() for call in calls) == 4
    for ended in range(1, 61):
        limiter.release()
        await asyncio.sleep(1)
        assert sum(call.done() for call in calls) == 4 + ended
    assert limiter.in_flight == 4


@pytest.mark.parametrize("rates", [{}, {"rpm": 600}])
@in_simulated_time
async def test_a_call_held_back_after_a_429_can_be_cancelled_and_stopped(
    rates: dict[str, float],
) -> None:
    limiter = Limiter(concurrency=8, **rates)  # type: ignore[arg-type]
    for _ in range(2):
        await limiter.acquire(1)
    limiter.throttled(0.5)
    limiter.allowed = 8.0
    calls = [asyncio.create_task(limiter.acquire(1)) for _ in range(6)]
    await asyncio.sleep(0.1)
    limiter.allowed = 2.0
    await asyncio.sleep(1)
    calls[0].cancel()
    await asyncio.sleep(1)
    assert (limiter.in_flight, sum(call.done() for call in calls)) == (2, 1)
    limiter.release()
    await asyncio.sleep(1)
    assert (limiter.in_flight, sum(call.done() for call in calls)) == (2, 2)
    limiter.stop()
    ends = await asyncio.gather(*calls[2:], return_exceptions=True)
    assert [type(end) for end in ends] == [StoppedError] * 4
    assert limiter.in_flight == 2


@in_simulated_time
async def test_a_request_is_not_drawn_while_its_tokens_are_waited_for() -> None:
    limiter = Limiter(concurrency=8, rpm=60, tpm=600)
    await limiter.acquire(100)  # ten seconds' worth of tokens, and one of requests
    second = asyncio.create_task(limiter.acquire(1))
    await asyncio.sleep(1.5)
    second.cancel()
    requests = limiter._requests
    assert requests is not None
    assert requests.delay_for(1.0, asyncio.get_running_loop().time()) == 0.0


@pytest.mark.parametrize(("gives_up", "waited"), [(False, 10.1), (True, 9.1)])
@in_simulated_time
async def test_a_large_call_goes_before_small_ones_that_came_later_unless_it_gives_up(
    gives_up: bool, waited: float
) -> None:
    limiter = Limiter(concurrency=8, tpm=600)  # ten a second
    await limiter.acquire(100)
    started = asyncio.get_running_loop().time()
    large = asyncio.create_task(limiter.acquire(10))
    small = asyncio.create_task(limiter.acquire(1))
    await asyncio.sleep(5)
    if gives_up:
        large.cancel()
    await small
    assert large.done()
    assert asyncio.get_running_loop().time() - started == pytest.approx(waited, abs=0.01)


@in_simulated_time
async def test_a_backend_that_answers_grows_and_one_that_throttles_settles() -> None:
    peaks: list[float] = []
    limiter = Limiter(concurrency=200)

    async def one() -> None:
        while True:
            await limiter.acquire(1)
            crowd = limiter.in_flight
            await asyncio.sleep(1.0)
            if crowd > 60:  # the backend's own limit
                limiter.throttled(None)
            else:
                limiter.succeeded(estimated_tokens=1, used_tokens=None)
            limiter.release()
            peaks.append(limiter.allowed)

    workers = [asyncio.create_task(one()) for _ in range(150)]
    await asyncio.sleep(120)
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    settled = peaks[len(peaks) // 2 :]
    assert min(settled) > START_IN_FLIGHT
    assert max(settled) < 75


@in_simulated_time
async def test_the_number_in_flight_doubles_a_round_where_all_answers_come_at_once() -> None:
    """As from a server that takes 200 ms to each, while each call is noted for 10 ms before."""
    most: list[int] = []
    limiter = Limiter(concurrency=256)
    loop = asyncio.get_running_loop()
    started = loop.time()

    async def one() -> None:
        await limiter.approach()
        await asyncio.sleep(0.01)
        await limiter.acquire(1)
        rounds = int((loop.time() - started) / 0.2)
        most.extend([0] * (rounds + 1 - len(most)))
        most[rounds] = max(most[rounds], limiter.in_flight)
        await asyncio.sleep(0.2)
        limiter.succeeded(estimated_tokens=1, used_tokens=None)
        limiter.release()
        limiter.leave()

    await asyncio.gather(*(one() for _ in range(1500)))
    assert limiter.in_flight == 0
    assert most[:4] == [32, 64, 128, 256]
