"""The templates, read from YAML: built-in themes, a user's own beside or instead of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator

from ...catalogue import FoundDocument, files_at, list_documents
from ...errors import InputError, InputFault
from ...yaml_files import read_document, read_documents

PACKAGE = "areopagus.audits.socioeval"
THEMES_PACKAGE = f"{PACKAGE}.themes"

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,60}$")]
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Scenario = Literal["positive", "negative"]


class Template(BaseModel):
    """One question with two places for identities."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Slug
    scenario: Scenario = Field(
        description="positive: being chosen is an advantage; negative: it is a disadvantage"
    )
    text: Text = Field(description="holds {first} and {second}, each once")

    @field_validator("text")
    @classmethod
    def _has_both_places(cls, value: str) -> str:
        for place in ("{first}", "{second}"):
            if value.count(place) != 1:
                raise ValueError(f"must hold {place} once, holds it {value.count(place)} times")
        left = value.replace("{first}", "").replace("{second}", "")
        if "{" in left or "}" in left:
            raise ValueError("must hold no other braces than those of {first} and {second}")
        return value


class Topic(BaseModel):
    """A topic with its templates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Slug
    label: Text
    templates: tuple[Template, ...] = Field(min_length=1)


class Theme(BaseModel):
    """A theme: one file, the file's stem is its id."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Slug
    label: Text
    order: int = Field(default=100, description="place among the themes")
    topics: tuple[Topic, ...] = Field(min_length=1)


class SocialClass(BaseModel):
    """A class identity."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Slug
    label: Text
    phrase: Text = Field(description="as it stands in a template, with its article")


class Classes(BaseModel):
    """The class identities, from the lowest rank to the highest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    classes: tuple[SocialClass, ...] = Field(min_length=2)

    @field_validator("classes")
    @classmethod
    def _distinct(cls, value: tuple[SocialClass, ...]) -> tuple[SocialClass, ...]:
        for name in ("id", "phrase"):
            if len({getattr(item, name) for item in value}) < len(value):
                raise ValueError(f"two classes have the same {name}")
        return value


@dataclass(frozen=True, slots=True)
class Placed:
    """A template with where it stands."""

    theme: Theme
    topic: Topic
    template: Template


@dataclass(frozen=True, slots=True)
class Material:
    """What prompts are made of.

    Attributes:
        themes: in their order.
        classes: from the lowest to the highest.
    """

    themes: tuple[Theme, ...]
    classes: tuple[SocialClass, ...]

    def placed(self) -> Iterator[Placed]:
        """Every template."""
        for theme in self.themes:
            for topic in theme.topics:
                for template in topic.templates:
                    yield Placed(theme, topic, template)

    def pairs(self) -> Iterator[tuple[SocialClass, SocialClass]]:
        """Every pair of classes as (lower, higher)."""
        return combinations(self.classes, 2)

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        """Column of the answers to id to label: of themes, topics, classes and their pairs."""
        classes = {item.id: item.label for item in self.classes}
        return {
            "theme": {theme.id: theme.label for theme in self.themes},
            "topic": {topic.id: topic.label for theme in self.themes for topic in theme.topics},
            "pair": {
                f"{lower.id}-{higher.id}": f"{lower.label} / {higher.label}"
                for lower, higher in self.pairs()
            },
            "lower": classes,
            "higher": classes,
        }


def load_material(
    data: Sequence[str | Path] = (),
    *,
    replaces: bool = False,
    classes: str | Path | None = None,
    themes: Sequence[str] = (),
) -> Material:
    """The templates and classes of an audit.

    Args:
        data: files or folders with themes; one of a built-in name stands in its place.
        replaces: leave the built-in themes out.
        classes: a file with other class identities.
        themes: only these.

    Raises:
        InputError: with every fault of every file; a template's or topic's id that stands twice;
            an unknown theme.
    """
    places = {} if replaces else {one.name: one.path for one in _built_in()}
    for entry in data:
        places |= files_at(entry, "theme")
    if not places:
        raise InputError("the built-in themes are left out, and no other is given: name some data")
    read = read_documents(list(places.values()), Theme, kind="theme")
    read = tuple(sorted(read, key=lambda theme: (theme.order, theme.id)))
    if themes:
        known = {theme.id: theme for theme in read}
        unknown = [name for name in themes if name not in known]
        if unknown:
            raise InputError(
                [InputFault(name, f"is no theme; there are {', '.join(known)}") for name in unknown]
            )
        read = tuple(theme for theme in read if theme.id in themes)
    source = resources.files(PACKAGE).joinpath("classes.yaml") if classes is None else classes
    ranks = read_document(source, Classes, kind="classes").classes
    material = Material(read, ranks)
    _refuse_doubles(material)
    return material


def _built_in() -> tuple[FoundDocument, ...]:
    return list_documents("socioeval-theme", (), THEMES_PACKAGE)


def _refuse_doubles(material: Material) -> None:
    seen: dict[str, str] = {}
    faults: list[InputFault] = []
    for placed in material.placed():
        name, where = placed.template.id, f"{placed.theme.id}.{placed.topic.id}"
        if name in seen:
            rule = f"template {name!r} stands in {seen[name]} too; ids must differ"
            faults.append(InputFault(where, rule))
        seen[name] = where
    topics = [topic.id for theme in material.themes for topic in theme.topics]
    faults += [
        InputFault(name, "is the id of two topics")
        for name in dict.fromkeys(topics)
        if topics.count(name) > 1
    ]
    if faults:
        raise InputError(faults)
