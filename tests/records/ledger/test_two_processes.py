"""Several processes on one ledger: a call that one has in flight is waited for by the others."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from ledger_world import Place, key, reply
from processes import Command, until

from areopagus import Run
from areopagus.judges.models.client import Client
from areopagus.judges.models.rate_limit import StoppedError
from areopagus.judges.models.request import Request
from areopagus.records.ledger import Ledger, PendingCall
from areopagus.records.ledger.admin import ledger_stats
from areopagus.testing import ProviderServer, ScriptedBackend, by_hash

RESPONSES, JUDGES = 5, 10
KEY = key(1)


async def _finish(ledger: Ledger, pending_call: PendingCall, text: str) -> None:
    await ledger.finish(pending_call, reply(text), purpose="judge", request={})


async def test_of_two_sessions_that_claim_a_call_one_gets_it_until_it_ends(place: Place) -> None:
    with Ledger.open(place) as one, Ledger.open(place) as two:
        mine = await one.claim(KEY, backend="b")
        assert mine is not None
        assert await two.claim(KEY, backend="b") is None
        assert await two.in_flight(KEY)
        await one.withdraw(mine)
        assert not await two.in_flight(KEY)
        given_back = await two.claim(KEY, backend="b")
        assert given_back is not None
        assert given_back.repeats == 0
        await _finish(two, given_back, "theirs")
        assert await one.claim(KEY, backend="b") is None
        assert not await one.in_flight(KEY)
        found = await one.find(KEY)
        assert found is not None
        assert found.text == "theirs"


async def test_of_many_claims_made_at_once_each_call_is_given_once(place: Place) -> None:
    keys = [key(number) for number in range(60)]
    ledgers = [Ledger.open(place) for _ in range(4)]
    try:
        claims = await asyncio.gather(
            *(ledger.claim(key, backend="b") for ledger in ledgers for key in keys)
        )
    finally:
        for ledger in ledgers:
            ledger.close()
    given = [claim.key for claim in claims if claim is not None]
    assert sorted(given) == keys


async def test_two_that_share_an_open_ledger_do_not_send_the_same_call(place: Place) -> None:
    with Ledger.open(place) as ledger:
        mine = await ledger.claim(KEY, backend="b")
        assert mine is not None
        assert await ledger.claim(KEY, backend="b") is None
        assert await ledger.in_flight(KEY)
        ledger.cut_off(mine)
        again = await ledger.claim(KEY, backend="b")
        assert again is not None
        assert again.repeats == 1


async def test_a_call_that_a_living_session_gave_up_is_repeated_and_counted(place: Place) -> None:
    with Ledger.open(place) as one, Ledger.open(place) as two:
        mine = await one.claim(KEY, backend="b")
        assert mine is not None
        one.cut_off(mine)
        await one.withdraw(await one.begin("b" * 64, backend="b"))  # the next commit is done
        theirs = await two.claim(KEY, backend="b")
        assert theirs is not None
        assert theirs.repeats == 1
        await _finish(two, theirs, "again")
        assert two.abandoned() == 0
    assert ledger_stats(place).backends[0].repeats == 1


def _request() -> Request:
    message = {"role": "user", "content": "hello"}
    return Request("scripted/judge", "", (message,), {"max_tokens": 100})


async def _asked(client: Client, backend: ScriptedBackend) -> Any:
    return await client.ask(backend, _request(), client.reservation())


async def test_a_client_takes_the_reply_that_another_session_brings_unless_its_run_is_stopped(
    place: Place,
) -> None:
    backend = ScriptedBackend("mine")
    with Ledger.open(place) as one, Ledger.open(place) as two:
        key = _request().key()
        theirs = await two.claim(key, backend="b")
        assert theirs is not None
        client = Client(one)
        waiting = asyncio.create_task(_asked(client, backend))
        await asyncio.sleep(0.15)
        assert not waiting.done()
        stopped = Client(one)  # whose run is stopped while it waits
        leaving = asyncio.create_task(_asked(stopped, backend))
        await asyncio.sleep(0.1)
        stopped.stop()
        with pytest.raises(StoppedError):
            await asyncio.wait_for(leaving, 20)
        await _finish(two, theirs, "theirs")
        answer = await asyncio.wait_for(waiting, 20)
    assert (answer.reply.text, answer.from_ledger) == ("theirs", True)
    assert (client.counts.sent, client.counts.from_ledger) == (0, 1)


async def test_a_client_asks_itself_when_the_other_fails_or_its_session_ends(place: Place) -> None:
    backend = ScriptedBackend("mine")
    with Ledger.open(place) as one:
        key = _request().key()
        two = Ledger.open(place)
        theirs = await two.claim(key, backend="b")
        assert theirs is not None
        client = Client(one)
        waiting = asyncio.create_task(_asked(client, backend))
        await asyncio.sleep(0.1)
        two.close()  # its note is left, as at a kill
        answer = await asyncio.wait_for(waiting, 20)
    assert not answer.from_ledger
    assert (client.counts.sent, client.counts.repeated) == (1, 1)


async def test_a_session_that_lives_and_brings_nothing_is_not_waited_for_for_ever(
    tmp_path: Path,
) -> None:
    backend = ScriptedBackend("mine", timeout_s=0.1, max_attempts=1, max_wait_s=0.3)
    with Ledger.open(tmp_path / "l.sqlite") as one, Ledger.open(tmp_path / "l.sqlite") as two:
        assert await two.claim(_request().key(), backend="b") is not None
        client = Client(one)
        answer = await asyncio.wait_for(_asked(client, backend), 20)
    assert not answer.from_ledger
    assert client.counts.sent == 1


def _write_run(folder: Path, server: ProviderServer) -> None:
    with (folder / "responses.jsonl").open("w", encoding="utf-8") as file:
        for number in range(RESPONSES):
            row = {
                "response_id": f"r{number:03}",
                "prompt_id": f"p{number}",
                "prompt_text": f"What is owed in case {number}?",
                "response_text": f"In case {number} much is owed, because promises bind.",
                "respondent_id": "writer",
            }
            file.write(json.dumps(row) + "\n")
    (folder / "panel.yaml").write_text(
        f"models:\n  - {{model: openai/judge, api_base: {server.openai_base}, concurrency: 8}}\n"
    )


_SCORE = """
import sys
from areopagus import Panel, Run
from areopagus.experiment.job import run_job

Run.write_results = lambda run, **_: run
with Panel.from_file("panel.yaml", ledger=sys.argv[1]) as panel:
    run_job(panel.job("responses.jsonl", out=sys.argv[2]))
"""


def test_processes_on_one_ledger_pay_each_call_once_and_one_that_is_killed_stops_nobody(
    place: Place, tmp_path: Path
) -> None:
    planned = RESPONSES * JUDGES
    with ProviderServer(by_hash(1, 10), delay_s=0.25) as server:
        _write_run(tmp_path, server)
        front, *others = [
            Command(place, out, folder=tmp_path, code=_SCORE) for out in ("front", "one", "two")
        ]
        until(lambda: server.counts.answered >= planned // 3)
        front.kill()
        for process in others:
            process.ended()
        asked = server.counts.total
    runs = [Run(tmp_path / out) for out in ("one", "two")]
    assert [run.n_scored for run in runs] == [planned, planned]
    totals = ledger_stats(place).backends[0]
    assert (totals.calls, totals.duplicates) == (planned, 0)
    # What the killed one had in flight is asked again and counted, and nothing else.
    assert totals.repeats <= 8 + 8 // 2  # what may be noted ahead included
    assert planned <= asked <= planned + totals.repeats
    assert ledger_stats(place).abandoned == 0
    scores = [(tmp_path / out / "scores.csv").read_bytes() for out in ("one", "two")]
    assert scores[0] == scores[1]
