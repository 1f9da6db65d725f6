"""A ledger in an SQLite file: its connections, as the ledger uses them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from .ledger_session import is_dead, this_process
from .ledger_sqlite import open_for_reading, open_for_writing, read_sessions, store_error
from .ledger_store import SESSION_SHIFT

_MOST_MARKS = 500

Outcome = TypeVar("Outcome")


class SqliteStore:
    """The ledger in this file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        """The file's name."""
        return str(self._path)

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def reader(self) -> SqliteReader:
        """Opens the file for looking; no writer waits for it."""
        return SqliteReader(self._path, open_for_reading(self._path))

    def writer(self) -> SqliteWriter:
        """Opens the file for writing, and makes it where there is none."""
        return SqliteWriter(self._path, open_for_writing(self._path))

    def prune(self, statements: Sequence[str], values: dict[str, Any]) -> None:
        """Does the deletions in one transaction and gives the space back."""
        connection = open_for_writing(self._path)
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement in statements:
                connection.execute(statement, values)
            connection.execute("COMMIT")
            connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error
        finally:
            connection.close()


class SqliteReader:
    """See `StoreConnection`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement with named parameters."""
        with self._told():
            return self._connection.execute(statement, values).fetchall()

    def rows_among(self, statement: str, chosen: Sequence[Any]) -> list[Any]:
        """The rows of a statement that ends with the column that must be among the chosen."""
        found: list[Any] = []
        with self._told():
            for start in range(0, len(chosen), _MOST_MARKS):
                part = chosen[start : start + _MOST_MARKS]
                marks = ",".join("?" * len(part))
                found += self._connection.execute(f"{statement} IN ({marks})", part).fetchall()
        return found

    def living(self, sessions: Collection[int]) -> set[int]:
        """Told by the process of each, or where that is on another machine by its heartbeat."""
        with self._told():
            known = read_sessions(self._connection, sorted(sessions))
        return {session.id for session in known if not is_dead(session)}

    def size_bytes(self) -> int:
        """The file with its log."""
        log = self._path.with_name(f"{self._path.name}-wal")
        return sum(part.stat().st_size for part in (self._path, log) if part.exists())

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise store_error(error, self._path) from error


class SqliteWriter(SqliteReader):
    """See `WritingConnection`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        me, now = this_process(), time.time()
        try:
            cursor = connection.execute(
                "INSERT INTO sessions(host, pid, process_started, started_at, heartbeat_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (me.host, me.pid, me.started, now, now),
            )
        except sqlite3.Error as error:
            connection.close()
            raise store_error(error, path) from error
        self.session = int(cursor.lastrowid or 0)

    def transaction(self, work: Callable[[], Outcome]) -> Outcome:
        """What the work returns, when all that it wrote is on disk."""
        connection = self._connection
        with self._told():
            connection.execute("BEGIN IMMEDIATE")
            try:
                outcome = work()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        return outcome

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, tail: str = ""
    ) -> None:
        """Inserts the rows in as few statements as possible.

        The sqlite3 module gives up the interpreter's lock at every step of a statement, and beside
        a busy event loop it waits up to a switch interval (5 ms) to get it back. One row a
        statement would make a batch of thirty take a tenth of a second there.
        """
        start = 0
        with self._told():
            while start < len(rows):
                size = min(64, 1 << ((len(rows) - start).bit_length() - 1))
                part = rows[start : start + size]
                self._connection.execute(
                    _insertion(table, tuple(columns), size, tail),
                    [value for row in part for value in row],
                )
                start += size

    def delete_among(self, statement: str, chosen: Sequence[Any]) -> None:
        """A statement like that of `rows_among`, which takes rows away."""
        self.rows_among(statement, chosen)

    def notes_of_others(self, keys: Sequence[str]) -> list[Any]:
        """Number and key of the notes on these keys that other sessions made.

        Notes have no index by key: each commit would write several pages of it, for a question
        that the first and the last number answer where no other session has any.
        """
        ((least, most),) = self.rows(
            "SELECT (SELECT min(id) FROM intents), (SELECT max(id) FROM intents)"
        )
        if least is None or {least >> SESSION_SHIFT, most >> SESSION_SHIFT} == {self.session}:
            return []
        found = self.rows_among("SELECT id, key FROM intents WHERE key", keys)
        return [row for row in found if row[0] >> SESSION_SHIFT != self.session]

    def beat(self) -> None:
        """Says that the session is alive."""
        with self._told():
            self._connection.execute(
                "UPDATE sessions SET heartbeat_at = ? WHERE id = ?", (time.time(), self.session)
            )

    def end(self) -> None:
        """Marks the session as ended and closes the file."""
        try:
            self._connection.execute(
                "UPDATE sessions SET ended_at = ? WHERE id = ?", (time.time(), self.session)
            )
        except sqlite3.Error:
            pass  # the session is told from a live one by its process all the same
        finally:
            self._connection.close()


@lru_cache(maxsize=64)
def _insertion(table: str, columns: tuple[str, ...], size: int, tail: str) -> str:
    row = f"({','.join('?' * len(columns))})"
    return f"INSERT INTO {table}({', '.join(columns)}) VALUES {','.join([row] * size)} {tail}"  # noqa: S608 - names of our own
