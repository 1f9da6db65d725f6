"""Inspects and prunes a ledger, for the `ledger` commands."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from ...errors import InputError, InputFault, StoreError
from .ledger import open_store
from .store import Store

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
        key, backend, purpose: of the call.
        created_at: seconds since the epoch.
        cost_usd: None where unknown.
        text: the reply's text; None where the stored reply cannot be read any more.
    """

    key: str
    backend: str
    purpose: str
    created_at: float
    cost_usd: float | None
    text: str | None


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
        place: the file or address, without a password.
        size_bytes: what it takes on disk, logs of the file included.
        backends: totals by backend.
        failures: (backend, fault, calls) of attempts that brought no reply.
        abandoned: calls in flight at a kill that nobody has asked again.
    """

    place: str
    size_bytes: int
    backends: tuple[BackendTotals, ...]
    failures: tuple[tuple[str, str, int], ...]
    abandoned: int


def recent_calls(location: str | Path | None, *, limit: int = 20) -> list[StoredCall]:
    """The newest calls, newest first.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
    """
    with closing(open_store(location, read_only=True)) as store:
        rows = store.rows(
            "SELECT key, backend, purpose, created_at, cost_usd FROM calls"
            " ORDER BY id DESC LIMIT :most",
            most=limit,
        )
        replies, _ = store.replies([row[0] for row in rows])
    texts = {key: reply.text or "" for key, reply in replies.items()}
    return [
        StoredCall(key, backend, purpose, created_at, cost_usd, texts.get(key))
        for key, backend, purpose, created_at, cost_usd in rows
    ]


def whole_call(location: str | Path | None, prefix: str) -> dict[str, Any]:
    """Everything stored of the one call whose key begins so.

    `reply` is None where the stored reply cannot be read any more.

    Raises:
        InputError: no call, or several, begin so.
        StoreError: there is no ledger, or it cannot be read.
    """
    wanted = prefix.lower()
    if not wanted or not set(wanted) <= set("0123456789abcdef"):
        raise InputError([InputFault(prefix, "must be the first hex digits of a key")])
    with closing(open_store(location, read_only=True)) as store:
        rows = store.rows(
            f"SELECT {', '.join(_CALL_COLUMNS)}, request FROM calls"  # noqa: S608
            " WHERE key >= :first AND key < :beyond ORDER BY key LIMIT 2",
            first=wanted,
            beyond=f"{wanted}g",
        )
        if len(rows) != 1:
            found = "no call" if not rows else "more than one call"
            raise InputError(
                [InputFault(store.place, f"holds {found} whose key begins with {prefix}")]
            )
        ((*plain, request),) = rows
        request = json.loads(_description(store, request))
        replies, _ = store.replies([plain[0]])
    return {
        **dict(zip(_CALL_COLUMNS, plain, strict=True)),
        "request": request,
        "reply": replies[plain[0]].to_json() if replies else None,
    }


def ledger_stats(location: str | Path | None) -> LedgerStats:
    """The ledger in numbers.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
    """
    with closing(open_store(location, read_only=True)) as store:
        totals = store.rows(
            "SELECT backend, count(*), count(*) FILTER (WHERE purpose = 'repair'),"
            " coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),"
            " coalesce(sum(cost_usd), 0.0), count(*) FILTER (WHERE cost_usd IS NULL),"
            " sum(duplicates), sum(repeats) FROM calls GROUP BY backend ORDER BY backend"
        )
        failures = store.rows(
            "SELECT backend, fault, count(*) FROM failures GROUP BY backend, fault"
            " ORDER BY backend, fault"
        )
        abandoned = store.abandoned()
        size = store.size_bytes()
    return LedgerStats(
        store.place,
        size,
        tuple(BackendTotals(*_plain(row)) for row in totals),
        tuple(tuple(row) for row in failures),
        abandoned,
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
            "say what to prune: `before`, `backend` or `failures_only`; to drop "
            "everything, delete the file (or drop the schema of the database)"
        )
    newest = time.time() + 1 if before is None else before
    # The casts tell a server what an absent value would have been.
    chosen = "(CAST(:backend AS TEXT) IS NULL OR backend = :backend)"
    calls = f"FROM calls WHERE created_at < :newest AND {chosen}"
    failed = f"FROM failures WHERE failed_at < :newest AND {chosen}"
    values = {"newest": newest, "backend": backend}
    with closing(open_store(location, read_only=True)) as store:
        ((number, cost, unknown),) = store.rows(
            "SELECT count(*), coalesce(sum(cost_usd), 0.0),"
            f" count(*) FILTER (WHERE cost_usd IS NULL) {calls}",
            **values,
        )
        ((lost,),) = store.rows(f"SELECT count(*) {failed}", **values)
    found = Pruning(0, 0.0, 0, lost) if failures_only else Pruning(number, cost, unknown, lost)
    if not dry_run:
        kinds = [failed] if failures_only else [calls, failed]
        with closing(open_store(location, read_only=False)) as store:
            store.transaction(lambda: [store.rows(f"DELETE {kind}", **values) for kind in kinds])
            store.give_back_space()
    return found


def _description(store: Store, request: str) -> str:
    """What the ledger says of a request, by its name."""
    found = store.rows("SELECT description FROM requests WHERE name = :name", name=request)
    if not found:
        raise StoreError(
            f"{store.place}: this ledger is damaged (a request's description is missing)"
        )
    ((text,),) = found
    return str(text)


def _plain(row: Sequence[Any]) -> list[Any]:
    """PostgreSQL sums whole numbers without a limit, and says so with a type of its own."""
    return [int(value) if isinstance(value, Decimal) else value for value in row]
