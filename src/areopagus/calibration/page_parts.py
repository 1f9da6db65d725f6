"""Numbers of a calibration as parts of a page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from ..aggregation.estimate import Estimate
from ..formats import said
from ..reports.document import Cell, Column, Paragraph, Part, Scalar, Table
from ..reports.numbers import span

MOST_ROWS: Final = 300
"""Rows of one table; numbers.json holds all of them."""

Row = Sequence[Scalar | Cell]


def value(number: Estimate, *, digits: int = 2) -> Cell:
    """A number, and below it its interval."""
    limits = span(finite(number.low), finite(number.high), digits) if number.has_interval else ""
    return Cell(finite(number.value), note=limits)


def finite(number: float) -> float | None:
    """The number, or None where there is none; a rounded-away minus nought is nought."""
    return number + 0.0 if math.isfinite(number) else None


def reasons(label: str, numbers: Iterable[Estimate]) -> list[Part]:
    """A quiet sentence that says why some of the numbers are missing; nothing where none is."""
    found = sorted({said(one.reason) for one in numbers if not one.is_defined and one.reason})
    return (
        [Paragraph(f"{label}, where it is missing: {'; '.join(found)}.", "quiet")] if found else []
    )


def measures(
    caption: str, label: str, rows: Iterable[tuple[str, Estimate]], digits: int = 2
) -> Table:
    """A table with one number a line: value, interval, what it rests on, why it is missing."""
    return Table(
        caption=caption,
        label=label,
        columns=[
            Column("figure", "id"),
            Column("value", "number", digits),
            Column("n", "count"),
            Column("unit"),
            Column("note", "wide"),
        ],
        rows=[
            [name, value(one, digits=digits), one.n, one.unit, said(one.reason)]
            for name, one in rows
        ],
    )


def cut(rows: Sequence[Row], what: str) -> tuple[Sequence[Row], list[Part]]:
    """The first rows of a table, and a sentence about those left out."""
    left = len(rows) - MOST_ROWS
    if left <= 0:
        return rows, []
    told = f"The first {MOST_ROWS:,} of {len(rows):,} {what}; numbers.json holds all of them."
    return rows[:MOST_ROWS], [Paragraph(told, "quiet")]
