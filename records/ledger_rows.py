"""What one commit of the ledger writes, the same for every store.

`apply` takes all that was waiting, by kind and in a fixed order: an intent may end in the batch
that it began in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .ledger_store import SESSION_SHIFT, StoreConnection, WritingConnection

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
