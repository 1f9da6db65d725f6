"""The coordinator of a run on several nodes, and a node's client in front of it; without Ray."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from areopagus import Panel
from areopagus.async_runner import run_sync
from areopagus.engines.coordinator import REFUSED, SILENCE_S, STOPPED, Coordinator
from areopagus.engines.worker import RunSpec, Worker, cut, shard_size
from areopagus.engines.worker_client import SharedLimiter, WorkerClient
from areopagus.experiment.engine import Scored, score_rows
from areopagus.judges.models.backend import BackendSpec
from areopagus.judges.models.client import Client
from areopagus.judges.models.rate_limit import StoppedError
from areopagus.judges.models.request import Request
from areopagus.judges.models.usage import CallCounts, UsageSnapshot
from areopagus.records.ledger import Ledger
from areopagus.records.types import Sample
from areopagus.testing import ProviderServer, ScriptedBackend


def row(number: int, text: str | None = None) -> Sample:
    return Sample(
        response_id=f"r{number}",
        prompt_text="Is it just?",
        response_text=f"Perhaps {number}." if text is None else text,
        prompt_id="p",
        respondent_id="x",
        extra={},
        line=number + 1,
    )


async def all_scored(panel: Panel, rows: list[Sample], client: WorkerClient) -> list[Scored]:
    async with client.in_touch():
        return [item async for item in score_rows(rows, panel=panel.spec, client=client)]


def limited(**limits: float) -> list[BackendSpec]:
    return [BackendSpec(**{"model": "scripted/judge", "concurrency": 4, **limits})]


async def test_two_nodes_share_the_calls_in_flight_and_the_counts(tmp_path: Path) -> None:
    in_flight = most = 0

    class Slow(ScriptedBackend):
        async def send(self, request):  # type: ignore[no-untyped-def]
            nonlocal in_flight, most
            in_flight += 1
            most = max(most, in_flight)
            await asyncio.sleep(0.002)
            in_flight -= 1
            return await super().send(request)

    coordinator = Coordinator(limited(concurrency=4), cap=None)
    backend = Slow({"overall": 7}, cost_usd=0.5)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        panel = Panel(backend, mode="holistic", ledger=ledger)
        nodes = [
            WorkerClient(ledger, coordinator=coordinator, node=name, cap=None) for name in "ab"
        ]
        halves = [[row(n) for n in range(6)], [row(n) for n in range(6, 12)]]
        found = await asyncio.gather(
            *(all_scored(panel, half, client) for half, client in zip(halves, nodes, strict=True))
        )
    assert [item.row.response_id for part in found for item in part] == [f"r{n}" for n in range(12)]
    assert most == 4
    totals = await coordinator.totals()
    assert totals.calls.sent == totals.calls.answered == 120
    assert totals.spent_usd == pytest.approx(60.0)
    usage = totals.usage
    assert (usage.online.replies, usage.online.cost_usd) == (120, pytest.approx(60.0))


async def test_a_rate_holds_over_nodes(tmp_path: Path) -> None:
    sent: list[float] = []

    class Clocked(ScriptedBackend):
        async def send(self, request):  # type: ignore[no-untyped-def]
            sent.append(time.monotonic())
            return await super().send(request)

    # 100 a second, and a second's worth at once: the 121st cannot go before 0.2 s.
    coordinator = Coordinator(limited(concurrency=64, rpm=6000.0), cap=None)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        panel = Panel(Clocked({"overall": 7}), mode="holistic", ledger=ledger)
        began = time.monotonic()
        await asyncio.gather(
            *(
                all_scored(
                    panel,
                    [row(100 * k + n) for n in range(5)],
                    WorkerClient(ledger, coordinator=coordinator, node=f"{k}", cap=None),
                )
                for k in range(3)
            )
        )
    assert len(sent) == 150
    # From before the first: a busy machine may hold that one up behind the coordinator.
    assert sent[-1] - began >= 0.49
    for index, moment in enumerate(sent):
        within = sum(1 for other in sent[index:] if other - moment < 0.2)
        # A busy machine may hold up calls that were let through, and then send them together.
        assert within <= 100 + 20 + 20


async def test_the_cap_holds_over_nodes(tmp_path: Path) -> None:
    coordinator = Coordinator(limited(concurrency=32), cap=10.0)
    backend = ScriptedBackend({"overall": 7}, cost_usd=0.25)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        panel = Panel(backend, mode="holistic", ledger=ledger)
        found = await asyncio.gather(
            *(
                all_scored(
                    panel,
                    [row(100 * k + n) for n in range(5)],
                    WorkerClient(ledger, coordinator=coordinator, node=f"{k}", cap=10.0),
                )
                for k in range(3)
            )
        )
    totals = await coordinator.totals()
    # A call and its repair are set aside together, so the last quarter dollar is not spent.
    assert totals.spent_usd == pytest.approx(0.25 * len(backend.requests))
    assert 9.0 <= totals.spent_usd <= 10.0
    judgments = [j for part in found for item in part for j in item.verdict.judgments]
    reasons = {j.reason for j in judgments if j.status == "not_asked"}
    assert sum(j.status == "scored" for j in judgments) == len(backend.requests)
    assert reasons == {"budget"}


async def test_places_and_money_of_a_node_that_fell_silent_go_back() -> None:
    now = 0.0
    coordinator = Coordinator(limited(concurrency=2), cap=1.0, clock=lambda: now)
    assert await coordinator.enter("dead", "scripted/judge", [1.0, 1.0, 1.0]) == 2
    assert await coordinator.reserve("dead", [0.4, 0.2, 0.5]) == 2
    await coordinator.report("dead", [("book", 0.1, True), ("release", 0.1, False)])
    waiting = asyncio.create_task(coordinator.enter("alive", "scripted/judge", [1.0]))
    await asyncio.sleep(0)
    now = SILENCE_S + 1
    await coordinator.report("alive", [])
    assert await waiting == 1
    totals = await coordinator.totals()
    # 0.1 is certain; what is left of 0.4 + 0.2 may have been spent by calls in flight.
    assert (totals.spent_usd, totals.possibly_spent_usd) == (0.1, pytest.approx(0.5))
    assert await coordinator.reserve("alive", [0.39]) == 1
    assert await asyncio.wait_for(_answer_to_too_much(coordinator), 1) == REFUSED
    # What it says when it comes back takes nothing from the others.
    await coordinator.report("dead", [("leave", "scripted/judge"), ("release", 0.5, True)])
    assert (await coordinator.totals()).possibly_spent_usd == pytest.approx(0.5)


async def _answer_to_too_much(coordinator: Coordinator) -> int:
    await coordinator.report("alive", [("release", 0.39, True)])
    return await coordinator.reserve("alive", [0.41])


async def test_what_a_node_that_was_given_up_still_waited_for_goes_to_others() -> None:
    now = 0.0
    coordinator = Coordinator(limited(concurrency=1), cap=1.0, clock=lambda: now)
    assert await coordinator.enter("alive", "scripted/judge", [1.0]) == 1
    assert await coordinator.reserve("alive", [0.9]) == 1
    place = asyncio.create_task(coordinator.enter("dead", "scripted/judge", [1.0]))
    money = asyncio.create_task(coordinator.reserve("dead", [0.5, 0.5]))
    await asyncio.sleep(0)
    now = SILENCE_S + 1
    await coordinator.report("alive", [])
    await coordinator.report("alive", [("leave", "scripted/judge"), ("release", 0.9, True)])
    assert (await place, await money) == (0, 0)
    now *= 2
    await coordinator.report("alive", [])
    assert (await coordinator.totals()).possibly_spent_usd == 0.0
    assert await coordinator.reserve("alive", [1.0]) == 1
    assert await coordinator.enter("alive", "scripted/judge", [1.0]) == 1


async def test_a_node_that_was_given_up_and_lives_asks_again(tmp_path: Path) -> None:
    now = 0.0
    coordinator = Coordinator(limited(concurrency=1), cap=1.0, clock=lambda: now)
    assert await coordinator.enter("other", "scripted/judge", [1.0]) == 1
    assert await coordinator.reserve("other", [0.9]) == 1
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        client = WorkerClient(ledger, coordinator=coordinator, node="slow", cap=1.0)
        limiter = client.limiter(ScriptedBackend({"overall": 7}))
        place = asyncio.create_task(limiter.acquire(1.0))
        money = asyncio.create_task(client.budget.reserve(0.5))
        await asyncio.sleep(0.01)
        now = SILENCE_S + 1
        await coordinator.report("other", [])
        await coordinator.report("other", [("leave", "scripted/judge"), ("release", 0.9, True)])
        assert await asyncio.wait_for(asyncio.gather(place, money), 1) == [None, 0.5]
        now *= 2
        await coordinator.report("other", [])
    # It was heard when it asked again, and what it holds since then is known.
    assert (await coordinator.totals()).possibly_spent_usd == 0.5


async def test_however_many_wait_for_money_a_node_has_one_message_at_the_coordinator(
    tmp_path: Path,
) -> None:
    waiting = most = 0

    class Counting(Coordinator):
        async def reserve(self, node, worst_usd):  # type: ignore[no-untyped-def]
            nonlocal waiting, most
            waiting += 1
            most = max(most, waiting)
            try:
                return await super().reserve(node, worst_usd)
            finally:
                waiting -= 1

    coordinator = Counting(limited(), cap=1.0)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        client = WorkerClient(ledger, coordinator=coordinator, node="a", cap=1.0)

        async def spend() -> None:
            amount = await client.budget.reserve(0.4)
            await asyncio.sleep(0)
            client.budget.release(amount)

        await asyncio.wait_for(asyncio.gather(*(spend() for _ in range(200))), 10)
        await client.tell()
    assert most == 1
    assert (await coordinator.totals()).spent_usd == 0.0
    assert await coordinator.reserve("b", [1.0]) == 1  # all of it has come back


async def test_money_that_was_granted_to_somebody_who_left_goes_back(tmp_path: Path) -> None:
    coordinator = Coordinator(limited(), cap=1.0)
    assert await coordinator.reserve("b", [0.8]) == 1
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        client = WorkerClient(ledger, coordinator=coordinator, node="a", cap=1.0)
        leaving = asyncio.create_task(client.budget.reserve(0.5))
        await asyncio.sleep(0.01)
        leaving.cancel()
        await coordinator.report("b", [("release", 0.8, True)])
        await asyncio.sleep(0.01)
        assert await asyncio.wait_for(client.budget.reserve(1.0), 1) == 1.0


async def test_a_stop_reaches_nodes_that_wait() -> None:
    coordinator = Coordinator(limited(concurrency=1), cap=None)
    assert await coordinator.enter("a", "scripted/judge", [1.0]) == 1
    waiting = asyncio.create_task(coordinator.enter("b", "scripted/judge", [1.0]))
    await asyncio.sleep(0)
    await coordinator.stop()
    assert await waiting == STOPPED
    assert await coordinator.report("a", []) is True


async def test_a_stop_at_the_coordinator_stops_a_node_s_client(tmp_path: Path) -> None:
    coordinator = Coordinator(limited(), cap=None)
    await coordinator.stop()
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        panel = Panel(ScriptedBackend({"overall": 7}), mode="holistic", ledger=ledger)
        client = WorkerClient(ledger, coordinator=coordinator, node="a", cap=None)
        found = await all_scored(panel, [row(1), row(2)], client)
    assert client.stopped
    assert {j.status for item in found for j in item.verdict.judgments} == {"not_asked"}


def question(number: int) -> Request:
    return Request("m", "", ({"role": "user", "content": str(number)},), {})


async def test_answers_of_a_node_are_stored_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.records.ledger.writer.APART_S", 60.0)
    coordinator = Coordinator(limited(concurrency=5), cap=None)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        client = WorkerClient(ledger, coordinator=coordinator, node="a", cap=None)
        backend = ScriptedBackend({"overall": 7})
        asking = [
            asyncio.create_task(client.ask(backend, question(n), client.reservation()))
            for n in range(5)
        ]
        while len(backend.requests) < 5:
            await asyncio.wait(asking, timeout=0.01)
        await asyncio.sleep(0.1)
        assert not all(task.done() for task in asking)
        ledger.close()  # else after the minute, or with the next call's note
        await asyncio.wait_for(asyncio.gather(*asking), 10)


async def test_a_place_is_free_for_other_nodes_when_the_answer_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else nodes that die together lose more calls than may be in flight."""
    monkeypatch.setattr("areopagus.records.ledger.writer.APART_S", 60.0)
    coordinator = Coordinator(limited(concurrency=1), cap=None)
    backend = ScriptedBackend({"overall": 7})

    def ask(ledger: Ledger, node: str, number: int) -> asyncio.Task[Any]:
        client = WorkerClient(ledger, coordinator=coordinator, node=node, cap=None)
        return asyncio.create_task(client.ask(backend, question(number), client.reservation()))

    with Ledger.open(tmp_path / "a.sqlite") as first, Ledger.open(tmp_path / "b.sqlite") as second:
        answered = ask(first, "a", 1)
        while not backend.requests:
            await asyncio.wait([answered], timeout=0.01)
        waiting = ask(second, "b", 2)
        await asyncio.sleep(0.1)
        assert len(backend.requests) == 1
        first.close()  # stores what it holds
        while len(backend.requests) == 1:
            await asyncio.wait([waiting], timeout=0.01)
        second.close()
        await asyncio.wait_for(asyncio.gather(answered, waiting), 10)


async def test_a_wish_that_is_cancelled_gives_its_place_back(tmp_path: Path) -> None:
    coordinator = Coordinator(limited(concurrency=1), cap=None)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        client = WorkerClient(ledger, coordinator=coordinator, node="a", cap=None)
        limiter = client.limiter(ScriptedBackend({"overall": 7}))
        assert isinstance(limiter, SharedLimiter)
        await limiter.acquire(1.0)
        waiting = asyncio.create_task(limiter.acquire(1.0))
        await asyncio.sleep(0.01)
        waiting.cancel()
        limiter.release()
        await asyncio.sleep(0.01)
        await asyncio.wait_for(limiter.acquire(1.0), 1)
        client.stop()
        with pytest.raises(StoppedError):
            await limiter.acquire(1.0)


async def test_a_coordinator_that_is_lost_is_told_and_nothing_more_is_sent(tmp_path: Path) -> None:
    class Lost(Coordinator):
        async def enter(self, node, backend, tokens):  # type: ignore[no-untyped-def]
            raise ConnectionError("the actor died")

    backend = ScriptedBackend({"overall": 7})
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        client = WorkerClient(ledger, coordinator=Lost(limited(), cap=None), node="a", cap=None)
        with pytest.raises(ConnectionError):
            await client.limiter(backend).acquire(1.0)
    assert backend.requests == []


def test_rows_are_cut_in_order() -> None:
    rows = [row(n) for n in range(6)] + [row(6, "same")]
    shards = list(cut(rows, size=3, is_repeated=lambda item: item.response_text == "same"))
    assert [[item.response_id for item in shard.rows] for shard in shards] == [
        ["r0", "r1", "r2"],
        ["r3", "r4", "r5"],
        ["r6"],
    ]
    assert [shard.repeated for shard in shards] == [(False,) * 3, (False,) * 3, (True,)]
    assert list(cut([], size=3, is_repeated=lambda item: False)) == []


def test_a_shard_keeps_a_process_busy_for_several_rounds() -> None:
    backend = ScriptedBackend({"overall": 7}, concurrency=40)
    panel = Panel(backend, mode="holistic")
    # Ten judges on forty places: four responses a round, ten at once, forty in a shard.
    assert shard_size(panel.spec, 1) == 40
    # The places are those of all processors together.
    assert [shard_size(panel.spec, number) for number in (2, 3, 4, 100)] == [20, 16, 12, 4]


def test_what_batches_brought_is_the_runs_own_at_the_nodes_too(tmp_path: Path) -> None:
    rows = [row(n) for n in range(3)]

    async def on_a_node(panel: Panel, coordinator: Coordinator) -> tuple[int, int]:
        """Answers of the ledger at a node that does a shard twice, after each time."""
        paid = WorkerClient(panel.ledger, coordinator=coordinator, node="a", cap=None)
        found = await all_scored(panel, rows, paid)
        keys = [one.ledger_key for item in found for one in item.verdict.judgments]
        driver = Client(panel.ledger)
        for key, reply in panel.ledger.lookup([key for key in keys if key]).items():
            driver.brought(key, reply, None, None)
        run = RunSpec.of(panel.spec, cap=None, unclaimed=driver.unclaimed)
        worker = Worker(run, coordinator)
        (shard,) = cut(rows, size=3, is_repeated=lambda item: False)
        await worker.score(shard)
        once = worker.client.counts.from_ledger
        await worker.score(shard)
        twice = worker.client.counts.from_ledger
        await worker.close()
        return once, twice

    with ProviderServer() as provider:
        settings = {"model": "openai/x", "api_base": provider.openai_base}
        with Panel(settings, mode="holistic", ledger=tmp_path / "l.sqlite") as panel:
            # On the package's loop: litellm keeps connections that outlive a test's own.
            found = run_sync(on_a_node(panel, Coordinator([panel.backends[0].spec], cap=None)))
        assert provider.counts.total == 30
    assert found == (0, 30)


async def test_whoever_follows_a_run_hears_of_what_passed_the_coordinator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from types import SimpleNamespace

    from areopagus.engines import ray as ray_engine

    async def answer(asked: Any, loss: str) -> Any:
        return await asked

    monkeypatch.setattr(ray_engine, "answer", answer)
    told: list[int] = []
    store: Any = None
    client = Client(store, on_change=lambda: told.append(client.counts.answered))
    coordinator = Coordinator([], None)
    run: Any = SimpleNamespace(
        coordinator=SimpleNamespace(totals=SimpleNamespace(remote=coordinator.totals)),
        seen=UsageSnapshot(),
    )
    engine = ray_engine.RayEngine()
    sent = UsageSnapshot(CallCounts(sent=50, answered=50))
    await coordinator.report("node", [("usage", sent), ("book", 1.25, True)])
    await engine._book(run, client)
    await engine._book(run, client)  # nothing new
    assert (told, client.budget.spent) == ([50], 1.25)
