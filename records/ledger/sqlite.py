"""The SQLite store of the ledger: tables, opening, connections, meaning of errors.

    meta(name, value)              `secret`: 32 random bytes, made with the ledger, never exported
    sessions(id, host, pid, process_started, started_at, heartbeat_at, ended_at)
                                   one row for each opening for writing
    intents(id, key, backend, begun_at)
                                   calls in flight; the id holds the session in its upper half,
                                   and is negative where the call was given up while it was sent
    calls(id, key, backend, endpoint, purpose, session, created_at, input_tokens, output_tokens,
          cost_usd, finish_reason, answered_by, repeats, duplicates, duplicate_cost_usd,
          request, reply, checksum)
                                   one row for each paid reply. `request` names a row of `requests`
                                   (version 1: is its text). `reply` is the JSON of `Reply`,
                                   deflated when above 2 kB; the columns from input_tokens to
                                   answered_by repeat it, so that totals need not unpack it.
                                   repeats: earlier attempts that a kill cut off and that may have
                                   been paid too. duplicates: replies to the same key that another
                                   process paid at the same time (the first one was kept), and
                                   their cost, NULL where one of them had no known price.
                                   checksum: CRC-32 of key and reply, NULL where the row was written
                                   before version 3.
    requests(name, description)    what is kept of requests beside their texts, as JSON: alike for
                                   all calls of a persona, and as long as most replies
    failures(id, key, backend, session, failed_at, fault, detail, status, attempts, may_be_billed)
                                   attempts that brought no reply
    capabilities(backend, rung, learned_at)
                                   the response format that a backend takes, once learned (`rung`)

`PRAGMA application_id` marks the file as a ledger, `PRAGMA user_version` is the schema's version.
The journal is a write-ahead log and `synchronous` is FULL: a group commit costs one fsync for
everything that was waiting, so what was paid survives a power cut too (see
benchmarks/ledger_speed.py for both settings). WAL does not work on network file systems.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from ...errors import StoreError
from .session import ProcessIdentity, Session, is_dead, this_process
from .store import SCHEMA_VERSION, SESSION_SHIFT, opened_before_fork

APPLICATION_ID = 0x41524550  # "AREP"
LOCK_TIMEOUT_S = 60.0
SYNCHRONOUS = "FULL"
PAGE_BYTES = 2048
"""Each call writes a page of its own of the index, since keys are hashes: small ones cost less."""

_ELSEWHERE = "or name another ledger with --ledger"

_SINCE_2 = "CREATE TABLE requests(name TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID"
_SINCE_3 = "ALTER TABLE calls ADD COLUMN checksum INTEGER"
_SCHEMA = f"""
{_SINCE_2};
CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions(
    id INTEGER PRIMARY KEY AUTOINCREMENT, host TEXT NOT NULL, pid INTEGER NOT NULL,
    process_started TEXT NOT NULL, started_at REAL NOT NULL, heartbeat_at REAL NOT NULL,
    ended_at REAL);
CREATE TABLE intents(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, backend TEXT NOT NULL, begun_at REAL NOT NULL);
CREATE TABLE calls(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, backend TEXT NOT NULL,
    endpoint TEXT NOT NULL, purpose TEXT NOT NULL, session INTEGER NOT NULL,
    created_at REAL NOT NULL, input_tokens INTEGER, output_tokens INTEGER, cost_usd REAL,
    finish_reason TEXT, answered_by TEXT, repeats INTEGER NOT NULL,
    duplicates INTEGER NOT NULL DEFAULT 0, duplicate_cost_usd REAL,
    request TEXT NOT NULL, reply BLOB NOT NULL, checksum INTEGER);
CREATE TABLE failures(
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, backend TEXT NOT NULL, session INTEGER NOT NULL,
    failed_at REAL NOT NULL, fault TEXT NOT NULL, detail TEXT NOT NULL, status INTEGER,
    attempts INTEGER NOT NULL, may_be_billed INTEGER NOT NULL);
CREATE TABLE capabilities(
    backend TEXT PRIMARY KEY, rung TEXT NOT NULL, learned_at REAL NOT NULL) WITHOUT ROWID;
"""


def open_for_writing(path: Path) -> sqlite3.Connection:
    """A connection to the ledger at `path`, which is created where there is none.

    Raises:
        StoreError: the file or folder cannot be written, or the file is no ledger of this version.
            Nothing is changed then.
    """
    _create_file(path)
    _refuse_folder(path)
    try:
        connection = _connect(path, "mode=rw")
        try:
            version = _version(connection, path)
            connection.execute(f"PRAGMA page_size={PAGE_BYTES}")  # of a file that is made here
            _use_write_ahead_log(connection, path)
            connection.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
            connection.execute("PRAGMA wal_autocheckpoint=4000")
            if version < SCHEMA_VERSION:
                _bring_up_to_date(connection, path)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A read-only connection, which takes no lock that a writer would wait for.

    Raises:
        StoreError: there is no ledger, or it cannot be read.
    """
    if not path.exists():
        raise StoreError(
            f"{path}: there is no ledger here; the first run that makes a call makes it"
        )
    _refuse_folder(path)
    log = path.with_name(path.name + "-wal")
    try:
        try:
            connection = _connect(path, "mode=ro")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            # In a folder that cannot be written SQLite has no place for its shared memory. With no
            # log beside it, the file is complete in itself and nobody writes on it.
            if log.exists() and log.stat().st_size:
                raise
            connection = _connect(path, "mode=ro&immutable=1")
        try:
            if not _version(connection, path):
                raise StoreError(f"{path}: this file is empty and holds no ledger yet")
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise store_error(error, path) from error
    except OSError as error:
        raise StoreError(f"{path}: the ledger cannot be read ({error.strerror})") from error
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
            "name a place for the ledger with --ledger or AREOPAGUS_HOME"
        ) from error
    except OSError as error:
        raise StoreError(
            f"{path}: no ledger can be made here ({error.strerror}): "
            "name a place that can be written with --ledger or AREOPAGUS_HOME"
        ) from error


def _refuse_folder(path: Path) -> None:
    """Raises StoreError for a folder.

    What else is no ledger, SQLite finds out. The file is never opened beside SQLite, not even for
    a look at its first bytes: where a process closes a file, the system drops all locks that it
    holds on it, those of its other connections too. Another process that closes the ledger then
    takes itself for the last, and removes the log that this one goes on writing to.
    """
    if path.is_dir():
        raise StoreError(f"{path}: must be a ledger file, and is a folder: name a file inside it")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """The ledger's version, 0 while it is empty; refuses what is not a ledger that can be used."""
    application, version, tables = _marks(connection)
    if not tables and not application and not version:
        return 0
    if application != APPLICATION_ID:
        raise StoreError(
            f"{path}: this SQLite database is not a ledger and was left as it is: "
            "name another file with --ledger"
        )
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path}: this ledger was written by a newer version of areopagus (ledger version "
            f"{version}, this one knows {SCHEMA_VERSION}) and was left as it is: "
            f"upgrade areopagus, {_ELSEWHERE}"
        )
    needed = {"meta", "sessions", "intents", "calls", "failures"}
    if version > 1:
        needed.add("requests")
    if version < 1 or not needed <= tables:
        raise StoreError(f"{path}: this ledger is damaged (tables are missing): {_repair(path)}")
    return version


def _marks(connection: sqlite3.Connection) -> tuple[int, int, set[str]]:
    """Whose database it is, its version and its tables, all of one moment.

    Another process may be making the ledger: without a transaction its tables could be seen after
    the marks that come with them were missed.
    """
    is_ours = not connection.in_transaction
    if is_ours:
        connection.execute("BEGIN")
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    finally:
        if is_ours and connection.in_transaction:
            connection.execute("ROLLBACK")
    return application, version, tables


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
            "work on it, as on most network shares): name a file on a local disk with --ledger"
        )


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    version = _version(connection, path)  # another process may have been first
    if version == 0:
        for statement in _SCHEMA.split(";\n"):
            if statement.strip():
                connection.execute(statement)
        made = [("secret", secrets.token_bytes(32)), ("created_at", time.time())]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", made)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    else:
        for number, statement in ((2, _SINCE_2), (3, _SINCE_3)):
            if version < number:
                connection.execute(statement)
    connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _is_lock(error: sqlite3.Error) -> bool:
    return _code(error).startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _code(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""


def _repair(path: Path) -> str:
    return (
        f'put back a copy, or save what can be read with `sqlite3 "{path}" .recover`, {_ELSEWHERE}'
    )


def store_error(error: sqlite3.Error, path: Path) -> StoreError:
    """The StoreError that says in one sentence what an SQLite error means for this ledger."""
    code = _code(error)
    if _is_lock(error):
        return StoreError(
            f"{path}: another process has kept the ledger locked for more than "
            f"{LOCK_TIMEOUT_S:.0f} s{_holders(path)}: wait for it or end it"
        )
    if code.startswith("SQLITE_FULL"):
        reason = "the disk is full; what was stored before is safe: free some space and go on"
    elif code.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        reason = f"the ledger or its folder cannot be written: change its permissions, {_ELSEWHERE}"
    elif code.startswith("SQLITE_NOTADB"):
        reason = (
            "this file is no ledger (it is not an SQLite database, or its beginning is damaged) "
            f"and was left as it is: {_repair(path)}"
        )
    elif code.startswith("SQLITE_CORRUPT"):
        reason = f"the ledger is damaged ({error}) and was left as it is: {_repair(path)}"
    elif code.startswith("SQLITE_CANTOPEN"):
        reason = f"the ledger cannot be opened: see to the permissions of its folder, {_ELSEWHERE}"
    elif code.startswith("SQLITE_IOERR"):
        reason = (
            "the ledger could not be written or read (a quota, a limit on file size or a failing "
            f"disk: {code}); what was stored before is safe: see to the disk, {_ELSEWHERE}"
        )
    else:
        reason = f"the ledger failed: {error} {code}".rstrip()
    return StoreError(f"{path}: {reason}")


def _holders(path: Path) -> str:
    """Who may hold the lock, as far as the ledger knows."""
    try:
        reader = open_for_reading(path)
        try:
            live = [
                session
                for session in read_sessions(reader, only_open=True)
                if session.process.pid != os.getpid() and not is_dead(session)
            ]
        finally:
            reader.close()
    except (StoreError, sqlite3.Error):
        return ""
    if not live:
        return (
            " (no other run is registered: look for a database tool or a backup that has it open)"
        )
    named = (f"process {item.process.pid} on {item.process.host.split('/')[0]}" for item in live)
    return f" (open runs: {', '.join(named)})"


def read_sessions(
    connection: sqlite3.Connection, ids: Sequence[int] | None = None, *, only_open: bool = False
) -> list[Session]:
    """The sessions with these ids, or all; `only_open` leaves out those that were closed."""
    found = connection.execute(
        "SELECT id, host, pid, process_started, started_at, heartbeat_at, ended_at FROM sessions"
        " WHERE (?1 IS NULL OR id IN (SELECT value FROM json_each(?1)))"
        " AND (?2 = 0 OR ended_at IS NULL)",
        (None if ids is None else json.dumps(list(ids)), int(only_open)),
    ).fetchall()
    return [
        Session(row[0], ProcessIdentity(host=row[1], pid=row[2], started=row[3]), *row[4:])
        for row in found
    ]


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
        ((self.version,),) = self.rows("PRAGMA user_version")

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

    def change_among(self, statement: str, chosen: Sequence[Any]) -> None:
        """A statement like that of `rows_among`, which changes rows or takes them away."""
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
