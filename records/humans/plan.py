"""`Plan`: which column of a file holds what, decided once from the names and contents of all."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from ...errors import InputError, InputFault, visible_text
from ..readers.rows import Row
from ..tables import JUDGMENT_COLUMNS, PROVENANCE_COLUMNS
from ..types import OVERALL
from .answers import are_label_words
from .columns import (
    JUDGES_ONLY,
    Criterion,
    HumanColumns,
    ItemTable,
    known_columns,
    plain_name,
    rater_columns,
)
from .layouts import Opened
from .profile import Profile, is_named_otherwise
from .shapes import (
    PAIR,
    RESPONSES,
    Columns,
    RatingColumn,
    are_criteria,
    find_shape,
    order_columns,
    settled,
    suggested_pattern,
)

_VALUES: dict[str, str | None] = {
    "value": None,
    "score": "score",
    "rank": "rank",
    "label": "label",
}
"""Our columns of judgments and what they hold; None where the column map says."""

IGNORED = "ignored by the column map"
"""Why a column is not read that the user named so."""

OF_THE_TOOL = "a column of the tool itself"

_NAMED = 6
"""So many columns are named in a sentence."""


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
            (columns are responses), "raters" (columns are raters), "respondents" (columns are
            respondents or blinded labels), "places" (columns are places, cells responses),
            "orders" (a cell orders responses) or "pairs" (two responses and the better one).
        why: what decided the shape, a sentence.
        could_be: what else the file could be, if a column map says so, in words.
        columns: our column to theirs, for all that describes a rating.
        constants: our column to its value for every row.
        values: our column to theirs, for those that hold a judgment by their name.
        ratings: the columns of ratings.
        unread: columns that are read as nothing.
        sampled: criteria columns taken for what they hold, not for their names.
        pool: the column whose values are counted as raters.
        criteria: the only criteria wanted of a table whose rows say theirs; None for all.
        faults: what has to be fixed before the file can be read, and `hint`: how.
        for_judges: whether raters are judges, whose rows have a persona, model and status.
        notices: what was guessed from the cells, for the user to look at.
    """

    shape: str
    why: str
    could_be: tuple[str, ...]
    columns: Mapping[str, str]
    constants: Mapping[str, str]
    values: Mapping[str, str]
    ratings: tuple[RatingColumn, ...]
    unread: tuple[Unread, ...]
    sampled: tuple[str, ...]
    pool: str | None = None
    criteria: tuple[str, ...] | None = None
    faults: tuple[InputFault, ...] = ()
    hint: str = ""
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
    notices: tuple[str, ...] = ()
    is_said: bool = False
    """Whether the column map names the columns of ratings, each of them."""


def make_plan(
    path: Path,
    opened: Opened,
    column_map: HumanColumns,
    profiles: Mapping[str, Profile],
    first: Sequence[Row],
    *,
    criteria: Sequence[str] | None = None,
    dimensions: Collection[str] = (),
    for_judges: bool = False,
    labels: Collection[str] = (),
) -> Plan:
    """Returns the plan for a file.

    Args:
        path: the file, for messages.
        opened: its rows, and what the tool's layout says of its columns.
        column_map: what the user said; it goes before any guess.
        profiles: what the file's columns hold, in all of its rows.
        first: some first rows, without what stands for no rating.
        criteria: names of the columns that are criteria; by default every further column that
            holds numbers.
        dimensions: names that criteria are known to have: a column called so is read, or a fault.
        for_judges: whether the file holds stored judgments of models.
        labels: blinded labels that a key knows.

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
    named = _named(column_map, found, opened, for_judges=for_judges)
    pool = _pool(path, column_map, found, named, shown)
    is_said = "rater_id" in (*column_map.columns, *column_map.constants, *found)
    if opened.rater in found and not is_said:
        named["rater_id"] = opened.rater
    known = {*named.values()}
    if for_judges:
        named = {ours: theirs for ours, theirs in named.items() if ours not in PAIR}
    left_out = {*column_map.ignore, *opened.housekeeping, pool}
    if for_judges:  # what a run's own export has beside its criteria
        left_out |= {*JUDGMENT_COLUMNS, *PROVENANCE_COLUMNS} - known
    shown_columns = Columns(
        path=path,
        named=named,
        rest=[name for name in found if name not in known | left_out],
        rows=first,
        criteria=criteria,
        is_numeric=lambda name: _is_rated(name, profiles[name]),
        labels=labels,
    )
    named, told = settled(shown_columns, column_map)
    rest = [name for name in found if name not in {*named.values(), *left_out}]
    shown_columns = replace(shown_columns, named=named, rest=rest)
    wanted = tuple(criteria) if criteria is not None else None
    orders = [] if for_judges else order_columns(shown_columns)
    shape = None
    if not for_judges:
        shape = _beyond(shown_columns, column_map, is_survey=opened.is_survey)
    if shape is None:
        shape = _shape(
            column_map, shown_columns, profiles, dimensions,
            is_survey=opened.is_survey, has_labels=not for_judges,
            labels=_known_labels(opened, rest, profiles),
        )  # fmt: skip
        if orders and not shape.ratings:
            names = _listed([one.column for one in orders])
            shape = replace(shape, name="orders", why=_WHY["orders"].format(names=names))
        shape.ratings += orders
    columns = {
        ours: theirs
        for ours, theirs in named.items()
        if ours not in (*_VALUES, "winner") and (for_judges or ours not in JUDGES_ONLY)
    }
    is_by_row = any("criterion" not in one.fixed for one in shape.ratings)
    faults = [] if wanted is None or is_by_row else _absent_criteria(path, shape, wanted, rest)
    used = {*columns.values(), pool}
    for rating in shape.ratings:
        used |= {rating.column, *rating.cells.values()}
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
        values={ours: named[ours] for ours in _VALUES if ours in named and named[ours] in used},
        constants=column_map.constants,
        ratings=tuple(shape.ratings),
        unread=tuple(unread),
        sampled=tuple(shape.sampled),
        pool=pool,
        criteria=wanted if is_by_row else None,
        for_judges=for_judges,
        notices=(*told, *shape.notices),
    )
    lacking = _lacking(plan, column_map, is_survey=opened.is_survey)
    if faults and not plan.ratings:
        lacking = lacking[1:]  # what was asked for is not there: that is said
    faults += [InputFault(str(path), fault) for fault in lacking]
    hint = f"columns found: {shown}\n" + (
        "give a column map (YAML) that names them"
        if lacking
        else "name it in a column map (YAML): under criteria, or under ignore"
    )
    return replace(plan, faults=tuple(faults), hint=hint)


def _rating_names(column_map: HumanColumns) -> Iterator[str]:
    """Returns the columns of ratings that the map names."""
    if isinstance(column_map.items, ItemTable) or column_map.columns_pattern:
        return  # criteria are then parts of names
    yield from column_map.criteria
    yield from (item.column for item in column_map.items)
    yield from column_map.place_columns
    for columns in (column_map.item_columns, column_map.rater_columns):
        yield from columns if columns != "rest" else ()


def _named(
    column_map: HumanColumns,
    found: Sequence[str],
    opened: Opened,
    *,
    for_judges: bool,
) -> dict[str, str]:
    """Returns our column to theirs: what the map says, and what is guessed by name or title."""
    given = column_map.columns
    spoken_for = {
        *_rating_names(column_map), *given.values(), *column_map.ignore, column_map.pool,
        *opened.housekeeping, opened.rater,
    }  # fmt: skip
    if for_judges or opened.is_survey:
        # A user wrote the prompt that a model judges, and an id numbers the answers to a survey.
        spoken_for |= {name for name in found if plain_name(name) in ("user", "id")}
    leaving = {*given, *column_map.constants, *(() if for_judges else JUDGES_ONLY)}
    if column_map.rater_from_row or column_map.rater_columns:
        leaving.add("rater_id")
    if column_map.item_columns:
        leaving.add("response_id")
    free = [name for name in found if name not in spoken_for]
    guessed = known_columns(free, leaving=leaving)
    titles = opened.titles
    untold = {
        titles[name]: name for name in free if name in titles and name not in guessed.values()
    }
    by_title = known_columns(untold, leaving={*leaving, *guessed})
    return {**guessed, **{ours: untold[title] for ours, title in by_title.items()}, **given}


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


_WHY = {
    "respondents": "a row holds several responses: its columns {names} are named for them",
    "places": "a row is an order: its columns {names} are places, their cells name responses",
    "orders": "a row is an order of responses, which {names} holds",
    "pairs": "a row is a pair of responses, and {names} says which is better",
    "items": "its columns {names} are questions, joined to a table of items",
}


def _beyond(found: Columns, column_map: HumanColumns, *, is_survey: bool) -> _Shape | None:
    """Returns the shapes in which columns are more than one criterion each, or None."""
    shaped = find_shape(found, column_map, is_survey=is_survey)
    if shaped is None:
        return None
    names = _listed(list(dict.fromkeys(one.column for one in shaped.ratings)))
    is_said = bool(
        isinstance(column_map.items, ItemTable)
        or column_map.columns_pattern
        or column_map.place_columns
    )
    return _Shape(
        shaped.shape,
        _WHY[shaped.shape].format(names=names),
        list(shaped.ratings),
        list(shaped.sampled),
        notices=shaped.notices,
        is_said=is_said,
    )


def _shape(
    column_map: HumanColumns,
    found: Columns,
    profiles: Mapping[str, Profile],
    dimensions: Collection[str],
    *,
    is_survey: bool,
    has_labels: bool,
    labels: Collection[str],
) -> _Shape:
    """Returns which columns hold judgments of one response or rater each, and why."""
    kind, named, rest, criteria = column_map.kind, found.named, found.rest, found.criteria
    # Columns such as Rater1, Rater2, in a file with no column of raters.
    numbered = () if "rater_id" in named else rater_columns(rest)
    people: tuple[str, ...] = ()
    if has_labels and not (is_survey or numbered):
        people = _people_as_columns(found, column_map, profiles, dimensions)
    for columns, ours, shape, said in (
        (column_map.item_columns, "response_id", "items", "responses, as the column map says"),
        (column_map.rater_columns, "rater_id", "raters", "raters, as the column map says"),
        (numbered, "rater_id", "raters", "raters, as named"),
        (people, "rater_id", "raters", "taken for raters: no other column names them"),
    ):
        if columns:
            chosen = rest if columns == "rest" else columns
            why = f"its columns {_listed(chosen)} are {said}"
            ratings = [RatingColumn(name, kind, {ours: name}) for name in chosen]
            is_said = bool(column_map.item_columns or column_map.rater_columns)
            if columns is not people:
                return _Shape(shape, why, ratings, is_said=is_said)
            could_be = [
                f"a table whose columns {_listed(people)} are criteria of one rater (criteria)"
            ]
            notice = f"columns are taken for raters: {visible_text(', '.join(people))}"
            return _Shape(shape, why, ratings, could_be=could_be, notices=(notice,))
    mapped: list[RatingColumn] = []
    for name, said_of in column_map.criteria.items():
        what = (
            said_of if isinstance(said_of, Criterion) else Criterion(criterion=said_of, kind=kind)
        )
        mapped.append(RatingColumn(name, what.kind, {"criterion": what.criterion}))
    for item in column_map.items if not isinstance(column_map.items, ItemTable) else ():
        fixed = item.model_dump(exclude={"column", "kind"}, exclude_none=True)
        mapped.append(RatingColumn(item.column, item.kind, fixed))
    values = _values(named, column_map, found.rows if has_labels else ())
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
    words = {name for name in rest if has_labels and _are_label_words(name, found.rows)}
    labels = {name for name in rest if name in labels or name in words}
    if criteria is None:
        chosen = [
            name
            for name in rest
            if name in labels or name in dimensions or _is_rated(name, profiles[name])
        ]
        sampled = [name for name in chosen if name not in dimensions]
    else:
        chosen, sampled = [name for name in rest if name in criteria], []
        if has_labels and "kind" not in column_map.model_fields_set:
            labels = {name for name in chosen if name in labels or _are_texts(profiles[name])}
    ratings = [
        RatingColumn(name, "label" if name in labels else kind, {"criterion": name})
        for name in chosen
    ] + values
    if not chosen:
        return _Shape("long", f"a row is a rating, which {held} holds" if held else "", ratings)
    by = "are the criteria that were named" if criteria is not None else "hold judgments"
    why = f"a row is a rater and response: {_listed(chosen)} {by}"
    could_be = []
    if len(sampled) > 1 and not values:
        others = "raters (rater_columns) or responses (item_columns)"
        could_be.append(f"a table whose columns {_listed(sampled)} are {others}")
    return _Shape("wide", why, ratings, sampled, could_be)


def _people_as_columns(
    table: Columns,
    column_map: HumanColumns,
    profiles: Mapping[str, Profile],
    dimensions: Collection[str],
) -> tuple[str, ...]:
    """Returns the further columns of numbers where they can be raters by name, else none.

    Nothing else names the rater, no column is called like a criterion, and no response has two
    rows, as it would where each row is a rater.
    """
    columns = tuple(name for name in table.rest if _is_rated(name, profiles[name]))
    is_said = (
        not table.named.keys().isdisjoint({"rater_id", *_VALUES})
        or "rater_id" in column_map.constants
        or column_map.rater_from_row
        or column_map.pool is not None
        or bool(column_map.criteria or column_map.items)
        or table.criteria is not None
    )
    if (
        is_said
        or len(columns) < 2
        or are_criteria(columns)
        or not {*columns}.isdisjoint(dimensions)
    ):
        return ()
    ids = [table.named[n] for n in (*RESPONSES, "prompt_id", "criterion") if n in table.named]
    rows = [tuple(str(row.values.get(name)) for name in ids) for row in table.rows]
    return columns if len(set(rows)) == len(rows) else ()


def _is_rated(name: str, profile: Profile) -> bool:
    """Whether a further column is taken for ratings.

    A column of numbers with some texts among them is: the texts are told as faults, where a column
    that is left out would be missed by nobody.
    """
    return profile.looks_like_ratings and not is_named_otherwise(name)


def _are_label_words(name: str | None, rows: Sequence[Row]) -> bool:
    return name is not None and are_label_words([row.values.get(name) for row in rows])


def _known_labels(
    opened: Opened, rest: Sequence[str], profiles: Mapping[str, Profile]
) -> list[str]:
    """Returns the columns that the tool says are labels, or whose words are few and repeated."""
    found = [name for name in rest if name in opened.labels]
    for name in rest:
        profile = profiles[name]
        if name in opened.words and profile.n_texts and not profile.n_numbers:
            is_few = len(profile.texts) <= max(2, profile.n_texts // 3)
            is_short = all(len(text) <= 40 for text in profile.texts)
            if is_few and is_short and not profile.has_more_texts:
                found.append(name)
    return found


def _are_texts(profile: Profile) -> bool:
    """Returns whether a column holds few, repeated texts and no number."""
    is_few = len(profile.texts) <= max(20, profile.n_texts // 5) and not profile.has_more_texts
    return profile.n_texts > 0 and not profile.n_numbers and is_few


def _absent_criteria(
    path: Path, shape: _Shape, wanted: Sequence[str], rest: Sequence[str]
) -> list[InputFault]:
    """Returns a fault for each criterion that was asked for and is not there."""
    there = {one.column for one in shape.ratings}
    there |= {one.fixed["criterion"] for one in shape.ratings if "criterion" in one.fixed}
    near = [*there, *rest]
    return [no_such_criterion(str(path), name, near) for name in wanted if name not in there]


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
        return OF_THE_TOOL
    held = profile.holds()
    if profile.is_numeric and criteria is not None:
        return f"{held}; not among `criteria`"
    if profile.is_numeric and is_named_otherwise(name):
        return f"{held}; by its name no rating"
    return held


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown}, …" if len(names) > _NAMED else shown


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


def _which_items(plan: Plan) -> str:
    pattern = suggested_pattern([one.column for one in plan.unread])
    how = (
        f"{{pattern: '{pattern}', table: items.csv}}, with a row an item in items.csv: item, "
        "prompt_id, response_id"
        if pattern
        else "…"
    )
    return f"the map must say which question rates which response (items: {how})"


def _lacking(plan: Plan, column_map: HumanColumns, *, is_survey: bool) -> list[str]:
    """Returns what no column says and every rating needs."""
    faults: list[str] = []
    if not plan.ratings:
        faults.append(
            _which_items(plan)
            if is_survey
            else "no column holds ratings: no value, score, rank, or further column of numbers"
        )
    raters = ("rater_id", *(("persona", "model") if plan.for_judges else ()))
    if not (column_map.rater_from_row or plan.pool or any(map(plan.says, raters))):
        faults.append(f"no column names the {'judge' if plan.for_judges else 'rater'}")
    # A person's response may be known by its writer; of a judge, `model` is the judge itself.
    writers = ("response_id", "blinded_label", "source", *(() if plan.for_judges else ("model",)))
    if plan.ratings and not any(map(plan.says, writers)):
        faults.append(
            "no column names the response, or its blinded label (columns named for responses: "
            "columns_pattern)"
        )
    return faults
