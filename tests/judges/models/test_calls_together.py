"""Many calls at once: what they share may hold none of them back for ever, nor let one too many go.

Time is simulated where minutes pass.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import ProviderError
from areopagus.judges.models.budget import Budget, BudgetSpentError, Purse, reserve_usd
from areopagus.judges.models.client import Desk
from areopagus.judges.models.rate_limit import START_IN_FLIGHT, Limiter, StoppedError
from areopagus.judges.models.request import Request
from areopagus.records.ledger import Ledger
from areopagus.records.types import Reply, Usage
from areopagus.testing import ScriptedBackend


class _LeapingSelector(selectors.DefaultSelector):
    """Does not wait: says how long it would have."""

    leaped = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if timeout is not None:  # a clock that stood still would never pass a rounding error
            self.leaped += 1e-6 if ready else max(timeout, 1e-6)
        return ready


def in_simulated_time(work: Coroutine[Any, Any, Any]) -> Any:
    selector = _LeapingSelector()

    class Loop(asyncio.SelectorEventLoop):
        def time(self) -> float:
            return 1000.0 + selector.leaped

    with asyncio.Runner(loop_factory=lambda: Loop(selector)) as runner:
        return runner.run(work)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite") as opened:
        yield opened


def request(text: str = "Why?", **changes: Any) -> Request:
    values: dict[str, Any] = {
        "backend": "scripted/judge",
        "endpoint": "",
        "messages": ({"role": "user", "content": text},),
        "params": {"max_tokens": 100},
    }
    return Request(**{**values, **changes})


# Money --------------------------------------------------------------------------------------------


async def test_two_that_need_more_do_not_wait_for_what_the_other_holds() -> None:
    # What broke: each kept what it had set aside for a repair while it waited for money for a
    # second attempt, and both waited for ever.
    budget = Budget(cap=1.0)
    purses = [Purse(budget) for _ in range(4)]

    async def one(purse: Purse) -> bool:
        try:
            await purse.need(0.25)
            await asyncio.sleep(0)
            purse.write_off(0.15)  # 0.10 is left in hand
            await purse.need(0.25)
        except BudgetSpentError:
            return False
        finally:
            purse.close()
        return True

    await asyncio.wait_for(asyncio.gather(*map(one, purses)), 5)
    assert budget.spent + budget.possibly_spent <= 1.0


async def test_sums_of_many_small_amounts_do_not_leave_a_crumb_that_all_wait_for() -> None:
    budget = Budget(cap=1e6)
    held = [Purse(budget) for _ in range(100)]
    for number, purse in enumerate(held):
        await purse.need(1000 / (number + 3))
    for number, purse in enumerate(held):
        purse.pay(0.1 / (number + 7))
        purse.close()
    # Nothing is reserved: whoever asks for too much is told so at once.
    with pytest.raises(BudgetSpentError):
        await asyncio.wait_for(Purse(budget).need(2e6), 5)


async def test_an_answer_without_a_cost_counts_its_worst_case_against_the_cap(
    ledger: Ledger,
) -> None:
    backend = ScriptedBackend(Reply("yes", usage=Usage(), cost_usd=None), cost_usd=0.4)
    desk = Desk(ledger, budget=Budget(cap=1.0))
    for text in ("a", "b"):
        purse = desk.purse()
        await desk.ask(backend, request(text, purpose="respond"), purse)
        purse.close()
    assert desk.budget.possibly_spent == pytest.approx(0.8)
    assert desk.budget.unknown_calls == 2
    with pytest.raises(BudgetSpentError):
        await desk.ask(backend, request("c", purpose="respond"), desk.purse())
    assert len(backend.requests) == 2


async def test_whoever_waits_for_the_same_call_holds_no_money(ledger: Ledger) -> None:
    # What broke: A holds money and waits for the twin of its call, which waits for A's money.
    backend = ScriptedBackend("yes", cost_usd=0.6)
    desk = Desk(ledger, budget=Budget(cap=1.0))
    first, second = desk.purse(), desk.purse()
    await first.need(0.6)
    twin = asyncio.create_task(desk.ask(backend, request(purpose="respond"), second))
    await asyncio.sleep(0)
    answer = await asyncio.wait_for(desk.ask(backend, request(purpose="respond"), first), 5)
    assert answer.reply == (await twin).reply
    assert len(backend.requests) == 1


async def test_thirty_calls_under_a_cap_for_ten_make_ten(ledger: Ledger) -> None:
    backend = ScriptedBackend("yes", cost_usd=0.1)
    desk = Desk(ledger, budget=Budget(cap=1.0000001))

    async def one(number: int) -> None:
        purse = desk.purse()
        try:
            await desk.ask(backend, request(str(number), purpose="respond"), purse)
        finally:
            purse.close()

    results = await asyncio.gather(*(one(n) for n in range(30)), return_exceptions=True)
    assert sum(isinstance(result, BudgetSpentError) for result in results) == 20
    assert len(backend.requests) == 10
    assert desk.budget.spent == pytest.approx(1.0)


def test_a_judgment_reserves_its_repair_too_and_a_repair_only_itself() -> None:
    backend = ScriptedBackend("yes", cost_usd=0.1)
    assert reserve_usd(backend, request(purpose="judge")) == pytest.approx(0.2)
    assert reserve_usd(backend, request(purpose="repair")) == pytest.approx(0.1)


# Refusals and waits -------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["authentication", "quota", "not_found"])
async def test_calls_that_wait_for_a_place_are_not_sent_to_a_backend_that_closed(
    ledger: Ledger, fault: Any
) -> None:
    backend = ScriptedBackend(ProviderError(fault, "no"), concurrency=1)
    desk = Desk(ledger)
    results = await asyncio.gather(
        *(desk.ask(backend, request(str(n)), desk.purse()) for n in range(30)),
        return_exceptions=True,
    )
    assert len(backend.requests) == 1
    details = [str(result) for result in results]
    assert details[0] == f"{fault}: no"
    assert set(details[1:]) == {f"{fault}: not sent; the backend said before: no"}
    assert desk.counts.failed == 30


def test_time_in_the_queue_does_not_use_up_the_patience_for_rate_limits(tmp_path: Path) -> None:
    # What broke: with a few requests a minute the last calls had waited so long for their turn
    # that one 429 ended them.
    async def run() -> None:
        limited = ProviderError("rate_limit", "slow", retry_after_s=1.0)
        calls: dict[str, int] = {}

        def answer(asked: Request) -> Any:
            text = asked.messages[0]["content"]
            calls[text] = calls.get(text, 0) + 1
            return limited if calls[text] == 1 else "yes"

        backend = ScriptedBackend(answer, rpm=1, max_wait_s=30)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            desk = Desk(ledger)
            await asyncio.gather(
                *(desk.ask(backend, request(str(n)), desk.purse()) for n in range(4))
            )
        assert desk.counts.answered == 4

    in_simulated_time(run())


def test_a_rate_limit_that_never_ends_does(tmp_path: Path) -> None:
    async def run() -> None:
        limited = ProviderError("rate_limit", "slow", retry_after_s=5.0)
        backend = ScriptedBackend(limited, max_wait_s=60)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            desk = Desk(ledger)
            with pytest.raises(ProviderError, match="rate_limit"):
                await desk.ask(backend, request(), desk.purse())
        assert 10 <= len(backend.requests) <= 13  # 60 s in pauses of a little more than 5

    in_simulated_time(run())


@pytest.mark.parametrize("advice", [60.0, 5.0, None])
def test_two_thousand_calls_to_an_exhausted_endpoint_end_in_minutes(
    tmp_path: Path, advice: float | None
) -> None:
    """Each could wait 15 minutes by itself; the backend may have no more than these for all."""

    async def run() -> None:
        limited = ProviderError("rate_limit", "no capacity", retry_after_s=advice)
        backend = ScriptedBackend(limited, max_wait_s=900)
        begun = asyncio.get_running_loop().time()
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            desk = Desk(ledger)
            asked = [desk.ask(backend, request(f"{n}?"), desk.purse()) for n in range(2000)]
            ends = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(end, ProviderError) for end in ends)
            assert {getattr(end, "fault", "") for end in ends} == {"rate_limit"}
            assert asyncio.get_running_loop().time() - begun < 1000
            assert len(backend.requests) < 4000  # two each, of an endpoint that answers at once
            assert desk.spending().faults.to_json()[0]["said"] == "no capacity"
            # Another day it has room again: the rest is asked then.
            again, rested = Desk(ledger), ScriptedBackend("yes")
            await asyncio.gather(
                *[again.ask(rested, request(f"{n}?"), again.purse()) for n in range(2000)]
            )
            assert again.counts.answered == 2000

    in_simulated_time(run())


def test_a_backend_that_answers_now_and_then_is_not_closed(tmp_path: Path) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()

        def slow(_: Request) -> Any:
            now = loop.time()
            if now - slow.last < 50:  # type: ignore[attr-defined]
                return ProviderError("rate_limit", "one in 50 s", retry_after_s=10)
            slow.last = now  # type: ignore[attr-defined]
            return "yes"

        slow.last = 0.0  # type: ignore[attr-defined]
        backend = ScriptedBackend(slow, max_wait_s=60)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            desk = Desk(ledger)
            for number in range(8):
                await desk.ask(backend, request(f"{number}?"), desk.purse())
            await asyncio.sleep(3600)  # nobody asks meanwhile
            for number in range(8, 12):
                await desk.ask(backend, request(f"{number}?"), desk.purse())
            assert desk.counts.answered == 12

    in_simulated_time(run())


async def test_whoever_waits_for_a_backend_that_is_closed_is_told_at_once(ledger: Ledger) -> None:
    limited = ProviderError("rate_limit", "no capacity", retry_after_s=30.0)
    backend, desk = ScriptedBackend(limited, max_wait_s=1, concurrency=2), Desk(ledger)
    asked = [desk.ask(backend, request(f"{n}?"), desk.purse()) for n in range(50)]
    ends = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 10)
    assert {getattr(end, "fault", "") for end in ends} == {"rate_limit"}
    assert len(backend.requests) <= 2


@pytest.mark.parametrize("advice", [None, 0.0])
def test_without_useful_advice_the_pauses_grow(tmp_path: Path, advice: float | None) -> None:
    async def run() -> None:
        limited = ProviderError("rate_limit", "slow", retry_after_s=advice)
        backend = ScriptedBackend(limited, max_wait_s=300)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            desk = Desk(ledger)
            with pytest.raises(ProviderError):
                await desk.ask(backend, request(), desk.purse())
        assert len(backend.requests) < 30

    in_simulated_time(run())


# Rates over minutes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rpm", "tpm", "tokens", "a_minute"),
    [
        (60, None, 1, 60),
        (600, None, 1, 600),
        (6, None, 1, 6),
        (None, 6000, 100, 60),
        (None, 600, 1200, 0.5),
        (60, 1200, 100, 12),
    ],
)
def test_the_rates_hold_over_five_minutes_and_are_used(
    rpm: float | None, tpm: float | None, tokens: float, a_minute: float
) -> None:
    sent: list[float] = []

    async def run() -> None:
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

    in_simulated_time(run())
    burst = max(1.0, a_minute / 60)
    assert a_minute * 5 - 1 <= len(sent) <= a_minute * 5 + burst + 1
    for start in sent:
        within = sum(start <= moment < start + 60 for moment in sent)
        assert within <= a_minute + burst + 1


def test_a_429_that_comes_while_a_call_waits_for_its_rate_is_not_charged_twice() -> None:
    async def run() -> None:
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

    in_simulated_time(run())


@pytest.mark.parametrize("rates", [{"rpm": 600}, {"tpm": 6000}, {"rpm": 600, "tpm": 6000}])
def test_calls_that_wait_for_a_rate_do_not_leave_together_after_a_pause(
    rates: dict[str, float],
) -> None:
    left: list[float] = []

    async def run() -> None:
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

    in_simulated_time(run())
    before = [moment for moment in left if moment < 1.1]
    after = left[len(before) :]
    assert len(before) == 20
    assert after[0] == pytest.approx(9.05, abs=0.02)
    assert sum(moment < after[0] + 0.05 for moment in after) == 10  # one second's worth
    assert after[-1] == pytest.approx(12.05, abs=0.05)


@pytest.mark.parametrize("rates", [{}, {"rpm": 600}])
def test_calls_that_wait_keep_to_the_places_that_a_429_has_left(rates: dict[str, float]) -> None:
    async def run() -> None:
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

    in_simulated_time(run())


@pytest.mark.parametrize("rates", [{}, {"rpm": 600}])
def test_a_call_held_back_after_a_429_can_be_cancelled_and_stopped(
    rates: dict[str, float],
) -> None:
    async def run() -> None:
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
        assert (limiter.in_flight, sum(call.done() for call in calls)) == (7, 1)
        limiter.release()
        await asyncio.sleep(1)
        assert (limiter.in_flight, sum(call.done() for call in calls)) == (6, 2)
        limiter.stop()
        ends = await asyncio.gather(*calls[2:], return_exceptions=True)
        assert [type(end) for end in ends] == [StoppedError] * 4
        assert limiter.in_flight == 2

    in_simulated_time(run())


def test_a_request_is_not_drawn_while_its_tokens_are_waited_for() -> None:
    async def run() -> None:
        limiter = Limiter(concurrency=8, rpm=60, tpm=600)
        await limiter.acquire(100)  # ten seconds' worth of tokens, and one of requests
        second = asyncio.create_task(limiter.acquire(1))
        await asyncio.sleep(1.5)
        second.cancel()
        requests = limiter._buckets[0]
        assert requests is not None
        assert requests.delay_for(1.0, asyncio.get_running_loop().time()) == 0.0

    in_simulated_time(run())


def test_a_backend_that_answers_grows_and_one_that_throttles_settles() -> None:
    peaks: list[float] = []

    async def run() -> None:
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

    in_simulated_time(run())
    settled = peaks[len(peaks) // 2 :]
    assert min(settled) > START_IN_FLIGHT
    assert max(settled) < 75


def test_the_number_in_flight_doubles_a_round_where_all_answers_come_at_once() -> None:
    """As from a server that takes 200 ms to each, while each call is noted for 10 ms before."""
    most: list[int] = []

    async def run() -> None:
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

    in_simulated_time(run())
    assert most[:4] == [32, 64, 128, 256]
