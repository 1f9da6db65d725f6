"""The ledger: durable, shared, read by nobody else's mistake."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ledger_world import Place, key, pay, reply, rows
from processes import Command, until

from areopagus.errors import InputError, ProviderError, StoreError
from areopagus.records.ledger import Ledger
from areopagus.records.ledger.admin import ledger_stats, prune, recent_calls, whole_call
from areopagus.records.types import Reply, Usage

FAULT = ProviderError("server", "500", status=500)


async def none_done(tasks: list[asyncio.Future[Any]]) -> bool:
    """Whether none of them has ended, after a while in which all could have."""
    done, _ = await asyncio.wait(tasks, timeout=0.15)
    return not done


# Replies ------------------------------------------------------------------------------------------


async def test_what_is_paid_is_found_again_by_its_key_whole(place: Place) -> None:
    paid = Reply(
        text="ja — 是 \U0001f600 \ud800",
        finish_reason="stop",
        refusal=None,
        answered_by="x-1",
        request_id="r",
        usage=Usage(1, 2, 3, 4, 5),
        cost_usd=0.25,
        attempts=3,
        latency_s=0.5,
        logprobs=[{"token": "7", "logprob": -0.1, "top_logprobs": []}],
        created_at=12.0,
    )
    # What an endpoint claims cannot stop the ledger.
    wild = Reply(
        text="\ud800",
        finish_reason="\udfff\0",
        answered_by="\ud800\0",
        usage=Usage(input_tokens=10**30, output_tokens=-(10**30)),
    )
    long = reply("because " * 50_000)
    with Ledger.open(place) as ledger:
        await pay(ledger, 1, paid)
        await pay(ledger, 2, wild, backend="openai/\ud800", endpoint="\ud800\0", x="\ud800\0")
        await pay(ledger, 3, long)
        noted = await ledger.begin(key(4), backend="\ud800")
        fault = ProviderError("server", "\ud800\0")
        await ledger.fail(noted, fault, attempts=1, may_be_billed=False)
        stored = {key(1): paid, key(2): wild, key(3): long}
        assert ledger.lookup([key(n) for n in range(6)]) == stored
    with Ledger.open(place) as ledger:
        assert ledger.lookup([key(n) for n in range(6)]) == stored
    if isinstance(place, Path):
        assert place.stat().st_size < 200_000, "a long reply is packed"


def test_several_loops_in_several_threads_write_one_ledger_and_many_keys_are_looked_up_at_once(
    place: Place,
) -> None:
    with Ledger.open(place) as ledger:

        def work(start: int) -> None:
            async def all_of_them() -> None:
                await asyncio.gather(*(pay(ledger, n) for n in range(start, start + 150)))

            asyncio.run(all_of_them())

        threads = [threading.Thread(target=work, args=(150 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ledger.lookup([key(n) for n in range(1200)])) == 600
    assert ledger_stats(place).backends[0].calls == 600


async def test_failed_and_withdrawn_calls_are_no_replies(place: Place) -> None:
    with Ledger.open(place) as ledger:
        failed = await ledger.begin(key(1), backend="openai/x")
        late = ProviderError("timeout", "late")
        await ledger.fail(failed, late, attempts=3, may_be_billed=True)
        await ledger.withdraw(await ledger.begin(key(2), backend="openai/x"))
        assert ledger.lookup([key(1), key(2)]) == {}
        assert ledger.abandoned() == 0
    stats = ledger_stats(place)
    assert stats.failures == (("openai/x", "timeout", 1),)
    assert (stats.abandoned, stats.backends) == (0, ())


async def test_the_first_of_two_replies_is_kept_and_the_second_counted(place: Place) -> None:
    with Ledger.open(place) as one, Ledger.open(place) as two:
        await pay(one, 1, "first")
        await pay(two, 1, "second")
        await pay(two, 1, "third")
        assert two.lookup([key(1)])[key(1)].text == "first"
    totals = ledger_stats(place).backends[0]
    assert (totals.calls, totals.duplicates) == (1, 2)


async def test_what_requests_have_in_common_is_stored_once(place: Place) -> None:
    personas = ["historian", "ethicist"] * 3
    with Ledger.open(place) as ledger:
        for number, persona in enumerate(personas):
            await pay(ledger, number, persona=persona)
    with Ledger.open(place) as ledger:  # another session describes them again
        await pay(ledger, 6, persona="historian")
    assert rows(place, "SELECT count(*) FROM requests") == [(2,)]
    said = [whole_call(place, key(number))["request"]["persona"] for number in range(7)]
    assert said == [*personas, "historian"]
    rows(place, "DELETE FROM requests")
    with pytest.raises(StoreError, match="damaged"):
        whole_call(place, key(1))


# Calls in flight ----------------------------------------------------------------------------------


async def test_a_call_in_flight_at_a_close_counts_as_repeated_when_it_is_asked_again(
    place: Place,
) -> None:
    with Ledger.open(place) as ledger:
        await ledger.begin(key(1), backend="b")
        await ledger.begin(key(3), backend="b")
        # They belong to a living session: not abandoned.
        with Ledger.open(place) as other:
            assert other.abandoned() == 0
            await pay(other, 3)  # answered for another: nobody need ask again
    with Ledger.open(place) as ledger:
        assert ledger.abandoned() == 1
        assert await pay(ledger, 1) == 1
        assert ledger.abandoned() == 0
        assert await pay(ledger, 2) == 0
    assert ledger_stats(place).backends[0].repeats == 1


async def test_a_kill_elsewhere_while_a_ledger_is_open_is_seen(place: Place) -> None:
    with Ledger.open(place) as survivor:
        for number in range(4):  # at once, whatever the server still has to put away
            with Ledger.open(place) as other:
                await other.begin(key(number), backend="b")
            assert await pay(survivor, number) == 1


async def test_who_is_cancelled_takes_a_note_back_and_loses_no_reply(place: Place) -> None:
    with Ledger.open(place) as ledger:
        noting = asyncio.create_task(ledger.begin(key(1), backend="b"))
        await asyncio.sleep(0)
        noting.cancel()
        pending = await ledger.begin(key(2), backend="b")
        finishing = asyncio.ensure_future(
            ledger.finish(pending, reply(), purpose="judge", request={})
        )
        await asyncio.sleep(0)
        finishing.cancel()
        await asyncio.gather(noting, finishing, return_exceptions=True)
    with Ledger.open(place) as ledger:
        assert ledger.abandoned() == 0
        assert set(ledger.lookup([key(1), key(2)])) == {key(2)}


async def test_notes_of_another_session_are_told_from_ones_own(path: Path) -> None:
    with Ledger.open(path) as first, Ledger.open(path) as second:
        await first.begin(key(1), backend="b")
        await second.begin(key(1), backend="b")
        await first.begin(key(2), backend="b")
        writers = [ledger._writer._store for ledger in (first, second)]  # type: ignore[union-attr]
        asked = [key(1), key(2), key(3)]
        found = [sorted(row[1] for row in writer.in_flight_elsewhere(asked)) for writer in writers]
        assert found == [[key(1)], [key(1), key(2)]]


# The store ----------------------------------------------------------------------------------------


def test_a_ledger_is_for_its_owner_only_and_keeps_its_secret(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(path) as ledger, Ledger.open(path) as again:
        assert again.secret == ledger.secret
        assert len(ledger.secret) == 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("AREOPAGUS_HOME", str(tmp_path / "somewhere" / "else"))
    with Ledger.open() as ledger:
        assert ledger.path == tmp_path / "somewhere" / "else" / "ledger.sqlite"
        assert ledger.path.is_file()
    with pytest.raises(InputError, match="must be a file or postgresql://"):
        Ledger.open("mysql://localhost/ledger")


def test_many_that_open_a_new_ledger_at_once_make_one(place: Place) -> None:
    secrets: list[bytes] = []

    def open_it() -> None:
        with Ledger.open(place) as ledger:
            secrets.append(ledger.secret)

    threads = [threading.Thread(target=open_it) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(secrets), len(set(secrets))) == (8, 1)


async def test_what_was_learned_of_a_backend_is_remembered(place: Place) -> None:
    with Ledger.open(place) as ledger:
        assert ledger.capability("openai/x") is None
        assert await ledger.find_capability("openai/x") is None
        await ledger.set_capability("openai/x", "json_object")
        await ledger.set_capability("openai/x", "prompt")
    with Ledger.open(place, read_only=True) as ledger:
        assert ledger.capability("openai/x") == "prompt"
        names = ("openai/x", "openai/y", "openai/x")
        found = await asyncio.gather(*(ledger.find_capability(name) for name in names))
        assert found == ["prompt", None, "prompt"]
        with pytest.raises(StoreError, match="for reading only"):
            await ledger.set_capability("openai/x", "json_object")


async def test_a_ledger_opened_for_reading_stores_nothing_and_waits_for_nobody(path: Path) -> None:
    with pytest.raises(StoreError, match="no ledger here"):
        Ledger.open(path, read_only=True)
    assert not path.exists()
    with Ledger.open(path) as ledger:
        await pay(ledger, 1)
        lock = sqlite3.connect(path, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with Ledger.open(path, read_only=True) as reader:
            assert set(reader.lookup([key(1)])) == {key(1)}
            with pytest.raises(StoreError, match="for reading only"):
                await reader.begin(key(2), backend="openai/x")
        assert time.monotonic() - started < 5
        lock.execute("ROLLBACK")
        lock.close()


def _other(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as file:
        file.execute(statement)
    file.close()


def _of_version(version: int) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        Ledger.open(path).close()
        _other(path, f"PRAGMA user_version = {version}")

    return spoil


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.write_text("Dear diary, today I judged nobody."), "no ledger"),
        (lambda path: _other(path, "CREATE TABLE mine(x)"), "not a ledger"),
        (_of_version(99), "newer version"),
        (_of_version(2), "older version"),
        (Path.mkdir, "is a folder"),
    ],
)
def test_what_is_no_ledger_of_this_version_is_left_as_it_is(
    tmp_path: Path, spoil: Any, words: str
) -> None:
    path = tmp_path / "ledger.sqlite"
    spoil(path)
    before = path.read_bytes() if path.is_file() else None
    for read_only in (False, True):
        with pytest.raises(StoreError, match=words):
            Ledger.open(path, read_only=read_only)
    assert (path.read_bytes() if path.is_file() else None) == before


async def test_a_damaged_ledger_is_one_clear_error(path: Path) -> None:
    with Ledger.open(path) as ledger:
        await asyncio.gather(*(pay(ledger, n, "x" * 900) for n in range(200)))
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(40_000))
    with pytest.raises(StoreError):
        with Ledger.open(path) as ledger:
            ledger.lookup([key(n) for n in range(200)])


async def test_stats_show_and_prune_say_what_is_there(place: Place) -> None:
    with Ledger.open(place) as ledger:
        await pay(ledger, 1, Reply(text="old", cost_usd=0.5, created_at=1000.0))
        await pay(ledger, 2, "new")
        await pay(ledger, 3, Reply(text="?", created_at=time.time()), backend="c")
        pending = await ledger.begin(key(4), backend="c")
        await ledger.fail(pending, FAULT, attempts=6, may_be_billed=True)
    assert [call.text for call in recent_calls(place)] == ["?", "new", "old"]
    assert whole_call(place, key(2))["reply"]["text"] == "new"
    for prefix, words in (("0", "more than one"), ("f", "no call"), ("xyz", "hex digits")):
        with pytest.raises(InputError, match=words):
            whole_call(place, prefix)
    with pytest.raises(InputError, match="say what to prune"):
        prune(place)
    counted = prune(place, before=2000.0)
    assert (counted.calls, counted.cost_usd) == (1, 0.5)
    assert len(recent_calls(place)) == 3
    prune(place, before=2000.0, dry_run=False)
    prune(place, failures_only=True, dry_run=False)
    assert [call.text for call in recent_calls(place)] == ["?", "new"]
    stats = ledger_stats(place)
    assert stats.failures == ()
    assert {b.backend: b.unknown_price for b in stats.backends} == {"b": 0, "c": 1}


# Commits ------------------------------------------------------------------------------------------


async def test_what_holds_nobody_up_is_gathered_until_somebody_is_held_up_or_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.records.ledger.writer.APART_S", 60.0)

    def finished(ledger: Ledger, pending: Any) -> asyncio.Future[None]:
        return asyncio.ensure_future(ledger.finish(pending, reply(), purpose="judge", request={}))

    with Ledger.open(path) as ledger:
        commits: list[int] = []
        commit = ledger._writer._commit  # type: ignore[union-attr]
        monkeypatch.setattr(
            ledger._writer, "_commit", lambda batch: (commits.append(len(batch)), commit(batch))
        )
        first = await asyncio.wait_for(ledger.begin(key(1), backend="b", soon=False), 10)
        paying = finished(ledger, first)
        ahead = [
            asyncio.create_task(ledger.begin(key(number), backend="b", soon=False))
            for number in (2, 3)
        ]
        assert await none_done([paying, *ahead])
        fourth = await asyncio.wait_for(ledger.begin(key(4), backend="b"), 10)
        await asyncio.wait_for(asyncio.gather(paying, *ahead), 10)
        assert commits == [1, 1 + 4]  # the reply with what its request is described by
        last = finished(ledger, fourth)
        assert await none_done([last])
    await asyncio.wait_for(last, 10)
    with Ledger.open(path, read_only=True) as ledger:
        assert set(ledger.lookup([key(1), key(4)])) == {key(1), key(4)}


async def test_who_is_held_up_waits_only_while_another_call_may_have_something_to_write(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("APART_S", "HURRIED_APART_S"):
        monkeypatch.setattr(f"areopagus.records.ledger.writer.{name}", 60.0)
    with Ledger.open(path) as ledger:
        first = await asyncio.wait_for(ledger.begin(key(1), backend="b"), 10)
        second = asyncio.create_task(ledger.begin(key(2), backend="b"))
        assert await none_done([second])
        paying = ledger.finish(first, reply(), purpose="judge", request={})
        await asyncio.wait_for(asyncio.gather(second, paying), 10)


# Other processes ----------------------------------------------------------------------------------


def test_a_full_disk_reaches_everybody_who_waits_and_keeps_what_is_stored(tmp_path: Path) -> None:
    done = Command(tmp_path / "ledger.sqlite", folder=tmp_path, code=_FULL_DISK).finished()
    assert done.returncode == 0, done.stderr
    told = done.stdout.split()
    assert told[0] == "StoreError"
    assert int(told[1]) == 20  # everybody who waited
    assert told[2] == "StoreError"  # and whoever came later
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        assert len(ledger.lookup([key(n) for n in range(20)])) == 20


_FULL_DISK = """
import asyncio, os, resource, signal, sys
from areopagus.records.ledger import Ledger
from areopagus.records.types import Reply
from areopagus.errors import StoreError

ledger = Ledger.open(sys.argv[1])

async def pay(n, size=10):
    pending = await ledger.begin(f"{n:064x}", backend="b")
    reply = Reply(text=os.urandom(size).hex(), created_at=1.0)
    await ledger.finish(pending, reply, purpose="judge", request={})

async def main():
    await asyncio.gather(*(pay(n) for n in range(20)))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    size = os.path.getsize(sys.argv[1] + "-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    big = await asyncio.gather(*(pay(n, 100_000) for n in range(20, 40)), return_exceptions=True)
    print(*{type(e).__name__ for e in big}, len(big), flush=True)
    try:
        await pay(99)
    except StoreError as error:
        print(type(error).__name__, flush=True)

asyncio.run(main())
os._exit(0)
"""


_VISITOR = """
import sys
from areopagus.records.ledger import Ledger

with Ledger.open(sys.argv[1]) as ledger:
    print(len(ledger.lookup([f"{n:064x}" for n in range(100)])))
"""


async def test_others_that_come_and_go_leave_the_log_of_a_ledger_in_use(
    place: Place, tmp_path: Path
) -> None:
    """Each sees all that is stored, and what is stored after it went is not lost in a kill."""

    async def visit() -> str:
        visitor = Command(place, folder=tmp_path, code=_VISITOR)
        return (await asyncio.to_thread(visitor.finished)).stdout.strip()

    with Ledger.open(place) as ledger:
        for number in range(2):
            await pay(ledger, number)
            ledger_stats(place)  # a second look from the process that writes
            assert await visit() == str(number + 1)


_WRITER = """
import asyncio, sys
from areopagus.records.ledger import Ledger
from areopagus.records.types import Reply

start = int(sys.argv[2])
ledger = Ledger.open(sys.argv[1])

async def pay(n):
    name = f"{n:064x}"
    pending = await ledger.begin(name, backend="b")
    await ledger.finish(pending, Reply(text="x" * 300), purpose="judge", request={})
    print(n, flush=True)

async def main():
    n = start
    while True:
        await asyncio.gather(*(pay(n + k) for k in range(8)))
        await asyncio.sleep(0.01)
        n += 8

asyncio.run(main())
"""


@pytest.mark.slow
def test_killed_at_any_instant_a_ledger_holds_all_that_finish_returned_for(
    place: Place, tmp_path: Path
) -> None:
    """Four processes write one ledger at once; they are killed one after the other."""
    chance = random.Random(7)
    Ledger.open(place).close()
    processes = [
        Command(place, 1_000_000 * number, folder=tmp_path, code=_WRITER) for number in range(4)
    ]
    promised: list[int] = []
    for process in processes:
        done = len(process.written("stdout"))
        until(lambda p=process, done=done: len(p.written("stdout")) > done)  # it is at work now
        time.sleep(chance.uniform(0.0, 0.05))
        process.kill()
        *lines, _ = process.written("stdout").split("\n")
        promised += map(int, lines)
    with Ledger.open(place) as ledger:
        assert len(ledger.lookup([key(n) for n in promised])) == len(promised)
        assert ledger.abandoned() <= 4 * 8
    assert len(promised) <= ledger_stats(place).backends[0].calls <= len(promised) + 4 * 8
