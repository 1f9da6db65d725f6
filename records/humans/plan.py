"""`Plan`: which column of a file holds what, decided once from the header and the first rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import InputError, InputFault, visible_text
from ..readers.cells import is_missing, read_number
from ..readers.rows import Row
from ..types import OVERALL
from .columns import JUDGES_ONLY, Criterion, HumanColumns, known_columns, rater_columns
from .layouts import Opened
from .table import Kind

_VALUES: dict[str, Kind | None] = {"value": None, "score": "score", "rank": "rank"}
"""Our columns of ratings and what they hold; None where the column map says."""


@dataclass(frozen=True, slots=True)
class RatingColumn:
    """A column that holds a rating, and what is known of it beyond the row.

    `fixed` holds ids by our names; where it has no criterion, the row's criterion column says.
    """

    column: str
    kind: Kind
    fixed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """How the rows of a file become ratings.

    Attributes:
        shape: "long" (a row a rating), "wide" (criteria, or several ratings, as columns), "items"
            (columns are responses) or "raters" (columns are raters).
        columns: our column to theirs, for all that describes a rating.
        constants: our column to its value for every row.
        ratings: the columns of ratings.
        ignored: columns that are read as nothing.
        sampled: criteria columns taken because every cell looked at was a number.
        for_judges: whether raters are judges, whose rows have a persona, model and status.
    """

    shape: str
    columns: Mapping[str, str]
    constants: Mapping[str, str]
    ratings: tuple[RatingColumn, ...]
    ignored: tuple[str, ...]
    sampled: tuple[str, ...]
    for_judges: bool = False

    def says(self, name: str) -> bool:
        """Whether every rating has this one of our columns, by its row or by its own column."""
        if name in self.columns or name in self.constants:
            return True
        return bool(self.ratings) and all(name in rating.fixed for rating in self.ratings)


def make_plan(
    path: Path,
    opened: Opened,
    column_map: HumanColumns,
    *,
    criteria: Sequence[str] | None = None,
    for_judges: bool = False,
) -> Plan:
    """Returns the plan for a file.

    Args:
        path: the file, for messages.
        opened: its rows, and what the tool's layout says of its columns.
        column_map: what the user said; it goes before any guess.
        criteria: names of the columns that are criteria; by default every further column with
            numbers only.
        for_judges: whether the file holds stored judgments of models.

    Raises:
        InputError: with every fault: mapped columns that the file does not have, nothing that could
            be a rating, no rater or response.
    """
    first = opened.peek()
    if not first:
        raise InputError([InputFault(str(path), "holds no rows that count")])
    found = list(dict.fromkeys(name for row in first for name in row.values))
    header = opened.header or found
    shown = visible_text(", ".join(header[:30])) + (", …" if len(header) > 30 else "")
    absent = [
        InputFault(str(path), "there is no such column, which the column map names", field=name)
        for name in dict.fromkeys((*column_map.columns.values(), *_rating_names(column_map)))
        if name not in found
    ]
    if absent:
        raise InputError(absent, hint=f"columns found: {shown}")
    named = _named(column_map, found, for_judges=for_judges)
    is_said = "rater_id" in (*column_map.columns, *column_map.constants, *found)
    if opened.rater in found and not is_said:
        named["rater_id"] = opened.rater
    taken = set(named.values())
    rest = [name for name in found if name not in taken and name not in opened.housekeeping]
    ratings, shape, sampled = _rating_columns(
        column_map, named, rest, first, criteria, is_survey=opened.is_survey
    )
    columns = {
        ours: theirs
        for ours, theirs in named.items()
        if ours not in _VALUES and (for_judges or ours not in JUDGES_ONLY)
    }
    used = {*columns.values(), *(rating.column for rating in ratings)}
    plan = Plan(
        shape=shape,
        columns=columns,
        constants=column_map.constants,
        ratings=tuple(ratings),
        ignored=tuple(name for name in found if name not in used),
        sampled=tuple(sampled),
        for_judges=for_judges,
    )
    faults = _lacking(plan, column_map, is_survey=opened.is_survey)
    if faults:
        raise InputError(
            [InputFault(str(path), fault) for fault in faults],
            hint=f"columns found: {shown}\ngive a column map (YAML) that names them",
        )
    return plan


def _rating_names(column_map: HumanColumns) -> Iterator[str]:
    """Returns the columns of ratings that the map names."""
    yield from column_map.criteria
    yield from (item.column for item in column_map.items)
    for columns in (column_map.item_columns, column_map.rater_columns):
        yield from columns if columns != "rest" else ()


def _named(column_map: HumanColumns, found: Sequence[str], *, for_judges: bool) -> dict[str, str]:
    """Returns our column to theirs: what the map says, and what is guessed by name."""
    given = column_map.columns
    spoken_for = {*_rating_names(column_map), *given.values()}
    leaving = {*given, *column_map.constants, *(() if for_judges else JUDGES_ONLY)}
    if column_map.rater_from_row or column_map.rater_columns:
        leaving.add("rater_id")
    if column_map.item_columns:
        leaving.add("response_id")
    free = [name for name in found if name not in spoken_for]
    return {**known_columns(free, leaving=leaving), **given}


def _rating_columns(
    column_map: HumanColumns,
    named: Mapping[str, str],
    rest: Sequence[str],
    first: Sequence[Row],
    criteria: Sequence[str] | None,
    *,
    is_survey: bool,
) -> tuple[list[RatingColumn], str, list[str]]:
    """Returns (columns, shape, those among them that were taken for their numbers only)."""
    kind = column_map.kind
    # Columns such as Rater1, Rater2, in a file with no column of raters.
    raters = column_map.rater_columns or (() if "rater_id" in named else rater_columns(rest))
    for columns, ours, shape in (
        (column_map.item_columns, "response_id", "items"),
        (raters, "rater_id", "raters"),
    ):
        if columns:
            chosen = rest if columns == "rest" else columns
            return [RatingColumn(name, kind, {ours: name}) for name in chosen], shape, []
    mapped: list[RatingColumn] = []
    for name, said in column_map.criteria.items():
        what = said if isinstance(said, Criterion) else Criterion(criterion=said, kind=kind)
        mapped.append(RatingColumn(name, what.kind, {"criterion": what.criterion}))
    for item in column_map.items:
        fixed = item.model_dump(exclude={"column", "kind"}, exclude_none=True)
        mapped.append(RatingColumn(item.column, item.kind, fixed))
    values = _values(named, column_map)
    if mapped:
        return mapped + values, "wide", []
    if "criterion" in named and values:
        return values, "long", []
    if is_survey:
        return values, "wide", []
    sampled = [name for name in rest if _is_numeric(name, first)] if criteria is None else []
    chosen = sampled if criteria is None else [name for name in rest if name in criteria]
    ratings = [RatingColumn(name, kind, {"criterion": name}) for name in chosen]
    return ratings + values, "wide" if chosen else "long", sampled


def _values(named: Mapping[str, str], column_map: HumanColumns) -> list[RatingColumn]:
    """Returns the columns that hold a rating by their name."""
    fixed: dict[str, str] = {} if "criterion" in named else {"criterion": OVERALL}
    if "criterion" in column_map.constants:
        fixed = {"criterion": column_map.constants["criterion"]}
    return [
        RatingColumn(named[name], kind or column_map.kind, fixed)
        for name, kind in _VALUES.items()
        if name in named
    ]


def _is_numeric(name: str, rows: Sequence[Row]) -> bool:
    cells = [cell for row in rows if not is_missing(cell := row.values.get(name))]
    try:
        for cell in cells:
            read_number(cell)
    except ValueError:
        return False
    return bool(cells)


def _lacking(plan: Plan, column_map: HumanColumns, *, is_survey: bool) -> list[str]:
    """Returns what no column says and every rating needs."""
    faults: list[str] = []
    if not plan.ratings:
        faults.append(
            "the map must say which question rates which response (items:)"
            if is_survey
            else "no column holds ratings: no value, score, rank, or further column of numbers"
        )
    raters = ("rater_id", *(("persona", "model") if plan.for_judges else ()))
    if not (column_map.rater_from_row or any(map(plan.says, raters))):
        faults.append(f"no column names the {'judge' if plan.for_judges else 'rater'}")
    # A person's response may be known by its writer; of a judge, `model` is the judge itself.
    writers = ("response_id", "blinded_label", "source", *(() if plan.for_judges else ("model",)))
    if plan.ratings and not any(map(plan.says, writers)):
        faults.append("no column names the response, or its blinded label")
    return faults
