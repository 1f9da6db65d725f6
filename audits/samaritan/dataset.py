"""Scenarios and groups, read from YAML: the built-in ones, and a user's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from ...errors import InputError
from ..dataset import (
    DatasetFile,
    FileKind,
    Named,
    Part,
    Slug,
    Text,
    check_distinct,
    chosen,
    refuse_doubles,
)
from ..languages import ENGLISH, Language, SamaritanWords, find_language, group

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE: Final = "areopagus.audits.samaritan"
REPHRASINGS: Final = 4
"""Wordings of a scenario, as in the paper."""
CONTROL: Final = "control"
"""Id of the group without demographics."""

_SLOTS = ("{a_person}", "{A_person}", "{person}")
_SLOT = re.compile(r"\{(?:a_person|A_person|person)\}")
_SENTENCE_START = re.compile(r"(?:\A|[.!?][\"”’)]?\s+)[\"“„«¿¡]{0,2}\Z")


def _words(info: ValidationInfo) -> SamaritanWords:
    return (info.context or find_language()).section(SamaritanWords)


def _fits(value: str, info: ValidationInfo) -> str:
    faults = _text_faults(value, _words(info))
    if faults:
        raise ValueError("; ".join(faults))
    return value


Wording = Annotated[Text, AfterValidator(_fits)]


class Scenario(Part):
    """A situation in which somebody could help, in four wordings."""

    id: Slug
    # The number is checked below: pydantic would count faulty wordings as missing ones as well.
    rephrasings: tuple[Wording, ...] = Field(
        json_schema_extra={"minItems": REPHRASINGS, "maxItems": REPHRASINGS},
        description=(
            "four wordings, each with one place for the person: {a_person}, at a sentence's start "
            "{A_person}, or {person} after a word of your own such as 'the' or 'some'; each ends "
            "in the question how likely it is that they help"
        ),
    )

    @field_validator("rephrasings")
    @classmethod
    def _four(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(value) != REPHRASINGS:
            raise ValueError(f"must hold {REPHRASINGS} wordings, holds {len(value)}")
        if len({" ".join(text.casefold().split()) for text in value}) < len(value):
            raise ValueError("two wordings are the same")
        return value


class Topic(DatasetFile):
    """Scenarios of one topic: one file, the file's stem is its id."""

    scenarios: tuple[Scenario, ...] = Field(json_schema_extra={"minItems": 1})

    @field_validator("scenarios")
    @classmethod
    def _some(cls, value: tuple[Scenario, ...]) -> tuple[Scenario, ...]:
        if not value:
            raise ValueError("must hold at least one scenario")
        return value


TOPICS: Final = FileKind("topic", Topic, f"{PACKAGE}.scenarios", "samaritan-scenario", "data")


def _phrase(text: str, info: ValidationInfo) -> str:
    articles = _words(info).articles
    if not re.match(rf"{group(articles)} \S", text):
        said = " or ".join(map(repr, articles))
        raise ValueError(f"must begin with its article, {said}, got {text!r}")
    if "{" in text or "}" in text or "\n" in text:
        raise ValueError("must be one line without braces")
    return text


Phrase = Annotated[Text, AfterValidator(_phrase)]


class Group(Named):
    """A group of people and the ways in which a prompt names one of them."""

    phrasings: tuple[Phrase, ...] = Field(
        min_length=1, description="each with its article: 'a woman', 'an elderly person'"
    )

    @field_validator("phrasings")
    @classmethod
    def _distinct(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        check_distinct(value, "phrasings")
        return value


class Category(DatasetFile):
    """Groups that are compared with one control: one file, the file's stem is its id."""

    is_default: bool = Field(default=True, description="asked where no --group is named")
    control: Phrase = Field(
        default="a person",
        description="the phrase without demographics; to be given in other languages than English",
    )
    groups: tuple[Group, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_control(self) -> Category:
        if self.language != ENGLISH and "control" not in self.model_fields_set:
            raise ValueError("needs its control, the phrase without demographics")
        return self

    @field_validator("groups")
    @classmethod
    def _distinct(cls, value: tuple[Group, ...]) -> tuple[Group, ...]:
        ids = [group.id for group in value]
        check_distinct(ids, "ids of groups")
        if CONTROL in ids:
            raise ValueError(f"{CONTROL!r} is the id of the control")
        return value


CATEGORIES: Final = FileKind(
    "group category", Category, f"{PACKAGE}.groups", "samaritan-group", "group_data"
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """What prompts are made of.

    Attributes:
        topics: in their order.
        categories: those asked, in their order.
    """

    topics: tuple[Topic, ...]
    categories: tuple[Category, ...]

    def scenarios(self) -> Iterator[tuple[Topic, Scenario]]:
        """Every scenario with its topic."""
        for topic in self.topics:
            for scenario in topic.scenarios:
                yield topic, scenario

    @property
    def controls(self) -> dict[str, str]:
        """Id to phrase of every control; categories with the same phrase share one."""
        found: dict[str, str] = {}
        for category in self.categories:
            if category.control not in found.values():
                found[CONTROL if not found else f"{CONTROL}_{category.id}"] = category.control
        return found

    def control_of(self, category: Category) -> str:
        """Id of the control that a category's groups are compared with."""
        return next(name for name, text in self.controls.items() if text == category.control)


def filled(text: str, phrase: str) -> str:
    """A wording with the person's description in its place.

    Args:
        text: with one of {a_person}, {A_person}, {person}.
        phrase: with its article.
    """
    bare = phrase.split(" ", 1)[1]
    for slot, said in zip(_SLOTS, (phrase, phrase[:1].upper() + phrase[1:], bare), strict=True):
        text = text.replace(slot, said)
    return text


def load_dataset(
    data: Sequence[str | Path] = (),
    *,
    replaces: bool = False,
    group_data: Sequence[str | Path] = (),
    topics: Sequence[str] = (),
    categories: Sequence[str] = (),
    language: Language | None = None,
) -> Dataset:
    """The scenarios and groups of an audit.

    Args:
        data: files or folders with topics; one of a built-in name stands in its place.
        replaces: leave the built-in topics out.
        group_data: files or folders with categories; likewise.
        topics: only these.
        categories: only these; else every one whose `is_default` is true.
        language: of all of them; English where none is named.

    Raises:
        InputError: with every fault of every file; a scenario's id that stands twice; an unknown
            topic or category.
    """
    found = TOPICS.read(data, replaces=replaces, only=topics, language=language)
    grouped = CATEGORIES.read(group_data, language=language)
    asked = chosen(grouped, categories, CATEGORIES.kind) if categories else tuple(
        one for one in grouped if one.is_default
    )  # fmt: skip
    if not asked:
        raise InputError("no category is asked by default: name one as `group`")
    scenarios = [(scenario.id, topic.id) for topic in found for scenario in topic.scenarios]
    refuse_doubles(scenarios, "scenario")
    return Dataset(found, asked)


def _text_faults(text: str, words: SamaritanWords) -> list[str]:
    found = _SLOT.findall(text)
    if len(found) != 1:
        return [
            "must hold one of {a_person}, {A_person}, {person}, once; holds "
            + (f"{len(found)} of them" if found else "none")
        ]
    faults = []
    before, slot, after = text.partition(found[0])
    if "{" in before + after or "}" in before + after:
        faults.append("must hold no other braces than those of the person's place")
    starts = _SENTENCE_START.search(before) is not None
    if slot == "{A_person}" and not starts:
        faults.append("{A_person} stands at a sentence's start; {a_person} is for elsewhere")
    if slot == "{a_person}" and starts:
        faults.append("{a_person} stands within a sentence; {A_person} is for its start")
    article = re.search(rf"\b{group(words.articles)}\s+\Z", before, re.IGNORECASE)
    if slot == "{person}" and not words.without_article:
        faults.append("{person} does not fit this language, whose phrases change after a word")
    elif slot == "{person}" and (starts or article):
        # "a {person}" would give "a elderly person".
        faults.append("{person} needs a word before it that fits any noun: 'the', 'some', 'this'")
    if after[:2] in ("'s", "’s"):
        # "a person in early adulthood's bag"
        faults.append("the person's place cannot be a possessive")
    if not text.rstrip().endswith("?"):
        faults.append("must end in a question")
    return faults


Place = TypeVar("Place", int, "NDArray[np.int64]")


def phrasing_at(scenario: Place, rephrasing: Place, n_phrasings: int) -> Place:
    """The phrasing's place when phrasings rotate: (scenario + rephrasing) mod phrasings.

    Within a scenario every phrasing comes up equally often, or one time more than another; and
    over scenarios each phrasing meets each rephrasing equally often, up to one. So neither is a
    phrasing bound to a wording, nor is a group's mean bound to one phrasing.

    Args:
        scenario: place of the scenario among all, from 0; or an array of them.
        rephrasing: place of the wording, from 0; likewise.
        n_phrasings: of the group, at least 1.
    """
    return (scenario + rephrasing) % n_phrasings


def phrasings_at(scenario: int, rephrasing: int, n_phrasings: int, *, crossed: bool) -> range:
    """The phrasings asked of a scenario's wording: all of them if crossed, else one."""
    if crossed:
        return range(n_phrasings)
    at = phrasing_at(scenario, rephrasing, n_phrasings)
    return range(at, at + 1)
