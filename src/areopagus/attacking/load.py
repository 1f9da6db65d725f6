"""The injection corpus and the texts it is tried on, read from files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from ..catalogue import Catalogue, files_at
from ..errors import InputError, InputFault
from ..yaml_files import STRICT, Document, read_document
from .family import AttackFamily

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
    path = resources.files("areopagus.attacking.examples").joinpath(f"{name}.yaml")
    return read_document(path, ExampleTexts, kind="examples")


FAMILIES = Catalogue("attack", AttackFamily, "areopagus.attacking.corpus")

list_families = FAMILIES.entries


def load_families(
    names: Sequence[str] | None = None, corpora: Iterable[str | Path] = ()
) -> tuple[AttackFamily, ...]:
    """The families of a corpus, in the order of their names.

    Args:
        names: only these; all when left out.
        corpora: files or folders that stand in the place of the built-in corpus.

    Raises:
        InputError: unknown names, faults of any file, a family given twice; all together.
    """
    if isinstance(corpora, str | Path):
        corpora = [corpora]
    paths = [path for place in corpora for path in files_at(place, "family").values()]
    if not paths:
        return FAMILIES.load_all(names or [found.name for found in list_families()])
    families = FAMILIES.load_all(paths)
    known = {family.id for family in families}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise InputError(
            [InputFault(name, "is no family of this corpus") for name in unknown],
            hint=f"It has {', '.join(sorted(known))}.",
        )
    return tuple(family for family in families if names is None or family.id in names)
