"""Turns rows into ratings: every cell ends in the table, in a count, or in a fault."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from ...errors import InputFault
from ..readers.cells import is_missing, read_id, read_number
from ..readers.column_names import SYNONYMS as TEXT_SYNONYMS
from ..readers.column_names import plain_name as spelling
from ..readers.rows import Excluded, Row
from ..tables import LENGTH_COLUMN
from ..types import OVERALL
from .answers import read_label, read_order, read_winner
from .columns import HumanColumns
from .misfits import rows_said
from .missing import EMPTY, ID_WORDS, Missing, MissingCodes
from .plan import Plan, no_such_criterion
from .pools import within_pool
from .shapes import PAIR, RatingColumn
from .side_tables import APPROVED, SourceMap
from .table import (
    TEXT_COLUMNS,
    HumanTable,
    LabelTable,
    PreferenceTable,
    TableBuilder,
)

SHOWN_LINES = 100
"""Of each reason, so many rows are named; all are counted."""

KEPT_FAULTS = 1000

TEXTS_NAMED = 20
"""So many different texts of a column that are no numbers are named, each with its rows."""

_PROMPT_TEXTS, _RESPONSE_TEXTS = (
    tuple(spelling(name) for name in (ours, *TEXT_SYNONYMS[ours]))
    for ours in ("prompt_text", "response_text")
)

_FREE_TEXT = frozenset({"comment", "time"})

Found = TypeVar("Found")


class Unscored(NamedTuple):
    """A stored judgment without a vote: the judge, what became of it, and of which response."""

    judge: str
    status: str
    response_id: str | None
    prompt_id: str | None
    source: str | None


class _Answers(NamedTuple):
    """What all judgments of a row share."""

    line: int
    values: Mapping[str, Any]
    seconds: float | None
    pool: str | None


class RatingReader:
    """Turns rows into ratings by a plan.

    Attributes:
        table, calibration: the ratings of the study, and of calibration items.
        labels, preferences: judgments of these kinds.
        n_rows: rows, excluded ones included.
        n_composed: ratings that take prompt and source for their response.
        n_faults: all different faults; those of one column that say the same are one. Of cells
            that are no numbers, the first `TEXTS_NAMED` texts of a column count.
        excluded: reason to (count, first rows); of rows, or of single ratings ("rating: …").
        attributes: judge to its persona and model, for stored judgments.
        unscored: rows of stored judgments that hold no vote.
        texts: response to the texts of its prompt and of itself, in files of stored judgments.
        lengths: response to its length, where a file of stored judgments states it.
    """

    def __init__(
        self,
        path: str,
        plan: Plan,
        column_map: HumanColumns,
        codes: MissingCodes,
        *,
        source_map: SourceMap | None = None,
        roster: Mapping[str, str] | None = None,
    ) -> None:
        """Takes what says how rows are read.

        Args:
            path: the file's name for messages.
            plan: which column holds what.
            column_map: for codes and kinds.
            codes: what stands for no rating.
            source_map: unblinds labels, where given.
            roster: rater to status; raters whose status is not APPROVED are left out, counted.
        """
        self.table = TableBuilder(HumanTable)
        self.calibration = TableBuilder(HumanTable)
        self.labels = TableBuilder(LabelTable)
        self.preferences = TableBuilder(PreferenceTable)
        self.n_rows = self.n_composed = 0
        self._n_told = 0
        self._last: tuple[int, str | None, str] | None = None
        self._faults: dict[tuple[str | None, str], tuple[int, list[int]]] = {}
        self._n_not_kept = 0
        self.excluded: dict[str, tuple[int, list[int]]] = {}
        self.attributes: dict[str, dict[str, str]] = {}
        self.unscored: list[Unscored] = []
        self.texts: dict[str, tuple[str, str]] = {}
        self.lengths: dict[str, float] = {}
        self._wrong_length = ""
        self._path = path
        self._plan = plan
        described = (*TEXT_COLUMNS, *(name for name in PAIR if name != "winner"))
        self._described = [(n, plan.columns[n]) for n in described if n in plan.columns]
        self._criterion = plan.columns.get("criterion")
        self._values = column_map.numbers_of_codes()
        self._codes = codes
        self._missing: dict[tuple[str, str], tuple[int, list[int]]] = {}
        self._no_numbers: dict[tuple[str, str], tuple[int, list[int]]] = {}
        self._other_criteria: dict[str, None] = {}
        self._criteria = None if plan.criteria is None else dict.fromkeys(plan.criteria, 0)
        self._rater_from_row = column_map.rater_from_row
        self._standard = {text.lower() for text in column_map.standard_item_types}
        self._source_map = source_map
        self._roster = roster or {}
        # A few different texts make up a million cells: each is checked once.
        self._ids: dict[str, str | None] = {}
        # Labels and preferences, of which a rater gives one.
        self._given: set[tuple[Any, ...]] = set()
        self._numbers: dict[str, float | None] = {}

    def read(self, rows: Iterable[Row | Excluded]) -> None:
        """Reads all rows."""
        for row in rows:
            self.n_rows += 1
            if isinstance(row, Excluded):
                self._exclude(row.line, row.reason)
            else:
                self._read_row(row.line, row.values)
        self._tell_texts()

    @property
    def faults(self) -> list[InputFault]:
        """The first faults, in the order of the rows where each is first."""
        absent = [
            no_such_criterion(self._path, name, self._other_criteria)
            for name, n in (self._criteria or {}).items()
            if not n
        ]
        by_row = sorted(self._faults.items(), key=lambda fault: fault[1][1][0])
        return absent + [
            InputFault(
                f"{self._path}:{lines[0]}",
                f"{message}, in {rows_said(lines, n)}" if n > 1 else message,
                field=column,
            )
            for (column, message), (n, lines) in by_row
        ]

    @property
    def n_faults(self) -> int:
        """How many different faults there are."""
        return len(self.faults) + self._n_not_kept

    def missing(self) -> tuple[Missing, ...]:
        """Returns the judgments that are not there."""
        return tuple(
            Missing(code, criterion, n, tuple(lines))
            for (criterion, code), (n, lines) in self._missing.items()
        )

    def _read_row(self, line: int, values: Mapping[str, Any]) -> None:
        plan, before = self._plan, self._n_told
        texts: dict[str, str | None] = dict(plan.constants)
        for ours, theirs in self._described:
            if ours != "criterion":
                texts[ours] = self._cell(line, theirs, values, _reads(ours, self._id))
        if self._rater_from_row:
            texts["rater_id"] = f"row {self.n_rows}"
        if plan.for_judges and self._is_not_scored(line, values, texts):
            return
        pool = None
        if plan.pool is not None:
            pool = self._cell(line, plan.pool, values, self._id)
            if pool is None and self._n_told == before:
                self._fault(line, "must not be empty: it says who counts as one", plan.pool)
            if not plan.says("rater_id"):
                texts["rater_id"] = f"row {self.n_rows}"
        is_sound = self._n_told == before
        seconds = None
        column = plan.columns.get("duration_s")
        if column is not None and self._codes.code_of(values.get(column)) is None:
            seconds = self._cell(line, column, values, self._number)
        if not is_sound:
            return
        row = _Answers(line, values, seconds, pool)
        for rating in plan.ratings:
            if rating.column in values:
                self._read_rating(row, texts, rating)

    def _read_rating(
        self, row: _Answers, row_texts: Mapping[str, str | None], rating: RatingColumn
    ) -> None:
        """Reads a cell of judgments: one rating or label, an order of responses, or a winner."""
        line, values = row.line, row.values
        before = self._n_told
        texts = {**row_texts, **rating.fixed}
        if "criterion" not in texts:
            column = self._criterion
            said = None if column is None else self._cell(line, column, values, self._id)
            texts["criterion"] = said or OVERALL
            if self._n_told > before or not self._is_wanted(line, texts["criterion"]):
                return
        cell, kind = values[rating.column], rating.kind
        value: float | str | None = None
        is_value = rating.names is None and kind != "winner"
        if is_value:
            kind = self._kind(line, values, rating)
        is_number = kind in ("score", "rank") and is_value
        code = self._codes.code_of(cell, is_number=is_number)
        if code == EMPTY and rating.place is not None:
            return  # a tie above it, or a shorter order: no judgment is missing
        if code is not None:
            _count(self._missing, (texts["criterion"] or OVERALL, code), line)
            return
        if is_number:
            try:
                value = self._number(cell)
            except ValueError as error:
                _count(self._no_numbers, (rating.column, str(error)), line)
                return
        elif is_value:
            told = self._n_told
            value = self._cell(line, rating.column, values, read_label)
            if self._n_told > told:
                return
        if is_value and value is None:
            _count(self._missing, (texts["criterion"] or OVERALL, EMPTY), line)
            return
        for ours, theirs in rating.cells.items():
            texts[ours] = self._cell(line, theirs, values, _reads(ours, self._id))
        if texts.get("rater_id") is None:
            self._fault(line, "must not be empty", self._plan.columns.get("rater_id", "rater_id"))
        elif rating.names is None:
            self._resolve(line, texts)
        if self._n_told > before:
            return
        if rating.kind == "winner":
            self._read_preference(row, texts, rating)
        elif rating.names is not None:
            self._read_order(row, texts, rating)
        else:
            self._add(row, texts, kind, value)

    def _add(self, row: _Answers, texts: dict[str, str | None], kind: str, value: Any) -> None:
        """Adds a rating or label of a response that is known."""
        line = row.line
        if self._is_left_out(line, texts):
            return
        item_type = texts.get("item_type")
        is_standard = item_type is None or item_type.lower() in self._standard
        if kind == "label":
            names = ("rater_id", "prompt_id", "response_id", "criterion")
            if not is_standard:
                self._exclude(line, "label: of a calibration item")
            elif self._is_first(line, "label", *(texts.get(name) for name in names)):
                self.labels.add({**texts, "label": value}, line=line)
            return
        if self._plan.for_judges:
            self._keep_texts(line, row.values, texts)
        builder = self.table if is_standard else self.calibration
        if row.pool is not None:
            texts["rater_id"] = within_pool(row.pool, texts["rater_id"] or "")
        builder.add(
            texts,
            line=line,
            value=value,
            is_rank=kind == "rank",
            duration_s=math.nan if row.seconds is None else row.seconds,
        )

    def _read_order(
        self, row: _Answers, texts: Mapping[str, str | None], rating: RatingColumn
    ) -> None:
        """Reads a cell that names responses: those of one place, or all in their order."""
        cell = row.values[rating.column]
        try:
            groups = read_order(cell)
            if rating.place is not None and len(groups) > 1:
                raise ValueError(f"must name the responses of one place, got {str(cell)[:40]!r}")
        except ValueError as error:
            self._fault(row.line, str(error), rating.column)
            return
        place = 1.0 if rating.place is None else rating.place
        for group in groups:
            for name in group:
                named: dict[str, str | None] = {**texts, rating.names or "response_id": name}
                before = self._n_told
                self._resolve(row.line, named)
                if self._n_told == before:
                    self._add(row, named, "rank", place)
            place += len(group)

    def _read_preference(
        self, row: _Answers, texts: Mapping[str, str | None], rating: RatingColumn
    ) -> None:
        """Reads which of two responses a rater prefers."""
        line, before = row.line, self._n_told
        n_composed = self.n_composed
        sides: list[dict[str, str | None]] = []
        for side in "ab":
            names = [texts.get(f"{kind}_{side}") for kind in ("response", "source")]
            said = next((name for name in names if name is not None), None)
            if said is None:
                column = self._plan.columns.get(f"response_{side}")
                column = column or self._plan.columns.get(f"source_{side}", "")
                self._fault(line, "must not be empty", column)
                continue
            ours = rating.names or "response_id"
            sides.append({**texts, ours: said})
            self._resolve(line, sides[-1])
        self.n_composed = n_composed + (self.n_composed > n_composed)  # a pair is one judgment
        if self._n_told > before or self._is_left_out(line, texts):
            return
        a, b = sides
        keys = ("response_id", "source", "model", "blinded_label")
        if a["response_id"] == b["response_id"]:
            self._fault(line, f"compares {a['response_id']!r} with itself", rating.column)
            return
        try:
            won = read_winner(
                row.values[rating.column], *([one.get(key) for key in keys] for one in (a, b))
            )
        except ValueError as error:
            self._fault(line, str(error), rating.column)
            return
        pair = tuple(sorted(str(one["response_id"]) for one in sides))
        who = (texts.get("rater_id"), texts.get("prompt_id"), texts.get("criterion"))
        if self._is_first(line, "preference", *who, *pair):
            responses = {"response_a": a["response_id"], "response_b": b["response_id"]}
            self.preferences.add({**texts, **responses}, line=line, won_a=won)

    def _is_first(self, line: int, what: str, *key: Any) -> bool:
        """Returns whether a rater has not judged this before; a repeat is left out, counted."""
        if (what, *key) in self._given:
            self._exclude(line, f"{what}: repeats an earlier one of the same rater")
            return False
        self._given.add((what, *key))
        return True

    def _is_left_out(self, line: int, texts: Mapping[str, str | None]) -> bool:
        status = self._roster.get(texts.get("rater_id") or "", APPROVED)
        if status != APPROVED:
            self._exclude(line, f"rating: the roster says {status}")
        return status != APPROVED

    def _kind(self, line: int, values: Mapping[str, Any], rating: RatingColumn) -> str:
        column = self._plan.columns.get("kind")
        said = "" if column is None else str(values.get(column) or "").strip().lower()
        if said and said not in ("score", "rank", "label"):
            message = f"must be score, rank or label, got {said[:40]!r}"
            self._fault(line, message, column)
        return said or rating.kind

    def _resolve(self, line: int, texts: dict[str, str | None]) -> None:
        """Finds the response of a rating; a fault where that cannot be done."""
        label, stated = texts.get("blinded_label"), texts.get("response_id")
        if label is None and stated is not None:
            return  # as in most files
        if label is not None and self._source_map is not None:
            rater, prompt = texts.get("rater_id"), texts.get("prompt_id")
            known = self._source_map.resolve(rater, prompt, label) or {}
            if not known and stated is None:
                message = f"does not know label {label!r} for rater {rater!r} and prompt {prompt!r}"
                self._fault(line, f"the source map {message}")
                return
            mapped = known.get("response_id", stated)
            if stated is not None and mapped != stated:
                message = f"label {label!r} is {mapped!r} in the source map, here {stated!r}"
                self._fault(line, message)
                return
            for name, text in known.items():
                if texts.get(name) is None:
                    texts[name] = text
        if texts.get("response_id") is not None:
            return
        if label is not None and self._source_map is None:
            message = f"label {label!r} names no response without a source map (or a map's key)"
            self._fault(line, message)
            return
        writer = texts.get("source")
        if writer is None and not self._plan.for_judges:
            writer = texts.get("model")
        if writer is not None and texts.get("prompt_id") is not None:
            # One response a prompt and respondent: its id is made of the two.
            texts["response_id"] = f"{texts['prompt_id']}/{writer}"
            self.n_composed += 1
            return
        column = self._plan.columns.get("response_id", "response_id")
        self._fault(line, "must not be empty", column)

    def _is_not_scored(
        self, line: int, values: Mapping[str, Any], texts: dict[str, str | None]
    ) -> bool:
        """For stored judgments: completes the judge, and leaves out what is not a scored vote."""
        persona, said, abstained = (
            values.get(self._plan.columns.get(name, ""))
            for name in ("persona", "status", "abstained")
        )
        persona, model = _text(persona), texts.get("model")
        if texts.get("rater_id") is None:
            texts["rater_id"] = " x ".join(part for part in (persona, model) if part) or None
        judge = texts["rater_id"]
        if judge is not None:
            known = self.attributes.setdefault(judge, {})
            for name, text in (("persona", persona), ("model", model)):
                if text:
                    known.setdefault(name, text)
        status = str(said or "scored").strip().lower()
        if str(abstained).strip().lower() in ("true", "1", "yes"):
            status = "abstained"
        if status == "scored":
            return False
        # The numbers beside it were never votes: a failure is not a low score.
        self._exclude(line, status)
        before = self._n_told
        self._resolve(line, texts)
        if judge is not None and self._n_told == before:
            names = (texts.get(name) for name in ("response_id", "prompt_id", "source"))
            self.unscored.append(Unscored(judge, status, *names))
            self._keep_texts(line, values, texts)
        return True

    def _keep_texts(
        self, line: int, values: Mapping[str, Any], texts: Mapping[str, str | None]
    ) -> None:
        """Keeps the texts and the length of a response that stand beside its judgments."""
        name = texts.get("response_id")
        if name is None:
            return
        if (column := self._plan.columns.get(LENGTH_COLUMN)) is not None:
            self._keep_length(line, column, values.get(column), name)
        if name in self.texts:
            return
        columns = {spelling(column): column for column in values}
        found = [
            next((_text(values[columns[one]]) for one in names if one in columns), None) or ""
            for names in (_PROMPT_TEXTS, _RESPONSE_TEXTS)
        ]
        if not found[0] and len((texts.get("prompt_id") or "").split()) > 1:
            found[0] = texts["prompt_id"] or ""
        self.texts[name] = (found[0], found[1])

    def _keep_length(self, line: int, column: str, cell: Any, response_id: str) -> None:
        """Keeps the length of a response; all wrong cells of the column are one fault."""
        if self._codes.code_of(cell) is not None:
            return
        try:
            length = read_number(cell)
        except ValueError:
            length = None
        got = repr(cell)[:40]
        if length is not None and length >= 0:
            stated = self.lengths.setdefault(response_id, length)
            if length == stated:
                return
            got = f"{length:g} after {stated:g}"
        if not self._wrong_length:
            allowed = "must be a length of at least 0, the same in all rows of a response"
            self._wrong_length = f"{allowed}, got {got}"
        self._fault(line, self._wrong_length, column)

    def _is_wanted(self, line: int, criterion: str | None) -> bool:
        """Whether a row's criterion is among those asked for, where any were."""
        if self._criteria is None or criterion is None:
            return True
        if criterion in self._criteria:
            self._criteria[criterion] += 1
            return True
        self._other_criteria.setdefault(criterion, None)
        self._exclude(line, "rating: of another criterion than was asked for")
        return False

    def _tell_texts(self) -> None:
        """Makes faults of the cells of ratings that are no numbers, one a column and text."""
        told: dict[str, int] = {}
        left: dict[str, tuple[int, int, int]] = {}
        for (column, message), (n, lines) in self._no_numbers.items():
            told[column] = told.get(column, 0) + 1
            if told[column] > TEXTS_NAMED:
                texts, cells, line = left.get(column, (0, 0, lines[0]))
                left[column] = (texts + 1, cells + n, line)
                continue
            self._faults[column, message] = (n, lines)
        for column, (texts, cells, line) in left.items():
            self._fault(
                line, f"must be a number: {cells:,} more cells hold {texts:,} other texts", column
            )

    def _exclude(self, line: int, reason: str) -> None:
        _count(self.excluded, reason, line)

    def _fault(self, line: int, message: str, column: str | None = None) -> None:
        self._n_told += 1
        # A row with several ratings has one rater: what is wrong with it is told once.
        if (line, column, message) != self._last:
            self._last = (line, column, message)
            if (column, message) in self._faults or len(self._faults) < KEPT_FAULTS:
                _count(self._faults, (column, message), line)
            else:
                self._n_not_kept += 1

    def _cell(
        self,
        line: int,
        column: str,
        values: Mapping[str, Any],
        read: Callable[[Any], Found | None],
    ) -> Found | None:
        """Returns what a cell holds; None, with a fault, where it holds something else."""
        try:
            return read(values.get(column))
        except ValueError as error:
            self._fault(line, str(error), column)
            return None

    def _id(self, cell: Any) -> str | None:
        if type(cell) is not str:
            return read_id(cell)
        if cell not in self._ids:
            self._ids[cell] = None if cell.strip() in ID_WORDS else read_id(cell)
        return self._ids[cell]

    def _number(self, cell: Any) -> float | None:
        if type(cell) is not str:
            return read_number(cell)
        if cell not in self._numbers:
            known = self._values.get(cell.strip().lower())
            self._numbers[cell] = read_number(cell) if known is None else known
        return self._numbers[cell]


def _count(counts: dict[Any, tuple[int, list[int]]], key: Any, line: int) -> None:
    n, lines = counts.get(key, (0, []))
    if len(lines) < SHOWN_LINES:
        lines.append(line)
    counts[key] = (n + 1, lines)


def _reads(ours: str, read_id: Callable[[Any], str | None]) -> Callable[[Any], str | None]:
    if ours == "prompt_id":
        return lambda cell: _prompt(cell, read_id)
    return _text if ours in _FREE_TEXT else read_id


def _prompt(cell: Any, read_id: Callable[[Any], str | None]) -> str | None:
    """Returns a prompt's id, or its text, which may be long and have several lines."""
    try:
        return read_id(cell)
    except ValueError:
        words = cell.split() if isinstance(cell, str) else []
        if len(words) < 2:
            raise
        return " ".join(str(read_id(word)) for word in words)


def _text(cell: Any) -> str | None:
    return None if is_missing(cell) else str(cell)
