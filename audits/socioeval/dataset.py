"""Templates, classes and markers, read from YAML: built-in files, a user's own beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, field_validator

from ...catalogue import is_path
from ...errors import InputError, InputFault
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
    unknown_names,
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
    unfit: tuple[Slug, ...] = Field(
        default=(),
        description="kinds of markers that make no sense in it, with which it is not asked",
    )

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


THEMES: Final = FileKind("theme", Theme, f"{PACKAGE}.themes", "socioeval-theme", "data")


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


class MarkerKind(DatasetFile):
    """A kind of signs of class: one file, the file's stem is its id."""

    known: Text = Field(
        description="what is known of the two people, for judges: 'what they do for a living'"
    )
    markers: Mapping[Slug, tuple[Text, ...]] = Field(
        description="class to its signs, as they stand in a template, with their article"
    )

    @field_validator("id")
    @classmethod
    def _is_no_class_name(cls, value: str) -> str:
        if value == CLASS:
            raise ValueError(f"{CLASS} is what the names of classes are called")
        return value

    @field_validator("markers")
    @classmethod
    def _distinct(cls, value: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        check_distinct(chain(*value.values()), "markers")
        if few := [name for name, phrases in value.items() if len(phrases) < 2]:
            raise ValueError(f"{few[0]}: needs two markers at least, or class is told by one alone")
        return value


CLASS: Final = "class"
"""The kind of marker that the names of classes are."""
KINDS: Final = FileKind(
    "kind of marker", MarkerKind, f"{PACKAGE}.markers", "socioeval-marker", "markers"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A template with two phrases in it.

    Attributes:
        placed: the template.
        kind: of the markers; `CLASS` where the classes are named.
        lower, higher: the two classes.
        phrases: what stands for them.
        places: the numbers of the markers in their lists, from 1; empty for names of classes.
    """

    placed: Placed
    kind: str
    lower: SocialClass
    higher: SocialClass
    phrases: tuple[str, str]
    places: tuple[int, ...] = ()


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
        kinds: what tells of the class, `CLASS` standing for its name.
        markers: of the other kinds.
    """

    themes: tuple[Theme, ...]
    classes: tuple[SocialClass, ...]
    kinds: tuple[str, ...] = (CLASS,)
    markers: Mapping[str, MarkerKind] = field(default_factory=dict)

    def placed(self) -> Iterator[Placed]:
        """Every template."""
        for theme in self.themes:
            for topic in theme.topics:
                for template in topic.templates:
                    yield Placed(theme, topic, template)

    def pairs(self) -> Iterator[tuple[SocialClass, SocialClass]]:
        """Every pair of classes as (lower, higher)."""
        return combinations(self.classes, 2)

    def questions(self) -> Iterator[Question]:
        """Every template with every pair of classes, by every kind of marker in turn.

        Which markers of the two classes a question has goes round: so every marker of a class
        stands in as many questions as the others, good and bad ones and with every other class
        alike, and meets many markers of the other class. A class is never told by one marker.
        """
        ranks = {kind: self._ranks(kind) for kind in self.kinds}
        for placed in self.placed():
            for number, (lower, higher) in enumerate(self.pairs()):
                for kind in self.kinds:
                    if kind == CLASS:
                        phrases = (lower.phrase, higher.phrase)
                        yield Question(placed, kind, lower, higher, phrases)
                        continue
                    rank = ranks[kind].get(placed.template.id)
                    if rank is None:
                        continue
                    mine, other = (self.markers[kind].markers[one.id] for one in (lower, higher))
                    is_bad = placed.template.scenario == "negative"
                    at = (rank + number) % len(mine)
                    beside = (rank + rank // len(mine) + 3 * number + is_bad) % len(other)
                    yield Question(
                        placed, kind, lower, higher, (mine[at], other[beside]), (at + 1, beside + 1)
                    )

    def _ranks(self, kind: str) -> dict[str, int]:
        """The templates that a kind of marker fits, each with its rank within its scenario."""
        found: dict[str, int] = {}
        counts = {"positive": 0, "negative": 0}
        for placed in self.placed():
            template = placed.template
            if kind not in template.unfit:
                found[template.id] = counts[template.scenario]
                counts[template.scenario] += 1
        return found

    def kind_name(self, kind: str) -> str:
        """What a kind of marker is called in reports."""
        return "names of classes" if kind == CLASS else self.markers[kind].label

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
            "marker": {kind: self.kind_name(kind) for kind in self.kinds},
            "kinds": {
                f"{first} - {second}": f"{self.kind_name(first)} − {self.kind_name(second)}"
                for first, second in combinations(reversed(self.kinds), 2)
            },
        }


def load_dataset(
    data: Sequence[str | Path] = (),
    *,
    replaces: bool = False,
    classes: str | Path | None = None,
    themes: Sequence[str] = (),
    markers: Sequence[str] = (CLASS,),
    language: Language | None = None,
) -> Dataset:
    """The templates, classes and markers of an audit.

    Args:
        data: files or folders with themes; one of a built-in name stands in its place.
        replaces: leave the built-in themes out.
        classes: a file with other class identities.
        themes: only these.
        markers: kinds of markers, `CLASS` for the names of classes; or files that hold one.
        language: of all of them; English where none is named.

    Raises:
        InputError: with every fault of every file; a template's or topic's id that stands twice;
            an unknown theme or kind of marker; a class without markers.
    """
    read = THEMES.read(data, replaces=replaces, only=themes, language=language)
    known = one_file(
        classes, PACKAGE, "classes.yaml", Classes, language=language, option="classes"
    ).classes
    kinds, of_kind = _markers(markers, known, language)
    dataset = Dataset(read, known, kinds, of_kind)
    placed = list(dataset.placed())
    refuse_doubles([(one.template.id, f"{one.theme.id}.{one.topic.id}") for one in placed],
                   "template")  # fmt: skip
    topics = [(topic.id, theme.id) for theme in read for topic in theme.topics]
    refuse_doubles(topics, "topic")
    return dataset


def _markers(
    given: Sequence[str], classes: Sequence[SocialClass], language: Language | None
) -> tuple[tuple[str, ...], dict[str, MarkerKind]]:
    """The kinds in the order in which they were named, and what is in their files."""
    files = [one for one in given if is_path(one)]
    kinds = tuple(dict.fromkeys(Path(one).stem if is_path(one) else one for one in given))
    if not kinds:
        raise InputError(f"markers: name one at least, such as {CLASS}")
    names = [kind for kind in kinds if kind != CLASS]
    if not names:
        return kinds, {}
    there = {one.id: one for one in KINDS.read(files, language=language)}
    if unknown := [name for name in names if name not in there]:
        raise unknown_names(unknown, (CLASS, *there), KINDS.kind)
    found = {name: there[name] for name in names}
    faults = [
        InputFault(name, f"has no markers of the class {one.id}", "markers")
        for name, kind in found.items()
        for one in classes
        if one.id not in kind.markers
    ]
    if faults:
        raise InputError(faults)
    return kinds, found
