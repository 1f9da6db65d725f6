"""What the ledger asks of the database that keeps it: SQLite in a file, PostgreSQL by address.

Everything that makes a ledger a ledger (notes before calls, group commits, what counts as a call
cut off) is written once, on top of these protocols; a store brings its connections and what its
dialect does differently. Statements use named parameters (`:name`) and the SQL that both have.
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

SCHEMA_VERSION = 2
"""Of the tables; since version 2 what requests have in common has one of its own."""

SESSION_SHIFT = 32
"""A note's number holds the session that made it in its upper half."""


class StoreConnection(Protocol):
    """A connection that looks. Used by one thread at a time; every failure is a `StoreError`."""

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

    def delete_among(self, statement: str, chosen: Sequence[Any]) -> None:
        """A statement like that of `rows_among`, which takes rows away."""
        ...

    def notes_of_others(self, keys: Sequence[str]) -> list[Any]:
        """Number and key of the notes on these keys that other sessions made."""
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


def decode_reply(stored: bytes) -> Reply:
    """The reverse of `encode_reply`. Raises ValueError for bytes it did not write."""
    try:
        packed = stored if stored[:1] == b"{" else zlib.decompress(stored)
        return Reply.from_json(json.loads(packed))
    except (zlib.error, TypeError, AttributeError) as error:
        raise ValueError("not a stored reply") from error


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


def _begin(connection: WritingConnection, rows: Sequence[Any]) -> Sequence[Any]:
    """Returns, for each row, the notes on its key that a killed process has left."""
    found: dict[str, list[int]] = {}
    for number, key in connection.notes_of_others(list({row[1] for row in rows})):
        found.setdefault(key, []).append(number)
    if found:
        numbers = [number for ids in found.values() for number in ids]
        dead = set(of_the_dead(connection, numbers, connection.session))
        found = {key: [n for n in ids if n in dead] for key, ids in found.items()}
    connection.insert("intents", ("id", "key", "backend", "begun_at"), rows)
    return [tuple(found.get(row[1], ())) for row in rows]


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
    connection.delete_among("DELETE FROM intents WHERE id", ended)
    return [None] * len(rows)


_KINDS: dict[str, Callable[[WritingConnection, Sequence[Any]], Sequence[Any]]] = {
    "describe": _describe,
    "begin": _begin,
    "finish": _finish,
    "fail": _fail,
    "capability": _learn,
}
