"""What a persona is: the perspective from which a judge reads a response."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from ..yaml_files import document_hash, reject

PLACEHOLDER = "REPLACE THIS TEXT"
"""Stands in the description of a scaffold; a persona that still contains it is refused."""

SLUG = r"^[a-z][a-z0-9_]{0,63}$"

Slug = Annotated[str, StringConstraints(pattern=SLUG)]
Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Paragraph = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]
LongText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=50_000)]


def _usable_term(term: str) -> str:
    """The lexicon's term. Responses are compared in lower case with single spaces, so that a term
    in any other form would never be found.
    """
    if term != " ".join(term.lower().split()):
        raise ValueError("must be in lower case with single spaces")
    if not re.search(r"\w", term) or len(term) > 60 or term.count(" ") > 4:
        raise ValueError("must be a word or a phrase of at most five words and 60 characters")
    return term


def _written_description(description: str) -> str:
    if PLACEHOLDER in description:
        raise ValueError(
            f"must describe the perspective: the scaffold's {PLACEHOLDER} still stands there"
        )
    return description


Term = Annotated[str, AfterValidator(_usable_term)]
Description = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=20, max_length=4000),
    AfterValidator(_written_description),
]
Weight = Annotated[float, Field(gt=0, le=3, allow_inf_nan=False)]
Band = tuple[
    Annotated[float, Field(allow_inf_nan=False)], Annotated[float, Field(allow_inf_nan=False)]
]


class PersonaExample(BaseModel):
    """A response and the band its scores should fall in; read by `personas check` alone.

    Examples are never shown to a judge: anchoring the panel on them would be a calibration that the
    method leaves out on purpose.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: LongText = Field(description="What was asked.")
    response: LongText = Field(description="The answer to be scored.")
    expect: Mapping[Slug, Band] = Field(
        min_length=1,
        description="A rubric criterion, or overall, to the lowest and highest score expected.",
    )

    @model_validator(mode="after")
    def _bands_are_ordered(self) -> PersonaExample:
        reject(
            "PersonaExample",
            [
                (("expect", name), "must be [lowest, highest] in this order", [low, high])
                for name, (low, high) in self.expect.items()
                if low > high
            ],
        )
        return self


class Persona(BaseModel):
    """A perspective, described in words that a judge can take on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Slug = Field(description="Lower-case name; the file is called <id>.yaml.")
    label: Line = Field(description="The perspective as a noun phrase: Academic Sociologist.")
    axis: Slug = Field(
        description="The group it is averaged with: disciplinary, ideological, or one of your own."
    )
    description: Description = Field(
        description="What a judge is told: what this perspective looks for, what it is wary of, "
        "and what it credits even in conclusions it does not share."
    )
    version: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=32)
    ] = Field(description="Raised when the description changes; in quotes.")
    provenance: Paragraph = Field(description="Who wrote it, and from what.")
    lexicon: Mapping[Term, Weight] = Field(
        default_factory=dict,
        max_length=500,
        description="Word or short phrase to weight, above 0 and at most 3; for the offline judge.",
    )
    examples: tuple[PersonaExample, ...] = Field(
        default=(), max_length=50, description="Responses with expected scores; for personas check."
    )

    @property
    def sha256(self) -> str:
        """Hash of the content; recorded with every result."""
        return document_hash(self)
