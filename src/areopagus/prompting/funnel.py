"""A funnel: how many rows were there, and how many each step left, with nothing lost unsaid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputFault
from ..formats import units
from ..number import item, table

SHOWN_ODD = 20


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """One step: what it keeps, and how many rows are left after it."""

    label: str
    left: int


@dataclass(frozen=True, slots=True)
class Funnel:
    """What became of every row of a source.

    Attributes:
        unit: what a row is.
        n_read: lines that hold something, odd ones included.
        odd: one fault a row that could not be used, with its line; such rows are in no step.
        steps: the first says how many rows could be used; each further one what it left.
        published: the counts of the paper for the whole of the source, in the order of the steps.
        groups: kept rows by name, such as the category.
        notes: what else should be known.
    """

    unit: str
    n_read: int
    odd: tuple[InputFault, ...]
    steps: tuple[FunnelStep, ...]
    published: tuple[int, ...] = ()
    groups: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def counts(self) -> tuple[int, ...]:
        """Rows left after each step, the first count being the usable rows."""
        return tuple(step.left for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "unit": self.unit,
            "n_read": self.n_read,
            "n_odd": len(self.odd),
            "odd": [str(fault) for fault in self.odd],
            "steps": [{"label": step.label, "left": step.left} for step in self.steps],
            "published": list(self.published),
            "groups": dict(self.groups),
            "notes": list(self.notes),
        }


def funnel_lines(funnel: Funnel) -> list[str]:
    """The funnel as a table of at most 80 columns, with what was left out and why."""
    rows: list[Sequence[str]] = []
    before: int | None = None
    for place, step in enumerate(funnel.steps):
        row = [step.label, f"{step.left:,}", "" if before is None else f"{before - step.left:,}"]
        if funnel.published:
            row.append(f"{funnel.published[place]:,}" if place < len(funnel.published) else "")
        rows.append(row)
        before = step.left
    header = ["step", "left", "removed"] + (["paper, whole"] if funnel.published else [])
    lines = [
        f"{units(funnel.n_read, funnel.unit)} read, {len(funnel.odd):,} of them not usable",
        *table(header, rows),
    ]
    if funnel.groups:
        named = ", ".join(f"{name} {n:,}" for name, n in funnel.groups.items())
        lines += item("kept", named)
    for note in funnel.notes:
        lines += item("note", note)
    for fault in funnel.odd[:SHOWN_ODD]:
        lines += item("not usable", str(fault))
    if len(funnel.odd) > SHOWN_ODD:
        lines += item("", f"and {len(funnel.odd) - SHOWN_ODD:,} more; --json writes all of them")
    return lines
