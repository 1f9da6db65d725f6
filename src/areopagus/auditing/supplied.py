"""Answers that are there already, looked up by item, respondent and repeat, in constant memory."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ..errors import InputError, InputFault
from ..experiment.ask import ModelAnswer
from ..records.readers.responses import UNNAMED, RowSource

_SHOWN = 20


class AnswerSource(RowSource[tuple[dict[str, str], dict[str, Any]]]):
    """A table of answers: item_id, response_text; optional respondent_id, repeat."""

    own: ClassVar[tuple[str, ...]] = ("item_id", "respondent_id", "repeat", "response_text")
    required: ClassVar[tuple[str, ...]] = ("item_id", "response_text")
    unique = "response_id"
    kind = "answers"

    def _row(
        self, values: dict[str, str], extra: dict[str, Any], line: int
    ) -> tuple[dict[str, str], dict[str, Any]]:
        return values, extra

    def _complete(self, values: dict[str, str], repeats: Counter[int]) -> None:
        values.setdefault("respondent_id", UNNAMED)
        values.setdefault("repeat", "0")
        # An item is answered once by each respondent in each repeat, whatever the rows are called.
        key = (values["item_id"], values["respondent_id"], values["repeat"])
        values["response_id"] = "|".join(key)
        values["prompt_id"] = values["prompt_text"] = values["item_id"]


class SuppliedAnswers:
    """Supplied answers in a temporary table; `close` deletes it."""

    def __init__(
        self,
        source: Any,
        item_ids: Collection[str],
        *,
        repeats: int,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        """Reads and checks everything.

        Args:
            source: a file, a data frame or an iterable of mappings.
            item_ids: the items there are, in all or by the options.
            repeats: askings of an item that are planned, at most.
            columns: our column name to theirs.

        Raises:
            InputError: with every fault; items that the audit does not have, among them.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="areopagus-")
        self._base = sqlite3.connect(
            Path(self._folder.name) / "answers.sqlite", check_same_thread=False
        )
        self.n_unknown = 0
        try:
            with AnswerSource(source, columns=columns) as opened:
                summary = opened.check()
                self._fill(opened, item_ids, repeats)
        except BaseException:
            self.close()
            raise
        self.name, self.fingerprint = summary.name, summary.fingerprint
        self.notices = summary.notices
        if self.n_unknown:
            left_out = f"{self.n_unknown:,} supplied answers belong to items that are not asked for"
            self.notices += (f"{left_out} here; they are left out",)
        rows = self._base.execute(
            "SELECT respondent FROM answers GROUP BY respondent ORDER BY min(rowid)"
        )
        self.respondents = tuple(name for (name,) in rows)
        if not self.respondents:
            self.close()
            raise InputError(
                [InputFault(summary.name, "no answer is to an item of this audit", "item_id")],
                hint="The ids must be those of the audit, which areopagus audit NAME "
                "--write-prompts FILE lists.",
            )

    def answer(self, item_id: str, respondent: str, repeat: int) -> ModelAnswer:
        """The answer, or one that was not asked for where none was supplied."""
        row = self._base.execute(
            "SELECT text, status FROM answers WHERE item = ? AND respondent = ? AND repeat = ?",
            (item_id, respondent, repeat),
        ).fetchone()
        if row is None:
            return ModelAnswer("not_asked", reason="no response supplied")
        text, status = row
        if status in ("failed", "not_asked"):
            return ModelAnswer(status, reason="as supplied")
        if not text.strip():
            return ModelAnswer("empty", reason="no text")
        return ModelAnswer("refused" if status == "refused" else "answered", text)

    def close(self) -> None:
        """Deletes the temporary table."""
        self._base.close()
        self._folder.cleanup()

    def _fill(self, opened: AnswerSource, item_ids: Collection[str], repeats: int) -> None:
        self._base.execute("PRAGMA journal_mode=OFF")
        self._base.execute(
            "CREATE TABLE answers (item TEXT, respondent TEXT, repeat INTEGER, text TEXT, "
            "status TEXT, PRIMARY KEY (item, respondent, repeat))"
        )
        faults: list[InputFault] = []

        def rows() -> Iterator[tuple[str, str, int, str, str]]:
            for values, extra in opened.rows():
                number = values["repeat"]
                if not (number.isascii() and number.isdigit()):
                    if len(faults) < _SHOWN:
                        rule = f"must be a whole number from 0 up, got {number!r}"
                        faults.append(InputFault(opened.name, rule, "repeat"))
                    continue
                if values["item_id"] not in item_ids or int(number) >= repeats:
                    self.n_unknown += 1
                    continue
                status = str(extra.get("status") or "")
                yield (
                    values["item_id"],
                    values["respondent_id"],
                    int(number),
                    values["response_text"],
                    status,
                )

        with self._base:
            self._base.executemany("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", rows())
        if faults:
            raise InputError(faults)
