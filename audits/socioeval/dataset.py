"""The templates, read from YAML: built-in themes, a user's own beside or instead of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, field_validator

from ..dataset import (
    DatasetFile,
    FileKind,
    InLanguage,
    Named,
    Part,
    Slug,
    Text,
    check_distinct,
    one_file,
    refuse_doubles,
)
from ..languages import Language

PACKAGE: Final = "areopagus.audits.socioeval"
Scenario = Literal["positive", "negative"]


class Template(Part):
    """One question with two places for identities."""

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


class Topic(Named):
    """A topic with its templates."""

    templates: tuple[Template, ...] = Field(min_length=1)


class Theme(DatasetFile):
    """A theme: one file, the file's stem is its id."""

    topics: tuple[Topic, ...] = Field(min_length=1)


THEMES: Final = FileKind("theme", Theme, f"{PACKAGE}.themes", "socioeval-theme")


class SocialClass(Named):
    """A class identity."""

    phrase: Text = Field(description="as it stands in a template, with its article")


class Classes(InLanguage):
    """The class identities, from the lowest rank to the highest."""

    classes: tuple[SocialClass, ...] = Field(min_length=2)

    @field_validator("classes")
    @classmethod
    def _distinct(cls, value: tuple[SocialClass, ...]) -> tuple[SocialClass, ...]:
        check_distinct([item.id for item in value], "ids of classes")
        check_distinct([item.phrase for item in value], "phrases of classes")
        return value


@dataclass(frozen=True, slots=True)
class Placed:
    """A template with where it stands."""

    theme: Theme
    topic: Topic
    template: Template


@dataclass(frozen=True, slots=True)
class Dataset:
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


def load_dataset(
    data: Sequence[str | Path] = (),
    *,
    replaces: bool = False,
    classes: str | Path | None = None,
    themes: Sequence[str] = (),
    language: Language | None = None,
) -> Dataset:
    """The templates and classes of an audit.

    Args:
        data: files or folders with themes; one of a built-in name stands in its place.
        replaces: leave the built-in themes out.
        classes: a file with other class identities.
        themes: only these.
        language: of all of them; English where none is named.

    Raises:
        InputError: with every fault of every file; a template's or topic's id that stands twice;
            an unknown theme.
    """
    read = THEMES.read(data, replaces=replaces, only=themes, language=language)
    own = one_file(classes, PACKAGE, "classes.yaml", Classes, language=language)
    dataset = Dataset(read, own.classes)
    placed = list(dataset.placed())
    refuse_doubles([(one.template.id, f"{one.theme.id}.{one.topic.id}") for one in placed],
                   "template")  # fmt: skip
    topics = [(topic.id, theme.id) for theme in read for topic in theme.topics]
    refuse_doubles(topics, "topic")
    return dataset
