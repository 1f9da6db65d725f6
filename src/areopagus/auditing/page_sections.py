"""The parts of an audit's report page that every audit has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..audits.definition import ANSWER_STATUSES
from ..reports.document import Cell, Column, Figure, Scalar, Section, Table


def askings_section(counts: Mapping[str, Mapping[str, int]]) -> Section:
    """What became of the askings, by target."""
    used = [name for name in ANSWER_STATUSES if any(found.get(name) for found in counts.values())]
    columns = [Column("target", "id"), Column("planned", "count")]
    columns += [Column(name.replace("_", " "), "count") for name in used]
    rows: list[list[Scalar | Cell]] = [
        [name, sum(found.values()), *(found.get(status, 0) for status in used)]
        for name, found in counts.items()
    ]
    caption = "Planned askings by target and by what became of them."
    title = "What became of the askings"
    return Section("askings", title, [Table(caption, "Askings by status", columns, rows)])


def pictures_section(folder: Path, pictures: Sequence[tuple[str, str]]) -> Section:
    """The drawings, each with its caption."""
    parts = []
    for name, caption in pictures:
        title, _, rest = caption.partition(". ")
        parts.append(Figure(folder / f"{name}.svg", title, rest, caption))
    return Section("figures", "Figures", parts)
