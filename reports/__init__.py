"""Reports for reading: one self-contained HTML file each."""

from __future__ import annotations

from .document import (
    Cell,
    Chart,
    Column,
    Document,
    Entry,
    Excerpt,
    Excerpts,
    Paragraph,
    Points,
    Records,
    Section,
    SideBySide,
    Table,
    Tile,
    Tiles,
    View,
)
from .html import write_html

__all__ = [
    "Cell",
    "Chart",
    "Column",
    "Document",
    "Entry",
    "Excerpt",
    "Excerpts",
    "Paragraph",
    "Points",
    "Records",
    "Section",
    "SideBySide",
    "Table",
    "Tile",
    "Tiles",
    "View",
    "write_html",
]
