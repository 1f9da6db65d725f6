"""`Plan`: which column of a file holds what, decided once from the header and the first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import InputError, InputFault, visible_text
from ..readers.cells import is_missing, read_number
from ..readers.rows import Row
from ..types import OVERALL
from .columns import JUDGES_ONLY, Criterion, HumanColumns, known_columns, rater_columns
from .human_file import Opened
from .table import TEXT_COLUMNS, Kind

_CONTEXT = tuple(name for name in TEXT_COLUMNS if name != "criterion")


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
        context: our column to theirs, for ids and what else describes a rating.
        constants: our column to its value for every row.
        ratings: the columns of ratings.
        extra: persona, status and abstained, for stored judgments.
        duration: their column of seconds, or None.
        criterion, kind: their columns of the long form, or None.
        ignored: columns that are read as nothing.
        sampled: criteria columns taken because every cell looked at was a number.
        for_judges: whether raters are judges, whose rows have a persona, model and status.
    """

    shape: str
    context: Mapping[str, str]
    constants: Mapping[str, str]
    ratings: tuple[RatingColumn, ...]
    extra: Mapping[str, str]
    duration: str | None
    criterion: str | None
    kind: str | None
    ignored: tuple[str, ...]
    sampled: tuple[str, ...]
    for_judges: bool = False

    def says(self, name: str) -> bool:
        """Whether every rating has this one of our columns, by its row or by its own column."""
        if name in self.context or name in self.constants:
            return True
        return bool(self.ratings) and all(name in rating.fixed for rating in self.ratings)


def make_plan(
    path: Path,
    first: Sequence[Row],
    column_map: HumanColumns,
    opened: Opened,
    *,
    criteria: Sequence[str] | None = None,
    for_judges: bool = False,
) -> Plan:
    """Returns the plan for a file.

    Args:
        path: the file, for messages.
        first: some first rows.
        column_map: what the user said; it goes before any guess.
        opened: what the tool's layout says of its columns.
        criteria: names of the columns that are criteria; by default every further column with
            numbers only.
        for_judges: whether the file holds stored judgments of models.

    Raises:
        InputError: with every fault: mapped columns that the file does not have, nothing that could
            be a rating, no rater or response.
    """
    found = list(dict.fromkeys(name for row in first for name in row.values))
    if not first:
        raise InputError([InputFault(str(path), "holds no rows that count")])
    named = _named(column_map, found, for_judges=for_judges)
    is_said = "rater_id" in (*column_map.columns, *column_map.constants, *found)
    if opened.rater is not None and opened.rater in found and not is_said:
        named["rater_id"] = opened.rater
    shown = _listed(opened.header or found)
    absent = _absent(path, column_map, found)
    if absent:
        raise InputError(absent, hint=f"columns found: {shown}")
    taken = set(named.values())
    rest = [name for name in found if name not in taken and name not in opened.housekeeping]
    ratings, shape, sampled = _rating_columns(
        column_map, named, rest, first, criteria, opened.is_survey
    )
    used = taken | {rating.column for rating in ratings}
    for name in JUDGES_ONLY if not for_judges else ():
        used.discard(named.get(name, ""))
    plan = Plan(
        shape=shape,
        context={name: named[name] for name in _CONTEXT if name in named},
        constants=dict(column_map.constants),
        ratings=tuple(ratings),
        extra={name: named[name] for name in JUDGES_ONLY if name in named and for_judges},
        duration=named.get("duration_s"),
        criterion=named.get("criterion"),
        kind=named.get("kind"),
        ignored=tuple(name for name in found if name not in used),
        sampled=sampled,
        for_judges=for_judges,
    )
    _require(path, plan, column_map, shown, is_survey=opened.is_survey)
    return plan


def _listed(columns: Sequence[str]) -> str:
    return visible_text(", ".join(columns[:30])) + (", …" if len(columns) > 30 else "")


def _named(column_map: HumanColumns, found: Sequence[str], *, for_judges: bool) -> dict[str, str]:
    given = dict(column_map.columns)
    spoken_for = {item.column for item in column_map.items} | set(column_map.criteria)
    for columns in (column_map.item_columns, column_map.rater_columns):
        spoken_for |= set(columns) if columns != "rest" else set()
    free = [name for name in found if name not in spoken_for and name not in given.values()]
    leaving = {*given, *column_map.constants}
    if not for_judges:
        leaving |= set(JUDGES_ONLY)
    if column_map.rater_from_row or column_map.rater_columns:
        leaving.add("rater_id")
    if column_map.item_columns:
        leaving.add("response_id")
    return {**known_columns(free, leaving=leaving), **given}


def _absent(path: Path, column_map: HumanColumns, found: Sequence[str]) -> list[InputFault]:
    wanted = [*column_map.columns.values(), *column_map.criteria]
    wanted += [item.column for item in column_map.items]
    for columns in (column_map.item_columns, column_map.rater_columns):
        wanted += columns if columns != "rest" else ()
    return [
        InputFault(str(path), "there is no such column, which the column map names", field=name)
        for name in dict.fromkeys(wanted)
        if name not in found
    ]


def _rating_columns(
    column_map: HumanColumns,
    named: Mapping[str, str],
    rest: Sequence[str],
    first: Sequence[Row],
    criteria: Sequence[str] | None,
    is_survey: bool,
) -> tuple[list[RatingColumn], str, tuple[str, ...]]:
    """Returns (columns, shape, those among them that were taken for their numbers only)."""
    kind = column_map.kind
    values = _value_columns(named, column_map)
    for columns, ours, shape in (
        (column_map.item_columns, "response_id", "items"),
        (column_map.rater_columns or _guessed_raters(named, rest), "rater_id", "raters"),
    ):
        if columns:
            chosen = rest if columns == "rest" else columns
            return [RatingColumn(name, kind, {ours: name}) for name in chosen], shape, ()
    mapped = [
        RatingColumn(
            name,
            what.kind if isinstance(what, Criterion) else kind,
            {"criterion": what.criterion if isinstance(what, Criterion) else what},
        )
        for name, what in column_map.criteria.items()
    ]
    for item in column_map.items:
        fixed = {"criterion": item.criterion}
        for name in ("prompt_id", "response_id", "blinded_label"):
            text = getattr(item, name)
            if text is not None:
                fixed[name] = text
        mapped.append(RatingColumn(item.column, item.kind, fixed))
    if mapped:
        return mapped + values, "wide", ()
    if "criterion" in named and values:
        return values, "long", ()
    if is_survey:
        return values, "wide", ()
    if criteria is not None:
        dimensions = [name for name in rest if name in criteria]
        sampled: tuple[str, ...] = ()
    else:
        dimensions = [name for name in rest if _is_numeric(name, first)]
        sampled = tuple(dimensions)
    columns_found = [RatingColumn(name, kind, {"criterion": name}) for name in dimensions]
    return columns_found + values, "wide" if columns_found else "long", sampled


def _value_columns(named: Mapping[str, str], column_map: HumanColumns) -> list[RatingColumn]:
    fixed: dict[str, str] = {} if "criterion" in named else {"criterion": OVERALL}
    if "criterion" in column_map.constants:
        fixed = {"criterion": column_map.constants["criterion"]}
    kinds: tuple[tuple[str, Kind], ...] = (
        ("value", column_map.kind),
        ("score", "score"),
        ("rank", "rank"),
    )
    return [RatingColumn(named[name], kind, fixed) for name, kind in kinds if name in named]


def _guessed_raters(named: Mapping[str, str], rest: Sequence[str]) -> tuple[str, ...]:
    """Returns columns such as Rater1, Rater2, in a file with no column of raters."""
    if "rater_id" in named:
        return ()
    return rater_columns(rest)


def _is_numeric(name: str, rows: Sequence[Row]) -> bool:
    n_numbers = 0
    for row in rows:
        cell = row.values.get(name)
        if is_missing(cell):
            continue
        try:
            read_number(cell)
        except ValueError:
            return False
        n_numbers += 1
    return n_numbers > 0


def _require(
    path: Path, plan: Plan, column_map: HumanColumns, shown: str, *, is_survey: bool
) -> None:
    faults: list[str] = []
    if not plan.ratings:
        faults.append(
            "the map must say which question rates which response (items:)"
            if is_survey
            else "no column holds ratings: no value, score, rank, or further column of numbers"
        )
    has_rater = plan.says("rater_id") or column_map.rater_from_row
    if plan.for_judges:
        has_rater = has_rater or "persona" in plan.extra or "model" in plan.context
    if not has_rater:
        faults.append(f"no column names the {'judge' if plan.for_judges else 'rater'}")
    # A person's response may be known by its writer; of a judge, `model` is the judge itself.
    writers = ("response_id", "blinded_label", "source", *(() if plan.for_judges else ("model",)))
    if plan.ratings and not any(map(plan.says, writers)):
        faults.append("no column names the response, or its blinded label")
    if faults:
        raise InputError(
            [InputFault(str(path), fault) for fault in faults],
            hint=f"columns found: {shown}\ngive a column map (YAML) that names them",
        )
