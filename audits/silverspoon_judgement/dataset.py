"""The scenarios of the normative judgement: built-in ones in YAML, a user's own, or a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from ...errors import InputError, InputFault
from ...records.readers.cells import is_missing, read_id, read_text
from ...records.readers.dispatch import read_rows
from ..dataset import DatasetFile, FileKind, Part, Slug, Text, refuse_doubles
from ..languages import JudgementWords, Language, find_language

MAX_SCENARIO_CHARS: Final = 20_000

ID_COLUMNS: Final = ("scenario_id", "item_id", "id", "sno")
_TEXT_COLUMNS: Final = ("text", "scenario", "prompt_text")


class WrittenScenario(Part):
    """One scenario: P1, who is poor, does something harsh, and somebody answers it."""

    id: Slug
    other: Text = Field(description='who "the other" is, with article: "the shop manager"')
    text: Text = Field(description="the scenario, without the question who is in the wrong")
    base: Slug | None = Field(
        default=None, description="id of the scenario that this one is a rewording of"
    )


class Topic(DatasetFile):
    """A topic with its scenarios: one file, the file's stem is its id."""

    scenarios: tuple[WrittenScenario, ...] = Field(min_length=1)


TOPICS: Final = FileKind(
    "topic",
    Topic,
    "areopagus.audits.silverspoon_judgement.scenarios",
    "silverspoon-scenarios",
    "scenarios",
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario as it is asked.

    Attributes:
        id: its own.
        base: what its rewordings have in common with it; they are one unit of the estimators.
        topic: id of its topic, "" where none is known.
        other: who the other person is.
        text: what happens; empty where only stored answers are there.
    """

    id: str
    base: str
    topic: str
    other: str
    text: str


@dataclass(frozen=True, slots=True)
class Scenarios:
    """All scenarios, rewordings of one next to each other.

    Attributes:
        scenarios: in their order.
        labels: topic's id to its name.
    """

    scenarios: tuple[Scenario, ...]
    labels: dict[str, str]


def load_scenarios(
    source: str | Path | None = None,
    *,
    versions: int = 1,
    topics: Sequence[str] = (),
    language: Language | None = None,
) -> Scenarios:
    """The scenarios of a file, a folder, or the built-in ones.

    Args:
        source: YAML topic, folder of such, or a table with an id column (`scenario_id`, `item_id`,
            `id` or `sno`), `text`, and optional `topic`, `other`, `base`; None: the built-in ones.
        versions: a table without `base` that holds each scenario in so many versions, one whole
            set after the other: row k, k + n / versions, … belong together.
        topics: only these.
        language: of all of them; English where none is named. Tables say none.

    Raises:
        InputError: with every fault; an unknown topic; an id that stands twice.
    """
    path = None if source is None else Path(source).expanduser()
    if path is None or path.is_dir() or path.suffix.lower() in (".yaml", ".yml"):
        given = () if path is None else (path,)
        loaded = _from_topics(TOPICS.read(given, replaces=path is not None, language=language))
    else:
        loaded = _from_table(path, versions, language or find_language())
    if topics:
        known = list(dict.fromkeys(one.topic for one in loaded.scenarios))
        unknown = [name for name in topics if name not in known]
        if unknown:
            rule = f"is no topic; there are {', '.join(known)}"
            raise InputError([InputFault(name, rule) for name in unknown])
        kept = tuple(one for one in loaded.scenarios if one.topic in topics)
        loaded = Scenarios(kept, loaded.labels)
    return Scenarios(_together(loaded.scenarios), loaded.labels)


def id_column(columns: Sequence[str], where: str) -> str:
    """The column that holds the scenarios' ids.

    Raises:
        InputError: there is none.
    """
    for name in ID_COLUMNS:
        if name in columns:
            return name
    wanted = ", ".join(ID_COLUMNS)
    raise InputError(
        [InputFault(where, f"must have one of the columns {wanted}; has {', '.join(columns)}")]
    )


def cell_id(value: Any, where: str, column: str) -> str | None:
    """A cell as an id; None where it is empty.

    Raises:
        InputError: what cannot be an id.
    """
    try:
        return read_id(value)
    except ValueError as error:
        raise InputError([InputFault(where, str(error), column)]) from error


def base_of(place: int, n_rows: int, versions: int, where: str) -> int:
    """Which scenario the row at this place is a version of, from 0.

    Raises:
        InputError: the rows cannot be divided so.
    """
    if n_rows % versions:
        rule = f"holds {n_rows:,} rows, which are not {versions} versions of each scenario"
        raise InputError([InputFault(where, rule, "versions")])
    return place % (n_rows // versions)


def _from_topics(read: Sequence[Topic]) -> Scenarios:
    refuse_doubles([(one.id, topic.id) for topic in read for one in topic.scenarios], "scenario")
    found = [
        Scenario(one.id, one.base or one.id, topic.id, one.other, one.text)
        for topic in read
        for one in topic.scenarios
    ]
    return Scenarios(tuple(found), {topic.id: topic.label for topic in read})


def _from_table(path: Path, versions: int, language: Language) -> Scenarios:
    rows = list(read_rows(path))
    somebody = language.section(JudgementWords).somebody
    if not rows:
        raise InputError([InputFault(str(path), "holds no scenario")])
    columns = list(rows[0].values)
    key = id_column(columns, str(path))
    text_column = next((name for name in _TEXT_COLUMNS if name in columns), None)
    if text_column is None:
        rule = f"must have one of the columns {', '.join(_TEXT_COLUMNS)}; has {', '.join(columns)}"
        raise InputError([InputFault(str(path), rule)])
    faults: list[InputFault] = []
    found: list[Scenario] = []
    for place, (line, values) in enumerate(rows):
        where = f"{path}:{line}"
        name = cell_id(values.get(key), where, key)
        try:
            text = read_text(values.get(text_column), limit=MAX_SCENARIO_CHARS).strip()
        except ValueError as error:
            faults.append(InputFault(where, str(error), text_column))
            continue
        if name is None or is_missing(text):
            field = key if name is None else text_column
            faults.append(InputFault(where, "must not be empty", field))
            continue
        base = cell_id(values.get("base"), where, "base")
        if base is None:
            base = f"{base_of(place, len(rows), versions, str(path)) + 1}" if versions > 1 else name
        topic = cell_id(values.get("topic"), where, "topic") or ""
        other = cell_id(values.get("other"), where, "other") or somebody
        found.append(Scenario(name, base, topic, other, text))
    if faults:
        raise InputError(faults[:1000])
    refuse_doubles([(one.id, str(path)) for one in found], "scenario")
    return Scenarios(tuple(found), {})


def _together(scenarios: Sequence[Scenario]) -> tuple[Scenario, ...]:
    """Versions of one scenario next to each other, at the place of the first."""
    place: dict[str, int] = {}
    for one in scenarios:
        place.setdefault(one.base, len(place))
    return tuple(sorted(scenarios, key=lambda one: place[one.base]))
