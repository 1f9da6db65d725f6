"""Reports for reading: one self-contained HTML file each."""

from __future__ import annotations

from .comparison import write_comparison
from .frame import Page, write_page
from .parts import (
    Cell,
    Column,
    Entry,
    Figure,
    Paragraph,
    Points,
    Records,
    Section,
    Table,
    Tile,
    Tiles,
    View,
)
from .write import write_report

__all__ = [
    "Cell",
    "Column",
    "Entry",
    "Figure",
    "Page",
    "Paragraph",
    "Points",
    "Records",
    "Section",
    "Table",
    "Tile",
    "Tiles",
    "View",
    "write_comparison",
    "write_page",
    "write_report",
]
