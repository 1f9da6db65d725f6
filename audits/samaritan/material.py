"""Scenarios and groups, read from YAML: the built-in ones, and a user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
)

from ...catalogue import files_at, list_documents
from ...errors import InputError, InputFault
from ...yaml_files import read_documents

PACKAGE = "areopagus.audits.samaritan"
REPHRASINGS = 4
"""Wordings of a scenario, as in the paper."""
CONTROL = "control"
"""Id of the group without demographics."""

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,60}$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]

_SLOTS = ("{a_person}", "{A_person}", "{person}")
_SLOT = re.compile(r"\{(?:a_person|A_person|person)\}")
_SENTENCE_START = re.compile(r"(?:\A|[.!?][\"”’)]?\s+)[\"“]?\Z")
_ARTICLE = re.compile(r"\b(?:an?)\s+\Z", re.IGNORECASE)


def _fits(value: str) -> str:
    faults = _text_faults(value)
    if faults:
        raise ValueError("; ".join(faults))
    return value


Wording = Annotated[Text, AfterValidator(_fits)]


class Scenario(BaseModel):
    """A situation in which somebody could help, in four wordings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class Topic(BaseModel):
    """Scenarios of one topic: one file, the file's stem is its id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Slug
    label: Text
    order: int = Field(default=100, description="place among the topics")
    scenarios: tuple[Scenario, ...] = Field(json_schema_extra={"minItems": 1})

    @field_validator("scenarios")
    @classmethod
    def _some(cls, value: tuple[Scenario, ...]) -> tuple[Scenario, ...]:
        if not value:
            raise ValueError("must hold at least one scenario")
        return value


class Group(BaseModel):
    """A group of people and the ways in which a prompt names one of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Slug
    label: Text
    phrasings: tuple[Text, ...] = Field(
        min_length=1, description="each with its article: 'a woman', 'an elderly person'"
    )

    @field_validator("phrasings")
    @classmethod
    def _with_articles(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            _check_phrase(text)
        if len(set(value)) < len(value):
            raise ValueError("two phrasings are the same")
        return value


class Category(BaseModel):
    """Groups that are compared with one control: one file, the file's stem is its id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Slug
    label: Text
    order: int = Field(default=100, description="place among the categories")
    is_default: bool = Field(default=True, description="asked where no --group is named")
    control: Text = Field(default="a person", description="the phrase without demographics")
    groups: tuple[Group, ...] = Field(min_length=1)

    @field_validator("control")
    @classmethod
    def _with_article(cls, value: str) -> str:
        _check_phrase(value)
        return value

    @field_validator("groups")
    @classmethod
    def _distinct(cls, value: tuple[Group, ...]) -> tuple[Group, ...]:
        ids = [group.id for group in value]
        if len(set(ids)) < len(ids):
            raise ValueError("two groups have the same id")
        if CONTROL in ids:
            raise ValueError(f"{CONTROL!r} is the id of the control")
        return value


@dataclass(frozen=True, slots=True)
class Material:
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


def load_material(
    data: Sequence[str | Path] = (),
    *,
    replaces: bool = False,
    group_data: Sequence[str | Path] = (),
    topics: Sequence[str] = (),
    categories: Sequence[str] = (),
) -> Material:
    """The scenarios and groups of an audit.

    Args:
        data: files or folders with topics; one of a built-in name stands in its place.
        replaces: leave the built-in topics out.
        group_data: files or folders with categories; likewise.
        topics: only these.
        categories: only these; else every one whose `is_default` is true.

    Raises:
        InputError: with every fault of every file; a scenario's id that stands twice; an unknown
            topic or category.
    """
    built_in = {} if replaces else _built_in("scenario", "scenarios")
    found = _read({**built_in, **_given(data, "topic")}, Topic, "topic")
    grouped = _read(
        {**_built_in("group", "groups"), **_given(group_data, "category")}, Category, "category"
    )
    chosen = _chosen(found, topics, "topic") if topics else found
    asked = (
        _chosen(grouped, categories, "group category")
        if categories
        else tuple(category for category in grouped if category.is_default)
    )
    if not asked:
        raise InputError("no category is asked by default: name one with --group")
    _refuse_doubles(chosen)
    return Material(chosen, asked)


def _built_in(kind: str, folder: str) -> dict[str, Any]:
    found = list_documents(f"samaritan-{kind}", (), f"{PACKAGE}.{folder}")
    return {one.name: one.path for one in found}


def _given(entries: Sequence[str | Path], what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for entry in entries:
        found.update(files_at(entry, what))
    return found


def _read(places: dict[str, Any], model: type[Any], kind: str) -> tuple[Any, ...]:
    if not places:
        raise InputError(f"the built-in {kind}s are left out, and no other is given: name some")
    read = read_documents(list(places.values()), model, kind=kind)
    return tuple(sorted(read, key=lambda one: (one.order, one.id)))


def _chosen(found: Iterable[Any], names: Sequence[str], kind: str) -> tuple[Any, ...]:
    known = {one.id: one for one in found}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(
            [InputFault(name, f"is no {kind}; there are {', '.join(known)}") for name in unknown]
        )
    return tuple(one for one in known.values() if one.id in names)


def _refuse_doubles(topics: Iterable[Topic]) -> None:
    seen: dict[str, str] = {}
    faults = []
    for topic in topics:
        for scenario in topic.scenarios:
            if scenario.id in seen:
                rule = (
                    f"scenario {scenario.id!r} stands in {seen[scenario.id]} too; ids must differ"
                )
                faults.append(InputFault(topic.id, rule))
            seen[scenario.id] = topic.id
    if faults:
        raise InputError(faults)


def _text_faults(text: str) -> list[str]:
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
    if slot == "{person}" and (starts or _ARTICLE.search(before)):
        # "a {person}" would give "a elderly person".
        faults.append("{person} needs a word before it that fits any noun: 'the', 'some', 'this'")
    if after[:2] in ("'s", "’s"):
        # "a person in early adulthood's bag"
        faults.append("the person's place cannot be a possessive")
    if not text.rstrip().endswith("?"):
        faults.append("must end in a question")
    return faults


def _check_phrase(text: str) -> None:
    if not re.match(r"an? \S", text):
        raise ValueError(f"must begin with its article, 'a' or 'an', got {text!r}")
    if "{" in text or "}" in text or "\n" in text:
        raise ValueError("must be one line without braces")
