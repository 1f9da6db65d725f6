"""The PostgreSQL store of the ledger, for many processes on many machines.

The driver is pg8000: synchronous, as the ledger's one writing thread is and as look-ups are, and
pure Python under a BSD licence. (psycopg is under the LGPL; asyncpg would need an event loop of
its own in the writing thread and another thread for every look-up made on the package's loop.)

A session holds an advisory lock for as long as its connection lives. So a process that was killed,
on whatever machine, is told from a living one at once and without clocks. Connect directly, or
through a pool that gives each client a connection of its own: advisory locks belong to one.

When the server goes away, the writer connects again for a minute. A commit of which nobody knows
whether it was done carries its number; it is done again only where that number is not there yet.

The tables are those of the SQLite ledger (see `sqlite`), with these differences:

    meta        also `application` and `version`, which mark the schema as a ledger
    sessions    `batch`: number of the last commit of this session
"""

from __future__ import annotations

import json
import math
import secrets
import socket
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from ...errors import StoreError
from .address import PostgresAddress
from .session import this_process
from .store import SCHEMA_VERSION, SESSION_SHIFT

OPERATION_TIMEOUT_S = 60.0
"""After this silence a server counts as gone."""
_LOCK_TIMEOUT = "45s"
_MOST_ROWS, _MOST_BYTES = 256, 8_000_000
# 57014: a statement that was cancelled, a COMMIT perhaps. In what state that leaves the transaction
# need not be known: as after 25P03 and 25P04 (its time was over), a new connection does it again.
_GONE = ("08", "25P03", "25P04", "53300", "57014", "57P")
_TRY_AGAIN = ("40001", "40P01")
_TYPES = {
    "id": "bigint",
    "session": "bigint",
    "begun_at": "float8",
    "created_at": "float8",
    "failed_at": "float8",
    "learned_at": "float8",
    "input_tokens": "bigint",
    "output_tokens": "bigint",
    "cost_usd": "float8",
    "repeats": "bigint",
    "status": "bigint",
    "attempts": "bigint",
    "may_be_billed": "bigint",
    "checksum": "bigint",
}
APPLICATION = b"areopagus ledger"
_TABLES = {"meta", "sessions", "intents", "calls", "failures", "capabilities"}
_SINCE_2 = 'CREATE TABLE requests(name text COLLATE "C" PRIMARY KEY, description text NOT NULL)'
_SINCE_3 = "ALTER TABLE calls ADD COLUMN checksum bigint"
_SCHEMA = """
CREATE TABLE meta(name text PRIMARY KEY, value bytea NOT NULL);
CREATE TABLE sessions(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, host text NOT NULL, pid bigint NOT NULL,
    process_started text NOT NULL, started_at float8 NOT NULL, heartbeat_at float8 NOT NULL,
    ended_at float8, batch bigint NOT NULL DEFAULT 0);
CREATE TABLE intents(
    id bigint PRIMARY KEY, key text COLLATE "C" NOT NULL, backend text NOT NULL,
    begun_at float8 NOT NULL);
CREATE INDEX intents_by_key ON intents(key);
CREATE TABLE calls(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text COLLATE "C" NOT NULL UNIQUE,
    backend text NOT NULL, endpoint text NOT NULL, purpose text NOT NULL, session bigint NOT NULL,
    created_at float8 NOT NULL, input_tokens bigint, output_tokens bigint, cost_usd float8,
    finish_reason text, answered_by text, repeats bigint NOT NULL,
    duplicates bigint NOT NULL DEFAULT 0, duplicate_cost_usd float8,
    request text NOT NULL, reply bytea NOT NULL, checksum bigint);
CREATE TABLE failures(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL, backend text NOT NULL,
    session bigint NOT NULL, failed_at float8 NOT NULL, fault text NOT NULL, detail text NOT NULL,
    status bigint, attempts bigint NOT NULL, may_be_billed bigint NOT NULL);
CREATE TABLE capabilities(
    backend text PRIMARY KEY, rung text NOT NULL, learned_at float8 NOT NULL);
"""
RECONNECT_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_TURNS = 20
_CLAIM = (
    "UPDATE sessions SET batch = :batch, heartbeat_at = extract(epoch FROM clock_timestamp())"
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
Outcome = TypeVar("Outcome")


class ServerGoneError(Exception):
    """The connection broke or is given up, or none can be had just now."""


class TryAgainError(Exception):
    """The server undid a transaction because two got into each other's way."""


class Link:
    """A connection, with the statements it has prepared."""

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
        line: socket.socket | None = None
        try:
            line = _line_to(address)
            self._connection = Connection(
                address.user,
                host=address.host,
                port=address.port,
                database=address.database,
                password=address.password_now,
                application_name="areopagus",
                ssl_context=False if address.host.startswith("/") else address.ssl_context(),
                startup_params=settings,
                sock=line,
            )
        except self._refused as error:
            line.close() if line else None
            raise self._told(error) from None
        except self._broken as error:
            line.close() if line else None
            reason = error.__cause__ or error
            raise ServerGoneError(f"{reason}") from None
        if self.run("SELECT current_setting('synchronous_commit')") == [["off"]]:
            # What `finish` returned for must be on the server's disk.
            self.run("SET synchronous_commit TO on")

    def run(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement with named parameters.

        Raises:
            StoreError: the server refuses it.
            ServerGoneError: the connection broke; whether the statement was done is unknown.
            TryAgainError: its transaction was undone, and may be done again.
        """
        try:
            if not values:
                return list(self._connection.run(statement) or ())
            if statement not in self._prepared:
                self._prepared[statement] = self._connection.prepare(statement)
            return list(self._prepared[statement].run(**values) or ())
        except self._refused as error:
            meaning = self._told(error)
            if isinstance(meaning, ServerGoneError):
                self.close()
            raise meaning from None
        except self._broken as error:
            self.close()
            raise ServerGoneError(f"{error.__cause__ or error}") from None

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, tail: str = ""
    ) -> None:
        """Inserts the rows, a few hundred a statement, as one JSON document each.

        Args:
            tail: the conflict clause, on the first column.
        """
        statement = _insertion(table, tuple(columns), tail)
        for group in _without_repeats(rows) if tail else [list(rows)]:
            for documents in _in_parts(columns, group):
                self.run(statement, documents=documents)

    def close(self) -> None:
        """Closes the connection, whatever state it is in."""
        try:
            self._connection.close()
        except (*self._broken, self._refused):
            pass  # it is gone already

    def _told(self, error: BaseException) -> Exception:
        return told(error, self._address)


def told(error: BaseException, address: PostgresAddress) -> Exception:
    """The exception that says what a server's error (`DatabaseError`) means for this ledger."""
    said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    code, message = str(said.get("C", "")), str(said.get("M", error))
    if code.startswith(_GONE):
        return ServerGoneError(message)
    if code in _TRY_AGAIN:
        return TryAgainError(message)
    place = address.shown
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
    return StoreError(f"{place}: {reason}")


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


@lru_cache(maxsize=64)
def _insertion(table: str, columns: tuple[str, ...], tail: str) -> str:
    types = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in columns)
    taken = ", ".join("decode(reply, 'base64')" if name == "reply" else name for name in columns)
    # In one order everywhere: two processes that write the same keys wait for each other in line.
    return (
        f"INSERT INTO {table}({', '.join(columns)}) SELECT {taken}"  # noqa: S608 - our own names
        f" FROM json_to_recordset(CAST(:documents AS json)) AS given({types})"
        f" ORDER BY {columns[0]} {tail}"
    )


def _without_repeats(rows: Sequence[Sequence[Any]]) -> list[list[Sequence[Any]]]:
    """The rows in groups in which no key occurs twice: one statement may not meet a row twice."""
    groups: list[list[Sequence[Any]]] = []
    times: dict[Any, int] = {}
    for row in rows:
        turn = times.get(row[0], 0)
        times[row[0]] = turn + 1
        if turn == len(groups):
            groups.append([])
        groups[turn].append(row)
    return groups


def _in_parts(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    parts: list[str] = []
    waiting: list[str] = []
    size = 0
    for row in rows:
        document = json.dumps({name: _plain(v) for name, v in zip(columns, row, strict=True)})
        if waiting and (len(waiting) >= _MOST_ROWS or size + len(document) > _MOST_BYTES):
            parts.append(f"[{','.join(waiting)}]")
            waiting, size = [], 0
        waiting.append(document)
        size += len(document)
    if waiting:
        parts.append(f"[{','.join(waiting)}]")
    return parts


def _plain(value: Any) -> Any:
    """The value as JSON has it and PostgreSQL takes it, which has no NUL in a text."""
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, str):
        return value.replace("\x00", "\\x00")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def version_of(link: Link, address: PostgresAddress) -> int:
    """The version of the schema's ledger; 0 where it is empty or missing.

    Raises:
        StoreError: it holds something else, a ledger of a newer version, or a damaged one.
    """
    tables = {
        name
        for (name,) in link.run(
            "SELECT tablename FROM pg_tables WHERE schemaname = :name", name=address.schema
        )
    }
    if not tables:
        return 0
    if "meta" not in tables:
        raise StoreError(
            f"{address.shown}: the schema {address.schema} holds tables that are no ledger, and "
            "was left as it is: name another with ?schema="
        )
    meta = dict(link.run("SELECT name, value FROM meta"))
    if meta.get("application") != APPLICATION:
        raise StoreError(
            f"{address.shown}: the schema {address.schema} is not a ledger and was left as it is: "
            "name another with ?schema="
        )
    version = int(meta.get("version", b"0"))
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{address.shown}: this ledger was written by a newer version of areopagus (ledger "
            f"version {version}, this one knows {SCHEMA_VERSION}) and was left as it is: upgrade "
            "areopagus, or name another schema with ?schema="
        )
    if version < 1 or not tables >= (_TABLES if version == 1 else {*_TABLES, "requests"}):
        raise StoreError(
            f"{address.shown}: this ledger is damaged (tables are missing): put back a copy"
        )
    return version


def bring_up_to_date(link: Link, address: PostgresAddress) -> None:
    """Makes schema and tables that are missing, once, whoever else is about to.

    Raises:
        StoreError: as `version_of`, or the database's encoding cannot hold every reply.
    """
    ((encoding,),) = link.run("SELECT current_setting('server_encoding')")
    if encoding != "UTF8":
        raise StoreError(
            f"{address.shown}: the database's encoding is {encoding}, which cannot hold every "
            "reply: make one with createdb --encoding=UTF8 --template=template0"
        )
    link.run("BEGIN")
    try:
        link.run("SELECT pg_advisory_xact_lock(hashtext('areopagus ledger'))")
        version = version_of(link, address)  # another process may have been first
        if version == 0:
            known = link.run(
                "SELECT 1 FROM pg_namespace WHERE nspname = :name", name=address.schema
            )
            if not known:
                link.run(f"CREATE SCHEMA {address.schema_quoted}")
                # Replies and the secret are nobody's business but the owner's.
                link.run(f"REVOKE ALL ON SCHEMA {address.schema_quoted} FROM PUBLIC")
            for statement in (_SINCE_2, *_SCHEMA.split(";\n")):
                if statement.strip():
                    link.run(statement)
            for name, value in (
                ("application", APPLICATION),
                ("version", str(SCHEMA_VERSION).encode()),
                ("secret", secrets.token_bytes(32)),
                ("created_at", str(time.time()).encode()),
            ):
                link.run("INSERT INTO meta VALUES (:name, :value)", name=name, value=value)
        else:
            for number, statement in ((2, _SINCE_2), (3, _SINCE_3)):
                if version < number:
                    link.run(statement)
            link.run(
                "UPDATE meta SET value = :value WHERE name = 'version'",
                value=str(SCHEMA_VERSION).encode(),
            )
        link.run("COMMIT")
    except ServerGoneError:
        raise
    except BaseException:
        link.run("ROLLBACK")
        raise


class PostgresStore:
    """The ledger at this address."""

    def __init__(self, address: PostgresAddress) -> None:
        self.address = address

    @property
    def place(self) -> str:
        """The address without its password."""
        return self.address.shown

    @property
    def path(self) -> Path | None:
        """None: it is on a server."""
        return None

    def reader(self) -> PostgresReader:
        """Connects for looking."""
        return PostgresReader(self.address)

    def writer(self) -> PostgresWriter:
        """Connects for writing, and makes the schema where there is none."""
        return PostgresWriter(self.address)

    def prune(self, statements: Sequence[str], values: dict[str, Any]) -> None:
        """Does the deletions in one transaction; the server uses the space again by itself."""
        writer = PostgresWriter(self.address)
        try:
            writer.transaction(lambda: [writer.rows(each, **values) for each in statements])
        finally:
            writer.end()


class PostgresReader:
    """See `StoreConnection`."""

    read_only = True

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._space = zlib.crc32(address.schema.encode()) & 0x7FFFFFFF
        try:
            self._link = self._connected()
        except ServerGoneError as error:
            raise StoreError(
                f"{address.shown}: nobody answers for the ledger ({error}): see whether the "
                "server runs and the address is right"
            ) from None

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement with named parameters."""
        return self._patiently(lambda: self._link.run(statement, **values))

    def rows_among(self, statement: str, chosen: Sequence[Any]) -> list[Any]:
        """The rows of a statement that ends with the column that must be among the chosen."""
        if not chosen:
            return []
        return self.rows(f"{statement} = ANY(:chosen)", chosen=_array(chosen))

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

    def close(self) -> None:
        """Closes the connection."""
        self._link.close()

    def _connected(self) -> Link:
        link = Link(self._address, read_only=self.read_only)
        try:
            self._greet(link)
        except BaseException:
            link.close()
            raise
        return link

    def _greet(self, link: Link) -> None:
        """Looks whether there is a ledger that can be read."""
        self.version = version_of(link, self._address)
        if not self.version:
            raise StoreError(
                f"{self._address.shown}: there is no ledger here; the first run that makes a call "
                "makes it"
            )

    def _patiently(self, work: Callable[[], Outcome]) -> Outcome:
        """What the work returns; connects again for as long as `RECONNECT_S`."""
        pause, turns = _FIRST_PAUSE_S, 0
        given_up_at: float | None = None
        connected = True
        while True:
            try:
                if not connected:
                    self._link = self._connected()
                    connected = True
                return work()
            except TryAgainError as error:
                turns += 1
                if turns >= _TURNS:
                    raise StoreError(f"{self._address.shown}: {error}") from None
            except ServerGoneError as error:
                connected = False
                now = time.monotonic()
                given_up_at = given_up_at or now + RECONNECT_S
                if now >= given_up_at:
                    raise StoreError(
                        f"{self._address.shown}: the server went away and did not come back within "
                        f"{RECONNECT_S:.0f} s ({error}); what was stored before is safe: see to it "
                        "and give the same command again"
                    ) from None
                time.sleep(pause)
                pause = min(_LONGEST_PAUSE_S, 2 * pause)


class PostgresWriter(PostgresReader):
    """See `WritingConnection`."""

    read_only = False

    def __init__(self, address: PostgresAddress) -> None:
        self.session = 0
        self._batch = 0
        super().__init__(address)

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement; inside a transaction, so that it is the whole that is redone."""
        return self._link.run(statement, **values)

    def transaction(self, work: Callable[[], Outcome]) -> Outcome:
        """What the work returns, when all that it wrote is on the server's disk."""
        self._batch += 1
        done: list[Outcome] = []

        def commit() -> Outcome:
            self._link.run("BEGIN")
            try:
                if self._claim():
                    done[:] = [work()]
                elif not done:
                    raise StoreError(f"{self._address.shown}: the ledger lost this session")
            except ServerGoneError:
                raise
            except BaseException:
                self._link.run("ROLLBACK")
                raise
            self._link.run("COMMIT")
            return done[0]

        return self._patiently(commit)

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, tail: str = ""
    ) -> None:
        """Inserts the rows."""
        self._link.insert(table, columns, rows, tail=tail)

    def change_among(self, statement: str, chosen: Sequence[Any]) -> None:
        """A statement like that of `rows_among`, which changes rows or takes them away."""
        self.rows_among(statement, sorted(chosen))

    def notes_of_others(self, keys: Sequence[str]) -> list[Any]:
        """Number and key of the notes on these keys that other sessions made."""
        self.rows(_LOCK_KEYS, space=~self._space, keys=_array(keys))
        found = self.rows_among("SELECT id, key FROM intents WHERE key", keys)
        return [row for row in found if row[0] >> SESSION_SHIFT != self.session]

    def beat(self) -> None:
        """Keeps the session's lock over a time in which nothing is written."""
        try:
            self._link.run(
                "UPDATE sessions SET heartbeat_at = extract(epoch FROM clock_timestamp())"
                " WHERE id = :session",
                session=self.session,
            )
        except (ServerGoneError, TryAgainError):
            with suppress(ServerGoneError, TryAgainError, StoreError):
                # Else the next write connects, and waits for the server if it must.
                self._link = self._connected()

    def end(self) -> None:
        """Marks the session as ended and closes the connection."""
        with suppress(ServerGoneError, TryAgainError, StoreError):
            self._link.run(
                "UPDATE sessions SET ended_at = extract(epoch FROM clock_timestamp())"
                " WHERE id = :session",
                session=self.session,
            )
            # The server would let the lock go by itself, a moment after the connection is closed:
            # whoever looks within that moment would take this session for a living one.
            self._link.run("SELECT pg_advisory_unlock_all()")
        self._link.close()

    def _claim(self) -> bool:
        """Takes this commit's number; False where an earlier attempt was done after all.

        An earlier attempt that the server is still at holds the row, and is waited for.
        """
        if self._link.run(_CLAIM, batch=self._batch, session=self.session):
            return True
        known = self._link.run("SELECT batch FROM sessions WHERE id = :id", id=self.session)
        if not known:
            raise StoreError(
                f"{self._address.shown}: the ledger no longer knows this session: it was put back "
                "to an earlier state, and may lack replies that were stored"
            )
        return False

    def _greet(self, link: Link) -> None:
        """Makes the ledger where there is none, and takes the lock of this session."""
        if version_of(link, self._address) < SCHEMA_VERSION:
            bring_up_to_date(link, self._address)
        self.version = SCHEMA_VERSION
        if not self.session:
            me = this_process()
            ((self.session,),) = link.run(
                "INSERT INTO sessions(host, pid, process_started, started_at, heartbeat_at)"
                " SELECT :host, CAST(:pid AS bigint), :started, t, t"
                " FROM (SELECT extract(epoch FROM clock_timestamp())) AS now(t) RETURNING id",
                host=me.host,
                pid=me.pid,
                started=me.started,
            )
        else:
            # The server may not have noticed yet that this session's old connection is gone.
            link.run(
                f"SELECT pg_terminate_backend(pid) {_HOLDERS} AND objid = CAST(:session AS oid)"
                " AND pid <> pg_backend_pid()",
                space=self._space,
                session=self.session,
            )
        link.run(
            "SELECT pg_advisory_lock(CAST(:space AS int), CAST(:session AS int))",
            space=self._space,
            session=self.session,
        )


def _array(values: Sequence[Any]) -> str:
    """The values as PostgreSQL writes an array; the driver's own goes through every character."""
    quoted = (str(v).replace("\\", "\\\\").replace('"', '\\"') for v in values)
    return "{" + ",".join(f'"{value}"' for value in quoted) + "}"
