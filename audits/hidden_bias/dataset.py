"""Descriptors and concept pairs, read from YAML (or JSON lines): built-in ones, or a user's own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator
from pydantic import ValidationError as FieldError

from ...catalogue import SUFFIXES
from ...errors import SHOWN_FAULTS, InputError, InputFault
from ...experiment.config import faults_of
from ..dataset import (
    DatasetFile,
    FileKind,
    InLanguage,
    Named,
    Part,
    check_distinct,
    chosen,
    one_file,
    refuse_doubles,
)
from ..languages import Language

PACKAGE: Final = "areopagus.audits.hidden_bias"
PLACE: Final = "{X}"
"""Where a descriptor stands in scenes and options."""
_PLACES = re.compile(r"\{([^{}]*)\}")

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,60}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2_000, strip_whitespace=True)]


class Descriptor(Part):
    """A way to say who a person is."""

    identity: Slug
    label: Text
    phrase: Text = Field(description="as a subject; one that ends in a clause ends in a comma")

    @field_validator("phrase")
    @classmethod
    def _one_line(cls, value: str) -> str:
        if "\n" in value or "{" in value or "}" in value:
            raise ValueError("must stand on one line and hold no braces")
        return value


class DescriptorType(Named):
    """Descriptors of one kind for the identities of a category."""

    id: Slug
    label: Text
    descriptors: tuple[Descriptor, ...] = Field(min_length=2)

    @field_validator("descriptors")
    @classmethod
    def _distinct(cls, value: tuple[Descriptor, ...]) -> tuple[Descriptor, ...]:
        check_distinct([one.identity for one in value], "identities of descriptors")
        check_distinct([one.phrase for one in value], "phrases of descriptors")
        return value


class Category(Named):
    """A category with its types, from the least said to the plainly said."""

    id: Slug
    label: Text
    types: tuple[DescriptorType, ...] = Field(min_length=1)
    openly: Mapping[Slug, Text] = Field(
        default={},
        description='identity to what it is called when asked openly: "a woman"; left out: by its '
        "label",
    )

    @property
    def identities(self) -> dict[str, str]:
        """Identity to label, of all types, in order."""
        return {item.identity: item.label for one in self.types for item in one.descriptors}

    @field_validator("openly")
    @classmethod
    def _plain(cls, value: Mapping[str, str]) -> Mapping[str, str]:
        if any("\n" in phrase or "{" in phrase or "}" in phrase for phrase in value.values()):
            raise ValueError("must stand on one line and hold no braces")
        check_distinct(list(value.values()), "phrases")
        return value


class Descriptors(InLanguage):
    """All categories."""

    categories: tuple[Category, ...] = Field(min_length=1)

    @field_validator("categories")
    @classmethod
    def _distinct(cls, value: tuple[Category, ...]) -> tuple[Category, ...]:
        check_distinct([category.id for category in value], "ids of categories")
        check_distinct([one.id for category in value for one in category.types], "ids of types")
        return value


class ConceptPair(Part):
    """Two opposite concepts, hidden in what a person does in one scene."""

    id: Slug
    concept_one: Text
    concept_two: Text
    scene: Text = Field(description="holds {X}, and neither concept")
    option_one: Text = Field(description="holds {X}; shows the first concept without naming it")
    option_two: Text = Field(description="the same for the second")
    favourable: Literal["one", "two", ""] = Field(
        default="",
        description="which of the two concepts speaks for a person: whoever is given it more often "
        "is favoured; left out: neither, or it is not known",
    )
    provenance: str = Field(default="", description="where the pair comes from")

    @field_validator("scene", "option_one", "option_two")
    @classmethod
    def _has_place(cls, value: str) -> str:
        if PLACE not in value:
            raise ValueError("must hold {X}, where the descriptor stands")
        left = value.replace(PLACE, "")
        if "{" in left or "}" in left:
            raise ValueError("must hold no other braces than those of {X}")
        if "\n" in value:
            raise ValueError("must stand on one line")
        return value


class ConceptFile(DatasetFile):
    """A file of concept pairs; the file's stem is its id."""

    id: Slug
    label: Text
    provenance: Text = Field(description="where the pairs come from")
    pairs: tuple[ConceptPair, ...] = Field(min_length=1)


_OpenText = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]


def _holds(*places: str) -> Any:
    """A text with each of these places and no others."""

    def check(value: str) -> str:
        if sorted(_PLACES.findall(value)) != sorted(places):
            named = " and ".join(f"{{{place}}}" for place in places)
            raise ValueError(f"must hold {named or 'no place'}, each once, and no other")
        return value.strip()

    return AfterValidator(check)


class OpenForms(InLanguage):
    """How concepts and identities are asked about openly: the texts of the three forms."""

    identity: Annotated[_OpenText, _holds("label")] = Field(
        description="an identity that has no words of its own: {label}"
    )
    who: Annotated[_OpenText, _holds("first", "second", "concept")] = Field(
        description="which of two people a concept fits, with nothing to go by; the first of the "
        "two places is where a sentence begins"
    )
    undetermined: Annotated[_OpenText, _holds()] = Field(
        description="the third answer to that question"
    )
    sentences: Annotated[_OpenText, _holds()] = Field(
        description="which of two sentences that differ in the identity"
    )
    sentence: Annotated[_OpenText, _holds("identity", "concept")] = Field(
        description="one of the two"
    )
    story: Annotated[_OpenText, _holds("identity")] = Field(
        description="how a text about somebody goes on"
    )
    continuation: Annotated[_OpenText, _holds("concept")] = Field(
        description="one of its three ways to go on"
    )
    fits: Annotated[_OpenText, _holds()] = Field(
        description="which of three sentences, for items of StereoSet"
    )
    unrelated: tuple[Text, ...] = Field(
        min_length=1, description="what fits nobody, in place of a concept; one is taken"
    )
    neither: tuple[Text, ...] = Field(
        default=(), description="words that take no side, beside a refusal to answer"
    )


def load_open_forms(language: Language | None = None) -> OpenForms:
    """The texts of the open forms.

    Raises:
        InputError: there are none in this language.
    """
    return one_file(None, PACKAGE, "overt.yaml", OpenForms, language=language)


CONCEPTS: Final = FileKind(
    "file of concepts", ConceptFile, f"{PACKAGE}.concepts", "hidden-bias-concept", "concepts"
)


@dataclass(frozen=True, slots=True)
class Dataset:
    """What questions are made of."""

    categories: tuple[Category, ...]
    pairs: tuple[ConceptPair, ...]

    @property
    def labels(self) -> dict[str, str]:
        """Id to label of categories, types and identities."""
        found: dict[str, str] = {}
        for category in self.categories:
            found[category.id] = category.label
            for at, one in enumerate(category.types, start=1):
                found[one.id] = f"{category.label} {at}"
                found.update({item.identity: item.label for item in one.descriptors})
        return found

    @property
    def type_labels(self) -> dict[str, str]:
        """What reports call the types, by what the estimates call them: Gender 1, say."""
        return {
            self.labels[one.id]: f"{category.label}: {one.label}"
            for category in self.categories for one in category.types
        }  # fmt: skip


def load_descriptors(
    path: str | Path | None = None,
    categories: Sequence[str] = (),
    language: Language | None = None,
) -> tuple[Category, ...]:
    """The categories of a file, or the built-in ones of a language; only those named, if any are.

    Raises:
        InputError: with every fault of the file, or an unknown category.
    """
    found = one_file(
        path, PACKAGE, "descriptors.yaml", Descriptors, language=language, option="descriptors"
    ).categories
    return chosen(found, categories, "category")


def load_pairs(
    files: Sequence[str | Path] = (), *, replaces: bool = False, language: Language | None = None
) -> tuple[ConceptPair, ...]:
    """The built-in concept pairs and those of the files.

    Args:
        files: YAML files, folders of them, or JSON lines (one pair a line), for large sets.
        replaces: leave the built-in ones out.
        language: of all of them; English where none is named. JSON lines say none.

    Raises:
        InputError: with every fault of every file; an id that stands twice; no pair at all.
    """
    paths = [Path(entry).expanduser() for entry in files]
    yaml = [path for path in paths if path.is_dir() or path.suffix in SUFFIXES]
    lines = [path for path in paths if path not in yaml]
    read = CONCEPTS.read(yaml, replaces=replaces, may_be_none=bool(lines), language=language)
    pairs = [(pair, one.id) for one in read for pair in one.pairs]
    pairs += [(pair, str(path)) for path in lines for pair in read_pair_lines(path)]
    refuse_doubles([(pair.id, where) for pair, where in pairs], "concept pair")
    return tuple(pair for pair, _ in pairs)


def read_pair_lines(path: Path) -> list[ConceptPair]:
    """The pairs of a file of JSON lines.

    Raises:
        InputError: a file that cannot be read; with every faulty line.
    """
    pairs: list[ConceptPair] = []
    faults: list[InputFault] = []
    try:
        with path.open(encoding="utf-8-sig") as stream:
            for number, line in enumerate(stream, start=1):
                if not line.strip():
                    continue
                where = f"{path}:{number}"
                try:
                    pairs.append(ConceptPair.model_validate(json.loads(line)))
                except FieldError as error:
                    faults += faults_of(error, where)
                except ValueError as error:
                    faults.append(InputFault(where, f"must be a JSON object: {error}"))
                if len(faults) > SHOWN_FAULTS:
                    break
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([InputFault(str(path), f"cannot be read: {error}")]) from error
    if faults:
        raise InputError(faults)
    return pairs
