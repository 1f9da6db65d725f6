"""What a framing is: the conversational pressure under which a question is asked once more."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from ...documents import document_hash

PLACEHOLDER = "REPLACE THIS TEXT"
"""Stands in the instruction of a scaffold; a framing that still contains it is refused."""

RESERVED_IDS = frozenset({"baseline", "rationale", "abstained"})
"""Ids that a condition of a study, or a key of a reply, has already."""

SLUG = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"

_PLACES = re.compile(r"\{(.*?)\}")


def _free_id(name: str) -> str:
    if name in RESERVED_IDS:
        raise ValueError(f"must not be one of {', '.join(sorted(RESERVED_IDS))}")
    return name


def _written_instruction(instruction: str) -> str:
    if PLACEHOLDER in instruction:
        raise ValueError(
            f"must say how to rewrite: the scaffold's {PLACEHOLDER} still stands there"
        )
    return instruction


def _usable_term(term: str) -> str:
    """The term. Texts are compared in lower case with single spaces and plain apostrophes, so that
    a term in any other form would never be found.
    """
    if term != " ".join(term.lower().replace("’", "'").split()):
        raise ValueError("must be in lower case with single spaces and plain apostrophes")
    if not term or len(term) > 60:
        raise ValueError("must be a word or a phrase of at most 60 characters")
    return term


def _usable_template(template: str) -> str:
    places = _PLACES.findall(template)
    if places.count("question") != 1 or set(places) - {"question", "topic"}:
        raise ValueError("must hold {question} once, and no other place than {topic}")
    return template


Slug = Annotated[str, StringConstraints(pattern=SLUG, max_length=40)]
FramingId = Annotated[Slug, AfterValidator(_free_id)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Paragraph = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
Term = Annotated[str, AfterValidator(_usable_term)]
Instruction = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=20, max_length=4000),
    AfterValidator(_written_instruction),
]
Template = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1000),
    AfterValidator(_usable_template),
]


class Marker(BaseModel):
    """Words of which an English variant must hold at least one, and what they would show."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shows: Line = Field(description="What the words show: that a friend is mentioned.")
    any_of: tuple[Term, ...] = Field(
        min_length=1,
        max_length=500,
        description="English words and phrases in lower case; a sign such as ! is a word too.",
    )


class Framing(BaseModel):
    """A way in which a person would put a question under pressure, told to whoever rewrites it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: FramingId = Field(
        description="Lower-case name, the condition's name in every table; the file is <id>.yaml."
    )
    label: Line = Field(description="The framing as a noun phrase: Something a friend said.")
    group: Slug = Field(
        description="The group it is reported with: empirical, emotion, or one of your own."
    )
    instruction: Instruction = Field(
        description="What a rewriter is told about this framing, and a reviewer checks."
    )
    opposite: FramingId | None = Field(
        default=None,
        description="Id of the framing whose side is the contrary one; it must point back.",
    )
    speaker: Slug = Field(
        default="self", description="Whose view it is: self, friend, expert, group …"
    )
    strength: Literal["mild", "strong"] = Field(
        default="mild", description="How strongly the view is held."
    )
    markers: tuple[Marker, ...] = Field(
        default=(),
        max_length=20,
        description="Signs without which an English variant is sent back.",
    )
    stand_in: tuple[Template, ...] = Field(
        default=(),
        max_length=20,
        description="Texts with {question} and {topic} for offline/rewriter; a language model "
        "never sees them. Without one, offline/rewriter cannot write this framing.",
    )
    version: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=32)
    ] = Field(description="Raised when the instruction changes; in quotes.")
    provenance: Paragraph = Field(description="Who wrote it, and from what.")

    @property
    def sha256(self) -> str:
        """Hash of the content; recorded with every result."""
        return document_hash(self)
