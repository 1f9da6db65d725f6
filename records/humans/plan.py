"""`Plan`: which column of a file holds what, decided once from the names and contents of all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from ...errors import InputError, InputFault, visible_text
from ..types import OVERALL
from .columns import JUDGES_ONLY, Criterion, HumanColumns, known_columns, rater_columns
from .layouts import Opened
from .profile import Profile, is_named_otherwise
from .table import Kind

_VALUES: dict[str, Kind | None] = {"value": None, "score": "score", "rank": "rank"}
"""Our columns of ratings and what they hold; None where the column map says."""

IGNORED = "ignored by the column map"
"""Why a column is not read that the user named so."""

_NAMED = 6
"""So many columns are named in a sentence."""


@dataclass(frozen=True, slots=True)
class RatingColumn:
    """A column that holds a rating, and what is known of it beyond the row.

    `fixed` holds ids by our names; where it has no criterion, the row's criterion column says.
    """

    column: str
    kind: Kind
    fixed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unread:
    """A column that is read as nothing, and why."""

    column: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How the rows of a file become ratings.

    Attributes:
        shape: "long" (a row a rating), "wide" (criteria, or several ratings, as columns), "items"
            (columns are responses) or "raters" (columns are raters).
        why: what decided the shape, a sentence.
        could_be: what else the file could be, if a column map says so, in words.
        columns: our column to theirs, for all that describes a rating.
        constants: our column to its value for every row.
        ratings: the columns of ratings.
        unread: columns that are read as nothing.
        sampled: criteria columns taken for what they hold, not for their names.
        pool: the column whose values are counted as raters.
        criteria: the only criteria wanted of a table whose rows say theirs; None for all.
        faults: what has to be fixed before the file can be read, and `hint`: how.
        for_judges: whether raters are judges, whose rows have a persona, model and status.
    """

    shape: str
    why: str
    could_be: tuple[str, ...]
    columns: Mapping[str, str]
    constants: Mapping[str, str]
    ratings: tuple[RatingColumn, ...]
    unread: tuple[Unread, ...]
    sampled: tuple[str, ...]
    pool: str | None = None
    criteria: tuple[str, ...] | None = None
    faults: tuple[InputFault, ...] = ()
    hint: str = ""
    for_judges: bool = False

    def says(self, name: str) -> bool:
        """Whether every rating has this one of our columns, by its row or by its own column."""
        if name in self.columns or name in self.constants:
            return True
        return bool(self.ratings) and all(name in rating.fixed for rating in self.ratings)

    def require_sound(self) -> Plan:
        """Returns itself.

        Raises:
            InputError: with every fault, where there is one.
        """
        if self.faults:
            raise InputError(self.faults, hint=self.hint)
        return self


@dataclass(slots=True)
class _Shape:
    """What was decided of the columns of ratings."""

    name: str
    why: str
    ratings: list[RatingColumn]
    sampled: list[str] = field(default_factory=list)
    could_be: list[str] = field(default_factory=list)
    is_said: bool = False
    """Whether the column map names the columns of ratings, each of them."""


def make_plan(
    path: Path,
    opened: Opened,
    column_map: HumanColumns,
    profiles: Mapping[str, Profile],
    *,
    criteria: Sequence[str] | None = None,
    dimensions: Collection[str] = (),
    for_judges: bool = False,
) -> Plan:
    """Returns the plan for a file.

    Args:
        path: the file, for messages.
        opened: its rows, and what the tool's layout says of its columns.
        column_map: what the user said; it goes before any guess.
        profiles: what the file's columns hold, in all of its rows.
        criteria: names of the columns that are criteria; by default every further column that
            holds numbers.
        dimensions: names that criteria are known to have: a column called so is read, or a fault.
        for_judges: whether the file holds stored judgments of models.

    Raises:
        InputError: the file holds no rows, or lacks columns that the column map names. All other
            faults are in the plan: a criterion that is not there, nothing that could be a rating,
            no rater or response.
    """
    if not profiles:
        raise InputError([InputFault(str(path), "holds no rows that count")])
    found = list(profiles)
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
    pool = _pool(path, column_map, found, named, shown)
    is_said = "rater_id" in (*column_map.columns, *column_map.constants, *found)
    if opened.rater in found and not is_said:
        named["rater_id"] = opened.rater
    taken = {*named.values(), *column_map.ignore, pool}
    rest = [name for name in found if name not in taken and name not in opened.housekeeping]
    wanted = tuple(criteria) if criteria is not None else None
    shape = _shape(
        column_map, named, rest, profiles, wanted, dimensions, is_survey=opened.is_survey
    )
    columns = {
        ours: theirs
        for ours, theirs in named.items()
        if ours not in _VALUES and (for_judges or ours not in JUDGES_ONLY)
    }
    is_by_row = any("criterion" not in one.fixed for one in shape.ratings)
    faults = [] if wanted is None or is_by_row else _absent_criteria(path, shape, wanted)
    used = {*columns.values(), *(rating.column for rating in shape.ratings), pool}
    unread = [
        Unread(name, _why_unread(name, profiles[name], opened, column_map, wanted))
        for name in found
        if name not in used
    ]
    if not shape.is_said:
        faults += [
            InputFault(
                str(path),
                f"has the name of a criterion and is not read: it holds {one.reason}, and "
                f"{shape.why}",
                field=one.column,
            )
            for one in unread
            if one.column in dimensions and one.column in rest and wanted is None
        ]
    plan = Plan(
        shape=shape.name,
        why=shape.why,
        could_be=tuple(shape.could_be),
        columns=columns,
        constants=column_map.constants,
        ratings=tuple(shape.ratings),
        unread=tuple(unread),
        sampled=tuple(shape.sampled),
        pool=pool,
        criteria=wanted if is_by_row else None,
        for_judges=for_judges,
    )
    lacking = _lacking(plan, column_map, is_survey=opened.is_survey)
    faults += [InputFault(str(path), fault) for fault in lacking]
    hint = f"columns found: {shown}\n" + (
        "give a column map (YAML) that names them"
        if lacking
        else "name it in a column map (YAML): under criteria, or under ignore"
    )
    return replace(plan, faults=tuple(faults), hint=hint)


def _rating_names(column_map: HumanColumns) -> Iterator[str]:
    """Returns the columns of ratings that the map names."""
    yield from column_map.criteria
    yield from (item.column for item in column_map.items)
    for columns in (column_map.item_columns, column_map.rater_columns):
        yield from columns if columns != "rest" else ()


def _named(column_map: HumanColumns, found: Sequence[str], *, for_judges: bool) -> dict[str, str]:
    """Returns our column to theirs: what the map says, and what is guessed by name."""
    given = column_map.columns
    spoken_for = {
        *_rating_names(column_map), *given.values(), *column_map.ignore, column_map.pool,
    }  # fmt: skip
    leaving = {*given, *column_map.constants, *(() if for_judges else JUDGES_ONLY)}
    if column_map.rater_from_row or column_map.rater_columns:
        leaving.add("rater_id")
    if column_map.item_columns:
        leaving.add("response_id")
    free = [name for name in found if name not in spoken_for]
    return {**known_columns(free, leaving=leaving), **given}


def _pool(
    path: Path, column_map: HumanColumns, found: Sequence[str], named: Mapping[str, str], shown: str
) -> str | None:
    """Returns their column whose values are counted as raters; it may be named by our name."""
    if column_map.pool is None or column_map.pool in found:
        return column_map.pool
    if column_map.pool in named:
        return named[column_map.pool]
    message = "there is no such column, by which raters are to be pooled"
    raise InputError(
        [InputFault(str(path), message, field=column_map.pool)], hint=f"columns found: {shown}"
    )


def _shape(
    column_map: HumanColumns,
    named: Mapping[str, str],
    rest: Sequence[str],
    profiles: Mapping[str, Profile],
    criteria: Sequence[str] | None,
    dimensions: Collection[str],
    *,
    is_survey: bool,
) -> _Shape:
    """Returns which columns hold ratings, and why."""
    kind = column_map.kind
    # Columns such as Rater1, Rater2, in a file with no column of raters.
    raters = column_map.rater_columns or (() if "rater_id" in named else rater_columns(rest))
    for columns, ours, shape, said in (
        (column_map.item_columns, "response_id", "items", "responses, as the column map says"),
        (
            raters, "rater_id", "raters",
            "raters, as " + ("the column map says" if column_map.rater_columns else "named"),
        ),
    ):  # fmt: skip
        if columns:
            chosen = rest if columns == "rest" else columns
            why = f"its columns {_listed(chosen)} are {said}"
            ratings = [RatingColumn(name, kind, {ours: name}) for name in chosen]
            is_said = bool(column_map.item_columns or column_map.rater_columns)
            return _Shape(shape, why, ratings, is_said=is_said)
    mapped: list[RatingColumn] = []
    for name, said in column_map.criteria.items():
        what = said if isinstance(said, Criterion) else Criterion(criterion=said, kind=kind)
        mapped.append(RatingColumn(name, what.kind, {"criterion": what.criterion}))
    for item in column_map.items:
        fixed = item.model_dump(exclude={"column", "kind"}, exclude_none=True)
        mapped.append(RatingColumn(item.column, item.kind, fixed))
    values = _values(named, column_map)
    if mapped:
        if criteria is not None:
            mapped = [r for r in mapped if {r.column, r.fixed.get("criterion")} & {*criteria}]
        why = f"the column map says what {_listed([one.column for one in mapped])} hold"
        return _Shape("wide", why, mapped + values, is_said=True)
    held = _listed([one.column for one in values])
    if "criterion" in named and values:
        why = f"a row is a rating: {named['criterion']} names the criterion, {held} holds it"
        return _Shape("long", why, values)
    if is_survey:
        return _Shape("wide", "its columns are questions", values)
    if criteria is None:
        chosen = [name for name in rest if _is_criterion(name, profiles[name], dimensions)]
        sampled = [name for name in chosen if name not in dimensions]
    else:
        chosen, sampled = [name for name in rest if name in criteria], []
    ratings = [RatingColumn(name, kind, {"criterion": name}) for name in chosen] + values
    if not chosen:
        return _Shape("long", f"a row is a rating, which {held} holds" if held else "", ratings)
    by = "are the criteria that were named" if criteria is not None else "hold ratings"
    why = f"a row is a rater and response: {_listed(chosen)} {by}"
    could_be = []
    if len(sampled) > 1 and not values:
        others = "raters (rater_columns) or responses (item_columns)"
        could_be.append(f"a table whose columns {_listed(sampled)} are {others}")
    return _Shape("wide", why, ratings, sampled, could_be)


def _is_criterion(name: str, profile: Profile, dimensions: Collection[str]) -> bool:
    """Whether a further column is read as a criterion.

    A column of numbers with some texts among them is: the texts are told as faults, where a column
    that is left out would be missed by nobody.
    """
    if name in dimensions:
        return True
    return profile.looks_like_ratings and not is_named_otherwise(name)


def _absent_criteria(path: Path, shape: _Shape, wanted: Sequence[str]) -> list[InputFault]:
    """Returns a fault for each criterion that was asked for and is not there."""
    there = {one.column for one in shape.ratings}
    there |= {one.fixed["criterion"] for one in shape.ratings if "criterion" in one.fixed}
    return [no_such_criterion(str(path), name, there) for name in wanted if name not in there]


def no_such_criterion(path: str, name: str, there: Collection[str]) -> InputFault:
    """Returns the fault of a criterion that `criteria` names and a file does not have."""
    near = get_close_matches(name, there, n=1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return InputFault(path, f"there is no such criterion, which `criteria` names{meant}", name)


def _why_unread(
    name: str,
    profile: Profile,
    opened: Opened,
    column_map: HumanColumns,
    criteria: Sequence[str] | None,
) -> str:
    if name in column_map.ignore:
        return IGNORED
    if name in opened.housekeeping:
        return "a column of the tool itself"
    held = profile.holds()
    if profile.is_numeric and criteria is not None:
        return f"{held}; not among `criteria`"
    if profile.is_numeric and is_named_otherwise(name):
        return f"{held}; by its name no rating"
    return held


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown}, …" if len(names) > _NAMED else shown


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
    if not (column_map.rater_from_row or plan.pool or any(map(plan.says, raters))):
        faults.append(f"no column names the {'judge' if plan.for_judges else 'rater'}")
    # A person's response may be known by its writer; of a judge, `model` is the judge itself.
    writers = ("response_id", "blinded_label", "source", *(() if plan.for_judges else ("model",)))
    if plan.ratings and not any(map(plan.says, writers)):
        faults.append("no column names the response, or its blinded label")
    return faults
