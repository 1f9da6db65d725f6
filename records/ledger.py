"""The ledger: a store of the calls already paid, shared by all runs.

A call is noted before it is sent (`begin`), and its reply is stored before anybody reads it
(`finish`). Both are durable when they return. What is in flight when a process is killed is told
from what is stored, and counted when it is asked again.
"""

from __future__ import annotations

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
        repeats: earlier notes on this key whose process was killed before an outcome was stored:
            so many times the call may have been paid already.
    """

    id: int
    key: str
    backend: str
    repeats: int


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
        self._orphans: dict[str, list[int]] = {}
        if writer is not None:
            # In this order within one commit: an intent may end in the batch that it began in.
            writer.handle("begin", _insert_intents)
            writer.handle("finish", _insert_calls)
            writer.handle("fail", _insert_failures)
            writer.handle("capability", _insert_capabilities)
            self._orphans = self._find_orphans()
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
                [InputFault("ledger", "must be a file in this version, got a database address")],
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
        intent = Intent(number, key, backend, len(self._orphans.get(key, ())))
        await writer.write("begin", (number, key, backend, time.time()))
        return intent

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
            record.backend,
            record.endpoint,
            record.purpose,
            intent.id >> _SESSION_SHIFT,
            reply.created_at or time.time(),
            usage.input_tokens,
            usage.output_tokens,
            reply.cost_usd,
            _plain(reply.finish_reason),
            _plain(reply.answered_by),
            intent.repeats,
            encode_request(record.request),
            encode_reply(reply),
        )
        ended = [intent.id, *self._orphans.get(intent.key, ())]
        await self._writable().write("finish", (row, ended))
        self._orphans.pop(intent.key, None)

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
            intent.backend,
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
        return sum(map(len, self._find_orphans().values()))

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

    def _find_orphans(self) -> dict[str, list[int]]:
        rows = self._read("SELECT id, key FROM intents", ())
        owners = {number >> _SESSION_SHIFT for number, _ in rows}
        if self._writer is not None:
            owners.discard(self._writer.session)
        if not owners:
            return {}
        try:
            with self._reading:
                known = {s.id: s for s in read_sessions(self._reader, sorted(owners))}
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error
        dead = {owner for owner in owners if owner not in known or is_dead(known[owner])}
        found: dict[str, list[int]] = {}
        for number, key in rows:
            if number >> _SESSION_SHIFT in dead:
                found.setdefault(key, []).append(number)
        return found


def _insert_intents(connection: sqlite3.Connection, rows: Sequence[Any]) -> Sequence[Any]:
    insert_rows(connection, "INSERT INTO intents(id, key, backend, begun_at)", rows)
    return [None] * len(rows)


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


def _plain(text: str | None) -> str | None:
    return None if text is None else plain_text(text)
