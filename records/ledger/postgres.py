"""The PostgreSQL store of the ledger, for many processes on many machines.

The driver is pg8000: synchronous, as the ledger's one writing thread is and as look-ups are, and
pure Python under a BSD licence. (psycopg is under the LGPL; asyncpg would need an event loop of
its own in the writing thread and another thread for every look-up made on the package's loop.)

A session holds an advisory lock for as long as its connection lives. So a process that was killed,
on whatever machine, is told from a living one at once and without clocks. Connect directly, or
through a pool that gives each client a connection of its own: advisory locks belong to one.

When the server goes away, the writer connects again for a minute. A commit of which nobody knows
whether it was done carries its number; it is done again only where that number is not there yet.

Beside what every ledger has (see `store`), `meta` holds `application` and `version`, which mark the
schema as a ledger, and `sessions` has a column `batch`: number of the session's last commit.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from operator import itemgetter
from typing import Any

from ...errors import StoreError
from .address import PostgresAddress
from .session import this_process
from .store import NEW_SESSION, SCHEMA_VERSION, Outcome, Row, Store

OPERATION_TIMEOUT_S = 60.0
"""After this silence a server counts as gone."""
_LOCK_TIMEOUT = "45s"
_MOST_ROWS = 32
# 57014: a statement that was cancelled, a COMMIT perhaps. In what state that leaves the transaction
# need not be known: as after 25P03 and 25P04 (its time was over), a new connection does it again.
# So it is after a deadlock (40001, 40P01), which the server ends by undoing one transaction.
_GONE = ("08", "25P03", "25P04", "40001", "40P01", "53300", "57014", "57P")
APPLICATION = b"areopagus ledger"
RECONNECT_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_CLAIM = (
    "UPDATE sessions SET batch = :batch, heartbeat_at = :now"
    " WHERE id = :session AND batch < :batch RETURNING id"
)
# Whoever notes calls of the same keys waits in line, so that one of them sees the other's notes. A
# hash of few bits bounds the number of locks; ordered, so that two never wait for each other.
_LOCK_KEYS = (
    "SELECT pg_advisory_xact_lock(CAST(:space AS int), lock) FROM (SELECT DISTINCT"
    " hashtext(key) & 1023 AS lock FROM unnest(CAST(:keys AS text[])) AS key ORDER BY 1) AS ordered"
)
_HOLDERS = (
    "FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted"
    " AND classid = CAST(:space AS oid)"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class ServerGoneError(StoreError):
    """The connection broke or is given up, or none can be had just now: a new one may do better."""


class Link:
    """A connection, with the statements it has prepared.

    Attributes:
        is_closed: whether it is of no more use.
    """

    is_closed = False

    def __init__(self, address: PostgresAddress, *, read_only: bool) -> None:
        """Connects.

        Raises:
            StoreError: the driver is missing, or the server says no.
            ServerGoneError: nobody answers.
        """
        try:
            from pg8000.exceptions import (  # pyright: ignore[reportMissingImports]
                DatabaseError,
                InterfaceError,
            )
            from pg8000.native import Connection  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise StoreError(
                "a PostgreSQL ledger needs the driver: pip install 'areopagus[postgres]'"
            ) from None
        self._address = address
        self._broken: tuple[type[BaseException], ...] = (InterfaceError, OSError)
        self._refused: type[BaseException] = DatabaseError
        self._prepared: dict[str, Any] = {}
        settings = {
            "search_path": address.schema_quoted,
            "lock_timeout": _LOCK_TIMEOUT,
            # A limit that a role or a database has for its usual work is not meant for this.
            "statement_timeout": "0",
            # A server that lost sight of this process must not hold its locks for ever.
            "idle_in_transaction_session_timeout": "45s",
            "tcp_keepalives_idle": "30",
            "tcp_keepalives_interval": "10",
            "tcp_keepalives_count": "3",
        }
        if read_only:
            settings["default_transaction_read_only"] = "on"
        try:
            with ExitStack() as unless_connected:
                line = unless_connected.enter_context(_line_to(address))
                self._connection = Connection(
                    address.user,
                    host=address.host,
                    port=address.port,
                    database=address.database,
                    password=address.password or os.environ.get("PGPASSWORD", ""),
                    application_name="areopagus",
                    ssl_context=address.ssl_context(),
                    startup_params=settings,
                    sock=line,
                )
                unless_connected.pop_all()
        except self._refused as error:
            raise told(error, address) from None
        except self._broken as error:
            raise ServerGoneError(f"{error.__cause__ or error}") from None
        if self.run("SELECT current_setting('synchronous_commit')") == [["off"]]:
            # What `finish` returned for must be on the server's disk.
            self.run("SET synchronous_commit TO on")

    def run(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement with named parameters.

        Raises:
            StoreError: the server refuses it.
            ServerGoneError: the connection is of no use; whether the statement was done is unknown.
        """
        try:
            if not values:
                return list(self._connection.run(statement) or ())
            if statement not in self._prepared:
                self._prepared[statement] = self._connection.prepare(statement)
            return list(self._prepared[statement].run(**values) or ())
        except self._refused as error:
            meaning = told(error, self._address)
            if isinstance(meaning, ServerGoneError):
                self.close()
            raise meaning from None
        except self._broken as error:
            self.close()
            raise ServerGoneError(f"{error.__cause__ or error}") from None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """What is run inside is done as a whole when this ends, or not at all."""
        self.run("BEGIN")
        try:
            yield
        except ServerGoneError:
            raise
        except BaseException:
            self.run("ROLLBACK")
            raise
        self.run("COMMIT")

    def close(self) -> None:
        """Closes the connection, whatever state it is in."""
        self.is_closed = True
        with suppress(*self._broken, self._refused):  # it may be gone already
            self._connection.close()


def told(error: BaseException, address: PostgresAddress) -> StoreError:
    """The StoreError that says what a server's error (`DatabaseError`) means for this ledger."""
    said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    code, message = str(said.get("C", "")), str(said.get("M", error))
    if code.startswith(_GONE):
        return ServerGoneError(message)
    if code.startswith("28"):
        reason = (
            f"the server refuses the user {address.user} ({message}): give the password in the "
            "environment as PGPASSWORD"
        )
    elif code == "3D000":
        reason = f"there is no database {address.database}: make it with createdb"
    elif code in ("42501", "25006"):
        reason = f"the ledger cannot be written or made ({message}): see to the user's privileges"
    elif code in ("53100", "53200"):
        reason = f"{message}; what was stored before is safe: see to the server and go on"
    elif code == "55P03":
        reason = "another connection has kept the ledger locked for too long: end it"
    else:
        reason = f"the ledger failed: {message} {code}".rstrip()
    return StoreError(f"{address.shown}: {reason}")


def _line_to(address: PostgresAddress) -> socket.socket:
    """A connected socket: one time limit for connecting, another for what comes after."""
    if address.host.startswith("/"):
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.connect(f"{address.host}/.s.PGSQL.{address.port}")
        except OSError:
            line.close()
            raise
    else:
        line = socket.create_connection((address.host, address.port), address.connect_timeout)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.settimeout(OPERATION_TIMEOUT_S)
    return line


def _in_groups(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows in groups for a statement each, in which no key (the first column) occurs twice.

    A statement may not meet a row twice, and a document of this many replies stays far from the
    server's limit of 1 GB. In order of their keys: two processes that write the same ones wait for
    each other in line.
    """
    groups: list[dict[Any, Row]] = []
    for key, row in sorted(((next(iter(row.values())), row) for row in rows), key=itemgetter(0)):
        for group in groups:
            if key not in group and len(group) < _MOST_ROWS:
                break
        else:
            groups.append(group := {})
        group[key] = row
    return [list(group.values()) for group in groups]


def _array(values: Sequence[Any]) -> str:
    """Keys or numbers as PostgreSQL writes an array; the driver's own looks at every character."""
    return "{" + json.dumps(list(values))[1:-1] + "}"


def _plain(value: Any) -> Any:
    """The value as JSON has it and PostgreSQL takes it."""
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class PostgresStore(Store):
    """A ledger in a schema of a server's database."""

    types = {  # noqa: RUF012
        "id": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "session_id": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "key": 'text COLLATE "C"',
        "text": "text",
        "bytes": "bytea",
        "integer": "bigint",
        "real": "float8",
        "by_name": "",
    }
    elsewhere = "name another schema with ?schema="

    def __init__(self, address: PostgresAddress, *, read_only: bool) -> None:
        """Connects; to write, schema and tables are made where there are none.

        Raises:
            StoreError: nobody answers, the server says no, there is no ledger to look at, or the
                schema holds something else.
        """
        self.place = address.shown
        self._address = address
        self._read_only = read_only
        self._batch = 0
        self._space = zlib.crc32(address.schema.encode()) & 0x7FFFFFFF
        try:
            self._connect()
        except ServerGoneError as error:
            raise StoreError(
                f"{self.place}: nobody answers for the ledger ({error}): see whether the "
                "server runs and the address is right"
            ) from None

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """See `Store.rows`."""
        if self._read_only:
            return self._patiently(lambda: self._link.run(statement, **values))
        return self._link.run(statement, **values)  # it is the whole transaction that is redone

    def rows_among(self, statement: str, chosen: Sequence[Any]) -> list[Any]:
        """See `Store.rows_among`."""
        return self.rows(f"{statement} = ANY(:chosen)", chosen=_array(chosen)) if chosen else []

    def transaction(self, work: Callable[[], Outcome]) -> Outcome:
        """See `Store.transaction`.

        Each takes its number first. It is refused where an earlier attempt was done after all: one
        that the server is still at holds the row, and is waited for.
        """
        self._batch += 1
        done: list[Outcome] = []

        def commit() -> Outcome:
            run, session = self._link.run, self.session
            with self._link.transaction():
                if run(_CLAIM, batch=self._batch, session=session, now=time.time()):
                    done[:] = [work()]
                elif not (done and run("SELECT id FROM sessions WHERE id = :id", id=session)):
                    raise StoreError(
                        f"{self.place}: the ledger no longer knows this session: it was put back "
                        "to an earlier state, and may lack replies that were stored"
                    )
            return done[0]

        return self._patiently(commit)

    def insert(self, table: str, rows: Sequence[Row], *, tail: str = "") -> None:
        """Inserts the rows, many a statement, as one JSON document each.

        The driver takes longer for each parameter than the server for a document of them.
        """
        for group in _in_groups(rows):
            columns = ", ".join(group[0])
            documents = [{name: _plain(value) for name, value in row.items()} for row in group]
            self._link.run(
                f"INSERT INTO {table}({columns}) SELECT {columns}"  # noqa: S608 - names of our own
                f" FROM json_populate_recordset(CAST(NULL AS {table}), CAST(:documents AS json))"
                f" {tail}",
                documents=json.dumps(documents),
            )

    def marks(self) -> tuple[bool, int, Collection[str]] | None:
        """See `Store.marks`."""
        found = self._link.run(
            "SELECT tablename FROM pg_tables WHERE schemaname = :name", name=self._address.schema
        )
        tables = {name for (name,) in found}
        if not tables:
            return None
        meta = dict(self._link.run("SELECT name, value FROM meta")) if "meta" in tables else {}
        return meta.get("application") == APPLICATION, int(meta.get("version", b"0")), tables

    def set_marks(self) -> None:
        """See `Store.set_marks`."""
        marks = {"application": APPLICATION, "version": str(SCHEMA_VERSION).encode()}
        self.insert(
            "meta",
            [{"name": name, "value": value} for name, value in marks.items()],
            tail="ON CONFLICT(name) DO UPDATE SET value = excluded.value",
        )

    def in_flight_elsewhere(self, keys: Sequence[str]) -> list[Any]:
        """See `Store.in_flight_elsewhere`."""
        self.rows(_LOCK_KEYS, space=~self._space, keys=_array(keys))
        return super().in_flight_elsewhere(keys)

    def living(self, sessions: Collection[int]) -> set[int]:
        """Told by the locks that living sessions hold."""
        held = self.rows(f"SELECT CAST(objid AS bigint) {_HOLDERS}", space=self._space)
        return {number for (number,) in held} & set(sessions)

    def size_bytes(self) -> int:
        """The tables with their indexes."""
        ((size,),) = self.rows(
            "SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bigint)"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " WHERE n.nspname = :name AND c.relkind = 'r'",
            name=self._address.schema,
        )
        return int(size)

    def give_back_space(self) -> None:
        """Nothing: the server uses the space again by itself."""

    def beat(self) -> None:
        """See `Store.beat`; it keeps the session's lock while nothing is written."""
        try:
            super().beat()
        except ServerGoneError:
            with suppress(StoreError):
                # Else the next write connects, and waits for the server if it must.
                self._connect()

    def end_session(self) -> None:
        """See `Store.end_session`."""
        super().end_session()
        # The server would let the lock go by itself, a moment after the connection is closed:
        # whoever looks within that moment would take this session for a living one.
        self._link.run("SELECT pg_advisory_unlock_all()")

    def disconnect(self) -> None:
        """See `Store.disconnect`."""
        self._link.close()

    def _connect(self) -> None:
        self._link = Link(self._address, read_only=self._read_only)
        try:
            self.version = self.found_version(may_be_empty=not self._read_only)
            if not self._read_only:
                self._get_ready_to_write()
        except BaseException:
            self._link.close()
            raise

    def _patiently(self, work: Callable[[], Outcome]) -> Outcome:
        """What the work returns; connects again for as long as `RECONNECT_S`."""
        pause = _FIRST_PAUSE_S
        given_up_at: float | None = None
        while True:
            try:
                if self._link.is_closed:
                    self._connect()
                return work()
            except ServerGoneError as error:
                now = time.monotonic()
                given_up_at = given_up_at or now + RECONNECT_S
                if now >= given_up_at:
                    raise StoreError(
                        f"{self.place}: the server went away and did not come back within "
                        f"{RECONNECT_S:.0f} s ({error}); what was stored before is safe: see to it "
                        "and give the same command again"
                    ) from None
                time.sleep(pause)
                pause = min(_LONGEST_PAUSE_S, 2 * pause)

    def _get_ready_to_write(self) -> None:
        """Creates the tables where there are none, and takes the lock of this session."""
        run = self._link.run
        if self.version < SCHEMA_VERSION:
            with self._link.transaction():
                self.create_tables()
        if not self.session:
            ((self.session,),) = run(
                f"{NEW_SESSION} RETURNING id", **this_process()._asdict(), now=time.time()
            )
        else:
            # The server may not have noticed yet that this session's old connection is gone.
            run(
                f"SELECT pg_terminate_backend(pid) {_HOLDERS} AND objid = CAST(:session AS oid)"
                " AND pid <> pg_backend_pid()",
                space=self._space,
                session=self.session,
            )
        run(
            "SELECT pg_advisory_lock(CAST(:space AS int), CAST(:session AS int))",
            space=self._space,
            session=self.session,
        )

    def create_tables(self) -> None:
        """See `Store.create_tables`; makes the schema too where it is missing.

        Raises:
            StoreError: as `found_version`, or the database's encoding cannot hold every reply.
        """
        run, schema = self._link.run, self._address.schema_quoted
        ((encoding,),) = run("SELECT current_setting('server_encoding')")
        if encoding != "UTF8":
            raise StoreError(
                f"{self.place}: the database's encoding is {encoding}, which cannot hold every "
                "reply: make one with createdb --encoding=UTF8 --template=template0"
            )
        run("SELECT pg_advisory_xact_lock(hashtext('areopagus ledger'))")
        if not run("SELECT 1 FROM pg_namespace WHERE nspname = :name", name=self._address.schema):
            run(f"CREATE SCHEMA {schema}")
            # Replies and the secret are nobody's business but the owner's.
            run(f"REVOKE ALL ON SCHEMA {schema} FROM PUBLIC")
        super().create_tables()
        run("ALTER TABLE sessions ADD COLUMN IF NOT EXISTS batch bigint NOT NULL DEFAULT 0")
        run("CREATE INDEX IF NOT EXISTS intents_by_key ON intents(key)")
