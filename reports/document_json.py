"""A document as plain data for JSON: what is shown, with every figure behind it."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from ..aggregation.estimate import Estimate
from .document import (
    Cell,
    Chart,
    Document,
    Excerpts,
    Figure,
    Paragraph,
    Part,
    Points,
    Records,
    Table,
    Tiles,
)


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
        case Figure():
            return {"kind": "figure", "name": part.path.stem, "title": part.title}
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
