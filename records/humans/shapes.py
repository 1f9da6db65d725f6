"""What columns rate beyond "one criterion each": respondents, places, pairs, labels, patterns.

Here are the shapes in which a row holds several responses: ranks or scores in columns named for
respondents or blinded labels, in groups by criterion; a ranking sheet, whose columns are places and
whose cells are responses; a pair and its winner; survey questions named by a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...errors import InputError, InputFault, visible_text
from ..readers.cells import is_missing, read_number
from ..readers.rows import Row
from ..types import OVERALL
from .answers import LABEL, are_label_words, bare_label, is_label_name, read_order
from .columns import (
    Criterion,
    HumanColumns,
    ItemTable,
    JudgmentKind,
    PatternOf,
    known_columns,
    plain_name,
)
from .patterns import PLACES, compiled, items_by_key, names_of, read_item_table

RESPONSES = ("response_id", "blinded_label", "source", "model")
"""Our columns that can say which response a row is about."""

PAIR = ("response_a", "response_b", "source_a", "source_b", "winner")

_OF_AN_ITEM = (*RESPONSES, "prompt_id", "domain", "item_type", "item_role", "comment")
"""What a row may say of each of its responses, in a column of its own (A_model, comment_B)."""

_RANK_WORDS = frozenset({"rank", "ranking", "place", "position"})
_SCORE_WORDS = frozenset({"score", "rating", "overall", "value", "points", "grade"})
_CRITERION_WORDS = frozenset(
    {
        "clarity", "clear", "depth", "deep", "overall", "quality", "helpful", "helpfulness",
        "accuracy", "accurate", "coherence", "coherent", "relevance", "relevant", "fluency",
        "fluent", "logic", "logical", "evidence", "reasoning", "argument", "structure",
        "completeness", "complete", "correctness", "correct", "creativity", "originality",
        "insight", "insightful", "nuance", "balance", "fairness", "honesty", "harmlessness",
        "safety", "conciseness", "consistency", "factuality", "style", "tone", "usefulness",
        "useful", "persuasiveness", "conceptual", "groundedness", "rigor", "rigour", "score",
        "rank", "rating",
    }
)  # fmt: skip

_SEPARATORS = ("_", " - ", ": ", " [", " (", ".", "-", " ")
_ORDINAL = re.compile(
    r"(\d{1,2})(?:st|nd|rd|th)(?:[ _-]*(?:place|choice|best|rank))?|"
    r"(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth)"
    r"(?:[ _-]*(?:place|choice|best|rank))?",
    re.IGNORECASE,
)
_ORDINAL_WORDS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_NUMBERED_PLACE = re.compile(r"(?:(?:rank|place|position|choice)[ _-]*)?(\d{1,2})", re.IGNORECASE)

_CLOSED = r"[\])]?"
_JOINED = r"(?: ?[\[(]|[ _.:/-]+)"
_BY_LABEL = (
    re.compile(rf"(?P<label>{LABEL}){_JOINED}(?P<rest>.{{2,}}?){_CLOSED}", re.IGNORECASE),
    re.compile(rf"(?P<rest>.{{2,}}?){_JOINED}(?P<label>{LABEL}){_CLOSED}", re.IGNORECASE),
    re.compile(rf"(?P<label>{LABEL})", re.IGNORECASE),
)
_BY_NUMBER = (
    re.compile(r"(?:q|question|item|task|r)?[ _]?(?P<label>\d{1,3})[ _.:-]+(?P<rest>\D.+)",
               re.IGNORECASE),
    re.compile(r"(?P<rest>.{2,}?)[ _.:-]*(?P<label>\d{1,3})", re.IGNORECASE),
    re.compile(r"(?P<rest>[a-z]{2,}?)[ _]?(?P<label>\d{1,3})_id", re.IGNORECASE),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RatingColumn:
    """A column that holds a judgment, and what is known of it beyond the row.

    Attributes:
        column: the column; of a pair, the one that says who won.
        kind: "score", "rank", "label", or "winner" of a pair.
        fixed: ids by our names; where it has no criterion, the row's criterion column says.
        cells: our names to the columns in which the row says them of this judgment alone.
        names: what is named by cells that hold no judgment but responses (a place in a ranking
            sheet, an order, the two sides of a pair): one of `RESPONSES`.
        place: the rank of the responses that the cell names; None where it holds an order.
    """

    column: str
    kind: str
    fixed: Mapping[str, str] = field(default_factory=dict)
    cells: Mapping[str, str] = field(default_factory=dict)
    names: str | None = None
    place: float | None = None


@dataclass(frozen=True, slots=True)
class Shaped:
    """The columns of judgments of a file, its shape, and what to say of the guess."""

    ratings: tuple[RatingColumn, ...]
    shape: str
    sampled: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """What there is to decide from.

    Attributes:
        path: the file, for messages.
        named: our column to theirs.
        rest: the columns whose names say nothing yet.
        rows: the first rows.
        criteria: the columns that are criteria, where the user said so.
        is_numeric: whether all that a column holds are numbers.
        labels: the blinded labels that a key knows.
    """

    path: Path
    named: Mapping[str, str]
    rest: Sequence[str]
    rows: Sequence[Row]
    criteria: Sequence[str] | None
    is_numeric: Callable[[str], bool]
    labels: Collection[str] = ()

    def cells(self, name: str) -> list[Any]:
        """Returns what a column holds, missing cells left out."""
        return [cell for row in self.rows if not is_missing(cell := row.values.get(name))]

    def held(self, *names: str) -> str:
        """Returns what the cells of these columns name: responses, labels or respondents."""
        prompt = self.named.get("prompt_id")
        prompts: dict[str, set[str]] = {}
        for row in self.rows:
            for name in names:
                if not is_missing(cell := row.values.get(name)):
                    where = "" if prompt is None else str(row.values.get(prompt))
                    for text in _names_in(cell):
                        prompts.setdefault(text, set()).add(where)
        return held(prompts, self.labels)


def _names_in(cell: Any) -> list[str]:
    try:
        return [name for group in read_order(cell) for name in group]
    except ValueError:
        return []


def order_columns(found: Columns) -> list[RatingColumn]:
    """Returns the columns that tools fill with an order of responses, as a list."""
    orders = [
        name
        for name in found.rest
        if (cells := found.cells(name)) and all(isinstance(cell, list) for cell in cells)
    ]
    return [
        RatingColumn(
            name,
            "rank",
            {"criterion": OVERALL if len(orders) == 1 else name},
            names=found.held(name),
        )
        for name in orders
    ]


def held(prompts: Mapping[str, Collection[str]], labels: Collection[str]) -> str:
    """Returns what texts name, by how they look and with how many prompts they stand.

    Args:
        prompts: text to the prompts that it stands beside.
        labels: the blinded labels that a key knows.
    """
    known = {bare_label(label).lower() for label in labels}
    if prompts and known and all(bare_label(text).lower() in known for text in prompts):
        return "blinded_label"
    if prompts and all(map(is_label_name, prompts)):
        return "blinded_label"
    several = any(len(beside) > 1 for beside in prompts.values())
    return "source" if several else "response_id"


def settled(found: Columns, column_map: HumanColumns) -> tuple[dict[str, str], list[str]]:
    """Returns our columns to theirs with what only the cells can decide, and what to say of it.

    `label` is the name of a judgment or of a blinded label; those of a pair count only together.
    """
    named: dict[str, str] = dict(found.named)
    notices: list[str] = []
    for side in "ab":
        ours, theirs = f"response_{side}", named.get(f"response_{side}")
        # Exports of arenas hold the texts of both responses beside the models' names.
        is_text = theirs is not None and any(len(str(cell)) > 120 for cell in found.cells(theirs))
        if is_text and f"source_{side}" in named and ours not in column_map.columns:
            del named[ours]
    sides = [all(f"{kind}_{s}" in named for s in "ab") for kind in ("response", "source")]
    if not ("winner" in named and any(sides)):
        for name in PAIR:
            if name not in column_map.columns:
                named.pop(name, None)
    if _is_row_number(found, named, column_map):
        del named["response_id"]
    theirs = named.get("label")
    if theirs is None or "label" in column_map.columns:
        if theirs is not None and named.get("blinded_label") == theirs:
            del named["blinded_label"]
        return named, notices
    cells = found.cells(theirs)
    # Labels such as 0 and 1 are known by what the file or the map says of them.
    kinds = {str(cell).strip() for cell in found.cells(named["kind"])} if "kind" in named else set()
    is_said = column_map.kind == "label" or kinds == {"label"}
    is_blinded = named.get("blinded_label") == theirs
    says_response = any(name in named for name in RESPONSES if named[name] != theirs)
    is_rated = (
        any(name in named for name in ("value", "score", "rank"))
        or bool(column_map.criteria)
        or any(map(found.is_numeric, found.rest))
    )
    if ("blinded_label" in column_map.columns and is_blinded) or (
        found.is_numeric(theirs) and not is_said
    ):
        is_judgment = False
    else:
        is_judgment = says_response and (is_said or are_label_words(cells) or not is_rated)
    if not is_judgment:
        del named["label"]
        if is_blinded and "blinded_label" not in column_map.columns:
            notices.append(f"{theirs} is taken for the blinded label of a response")
        return named, notices
    if is_blinded:
        del named["blinded_label"]
    said = ", ".join(sorted({str(cell).strip() for cell in cells})[:4])
    notices.append(f"{theirs} is taken for a judgment: {visible_text(said)}")
    return named, notices


def _is_row_number(table: Columns, columns: Mapping[str, str], column_map: HumanColumns) -> bool:
    """Whether a column `id` numbers the rows: no two are alike, though several people rated."""
    column = columns.get("response_id", "")
    if plain_name(column) != "id" or "response_id" in column_map.columns:
        return False
    ids = table.cells(column)
    if len(set(map(str, ids))) < len(ids):
        return False
    is_elsewhere = "blinded_label" in columns or (
        "prompt_id" in columns and ("source" in columns or "model" in columns)
    )
    raters = table.cells(columns["rater_id"]) if "rater_id" in columns else []
    return len(set(map(str, raters))) > 1 or (is_elsewhere and all(map(_is_number, ids)))


def find_shape(found: Columns, column_map: HumanColumns, *, is_survey: bool) -> Shaped | None:
    """Returns the judgments of a file whose columns are named for responses, places or pairs.

    What the map says goes before any guess; None where the file has none of these shapes.

    Raises:
        InputError: a pattern that no column fits, a table of items that cannot be joined.
    """
    if isinstance(column_map.items, ItemTable):
        return _item_table(found, column_map, column_map.items)
    if column_map.columns_pattern:
        return _patterned(found, column_map)
    if column_map.place_columns:
        said = enumerate(column_map.place_columns, start=1)
        return _places(found, column_map, {name: place for place, name in said})
    if "winner" in found.named:
        return _pair(found, column_map)
    order = found.named.get("rank")
    if order is not None and not found.is_numeric(order) and _are_orders(found.cells(order)):
        names = found.held(order)
        rating = RatingColumn(order, "rank", {"criterion": OVERALL}, names=names)
        return Shaped((rating,), "orders", notices=(_named_by(names, "the cells"),))
    is_open = column_map.criteria or column_map.items or column_map.item_columns
    if is_survey or is_open or any(name in found.named for name in RESPONSES):
        return None
    places = _guessed_places(found)
    if places:
        return _places(found, column_map, places)
    return _by_label(found, column_map) or _by_respondent(found, column_map)


def _are_orders(cells: Sequence[Any]) -> bool:
    return any(isinstance(cell, list) or ">" in str(cell) for cell in cells)


def _pair(found: Columns, column_map: HumanColumns) -> Shaped:
    kind = "response" if "response_a" in found.named else "source"
    names = "source"
    if kind == "response":
        names = found.held(*(found.named[f"response_{side}"] for side in "ab"))
    fixed: dict[str, str] = {} if "criterion" in found.named else {"criterion": OVERALL}
    if "criterion" in column_map.constants:
        fixed = {"criterion": column_map.constants["criterion"]}
    rating = RatingColumn(found.named["winner"], "winner", fixed, names=names)
    return Shaped((rating,), "pairs", notices=(_named_by(names, "the two sides"),))


def _named_by(names: str, what: str) -> str:
    said = {"blinded_label": "blinded labels", "source": "respondents"}.get(names, "responses")
    return f"{what} are taken for the names of {said}"


def _guessed_places(found: Columns) -> dict[str, int]:
    """Returns the columns that are places (1st, 2nd, …; rank_1 where the cells are no numbers)."""
    places: dict[str, int] = {}
    for name in found.rest:
        ordinal = _ORDINAL.fullmatch(name.strip())
        if ordinal is not None:
            word = ordinal[2]
            place = int(ordinal[1]) if word is None else 1 + _ORDINAL_WORDS.index(word.lower())
            places[name] = place
        elif (numbered := _NUMBERED_PLACE.fullmatch(name.strip())) is not None:
            cells = found.cells(name)
            if cells and not any(map(_is_number, cells)):
                places[name] = int(numbered[1])
    is_whole = sorted(places.values()) == list(range(1, len(places) + 1))
    return places if len(places) > 1 and is_whole else {}


def _is_number(cell: Any) -> bool:
    try:
        return read_number(cell) is not None
    except ValueError:
        return False


def _places(found: Columns, column_map: HumanColumns, places: Mapping[str, int]) -> Shaped:
    names = found.held(*places)
    fixed = {"criterion": column_map.constants.get("criterion", OVERALL)}
    ratings = tuple(
        RatingColumn(name, "rank", fixed, names=names, place=float(place))
        for name, place in places.items()
    )
    return Shaped(ratings, "places", notices=(_named_by(names, "the cells of places"),))


def _by_label(found: Columns, column_map: HumanColumns) -> Shaped | None:
    """Returns ratings in columns named for blinded labels, or for numbered items whose ids stand
    in the row; None where a column of numbers fits neither.
    """
    for forms in (_BY_LABEL, _BY_NUMBER):
        parts: dict[str, tuple[str, str]] = {}
        for name in found.rest:
            fit = next((m for form in forms if (m := form.fullmatch(name.strip()))), None)
            if fit is not None:
                parts[name] = (bare_label(fit["label"]), fit.groupdict().get("rest") or "")
        cells: dict[str, dict[str, str]] = {}
        for name, (label, rest) in parts.items():
            ours = next(iter(known_columns([rest, f"{rest}_id"], leaving=())), None)
            if ours in _OF_AN_ITEM and rest.lower() not in _RANK_WORDS | _SCORE_WORDS:
                cells.setdefault(label, {})[ours] = name
        described = {column for of_item in cells.values() for column in of_item.values()}
        rated = [
            name
            for name in found.rest
            if name not in described
            and (found.is_numeric(name) or (name in parts and are_label_words(found.cells(name))))
        ]
        labels = {parts[name][0] for name in rated if name in parts}
        fits = len(labels) > 1 and all(name in parts for name in rated)
        says = all(set(cells.get(label, {})) & set(RESPONSES) for label in labels)
        if not fits or (forms is _BY_NUMBER and not says):
            continue
        ratings = tuple(
            _named_for(found, column_map, name, rated, parts[name][1],
                       {} if says else {"blinded_label": parts[name][0]},
                       cells.get(parts[name][0], {}))
            for name in rated
        )  # fmt: skip
        said = ", ".join(sorted(labels))
        notice = f"columns are taken for responses by their labels {visible_text(said)}"
        return Shaped(ratings, "respondents", (), (notice, *_kind_notice(ratings)))
    return None


def _by_respondent(found: Columns, column_map: HumanColumns) -> Shaped | None:
    """Returns ratings in columns named for respondents, alone or with a criterion.

    With a criterion, every respondent must have every criterion, and the words must say which part
    of the name the criterion is.
    """
    if not {"rater_id", "prompt_id"} <= set(found.named):
        return None
    rated = [name for name in found.rest if found.is_numeric(name)]
    if found.criteria is not None or len(rated) < 2:
        return None
    words = [name for name in found.rest if are_label_words(found.cells(name))]
    for columns in dict.fromkeys((tuple(n for n in found.rest if n in rated + words), (*rated,))):
        cut = _respondent_by_criterion(columns)
        if cut is not None:
            return _respondents(
                tuple(
                    _named_for(found, column_map, name, rated, what, {"source": who}, {})
                    for name, (who, what) in zip(columns, cut, strict=True)
                )
            )
    if any(are_criteria({name}) for name in rated):
        return None
    ratings = tuple(
        _named_for(found, column_map, name, rated, "", {"source": name.strip()}, {})
        for name in rated
    )
    return _respondents(ratings)


def _respondent_by_criterion(names: Sequence[str]) -> list[tuple[str, str]] | None:
    """Returns (respondent, criterion) of each name, where one separator cuts all of them so that
    every respondent has every criterion, and the words say which side the criterion is.
    """
    bare = [name.strip().rstrip("])") for name in names]
    for separator in _SEPARATORS:
        for cut in (str.partition, str.rpartition):
            parts = [cut(name, separator) for name in bare]
            left, right = ([part[place].strip() for part in parts] for place in (0, 2))
            is_whole = len(set(left)) * len(set(right)) == len(names) == len(set(bare))
            if not is_whole or not all(left) or not all(right):
                continue
            if are_criteria(right) and not are_criteria(left) and len(set(left)) > 1:
                return [*zip(left, right, strict=True)]
            if are_criteria(left) and not are_criteria(right) and len(set(right)) > 1:
                return [*zip(right, left, strict=True)]
    return None


def suggested_pattern(names: Sequence[str]) -> str | None:
    """Returns the pattern by which a survey's questions seem to be named, "Q{item}_{criterion}"."""
    found: dict[tuple[str, str, str], set[tuple[str, str]]] = {}
    form = re.compile(r"(.*?)(\d+)([_ .\[(:-]+)([^\[\]()]+?)([\])]?)")
    for name in names:
        if (fit := form.fullmatch(name.strip())) is not None:
            found.setdefault((fit[1], fit[3], fit[5]), set()).add((fit[2], fit[4]))
    (head, middle, end), parts = max(
        found.items(), key=lambda one: len(one[1]), default=(("", "", ""), set())
    )
    items, criteria = ({part[place] for part in parts} for place in (0, 1))
    is_whole = len(items) > 1 and len(parts) == len(items) * len(criteria)
    return f"{head}{{item}}{middle}{{criterion}}{end}" if is_whole else None


def _respondents(ratings: tuple[RatingColumn, ...]) -> Shaped:
    names = ", ".join(dict.fromkeys(rating.fixed["source"] for rating in ratings))
    notice = (
        f"columns are taken for respondents: {visible_text(names)} (no column names the response; "
        "if they are criteria, `criteria` in a column map says so)"
    )
    return Shaped(ratings, "respondents", (), (notice, *_kind_notice(ratings)))


def _kind_notice(ratings: Sequence[RatingColumn]) -> Iterator[str]:
    kinds = {rating.kind for rating in ratings if "rank" not in rating.column.lower()}
    if "rank" in kinds:
        yield "each row orders its columns from 1 on: taken for ranks, 1 = best (`kind` says else)"


def are_criteria(names: Collection[str]) -> bool:
    """Returns whether a word of some name is usual in names of criteria."""
    return any(
        word in _CRITERION_WORDS for name in names for word in re.split(r"[\W_]+", name.lower())
    )


def _named_for(
    found: Columns,
    column_map: HumanColumns,
    name: str,
    rated: Sequence[str],
    rest: str,
    fixed: Mapping[str, str],
    cells: Mapping[str, str],
) -> RatingColumn:
    """Returns the column of ratings whose name holds a response and, in `rest`, a criterion."""
    criterion, kind = _criterion(rest, column_map)
    if kind is None:
        kind = column_map.kind
        if "kind" not in column_map.model_fields_set:
            if not found.is_numeric(name):
                kind = "label"
            elif not rest and _are_ranks(found.rows, rated):
                kind = "rank"
    return RatingColumn(name, kind, {"criterion": criterion, **fixed}, cells)


def _criterion(said: str, column_map: HumanColumns) -> tuple[str, JudgmentKind | None]:
    """Returns the criterion that part of a name says, and its kind where it says that."""
    word = said.strip().lower()
    for theirs, ours in column_map.criteria.items():
        if theirs.lower() == word:
            if isinstance(ours, Criterion):
                return ours.criterion, ours.kind
            return ours, None
    if not word or word in _SCORE_WORDS:
        return OVERALL, None if not word else "score"
    if word in _RANK_WORDS:
        return OVERALL, "rank"
    return said.strip(), None


def _are_ranks(rows: Sequence[Row], names: Sequence[str]) -> bool:
    """Returns whether rows order their cells: 1, 2, …, with ties in any of the usual ways.

    Whole rows decide where there are any, and one in ten may hold a slip: a rank that is missing
    or mistyped does not make scores of all the others.
    """
    given: list[list[Any]] = [
        [cell for name in names if _is_number(cell := row.values.get(name))] for row in rows
    ]
    most = max(map(len, given), default=0)
    n_rows = n_orders = n_untied = 0
    for cells in given:
        if len(cells) < 2 or len(cells) < most:
            continue
        n_rows += 1
        if _is_order([float(cell) for cell in cells]):
            n_orders += 1
            n_untied += len(set(cells)) > 1
    return n_untied > 0 and n_orders >= 0.9 * n_rows


def _is_order(values: Sequence[float]) -> bool:
    at = 1
    dense, first, middle = [], [], []
    for place, value in enumerate(sorted(set(values)), start=1):
        n = values.count(value)
        dense.append(value == place)
        first.append(value == at)
        middle.append(value == at + (n - 1) / 2)
        at += n
    return all(dense) or all(first) or all(middle)


def _patterned(found: Columns, column_map: HumanColumns) -> Shaped:
    """Returns the columns that fit the map's patterns; each column takes the first that it fits."""
    ratings: dict[str, RatingColumn] = {}
    faults = []
    words = list(column_map.criteria)
    for said in column_map.patterns():
        fits = _fits(said.pattern, found.rest, {"criterion": words} if words else {}, found.path)
        fits = {name: parts for name, parts in fits.items() if name not in ratings}
        if not fits:
            message = f"no column fits the pattern {said.pattern!r}"
            faults.append(InputFault(str(found.path), message, field="columns_pattern"))
        for name, parts in fits.items():
            fixed = {PLACES[part]: text for part, text in parts.items() if part != "criterion"}
            one = _named_for(
                found, column_map, name, [*fits], parts.get("criterion", ""), fixed, {}
            )
            ratings[name] = _as_said(one, said, is_rank_named=_names_rank(said.pattern))
    if faults:
        raise InputError(faults)
    return Shaped(
        tuple(ratings.values()), "respondents", (), tuple(_kind_notice([*ratings.values()]))
    )


def _names_rank(pattern: str) -> bool:
    words = re.split(r"[\W_]+", re.sub(r"\{\w+\}", " ", pattern).lower())
    return any(word in _RANK_WORDS for word in words)


def _as_said(rating: RatingColumn, said: PatternOf, *, is_rank_named: bool) -> RatingColumn:
    fixed = dict(rating.fixed)
    if said.criterion is not None:
        fixed["criterion"] = said.criterion
    kind = said.kind or ("rank" if is_rank_named and rating.kind == "score" else rating.kind)
    return replace(rating, kind=kind, fixed=fixed)


def _fits(
    pattern: str, names: Sequence[str], known: Mapping[str, Collection[str]], path: Path
) -> dict[str, dict[str, str]]:
    """Returns the columns that fit a pattern to its parts.

    Where a name can be cut in several places ("gpt_4_clarity"), the cut counts by which every
    respondent has every criterion.

    Raises:
        InputError: where no cut does.
    """
    shortest = compiled(pattern, known)
    longest = re.compile(shortest.pattern.replace(".+?", ".+"), re.IGNORECASE)
    cuts = [
        {name: fit.groupdict() for name in names if (fit := form.fullmatch(name.strip()))}
        for form in (shortest, longest)
    ]
    if cuts[0] == cuts[1] or "criterion" in known:
        return cuts[0]  # of criteria that are known the longest that fits
    whole = [cut for cut in cuts if _is_whole([*cut.values()])]
    if len(whole) == 1:
        return whole[0]
    unlike = next(name for name in cuts[0] if cuts[0][name] != cuts[1].get(name))
    raise InputError(
        [InputFault(str(path), f"the pattern {pattern!r} can cut {unlike!r} in several places")],
        hint="name the criteria as they stand in the columns: criteria: {clarity: clarity, …}",
    )


def _is_whole(parts: Sequence[Mapping[str, str]]) -> bool:
    n = 1
    for name in parts[0] if parts else ():
        n *= len({part[name] for part in parts})
    return n == len(parts)


def _item_table(found: Columns, column_map: HumanColumns, said: ItemTable) -> Shaped:
    """Returns survey questions joined to a table of items.

    Raises:
        InputError: a table without the columns that the pattern names, or no question that fits.
    """
    path = Path(said.table)
    rows = read_item_table(path)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    pattern = said.pattern or "{column}"
    keys = [name for name in names_of(pattern) if name.lower() in columns]
    lacking = [n for n in names_of(pattern) if n.lower() not in columns and n not in PLACES]
    if lacking or not keys:
        names = ", ".join(lacking) or "item"
        shown = ", ".join(columns)
        raise InputError(
            [InputFault(str(path), f"must have a column {names}; columns found: {shown}")]
        )
    lower = [name.lower() for name in keys]
    by_key = items_by_key(rows, lower, path)
    known: dict[str, Collection[str]] = {
        name: list(dict.fromkeys(row[name.lower()] for row in by_key.values())) for name in keys
    }
    if column_map.criteria:
        known["criterion"] = [*column_map.criteria]
    ours = {theirs: own for own, theirs in known_columns(columns).items()}
    ratings = []
    met = set()
    candidates = [name for name in found.rest if not _is_remark(name)]
    for name, parts in _fits(pattern, candidates, known, found.path).items():
        key = tuple(parts[part].lower() for part in keys)
        if key not in by_key:
            continue
        item = by_key[key]
        fixed = {
            ours[column]: text
            for column, text in item.items()
            if column in ours and ours[column] in (*_OF_AN_ITEM, "rater_id")
            and column not in lower
        }  # fmt: skip
        if not fixed.keys() & set(RESPONSES):
            # the table's own key is then the response
            for column in lower:
                if column == "item" or ours.get(column) == "response_id":
                    fixed["response_id"] = item[column]
        for part, text in parts.items():
            if part in PLACES and part not in keys and part != "criterion":
                fixed.setdefault(PLACES[part], text)
        criterion, kind = _criterion(item.get("criterion", parts.get("criterion", "")), column_map)
        of_item = item.get("kind") or said.kind
        if of_item is not None and of_item not in ("score", "rank", "label"):
            message = f"must be score, rank or label, got {of_item!r}"
            raise InputError([InputFault(str(path), message, field="kind")])
        if kind is None and of_item is None and "kind" not in column_map.model_fields_set:
            is_label = are_label_words(found.cells(name)) and not column_map.codes
            kind = "label" if is_label else None
        met.add(key)
        ratings.append(
            RatingColumn(
                name, of_item or kind or column_map.kind, {"criterion": criterion, **fixed}
            )
        )
    unmet = [key for key in by_key if key not in met]
    if unmet:
        shown = "; ".join(
            ", ".join(f"{name} {text}" for name, text in zip(keys, key, strict=True))
            for key in unmet[:5]
        )
        more = f" and {len(unmet) - 5:,} more" if len(unmet) > 5 else ""
        raise InputError(
            [InputFault(str(path), f"no column of the file fits {pattern!r} for {shown}{more}")],
            hint=f"columns found: {visible_text(', '.join(found.rest[:30]))}",
        )
    return Shaped(tuple(ratings), "items")


def _is_remark(name: str) -> bool:
    """Returns whether a survey's column holds what somebody wrote beside an answer."""
    return re.search(r"[ _\[](text|comments?|other|notes?)\]?$", name, re.IGNORECASE) is not None
