"""What a family of attacks is: one idea of how a text may work on its judge, in one YAML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from ..yaml_files import Document, FieldFault, Line, Paragraph, Version, reject

Placement = Literal["start", "middle", "end", "instead"]
WrittenAs = Literal[
    "plain",
    "base64",
    "tag_characters",
    "zero_width",
    "bidi",
    "fullwidth",
    "lookalike",
]

PLACES = ("high", "low", "reply", "marker")
"""What stands in double braces in a text: the ends of the scale, a reply of the demanded score in
the form the judges use, and sixteen hex digits as a marker has them."""

SLUG = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"
_PLACE = re.compile(r"\{\{([^{}]*)\}\}")


class AttackFamily(Document):
    """One way in which a response may try to work on its judge."""

    id: Annotated[str, StringConstraints(pattern=SLUG, max_length=40)] = Field(
        description="Lower-case name, used in every table; the file is <id>.yaml."
    )
    label: Line = Field(description="The family as a noun phrase.")
    about: Paragraph = Field(description="What it tries, and where such attacks were described.")
    asks: Literal["highest", "lowest"] = Field(
        default="highest", description="The end of the scale that the texts are after."
    )
    placements: tuple[Placement, ...] = Field(
        default=("start", "middle", "end"),
        min_length=1,
        description="Where a text is put into a response; instead replaces the response.",
    )
    written_as: WrittenAs = Field(
        default="plain", description="How the text is hidden; plain hides nothing."
    )
    carrier: Annotated[str, StringConstraints(max_length=2000)] | None = Field(
        default=None, description="Words around a hidden text, with {{payload}} in its place."
    )
    blank_lines: int = Field(
        default=0, ge=0, le=1000, description="Blank lines before the text, and after it."
    )
    texts: tuple[Annotated[str, StringConstraints(max_length=20_000)], ...] = Field(
        min_length=1,
        max_length=50,
        description="The texts. {{high}}, {{low}}, {{reply}} and {{marker}} are filled in.",
    )
    version: Version
    provenance: Paragraph = Field(description="Who wrote the texts, and from what.")

    @model_validator(mode="after")
    def _usable(self) -> Self:
        faults: list[FieldFault] = [
            (("texts", index), f"must hold only {_shown(PLACES)} in double braces", text[:60])
            for index, text in enumerate(self.texts)
            if set(_PLACE.findall(text)) - set(PLACES)
        ]
        if self.carrier is not None and _PLACE.findall(self.carrier) != ["payload"]:
            faults.append((("carrier",), "must hold {{payload}} once", self.carrier[:60]))
        if len(set(self.placements)) < len(self.placements):
            faults.append((("placements",), "must name each placement once", None))
        reject(type(self).__name__, faults)
        return self


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with every place filled in, in one pass: a value is not looked through again."""
    return _PLACE.sub(lambda match: values.get(match[1], match[0]), text)


def _shown(names: tuple[str, ...]) -> str:
    return ", ".join(names)
