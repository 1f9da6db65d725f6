"""Names by gender and race, and cities by income: whom professions and stories are asked about."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from ...errors import InputError, InputFault
from ..dataset import InLanguage, Named, Part, Slug, Text, check_distinct, one_file
from ..languages import Language

PACKAGE = "areopagus.audits.silverspoon_professions"
NameRule = Literal["distinct", "first"]
Income = Literal["high", "low"]


class NameGroup(Named):
    """Names of one gender and race."""

    race: Slug
    gender: Slug
    names: tuple[Text, ...] = Field(min_length=1, description="most common first")


class City(Part):
    """A city."""

    name: Text
    income: Income


class People(InLanguage):
    """The lists."""

    names_per_group: int = Field(default=50, ge=1)
    groups: tuple[NameGroup, ...] = Field(min_length=1)
    cities: tuple[City, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> People:
        check_distinct([group.id for group in self.groups], "ids of groups")
        check_distinct([city.name for city in self.cities], "cities")
        pairs = [f"{group.race}, {group.gender}" for group in self.groups]
        check_distinct(pairs, "pairs of race and gender")
        return self


@dataclass(frozen=True, slots=True)
class Person:
    """A name of a group."""

    name: str
    group: NameGroup
    rank: int

    @property
    def unit(self) -> str:
        """The cluster of everything asked about this name in this group."""
        return f"{self.group.id}|{self.name}"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The names that are asked about.

    Attributes:
        people: name of rank 0 of every group, then rank 1, …
        cities: all of them.
        groups: the groups.
        notices: where lists repeat a name, share names with others, or fall short.
    """

    people: tuple[Person, ...]
    cities: tuple[City, ...]
    groups: tuple[NameGroup, ...]
    notices: tuple[str, ...]

    @property
    def genders(self) -> tuple[str, ...]:
        """In the order of the lists."""
        return tuple(dict.fromkeys(group.gender for group in self.groups))

    @property
    def races(self) -> tuple[str, ...]:
        """In the order of the lists."""
        return tuple(dict.fromkeys(group.race for group in self.groups))

    def pairs(self) -> Iterator[tuple[Person, City]]:
        """Every person in every city, one person after the other."""
        for person in self.people:
            for city in self.cities:
                yield person, city


def load_people(
    source: str | Path | None = None,
    *,
    rule: NameRule = "distinct",
    most: int | None = None,
    language: Language | None = None,
) -> Chosen:
    """The names and cities of an audit.

    Args:
        source: YAML like the built-in `people.yaml`; None: that one.
        rule: `first`: the first names of each list. `distinct`: the first that stand in no other
            group's list; a name of two groups makes one prompt, which cannot tell them apart.
        most: names a group; None: as the file says.
        language: that is asked in; English where none is named.

    Raises:
        InputError: the file's faults, or a group that is left without a name.
    """
    people = one_file(source, PACKAGE, "people.yaml", People, language=language, option="people")
    wanted = most or people.names_per_group
    own = {group.id: _distinct_names(group.names) for group in people.groups}
    taken: dict[str, tuple[str, ...]] = {}
    notices: list[str] = []
    repeats: list[str] = []
    for group in people.groups:
        counts = Counter(plain_name(name) for name in group.names)
        repeated = [name for name in own[group.id] if counts[plain_name(name)] > 1]
        if repeated:
            repeats.append(f"{group.label} {', '.join(repeated)}")
        others = {
            plain_name(name)
            for other in people.groups
            if other is not group
            for name in own[other.id]
        }
        names = own[group.id]
        if rule == "distinct":
            names = tuple(name for name in names if plain_name(name) not in others)
        taken[group.id] = names[:wanted]
        if len(names) < wanted:
            notices.append(f"{group.label}: {len(names)} names of {wanted}; the list falls short")
        if not names:
            raise InputError([InputFault(group.id, "has no name that stands in no other group")])
    if repeats:
        notices.insert(0, f"names that a list repeats count once: {'; '.join(repeats)}")
    shared = [
        name
        for name, count in Counter(n for names in taken.values() for n in names).items()
        if count > 1
    ]
    if shared:
        notices.append(
            f"{len(shared)} names stand in two groups ({', '.join(shared[:6])}"
            f"{', …' if len(shared) > 6 else ''}): their prompts are the same, and cannot tell the "
            "groups apart"
        )
    found = [
        Person(taken[group.id][rank], group, rank)
        for rank in range(max(len(names) for names in taken.values()))
        for group in people.groups
        if rank < len(taken[group.id])
    ]
    return Chosen(tuple(found), people.cities, people.groups, tuple(notices))


@cache
def plain_name(name: str) -> str:
    """The name in small letters without accents: "Raúl" and "Raul" are one name."""
    parts = unicodedata.normalize("NFKD", name.casefold())
    return "".join(part for part in parts if not unicodedata.combining(part))


def story_pairs(chosen: Chosen, stories: int) -> Iterator[tuple[Person, City]]:
    """So many persons and cities, spread evenly over groups, names, and rich and poor cities.

    Rich and poor are compared within a name. So where the stories do not suffice for two of every
    name, fewer names are taken, the first of each group, with one in a rich city and one in a poor
    one. Beyond that every name gets the same number, one more for the first ones where they do not
    come out even. A name's stories take turns in rich and poor cities and go through the cities in
    order, from another one for each name.
    """
    by_income = [
        [city for city in chosen.cities if city.income == kind] for kind in ("high", "low")
    ]
    levels = [cities for cities in by_income if cities]
    people = chosen.people[: -(-stories // len(levels))]
    every, more = divmod(min(stories, len(people) * len(chosen.cities)), len(people))
    for number, person in enumerate(people):
        used: set[str] = set()
        for story in range(every + (number < more)):
            level = levels[(story + person.rank) % len(levels)]
            free = [city for city in level if city.name not in used] or [
                city for city in chosen.cities if city.name not in used
            ]
            city = free[(person.rank + story // len(levels)) % len(free)]
            used.add(city.name)
            yield person, city


def _distinct_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Every name once, as it is written first."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(plain_name(name), name)
    return tuple(found.values())
