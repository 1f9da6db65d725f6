"""A ledger in an SQLite file.

`PRAGMA application_id` marks the file as a ledger, `PRAGMA user_version` is the version of its
tables. The journal is a write-ahead log and `synchronous` is FULL: a group commit costs one fsync
for everything that was waiting, so what was paid survives a power cut too (see
benchmarks/ledger_speed.py). WAL does not work on network file systems.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakSet

from ...errors import StoreError
from .session import Process, is_dead, this_process
from .store import (
    NEW_SESSION,
    SCHEMA_VERSION,
    SESSION_SHIFT,
    Outcome,
    Row,
    Store,
    opened_before_fork,
)

APPLICATION_ID = 0x41524550  # "AREP"
LOCK_TIMEOUT_S = 60.0
SYNCHRONOUS = "FULL"
PAGE_BYTES = 2048
"""Each call writes a page of its own of the index, since keys are hashes: small ones cost less."""


class SqliteStore(Store):
    """A ledger in a file."""

    types = {  # noqa: RUF012
        "id": "INTEGER PRIMARY KEY",
        "session_id": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "key": "TEXT",
        "text": "TEXT",
        "bytes": "BLOB",
        "integer": "INTEGER",
        "real": "REAL",
        "by_name": " WITHOUT ROWID",
    }
    elsewhere = "name another ledger as `ledger`"

    def __init__(self, path: Path, *, read_only: bool) -> None:
        """Opens the file; to write, it is made where there is none.

        A store that only looks takes no lock that a writer would wait for.

        Raises:
            StoreError: there is no ledger to look at, it cannot be read or written, or the file
                holds something else. Nothing is changed then.
        """
        self.place = str(path)
        self.path = self._file = path
        if not read_only:
            _create_file(path)
        elif not path.exists():
            raise StoreError(
                f"{path}: there is no ledger here; the first run that makes a call makes it"
            )
        if path.is_dir():
            # What else is no ledger, SQLite finds out. The file is never opened beside SQLite, not
            # even for a look at its first bytes: where a process closes a file, the system drops
            # all locks that it holds on it, those of its other connections too. Another process
            # that closes the ledger then takes itself for the last, and removes the log that this
            # one goes on writing to.
            raise StoreError(
                f"{path}: must be a ledger file, and is a folder: name a file inside it"
            )
        with self._told():
            self._connection = _look_only(path) if read_only else _connect(path, "mode=rw")
            try:
                self.version = self.found_version(may_be_empty=not read_only)
                if not read_only:
                    self._get_ready_to_write()
            except BaseException:
                self.disconnect()
                raise

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """See `Store.rows`."""
        with self._told():
            return self._connection.execute(statement, values).fetchall()

    def rows_among(self, statement: str, chosen: Sequence[Any]) -> list[Any]:
        """See `Store.rows_among`."""
        if not chosen:
            return []
        return self.rows(
            f"{statement} IN (SELECT value FROM json_each(:chosen))",  # noqa: S608
            chosen=json.dumps(list(chosen)),
        )

    def transaction(self, work: Callable[[], Outcome]) -> Outcome:
        """See `Store.transaction`."""
        with self._told(), self._connection as connection:  # which commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            return work()

    def insert(self, table: str, rows: Sequence[Row], *, tail: str = "") -> None:
        """Inserts the rows in as few statements as possible.

        The sqlite3 module gives up the interpreter's lock at every step of a statement, and beside
        a busy event loop it waits up to a switch interval (5 ms) to get it back. One row a
        statement would make a batch of thirty take a tenth of a second there.
        """
        with self._told():
            while rows:
                size = min(64, 1 << (len(rows).bit_length() - 1))
                part, rows = rows[:size], rows[size:]
                self._connection.execute(
                    _insertion(table, tuple(part[0]), size, tail),
                    [value for row in part for value in row.values()],
                )

    def marks(self) -> tuple[bool, int, Collection[str]] | None:
        """See `Store.marks`.

        In one statement, since another process may be making the ledger: its tables could else be
        seen after the marks that come with them were missed.
        """
        ((application, version, names),) = self.rows(
            "SELECT application_id, user_version, (SELECT group_concat(name) FROM sqlite_master)"
            " FROM pragma_application_id, pragma_user_version"
        )
        if not (application or version or names):
            return None
        return application == APPLICATION_ID, version, (names or "").split(",")

    def set_marks(self) -> None:
        """See `Store.set_marks`."""
        self.rows(f"PRAGMA application_id={APPLICATION_ID}")
        self.rows(f"PRAGMA user_version={SCHEMA_VERSION}")

    def in_flight_elsewhere(self, keys: Sequence[str]) -> list[Any]:
        """See `Store.in_flight_elsewhere`; a transaction that writes is the only one.

        Notes have no index by key: each commit would write several pages of it, for a question
        that the first and the last number answer where no other session has any.
        """
        ((least, most),) = self.rows(
            "SELECT (SELECT min(id) FROM intents), (SELECT max(id) FROM intents)"
        )
        if least is None or {least >> SESSION_SHIFT, most >> SESSION_SHIFT} == {self.session}:
            return []
        return super().in_flight_elsewhere(keys)

    def living(self, sessions: Collection[int]) -> set[int]:
        """Told by the process of each, or where that is on another machine by its heartbeat."""
        found = self.rows_among(
            "SELECT id, host, pid, process_started, heartbeat_at FROM sessions"
            " WHERE ended_at IS NULL AND id",
            sorted(sessions),
        )
        return {
            number
            for number, host, pid, started, heartbeat_at in found
            if not is_dead(Process(host, pid, started), heartbeat_at)
        }

    def size_bytes(self) -> int:
        """The file with its log."""
        log = self._file.with_name(f"{self._file.name}-wal")
        return sum(part.stat().st_size for part in (self._file, log) if part.exists())

    def give_back_space(self) -> None:
        """See `Store.give_back_space`."""
        self.rows("VACUUM")

    def disconnect(self) -> None:
        """See `Store.disconnect`."""
        self._connection.close()

    def _get_ready_to_write(self) -> None:
        """Sets the file up, creates the tables where there are none, and begins the session."""
        self.rows(f"PRAGMA page_size={PAGE_BYTES}")  # of a file that is made here
        _use_write_ahead_log(self._connection, self._file)
        self.rows(f"PRAGMA synchronous={SYNCHRONOUS}")
        self.rows("PRAGMA wal_autocheckpoint=4000")
        if self.version < SCHEMA_VERSION:
            self.transaction(self.create_tables)
        self.rows(NEW_SESSION, **this_process()._asdict(), now=time.time())
        ((self.session,),) = self.rows("SELECT last_insert_rowid()")

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise store_error(error, self._file) from error


@lru_cache(maxsize=64)
def _insertion(table: str, columns: tuple[str, ...], size: int, tail: str) -> str:
    row = f"({','.join('?' * len(columns))})"
    return f"INSERT INTO {table}({', '.join(columns)}) VALUES {','.join([row] * size)} {tail}"  # noqa: S608 - names of our own


def _look_only(path: Path) -> sqlite3.Connection:
    connection = _connect(path, "mode=ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        connection.close()
        # In a folder that cannot be written SQLite has no place for its shared memory. With no
        # log beside it, the file is complete in itself and nobody writes on it.
        log = path.with_name(path.name + "-wal")
        if not isinstance(error, sqlite3.OperationalError) or (log.exists() and log.stat().st_size):
            raise
        return _connect(path, "mode=ro&immutable=1")
    return connection


class _Connection(sqlite3.Connection):
    """A connection that is known of while it is open.

    Attributes:
        file: device and number of its file.
    """

    file: tuple[int, int] | None = None

    def close(self) -> None:
        """Closes it."""
        _open.discard(self)
        super().close()


_open: WeakSet[_Connection] = WeakSet()
_parents: list[_Connection] = []


def _leave_to_parent() -> None:
    """In a forked child: its parent's connections are neither used nor closed here."""
    _parents.extend(_open)
    _open.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_leave_to_parent)


def _connect(path: Path, options: str) -> sqlite3.Connection:
    """Connects, but not to a file that the parent of this forked process had open.

    SQLite keeps one record a process of the locks on a file, which a fork copies, and the system
    gives a child none of its parent's locks. The child would take the file for locked where it is
    not: when the parent closes it, it removes the log that the child goes on writing to.
    """
    if _parents and _file_of(path) in {connection.file for connection in _parents}:
        raise opened_before_fork(str(path))
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        timeout=LOCK_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
        factory=_Connection,
    )
    connection.file = _file_of(path)
    _open.add(connection)
    return connection


def _file_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _create_file(path: Path) -> None:
    """Makes an empty file for the owner only, and its folder, where they are missing."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError as error:
        if path.exists():
            return
        raise StoreError(
            f"{path.parent}: must be a folder for the ledger, and is a file: "
            "name a place for the ledger as `ledger` or in AREOPAGUS_HOME"
        ) from error
    except OSError as error:
        raise StoreError(
            f"{path}: no ledger can be made here ({error.strerror}): "
            "name a place that can be written as `ledger` or in AREOPAGUS_HOME"
        ) from error


def _use_write_ahead_log(connection: sqlite3.Connection, path: Path) -> None:
    """Sets the journal mode; SQLite does not wait for the lock of that by itself."""
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            if not _is_lock(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    if mode != "wal":
        raise StoreError(
            f"{path}: this file system cannot hold a ledger (SQLite's write-ahead log does not "
            "work on it, as on most network shares): name a file on a local disk as `ledger`"
        )


def _is_lock(error: sqlite3.Error) -> bool:
    return _code(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _code(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The StoreError that says in one sentence what an SQLite error means for this ledger."""
    code, elsewhere = _code(error), SqliteStore.elsewhere
    restore = f'put back a copy, save what can be read with `sqlite3 "{path}" .recover`, '
    if _is_lock(error):
        return StoreError(
            f"{path}: another process has kept the ledger locked for more than "
            f"{LOCK_TIMEOUT_S:.0f} s{_holders(path)}: wait for it or end it"
        )
    if code.startswith("SQLITE_FULL"):
        reason = "the disk is full; what was stored before is safe: free some space and go on"
    elif code.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        reason = (
            f"the ledger or its folder cannot be written: change its permissions, or {elsewhere}"
        )
    elif code.startswith("SQLITE_NOTADB"):
        reason = (
            "this file is no ledger (it is not an SQLite database, or its beginning is damaged) "
            f"and was left as it is: {restore}or {elsewhere}"
        )
    elif code.startswith("SQLITE_CORRUPT"):
        reason = f"the ledger is damaged ({error}) and was left as it is: {restore}or {elsewhere}"
    elif code.startswith("SQLITE_CANTOPEN"):
        reason = (
            f"the ledger cannot be opened: see to the permissions of its folder, or {elsewhere}"
        )
    elif code.startswith("SQLITE_IOERR"):
        reason = (
            "the ledger could not be written or read (a quota, a limit on file size or a failing "
            f"disk: {code}); what was stored before is safe: see to the disk, or {elsewhere}"
        )
    else:
        reason = f"the ledger failed: {error} {code}".rstrip()
    return StoreError(f"{path}: {reason}")


def _holders(path: Path) -> str:
    """Who may hold the lock, as far as the ledger knows."""
    try:
        store = SqliteStore(path, read_only=True)
        try:
            found = store.rows(
                "SELECT host, pid, process_started, heartbeat_at FROM sessions"
                " WHERE ended_at IS NULL"
            )
        finally:
            store.close()
    except StoreError:
        return ""
    named = [
        f"process {pid} on {host.split('/')[0]}"
        for host, pid, started, heartbeat_at in found
        if pid != os.getpid() and not is_dead(Process(host, pid, started), heartbeat_at)
    ]
    if not named:
        return (
            " (no other run is registered: look for a database tool or a backup that has it open)"
        )
    return f" (open runs: {', '.join(named)})"
