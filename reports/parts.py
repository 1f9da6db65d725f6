"""What a page is made of: paragraphs, points, tiles, tables, figures, and records with a view each.

All texts are plain text: the page escapes them and shows hidden characters as marked codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

ColumnKind = Literal["text", "wide", "id", "time", "number", "count", "p"]
Scalar = str | int | float | None

SHADES: Final = 8
"""Steps of a cell's shading, 0 the lightest."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: its head.
        kind: "text", "wide" (sentences), "id" (names of responses, models, …), "time" (never
            broken), "number" (with `digits` decimals; None and nan are a dash), "count" (whole) or
            "p" (a p-value); neither "time" nor "p" is for `Records`.
        digits: decimals of a number.
        is_minor: whether `Records` leave it out of print.
    """

    title: str
    kind: ColumnKind = "text"
    digits: int = 2
    is_minor: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether it stands to the right and sorts by size."""
        return self.kind in ("number", "count", "p")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is more than its value.

    Attributes:
        value: what is shown, by the column's kind.
        note: smaller, below it: an interval, a count.
        shade: 0 to `SHADES` - 1, or None.
        record: (name of a `Records` part, row) that the cell opens, or None.
        is_bold: whether it stands out.
    """

    value: Scalar
    note: str = ""
    shade: int | None = None
    record: tuple[str, int] | None = None
    is_bold: bool = False


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph; "notice" is a framed one, "heading" a heading within the section."""

    text: str
    kind: Literal["plain", "quiet", "notice", "heading"] = "plain"


@dataclass(frozen=True, slots=True)
class Points:
    """A list; each item is (what stands first in bold, or "", and the sentence)."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure that a reader should see first: its label, the figure, a word beside it."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles in a row."""

    tiles: Sequence[Tile]


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose columns a reader can sort by.

    Attributes:
        caption: what it holds and how it is read, one or two sentences.
        label: its short name, for screen readers.
        columns: one for each cell of a row.
        rows: cells; the first column is the row's head.
        foot: rows of totals.
        is_short: two or three columns that need not fill the page.
        is_map: cells stand centred with their shading.
    """

    caption: str
    label: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Scalar | Cell]]
    foot: Sequence[Sequence[Scalar | Cell]] = ()
    is_short: bool = False
    is_map: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing of `figure_style.save`, put into the page; where there is none, the page says so.

    Attributes:
        path: the .svg file; where it is missing the page says so.
        title: its heading.
        caption: how it is read.
        described: what it shows, for who cannot see it; the caption when "".
    """

    path: Path
    title: str
    caption: str
    described: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the view of one record shows beside its row.

    Attributes:
        texts: one for each title of `View.texts`; None where it is not known.
        scores: one row for each of `View.judges`, one number for each of `View.scores`.
        remarks: judge's place to why it has no scores.
        rationales: judge's place to what it gave as its reason.
    """

    texts: Sequence[str | None]
    scores: Sequence[Sequence[float | None]]
    remarks: dict[int, str] = field(default_factory=dict)
    rationales: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """The view of each record: texts, and the judges' scores side by side.

    Attributes:
        texts: titles of the texts.
        judge_columns: heads of the columns that say who judged (persona, model, …).
        judges: who judged, one label for each of `judge_columns`.
        scores: heads of the score columns.
        scale: ends of the scale, for shading.
        entries: one for each row of the records, in their order; read once.
    """

    texts: Sequence[str]
    judge_columns: Sequence[str]
    judges: Sequence[Sequence[str]]
    scores: Sequence[str]
    scale: tuple[float, float]
    entries: Iterable[Entry]


@dataclass(frozen=True, slots=True)
class Records:
    """A long table that the page's script sorts, filters and searches, with a view of each row.

    Tens of thousands of rows are carried compressed; the browser draws those in sight only.

    Attributes:
        name: small letters, digits and hyphens, unique in the page; its row 17 is
            reached by "#NAME/17".
        caption, label: see `Table`.
        columns: the first one's cells open the view.
        rows: values, no cells.
        filters: places of the columns that are offered as a choice of their values.
        view: what a row's view shows beside the row itself, or None.
        left_out: rows that the page does not carry.
        file: where all rows stand.
    """

    name: str
    caption: str
    label: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Scalar]]
    filters: Sequence[int] = ()
    view: View | None = None
    left_out: int = 0
    file: str = "the tables in the folder"


Part = Paragraph | Points | Tiles | Table | Figure | Records


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading that the contents list.

    Attributes:
        name: small letters, digits and hyphens, unique in the page: its address "#NAME".
        title: its heading.
        parts: what stands in it, in order.
    """

    name: str
    title: str
    parts: Sequence[Part]
