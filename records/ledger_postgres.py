"""A ledger in a schema of a PostgreSQL database, for many processes on many machines.

The tables are those of the SQLite ledger (see `ledger_sqlite`), with these differences:

    meta        also `application` and `version`, which mark the schema as a ledger
    sessions    `batch`: number of the last commit of this session

A session holds an advisory lock for as long as its connection lives. So a process that was killed,
on whatever machine, is told from a living one at once and without clocks. Connect directly, or
through a pool that gives each client a connection of its own: advisory locks belong to one.

When the server goes away, the writer connects again for a minute. A commit of which nobody knows
whether it was done carries its number; it is done again only where that number is not there yet.
"""

from __future__ import annotations

import secrets
import time
import zlib
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ..errors import StoreError
from .ledger_postgres_address import PostgresAddress
from .ledger_postgres_link import Link, ServerGoneError, TryAgainError
from .ledger_session import this_process
from .ledger_store import SESSION_SHIFT

APPLICATION = b"areopagus ledger"
SCHEMA_VERSION = 2
RECONNECT_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_TURNS = 20
_TABLES = {"meta", "sessions", "intents", "calls", "failures", "capabilities"}
_SINCE_2 = 'CREATE TABLE requests(name text COLLATE "C" PRIMARY KEY, description text NOT NULL)'
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
    request text NOT NULL, reply bytea NOT NULL);
CREATE TABLE failures(
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL, backend text NOT NULL,
    session bigint NOT NULL, failed_at float8 NOT NULL, fault text NOT NULL, detail text NOT NULL,
    status bigint, attempts bigint NOT NULL, may_be_billed bigint NOT NULL);
CREATE TABLE capabilities(
    backend text PRIMARY KEY, rung text NOT NULL, learned_at float8 NOT NULL);
"""
_CLAIM = (
    "UPDATE sessions SET batch = :batch, heartbeat_at = extract(epoch FROM clock_timestamp())"
    " WHERE id = :session AND batch < :batch RETURNING id"
)
_HOLDERS = (
    "FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND granted"
    " AND classid = CAST(:space AS oid)"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)

Outcome = TypeVar("Outcome")


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
        if not _version(link, self._address):
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

    def delete_among(self, statement: str, chosen: Sequence[Any]) -> None:
        """A statement like that of `rows_among`, which takes rows away."""
        self.rows_among(statement, sorted(chosen))

    def notes_of_others(self, keys: Sequence[str]) -> list[Any]:
        """Number and key of the notes on these keys that other sessions made."""
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
        if _version(link, self._address) < SCHEMA_VERSION:
            _bring_up_to_date(link, self._address)
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


def _version(link: Link, address: PostgresAddress) -> int:
    """The version of the schema's ledger; 0 where it is empty or missing."""
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


def _bring_up_to_date(link: Link, address: PostgresAddress) -> None:
    """Makes schema and tables that are missing, once, whoever else is about to."""
    ((encoding,),) = link.run("SELECT current_setting('server_encoding')")
    if encoding != "UTF8":
        raise StoreError(
            f"{address.shown}: the database's encoding is {encoding}, which cannot hold every "
            "reply: make one with createdb --encoding=UTF8 --template=template0"
        )
    link.run("BEGIN")
    try:
        link.run("SELECT pg_advisory_xact_lock(hashtext('areopagus ledger'))")
        version = _version(link, address)  # another process may have been first
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
        elif version == 1:
            link.run(_SINCE_2)
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
