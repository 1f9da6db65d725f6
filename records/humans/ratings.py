"""Turns rows into ratings: every cell ends in the table, in a count, or in a fault."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import InputFault
from ..readers.cells import is_missing, read_id, read_number
from ..readers.rows import Excluded, Row
from ..types import OVERALL
from .blinding import SourceMap
from .columns import HumanColumns
from .plan import Plan, RatingColumn
from .table import TableBuilder

SHOWN_LINES = 100
"""Of each reason, so many rows are named; all are counted."""

KEPT_FAULTS = 1000

_FREE_TEXT = frozenset({"comment", "time"})


@dataclass(slots=True)
class Tally:
    """What became of the rows, while they are read.

    `excluded`: reason to (count, first rows); of rows, or of single ratings ("rating: …").
    """

    n_rows: int = 0
    n_missing: int = 0
    n_faults: int = 0
    faults: list[InputFault] = field(default_factory=list)
    excluded: dict[str, tuple[int, list[int]]] = field(default_factory=dict)
    n_composed: int = 0

    def exclude(self, line: int, reason: str) -> None:
        """Counts a row that does not count."""
        n, lines = self.excluded.get(reason, (0, []))
        if len(lines) < SHOWN_LINES:
            lines.append(line)
        self.excluded[reason] = (n + 1, lines)

    def fault(self, where: str, message: str, *, column: str | None = None) -> None:
        """Keeps a fault, and counts it beyond the number kept."""
        self.n_faults += 1
        if len(self.faults) < KEPT_FAULTS:
            self.faults.append(InputFault(where, message, field=column))


class LongForm:
    """Turns rows into ratings by a plan.

    Args:
        path: the file's name for messages.
        plan: which column holds what.
        column_map: for codes and kinds.
        source_map: unblinds labels, where given.
        roster: rater to status; raters whose status is not APPROVED are left out, counted.
    """

    def __init__(
        self,
        path: str,
        plan: Plan,
        column_map: HumanColumns,
        *,
        source_map: SourceMap | None = None,
        roster: Mapping[str, str] | None = None,
    ) -> None:
        self.tally = Tally()
        self.table = TableBuilder()
        self.calibration = TableBuilder()
        self.attributes: dict[str, dict[str, str]] = {}
        self._path = path
        self._plan = plan
        self._codes = {text.strip().lower(): number for text, number in column_map.codes.items()}
        self._rater_from_row = column_map.rater_from_row
        self._standard = {text.lower() for text in column_map.standard_item_types}
        self._source_map = source_map
        self._roster = roster
        # A few different texts make up a million cells: each is checked once.
        self._ids: dict[str, str | None] = {}
        self._numbers: dict[str, float | None] = {}

    def take(self, rows: Iterable[Row | Excluded]) -> None:
        """Reads all rows."""
        for row in rows:
            if isinstance(row, Excluded):
                self.tally.n_rows += 1
                self.tally.exclude(row.line, row.reason)
            else:
                self.tally.n_rows += 1
                self._take_row(row.line, row.values)

    def _take_row(self, line: int, values: Mapping[str, Any]) -> None:
        plan = self._plan
        texts: dict[str, str | None] = dict(plan.constants)
        is_sound = True
        for ours, theirs in plan.context.items():
            cell = values.get(theirs)
            try:
                texts[ours] = self._text(cell) if ours in _FREE_TEXT else self._id(cell)
            except ValueError as error:
                is_sound = False
                self.tally.fault(f"{self._path}:{line}", str(error), column=theirs)
        if self._rater_from_row:
            texts["rater_id"] = f"row {self.tally.n_rows}"
        if plan.for_judges and self._is_not_scored(line, values, texts):
            return
        duration = math.nan
        if plan.duration is not None:
            try:
                found = self._number(values.get(plan.duration))
                duration = math.nan if found is None else found
            except ValueError as error:
                self.tally.fault(f"{self._path}:{line}", str(error), column=plan.duration)
        if not is_sound:
            return
        for rating in plan.ratings:
            self._take_rating(line, values, texts, rating, duration)

    def _take_rating(
        self,
        line: int,
        values: Mapping[str, Any],
        row_texts: Mapping[str, str | None],
        rating: RatingColumn,
        duration: float,
    ) -> None:
        if rating.column not in values:
            return
        texts = {**row_texts, **rating.fixed}
        kind = rating.kind
        try:
            value = self._number(values[rating.column])
        except ValueError as error:
            self.tally.fault(f"{self._path}:{line}", str(error), column=rating.column)
            return
        if value is None:
            self.tally.n_missing += 1
            return
        try:
            if "criterion" not in texts:
                column = self._plan.criterion
                texts["criterion"] = (self._id(values.get(column)) if column else None) or OVERALL
            if self._plan.kind is not None:
                said = str(values.get(self._plan.kind) or kind).strip().lower()
                if said not in ("score", "rank"):
                    raise ValueError(f"must be score or rank, got {said[:40]!r}")
                kind = "rank" if said == "rank" else "score"
        except ValueError as error:
            column = self._plan.criterion or self._plan.kind
            self.tally.fault(f"{self._path}:{line}", str(error), column=column)
            return
        rater = texts.get("rater_id")
        if rater is None:
            self.tally.fault(
                f"{self._path}:{line}", "must not be empty", column=self._column("rater_id")
            )
            return
        # Most rows name their response; the rest takes a label or a source to resolve.
        if (
            texts.get("response_id") is None or texts.get("blinded_label") is not None
        ) and not self._resolve(f"{self._path}:{line}", texts):
            return
        if self._roster is not None and self._roster.get(rater, "APPROVED") != "APPROVED":
            self.tally.exclude(line, f"rating: the roster says {self._roster[rater]}")
            return
        item_type = texts.get("item_type")
        is_standard = item_type is None or item_type.lower() in self._standard
        builder = self.table if is_standard else self.calibration
        builder.add(line, value, kind, texts, duration)

    def _resolve(self, where: str, texts: dict[str, str | None]) -> bool:
        """Finds the response of a rating; a fault, and False, where that cannot be done."""
        label = texts.get("blinded_label")
        if label is not None and self._source_map is not None:
            known = self._source_map.resolve(texts.get("rater_id"), texts.get("prompt_id"), label)
            if known is None and texts.get("response_id") is None:
                self.tally.fault(
                    where,
                    f"the source map does not know label {label!r} for rater "
                    f"{texts.get('rater_id')!r} and prompt {texts.get('prompt_id')!r}",
                )
                return False
            stated = texts.get("response_id")
            if known is not None and stated is not None and known["response_id"] != stated:
                self.tally.fault(
                    where,
                    f"label {label!r} is {known['response_id']!r} in the source map, "
                    f"here {stated!r}",
                )
                return False
            for name, text in (known or {}).items():
                if texts.get(name) is None:
                    texts[name] = text
        if texts.get("response_id") is not None:
            return True
        if label is not None:
            self.tally.fault(where, f"label {label!r} names no response without a source map")
            return False
        writer = texts.get("source")
        if writer is None and not self._plan.for_judges:
            writer = texts.get("model")
        if writer is not None and texts.get("prompt_id") is not None:
            # One response a prompt and respondent: its id is made of the two.
            texts["response_id"] = f"{texts['prompt_id']}/{writer}"
            self.tally.n_composed += 1
            return True
        self.tally.fault(where, "must not be empty", column=self._column("response_id"))
        return False

    def _is_not_scored(
        self, line: int, values: Mapping[str, Any], texts: dict[str, str | None]
    ) -> bool:
        """For stored judgments: completes the judge, and leaves out what is not a scored vote."""
        extra = self._plan.extra
        persona = self._text(values.get(extra.get("persona", "")))
        model = texts.get("model")
        if texts.get("rater_id") is None:
            parts = [part for part in (persona, model) if part]
            texts["rater_id"] = " x ".join(parts) or None
        judge = texts["rater_id"]
        if judge is not None:
            known = self.attributes.setdefault(judge, {})
            for name, text in (("persona", persona), ("model", model)):
                if text:
                    known.setdefault(name, text)
        status = str(values.get(extra.get("status", "")) or "scored").strip().lower()
        if str(values.get(extra.get("abstained", ""), "")).strip().lower() in ("true", "1", "yes"):
            status = "abstained"
        if status != "scored":
            # The numbers beside it were never votes: a failure is not a low score.
            self.tally.exclude(line, status)
            return True
        return False

    def _column(self, ours: str) -> str:
        return self._plan.context.get(ours, ours)

    def _id(self, cell: Any) -> str | None:
        if type(cell) is not str:
            return read_id(cell)
        try:
            return self._ids[cell]
        except KeyError:
            found = self._ids[cell] = read_id(cell)
            return found

    def _text(self, cell: Any) -> str | None:
        return None if is_missing(cell) else str(cell)

    def _number(self, cell: Any) -> float | None:
        if type(cell) is not str:
            return read_number(cell)
        try:
            return self._numbers[cell]
        except KeyError:
            known = self._codes.get(cell.strip().lower())
            found = self._numbers[cell] = read_number(cell) if known is None else known
            return found
