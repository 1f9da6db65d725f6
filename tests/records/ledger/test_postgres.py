"""The ledger on a PostgreSQL server: what is its own beside what every ledger does."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from ledger_world import key, pay, rows
from postgres_server import PASSWORD, USER, PostgresServer
from processes import Command, until

from areopagus import Panel
from areopagus.cli.main import cli
from areopagus.errors import ProviderError, StoreError
from areopagus.judges.models.client import Client
from areopagus.judges.models.request import JsonSchema, Request, ResponseFormat
from areopagus.judges.structured import ask
from areopagus.records.ledger import Ledger
from areopagus.records.ledger import postgres as ledger_postgres
from areopagus.records.ledger.address import PostgresAddress, without_password
from areopagus.records.ledger.admin import ledger_stats
from areopagus.records.ledger.postgres import Link, ServerGoneError, told
from areopagus.testing import ScriptedBackend


@pytest.fixture
def address(postgres: PostgresServer, request: pytest.FixtureRequest) -> str:
    number = sum(request.node.name.encode())  # one schema a test
    return postgres.address(f"own_{number}")


def test_looking_makes_nothing(address: str) -> None:
    for _ in range(2):
        with pytest.raises(StoreError, match="no ledger here"):
            Ledger.open(address, read_only=True)


def test_what_is_no_ledger_of_this_version_is_left_as_it_is(postgres: PostgresServer) -> None:
    for change, words in (
        ("UPDATE meta SET value = '99' WHERE name = 'version'", "newer version"),
        ("UPDATE meta SET value = 'banana' WHERE name = 'application'", "is not a ledger"),
        ("DROP TABLE meta", "is not a ledger"),  # tables of somebody else's
    ):
        address = postgres.address(f"changed_{len(change)}")
        Ledger.open(address).close()
        rows(address, change)
        for read_only in (False, True):
            with pytest.raises(StoreError, match=words):
                Ledger.open(address, read_only=read_only)


async def test_a_server_that_crashes_and_returns_loses_nothing_and_doubles_nothing(
    postgres: PostgresServer, address: str
) -> None:
    with Ledger.open(address) as ledger:
        paid = 0

        async def keep_paying(start: int) -> None:
            nonlocal paid
            for number in range(start, start + 20):
                assert await pay(ledger, number) == 0
                paid += 1

        work = [asyncio.create_task(keep_paying(1000 * n)) for n in range(8)]
        while paid < 40:  # noqa: ASYNC110 - eight tasks count
            await asyncio.sleep(0.01)
        await asyncio.to_thread(postgres.stop, "immediate")
        before = paid
        await asyncio.to_thread(postgres.start)
        await asyncio.gather(*work)
        assert before < paid == 160
        keys = [key(1000 * n + k) for n in range(8) for k in range(20)]
        assert len(ledger.lookup(keys)) == 160
        assert ledger.abandoned() == 0
    totals = ledger_stats(address).backends[0]
    assert (totals.calls, totals.duplicates, totals.repeats) == (160, 0, 0)


async def test_a_commit_whose_answer_was_lost_is_not_done_twice(
    postgres: PostgresServer, address: str
) -> None:
    with cut_after_commit(postgres.port) as (port, cuts):
        with Ledger.open(address.replace(f":{postgres.port}/", f":{port}/")) as ledger:
            for number in range(4):
                cuts.set()
                assert await pay(ledger, number) == 0
            assert ledger.abandoned() == 0
    totals = ledger_stats(address).backends[0]
    assert (totals.calls, totals.duplicates, totals.repeats) == (4, 0, 0)


async def test_a_server_that_stays_away_is_one_clear_error(
    postgres: PostgresServer, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_postgres, "RECONNECT_S", 0.3)
    ledger = Ledger.open(address)
    await pay(ledger, 1)
    postgres.stop()
    try:
        with pytest.raises(StoreError, match="went away and did not come back") as caught:
            await pay(ledger, 2)
        with pytest.raises(StoreError, match="went away"):
            ledger.lookup([key(1)])
        with pytest.raises(StoreError, match="nobody answers") as unopened:
            Ledger.open(address)
        ledger.close()
    finally:
        postgres.start()
    assert PASSWORD not in f"{caught.value}{unopened.value}"
    with Ledger.open(address) as again:
        assert set(again.lookup([key(1), key(2)])) == {key(1)}


async def test_while_the_server_is_away_the_loop_goes_on(
    postgres: PostgresServer, address: str
) -> None:
    with Ledger.open(address) as ledger:
        # What was learned of a backend is looked up, and stored where it was not known.
        backend = ScriptedBackend("{}", structured="auto")
        client = Client(ledger)
        await asyncio.to_thread(postgres.stop)
        back = threading.Timer(0.6, postgres.start)
        back.start()
        loop = asyncio.get_running_loop()
        asked = asyncio.create_task(ask(client, backend, _request, client.reservation()))
        longest, last = 0.0, loop.time()
        while not asked.done():
            await asyncio.sleep(0.02)
            longest, last = max(longest, loop.time() - last), loop.time()
        back.join()
        _, request = await asked
        assert longest < 0.7
        assert ledger.capability(backend.spec.identity) == request.structured == "json_schema"


def _request(response_format: ResponseFormat) -> Request:
    return Request(
        backend="scripted/judge",
        endpoint="",
        messages=({"role": "user", "content": "Why?"},),
        params={"max_tokens": 100},
        structured=response_format,
        schema=JsonSchema(type="object"),
    )


async def test_a_ledger_put_back_to_an_earlier_state_is_noticed(address: str) -> None:
    with Ledger.open(address) as ledger:
        rows(address, f"DELETE FROM sessions WHERE id = {ledger._writer.session}")
        with pytest.raises(StoreError, match="no longer knows this session"):
            await pay(ledger, 1)


@contextlib.contextmanager
def locked(address: str, seconds: float) -> Iterator[None]:
    """Another connection keeps the table of calls from being written for so long."""
    other = Link(PostgresAddress.parse(address), read_only=False)
    other.run("BEGIN")
    other.run("LOCK TABLE calls IN SHARE MODE")
    release = threading.Timer(seconds, other.run, ["ROLLBACK"])
    release.start()
    try:
        yield
    finally:
        release.join()
        other.close()


def cancel_when_waiting(address: str, event: str) -> None:
    """Cancels the statement that a connection of the ledger waits in, once there is one."""
    for _ in range(500):
        if rows(
            address,
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
            f" WHERE application_name = 'areopagus' AND wait_event = '{event}'",
        ):
            return
        time.sleep(0.01)
    raise AssertionError("nobody waits")


async def test_a_limit_on_the_time_of_statements_breaks_no_ledger(address: str) -> None:
    Ledger.open(address).close()
    rows(address, f"ALTER ROLE {USER} SET statement_timeout = '200ms'")
    try:
        with Ledger.open(address) as ledger:
            with locked(address, 0.5):
                assert await pay(ledger, 1) == 0
            assert await pay(ledger, 2) == 0
    finally:
        rows(address, f"ALTER ROLE {USER} RESET statement_timeout")
    totals = ledger_stats(address).backends[0]
    assert (totals.calls, totals.duplicates, totals.repeats) == (2, 0, 0)


async def test_a_statement_that_is_cancelled_is_done_again(address: str) -> None:
    with Ledger.open(address) as ledger:
        with locked(address, 0.3):
            cancelling = asyncio.to_thread(cancel_when_waiting, address, "relation")
            repeats, _ = await asyncio.gather(pay(ledger, 1), cancelling)
        assert repeats == 0
        assert await pay(ledger, 2) == 0
        assert ledger.abandoned() == 0
    totals = ledger_stats(address).backends[0]
    assert (totals.calls, totals.duplicates, totals.repeats) == (2, 0, 0)


async def test_a_commit_that_is_cancelled_is_done_once(address: str) -> None:
    with Ledger.open(address) as ledger:
        rows(address, "CREATE SEQUENCE slow")
        rows(
            address,
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN"
            " IF nextval(''slow'') = 1 THEN PERFORM pg_sleep(20); END IF; RETURN NULL; END'",
        )
        rows(
            address,
            "CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON calls DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION wait()",
        )
        cancelling = asyncio.to_thread(cancel_when_waiting, address, "PgSleep")
        repeats, *_ = await asyncio.gather(pay(ledger, 1), cancelling)
        assert repeats == 0
        assert await pay(ledger, 2) == 0
        assert ledger.abandoned() == 0
    totals = ledger_stats(address).backends[0]
    assert (totals.calls, totals.duplicates, totals.repeats) == (2, 0, 0)


def test_a_connection_that_the_server_gave_up_is_made_anew() -> None:
    from pg8000.exceptions import DatabaseError

    address = PostgresAddress.parse("postgresql://u@127.0.0.1/d")
    for code in ("08006", "25P03", "25P04", "53300", "57014", "57P01", "57P05"):
        assert isinstance(told(DatabaseError({"C": code, "M": "so"}), address), ServerGoneError)
    assert isinstance(told(DatabaseError({"C": "42601", "M": "so"}), address), StoreError)


async def test_two_who_store_the_same_keys_in_opposite_order_do_not_stop_each_other(
    address: str,
) -> None:
    with Ledger.open(address) as one, Ledger.open(address) as two:
        for turn in range(3):
            numbers = range(50 * turn, 50 * turn + 50)
            await asyncio.gather(
                *(pay(one, n) for n in numbers), *(pay(two, n) for n in reversed(numbers))
            )
    totals = ledger_stats(address).backends[0]
    assert (totals.calls, totals.duplicates) == (150, 150)


async def test_one_key_twice_in_one_commit_is_one_reply_and_one_double(address: str) -> None:
    with Ledger.open(address) as ledger:
        await asyncio.gather(*(pay(ledger, 1) for _ in range(5)))
    totals = ledger_stats(address).backends[0]
    assert (totals.calls, totals.duplicates) == (1, 4)


_BEGINNER = """
import asyncio, sys, time
from areopagus.records.ledger import Ledger

async def main():
    ledger = Ledger.open(sys.argv[1])
    await asyncio.gather(*(ledger.begin(f"{n:064x}", backend="b") for n in range(5)))
    print("begun", flush=True)
    time.sleep(60)

asyncio.run(main())
"""


async def test_a_process_killed_on_any_machine_is_known_to_be_dead_at_once(
    address: str, tmp_path: Path
) -> None:
    with Ledger.open(address) as ledger:
        process = Command(address, folder=tmp_path, code=_BEGINNER)
        await asyncio.to_thread(until, lambda: process.written("stdout") == "begun\n")
        # As if it ran elsewhere: its process id says nothing here.
        rows(address, "UPDATE sessions SET host = 'elsewhere', pid = 1")
        assert ledger.abandoned() == 0
        process.kill()
        for _ in range(100):  # the server sees the closed connection within milliseconds
            if ledger.abandoned():
                break
            await asyncio.sleep(0.02)
        assert ledger.abandoned() == 5
        assert await pay(ledger, 1) == 1
        assert ledger.abandoned() == 4


async def test_a_schema_may_be_called_what_sql_has_a_word_for(postgres: PostgresServer) -> None:
    for schema in ("user", "order", "current_user", "_1"):
        address = postgres.address(schema)
        with Ledger.open(address) as ledger:
            await pay(ledger, 1)
        with Ledger.open(address, read_only=True) as ledger:
            assert set(ledger.lookup([key(1)])) == {key(1)}
        tables = rows(
            address, "SELECT DISTINCT schemaname FROM pg_tables WHERE tablename = 'calls'"
        )
        assert (schema,) in tables
        assert ledger_stats(address).backends[0].calls == 1


def test_a_wrong_password_is_told_without_showing_it(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The tests on a cluster put the right one there for the nodes.
    monkeypatch.delenv("PGPASSWORD", raising=False)
    with pytest.raises(StoreError, match="refuses the user ledger") as caught:
        Ledger.open(postgres.address(password="canary-wrong"))
    assert "canary" not in str(caught.value)
    with pytest.raises(StoreError, match="refuses the user ledger"):
        Ledger.open(without_password(postgres.address()))


def test_the_password_may_stand_in_the_environment(
    postgres: PostgresServer, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with Ledger.open(without_password(address)) as ledger, Ledger.open(ledger.place) as again:
        assert ledger.secret == again.secret


def test_a_database_that_is_not_there_is_told(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError, match="no database nowhere: make it"):
        Ledger.open(postgres.address().replace("/postgres?", "/nowhere?"))


def test_a_server_without_tls_is_not_spoken_to_where_tls_was_asked_for(address: str) -> None:
    with pytest.raises(StoreError, match=r"nobody answers for the ledger .*SSL"):
        Ledger.open(f"{address}&sslmode=require")


def test_a_run_pays_once_and_names_the_ledger_without_its_password(
    address: str, tmp_path: Path
) -> None:
    rows = [
        {"response_id": f"r{n}", "prompt_text": "Is it just?", "response_text": f"Perhaps {n}."}
        for n in range(3)
    ]
    backend = ScriptedBackend({"overall": 7})
    for _ in range(2):
        with Panel(backend, mode="holistic", ledger=address) as panel:
            finished = panel.score_many(rows, tmp_path / "run")
    assert finished.state == "complete"
    assert ledger_stats(address).backends[0].calls == 30
    text = (tmp_path / "run" / "run.json").read_text()
    assert "postgresql://ledger@127.0.0.1" in text
    for file in (tmp_path / "run").rglob("*"):
        assert file.is_dir() or PASSWORD.encode() not in file.read_bytes(), file


async def test_the_ledger_commands_work_on_a_server(address: str) -> None:
    with Ledger.open(address) as ledger:
        await asyncio.gather(*(pay(ledger, n) for n in range(3)))
        pending_call = await ledger.begin(key(9), backend="b")
        error = ProviderError("server", "500", status=500)
        await ledger.fail(pending_call, error, attempts=6, may_be_billed=True)

    def told(*words: str) -> str:
        done = CliRunner().invoke(cli, ["ledger", *words, "--ledger", address])
        assert done.exit_code == 0, done.output
        assert PASSWORD not in done.output
        return done.output

    stats = await asyncio.to_thread(told, "stats")
    assert "postgresql://ledger@127.0.0.1" in stats
    assert "failed: b: server: 1 call" in stats
    assert key(2)[:8] in await asyncio.to_thread(told, "show")
    assert key(2) in await asyncio.to_thread(told, "show", key(2))
    removed = await asyncio.to_thread(told, "prune", "--backend", "b", "--yes")
    assert "3 paid calls (they cost $0.0300" in removed
    assert "Nothing to prune." in await asyncio.to_thread(told, "prune", "--failures", "--yes")


@contextlib.contextmanager
def cut_after_commit(server_port: int) -> Iterator[tuple[int, threading.Event]]:
    """A way to the server that breaks, when told to, between a COMMIT and its answer."""
    cut = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))
    open_lines: list[socket.socket] = []

    def carry(source: socket.socket, target: socket.socket, from_client: bool) -> None:
        """Both ways; what the server says to a COMMIT that is to be cut is not carried."""
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if from_client and b"COMMIT" in data and cut.is_set():
                    cut.clear()
                    doomed.append(target)
                elif not from_client and source in doomed:
                    break
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    doomed: list[socket.socket] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(("127.0.0.1", server_port))
                open_lines.extend((client, server))
                for ends in ((client, server, True), (server, client, False)):
                    threading.Thread(target=carry, args=ends, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listening.getsockname()[1], cut
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for line in open_lines:
            line.close()
