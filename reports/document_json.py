"""A document as plain data for JSON: what is shown, with every figure behind it.

`Result` describes what `--json` of every command writes; its JSON Schema stands beside this file.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from ..aggregation.estimate import Estimate
from .document import (
    Cell,
    Chart,
    Document,
    Excerpts,
    Paragraph,
    Part,
    Points,
    Records,
    Table,
    Tiles,
)


class _Shown(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ParagraphPart(_Shown):
    """A paragraph."""

    kind: Literal["paragraph"]
    text: str


class PointsPart(_Shown):
    """A list of sentences."""

    kind: Literal["points"]
    items: list[str]


class OneTile(_Shown):
    """A figure that is shown first: its label, the figure, a word beside it."""

    label: str
    value: str
    note: str


class TilesPart(_Shown):
    """Such figures."""

    kind: Literal["tiles"]
    tiles: list[OneTile]


class EstimateValue(_Shown):
    """A figure; fields that only some have, from `n_planned` on, are left out where not known."""

    value: float | None = Field(description="null where it is undefined; `reason` says why")
    low: float | None
    high: float | None
    n: int
    unit: str
    method: str
    level: float | None
    reason: str | None
    n_planned: int | None = None
    se: float | None = None
    universe: Literal["this panel", "judges like these"] | None = None
    p: float | None = None
    p_adjusted: float | None = None
    p_method: str | None = None
    family: str | None = None
    verdict: str | None = None


class TablePart(_Shown):
    """A table; totals stand last."""

    kind: Literal["table"]
    label: str
    caption: str
    columns: list[str]
    rows: list[list[str | int | float | EstimateValue | None]]
    notes: list[str]


class PicturePart(_Shown):
    """A picture, which JSON does not hold: its name among the files of figures/."""

    kind: Literal["chart", "figure"]
    name: str
    title: str


class RecordsPart(_Shown):
    """A long table that stands in a file of the folder."""

    kind: Literal["records"]
    label: str
    rows: int
    file: str


class OneExcerpt(_Shown):
    """How a text begins: who wrote it, its score, a judge's reason."""

    who: str
    figure: str
    text: str
    reason: str
    by: str


class ExcerptsPart(_Shown):
    """Beginnings of texts that answer the same."""

    kind: Literal["excerpts"]
    title: str
    note: str
    sides: list[OneExcerpt]


class OneSection(_Shown):
    """A part with a heading."""

    name: str
    title: str
    audience: Literal["summary", "detail", "appendix"]
    parts: list[
        Annotated[
            ParagraphPart
            | PointsPart
            | TilesPart
            | TablePart
            | PicturePart
            | RecordsPart
            | ExcerptsPart,
            Field(discriminator="kind"),
        ]
    ]


class Result(_Shown):
    """What `--json` writes: what is shown, every estimate, and what it cost."""

    title: str
    kind: str = Field(description="which result it is: panel, stress, calibration, …")
    demonstration: bool = Field(description="whether an embedded stand-in had a part in it")
    headline: list[str] = Field(description="the answer, in sentences; empty where there is none")
    trust: dict[str, str] = Field(description="why it can be trusted: a word to its sentence")
    state: str = Field(description="how it ended, where that is worth a sentence")
    notices: list[str]
    sections: list[OneSection]
    estimates: list[dict[str, Any]] = Field(
        description="every figure with the columns of estimates.csv; what is missing is left out, "
        "but for `value`. Empty where a command has none"
    )
    place: str | None = Field(default=None, description="the folder or file where the result is")
    cost: dict[str, Any] | None = Field(default=None, description="as in run.json")


def to_json(document: Document) -> dict[str, Any]:
    """The document; undefined figures are null, an `Estimate` is an object of its fields."""
    return {
        "title": document.title,
        "kind": document.kind,
        "demonstration": document.is_demonstration,
        "headline": list(document.headline),
        "trust": dict(document.trust),
        "state": document.state,
        "notices": list(document.notices),
        "sections": [
            {
                "name": section.name,
                "title": section.title,
                "audience": section.audience,
                "parts": [_part(part) for part in section.parts],
            }
            for section in document.sections
        ],
    }


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Paragraph():
            return {"kind": "paragraph", "text": part.text}
        case Points():
            return {"kind": "points", "items": [" ".join(filter(None, i)) for i in part.items]}
        case Tiles():
            tiles = [{"label": t.label, "value": t.value, "note": t.note} for t in part.tiles]
            return {"kind": "tiles", "tiles": tiles}
        case Table():
            return {
                "kind": "table",
                "label": part.label,
                "caption": part.caption,
                "columns": [column.title for column in part.columns],
                "rows": [[_plain(cell) for cell in row] for row in (*part.rows, *part.foot)],
                "notes": list(part.notes),
            }
        case Chart():
            return {"kind": "chart", "name": part.name, "title": part.title}
        case Excerpts():
            return {
                "kind": "excerpts",
                "title": part.title,
                "note": part.note,
                "sides": [asdict(side) for side in part.sides],
            }
        case Records():
            return {
                "kind": "records",
                "label": part.label,
                "rows": len(part.rows),
                "file": part.file,
            }


def _plain(value: Any) -> Any:
    if isinstance(value, Cell):
        value = value.value
    if isinstance(value, Estimate):
        return value.to_json()
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
