"""The ledger: a store of the calls already paid, shared by all runs.

A call is noted as pending before it is sent (`begin`), and its reply is stored before anybody reads
it (`finish`). Both are durable when they return. So a call that was in flight when its process was
killed is known as abandoned, and counted as possibly paid when it is asked again.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from ...errors import InputError, InputFault, StoreError
from ..types import Reply
from .encoding import checksum, encode_reply, encode_request, plain_text
from .lookups import GatheredLookups
from .store import SESSION_SHIFT, Store, opened_before_fork
from .writer import LedgerWriter

log = logging.getLogger("areopagus.ledger")

__all__ = ["CallRecord", "Ledger", "PendingCall", "default_path"]


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
class PendingCall:
    """A durable note that a call is being sent.

    Attributes:
        id: number of the note.
        key, backend: what is being sent to whom.
        abandoned: earlier notes on this key, of calls that a kill cut off, or that were given up,
            before an outcome was stored.
    """

    id: int
    key: str
    backend: str
    abandoned: tuple[int, ...] = ()

    @property
    def repeats(self) -> int:
        """How many times the call may have been paid already."""
        return len(self.abandoned)


def default_path() -> Path:
    """The ledger shared by all runs: `$AREOPAGUS_HOME/ledger.sqlite`."""
    from ...environment import home

    return home() / "ledger.sqlite"


def open_store(location: str | Path | None, *, read_only: bool) -> Store:
    """The store in a file or at an address; `default_path()` when left out.

    Raises:
        InputError: an address that is not of a PostgreSQL database, or has faults.
        StoreError: it cannot be opened, or is no ledger of this version.
    """
    if isinstance(location, str) and "://" in location:
        scheme = location.split("://", 1)[0]
        if scheme not in ("postgresql", "postgres"):
            raise InputError(
                [InputFault("ledger", f"must be a file or postgresql://…, got {scheme}://…")],
                hint="Name a file with --ledger, or leave it out for the shared one.",
            )
        from .address import PostgresAddress
        from .postgres import PostgresStore

        return PostgresStore(PostgresAddress.parse(location), read_only=read_only)
    from .sqlite import SqliteStore

    path = Path(location).expanduser() if location is not None else default_path()
    return SqliteStore(path, read_only=read_only)


class Ledger:
    """An open ledger; `with Ledger.open() as ledger`.

    Attributes:
        place: its file or address, as it may be shown: without a password.
        path: its file; None where it is on a server.
        secret: random bytes that all users of this ledger share; never exported.
    """

    def __init__(self, reader: Store, writer: LedgerWriter | None, secret: bytes) -> None:
        self.place = reader.place
        self.path = reader.path
        self.secret = secret
        self._process = os.getpid()
        self._reader = reader
        self._reading = threading.Lock()
        self._lookups = GatheredLookups(self.lookup, aside=self.path is None)
        self._notes = GatheredLookups(self._noted, aside=self.path is None)
        self._writer = writer
        self._numbers = itertools.count(1)
        self._in_flight: dict[str, int] = {}
        self._unreadable: set[str] = set()
        self._descriptions: set[str] = set()

    @classmethod
    def open(cls, location: str | Path | None = None, *, read_only: bool = False) -> Ledger:
        """Opens a ledger, and makes it where there is none.

        Args:
            location: a file, or `postgresql://user@host:port/database`; `default_path()` when left
                out.
            read_only: look only; nothing is made, and no writer waits for it.

        Raises:
            InputError: an address with faults, or of something else than PostgreSQL.
            StoreError: it cannot be opened, or is no ledger of this version.
        """
        # The one that writes comes first: it makes the ledger where there is none.
        writer = None if read_only else LedgerWriter(open_store(location, read_only=False))
        try:
            reader = open_store(location, read_only=True)
            try:
                found = reader.rows("SELECT value FROM meta WHERE name = 'secret'")
                if not found:
                    raise StoreError(
                        f"{reader.place}: this ledger is damaged (its secret is missing)"
                    )
            except BaseException:
                reader.close()
                raise
        except BaseException:
            if writer is not None:
                writer.close()
            raise
        return cls(reader, writer, bytes(found[0][0]))

    @property
    def read_only(self) -> bool:
        """Whether nothing can be stored through this object."""
        return self._writer is None

    @property
    def is_parents(self) -> bool:
        """Whether another process opened it, from which this one was forked.

        The connections are then that process's, and nobody writes here: every use is refused.
        """
        return os.getpid() != self._process

    def lookup(self, keys: Sequence[str]) -> dict[str, Reply]:
        """The stored replies of these keys; those without one are left out.

        So are those whose stored reply cannot be read any more; a warning names each of these once.
        Whoever asks again for such a call puts the new reply in its place.

        Raises:
            StoreError: the ledger cannot be read.
        """
        self._refuse_if_parents()
        with self._reading:
            found, unreadable = self._reader.replies(keys)
        for key, why in unreadable.items():
            self._tell_unreadable(key, why)
        return found

    async def find(self, key: str) -> Reply | None:
        """The stored reply of a key, or None; askers of the same moment share a statement.

        Raises:
            StoreError: the ledger cannot be read.
        """
        return await self._lookups.find(key)

    async def find_all(self, keys: Sequence[str]) -> dict[str, Reply]:
        """As `lookup`, from an event loop, which goes on while a server is asked.

        Raises:
            StoreError: the ledger cannot be read.
        """
        found = await asyncio.gather(*map(self.find, keys))
        return {key: reply for key, reply in zip(keys, found, strict=True) if reply is not None}

    async def in_flight(self, key: str) -> bool:
        """Whether a call is in flight in a session that lives, this one or another.

        Raises:
            StoreError: the ledger cannot be read.
        """
        return key in self._in_flight or bool(await self._notes.find(key))

    async def begin(self, key: str, *, backend: str, soon: bool = True) -> PendingCall:
        """Notes durably that a call is about to be sent, whoever else is sending it too.

        Args:
            key: the key of its request.
            backend: the backend's name.
            soon: whether it could be sent now. A note made ahead may share a later commit.

        Raises:
            StoreError: it cannot be stored, so the call must not be sent.
        """
        noted = await self._note(key, backend, is_claim=False, soon=soon)
        assert noted is not None  # noqa: S101 - only claims are turned down
        return noted

    async def claim(self, key: str, *, backend: str, soon: bool = True) -> PendingCall | None:
        """As `begin`, but None where the call is answered meanwhile, or in flight already.

        Of all who claim a call, in whatever process, one gets it.

        Raises:
            StoreError: it cannot be stored, so the call must not be sent.
        """
        return await self._note(key, backend, is_claim=True, soon=soon)

    async def _note(
        self, key: str, backend: str, *, is_claim: bool, soon: bool
    ) -> PendingCall | None:
        writer = self._writable()
        if key in self._unreadable:
            self._unreadable.discard(key)
            writer.post("forget", key)
        number = (writer.session << SESSION_SHIFT) | next(self._numbers)
        if self._in_flight.setdefault(key, number) != number and is_claim:
            return None
        row = (number, key, plain_text(backend), time.time(), is_claim)
        try:
            abandoned = await writer.write("begin", row, soon=soon)
        except BaseException as error:
            self._ended(key)
            if isinstance(error, asyncio.CancelledError):
                # The note is handed over already, and nobody will ever know its number: nothing
                # was sent, so it must not look like a call in flight.
                writer.post("fail", (None, [number]))
            raise
        if abandoned is None:
            self._ended(key)
            return None
        return PendingCall(number, key, backend, abandoned)

    def cut_off(self, pending_call: PendingCall) -> None:
        """Says that a call was given up while it was sent.

        Its note stays, since the call may have been paid: whoever asks for the key next, in this
        session or a later one, repeats it.
        """
        self._writable().post("abandon", pending_call.id)
        self._ended(pending_call.key)

    def hurry(self) -> None:
        """What was handed over and not stored yet is wanted now."""
        self._writable().hurry()

    def finish(self, pending_call: PendingCall, record: CallRecord) -> Awaitable[None]:
        """Stores the reply and ends the note, in one transaction.

        It is handed over at once: a note that begins after this call is never stored before it.
        What is returned ends when it is stored, which others may share and `hurry` hastens.

        Where another process has stored a reply to the key meanwhile, the first one is kept and
        the second counted.

        Args:
            pending_call: the note of the call.
            record: what was asked and what came back.

        Raises:
            StoreError: it could not be stored; at once, or when it is awaited.
        """
        reply, usage = record.reply, record.reply.usage
        row = (
            record.key,
            plain_text(record.backend),
            plain_text(record.endpoint),
            record.purpose,
            pending_call.id >> SESSION_SHIFT,
            reply.created_at or time.time(),
            _countable(usage.input_tokens),
            _countable(usage.output_tokens),
            reply.cost_usd,
            _plain(reply.finish_reason),
            _plain(reply.answered_by),
            pending_call.repeats,
            self._described(record.request),
            stored := encode_reply(reply),
            checksum(record.key, stored),
        )
        return self._end("finish", pending_call, (row, [pending_call.id, *pending_call.abandoned]))

    async def fail(
        self,
        pending_call: PendingCall,
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
            pending_call.key,
            plain_text(pending_call.backend),
            pending_call.id >> SESSION_SHIFT,
            time.time(),
            fault,
            plain_text(detail),
            status,
            attempts,
            int(may_be_billed),
        )
        await self._end("fail", pending_call, (row, [pending_call.id]))

    async def withdraw(self, pending_call: PendingCall) -> None:
        """Ends the note of a call that was not sent after all."""
        await self._end("fail", pending_call, (None, [pending_call.id]))

    def capability(self, backend: str) -> str | None:
        """The form of structured output that was learned for a backend, or None.

        For callers without an event loop; others use `find_capability`.

        Raises:
            StoreError: the ledger cannot be read.
        """
        self._refuse_if_parents()
        with self._reading:
            found = self._reader.rows(
                "SELECT rung FROM capabilities WHERE backend = :backend", backend=backend
            )
        return str(found[0][0]) if found else None

    async def find_capability(self, backend: str) -> str | None:
        """The same from an event loop, which goes on while the ledger is asked, or waited for.

        Raises:
            StoreError: the ledger cannot be read.
        """
        return await asyncio.to_thread(self.capability, backend)

    async def set_capability(self, backend: str, rung: str) -> None:
        """Remembers the form of structured output that a backend takes.

        Raises:
            StoreError: it could not be stored.
        """
        await self._writable().write("capability", (backend, rung, time.time()), soon=True)

    def abandoned(self) -> int:
        """Calls that were in flight when their process was killed, and are not answered since."""
        self._refuse_if_parents()
        with self._reading:
            return self._reader.abandoned()

    def close(self) -> None:
        """Writes what is pending and closes the ledger; a second time does nothing."""
        if self.is_parents:
            return  # closing would end the parent's session, and a lock may be held for ever here
        # The reader first: SQLite folds its log into the file only by a last one that may write.
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

    def _described(self, request: Mapping[str, Any]) -> str:
        """The name of a request's description, which the ledger holds once for all its calls."""
        name, text = encode_request(request)
        if name not in self._descriptions:
            self._writable().post("describe", (name, text))
            self._descriptions.add(name)  # not before: nobody may refer to it earlier
        return name

    def _end(self, kind: str, pending_call: PendingCall, row: Any) -> asyncio.Future[Any]:
        storing = self._writable().write(kind, row)
        storing.add_done_callback(lambda _: self._ended(pending_call.key))
        return storing

    def _ended(self, key: str) -> None:
        self._in_flight.pop(key, None)

    def _noted(self, keys: Sequence[str]) -> dict[str, bool]:
        self._refuse_if_parents()
        with self._reading:
            rows = self._reader.rows_among("SELECT id, key FROM intents WHERE key", keys)
            dead = self._reader.dead([number for number, _ in rows])
        return {key: True for number, key in rows if number not in dead}

    def _tell_unreadable(self, key: str, why: str) -> None:
        if key in self._unreadable:
            return
        self._unreadable.add(key)
        log.warning(
            "%s: the stored reply of call %s cannot be read (%s); it counts as not stored",
            self.place,
            key[:12],
            why,
        )

    def _refuse_if_parents(self) -> None:
        if self.is_parents:
            raise opened_before_fork(self.place)

    def _writable(self) -> LedgerWriter:
        self._refuse_if_parents()
        if self._writer is None:
            raise StoreError(f"{self.place}: the ledger was opened for reading only")
        return self._writer


def _countable(count: int | None) -> int | None:
    """A count that the column holds; an endpoint can claim any."""
    return count if count is None or abs(count) < 2**63 else None


def _plain(text: str | None) -> str | None:
    return None if text is None else plain_text(text)
