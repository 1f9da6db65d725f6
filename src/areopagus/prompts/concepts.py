"""Normative concepts: named tensions, with passages that state them, quoted by the user."""

from __future__ import annotations

import re
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..yaml_files import read_document, reject
from .scenarios import CONCEPTS, Funnel, FunnelStep, Scenario, any_of

Text = Annotated[str, Field(min_length=1, max_length=4000)]
Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=80)]


class Passage(BaseModel):
    """Words of a document, verbatim, and which document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Text
    source: Text


class Concept(BaseModel):
    """One concept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Identifier
    name: Text
    passages: tuple[Passage, ...] = Field(
        default=(), description="quoted by the user; a concept without one is left out, and counted"
    )
    interpretation: str = Field(default="", max_length=4000, description="what is at stake")

    @property
    def is_complete(self) -> bool:
        """Whether there is something to make prompts from."""
        return bool(self.passages) and bool(self.interpretation.strip())


class Theme(BaseModel):
    """A thematic group of concepts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Identifier
    name: Text
    concepts: tuple[Concept, ...] = Field(min_length=1)


class ConceptFile(BaseModel):
    """A file of concepts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    themes: tuple[Theme, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct_ids(self) -> ConceptFile:
        seen: dict[str, str] = {}
        faults: list[tuple[tuple[str | int, ...], str, object]] = []
        for place, theme in enumerate(self.themes):
            for number, concept in enumerate(theme.concepts):
                where = ("themes", place, "concepts", number, "id")
                if concept.id in seen:
                    faults.append((where, f"stands under {seen[concept.id]} too", concept.id))
                seen.setdefault(concept.id, theme.id)
        reject("ConceptFile", faults)
        return self


class TechnologyTerms(BaseModel):
    """Words by which a prompt is taken to be about technology."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    terms: tuple[Text, ...] = Field(min_length=1)

    def pattern(self) -> re.Pattern[str]:
        """One pattern for all of them; a hyphen may stand for a space."""
        return any_of(self.terms, gap=r"[\s-]+")


def load_technology_terms(path: str | Path | None = None) -> TechnologyTerms:
    """The words of a file; those of this package when left out.

    Raises:
        InputError: with every fault of the file.
    """
    own = files("areopagus.prompts").joinpath("lists", "technology.yaml")
    return read_document(own if path is None else path, TechnologyTerms, kind="word list")


def load_paper_concepts() -> ConceptFile:
    """The twelve concepts of the paper's Table 2 by name, in its three groups, without quotes."""
    return read_document(
        files("areopagus.prompts").joinpath("lists", "concepts.yaml"),
        ConceptFile,
        kind="concept file",
    )


def read_concepts(path: str | Path) -> tuple[list[Scenario], Funnel]:
    """The scenarios of a file of concepts, in its order, and what was left out.

    Raises:
        InputError: with every fault of the file.
    """
    found = read_document(path, ConceptFile, kind="concept file")
    rows: list[Scenario] = []
    bare: list[str] = []
    groups: Counter[str] = Counter()
    for theme in found.themes:
        for concept in theme.concepts:
            if not concept.is_complete:
                bare.append(concept.name)
                continue
            groups[theme.name] += 1
            rows.append(_scenario(theme, concept, Path(path).name))
    total = len(rows) + len(bare)
    notes = []
    if bare:
        notes.append(
            f"left out, for want of a passage or an interpretation: {', '.join(bare)}; the "
            "passages are yours to quote"
        )
    known = {concept.id for theme in load_paper_concepts().themes for concept in theme.concepts}
    own = [row.scenario_id.removeprefix("concept-") for row in rows]
    further = [name for name in own if name not in known]
    if further:
        notes.append(f"not among the paper's twelve: {', '.join(further)}")
    steps = (
        FunnelStep("concepts", total),
        FunnelStep("with a passage and an interpretation", len(rows)),
    )
    return rows, Funnel("concept", total, (), steps, (12, 12), dict(groups), tuple(notes))


def _scenario(theme: Theme, concept: Concept, file: str) -> Scenario:
    lines = [
        f"Concept: {concept.name}",
        f"Theme: {theme.name}",
        f"Interpretation: {' '.join(concept.interpretation.split())}",
    ]
    lines += [
        f"Passage {number} ({' '.join(passage.source.split())}): {' '.join(passage.text.split())}"
        for number, passage in enumerate(concept.passages, start=1)
    ]
    return Scenario(
        scenario_id=f"concept-{concept.id}",
        source=CONCEPTS,
        stratum=concept.name,
        text="\n".join(lines),
        provenance={
            "source_file": file,
            "source_line": "",
            "source_id": concept.id,
            "source_group": theme.id,
        },
    )
