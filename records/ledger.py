"""The ledger: a store of the calls already paid, shared by all runs.

A call is noted before it is sent (`begin`), and its reply is stored before anybody reads it
(`finish`). Both are durable when they return. What is in flight when a process is killed is told
from what is stored, and counted when it is asked again.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import InputError, InputFault, StoreError
from .ledger_session import is_dead
from .ledger_sqlite import (
    decode_reply,
    encode_reply,
    encode_request,
    insert_rows,
    open_for_reading,
    plain_text,
    read_sessions,
    store_error,
)
from .ledger_writer import LedgerWriter
from .reply import Reply

LOOKUP_KEYS = 500
_SESSION_SHIFT = 32


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A paid call: its reply, and what is kept of the request (never its texts, never a key).

    Attributes:
        key: SHA-256 (hex) of the canonical request.
        backend: the backend's name.
        endpoint: its address, "" for the provider's own.
        purpose: judge, repair or respond.
        request: parameters, hashes and labels of the request, JSON-like.
        reply: what came back.
    """

    key: str
    backend: str
    endpoint: str
    purpose: str
    request: Mapping[str, Any]
    reply: Reply


@dataclass(frozen=True, slots=True)
class Intent:
    """A durable note that a call is being sent.

    Attributes:
        id: number of the note.
        key, backend: what is being sent to whom.
        orphans: earlier notes on this key whose process was killed before an outcome was stored.
    """

    id: int
    key: str
    backend: str
    orphans: tuple[int, ...] = ()

    @property
    def repeats(self) -> int:
        """How many times the call may have been paid already."""
        return len(self.orphans)


def default_path() -> Path:
    """The ledger shared by all runs: `$AREOPAGUS_HOME/ledger.sqlite`."""
    from ..documents import home

    return home() / "ledger.sqlite"


class Ledger:
    """An open ledger; `with Ledger.open() as ledger`."""

    def __init__(
        self,
        path: Path,
        reader: sqlite3.Connection,
        writer: LedgerWriter | None,
        secret: bytes,
    ) -> None:
        self.path = path
        self.secret = secret
        self._reader = reader
        self._reading = threading.Lock()
        self._writer = writer
        self._numbers = itertools.count(1)
        if writer is not None:
            # In this order within one commit: an intent may end in the batch that it began in.
            writer.handle("begin", _insert_intents)
            writer.handle("finish", _insert_calls)
            writer.handle("fail", _insert_failures)
            writer.handle("capability", _insert_capabilities)
            writer.start()

    @classmethod
    def open(cls, location: str | Path | None = None, *, read_only: bool = False) -> Ledger:
        """Opens a ledger, and makes it where there is none.

        Args:
            location: the file; `default_path()` when left out.
            read_only: look only; nothing is made, and no writer waits for it.

        Raises:
            InputError: a PostgreSQL address, which this version does not take.
            StoreError: it cannot be opened, or is no ledger of this version.
        """
        if isinstance(location, str) and "://" in location:
            raise InputError(
                [
                    InputFault(
                        "ledger", "must be a file, got an address; PostgreSQL is not taken yet"
                    )
                ],
                hint="Name a file with --ledger, or leave it out for the shared one.",
            )
        path = Path(location).expanduser() if location is not None else default_path()
        writer = None if read_only else LedgerWriter(path)
        try:
            reader = open_for_reading(path)
            try:
                row = reader.execute("SELECT value FROM meta WHERE name = 'secret'").fetchone()
            except sqlite3.Error as error:
                reader.close()
                raise store_error(error, path) from error
            if row is None:
                reader.close()
                raise StoreError(f"{path}: this ledger is damaged (its secret is missing)")
            return cls(path, reader, writer, bytes(row[0]))
        except BaseException:
            if writer is not None:
                writer.close()
            raise

    @property
    def read_only(self) -> bool:
        """Whether nothing can be stored through this object."""
        return self._writer is None

    def lookup(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The stored replies of these keys; those without one are left out.

        Raises:
            StoreError: the file cannot be read.
        """
        found: dict[str, Reply] = {}
        for start in range(0, len(keys), LOOKUP_KEYS):
            part = keys[start : start + LOOKUP_KEYS]
            marks = ",".join("?" * len(part))
            for key, stored in self._read(
                f"SELECT key, reply FROM calls WHERE key IN ({marks})",  # noqa: S608 - only marks
                part,
            ):
                try:
                    found[key] = decode_reply(stored)
                except ValueError as error:
                    raise StoreError(
                        f"{self.path}: the stored reply {key[:12]} cannot be read ({error})"
                    ) from error
        return found

    async def begin(self, key: str, *, backend: str) -> Intent:
        """Notes durably that a call is about to be sent.

        Raises:
            StoreError: it cannot be stored, so the call must not be sent.
        """
        writer = self._writable()
        number = (writer.session << _SESSION_SHIFT) | next(self._numbers)
        row = (number, key, plain_text(backend), time.time())
        try:
            orphans = await writer.write("begin", row)
        except asyncio.CancelledError:
            # The note is handed over already, and nobody will ever know its number: nothing was
            # sent, so it must not look like a call in flight.
            writer.post("fail", (None, [number]))
            raise
        return Intent(number, key, backend, orphans)

    async def finish(self, intent: Intent, record: CallRecord) -> None:
        """Stores the reply and ends the note, in one transaction.

        Where another process has stored a reply to the key meanwhile, the first one is kept and
        the second counted.

        Raises:
            StoreError: it could not be stored.
        """
        reply, usage = record.reply, record.reply.usage
        row = (
            record.key,
            plain_text(record.backend),
            plain_text(record.endpoint),
            record.purpose,
            intent.id >> _SESSION_SHIFT,
            reply.created_at or time.time(),
            _countable(usage.input_tokens),
            _countable(usage.output_tokens),
            reply.cost_usd,
            _plain(reply.finish_reason),
            _plain(reply.answered_by),
            intent.repeats,
            encode_request(record.request),
            encode_reply(reply),
        )
        await self._writable().write("finish", (row, [intent.id, *intent.orphans]))

    async def fail(
        self,
        intent: Intent,
        *,
        fault: str,
        detail: str,
        status: int | None,
        attempts: int,
        may_be_billed: bool,
    ) -> None:
        """Stores that the call brought no reply, and ends the note.

        Raises:
            StoreError: it could not be stored.
        """
        row = (
            intent.key,
            plain_text(intent.backend),
            intent.id >> _SESSION_SHIFT,
            time.time(),
            fault,
            plain_text(detail),
            status,
            attempts,
            int(may_be_billed),
        )
        await self._writable().write("fail", (row, [intent.id]))

    async def withdraw(self, intent: Intent) -> None:
        """Ends the note of a call that was not sent after all."""
        await self._writable().write("fail", (None, [intent.id]))

    def capability(self, backend: str) -> str | None:
        """The form of structured output that was learned for a backend, or None."""
        for (rung,) in self._read("SELECT rung FROM capabilities WHERE backend = ?", (backend,)):
            return str(rung)
        return None

    def set_capability(self, backend: str, rung: str) -> None:
        """Remembers the form of structured output that a backend takes."""
        self._writable().write_now("capability", (backend, rung, time.time()))

    def orphans(self) -> int:
        """Calls that were in flight when their process was killed, and are not answered since."""
        rows = self._read(
            "SELECT id FROM intents WHERE key NOT IN (SELECT key FROM calls)",
            (),
        )
        own = self._writer.session if self._writer is not None else None
        try:
            with self._reading:
                return len(_of_the_dead(self._reader, [number for (number,) in rows], own))
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error

    def close(self) -> None:
        """Writes what is pending and closes the file; a second time does nothing."""
        # The reader first: the log is folded into the file only by a last one that may write.
        with self._reading:
            self._reader.close()
        if self._writer is not None:
            self._writer.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _writable(self) -> LedgerWriter:
        if self._writer is None:
            raise StoreError(f"{self.path}: the ledger was opened for reading only")
        return self._writer

    def _read(self, statement: str, values: Sequence[Any]) -> list[Any]:
        try:
            with self._reading:
                return self._reader.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error


def _insert_intents(connection: sqlite3.Connection, rows: Sequence[Any]) -> Sequence[Any]:
    """Returns, for each row, the notes on its key that a killed process has left."""
    found: dict[str, list[int]] = {}
    for start in range(0, len(rows), LOOKUP_KEYS):
        keys = [row[1] for row in rows[start : start + LOOKUP_KEYS]]
        marks = ",".join("?" * len(keys))
        for number, key in connection.execute(
            f"SELECT id, key FROM intents WHERE key IN ({marks})",  # noqa: S608 - only marks
            keys,
        ):
            found.setdefault(key, []).append(number)
    if found:
        own = rows[0][0] >> _SESSION_SHIFT
        dead = set(_of_the_dead(connection, [n for ids in found.values() for n in ids], own))
        found = {key: [n for n in ids if n in dead] for key, ids in found.items()}
    insert_rows(connection, "INSERT INTO intents(id, key, backend, begun_at)", rows)
    return [tuple(found.get(row[1], ())) for row in rows]


def _of_the_dead(
    connection: sqlite3.Connection, numbers: Sequence[int], own: int | None
) -> list[int]:
    """Those of these notes whose session is over and that nobody will bring an outcome for."""
    owners = {number >> _SESSION_SHIFT for number in numbers} - {own}
    if not owners:
        return []
    known = {session.id: session for session in read_sessions(connection, sorted(owners))}
    dead = {owner for owner in owners if owner not in known or is_dead(known[owner])}
    return [number for number in numbers if number >> _SESSION_SHIFT in dead]


def _insert_calls(connection: sqlite3.Connection, rows: Sequence[Any]) -> Sequence[Any]:
    insert_rows(
        connection,
        "INSERT INTO calls(key, backend, endpoint, purpose, session, created_at, input_tokens,"
        " output_tokens, cost_usd, finish_reason, answered_by, repeats, request, reply)",
        [row for row, _ in rows],
        # The first reply is the one that others may have built on.
        "ON CONFLICT(key) DO UPDATE SET duplicates = duplicates + 1,"
        " duplicate_cost_usd = CASE WHEN duplicates = 0 THEN excluded.cost_usd"
        " ELSE duplicate_cost_usd + excluded.cost_usd END",
    )
    return _end(connection, rows)


def _insert_failures(connection: sqlite3.Connection, rows: Sequence[Any]) -> Sequence[Any]:
    insert_rows(
        connection,
        "INSERT INTO failures(key, backend, session, failed_at, fault, detail, status, attempts,"
        " may_be_billed)",
        [row for row, _ in rows if row is not None],
    )
    return _end(connection, rows)


def _insert_capabilities(connection: sqlite3.Connection, rows: Sequence[Any]) -> Sequence[Any]:
    connection.executemany("INSERT OR REPLACE INTO capabilities VALUES (?, ?, ?)", rows)
    return [None] * len(rows)


def _end(connection: sqlite3.Connection, rows: Sequence[Any]) -> Sequence[Any]:
    ended = [number for _, numbers in rows for number in numbers]
    for start in range(0, len(ended), LOOKUP_KEYS):
        part = ended[start : start + LOOKUP_KEYS]
        marks = ",".join("?" * len(part))
        connection.execute(f"DELETE FROM intents WHERE id IN ({marks})", part)  # noqa: S608
    return [None] * len(rows)


def _countable(count: int | None) -> int | None:
    """A count that the column holds; an endpoint can claim any."""
    return count if count is None or abs(count) < 2**63 else None


def _plain(text: str | None) -> str | None:
    return None if text is None else plain_text(text)
