"""`Rubric`: the criteria a response is scored on, and the scale; built in and from files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from ..catalogue import PLACEHOLDER, STILL_A_SCAFFOLD, Catalogue
from ..yaml_files import STRICT, Document, FieldFault, Line, Paragraph, Slug, Version, reject

MAX_SPAN = 100
"""Largest distance between the ends of a scale."""

RESERVED_STARTS = ("axis_", "model_", "persona_", "input_", "composite_")
"""Columns of the results begin so, too."""

RESERVED_IDS: frozenset[str] = frozenset(
    {
        "overall",
        "interval_method",
        "interval_reason",
        "n_abstained",
        "n_failed",
        "n_not_asked",
        "n_refused",
        "n_unreadable",
        "composite",
        "score",
        "scores",
        "verdict",
        "abstained",
        "rationale",
        "status",
        "reason",
        "detail",
        "flags",
        "response_id",
        "prompt_id",
        "respondent_id",
        "prompt_text",
        "prompt_text_id",
        "response_text",
        "persona",
        "personas",
        "axis",
        "model",
        "models",
        "backend",
        "judge",
        "judge_model",
        "perspective_id",
        "repeat",
        "repeats",
        "mode",
        "score_mode",
        "structured",
        "answered_by",
        "unbalanced",
        "repaired",
        "calls",
        "attempts",
        "from_ledger",
        "input_tokens",
        "cached_input_tokens",
        "output_tokens",
        "reasoning_tokens",
        "cost_usd",
        "ledger_key",
        "n_planned",
        "n_scored",
        "share_abstained",
        "mean",
        "median",
        "trimmed_mean",
        "sd",
        "interval",
        "interval_low",
        "interval_high",
        "disagreement",
        "inconclusive",
        "quorum",
        "rank",
    }
)
"""Names that a dimension may not take: each is a column of the results, or a key of a reply."""

OfflineFamily = Literal["clarity", "evidence", "relevance", "plurality", "soundness"]


def _score_key(key: object) -> object:
    """The key of an anchor as pydantic may read it; int() would also take " 2", "02" and "1_0",
    so that two keys could fall on one score.
    """
    if isinstance(key, str) and not re.fullmatch(r"-?(0|[1-9][0-9]{0,5})", key):
        raise ValueError("must be a whole number")
    return int(key) if isinstance(key, str) else key


Anchors = Mapping[Annotated[int, BeforeValidator(_score_key)], Paragraph]


class Scale(BaseModel):
    """Whole numbers from `low` to `high`, both included."""

    model_config = STRICT

    low: int = Field(ge=-1000, le=1000, description="The worst score.")
    high: int = Field(ge=-1000, le=1000, description="The best score.")

    @model_validator(mode="after")
    def _ends_are_ordered(self) -> Scale:
        faults: list[FieldFault] = []
        if self.low >= self.high:
            faults.append((("high",), f"must be greater than low ({self.low})", self.high))
        elif self.high - self.low > MAX_SPAN:
            faults.append((("high",), f"must be at most {MAX_SPAN} above low", self.high))
        reject("Scale", faults)
        return self

    @property
    def values(self) -> range:
        """Every score there is, lowest first."""
        return range(self.low, self.high + 1)


class Dimension(BaseModel):
    """One criterion; its id names a column of the results."""

    model_config = STRICT

    id: Slug = Field(description="Lower-case name; a key of the judge's reply and a column.")
    label: Line = Field(description="The criterion's name as people read it.")
    definition: Paragraph = Field(description="What the criterion is.")
    question: Paragraph = Field(description="The one question a judge answers with a score.")
    standard: Line | None = Field(
        default=None, description="The critical-thinking standard it comes from."
    )
    offline: OfflineFamily | None = Field(
        default=None, description="The feature family by which the offline judge scores it."
    )
    anchors: Anchors = Field(
        default_factory=dict, description="Score to what a response with this score looks like."
    )


class Rubric(Document):
    """Criteria on one scale, and the sentence that says what they measure."""

    id: Slug = Field(description="Lower-case name; the file is called <id>.yaml.")
    label: Line = Field(description="The rubric's name as people read it.")
    version: Version = Field(description="Raised when a text or the scale changes; in quotes.")
    provenance: Paragraph = Field(description="Who wrote it, and from what.")
    purpose: Paragraph = Field(
        description="One or two sentences that open the judge's instructions."
    )
    scale: Scale = Field(description="The ends of the scale, whole numbers.")
    dimensions: tuple[Dimension, ...] = Field(
        min_length=1, max_length=50, description="The criteria, in the order they are asked in."
    )
    anchors: Anchors = Field(
        default_factory=dict, description="What a score means on every dimension."
    )

    @model_validator(mode="after")
    def _parts_fit_together(self) -> Rubric:
        reject("Rubric", self._faults())
        return self

    def _faults(self) -> Iterator[FieldFault]:
        if PLACEHOLDER in self.purpose:
            yield ("purpose",), f"must say what the scores mean: {STILL_A_SCAFFOLD}", None
        yield from self._anchor_faults((), self.anchors)
        first: dict[str, int] = {}
        for place, dimension in enumerate(self.dimensions):
            at: tuple[str | int, ...] = ("dimensions", place)
            if dimension.id in RESERVED_IDS or dimension.id.startswith(RESERVED_STARTS):
                rule = "must not be a name that the results use themselves"
                yield (*at, "id"), rule, dimension.id
            if dimension.id in first:
                rule = f"must differ from the id of dimensions[{first[dimension.id]}]"
                yield (*at, "id"), rule, dimension.id
            base = dimension.id.removesuffix("_low").removesuffix("_high")
            if base != dimension.id and base in self.dimension_ids:
                yield (*at, "id"), f"must not be {base} with _low or _high added", dimension.id
            first.setdefault(dimension.id, place)
            for name in ("definition", "question"):
                if PLACEHOLDER in getattr(dimension, name):
                    yield (*at, name), f"must be written: {STILL_A_SCAFFOLD}", None
            yield from self._anchor_faults(at, dimension.anchors)

    def _anchor_faults(
        self, at: tuple[str | int, ...], anchors: Mapping[int, str]
    ) -> Iterator[FieldFault]:
        for score in anchors:
            if score not in self.scale.values:
                rule = f"must be a score from {self.scale.low} to {self.scale.high}"
                yield (*at, "anchors", str(score), "[key]"), rule, score

    def __repr__(self) -> str:
        scale = f"{self.scale.low} to {self.scale.high}"
        return f"Rubric({self.id!r}, {', '.join(self.dimension_ids)}; {scale})"

    @property
    def dimension_ids(self) -> tuple[str, ...]:
        """The ids of the dimensions, in order."""
        return tuple(dimension.id for dimension in self.dimensions)


DEFAULT = "critical_thinking"
"""The built-in rubric: five dimensions on a scale from 1 to 10."""

_SCAFFOLD = """\
# yaml-language-server: $schema={schema}
# A rubric: what a response is scored on. The file's name without its ending is the id.
# See what a judge would read:      areopagus rubrics show PATH
# See whether the file is in order: areopagus rubrics check PATH
# Score with it:                    areopagus score RESPONSES --rubric PATH
id: {id}

# The rubric's name, as people read it.
label: {label}

# Raise it when a text or the scale changes. Keep the quotes: 1.10 without them is the number 1.1.
version: "1"

# Who wrote it, and from what.
provenance: written for this study

# One or two sentences that open the judge's instructions: what the scores say, and what not.
purpose: >-
  {placeholder}: what the scores of this rubric say about a response, and what they leave aside.

# Whole numbers; high is good.
scale:
  low: 1
  high: 10

# One to fifty criteria. Each is a score of its own, and a column of the results.
dimensions:
  - id: first_criterion
    label: First criterion
    # What the criterion is, and what is easily taken for it and is not.
    definition: >-
      {placeholder}: what this criterion is.
    # The one question that a judge answers with a score.
    question: >-
      {placeholder}: a question about the response?
    # Optional. Score to what a response with this score looks like.
    # anchors:
    #   2: Claims stand alone.
    #   8: Each claim has a reason that can be examined.
    # Optional. What the offline judge counts for it: clarity, evidence, relevance, plurality or
    # soundness. A language model never sees it.
    # offline: clarity

  - id: second_criterion
    label: Second criterion
    definition: >-
      {placeholder}: what this criterion is.
    question: >-
      {placeholder}: a question about the response?
"""

RUBRICS = Catalogue("rubric", Rubric, "areopagus.rubrics", scaffold=_SCAFFOLD)

list_rubrics = RUBRICS.entries


def load_rubric(
    name_or_path: str | Path | Rubric = DEFAULT, folders: Sequence[str | Path] = ()
) -> Rubric:
    """One rubric, by name or path; see `Catalogue.load`."""
    return RUBRICS.load(name_or_path, folders)
