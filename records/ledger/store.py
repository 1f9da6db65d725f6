"""The protocols of a ledger's store (SQLite or PostgreSQL), and the statements that both share.

How pending calls are noted, committed in groups and told from abandoned ones is written once, on
top of these protocols; a store brings its connections and what its dialect does differently.
Statements use named parameters (`:name`) and the SQL that both have.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ...errors import StoreError
from ..types import Reply, Usage

Outcome = TypeVar("Outcome")

SCHEMA_VERSION = 3
"""Of the tables. Since version 2 what requests have in common has a table of its own; since version
3 each reply has a checksum. Older ledgers are read as they are and brought up to date when they are
opened for writing; the replies that they hold have no checksum."""

SESSION_SHIFT = 32
"""A note's number holds the session that made it in its upper half. The note of a call that was
given up while it was sent gets the negative of its number: of no session that lives."""


class StoreConnection(Protocol):
    """A connection that looks. Used by one thread at a time; every failure is a `StoreError`.

    Attributes:
        version: of the ledger's tables, when it was opened.
    """

    version: int

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement with named parameters."""
        ...

    def rows_among(self, statement: str, chosen: Sequence[Any]) -> list[Any]:
        """The rows of a statement that ends with the column that must be among the chosen."""
        ...

    def living(self, sessions: Collection[int]) -> set[int]:
        """Those of these sessions that may still bring the outcome of a call they began."""
        ...

    def size_bytes(self) -> int:
        """What the ledger takes on disk."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...


class WritingConnection(StoreConnection, Protocol):
    """A connection that writes, under a session of its own.

    Attributes:
        session: number of the session, from 1 to 2**31.
    """

    session: int

    def transaction(self, work: Callable[[], Outcome]) -> Outcome:
        """What the work returns, when all that it wrote is durable.

        The work may be done twice, where the first attempt left nothing behind; it is never in
        the ledger twice.
        """
        ...

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, tail: str = ""
    ) -> None:
        """Inserts the rows; `tail` is the conflict clause."""
        ...

    def change_among(self, statement: str, chosen: Sequence[Any]) -> None:
        """A statement like that of `rows_among`, which changes rows or takes them away."""
        ...

    def notes_of_others(self, keys: Sequence[str]) -> list[Any]:
        """Number and key of the notes on these keys that other sessions made.

        Until the transaction ends, nobody else gets an answer to this about the same keys.
        """
        ...

    def beat(self) -> None:
        """Says that the session is alive."""
        ...

    def end(self) -> None:
        """Marks the session as ended, where that is possible, and closes the connection."""
        ...


class Store(Protocol):
    """Where a ledger is kept.

    Attributes:
        place: its file or address, as it may be shown: without a password.
        path: its file; None where it is on a server.
    """

    @property
    def place(self) -> str: ...

    @property
    def path(self) -> Path | None: ...

    def reader(self) -> StoreConnection:
        """Opens the ledger for looking. Raises StoreError where there is none."""
        ...

    def writer(self) -> WritingConnection:
        """Opens the ledger for writing, and makes it where there is none."""
        ...

    def prune(self, statements: Sequence[str], values: dict[str, Any]) -> None:
        """Does the deletions in one transaction and gives the space back."""
        ...


def opened_before_fork(place: str) -> StoreError:
    """What a process is told that was forked from one which has the ledger open."""
    return StoreError(
        f"{place}: the ledger was opened before this process was forked, and is its parent's: "
        "open panels and ledgers only in the processes that use them, or start these with "
        "multiprocessing's spawn or forkserver"
    )


DEFLATE_ABOVE_BYTES = 2048

_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_REPLY_FIELDS = tuple(field.name for field in fields(Reply) if field.name not in ("text", "usage"))
_USAGE_FIELDS = tuple(field.name for field in fields(Usage))


def encode_reply(reply: Reply) -> bytes:
    """The reply as UTF-8 JSON without its empty fields, deflated when above 2 kB.

    A lone surrogate, which a hostile endpoint can send, goes through unchanged.
    """
    values: dict[str, Any] = {"text": reply.text}
    for name in _REPLY_FIELDS:
        value = getattr(reply, name)
        if value is not None:
            values[name] = value
    usage = reply.usage
    values["usage"] = {
        name: value for name in _USAGE_FIELDS if (value := getattr(usage, name)) is not None
    }
    packed = _encode_json(values).encode("utf-8", "surrogatepass")
    return zlib.compress(packed, 6) if len(packed) > DEFLATE_ABOVE_BYTES else packed


def checksum(key: str, stored: bytes) -> int:
    """CRC-32 of a call's key and its stored reply, from 0 to 2**32 - 1."""
    return zlib.crc32(stored, zlib.crc32(key.encode()))


def decode_reply(key: str, stored: bytes, expected: int | None) -> Reply:
    """The reverse of `encode_reply`.

    Args:
        key: the call's key.
        stored: what the ledger holds.
        expected: its checksum; None where it was stored before there were any.

    Raises:
        ValueError: it is not what was once stored.
    """
    try:
        if expected is not None and checksum(key, stored) != expected:
            raise ValueError("its checksum is wrong")
        packed = stored if stored[:1] == b"{" else zlib.decompress(stored)
        reply = Reply.from_json(json.loads(packed))
    except (zlib.error, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("it is no stored reply") from error
    if not isinstance(reply.text, str | None) or not isinstance(reply.cost_usd, float | int | None):
        raise ValueError("it is no stored reply")
    return reply


def stored_replies(connection: StoreConnection, keys: Sequence[str]) -> list[Any]:
    """Key, stored reply and checksum of those of these calls that the ledger holds."""
    sums = "checksum" if connection.version >= 3 else "NULL"
    return connection.rows_among(f"SELECT key, reply, {sums} FROM calls WHERE key", keys)  # noqa: S608


def encode_request(request: Mapping[str, Any]) -> tuple[str, str]:
    """A name for the request's metadata, and these as compact JSON text that a database takes."""
    text = plain_text(_encode_json(dict(request)))
    return _name_of(text), text


@lru_cache(maxsize=1024)
def _name_of(text: str) -> str:
    """Half of a SHA-256 in hex digits: no JSON object begins so, and none is named like another."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def plain_text(text: str) -> str:
    r"""The text as a database takes it: lone surrogates written out as \udXXX."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


UNANSWERED = "SELECT id FROM intents WHERE key NOT IN (SELECT key FROM calls)"
"""Notes of calls that nobody has a reply to."""

_CALL_COLUMNS = (
    "key",
    "backend",
    "endpoint",
    "purpose",
    "session",
    "created_at",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "finish_reason",
    "answered_by",
    "repeats",
    "request",
    "reply",
    "checksum",
)
_FAILURE_COLUMNS = (
    "key",
    "backend",
    "session",
    "failed_at",
    "fault",
    "detail",
    "status",
    "attempts",
    "may_be_billed",
)


def apply(
    connection: WritingConnection, batch: Mapping[str, Sequence[Any]]
) -> dict[str, Sequence[Any]]:
    """Writes the rows of every kind; a result for each row, by kind."""
    return {kind: write(connection, batch[kind]) for kind, write in _KINDS.items() if kind in batch}


def of_the_dead(connection: StoreConnection, numbers: Sequence[int], own: int | None) -> list[int]:
    """Those of these notes whose session is over and that nobody will bring an outcome for."""
    owners = {number >> SESSION_SHIFT for number in numbers} - {own}
    if not owners:
        return []
    dead = owners - connection.living(owners)
    return [number for number in numbers if number >> SESSION_SHIFT in dead]


def _describe(connection: WritingConnection, rows: Sequence[Any]) -> Sequence[Any]:
    # In one order, so that writers who describe the same at once do not wait for each other.
    columns = ("name", "description")
    connection.insert("requests", columns, sorted(rows), tail="ON CONFLICT(name) DO NOTHING")
    return [None] * len(rows)


def _forget_unreadable(connection: WritingConnection, keys: Sequence[Any]) -> Sequence[Any]:
    """Takes the calls away whose replies cannot be read, unless somebody has put them right."""
    lost: list[str] = []
    for key, stored, expected in stored_replies(connection, keys):
        try:
            decode_reply(key, stored, expected)
        except ValueError:
            lost.append(key)
    connection.change_among("DELETE FROM calls WHERE key", lost)
    return [None] * len(keys)


def _abandon(connection: WritingConnection, numbers: Sequence[Any]) -> Sequence[Any]:
    connection.change_among("UPDATE intents SET id = -id WHERE id", numbers)
    return [None] * len(numbers)


def _begin(connection: WritingConnection, rows: Sequence[Any]) -> Sequence[Any]:
    """Notes the calls.

    Returns:
        For each row, the notes on its key that killed processes, or calls that were given up, have
        left. None where nothing was noted, because the row is a claim and the call is answered, or
        in flight in another session that lives.
    """
    others: dict[str, list[int]] = {}
    for number, key in connection.notes_of_others(list({row[1] for row in rows})):
        others.setdefault(key, []).append(number)
    numbers = [number for ids in others.values() for number in ids]
    dead = set(of_the_dead(connection, numbers, connection.session))
    taken = {key for key, ids in others.items() if not dead.issuperset(ids)}
    claimed = list({row[1] for row in rows if row[-1]} - taken)
    taken |= {key for (key,) in connection.rows_among("SELECT key FROM calls WHERE key", claimed)}
    noted: list[Any] = []
    results: list[tuple[int, ...] | None] = []
    for *note, is_claim in rows:
        key = note[1]
        if is_claim and key in taken:
            results.append(None)
        else:
            noted.append(note)
            results.append(tuple(number for number in others.get(key, ()) if number in dead))
    connection.insert("intents", ("id", "key", "backend", "begun_at"), noted)
    return results


def _finish(connection: WritingConnection, rows: Sequence[Any]) -> Sequence[Any]:
    connection.insert(
        "calls",
        _CALL_COLUMNS,
        [row for row, _ in rows],
        # The first reply is the one that others may have built on.
        tail="ON CONFLICT(key) DO UPDATE SET duplicates = calls.duplicates + 1,"
        " duplicate_cost_usd = CASE WHEN calls.duplicates = 0 THEN excluded.cost_usd"
        " ELSE calls.duplicate_cost_usd + excluded.cost_usd END",
    )
    return _end(connection, rows)


def _fail(connection: WritingConnection, rows: Sequence[Any]) -> Sequence[Any]:
    connection.insert("failures", _FAILURE_COLUMNS, [row for row, _ in rows if row is not None])
    return _end(connection, rows)


def _learn(connection: WritingConnection, rows: Sequence[Any]) -> Sequence[Any]:
    connection.insert(
        "capabilities",
        ("backend", "rung", "learned_at"),
        rows,
        tail="ON CONFLICT(backend) DO UPDATE SET rung = excluded.rung,"
        " learned_at = excluded.learned_at",
    )
    return [None] * len(rows)


def _end(connection: WritingConnection, rows: Sequence[Any]) -> Sequence[Any]:
    ended = [number for _, numbers in rows for number in numbers]
    connection.change_among("DELETE FROM intents WHERE id", ended)
    return [None] * len(rows)


_KINDS: dict[str, Callable[[WritingConnection, Sequence[Any]], Sequence[Any]]] = {
    "forget": _forget_unreadable,
    "abandon": _abandon,
    "describe": _describe,
    "begin": _begin,
    "finish": _finish,
    "fail": _fail,
    "capability": _learn,
}
