"""Looking into a ledger and pruning it: what the `ledger` commands stand on."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault
from .ledger import Ledger, default_path
from .ledger_sqlite import decode_reply, open_for_reading, open_for_writing, store_error

_CALL_COLUMNS = (
    "key",
    "backend",
    "endpoint",
    "purpose",
    "session",
    "created_at",
    "repeats",
    "duplicates",
)


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One paid call, as the ledger lists it.

    Attributes:
        key, backend, endpoint, purpose: as in `CallRecord`.
        created_at: seconds since the epoch.
        input_tokens, output_tokens, cost_usd: None where unknown.
        finish_reason, answered_by: as the endpoint gave them.
        text: the reply's text.
    """

    key: str
    backend: str
    endpoint: str
    purpose: str
    created_at: float
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    finish_reason: str | None
    answered_by: str | None
    text: str


@dataclass(frozen=True, slots=True)
class BackendTotals:
    """What a ledger holds of one backend.

    Attributes:
        backend: its name.
        calls: paid calls; `repairs` of them were repair asks.
        input_tokens, output_tokens: sums over the calls that say.
        cost_usd: sum over calls with a known price; `unknown_price` calls have none.
        duplicates: replies paid twice by two processes at once, of which the first was kept.
        repeats: calls that were in flight at a kill, and were asked again.
    """

    backend: str
    calls: int
    repairs: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    unknown_price: int
    duplicates: int
    repeats: int


@dataclass(frozen=True, slots=True)
class LedgerStats:
    """A ledger in numbers.

    Attributes:
        path, size_bytes: the file, its log included.
        backends: totals by backend.
        failures: (backend, fault, calls) of attempts that brought no reply.
        orphans: calls in flight at a kill that nobody has asked again.
    """

    path: Path
    size_bytes: int
    backends: tuple[BackendTotals, ...]
    failures: tuple[tuple[str, str, int], ...]
    orphans: int


def recent_calls(location: str | Path | None, *, limit: int = 20) -> list[StoredCall]:
    """The newest calls, newest first.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
    """
    with _reading(location) as (connection, _):
        rows = connection.execute(
            "SELECT key, backend, endpoint, purpose, created_at, input_tokens, output_tokens,"
            " cost_usd, finish_reason, answered_by, reply FROM calls ORDER BY id DESC LIMIT ?",
            (limit,),
        ).fetchall()
    return [StoredCall(*(*rest, decode_reply(reply).text or "")) for *rest, reply in rows]


def whole_call(location: str | Path | None, prefix: str) -> dict[str, Any]:
    """Everything stored of the one call whose key begins so.

    Raises:
        InputError: no call, or several, begin so.
        StoreError: there is no ledger, or it cannot be read.
    """
    wanted = prefix.lower()
    if not wanted or not set(wanted) <= set("0123456789abcdef"):
        raise InputError([InputFault(prefix, "must be the first hex digits of a key")])
    with _reading(location) as (connection, path):
        rows = connection.execute(
            f"SELECT {', '.join(_CALL_COLUMNS)}, request, reply FROM calls"  # noqa: S608
            " WHERE key >= ? AND key < ? ORDER BY key LIMIT 2",
            (wanted, f"{wanted}g"),
        ).fetchall()
    if len(rows) != 1:
        found = "no call" if not rows else "more than one call"
        raise InputError([InputFault(str(path), f"holds {found} whose key begins with {prefix}")])
    *plain, request, reply = rows[0]
    return {
        **dict(zip(_CALL_COLUMNS, plain, strict=True)),
        "request": json.loads(request),
        "reply": decode_reply(reply).to_json(),
    }


def ledger_stats(location: str | Path | None) -> LedgerStats:
    """The ledger in numbers.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
    """
    with _reading(location) as (connection, path):
        totals = connection.execute(
            "SELECT backend, count(*), sum(purpose = 'repair'), coalesce(sum(input_tokens), 0),"
            " coalesce(sum(output_tokens), 0), coalesce(sum(cost_usd), 0.0),"
            " sum(cost_usd IS NULL), sum(duplicates), sum(repeats)"
            " FROM calls GROUP BY backend ORDER BY backend"
        ).fetchall()
        failures = connection.execute(
            "SELECT backend, fault, count(*) FROM failures GROUP BY backend, fault"
            " ORDER BY backend, fault"
        ).fetchall()
    with Ledger.open(path, read_only=True) as ledger:
        orphans = ledger.orphans()
    size = sum(
        part.stat().st_size for part in (path, path.with_name(f"{path.name}-wal")) if part.exists()
    )
    return LedgerStats(
        path, size, tuple(BackendTotals(*row) for row in totals), tuple(failures), orphans
    )


@dataclass(frozen=True, slots=True)
class Pruning:
    """What a pruning would take away, or took.

    Attributes:
        calls: paid calls, whose replies would have to be paid again.
        cost_usd: what they cost, where the price is known.
        unknown_price: calls without a known price.
        failures: records of failed attempts.
    """

    calls: int
    cost_usd: float
    unknown_price: int
    failures: int


def prune(
    location: str | Path | None,
    *,
    before: float | None = None,
    backend: str | None = None,
    failures_only: bool = False,
    dry_run: bool = True,
) -> Pruning:
    """Removes calls and failed attempts, and gives the space back.

    Args:
        location: the ledger.
        before: only what is older, in seconds since the epoch.
        backend: only what is of this backend.
        failures_only: leave paid calls alone.
        dry_run: only count.

    Raises:
        InputError: neither a time nor a backend nor `failures_only` is given.
        StoreError: there is no ledger, or it cannot be written.
    """
    if before is None and backend is None and not failures_only:
        raise InputError(
            "say what to prune: --before DATE, --backend NAME or --failures; "
            "to drop everything, delete the file"
        )
    newest = time.time() + 1 if before is None else before
    calls = "FROM calls WHERE created_at < ?1 AND (?2 IS NULL OR backend = ?2)"
    failed = "FROM failures WHERE failed_at < ?1 AND (?2 IS NULL OR backend = ?2)"
    values = (newest, backend)
    with _reading(location) as (connection, path):
        number, cost, unknown = connection.execute(
            "SELECT count(*), coalesce(sum(cost_usd), 0.0),"
            f" coalesce(sum(cost_usd IS NULL), 0) {calls}",
            values,
        ).fetchone()
        (lost,) = connection.execute(f"SELECT count(*) {failed}", values).fetchone()
    found = Pruning(0, 0.0, 0, lost) if failures_only else Pruning(number, cost, unknown, lost)
    if not dry_run:
        connection = open_for_writing(path)
        try:
            connection.execute("BEGIN IMMEDIATE")
            if not failures_only:
                connection.execute(f"DELETE {calls}", values)
            connection.execute(f"DELETE {failed}", values)
            connection.execute("COMMIT")
            connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise store_error(error, path) from error
        finally:
            connection.close()
    return found


@contextmanager
def _reading(location: str | Path | None) -> Iterator[tuple[sqlite3.Connection, Path]]:
    path = Path(location).expanduser() if location is not None else default_path()
    connection = open_for_reading(path)
    try:
        yield connection, path
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    finally:
        connection.close()
