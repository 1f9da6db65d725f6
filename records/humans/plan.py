"""`Plan`: which column of a file holds what, decided once from the header and the first rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...errors import InputError, InputFault, visible_text
from ..readers.cells import is_missing, read_number
from ..readers.rows import Row
from ..types import OVERALL
from .answers import are_label_words
from .columns import (
    JUDGES_ONLY,
    Criterion,
    HumanColumns,
    ItemTable,
    known_columns,
    rater_columns,
)
from .layouts import Opened
from .shapes import PAIR, Columns, RatingColumn, Shaped, find_shape, settled

_VALUES: dict[str, str | None] = {
    "value": None,
    "score": "score",
    "rank": "rank",
    "label": "label",
}
"""Our columns of judgments and what they hold; None where the column map says."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the rows of a file become ratings.

    Attributes:
        shape: "long" (a row a rating), "wide" (criteria, or several ratings, as columns), "items"
            (columns are responses), "raters" (columns are raters), "respondents" (columns are
            respondents or blinded labels), "places" (columns are places, cells responses),
            "orders" (a cell orders responses) or "pairs" (two responses and the better one).
        columns: our column to theirs, for all that describes a rating.
        constants: our column to its value for every row.
        ratings: the columns of ratings.
        ignored: columns that are read as nothing.
        sampled: criteria columns taken because every cell looked at was a number.
        for_judges: whether raters are judges, whose rows have a persona, model and status.
        notices: what was guessed from the cells, for the user to look at.
    """

    shape: str
    columns: Mapping[str, str]
    constants: Mapping[str, str]
    ratings: tuple[RatingColumn, ...]
    ignored: tuple[str, ...]
    sampled: tuple[str, ...]
    for_judges: bool = False
    notices: tuple[str, ...] = ()

    def says(self, name: str) -> bool:
        """Whether every rating has this one of our columns, by its row or by its own column."""
        if name in self.columns or name in self.constants:
            return True
        return bool(self.ratings) and all(
            name in rating.fixed or name in rating.cells or name == rating.names
            for rating in self.ratings
        )


def make_plan(
    path: Path,
    opened: Opened,
    column_map: HumanColumns,
    *,
    criteria: Sequence[str] | None = None,
    for_judges: bool = False,
    labels: Collection[str] = (),
) -> Plan:
    """Returns the plan for a file.

    Args:
        path: the file, for messages.
        opened: its rows, and what the tool's layout says of its columns.
        column_map: what the user said; it goes before any guess.
        criteria: names of the columns that are criteria; by default every further column with
            numbers only.
        for_judges: whether the file holds stored judgments of models.
        labels: blinded labels that a key knows.

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
    known = {**named}
    if for_judges:
        named = {ours: theirs for ours, theirs in named.items() if ours not in (*PAIR, "label")}
    shown_columns = Columns(
        path=path,
        named=named,
        rest=_rest(found, known, opened),
        rows=first,
        criteria=criteria,
        is_numeric=partial(_is_numeric, rows=first),
        labels=labels,
    )
    named, notices = settled(shown_columns, column_map)
    rest = _rest(found, named, opened)
    shaped = None
    if not for_judges:
        shown_columns = replace(shown_columns, named=named, rest=rest)
        shaped = find_shape(shown_columns, column_map, is_survey=opened.is_survey)
    if shaped is None:
        ratings, shape, sampled = _rating_columns(
            column_map,
            named,
            rest,
            first,
            criteria,
            is_survey=opened.is_survey,
            has_labels=not for_judges,
        )
        shaped = Shaped(tuple(ratings), shape, tuple(sampled))
    columns = {
        ours: theirs
        for ours, theirs in named.items()
        if ours not in _VALUES and (for_judges or ours not in JUDGES_ONLY)
    }
    used = {*columns.values()}
    for rating in shaped.ratings:
        used |= {rating.column, *rating.cells.values()}
    plan = Plan(
        shape=shaped.shape,
        columns=columns,
        constants=column_map.constants,
        ratings=shaped.ratings,
        ignored=tuple(name for name in found if name not in used),
        sampled=shaped.sampled,
        for_judges=for_judges,
        notices=(*notices, *shaped.notices),
    )
    faults = _lacking(plan, column_map, is_survey=opened.is_survey)
    if faults:
        raise InputError(
            [InputFault(str(path), fault) for fault in faults],
            hint=f"columns found: {shown}\ngive a column map (YAML) that names them",
        )
    return plan


def _rest(found: Sequence[str], named: Mapping[str, str], opened: Opened) -> list[str]:
    """Returns the columns whose names say nothing."""
    taken = {*named.values(), *opened.housekeeping}
    return [name for name in found if name not in taken]


def _rating_names(column_map: HumanColumns) -> Iterator[str]:
    """Returns the columns of ratings that the map names."""
    if isinstance(column_map.items, ItemTable) or column_map.columns_pattern:
        return  # criteria are then parts of names
    yield from column_map.criteria
    yield from (item.column for item in column_map.items)
    yield from column_map.place_columns
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
    has_labels: bool,
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
    for item in column_map.items if not isinstance(column_map.items, ItemTable) else ():
        fixed = item.model_dump(exclude={"column", "kind"}, exclude_none=True)
        mapped.append(RatingColumn(item.column, item.kind, fixed))
    values = _values(named, column_map, first if has_labels else ())
    if mapped:
        return mapped + values, "wide", []
    if "criterion" in named and values:
        return values, "long", []
    if is_survey:
        return values, "wide", []
    labels = [name for name in rest if has_labels and _are_label_words(name, first)]
    sampled = [name for name in rest if name in labels or _is_numeric(name, first)]
    chosen = sampled if criteria is None else [name for name in rest if name in criteria]
    sampled = sampled if criteria is None else []
    if has_labels and criteria is not None and "kind" not in column_map.model_fields_set:
        labels = [name for name in chosen if _are_texts(name, first, column_map.codes)]
    ratings = [
        RatingColumn(name, "label" if name in labels else kind, {"criterion": name})
        for name in chosen
    ]
    return ratings + values, "wide" if chosen else "long", sampled


def _values(
    named: Mapping[str, str], column_map: HumanColumns, first: Sequence[Row]
) -> list[RatingColumn]:
    """Returns the columns that hold a judgment by their name."""
    usual = column_map.kind
    if "kind" not in column_map.model_fields_set and _are_label_words(named.get("value"), first):
        usual = "label"
    fixed: dict[str, str] = {} if "criterion" in named else {"criterion": OVERALL}
    if "criterion" in column_map.constants:
        fixed = {"criterion": column_map.constants["criterion"]}
    return [
        RatingColumn(named[name], kind or usual, fixed)
        for name, kind in _VALUES.items()
        if name in named
    ]


def _are_label_words(name: str | None, rows: Sequence[Row]) -> bool:
    return name is not None and are_label_words([row.values.get(name) for row in rows])


def _is_numeric(name: str, rows: Sequence[Row]) -> bool:
    cells = [cell for row in rows if not is_missing(cell := row.values.get(name))]
    try:
        for cell in cells:
            read_number(cell)
    except ValueError:
        return False
    return bool(cells)


def _are_texts(name: str, rows: Sequence[Row], codes: Mapping[str, float]) -> bool:
    """Returns whether a column holds few, repeated texts, none of them a number or its code."""
    cells = [str(cell) for row in rows if not is_missing(cell := row.values.get(name))]
    known = {text.strip().lower() for text in codes}
    n_different = len(set(cells))
    return bool(cells) and n_different <= max(20, len(cells) // 5) and not any(
        _is_numeric(name, [Row(0, {name: cell})]) or cell.strip().lower() in known
        for cell in set(cells)
    )  # fmt: skip


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
        faults.append(
            "no column names the response, or its blinded label (columns named for responses: "
            "columns_pattern)"
        )
    return faults
