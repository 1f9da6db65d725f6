"""One connection to the server of a PostgreSQL ledger: made, checked, and its errors told apart.

The driver is pg8000: synchronous, as the ledger's one writing thread is and as look-ups are, and
pure Python under a BSD licence. (psycopg is under the LGPL; asyncpg would need an event loop of
its own in the writing thread and another thread for every look-up made on the package's loop.)
"""

from __future__ import annotations

import json
import math
import socket
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..errors import StoreError
from .ledger_postgres_address import PostgresAddress

OPERATION_TIMEOUT_S = 60.0
"""After this silence a server counts as gone."""
_LOCK_TIMEOUT = "45s"
_MOST_ROWS, _MOST_BYTES = 256, 8_000_000
# 57014: a statement that was cancelled, a COMMIT perhaps. In what state that leaves the transaction
# need not be known: as after 25P03 and 25P04 (its time was over), a new connection does it again.
_GONE = ("08", "25P03", "25P04", "53300", "57014", "57P")
_TRY_AGAIN = ("40001", "40P01")
_TYPES = {
    "id": "bigint",
    "session": "bigint",
    "begun_at": "float8",
    "created_at": "float8",
    "failed_at": "float8",
    "learned_at": "float8",
    "input_tokens": "bigint",
    "output_tokens": "bigint",
    "cost_usd": "float8",
    "repeats": "bigint",
    "status": "bigint",
    "attempts": "bigint",
    "may_be_billed": "bigint",
}


class ServerGoneError(Exception):
    """The connection broke or is given up, or none can be had just now."""


class TryAgainError(Exception):
    """The server undid a transaction because two got into each other's way."""


class Link:
    """A connection, with the statements it has prepared."""

    def __init__(self, address: PostgresAddress, *, read_only: bool) -> None:
        """Connects.

        Raises:
            StoreError: the driver is missing, or the server says no.
            ServerGoneError: nobody answers.
        """
        try:
            from pg8000.exceptions import (  # pyright: ignore[reportMissingImports]
                DatabaseError,
                InterfaceError,
            )
            from pg8000.native import Connection  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise StoreError(
                "a PostgreSQL ledger needs the driver: pip install 'areopagus[postgres]'"
            ) from None
        self._address = address
        self._broken: tuple[type[BaseException], ...] = (InterfaceError, OSError)
        self._refused: type[BaseException] = DatabaseError
        self._prepared: dict[str, Any] = {}
        settings = {
            "search_path": address.schema_quoted,
            "lock_timeout": _LOCK_TIMEOUT,
            # A limit that a role or a database has for its usual work is not meant for this.
            "statement_timeout": "0",
            # A server that lost sight of this process must not hold its locks for ever.
            "idle_in_transaction_session_timeout": "45s",
            "tcp_keepalives_idle": "30",
            "tcp_keepalives_interval": "10",
            "tcp_keepalives_count": "3",
        }
        if read_only:
            settings["default_transaction_read_only"] = "on"
        line: socket.socket | None = None
        try:
            line = _line_to(address)
            self._connection = Connection(
                address.user,
                host=address.host,
                port=address.port,
                database=address.database,
                password=address.password_now,
                application_name="areopagus",
                ssl_context=False if address.host.startswith("/") else address.ssl_context(),
                startup_params=settings,
                sock=line,
            )
        except self._refused as error:
            line.close() if line else None
            raise self._told(error) from None
        except self._broken as error:
            line.close() if line else None
            reason = error.__cause__ or error
            raise ServerGoneError(f"{reason}") from None
        if self.run("SELECT current_setting('synchronous_commit')") == [["off"]]:
            # What `finish` returned for must be on the server's disk.
            self.run("SET synchronous_commit TO on")

    def run(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement with named parameters.

        Raises:
            StoreError: the server refuses it.
            ServerGoneError: the connection broke; whether the statement was done is unknown.
            TryAgainError: its transaction was undone, and may be done again.
        """
        try:
            if not values:
                return list(self._connection.run(statement) or ())
            if statement not in self._prepared:
                self._prepared[statement] = self._connection.prepare(statement)
            return list(self._prepared[statement].run(**values) or ())
        except self._refused as error:
            meaning = self._told(error)
            if isinstance(meaning, ServerGoneError):
                self.close()
            raise meaning from None
        except self._broken as error:
            self.close()
            raise ServerGoneError(f"{error.__cause__ or error}") from None

    def insert(
        self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, tail: str = ""
    ) -> None:
        """Inserts the rows, a few hundred a statement, as one JSON document each.

        Args:
            tail: the conflict clause, on the first column.
        """
        statement = _insertion(table, tuple(columns), tail)
        for group in _without_repeats(rows) if tail else [list(rows)]:
            for documents in _in_parts(columns, group):
                self.run(statement, documents=documents)

    def close(self) -> None:
        """Closes the connection, whatever state it is in."""
        try:
            self._connection.close()
        except (*self._broken, self._refused):
            pass  # it is gone already

    def _told(self, error: BaseException) -> Exception:
        return told(error, self._address)


def told(error: BaseException, address: PostgresAddress) -> Exception:
    """The exception that says what a server's error (`DatabaseError`) means for this ledger."""
    said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    code, message = str(said.get("C", "")), str(said.get("M", error))
    if code.startswith(_GONE):
        return ServerGoneError(message)
    if code in _TRY_AGAIN:
        return TryAgainError(message)
    place = address.shown
    if code.startswith("28"):
        reason = (
            f"the server refuses the user {address.user} ({message}): give the password in the "
            "environment as PGPASSWORD"
        )
    elif code == "3D000":
        reason = f"there is no database {address.database}: make it with createdb"
    elif code in ("42501", "25006"):
        reason = f"the ledger cannot be written or made ({message}): see to the user's privileges"
    elif code in ("53100", "53200"):
        reason = f"{message}; what was stored before is safe: see to the server and go on"
    elif code == "55P03":
        reason = "another connection has kept the ledger locked for too long: end it"
    else:
        reason = f"the ledger failed: {message} {code}".rstrip()
    return StoreError(f"{place}: {reason}")


def _line_to(address: PostgresAddress) -> socket.socket:
    """A connected socket: one time limit for connecting, another for what comes after."""
    if address.host.startswith("/"):
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.connect(f"{address.host}/.s.PGSQL.{address.port}")
        except OSError:
            line.close()
            raise
    else:
        line = socket.create_connection((address.host, address.port), address.connect_timeout)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    line.settimeout(OPERATION_TIMEOUT_S)
    return line


@lru_cache(maxsize=64)
def _insertion(table: str, columns: tuple[str, ...], tail: str) -> str:
    types = ", ".join(f"{name} {_TYPES.get(name, 'text')}" for name in columns)
    taken = ", ".join("decode(reply, 'base64')" if name == "reply" else name for name in columns)
    # In one order everywhere: two processes that write the same keys wait for each other in line.
    return (
        f"INSERT INTO {table}({', '.join(columns)}) SELECT {taken}"  # noqa: S608 - our own names
        f" FROM json_to_recordset(CAST(:documents AS json)) AS given({types})"
        f" ORDER BY {columns[0]} {tail}"
    )


def _without_repeats(rows: Sequence[Sequence[Any]]) -> list[list[Sequence[Any]]]:
    """The rows in groups in which no key occurs twice: one statement may not meet a row twice."""
    groups: list[list[Sequence[Any]]] = []
    times: dict[Any, int] = {}
    for row in rows:
        turn = times.get(row[0], 0)
        times[row[0]] = turn + 1
        if turn == len(groups):
            groups.append([])
        groups[turn].append(row)
    return groups


def _in_parts(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    parts: list[str] = []
    waiting: list[str] = []
    size = 0
    for row in rows:
        document = json.dumps({name: _plain(v) for name, v in zip(columns, row, strict=True)})
        if waiting and (len(waiting) >= _MOST_ROWS or size + len(document) > _MOST_BYTES):
            parts.append(f"[{','.join(waiting)}]")
            waiting, size = [], 0
        waiting.append(document)
        size += len(document)
    if waiting:
        parts.append(f"[{','.join(waiting)}]")
    return parts


def _plain(value: Any) -> Any:
    """The value as JSON has it and PostgreSQL takes it, which has no NUL in a text."""
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, str):
        return value.replace("\x00", "\\x00")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
