"""What the ledger asks of the database that keeps it: SQLite in a file, PostgreSQL by address.

Everything that makes a ledger a ledger (notes before calls, group commits, what counts as a call
cut off) is written once, on top of these protocols; a store brings its connections and what its
dialect does differently. Statements use named parameters (`:name`) and the SQL that both have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..errors import InputError, InputFault, StoreError

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


def default_path() -> Path:
    """The ledger shared by all runs: `$AREOPAGUS_HOME/ledger.sqlite`."""
    from ..documents import home

    return home() / "ledger.sqlite"


def store_at(location: str | Path | None) -> Store:
    """The store that a file name or an address names; `default_path()` when left out.

    Raises:
        InputError: an address that is not of a PostgreSQL database, or has faults.
    """
    if isinstance(location, str) and "://" in location:
        scheme = location.split("://", 1)[0]
        if scheme not in ("postgresql", "postgres"):
            raise InputError(
                [InputFault("ledger", f"must be a file or postgresql://…, got {scheme}://…")],
                hint="Name a file with --ledger, or leave it out for the shared one.",
            )
        from .ledger_postgres import PostgresStore
        from .ledger_postgres_address import PostgresAddress

        return PostgresStore(PostgresAddress.parse(location))
    from .ledger_sqlite_store import SqliteStore

    return SqliteStore(Path(location).expanduser() if location is not None else default_path())
