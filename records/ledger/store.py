"""The tables of a ledger, and what is done with them whichever database holds them (`Store`).

meta(name, value)              `secret`: 32 random bytes, made with the ledger, never exported
sessions(id, host, pid, process_started, started_at, heartbeat_at, ended_at)
                               one row for each opening for writing
intents(id, key, backend, begun_at)
                               calls in flight ("notes"); the id holds the session in its upper
                               half, and is negative where the call was given up while it was
                               sent
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
"""

from __future__ import annotations

import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ...errors import StoreError
from ..types import Reply
from .encoding import decode_reply

Outcome = TypeVar("Outcome")
Row = Mapping[str, Any]
"""Values by column."""

SCHEMA_VERSION = 3
"""Of the tables; a ledger of another version is refused and left as it is."""

NEW_SESSION = (
    "INSERT INTO sessions(host, pid, process_started, started_at, heartbeat_at)"
    " VALUES (:host, :pid, :started, :now, :now)"
)

SESSION_SHIFT = 32
"""A note's number holds the session that made it in its upper half. The note of a call that was
given up while it was sent gets the negative of its number: of no session that lives."""

TABLES = frozenset({"meta", "requests", "sessions", "intents", "calls", "failures"})

_SCHEMA = """
CREATE TABLE requests(name {key} PRIMARY KEY, description {text} NOT NULL){by_name};
CREATE TABLE meta(name {text} PRIMARY KEY, value {bytes} NOT NULL){by_name};
CREATE TABLE sessions(
    id {session_id}, host {text} NOT NULL, pid {integer} NOT NULL,
    process_started {text} NOT NULL, started_at {real} NOT NULL, heartbeat_at {real} NOT NULL,
    ended_at {real});
CREATE TABLE intents(
    id {integer} PRIMARY KEY, key {key} NOT NULL, backend {text} NOT NULL,
    begun_at {real} NOT NULL);
CREATE TABLE calls(
    id {id}, key {key} NOT NULL UNIQUE, backend {text} NOT NULL,
    endpoint {text} NOT NULL, purpose {text} NOT NULL, session {integer} NOT NULL,
    created_at {real} NOT NULL, input_tokens {integer}, output_tokens {integer},
    cost_usd {real}, finish_reason {text}, answered_by {text}, repeats {integer} NOT NULL,
    duplicates {integer} NOT NULL DEFAULT 0, duplicate_cost_usd {real},
    request {text} NOT NULL, reply {bytes} NOT NULL, checksum {integer});
CREATE TABLE failures(
    id {id}, key {text} NOT NULL, backend {text} NOT NULL, session {integer} NOT NULL,
    failed_at {real} NOT NULL, fault {text} NOT NULL, detail {text} NOT NULL,
    status {integer}, attempts {integer} NOT NULL, may_be_billed {integer} NOT NULL);
CREATE TABLE capabilities(
    backend {text} PRIMARY KEY, rung {text} NOT NULL, learned_at {real} NOT NULL){by_name}
"""


def opened_before_fork(place: str) -> StoreError:
    """What a process is told that was forked from one which has the ledger open."""
    return StoreError(
        f"{place}: the ledger was opened before this process was forked, and is its parent's: "
        "open panels and ledgers only in the processes that use them, or start these with "
        "multiprocessing's spawn or forkserver"
    )


class Store(ABC):
    """A ledger that is open in a database; for one thread at a time.

    A subclass is one kind of database. Statements use named parameters (`:name`) and the SQL that
    all of them have. Every failure is a `StoreError`.

    Attributes:
        place: its file or address, as it may be shown: without a password.
        path: its file; None where it is on a server.
        version: of the tables, when they were opened.
        session: number of this session, from 1 to 2**31; 0 where it was opened for reading.
    """

    types: ClassVar[Mapping[str, str]]
    """What the columns of the tables are called in this kind of database."""
    elsewhere: ClassVar[str]
    """How a user names another ledger."""

    place: str
    path: Path | None = None
    version: int = 0
    session: int = 0

    # What each kind of database does in its own way

    @abstractmethod
    def rows(self, statement: str, **values: Any) -> list[Any]:
        """The rows of a statement; none where it has none."""

    @abstractmethod
    def rows_among(self, statement: str, chosen: Sequence[Any]) -> list[Any]:
        """The rows of a statement that ends with the column that must be among the chosen."""

    @abstractmethod
    def transaction(self, work: Callable[[], Outcome]) -> Outcome:
        """What the work returns, when all that it wrote is durable.

        The work may be done twice, where the first attempt left nothing behind; it is never in
        the ledger twice.
        """

    @abstractmethod
    def insert(self, table: str, rows: Sequence[Row], *, tail: str = "") -> None:
        """Inserts rows of the same columns; `tail` is the conflict clause, on the first one."""

    @abstractmethod
    def marks(self) -> tuple[bool, int, Collection[str]] | None:
        """Whether the place is marked as a ledger, of what version, and its tables.

        None where it holds nothing.
        """

    @abstractmethod
    def set_marks(self) -> None:
        """Marks the place as a ledger of this version."""

    @abstractmethod
    def living(self, sessions: Collection[int]) -> set[int]:
        """Those of these sessions that may still bring the outcome of a call they began."""

    @abstractmethod
    def size_bytes(self) -> int:
        """What the ledger takes on disk."""

    @abstractmethod
    def give_back_space(self) -> None:
        """Gives back to the system what rows took that are gone."""

    @abstractmethod
    def disconnect(self) -> None:
        """Closes the connection."""

    # What is the same in all of them

    def replies(self, keys: Sequence[str]) -> tuple[dict[str, Reply], dict[str, str]]:
        """The stored replies of these calls, and why others that are stored cannot be read."""
        sums = "checksum" if self.version >= 3 else "NULL"
        found: dict[str, Reply] = {}
        unreadable: dict[str, str] = {}
        for key, stored, expected in self.rows_among(
            f"SELECT key, reply, {sums} FROM calls WHERE key",  # noqa: S608
            keys,
        ):
            try:
                found[key] = decode_reply(key, stored, expected)
            except ValueError as error:
                unreadable[key] = str(error)
        return found, unreadable

    def in_flight_elsewhere(self, keys: Sequence[str]) -> list[Any]:
        """Number and key of the notes on these keys that other sessions made.

        Until the transaction ends, nobody else gets an answer to this about the same keys.
        """
        found = self.rows_among("SELECT id, key FROM intents WHERE key", keys)
        return [row for row in found if row[0] >> SESSION_SHIFT != self.session]

    def dead(self, numbers: Sequence[int]) -> list[int]:
        """Those of these notes whose session is over, so that nobody will bring an outcome."""
        owners = {number >> SESSION_SHIFT for number in numbers}
        if not owners:
            return []
        living = self.living(owners)
        return [number for number in numbers if number >> SESSION_SHIFT not in living]

    def abandoned(self) -> int:
        """Calls that were in flight when their process ended, and that nobody has a reply to."""
        found = self.rows("SELECT id FROM intents WHERE key NOT IN (SELECT key FROM calls)")
        return len(self.dead([number for (number,) in found]))

    def write(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any] | None]:
        """Writes rows in one transaction.

        Args:
            batch: rows by kind, which is a name of `KINDS`.

        Returns:
            By kind a result for each row, or None.
        """
        return self.transaction(
            lambda: {kind: KINDS[kind](self, batch[kind]) for kind in KINDS if kind in batch}
        )

    def beat(self) -> None:
        """Says that the session is alive."""
        self.rows(
            "UPDATE sessions SET heartbeat_at = :now WHERE id = :id",
            now=time.time(),
            id=self.session,
        )

    def end_session(self) -> None:
        """Says that the session is over: nobody will bring the outcomes of its calls."""
        self.rows(
            "UPDATE sessions SET ended_at = :now WHERE id = :id", now=time.time(), id=self.session
        )

    def close(self, *, end_session: bool = True) -> None:
        """Closes the connection, and marks the session as ended where that is possible."""
        if self.session and end_session:
            with suppress(StoreError):
                self.end_session()
        self.disconnect()

    def found_version(self, *, may_be_empty: bool) -> int:
        """The version of the ledger; 0 where nothing is there yet.

        Raises:
            StoreError: nothing is there and something should be; the place holds something else;
                or a ledger that is damaged, or of a newer version.
        """
        marks = self.marks()
        if marks is None:
            if may_be_empty:
                return 0
            raise StoreError(
                f"{self.place}: there is no ledger here; the first run that makes a call makes it"
            )
        is_ledger, version, tables = marks
        if not is_ledger:
            raise StoreError(
                f"{self.place}: what is here is not a ledger and was left as it is: "
                f"{self.elsewhere}"
            )
        if version != SCHEMA_VERSION:
            newer = version > SCHEMA_VERSION
            fix = "upgrade areopagus, or " if newer else ""
            raise StoreError(
                f"{self.place}: this ledger was written by {'a newer' if newer else 'an older'} "
                f"version of areopagus (ledger version {version}; this one reads "
                f"{SCHEMA_VERSION}) and was left as it is: {fix}{self.elsewhere}"
            )
        if not set(tables) >= TABLES:
            raise StoreError(
                f"{self.place}: this ledger is damaged (tables are missing): put back a copy, or "
                f"{self.elsewhere}"
            )
        return version

    def create_tables(self) -> None:
        """Creates the tables, unless another process has; where nobody else can at the time."""
        if self.found_version(may_be_empty=True) == 0:
            for statement in _SCHEMA.split(";\n"):
                self.rows(statement.format(**self.types))
            first = {"secret": secrets.token_bytes(32), "created_at": str(time.time()).encode()}
            for name, value in first.items():
                self.rows("INSERT INTO meta VALUES (:name, :value)", name=name, value=value)
            self.set_marks()
        self.version = SCHEMA_VERSION


def _forget_unreadable(store: Store, keys: Sequence[str]) -> None:
    """Takes the calls away whose replies cannot be read, unless somebody has put them right."""
    _, unreadable = store.replies(keys)
    store.rows_among("DELETE FROM calls WHERE key", sorted(unreadable))


def _abandon(store: Store, numbers: Sequence[int]) -> None:
    store.rows_among("UPDATE intents SET id = -id WHERE id", sorted(numbers))


def _describe(store: Store, rows: Sequence[Row]) -> None:
    store.insert("requests", rows, tail="ON CONFLICT(name) DO NOTHING")


def _begin(store: Store, rows: Sequence[tuple[Row, bool]]) -> Sequence[tuple[int, ...] | None]:
    """Notes the calls.

    Args:
        store: where.
        rows: notes, and whether each is a claim.

    Returns:
        For each row, the notes on its key that killed processes, or calls that were given up, have
        left. None where nothing was noted, because the row is a claim and the call is answered, or
        in flight in another session that lives.
    """
    others: dict[str, list[int]] = {}
    for number, key in store.in_flight_elsewhere(list({note["key"] for note, _ in rows})):
        others.setdefault(key, []).append(number)
    dead = set(store.dead([number for ids in others.values() for number in ids]))
    taken = {key for key, ids in others.items() if not dead.issuperset(ids)}
    claimed = list({note["key"] for note, is_claim in rows if is_claim} - taken)
    taken |= {key for (key,) in store.rows_among("SELECT key FROM calls WHERE key", claimed)}
    noted: list[Row] = []
    results: list[tuple[int, ...] | None] = []
    for note, is_claim in rows:
        if is_claim and note["key"] in taken:
            results.append(None)
        else:
            noted.append(note)
            left = others.get(note["key"], ())
            results.append(tuple(number for number in left if number in dead))
    store.insert("intents", noted)
    return results


def _finish(store: Store, rows: Sequence[tuple[Row, Sequence[int]]]) -> None:
    """Stores replies, and ends the notes named beside each."""
    store.insert(
        "calls",
        [row for row, _ in rows],
        # The first reply is the one that others may have built on.
        tail="ON CONFLICT(key) DO UPDATE SET duplicates = calls.duplicates + 1,"
        " duplicate_cost_usd = CASE WHEN calls.duplicates = 0 THEN excluded.cost_usd"
        " ELSE calls.duplicate_cost_usd + excluded.cost_usd END",
    )
    _end(store, rows)


def _fail(store: Store, rows: Sequence[tuple[Row | None, Sequence[int]]]) -> None:
    """Stores that calls failed, or nothing where one was not sent, and ends their notes."""
    store.insert("failures", [row for row, _ in rows if row is not None])
    _end(store, rows)


def _end(store: Store, rows: Sequence[tuple[Any, Sequence[int]]]) -> None:
    ended = sorted(number for _, numbers in rows for number in numbers)
    store.rows_among("DELETE FROM intents WHERE id", ended)


def _learn(store: Store, rows: Sequence[Row]) -> None:
    store.insert(
        "capabilities",
        rows,
        tail="ON CONFLICT(backend) DO UPDATE SET rung = excluded.rung,"
        " learned_at = excluded.learned_at",
    )


KINDS: dict[str, Callable[[Store, Sequence[Any]], Sequence[Any] | None]] = {
    "forget": _forget_unreadable,
    "abandon": _abandon,
    "describe": _describe,
    "begin": _begin,
    "finish": _finish,
    "fail": _fail,
    "capability": _learn,
}
"""What can be written, in the order in which a batch is."""
