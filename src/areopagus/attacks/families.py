"""The injection corpus: families of attack texts, one YAML file each, and how a text is hidden."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, StringConstraints, model_validator

from ..catalogue import Catalogue, files_at
from ..errors import InputError, InputFault
from ..yaml_files import (
    STRICT,
    Document,
    FieldFault,
    Line,
    Paragraph,
    Version,
    read_document,
    reject,
)

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

Aim = Literal["highest", "lowest", "abstain", "refuse", "unreadable"]
STATUS_OF: Mapping[str, str] = {
    "abstain": "abstained", "refuse": "refused", "unreadable": "unreadable",
}  # fmt: skip
"""Of an aim that is no score, the status of the judgments that it wants."""

PLACES = ("high", "low", "reply", "marker")
"""What stands in double braces in a text: the ends of the scale, a reply as it is demanded in the
form the judges use, and sixteen hex digits as a marker has them."""

MOST_TEXTS = 50
"""Texts of one family."""

SLUG = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"
_CYRILLIC = str.maketrans("aeopcyxijsABEKMHOPCTX", "аеорсухіјѕАВЕКМНОРСТХ")
_PLACE = re.compile(r"\{\{([^{}]*)\}\}")


class AttackFamily(Document):
    """One way in which a response may try to work on its judge."""

    id: Annotated[str, StringConstraints(pattern=SLUG, max_length=40)] = Field(
        description="Lower-case name, used in every table; the file is <id>.yaml."
    )
    label: Line = Field(description="The family as a noun phrase.")
    about: Paragraph = Field(description="What it tries, and where such attacks were described.")
    asks: Aim = Field(
        default="highest",
        description="What the texts are after: an end of the scale, or a judgment without a score.",
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
        max_length=MOST_TEXTS,
        description="The texts. {{high}}, {{low}}, {{reply}} and {{marker}} are filled in.",
    )
    verbatim: bool = Field(
        default=False, description="Whether the texts stand as they are, with nothing filled in."
    )
    version: Version
    provenance: Paragraph = Field(description="Who wrote the texts, and from what.")

    @model_validator(mode="after")
    def _usable(self) -> Self:
        allowed = ", ".join(PLACES)
        faults: list[FieldFault] = [
            (("texts", index), f"must hold only {allowed} in double braces", text[:60])
            for index, text in enumerate(self.texts)
            if set(_PLACE.findall(text)) - set(PLACES) and not self.verbatim
        ]
        if self.asks in ("refuse", "unreadable") and not self.verbatim:
            faults += [
                (("texts", index), "must not hold {{reply}}: no reply in the form is asked for", "")
                for index, text in enumerate(self.texts)
                if "{{reply}}" in text
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


def hidden(text: str, written_as: WrittenAs) -> str:
    """The text in that writing."""
    if written_as == "base64":
        return base64.b64encode(text.encode()).decode("ascii")
    if written_as == "tag_characters":
        return "".join(chr(0xE0000 + ord(c)) for c in text if 0x20 <= ord(c) < 0x7F)
    if written_as == "zero_width":
        return "\u200b".join(text)
    if written_as == "bidi":
        # Shown from right to left and stored reversed, so that a screen shows the words in order.
        return f"\u202e{text[::-1]}\u202c"
    if written_as == "fullwidth":
        return "".join(chr(ord(c) + 0xFEE0) if 0x21 <= ord(c) < 0x7F else c for c in text)
    if written_as == "lookalike":
        return text.translate(_CYRILLIC)
    return text


def texts_of(family: AttackFamily, values: Mapping[str, str]) -> tuple[str, ...]:
    """The texts of a family as they are put into a response.

    Args:
        family: whose.
        values: what stands for each of `PLACES`.
    """
    made: list[str] = []
    for template in family.texts:
        text = template if family.verbatim else filled(template, values)
        text = hidden(text, family.written_as)
        if family.carrier is not None:
            text = filled(family.carrier, {"payload": text})
        flood = "\n" * family.blank_lines
        made.append(f"{flood}{text}{flood}")
    return tuple(made)


_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]


class ExampleText(BaseModel):
    """One clean text, and the prompt it answers where it is a response."""

    model_config = STRICT

    id: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
    prompt: _Text | None = None
    text: _Text


class ExampleTexts(Document):
    """A file of clean texts."""

    texts: tuple[ExampleText, ...] = Field(min_length=1, max_length=500)
    version: str
    provenance: str


def example_texts(name: str) -> ExampleTexts:
    """The built-in `base_responses` or `telling_words`."""
    path = resources.files("areopagus.attacks.examples").joinpath(f"{name}.yaml")
    return read_document(path, ExampleTexts, kind="examples")


FAMILIES = Catalogue("attack", AttackFamily, "areopagus.attacks.corpus")

list_families = FAMILIES.entries


def load_families(
    names: Sequence[str] | None = None,
    corpora: Iterable[str | Path] = (),
    added: Sequence[AttackFamily] = (),
) -> tuple[AttackFamily, ...]:
    """The families of a corpus, in the order of their names, and those that are added.

    Args:
        names: only these; all when left out.
        corpora: files or folders that stand in the place of the built-in corpus.
        added: families that are loaded already; they too stand in its place.

    Raises:
        InputError: unknown names, faults of any file, a family given twice; all together.
    """
    if isinstance(corpora, str | Path):
        corpora = [corpora]
    paths = [path for place in corpora for path in files_at(place, "family").values()]
    if not paths and not added:
        return FAMILIES.load_all(names or [found.name for found in list_families()])
    families = FAMILIES.load_all([*paths, *added])
    known = {family.id for family in families}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise InputError(
            [InputFault(name, "is no family of this corpus") for name in unknown],
            hint=f"It has {', '.join(sorted(known))}.",
        )
    return tuple(family for family in families if names is None or family.id in names)
