"""The client: asked once, paid once, stored before anybody reads it."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from simulated_time import in_simulated_time

from areopagus.errors import ProviderError, StoreError
from areopagus.judges.models.budget import Budget, BudgetSpentError, reserve_usd
from areopagus.judges.models.client import TRY_AGAIN_AFTER_S, Answer, Client
from areopagus.judges.models.rate_limit import StoppedError
from areopagus.judges.models.request import Request
from areopagus.records.ledger import Ledger
from areopagus.records.ledger.admin import ledger_stats
from areopagus.records.types import Reply, Usage
from areopagus.testing import ScriptedBackend


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


class Slow(ScriptedBackend):
    """Answers after a moment, and says how many it has been sent."""

    begun = 0

    async def send(self, request: Request) -> Any:
        self.begun += 1
        await asyncio.sleep(0.05)
        return await super().send(request)


async def until(is_so: Callable[[], bool]) -> None:
    """Returns when it is so, or after ten seconds."""
    for _ in range(2000):
        if is_so():
            return
        await asyncio.sleep(0.005)


async def cut_off(client: Client, backend: Slow) -> None:
    """Asks, and gives up while the call is on its way."""
    before = backend.begun
    task = asyncio.create_task(client.ask(backend, request(), client.reservation()))
    while backend.begun == before:  # noqa: ASYNC110 - the backend knows nothing of events
        await asyncio.sleep(0.001)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_request_is_sent_once_and_answered_by_the_ledger_afterwards(
    ledger: Ledger,
) -> None:
    backend, client = ScriptedBackend("yes"), Client(ledger)
    first = await client.ask(backend, request(), client.reservation())
    second = await client.ask(backend, request(), client.reservation())
    assert (first.from_ledger, second.from_ledger) == (False, True)
    assert second.reply == first.reply
    assert len(backend.requests) == 1
    assert (client.counts.sent, client.counts.answered, client.counts.from_ledger) == (1, 1, 1)


async def test_the_same_request_at_once_is_one_call(ledger: Ledger) -> None:
    backend, client = Slow("yes"), Client(ledger)
    answers = await asyncio.gather(
        *(client.ask(backend, request(), client.reservation()) for _ in range(20))
    )
    assert len(backend.requests) == 1
    assert {answer.reply.text for answer in answers} == {"yes"}


@pytest.mark.parametrize("at_once", [1, 16])
async def test_no_call_waits_for_a_commit_that_waits_for_others(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("areopagus.records.ledger.writer.APART_S", 60.0)
    backend, client = Slow("yes", concurrency=at_once), Client(ledger)
    number = 4 * at_once
    asking = [
        asyncio.create_task(client.ask(backend, request(str(n)), client.reservation()))
        for n in range(number)
    ]
    async with asyncio.timeout(30):
        while len(backend.requests) < number:
            await asyncio.wait(asking, timeout=0.01)
        ledger.close()  # the last answers wait for the minute to end, or for this
        await asyncio.gather(*asking)


async def test_a_kill_never_finds_more_notes_than_calls_that_may_be_on_their_way(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, client = ScriptedBackend("yes", concurrency=16), Client(ledger)
    notes: list[int] = []
    store = ledger._writer._store  # type: ignore[union-attr]
    transaction = store.transaction

    def looked_at(work: Any) -> Any:
        outcome = transaction(work)
        ((found,),) = store.rows("SELECT count(*) FROM intents")
        notes.append(found)
        return outcome

    monkeypatch.setattr(store, "transaction", looked_at)
    asking = [
        asyncio.create_task(client.ask(backend, request(str(n)), client.reservation()))
        for n in range(200)
    ]
    await asyncio.gather(*asking)
    assert len(backend.requests) == 200
    assert 16 < max(notes) <= 16 + 16 // 2
    assert notes[-1] == 0


async def test_no_more_is_sent_than_may_be_lost_while_answers_wait_to_be_stored(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, client = Slow("yes", concurrency=16), Client(ledger)
    store, may_store = ledger._writer._store, threading.Event()  # type: ignore[union-attr]
    transaction = store.transaction
    loop, is_held = asyncio.get_running_loop(), asyncio.Event()
    sent_before: list[int] = []

    def held(work: Any) -> Any:
        if len(backend.requests) >= 60 and not may_store.is_set():
            sent_before.append(len(backend.requests))
            loop.call_soon_threadsafe(is_held.set)
            may_store.wait(20)
        return transaction(work)

    monkeypatch.setattr(store, "transaction", held)
    asking = [
        asyncio.create_task(client.ask(backend, request(str(n)), client.reservation()))
        for n in range(200)
    ]
    async with asyncio.timeout(20):
        await is_held.wait()
        await asyncio.wait(asking, timeout=0.2)
        # Of those that were noted some had come back, and all others do.
        assert sent_before[0] < len(backend.requests) <= sent_before[0] + 16 + 16 // 2
        may_store.set()
        await asyncio.gather(*asking)
    assert len(backend.requests) == 200


async def test_a_call_that_is_alone_waits_for_no_other_to_share_its_commits(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.records.ledger.writer.APART_S", 60.0)
    client = Client(ledger)
    async with asyncio.timeout(20):
        for number in range(3):
            await client.ask(ScriptedBackend("yes"), request(str(number)), client.reservation())


async def test_when_the_first_of_two_alike_fails_the_second_asks_for_itself(
    ledger: Ledger,
) -> None:
    backend = Slow([ProviderError("bad_request", "no"), "yes"])
    client = Client(ledger)
    results = await asyncio.gather(
        *(client.ask(backend, request(), client.reservation()) for _ in range(2)),
        return_exceptions=True,
    )
    assert isinstance(results[0], ProviderError)
    assert not isinstance(results[1], BaseException)
    assert results[1].reply.text == "yes"


async def test_a_429_is_waited_out_for_the_time_it_names(ledger: Ledger) -> None:
    limited = ProviderError("rate_limit", "slow down", status=429, retry_after_s=0.1)
    backend, client = ScriptedBackend([limited, limited, "yes"]), Client(ledger)
    started = asyncio.get_running_loop().time()
    answer = await client.ask(backend, request(), client.reservation())
    assert asyncio.get_running_loop().time() - started >= 0.2
    assert answer.reply.attempts == 3
    assert client.counts.attempts == 3


async def test_rate_limits_do_not_use_up_the_attempts_but_the_patience(ledger: Ledger) -> None:
    limited = ProviderError("rate_limit", "slow down", retry_after_s=0.0)
    backend = ScriptedBackend([*[limited] * 3, "yes"], max_attempts=2)
    client = Client(ledger)
    assert (await client.ask(backend, request(), client.reservation())).reply.text == "yes"
    backend = ScriptedBackend(limited, max_attempts=2, max_wait_s=0.5, name="scripted/other")
    with pytest.raises(ProviderError):
        await client.ask(backend, request("And?"), client.reservation())


@pytest.mark.parametrize("fault", ["timeout", "connection", "server"])
async def test_what_may_pass_is_tried_again_so_many_times(ledger: Ledger, fault: Any) -> None:
    backend = ScriptedBackend(ProviderError(fault, "oh"), max_attempts=2)
    client = Client(ledger)
    with pytest.raises(ProviderError):
        await client.ask(backend, request(), client.reservation())
    assert len(backend.requests) == 2


@pytest.mark.parametrize(
    "fault", ["context_length", "content_policy", "bad_request", "bad_reply", "permission"]
)
async def test_what_cannot_succeed_is_not_tried_again(ledger: Ledger, fault: Any) -> None:
    backend, client = ScriptedBackend(ProviderError(fault, "no")), Client(ledger)
    for n in range(3):
        with pytest.raises(ProviderError):
            await client.ask(backend, request(str(n)), client.reservation())
    assert len(backend.requests) == 3


@pytest.mark.parametrize("fault", ["authentication", "quota", "not_found"])
async def test_what_every_call_would_meet_closes_the_backend_and_no_other(
    ledger: Ledger, fault: Any
) -> None:
    ill, well = ScriptedBackend(ProviderError(fault, "no")), ScriptedBackend("yes", name="a/well")
    client = Client(ledger)
    for n in range(10):
        with pytest.raises(ProviderError) as caught:
            await client.ask(ill, request(str(n)), client.reservation())
        assert caught.value.fault == fault
    assert len(ill.requests) == 1
    assert (await client.ask(well, request("x"), client.reservation())).reply.text == "yes"


async def test_a_failed_call_is_stored_as_an_attempt_and_asked_again_next_time(
    ledger: Ledger,
) -> None:
    client = Client(ledger)
    with pytest.raises(ProviderError):
        await client.ask(
            ScriptedBackend(ProviderError("server", "500"), max_attempts=1),
            request(),
            client.reservation(),
        )
    assert ledger_stats(ledger.path).failures == (("scripted/judge", "server", 1),)
    assert ledger.abandoned() == 0
    again = Client(ledger)
    assert (
        await again.ask(ScriptedBackend("yes"), request(), again.reservation())
    ).reply.text == "yes"


async def test_a_ledger_that_cannot_be_written_stops_the_run(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Ledger, "claim", full)
    backend, client = ScriptedBackend("yes"), Client(ledger)
    with pytest.raises(StoreError):
        await client.ask(backend, request(), client.reservation())
    assert backend.requests == []


async def test_a_spent_budget_refuses_before_anything_is_sent(ledger: Ledger) -> None:
    backend = ScriptedBackend("yes", cost_usd=1.0)
    client = Client(ledger, budget=Budget(cap=0.5))
    with pytest.raises(BudgetSpentError):
        await client.ask(backend, request(), client.reservation())
    assert backend.requests == []
    assert ledger.abandoned() == 0


async def test_attempts_that_may_have_been_billed_count_against_the_cap(ledger: Ledger) -> None:
    broken = ProviderError("timeout", "late", may_be_billed=True)
    backend = ScriptedBackend(broken, cost_usd=1.0, max_attempts=5)
    client = Client(ledger, budget=Budget(cap=4.5))
    with pytest.raises(BudgetSpentError):
        # A judge's call sets 2.0 aside (itself and its repair) before every attempt.
        await client.ask(backend, request(), client.reservation())
    assert len(backend.requests) == 3
    assert client.budget.possibly_spent == 3.0
    # It was sent and brought nothing, whatever ended it.
    assert (client.counts.sent, client.counts.answered, client.counts.failed) == (1, 0, 1)


async def test_after_a_stop_nothing_is_sent_and_what_is_in_flight_is_stored(
    ledger: Ledger,
) -> None:
    backend, client = Slow("yes", concurrency=2), Client(ledger)
    tasks = [
        asyncio.create_task(client.ask(backend, request(str(n)), client.reservation()))
        for n in range(6)
    ]
    await until(lambda: backend.begun == 2)
    client.stop()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    stopped = [result for result in results if isinstance(result, StoppedError)]
    assert len(backend.requests) == 2
    assert len(stopped) == 4
    assert len(ledger.lookup([request(str(n)).key() for n in range(6)])) == 2
    assert ledger.abandoned() == 0


async def test_a_stop_ends_the_wait_for_a_retry(ledger: Ledger) -> None:
    limited = ProviderError("rate_limit", "slow down", retry_after_s=50.0)
    backend, client = ScriptedBackend(limited), Client(ledger)
    task = asyncio.create_task(client.ask(backend, request(), client.reservation()))
    await until(lambda: bool(backend.requests))
    client.stop()
    with pytest.raises(StoppedError):
        await asyncio.wait_for(task, 2)
    # It was sent, and answered with a 429: a failed attempt, not a call in flight.
    assert ledger_stats(ledger.path).failures == (("scripted/judge", "rate_limit", 1),)


async def test_a_cut_off_call_stays_noted_as_one_that_may_have_been_paid(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        backend, client = Slow("yes"), Client(ledger)
        await cut_off(client, backend)
    with Ledger.open(path) as ledger:
        assert ledger.abandoned() == 1
        client = Client(ledger)
        await client.ask(backend, request(), client.reservation())
        assert client.counts.repeated == 1


async def test_a_cut_off_call_that_the_same_session_asks_again_counts_as_repeated(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger.open(path) as ledger:
        client = Client(ledger, budget=Budget(cap=10.0))
        backend = Slow("yes", cost_usd=0.25)
        for cut_offs in (1, 2):
            await cut_off(client, backend)
            assert client.counts.repeated == cut_offs - 1
            assert client.counts.failed == client.counts.sent == cut_offs
        # Nobody knows whether the two were paid.
        assert client.budget.possibly_spent == pytest.approx(0.5)
        await client.ask(backend, request(), client.reservation())
        assert client.counts.repeated == 2
    assert [row.repeats for row in ledger_stats(path).backends] == [2]
    with Ledger.open(path) as ledger:
        assert ledger.abandoned() == 0


async def test_a_reply_that_is_paid_is_booked_once_where_storing_it_is_cut_off(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing = asyncio.Event()

    async def never(*_: Any, **__: Any) -> None:
        storing.set()
        await asyncio.sleep(60)

    client = Client(ledger, budget=Budget(cap=10.0))
    monkeypatch.setattr(ledger, "finish", never)
    backend = ScriptedBackend("yes", cost_usd=0.25)
    asking = asyncio.create_task(client.ask(backend, request(), client.reservation()))
    await asyncio.wait_for(storing.wait(), 20)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (client.budget.spent, client.budget.possibly_spent) == (0.25, 0.0)
    assert client.counts.failed == 0


async def test_the_record_holds_no_text_of_the_request(ledger: Ledger) -> None:
    backend, client = ScriptedBackend("yes"), Client(ledger)
    asked = replace(request("a secret essay"), labels={"persona": "historian"})
    await client.ask(backend, asked, client.reservation())
    ledger.close()
    for file in ledger.path.parent.iterdir():
        assert b"a secret essay" not in file.read_bytes()


async def test_a_call_that_was_noted_and_not_sent_leaves_nothing_behind(
    ledger: Ledger, tmp_path: Path
) -> None:
    backend = Slow(ProviderError("authentication", "no such key"), concurrency=1)
    client = Client(ledger)
    asking = [
        asyncio.create_task(client.ask(backend, request(str(n)), client.reservation()))
        for n in range(6)
    ]
    results = await asyncio.gather(*asking, return_exceptions=True)
    assert all(isinstance(result, ProviderError) for result in results)
    assert len(backend.requests) == 1
    assert (client.counts.sent, client.counts.failed) == (1, 6)
    ledger.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as file:
        assert file.execute("SELECT count(*) FROM intents").fetchone() == (0,)
        assert file.execute("SELECT count(*) FROM failures").fetchone() == (1,)


async def test_a_stop_outlasts_what_a_backend_was_closed_with(ledger: Ledger) -> None:
    backend, client = ScriptedBackend(ProviderError("authentication", "bad key")), Client(ledger)
    with pytest.raises(ProviderError):
        await client.ask(backend, request(), client.reservation())
    client.stop()
    with pytest.raises(StoppedError):
        await client.ask(backend, request("Who?"), client.reservation())


async def test_failed_calls_are_told_by_what_the_endpoint_said(ledger: Ledger) -> None:
    backend, client = (
        ScriptedBackend(ProviderError("not_found", "no such model: x")),
        Client(ledger),
    )
    asked = [client.ask(backend, request(f"{n}?"), client.reservation()) for n in range(40)]
    await asyncio.gather(*asked, return_exceptions=True)
    (told,) = client.spending().faults.to_json()  # those not sent any more say it too
    assert (told["fault"], told["said"], told["calls"]) == ("not_found", "no such model: x", 40)
    assert "address" in told["hint"]


async def test_an_answer_without_a_cost_counts_its_worst_case_against_the_cap(
    ledger: Ledger,
) -> None:
    backend = ScriptedBackend(Reply("yes", usage=Usage(), cost_usd=None), cost_usd=0.4)
    client = Client(ledger, budget=Budget(cap=1.0))
    for text in ("a", "b"):
        reservation = client.reservation()
        await client.ask(backend, request(text, purpose="respond"), reservation)
        reservation.close()
    assert client.budget.possibly_spent == pytest.approx(0.8)
    assert client.budget.unknown_calls == 2
    with pytest.raises(BudgetSpentError):
        await client.ask(backend, request("c", purpose="respond"), client.reservation())
    assert len(backend.requests) == 2


async def test_whoever_waits_for_the_same_call_holds_no_money(ledger: Ledger) -> None:
    # What broke: A holds money and waits for the twin of its call, which waits for A's money.
    backend = ScriptedBackend("yes", cost_usd=0.6)
    client = Client(ledger, budget=Budget(cap=1.0))
    first, second = client.reservation(), client.reservation()
    await first.need(0.6)
    twin = asyncio.create_task(client.ask(backend, request(purpose="respond"), second))
    await asyncio.sleep(0)
    answer = await asyncio.wait_for(client.ask(backend, request(purpose="respond"), first), 5)
    assert answer.reply == (await twin).reply
    assert len(backend.requests) == 1


async def test_thirty_calls_under_a_cap_for_ten_make_ten(ledger: Ledger) -> None:
    backend = ScriptedBackend("yes", cost_usd=0.1)
    client = Client(ledger, budget=Budget(cap=1.0000001))

    async def one(number: int) -> None:
        reservation = client.reservation()
        try:
            await client.ask(backend, request(str(number), purpose="respond"), reservation)
        finally:
            reservation.close()

    results = await asyncio.gather(*(one(n) for n in range(30)), return_exceptions=True)
    assert sum(isinstance(result, BudgetSpentError) for result in results) == 20
    assert len(backend.requests) == 10
    assert client.budget.spent == pytest.approx(1.0)


def test_a_judgment_reserves_its_repair_too_and_a_repair_only_itself() -> None:
    backend = ScriptedBackend("yes", cost_usd=0.1)
    assert reserve_usd(backend, request(purpose="judge")) == pytest.approx(0.2)
    assert reserve_usd(backend, request(purpose="repair")) == pytest.approx(0.1)


@pytest.mark.parametrize("fault", ["authentication", "quota", "not_found"])
async def test_calls_that_wait_for_a_place_are_not_sent_to_a_backend_that_closed(
    ledger: Ledger, fault: Any
) -> None:
    backend = ScriptedBackend(ProviderError(fault, "no"), concurrency=1)
    client = Client(ledger)
    results = await asyncio.gather(
        *(client.ask(backend, request(str(n)), client.reservation()) for n in range(30)),
        return_exceptions=True,
    )
    assert len(backend.requests) == 1
    details = [str(result) for result in results]
    assert details[0] == f"{fault}: no"
    assert set(details[1:]) == {f"{fault}: not sent; the backend said before: no"}
    assert client.counts.failed == 30


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
            client = Client(ledger)
            await asyncio.gather(
                *(client.ask(backend, request(str(n)), client.reservation()) for n in range(4))
            )
        assert client.counts.answered == 4

    in_simulated_time(run())


def test_a_rate_limit_that_never_ends_does(tmp_path: Path) -> None:
    async def run() -> None:
        limited = ProviderError("rate_limit", "slow", retry_after_s=5.0)
        backend = ScriptedBackend(limited, max_wait_s=60)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            client = Client(ledger)
            with pytest.raises(ProviderError, match="rate_limit"):
                await client.ask(backend, request(), client.reservation())
        assert 10 <= len(backend.requests) <= 13  # 60 s in pauses of a little more than 5

    in_simulated_time(run())


@pytest.mark.parametrize("advice", [60.0, None])
def test_four_hundred_calls_to_an_exhausted_endpoint_end_in_minutes(
    tmp_path: Path, advice: float | None
) -> None:
    """Each could wait 15 minutes by itself; the backend may have no more than these for all."""

    async def run() -> None:
        limited = ProviderError("rate_limit", "no capacity", retry_after_s=advice)
        backend = ScriptedBackend(limited, max_wait_s=900)
        begun = asyncio.get_running_loop().time()
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            client = Client(ledger)
            asked = [
                client.ask(backend, request(f"{n}?"), client.reservation()) for n in range(400)
            ]
            ends = await asyncio.gather(*asked, return_exceptions=True)
            assert all(isinstance(end, ProviderError) for end in ends)
            assert {getattr(end, "fault", "") for end in ends} == {"rate_limit"}
            assert asyncio.get_running_loop().time() - begun < 1000
            assert len(backend.requests) < 800  # two each, of an endpoint that answers at once
            assert client.spending().faults.to_json()[0]["said"] == "no capacity"
            # Another day it has room again: the rest is asked then.
            again, rested = Client(ledger), ScriptedBackend("yes")
            await asyncio.gather(
                *[again.ask(rested, request(f"{n}?"), again.reservation()) for n in range(400)]
            )
            assert again.counts.answered == 400

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
            client = Client(ledger)
            for number in range(8):
                await client.ask(backend, request(f"{number}?"), client.reservation())
            await asyncio.sleep(3600)  # nobody asks meanwhile
            for number in range(8, 12):
                await client.ask(backend, request(f"{number}?"), client.reservation())
            assert client.counts.answered == 12

    in_simulated_time(run())


@pytest.mark.parametrize("fault", ["rate_limit", "authentication"])
def test_a_closed_backend_is_tried_again_with_one_call(tmp_path: Path, fault: Any) -> None:
    state = {"is_well": False}

    async def run() -> None:
        def answer(_: Request) -> Any:
            return "yes" if state["is_well"] else ProviderError(fault, "no", retry_after_s=10)

        backend = ScriptedBackend(answer, max_wait_s=60)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            client = Client(ledger)

            async def ends(begin: int) -> list[Any]:
                asked = [
                    client.ask(backend, request(f"{n}?"), client.reservation())
                    for n in range(begin, begin + 40)
                ]
                return await asyncio.gather(*asked, return_exceptions=True)

            assert {getattr(end, "fault", "") for end in await ends(0)} == {fault}
            sent = len(backend.requests)
            await ends(40)
            assert len(backend.requests) == sent, "closed"
            await asyncio.sleep(TRY_AGAIN_AFTER_S)
            begun = asyncio.get_running_loop().time()
            assert {getattr(end, "fault", "") for end in await ends(80)} == {fault}
            assert len(backend.requests) == sent + 1, "one call to see, and closed again"
            assert asyncio.get_running_loop().time() - begun < 1
            state["is_well"] = True
            await ends(120)
            assert len(backend.requests) == sent + 1
            await asyncio.sleep(TRY_AGAIN_AFTER_S)
            assert all(isinstance(end, Answer) for end in await ends(160))
            assert len(backend.requests) == sent + 41

    in_simulated_time(run())


async def test_whoever_waits_for_a_backend_that_is_closed_is_told_at_once(ledger: Ledger) -> None:
    limited = ProviderError("rate_limit", "no capacity", retry_after_s=30.0)
    backend, client = ScriptedBackend(limited, max_wait_s=1, concurrency=2), Client(ledger)
    asked = [client.ask(backend, request(f"{n}?"), client.reservation()) for n in range(50)]
    ends = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 10)
    assert {getattr(end, "fault", "") for end in ends} == {"rate_limit"}
    assert len(backend.requests) <= 2


@pytest.mark.parametrize("advice", [None, 0.0])
def test_without_useful_advice_the_pauses_grow(tmp_path: Path, advice: float | None) -> None:
    async def run() -> None:
        limited = ProviderError("rate_limit", "slow", retry_after_s=advice)
        backend = ScriptedBackend(limited, max_wait_s=300)
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            client = Client(ledger)
            with pytest.raises(ProviderError):
                await client.ask(backend, request(), client.reservation())
        assert len(backend.requests) < 30

    in_simulated_time(run())
