"""What raters have saved: one SQLite file, on disk before the browser is told that it is.

Write-ahead log with synchronous=FULL: a save that was answered survives the death of the process
and of the machine. Every save is also kept as it came, in `saves`, so that nothing is overwritten.
The file knows codes, page numbers, labels and scores; it cannot say what a label stands for.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError, InputFault, StoreError

STORE_FORMAT = 1
BUSY_S = 10.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pages (
    rater TEXT NOT NULL, number INTEGER NOT NULL, revision INTEGER NOT NULL, save_id TEXT,
    opened_at REAL NOT NULL, saved_at REAL, done_at REAL, active_ms INTEGER NOT NULL,
    comment TEXT NOT NULL, text TEXT NOT NULL, pasted_chars INTEGER NOT NULL,
    PRIMARY KEY (rater, number)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scores (
    rater TEXT NOT NULL, number INTEGER NOT NULL, label TEXT NOT NULL, dimension TEXT NOT NULL,
    score INTEGER NOT NULL, PRIMARY KEY (rater, number, label, dimension)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (
    rater TEXT NOT NULL, number INTEGER NOT NULL, field TEXT NOT NULL, name TEXT NOT NULL,
    value NOT NULL, PRIMARY KEY (rater, number, field, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS saves (
    id INTEGER PRIMARY KEY, rater TEXT NOT NULL, number INTEGER NOT NULL,
    revision INTEGER NOT NULL, at REAL NOT NULL, body TEXT NOT NULL);
"""

Scores = Mapping[str, Mapping[str, int]]

ANSWERS = ("places", "reasons", "feedback", "labels")
"""What a page holds beside its scores, each a name to a value."""


@dataclass(frozen=True, slots=True)
class SavedPage:
    """One rater's page as it is saved.

    Attributes:
        rater, number: code and page.
        revision: counts the saves; 0 before the first.
        opened_at, saved_at, done_at: seconds since 1970; None where it has not happened.
        active_ms: time in which the page was in sight and somebody acted on it.
        scores: label to dimension to score; what was not scored is absent.
        comment: the justification.
        places: label to the place that the rater gave it; 1 is best, ties are allowed.
        reasons: criterion to why it was scored so.
        feedback: what is wrong with the prompt (see `app.FEEDBACK`) to what the rater says of it.
        labels: question to the category chosen (task 3).
        text: what was written (task 1).
        pasted_chars: characters pasted into the text.
    """

    rater: str
    number: int
    revision: int = 0
    opened_at: float | None = None
    saved_at: float | None = None
    done_at: float | None = None
    active_ms: int = 0
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    comment: str = ""
    places: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    feedback: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    text: str = ""
    pasted_chars: int = 0
    save_id: str | None = None


@dataclass(frozen=True, slots=True)
class Save:
    """A save as the browser sends it.

    Attributes:
        revision: of the page that was changed.
        save_id: drawn by the browser; a save sent again after a lost answer counts once.
        scores: all scores of the page.
        comment, places, reasons, feedback, labels, text: as in `SavedPage`.
        done: whether the rater is through with the page.
        active_ms: active time since the last save that was answered.
        pasted_chars: pasted since then.
    """

    revision: int
    save_id: str
    scores: Scores = field(default_factory=dict)
    comment: str = ""
    places: Mapping[str, int] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    feedback: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    done: bool = False
    active_ms: int = 0
    pasted_chars: int = 0


class ConflictError(Exception):
    """The page was changed elsewhere since; `page` is what is saved."""

    def __init__(self, page: SavedPage) -> None:
        super().__init__("the page was changed elsewhere")
        self.page = page


class Store:
    """The saves of one study; use it from one thread at a time, and in several processes at will.

    Args:
        path: the file; made where it is missing.
        study_id: of the study; a file of another one is refused.
        is_read_only: nothing is written then, and the file must be there.

    Raises:
        InputError: the file belongs to another study, or is no store.
        StoreError: it cannot be opened or written.
    """

    def __init__(self, path: str | Path, study_id: str, *, is_read_only: bool = False) -> None:
        self.path = Path(path)
        try:
            # Made before SQLite does: its companions take over the rights of the file.
            if not is_read_only:
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as error:
            raise StoreError(f"{path}: cannot be opened ({error.strerror or error})") from error
        address = f"{self.path.absolute().as_uri()}?mode={'ro' if is_read_only else 'rw'}"
        if is_read_only and not self.path.with_name(f"{self.path.name}-wal").exists():
            address += "&immutable=1"  # no log is at work: reading need not make one
        try:
            self._base = sqlite3.connect(
                address, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False
            )
            if not is_read_only:
                self._base.execute("PRAGMA journal_mode=WAL")
                self._base.execute("PRAGMA synchronous=FULL")
                self._base.executescript(_SCHEMA)
                with self._transaction():
                    for key, value in (("study_id", study_id), ("format", str(STORE_FORMAT))):
                        self._base.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (key, value))
            found = dict(self._base.execute("SELECT key, value FROM meta"))
            tables = self._base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            # A store that was begun before there were answers has none.
            self._has_answers = ("answers",) in tables.fetchall()
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                raise InputError([InputFault(str(path), "is not a store of ratings")]) from error
            raise StoreError(f"{path}: cannot be opened ({error})") from error
        if found["study_id"] != study_id:
            self.close()
            raise InputError([InputFault(str(path), "holds the ratings of another study")])
        if found["format"] != str(STORE_FORMAT):
            self.close()
            raise InputError([InputFault(str(path), f"has format {found['format']}")])

    def close(self) -> None:
        """Closes the file."""
        self._base.close()

    def open_page(self, rater: str, number: int, now: float) -> SavedPage:
        """Returns the page, noting when it was opened first."""
        with self._transaction():
            self._base.execute(
                "INSERT OR IGNORE INTO pages VALUES (?, ?, 0, NULL, ?, NULL, NULL, 0, '', '', 0)",
                (rater, number, now),
            )
        return self.page(rater, number)

    def page(self, rater: str, number: int) -> SavedPage:
        """Returns the page; one that was never opened has no times."""
        found = self._pages("WHERE rater = ? AND number = ?", (rater, number))
        return next(found, SavedPage(rater, number))

    def pages(self, rater: str | None = None) -> list[SavedPage]:
        """Returns the pages that were opened, of one rater or of all."""
        if rater is None:
            return list(self._pages("", ()))
        return list(self._pages("WHERE rater = ?", (rater,)))

    def save(self, rater: str, number: int, save: Save, now: float) -> SavedPage:
        """Returns the page after a save, which is then on disk.

        Raises:
            ConflictError: it was changed elsewhere since the revision that the save started from.
            StoreError: the disk is full, or the file cannot be written.
        """
        with self._transaction():
            before = self.page(rater, number)
            if before.save_id == save.save_id:
                return before
            if before.revision != save.revision:
                raise ConflictError(before)
            since = before.saved_at or before.opened_at or now
            active = min(max(0, save.active_ms), round(1000 * (now - since)) + 5000)
            done_at = (before.done_at or now) if save.done else None
            revision = before.revision + 1
            self._base.execute(
                "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET revision = excluded.revision, "
                "save_id = excluded.save_id, saved_at = excluded.saved_at, "
                "done_at = excluded.done_at, active_ms = excluded.active_ms, "
                "comment = excluded.comment, text = excluded.text, "
                "pasted_chars = excluded.pasted_chars",
                (
                    rater, number, revision, save.save_id, before.opened_at or now, now, done_at,
                    before.active_ms + active, save.comment, save.text,
                    before.pasted_chars + save.pasted_chars,
                ),
            )  # fmt: skip
            self._base.execute("DELETE FROM scores WHERE rater = ? AND number = ?", (rater, number))
            self._base.executemany(
                "INSERT INTO scores VALUES (?, ?, ?, ?, ?)",
                (
                    (rater, number, label, dimension, score)
                    for label, row in save.scores.items()
                    for dimension, score in row.items()
                ),
            )
            given = {name: dict(getattr(save, name)) for name in ANSWERS}
            self._base.execute(
                "DELETE FROM answers WHERE rater = ? AND number = ?", (rater, number)
            )
            self._base.executemany(
                "INSERT INTO answers VALUES (?, ?, ?, ?, ?)",
                (
                    (rater, number, name, key, value)
                    for name, found in given.items()
                    for key, value in found.items()
                ),
            )
            body = {"scores": save.scores, "comment": save.comment, "done": save.done}
            body |= {name: found for name, found in given.items() if found}
            body |= {"text": save.text} if save.text else {}
            self._base.execute(
                "INSERT INTO saves VALUES (NULL, ?, ?, ?, ?, ?)",
                (rater, number, revision, now, json.dumps(body)),
            )
        return self.page(rater, number)

    def _pages(self, where: str, values: tuple[object, ...]) -> Iterator[SavedPage]:
        scores: dict[tuple[str, int], dict[str, dict[str, int]]] = {}
        for rater, number, label, dimension, score in self._base.execute(
            f"SELECT rater, number, label, dimension, score FROM scores {where}",  # noqa: S608
            values,
        ):
            scores.setdefault((rater, number), {}).setdefault(label, {})[dimension] = score
        answers: dict[tuple[str, int], dict[str, Any]] = {}
        if self._has_answers:
            for rater, number, name, key, value in self._base.execute(
                f"SELECT rater, number, field, name, value FROM answers {where}",  # noqa: S608
                values,
            ):
                answers.setdefault((rater, number), {}).setdefault(name, {})[key] = value
        columns = (
            "rater, number, revision, save_id, opened_at, saved_at, done_at, active_ms, comment, "
            "text, pasted_chars"
        )
        found = self._base.execute(
            f"SELECT {columns} FROM pages {where} ORDER BY rater, number",  # noqa: S608
            values,
        ).fetchall()
        for row in found:
            named = dict(zip(columns.split(", "), row, strict=True))
            page = (row[0], row[1])
            yield SavedPage(**named, scores=scores.get(page, {}), **answers.get(page, {}))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._base.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: cannot be written ({error})") from error
        try:
            yield
            self._base.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise StoreError(f"{self.path}: cannot be written ({error})") from error
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self._base.in_transaction:
            self._base.execute("ROLLBACK")


def look_into_store(path: str | Path, study_id: str) -> list[SavedPage]:
    """Returns all pages of a store without writing anything, also while a server writes to it.

    Raises:
        InputError: there is none, it is no store, or it belongs to another study.
        StoreError: it cannot be read.
    """
    if not Path(path).is_file():
        raise InputError([InputFault(str(path), "there are no ratings yet")])
    store = Store(path, study_id, is_read_only=True)
    try:
        return store.pages()
    finally:
        store.close()


def read_store(path: str | Path, study_id: str) -> list[SavedPage]:
    """Returns all pages of a store, also while a server writes to it.

    Raises:
        InputError: there is none, or it belongs to another study.
    """
    if not Path(path).is_file():
        raise InputError([InputFault(str(path), "there are no ratings yet")])
    store = Store(path, study_id)
    try:
        return store.pages()
    finally:
        store.close()
