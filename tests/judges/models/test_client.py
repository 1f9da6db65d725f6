"""The client: asked once, paid once, stored before anybody reads it."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Iterator
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


def ask(
    client: Client, backend: ScriptedBackend, text: str = "Why?", **changes: Any
) -> Coroutine[Any, Any, Answer]:
    return client.ask(backend, request(text, **changes), client.reservation())


async def ends(client: Client, backend: ScriptedBackend, number: int, first: int = 0) -> list[Any]:
    """The answers to so many requests at once, or the errors in their place."""
    asked = (ask(client, backend, f"{n}?") for n in range(first, first + number))
    return await asyncio.gather(*asked, return_exceptions=True)


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


async def cut_off(client: Client, backend: Slow, text: str = "Why?") -> None:
    """Asks, and gives up while the call is on its way."""
    before = backend.begun
    task = asyncio.create_task(ask(client, backend, text))
    await until(lambda: backend.begun > before)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# Once ---------------------------------------------------------------------------------------------


async def test_a_request_is_sent_once_and_answered_by_the_ledger_afterwards(
    ledger: Ledger,
) -> None:
    backend, client = Slow("yes"), Client(ledger)
    asked = replace(request("a secret essay"), labels={"persona": "historian"})
    first, *others = await asyncio.gather(
        *(client.ask(backend, asked, client.reservation()) for _ in range(20))
    )
    later = await client.ask(backend, asked, client.reservation())
    assert len(backend.requests) == 1
    assert {answer.reply for answer in (*others, later)} == {first.reply}
    assert (first.from_ledger, later.from_ledger) == (False, True)
    assert (client.counts.sent, client.counts.answered) == (1, 1)
    ledger.close()
    for file in ledger.path.parent.iterdir():
        assert b"a secret essay" not in file.read_bytes()


async def test_when_the_first_of_two_alike_fails_the_second_asks_for_itself(
    ledger: Ledger,
) -> None:
    backend, client = Slow([ProviderError("bad_request", "no"), "yes"]), Client(ledger)
    first, second = await asyncio.gather(
        *(ask(client, backend) for _ in range(2)), return_exceptions=True
    )
    assert isinstance(first, ProviderError)
    assert isinstance(second, Answer)
    assert second.reply.text == "yes"


# Commits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [1, 16])
async def test_no_call_waits_for_a_commit_that_waits_for_others(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("areopagus.records.ledger.writer.APART_S", 60.0)
    backend, client = Slow("yes", concurrency=at_once), Client(ledger)
    async with asyncio.timeout(30):
        for number in range(3):  # alone
            await ask(client, ScriptedBackend("yes"), f"alone {number}")
        asking = asyncio.ensure_future(ends(client, backend, 4 * at_once))
        while len(backend.requests) < 4 * at_once:
            await asyncio.wait([asking], timeout=0.01)
        ledger.close()  # the last answers wait for the minute to end, or for this
        assert all(isinstance(end, Answer) for end in await asking)


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
    await ends(client, backend, 200)
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
    asking = asyncio.ensure_future(ends(client, backend, 120))
    async with asyncio.timeout(20):
        await is_held.wait()
        await until(lambda: len(backend.requests) > sent_before[0])
        await asyncio.wait([asking], timeout=0.3)
        # Of those that were noted some had come back, and all others do.
        assert sent_before[0] < len(backend.requests) <= sent_before[0] + 16 + 16 // 2
        may_store.set()
        await asking
    assert len(backend.requests) == 120


async def test_a_ledger_that_cannot_be_written_stops_the_run(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Ledger, "claim", full)
    backend = ScriptedBackend("yes")
    with pytest.raises(StoreError):
        await ask(Client(ledger), backend)
    assert backend.requests == []


# Faults -------------------------------------------------------------------------------------------


async def test_rate_limits_are_waited_out_and_use_up_the_patience_but_no_attempts(
    ledger: Ledger,
) -> None:
    limited = ProviderError("rate_limit", "slow down", status=429, retry_after_s=0.1)
    backend, client = ScriptedBackend([*[limited] * 3, "yes"], max_attempts=2), Client(ledger)
    started = asyncio.get_running_loop().time()
    answer = await ask(client, backend)
    assert asyncio.get_running_loop().time() - started >= 0.3
    assert answer.reply.attempts == client.counts.attempts == 4
    backend = ScriptedBackend(limited, max_attempts=2, max_wait_s=0.3, name="scripted/other")
    with pytest.raises(ProviderError):
        await ask(client, backend, "And?")


async def test_what_may_pass_is_tried_again_and_what_cannot_succeed_is_not(
    ledger: Ledger,
) -> None:
    passing: Any = ("timeout", "connection", "server")
    lasting: Any = ("context_length", "content_policy", "bad_request", "bad_reply", "permission")
    for fault in (*passing, *lasting):
        backend = ScriptedBackend(ProviderError(fault, "oh"), max_attempts=2, name=f"x/{fault}")
        with pytest.raises(ProviderError):
            await ask(Client(ledger), backend)
        assert len(backend.requests) == (2 if fault in passing else 1), fault
    # Each was stored as an attempt, and is asked again the next time.
    assert ("x/server", "server", 1) in ledger_stats(ledger.path).failures
    assert ledger.abandoned() == 0
    assert (await ask(Client(ledger), ScriptedBackend("yes", name="x/server"))).reply.text == "yes"


@pytest.mark.parametrize("fault", ["authentication", "quota", "not_found"])
async def test_what_every_call_would_meet_closes_the_backend_and_no_other(
    ledger: Ledger, tmp_path: Path, fault: Any
) -> None:
    client, well = Client(ledger), ScriptedBackend("yes", name="a/well")
    ill = Slow(ProviderError(fault, "no"), concurrency=1)
    found = [*await ends(client, ill, 30), *await ends(client, ill, 10, first=30)]
    assert len(ill.requests) == 1, "those that waited for a place are not sent"
    assert [str(end) for end in found[:2]] == [
        f"{fault}: no",
        f"{fault}: not sent; the backend said before: no",
    ]
    assert len({str(end) for end in found}) == 2
    assert (client.counts.sent, client.counts.failed) == (1, 40)
    (told,) = client.spending().faults.to_json()  # those not sent any more say it too
    assert (told["fault"], told["said"], told["calls"]) == (fault, "no", 40)
    assert (await ask(client, well)).reply.text == "yes"
    client.stop()  # a stop outlasts what a backend was closed with
    with pytest.raises(StoppedError):
        await ask(client, ill, "Who?")
    ledger.close()
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as file:
        assert file.execute("SELECT count(*) FROM intents").fetchone() == (0,)
        assert file.execute("SELECT count(*) FROM failures").fetchone() == (1,)


# The cap ------------------------------------------------------------------------------------------


async def test_a_spent_budget_refuses_before_anything_is_sent(ledger: Ledger) -> None:
    backend = ScriptedBackend("yes", cost_usd=1.0)
    with pytest.raises(BudgetSpentError):
        await ask(Client(ledger, budget=Budget(cap=0.5)), backend)
    assert backend.requests == []
    assert ledger.abandoned() == 0
    # A judgment reserves its repair too, and a repair only itself.
    assert reserve_usd(backend, request(purpose="judge")) == pytest.approx(2.0)
    assert reserve_usd(backend, request(purpose="repair")) == pytest.approx(1.0)


async def test_attempts_that_may_have_been_billed_count_against_the_cap(ledger: Ledger) -> None:
    broken = ProviderError("timeout", "late", may_be_billed=True)
    backend = ScriptedBackend(broken, cost_usd=1.0, max_attempts=5)
    client = Client(ledger, budget=Budget(cap=4.5))
    with pytest.raises(BudgetSpentError):
        # A judge's call sets 2.0 aside (itself and its repair) before every attempt.
        await ask(client, backend)
    assert len(backend.requests) == 3
    assert client.budget.possibly_spent == 3.0
    # It was sent and brought nothing, whatever ended it.
    assert (client.counts.sent, client.counts.answered, client.counts.failed) == (1, 0, 1)


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
        await ask(client, backend, "c", purpose="respond")
    assert len(backend.requests) == 2


async def test_an_endpoint_that_writes_more_than_it_may_closes_under_a_cap(ledger: Ledger) -> None:
    reply = Reply("yes", usage=Usage(10, 5_000), cost_usd=2.5)
    backend = ScriptedBackend(reply, cost_usd=1.0)
    client = Client(ledger, budget=Budget(cap=9.0))
    assert (await ask(client, backend, "a", purpose="respond")).reply.text == "yes"
    with pytest.raises(ProviderError) as caught:
        await ask(client, backend, "b", purpose="respond")
    assert (
        "reported 5,000 output tokens for a call, where max_tokens allows 100; $1.000000 was "
        "reserved for the call and what was reported costs $2.500000"
    ) in caught.value.detail
    assert len(backend.requests) == 1
    # Without a cap no promise is broken.
    free = ScriptedBackend(reply, name="scripted/free", cost_usd=1.0)
    client = Client(ledger)
    await ask(client, free, "c")
    await ask(client, free, "d")
    assert len(free.requests) == 2


async def test_an_error_that_every_call_would_meet_is_met_once(ledger: Ledger) -> None:
    stream = ProviderError("bad_reply", "a stream", may_be_billed=True, closes_backend=True)
    backend, client = ScriptedBackend(stream), Client(ledger)
    for text in ("a", "b"):
        with pytest.raises(ProviderError, match="a stream"):
            await ask(client, backend, text)
    assert len(backend.requests) == 1


async def test_what_a_call_needs_that_the_cap_does_not_allow_is_in_the_record(
    ledger: Ledger,
) -> None:
    client = Client(ledger, budget=Budget(cap=0.5))
    for cost in (3.0, 1.0):
        with pytest.raises(BudgetSpentError):
            await ask(client, ScriptedBackend("yes", cost_usd=cost), purpose="judge")
    assert client.spending().to_json()["call_left_out_usd"] == pytest.approx(2.0)
    assert Client(ledger).spending().to_json()["call_left_out_usd"] is None


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
        with contextlib.closing(client.reservation()) as reservation:
            await client.ask(backend, request(str(number), purpose="respond"), reservation)

    results = await asyncio.gather(*(one(n) for n in range(30)), return_exceptions=True)
    assert sum(isinstance(result, BudgetSpentError) for result in results) == 20
    assert len(backend.requests) == 10
    assert client.budget.spent == pytest.approx(1.0)


# Stops and calls that are cut off -----------------------------------------------------------------


async def test_after_a_stop_nothing_is_sent_and_what_is_in_flight_is_stored(
    ledger: Ledger,
) -> None:
    backend, client = Slow("yes", concurrency=2), Client(ledger)
    asking = asyncio.ensure_future(ends(client, backend, 6))
    await until(lambda: backend.begun == 2)
    client.stop()
    results = await asking
    assert len(backend.requests) == 2
    assert sum(isinstance(result, StoppedError) for result in results) == 4
    assert len(ledger.lookup([request(f"{n}?").key() for n in range(6)])) == 2
    assert ledger.abandoned() == 0


async def test_a_stop_ends_the_wait_for_a_retry(ledger: Ledger) -> None:
    limited = ProviderError("rate_limit", "slow down", retry_after_s=50.0)
    backend, client = ScriptedBackend(limited), Client(ledger)
    task = asyncio.create_task(ask(client, backend))
    await until(lambda: bool(backend.requests))
    client.stop()
    with pytest.raises(StoppedError):
        await asyncio.wait_for(task, 5)
    # It was sent, and answered with a 429: a failed attempt, not a call in flight.
    assert ledger_stats(ledger.path).failures == (("scripted/judge", "rate_limit", 1),)


async def test_a_call_that_was_cut_off_may_have_been_paid_and_is_repeated(tmp_path: Path) -> None:
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
        await ask(client, backend)
        assert client.counts.repeated == 2
        await cut_off(client, backend, "And?")
    with Ledger.open(path) as ledger:
        assert ledger.abandoned() == 1
        client = Client(ledger)
        await ask(client, backend, "And?")
        assert client.counts.repeated == 1
        assert ledger.abandoned() == 0
    assert [row.repeats for row in ledger_stats(path).backends] == [3]


async def test_a_reply_that_is_paid_is_booked_once_where_storing_it_is_cut_off(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    storing = asyncio.Event()

    async def never(*_: Any, **__: Any) -> None:
        storing.set()
        await asyncio.sleep(60)

    client = Client(ledger, budget=Budget(cap=10.0))
    monkeypatch.setattr(ledger, "finish", never)
    asking = asyncio.create_task(ask(client, ScriptedBackend("yes", cost_usd=0.25)))
    await asyncio.wait_for(storing.wait(), 20)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (client.budget.spent, client.budget.possibly_spent) == (0.25, 0.0)
    assert client.counts.failed == 0


# Rates, in simulated time -------------------------------------------------------------------------


@in_simulated_time
async def test_time_in_the_queue_does_not_use_up_the_patience_for_rate_limits(
    ledger: Ledger,
) -> None:
    # What broke: with a few requests a minute the last calls had waited so long for their turn
    # that one 429 ended them.
    client = Client(ledger)
    calls: dict[str, int] = {}

    def answer(asked: Request) -> Any:
        text = asked.messages[0]["content"]
        calls[text] = calls.get(text, 0) + 1
        limited = ProviderError("rate_limit", "slow", retry_after_s=1.0)
        return limited if calls[text] == 1 else "yes"

    await ends(client, ScriptedBackend(answer, rpm=1, max_wait_s=30), 4)
    assert client.counts.answered == 4


@pytest.mark.parametrize(("advice", "least", "most"), [(5.0, 10, 13), (None, 3, 29), (0.0, 3, 29)])
@in_simulated_time
async def test_a_rate_limit_that_never_ends_does_and_the_pauses_grow_without_advice(
    ledger: Ledger, advice: float | None, least: int, most: int
) -> None:
    client = Client(ledger)
    limited = ProviderError("rate_limit", "slow", retry_after_s=advice)
    backend = ScriptedBackend(limited, max_wait_s=60 if advice else 300)
    with pytest.raises(ProviderError, match="rate_limit"):
        await ask(client, backend)
    assert least <= len(backend.requests) <= most


@pytest.mark.parametrize("advice", [60.0, None])
@in_simulated_time
async def test_four_hundred_calls_to_an_exhausted_endpoint_end_in_minutes(
    ledger: Ledger, advice: float | None
) -> None:
    """Each could wait 15 minutes by itself; the backend may have no more than these for all."""
    client = Client(ledger)
    limited = ProviderError("rate_limit", "no capacity", retry_after_s=advice)
    backend = ScriptedBackend(limited, max_wait_s=900)
    begun = asyncio.get_running_loop().time()
    found = await ends(client, backend, 400)
    assert {getattr(end, "fault", "") for end in found} == {"rate_limit"}
    assert asyncio.get_running_loop().time() - begun < 1000
    assert len(backend.requests) < 800  # two each, of an endpoint that answers at once
    assert client.spending().faults.to_json()[0]["said"] == "no capacity"


@in_simulated_time
async def test_a_backend_that_answers_now_and_then_is_not_closed(ledger: Ledger) -> None:
    client = Client(ledger)
    loop, last = asyncio.get_running_loop(), [0.0]

    def answer(_: Request) -> Any:
        if loop.time() - last[0] < 50:
            return ProviderError("rate_limit", "one in 50 s", retry_after_s=10)
        last[0] = loop.time()
        return "yes"

    backend = ScriptedBackend(answer, max_wait_s=60)
    for number in range(12):
        await ask(client, backend, f"{number}?")
        if number == 7:
            await asyncio.sleep(3600)  # nobody asks meanwhile
    assert client.counts.answered == 12


@pytest.mark.parametrize("fault", ["rate_limit", "authentication"])
@in_simulated_time
async def test_a_closed_backend_is_tried_again_with_one_call(ledger: Ledger, fault: Any) -> None:
    client = Client(ledger)
    is_well = False

    def answer(_: Request) -> Any:
        return "yes" if is_well else ProviderError(fault, "no", retry_after_s=10)

    backend = ScriptedBackend(answer, max_wait_s=60)
    assert {getattr(end, "fault", "") for end in await ends(client, backend, 40)} == {fault}
    sent = len(backend.requests)
    await ends(client, backend, 40, first=40)
    assert len(backend.requests) == sent, "closed"
    await asyncio.sleep(TRY_AGAIN_AFTER_S)
    begun = asyncio.get_running_loop().time()
    found = await ends(client, backend, 40, first=80)
    assert {getattr(end, "fault", "") for end in found} == {fault}
    assert len(backend.requests) == sent + 1, "one call to see, and closed again"
    assert asyncio.get_running_loop().time() - begun < 1
    is_well = True
    await ends(client, backend, 40, first=120)
    assert len(backend.requests) == sent + 1
    await asyncio.sleep(TRY_AGAIN_AFTER_S)
    assert all(isinstance(end, Answer) for end in await ends(client, backend, 40, first=160))
    assert len(backend.requests) == sent + 41


async def test_whoever_waits_for_a_backend_that_is_closed_is_told_at_once(ledger: Ledger) -> None:
    limited = ProviderError("rate_limit", "no capacity", retry_after_s=30.0)
    backend = ScriptedBackend(limited, max_wait_s=1, concurrency=2)
    found = await asyncio.wait_for(ends(Client(ledger), backend, 50), 10)
    assert {getattr(end, "fault", "") for end in found} == {"rate_limit"}
    assert len(backend.requests) <= 2
