"""Gold labels and stored answers, read from files; no label is ever made up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from ...errors import InputError, InputFault
from ...records.readers.cells import is_missing
from ...records.readers.dispatch import read_rows
from ...records.readers.rows import Row
from ..languages import Language
from .blame import ANSWERS, LABELS, read_answer
from .dataset import ID_COLUMNS, base_of, cell_id, id_column

End = Literal["lower_end", "upper_end"]
ENDS: Final[tuple[End, ...]] = get_args(End)
END_LABELS: Final[Mapping[str, str]] = {"lower_end": "lower end", "upper_end": "upper end"}
RATERS_PER_GROUP: Final = 3

_GROUPS: Final[Mapping[str, End]] = {
    **dict.fromkeys(("lower", "lower_end", "lower-end", "low"), "lower_end"),
    **dict.fromkeys(("upper", "upper_end", "upper-end", "high", "high_end"), "upper_end"),
}
_FAULTS = 1000


@dataclass(frozen=True, slots=True)
class Gold:
    """Labels of two groups of people.

    Attributes:
        labels: end to scenario's id to its label, 0 (P1 is wrong) or 1 (the other is).
        ties: end to number of scenarios whose raters did not come to a majority.
        raters: end to rater to scenario to label; empty where the file has labels alone.
        bases: scenario's id to what its versions have in common; empty where unknown.
        topics: scenario's id to its topic, where the file says.
        name: the file.
    """

    labels: Mapping[End, Mapping[str, int]]
    ties: Mapping[End, int]
    raters: Mapping[End, Mapping[str, Mapping[str, int]]]
    bases: Mapping[str, str]
    topics: Mapping[str, str]
    name: str
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredAnswers:
    """Answers of models that are there as labels.

    Attributes:
        answers: column to scenario's id to `p1`, `other`, `both` or `neither`, or to why there is
            none of these: `unreadable`, `missing`.
        ids: every scenario, in the file's order.
        bases, topics: as in `Gold`.
        name: the file.
        binary: columns whose cells are 0 and 1 alone, which cannot say "both" or "neither".
    """

    answers: Mapping[str, Mapping[str, str]]
    ids: tuple[str, ...]
    bases: Mapping[str, str]
    topics: Mapping[str, str]
    name: str
    binary: frozenset[str] = frozenset()


def load_gold(source: str | Path, *, versions: int = 1) -> Gold:
    """The gold labels of a file.

    Two forms: one row a scenario with `lower_end` and `upper_end`; or one row a rater and scenario
    with `rater`, `group` (lower or upper) and `label`. A label is 0 (P1 is wrong) or 1 (the other
    is), or the words; empty is missing. Of raters, the majority of those who labeled counts; a tie
    is no label.

    Args:
        source: the table.
        versions: as in `load_scenarios`.

    Raises:
        InputError: with every fault.
    """
    path = Path(source).expanduser()
    rows = list(read_rows(path))
    columns = _columns(rows, path)
    if {"rater", "group", "label"} <= set(columns):
        return _of_raters(rows, columns, path)
    missing = [name for name in ENDS if name not in columns]
    if missing:
        rule = (
            f"must have columns lower_end and upper_end, or rater, group and label; has "
            f"{', '.join(columns)}"
        )
        raise InputError([InputFault(str(path), rule)])
    ids, bases, topics = _places(rows, columns, path, versions)
    labels: dict[End, dict[str, int]] = {end: {} for end in ENDS}
    faults: list[InputFault] = []
    for name, row in zip(ids, rows, strict=True):
        for end in ENDS:
            label = _label(row.values[end])
            if label is None and not is_missing(str(row.values[end] or "")):
                faults.append(_label_fault(path, row, end))
            elif label is not None:
                labels[end][name] = label
    _raise(faults)
    return Gold(labels, dict.fromkeys(ENDS, 0), {end: {} for end in ENDS}, bases, topics, str(path))


def load_stored(
    source: str | Path,
    *,
    columns: Sequence[str] = (),
    versions: int = 1,
    language: Language | None = None,
) -> StoredAnswers:
    """Answers of models that a table holds as one column a model.

    Args:
        source: a table with an id column; cells hold 0, 1, or words such as "other" or "both".
        columns: which columns; none: all but ids, gold labels, topic, texts.
        versions: as in `load_scenarios`.
        language: of answers in words; English where none is named.

    Raises:
        InputError: with every fault; a column that is not there, or no column.
    """
    path = Path(source).expanduser()
    rows = list(read_rows(path))
    found = _columns(rows, path)
    aside = {*ID_COLUMNS, *ENDS, "topic", "base", "text", "scenario", "prompt_text", "other"}
    chosen = list(columns) or [name for name in found if name not in aside]
    unknown = [name for name in chosen if name not in found]
    if unknown:
        rule = f"is no column; there are {', '.join(found)}"
        raise InputError([InputFault(str(path), rule, name) for name in unknown])
    if not chosen:
        raise InputError([InputFault(str(path), "has no column with answers of a model")])
    ids, bases, topics = _places(rows, found, path, versions)
    answers: dict[str, dict[str, str]] = {name: {} for name in chosen}
    worded: set[str] = set()
    for name, row in zip(ids, rows, strict=True):
        for column in chosen:
            cell = row.values[column]
            if cell is None or is_missing(str(cell)):
                answers[column][name] = "missing"
                continue
            if str(cell).strip() not in _CODES:
                worded.add(column)
            answers[column][name] = _stored_answer(cell, language) or "unreadable"
    for column in chosen:
        if not set(ANSWERS).intersection(answers[column].values()):
            raise InputError(
                [InputFault(str(path), "holds no answer that can be read", column)],
                hint="Name the columns that hold answers as `answer_column`.",
            )
    binary = frozenset(chosen) - worded
    return StoredAnswers(answers, tuple(ids), bases, topics, str(path), binary)


def stored_rows(stored: StoredAnswers, *, order: str = "p1_first") -> Iterator[dict[str, str]]:
    """Stored answers as rows of supplied responses: item_id, respondent_id, response_text.

    They can be handed to `areopagus.audit("silverspoon-judgement", responses=…)`, and are then rows
    of the table of answers like any other. The codes 0 and 1 become words: "1" is no answer to "P1
    or other".
    """
    words = {"p1": "P1", "other": "other", "both": "both", "neither": "neither"}
    for column, answers in stored.answers.items():
        for name, answer in answers.items():
            if answer in words:
                yield {
                    "item_id": f"{name}|{order}",
                    "respondent_id": column,
                    "response_text": words[answer],
                }


def _of_raters(rows: Sequence[Row], columns: Sequence[str], path: Path) -> Gold:
    key = id_column(columns, str(path))
    raters: dict[End, dict[str, dict[str, int]]] = {end: {} for end in ENDS}
    topics: dict[str, str] = {}
    bases: dict[str, str] = {}
    faults: list[InputFault] = []
    end_of: dict[str, End] = {}
    for row in rows:
        where = f"{path}:{row.line}"
        name = cell_id(row.values[key], where, key)
        rater = cell_id(row.values["rater"], where, "rater")
        end = _GROUPS.get(str(row.values["group"] or "").strip().casefold())
        for field_name, value in ((key, name), ("rater", rater)):
            if value is None:
                faults.append(InputFault(where, "must not be empty", field_name))
        if end is None:
            faults.append(
                InputFault(where, f"must be lower or upper, got {row.values['group']!r}", "group")
            )
        if name is None or rater is None or end is None:
            continue
        if end_of.setdefault(rater, end) != end:
            faults.append(InputFault(where, f"{rater} stands in both groups", "group"))
        for cell, kept in (("topic", topics), ("base", bases)):
            value = cell_id(row.values.get(cell), where, cell)
            if value is not None:
                kept[name] = value
        label = _label(row.values["label"])
        if label is None:
            if not is_missing(str(row.values["label"] or "")):
                faults.append(_label_fault(path, row, "label"))
            continue
        mine = raters[end].setdefault(rater, {})
        if name in mine:
            faults.append(InputFault(where, f"{rater} labels {name} twice", "rater"))
        mine[name] = label
    _raise(faults)
    labels: dict[End, dict[str, int]] = {end: {} for end in ENDS}
    ties: dict[End, int] = dict.fromkeys(ENDS, 0)
    notices: list[str] = []
    for end in ENDS:
        if len(raters[end]) != RATERS_PER_GROUP:
            notices.append(
                f"{END_LABELS[end]}: {len(raters[end])} raters; the paper has {RATERS_PER_GROUP}"
            )
        names = dict.fromkeys(name for mine in raters[end].values() for name in mine)
        for name in names:
            votes = [mine[name] for mine in raters[end].values() if name in mine]
            if 2 * sum(votes) == len(votes):
                ties[end] += 1
            else:
                labels[end][name] = int(2 * sum(votes) > len(votes))
    return Gold(labels, ties, raters, bases, topics, str(path), tuple(notices))


def _columns(rows: Sequence[Row], path: Path) -> list[str]:
    if not rows:
        raise InputError([InputFault(str(path), "holds no rows")])
    return list(rows[0].values)


def _places(
    rows: Sequence[Row], columns: Sequence[str], path: Path, versions: int
) -> tuple[list[str], dict[str, str], dict[str, str]]:
    """Ids, bases and topics of a table with one row a scenario."""
    key = id_column(columns, str(path))
    ids: list[str] = []
    bases: dict[str, str] = {}
    topics: dict[str, str] = {}
    faults: list[InputFault] = []
    seen: set[str] = set()
    for place, row in enumerate(rows):
        where = f"{path}:{row.line}"
        name = cell_id(row.values[key], where, key)
        if name is None or name in seen:
            rule = "must not be empty" if name is None else f"{name!r} stands twice"
            faults.append(InputFault(where, rule, key))
            continue
        seen.add(name)
        ids.append(name)
        base = cell_id(row.values.get("base"), where, "base")
        topic = cell_id(row.values.get("topic"), where, "topic")
        if base is None and versions > 1:
            base = str(base_of(place, len(rows), versions, str(path)) + 1)
        if base is not None:
            bases[name] = base
        if topic is not None:
            topics[name] = topic
    _raise(faults)
    return ids, bases, topics


def _label(cell: object) -> int | None:
    return LABELS.get(_stored_answer(cell) or "")


_CODES = {"0": "p1", "1": "other", "0.0": "p1", "1.0": "other", "False": "p1", "True": "other"}


def _stored_answer(cell: object, language: Language | None = None) -> str | None:
    text = str(cell if cell is not None else "").strip()
    return _CODES.get(text) or read_answer(text, language=language)[0]


def _label_fault(path: Path, row: Row, column: str) -> InputFault:
    rule = f"must be 0 (P1 is wrong) or 1 (the other is), got {row.values[column]!r}"
    return InputFault(f"{path}:{row.line}", rule, column)


def _raise(faults: list[InputFault]) -> None:
    if faults:
        raise InputError(faults[:_FAULTS])
