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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from ...errors import InputError, InputFault, ProviderError, StoreError
from ..types import Reply
from .encoding import checksum, encode_reply, encode_request, plain_text
from .store import SESSION_SHIFT, Store, opened_before_fork
from .writer import LedgerWriter

log = logging.getLogger("areopagus.ledger")

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A durable note that a call is being sent.

    Attributes:
        id: number of the note.
        key: SHA-256 (hex) of the canonical request.
        backend: the backend's name.
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


def open_store(location: str | Path | None, *, read_only: bool) -> Store:
    """The store in a file or at an address; `$AREOPAGUS_HOME/ledger.sqlite` when left out.

    Raises:
        InputError: an address that is not of a PostgreSQL database, or has faults.
        StoreError: it cannot be opened, or is no ledger of this version.
    """
    if isinstance(location, str) and "://" in location:
        scheme = location.split("://", 1)[0]
        if scheme not in ("postgresql", "postgres"):
            raise InputError(
                [InputFault("`ledger`", f"must be a file or postgresql://…, got {scheme}://…")],
                hint="Name a file as `ledger`, or leave it out for the shared one.",
            )
        from .address import PostgresAddress
        from .postgres import PostgresStore

        return PostgresStore(PostgresAddress.parse(location), read_only=read_only)
    from ...environment import home
    from .sqlite import SqliteStore

    path = Path(location).expanduser() if location is not None else home() / "ledger.sqlite"
    return SqliteStore(path, read_only=read_only)


class GatheredLookups(Generic[Found]):
    """Answers whoever asks for a key, with one statement for all that ask together.

    The thirty judges of a response ask in one round of the event loop. Where the ledger is on a
    server, a statement travels there and back: it is sent from a thread, so that the loop goes on,
    and whoever asks meanwhile shares the next one.
    """

    def __init__(
        self, look: Callable[[Sequence[str]], Mapping[str, Found]], *, aside: bool
    ) -> None:
        """Keeps what it needs.

        Args:
            look: what is stored of some keys; may raise StoreError.
            aside: whether `look` is to run in a thread.
        """
        self._look = look
        self._aside = aside
        self._gathering: dict[
            asyncio.AbstractEventLoop, tuple[list[str], asyncio.Task[Mapping[str, Found]]]
        ] = {}
        self._one_at_a_time: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )

    async def find(self, key: str) -> Found | None:
        """What is stored of a key, or None.

        Raises:
            StoreError: the ledger cannot be read.
        """
        loop = asyncio.get_running_loop()
        if loop not in self._gathering:
            keys: list[str] = []
            self._gathering[loop] = keys, loop.create_task(self._look_all_up(loop, keys))
        keys, looking = self._gathering[loop]
        keys.append(key)
        # One who is cancelled leaves the others their answer.
        return (await asyncio.shield(looking)).get(key)

    async def _look_all_up(
        self, loop: asyncio.AbstractEventLoop, keys: list[str]
    ) -> Mapping[str, Found]:
        """Runs a round after the first asker, when all of that round have joined."""
        if not self._aside:
            del self._gathering[loop]
            return self._look(list(dict.fromkeys(keys)))
        async with self._one_at_a_time.setdefault(loop, asyncio.Lock()):
            del self._gathering[loop]
            return await loop.run_in_executor(None, self._look, list(dict.fromkeys(keys)))


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
        self._pending = GatheredLookups(self._which_in_flight, aside=self.path is None)
        self._writer = writer
        self._numbers = itertools.count(1)
        self._in_flight = {} if writer is None else writer.in_flight
        self._unreadable: set[str] = set()
        self._descriptions: set[str] = set()

    @classmethod
    def open(cls, location: str | Path | None = None, *, read_only: bool = False) -> Ledger:
        """Opens a ledger, and makes it where there is none.

        Args:
            location: a file, or `postgresql://user@host:port/database`; the ledger shared by all
                runs, `$AREOPAGUS_HOME/ledger.sqlite`, when left out.
            read_only: look only; nothing is made, and no writer waits for it.

        Raises:
            InputError: an address with faults, or of something else than PostgreSQL.
            StoreError: it cannot be opened, or is no ledger of this version.
        """
        with ExitStack() as opened:
            writer = None
            if not read_only:  # it comes first: it makes the ledger where there is none
                writer = LedgerWriter(open_store(location, read_only=False))
                opened.callback(writer.close)
            reader = open_store(location, read_only=True)
            opened.callback(reader.close)
            found = reader.rows("SELECT value FROM meta WHERE name = 'secret'")
            if not found:
                raise StoreError(f"{reader.place}: this ledger is damaged (its secret is missing)")
            opened.pop_all()
        return cls(reader, writer, bytes(found[0][0]))

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
        with self._read() as store:
            found, unreadable = store.replies(keys)
        for key, why in unreadable.items():
            if key not in self._unreadable:
                self._unreadable.add(key)
                log.warning(
                    "%s: the stored reply of call %s cannot be read (%s); it counts as not stored",
                    self.place,
                    key[:12],
                    why,
                )
        return found

    async def find(self, key: str) -> Reply | None:
        """The stored reply of a key, or None; askers of the same moment share a statement.

        Raises:
            StoreError: the ledger cannot be read.
        """
        return await self._lookups.find(key)

    async def find_all(self, keys: Sequence[str]) -> dict[str, Reply]:
        """As `lookup`, from an event loop, which goes on while the ledger is asked."""
        return await asyncio.to_thread(self.lookup, keys)

    async def in_flight(self, key: str) -> bool:
        """Whether a call is in flight in a session that lives, this one or another.

        Raises:
            StoreError: the ledger cannot be read.
        """
        return key in self._in_flight or bool(await self._pending.find(key))

    async def begin(self, key: str, *, backend: str, soon: bool = True) -> PendingCall:
        """Notes durably that a call is about to be sent, whoever else is sending it too.

        Args:
            key: the key of its request.
            backend: the backend's name.
            soon: whether it could be sent now. A note made ahead may share a later commit.

        Raises:
            StoreError: it cannot be stored, so the call must not be sent.
        """
        noted = await self._begin(key, backend, is_claim=False, soon=soon)
        assert noted is not None  # noqa: S101 - only claims are turned down
        return noted

    async def claim(self, key: str, *, backend: str, soon: bool = True) -> PendingCall | None:
        """As `begin`, but None where the call is answered meanwhile, or in flight already.

        Of all who claim a call, in whatever process, one gets it.

        Raises:
            StoreError: it cannot be stored, so the call must not be sent.
        """
        return await self._begin(key, backend, is_claim=True, soon=soon)

    async def _begin(
        self, key: str, backend: str, *, is_claim: bool, soon: bool
    ) -> PendingCall | None:
        writer = self._writable()
        if key in self._unreadable:
            self._unreadable.discard(key)
            writer.post("forget", key)
        number = (writer.session << SESSION_SHIFT) | next(self._numbers)
        if self._in_flight.setdefault(key, number) != number and is_claim:
            return None
        note = {
            "id": number,
            "key": key,
            "backend": plain_text(backend),
            "begun_at": time.time(),
        }
        try:
            abandoned = await writer.write("begin", (note, is_claim), soon=soon)
        except BaseException as error:
            self._in_flight.pop(key, None)
            if isinstance(error, asyncio.CancelledError):
                # The note is handed over already, and nobody will ever know its number: nothing
                # was sent, so it must not look like a call in flight.
                writer.post("fail", (None, [number]))
            raise
        if abandoned is None:
            self._in_flight.pop(key, None)
            return None
        return PendingCall(number, key, backend, abandoned)

    def cut_off(self, pending_call: PendingCall) -> None:
        """Says that a call was given up while it was sent.

        Its note stays, since the call may have been paid: whoever asks for the key next, in this
        session or a later one, repeats it.
        """
        self._writable().post("abandon", pending_call.id)
        self._in_flight.pop(pending_call.key, None)

    def hurry(self) -> None:
        """What was handed over and not stored yet is wanted now."""
        self._writable().hurry()

    def finish(
        self,
        pending_call: PendingCall,
        reply: Reply,
        *,
        purpose: str,
        request: Mapping[str, Any],
        endpoint: str = "",
    ) -> asyncio.Future[None]:
        """Stores the reply and ends the note, in one transaction.

        It is handed over at once: a note that begins after this call is never stored before it.
        What is returned ends when it is stored, which others may share and `hurry` hastens.

        Where another process has stored a reply to the key meanwhile, the first one is kept and
        the second counted.

        Args:
            pending_call: the note of the call.
            reply: what came back.
            purpose: judge, repair, respond and so on.
            request: what is kept of it: parameters, hashes and labels, JSON-like; never its texts,
                never the key of an account.
            endpoint: the backend's address, "" for the provider's own.

        Raises:
            StoreError: it could not be stored; at once, or when it is awaited.
        """
        usage, stored = reply.usage, encode_reply(reply)
        row = {
            "key": pending_call.key,
            "backend": plain_text(pending_call.backend),
            "endpoint": plain_text(endpoint),
            "purpose": purpose,
            "session": pending_call.id >> SESSION_SHIFT,
            "created_at": reply.created_at or time.time(),
            "input_tokens": _countable(usage.input_tokens),
            "output_tokens": _countable(usage.output_tokens),
            "cost_usd": reply.cost_usd,
            "finish_reason": reply.finish_reason and plain_text(reply.finish_reason),
            "answered_by": reply.answered_by and plain_text(reply.answered_by),
            "repeats": pending_call.repeats,
            "request": self._described(request),
            "reply": stored,
            "checksum": checksum(pending_call.key, stored),
        }
        return self._end("finish", pending_call, (row, [pending_call.id, *pending_call.abandoned]))

    async def fail(
        self,
        pending_call: PendingCall,
        error: ProviderError,
        *,
        attempts: int,
        may_be_billed: bool,
    ) -> None:
        """Stores that the call brought no reply, and ends the note.

        Args:
            pending_call: the note of the call.
            error: of the last attempt.
            attempts: how many were made.
            may_be_billed: whether one of them may have been paid.

        Raises:
            StoreError: it could not be stored.
        """
        row = {
            "key": pending_call.key,
            "backend": plain_text(pending_call.backend),
            "session": pending_call.id >> SESSION_SHIFT,
            "failed_at": time.time(),
            "fault": error.fault,
            "detail": plain_text(error.detail),
            "status": error.status,
            "attempts": attempts,
            "may_be_billed": int(may_be_billed),
        }
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
        with self._read() as store:
            found = store.rows(
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
        row = {"backend": backend, "rung": rung, "learned_at": time.time()}
        await self._writable().write("capability", row, soon=True)

    def abandoned(self) -> int:
        """Calls that were in flight when their process was killed, and are not answered since."""
        with self._read() as store:
            return store.abandoned()

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

    def __exit__(self, *_: object) -> None:
        self.close()

    def _described(self, request: Mapping[str, Any]) -> str:
        """The name of a request's description, which the ledger holds once for all its calls."""
        name, text = encode_request(request)
        if name not in self._descriptions:
            self._writable().post("describe", {"name": name, "description": text})
            self._descriptions.add(name)  # not before: nobody may refer to it earlier
        return name

    def _end(self, kind: str, pending_call: PendingCall, row: Any) -> asyncio.Future[Any]:
        storing = self._writable().write(kind, row)
        storing.add_done_callback(lambda _: self._in_flight.pop(pending_call.key, None))
        return storing

    def _which_in_flight(self, keys: Sequence[str]) -> dict[str, bool]:
        with self._read() as store:
            rows = store.rows_among("SELECT id, key FROM intents WHERE key", keys)
            dead = store.dead([number for number, _ in rows])
        return {key: True for number, key in rows if number not in dead}

    @contextmanager
    def _read(self) -> Iterator[Store]:
        """The store to look into, for one thread at a time."""
        self._refuse_if_parents()
        with self._reading:
            yield self._reader

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
