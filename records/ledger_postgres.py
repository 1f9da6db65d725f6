"""A ledger in a schema of a PostgreSQL database, for many processes on many machines.

A session holds an advisory lock for as long as its connection lives. So a process that was killed,
on whatever machine, is told from a living one at once and without clocks. Connect directly, or
through a pool that gives each client a connection of its own: advisory locks belong to one.

When the server goes away, the writer connects again for a minute. A commit of which nobody knows
whether it was done carries its number; it is done again only where that number is not there yet.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ..errors import StoreError
from .ledger_postgres_address import PostgresAddress
from .ledger_postgres_link import Link, ServerGoneError, TryAgainError
from .ledger_postgres_schema import bring_up_to_date, version_of
from .ledger_session import this_process
from .ledger_store import SCHEMA_VERSION, SESSION_SHIFT

RECONNECT_S = 60.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_TURNS = 20
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
        if not version_of(link, self._address):
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
        if version_of(link, self._address) < SCHEMA_VERSION:
            bring_up_to_date(link, self._address)
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
