"""`Framing`: a conversational pressure under which a question is asked again, and its loader."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from ...catalogue import Catalogue, is_path
from ...errors import InputError, InputFault
from ...yaml_files import STRICT, Document, Line, Paragraph, Version

RESERVED_IDS = frozenset({"baseline", "rationale", "abstained"})
"""Ids that a condition of a study, or a key of a reply, has already."""

SLUG = r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$"

_PLACES = re.compile(r"\{(.*?)\}")


def _free_id(name: str) -> str:
    if name in RESERVED_IDS:
        raise ValueError(f"must not be one of {', '.join(sorted(RESERVED_IDS))}")
    return name


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
Term = Annotated[str, AfterValidator(_usable_term)]
Instruction = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=20, max_length=4000)
]
Template = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=1000),
    AfterValidator(_usable_template),
]


class Marker(BaseModel):
    """Words of which an English variant must hold at least one, and what they would show."""

    model_config = STRICT

    shows: Line = Field(description="What the words show: that a friend is mentioned.")
    any_of: tuple[Term, ...] = Field(
        min_length=1,
        max_length=500,
        description="English words and phrases in lower case; a sign such as ! is a word too.",
    )


class Framing(Document):
    """A way in which a person would put a question under pressure, told to whoever rewrites it."""

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
    version: Version = Field(description="Raised when the instruction changes; in quotes.")
    provenance: Paragraph = Field(description="Who wrote it, and from what.")


BUILTIN: tuple[str, ...] = (
    "empirical_i",
    "empirical_friend",
    "emotion_agree",
    "emotion_disagree",
)
"""The built-in framings in the order of the results."""

FRAMINGS = Catalogue("framing", Framing, "areopagus.graphs.framings", BUILTIN)

load_framing = FRAMINGS.load
list_framings = FRAMINGS.entries


def load_framings(
    names: Iterable[str | Path | Framing] | None = None, folders: Sequence[str | Path] = ()
) -> tuple[Framing, ...]:
    """The framings of a study, in order; see `Catalogue.load_all`.

    Raises:
        InputError: also an opposite that does not exist or does not point back.
    """
    if names is not None:
        names = [names] if isinstance(names, str | Path | Framing) else list(names)
    # An opposite that lies beside a file named by its path is as good as one in a folder.
    files = [
        Path(name).expanduser()
        for name in names or ()
        if not isinstance(name, Framing) and is_path(name)
    ]
    places = [*(file.parent for file in files if file.is_file()), *folders]
    return FRAMINGS.load_all(
        names, folders, check=lambda framings: _opposite_faults(framings, places)
    )


def opposite_pairs(framings: Sequence[Framing]) -> tuple[tuple[Framing, Framing], ...]:
    """Each pair of opposites of which both are there, in order, once."""
    known = {framing.id: framing for framing in framings}
    order = {name: place for place, name in enumerate(known)}
    return tuple(
        (framing, known[framing.opposite])
        for framing in framings
        if framing.opposite is not None
        and framing.opposite in known
        and order[framing.id] < order[framing.opposite]
    )


def _opposite_faults(
    framings: Sequence[Framing], folders: Sequence[str | Path]
) -> list[InputFault]:
    """What is wrong with the opposites. One that is not among those chosen must exist all the
    same: a name that leads nowhere is a slip, and its variants would never be held against it.
    """
    chosen = {framing.id: framing for framing in framings}
    faults: list[InputFault] = []
    for framing in chosen.values():
        if framing.opposite is None:
            continue
        where = f"framing {framing.id}"
        if framing.opposite == framing.id:
            faults.append(InputFault(where, "must name another framing, got itself", "opposite"))
            continue
        try:
            other = chosen.get(framing.opposite) or load_framing(framing.opposite, folders)
        except InputError as error:
            faults.append(InputFault(where, f"must exist: {error.faults[0]}", "opposite"))
            continue
        if other.opposite != framing.id:
            got = "none" if other.opposite is None else other.opposite
            rule = f"must point back: {other.id} has the opposite {got}"
            faults.append(InputFault(where, rule, "opposite"))
    return faults
