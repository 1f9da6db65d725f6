"""`Persona`: the perspective from which a judge reads a response; built in and from files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, model_validator

from ..catalogue import PLACEHOLDER, STILL_A_SCAFFOLD, Catalogue
from ..yaml_files import STRICT, Document, Line, Paragraph, Slug, Version, reject

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
        raise ValueError(f"must describe the perspective: {STILL_A_SCAFFOLD}")
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

    model_config = STRICT

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


class Persona(Document):
    """A perspective, described in words that a judge can take on."""

    id: Slug = Field(description="Lower-case name; the file is called <id>.yaml.")
    label: Line = Field(description="The perspective as a noun phrase: Academic Sociologist.")
    axis: Slug = Field(
        description="The group it is averaged with: disciplinary, ideological, or one of your own."
    )
    description: Description = Field(
        description="What a judge is told: what this perspective looks for, what it is wary of, "
        "and what it credits even in conclusions it does not share."
    )
    version: Version = Field(description="Raised when the description changes; in quotes.")
    provenance: Paragraph = Field(description="Who wrote it, and from what.")
    lexicon: Mapping[Term, Weight] = Field(
        default_factory=dict,
        max_length=500,
        description="Word or short phrase to weight, above 0 and at most 3; for the offline judge.",
    )
    examples: tuple[PersonaExample, ...] = Field(
        default=(), max_length=50, description="Responses with expected scores; for personas check."
    )

    def __repr__(self) -> str:
        return f"Persona({self.id!r}, {self.axis}, version {self.version})"


BUILTIN: tuple[str, ...] = (
    "sociologist",
    "moral_philosopher",
    "historian",
    "political_scientist",
    "ethicist",
    "conservative_social_theorist",
    "communitarian_ethicist",
    "libertarian_ethicist",
    "conservative_historian",
    "progressive_social_theorist",
)
"""The ten built-in personas in the order of the panel: five disciplinary, five ideological."""

_SCAFFOLD = """\
# yaml-language-server: $schema={schema}
# A persona: one file, one perspective. The file's name without its ending is the id.
# See what a judge would be told:   areopagus personas show PATH
# See whether the file is in order: areopagus personas check PATH
id: {id}

# The perspective as a noun phrase. A judge reads it as "Your perspective: <label>".
label: {label}

# The group it is averaged with: disciplinary, ideological, or a word of your own.
axis: disciplinary

# What a judge is told, in 60 to 120 words. Say
#   - what this perspective looks for in good reasoning,
#   - what it is wary of,
#   - what it credits even where it does not share the conclusion.
# Ask for quality of thought seen through this lens, never for agreement with its politics.
description: >-
  {placeholder}: what this perspective looks for, what it is wary of, and what it
  credits even in conclusions that it does not share.

# Raise it when the description changes. Keep the quotes: 1.10 without them is the number 1.1.
version: "1"

# Who wrote it, and from what.
provenance: written for this study

# Optional. Words that this perspective listens for, with a weight above 0 and at most 3.
# Only the offline judge reads them; a language model never sees them.
# lexicon:
#   trade-off: 1.5
#   long run: 1.0

# Optional. Answers with the scores you expect, as [lowest, highest]. Only `personas check`
# reads them; a judge never sees them.
# examples:
#   - prompt: Should voting be compulsory?
#     response: Yes, obviously.
#     expect:
#       overall: [1, 4]
"""


PERSONAS = Catalogue("persona", Persona, "areopagus.personas", BUILTIN, scaffold=_SCAFFOLD)

load_persona = PERSONAS.load
load_personas = PERSONAS.load_all
list_personas = PERSONAS.entries
read_persona_files = PERSONAS.read
scaffold = PERSONAS.new_text
