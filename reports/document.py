"""`Document`: what is shown of a result, described once for page, terminal and JSON.

    Document(
        title="Stress test of gpt-4o", kind="stress",
        headline=["gpt-4o degrades when the prompt agrees: +0.74 [0.50, 0.98] points worse."],
        trust=[("coverage", "9,000 of 9,000 judgments scored")],
        sections=[Section("framings", "By framing", [chart, table], audience="summary"), …])

`html.write_html` makes a page of it, `text.render_text` lines of 80 columns, and
`document_json.to_json` plain data. All texts are plain text: the renderers escape them and show
hidden characters as codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from ..aggregation.estimate import Estimate
from ..formats import UNDEFINED, count, number, p_value, percent

ColumnKind = Literal["text", "wide", "id", "time", "number", "percent", "count", "p", "estimate"]
Scalar = str | int | float | Estimate | None

Audience = Literal["summary", "detail", "appendix"]
"""Who reads a section: everybody, at once; who asks for more; who checks how it was done.

A terminal shows the summary, and all of it with --full; a page folds the appendix.
"""

SHADES: Final = 8
"""Steps of a cell's shading, 0 the lightest."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        title: its head.
        kind: "text", "wide" (sentences), "id" (names of responses, models, …), "time" (never
            broken), "number" (with `digits` decimals; None and nan are a dash), "percent" (of a
            share), "count" (whole), "p" (a p-value) or "estimate" (an `Estimate`: its value, with
            its interval); "time", "p", "percent" and "estimate" are not for `Records`.
        digits: decimals of a number.
        is_signed: whether numbers above 0 have a plus.
        is_minor: whether `Records` leave it out of print.
    """

    title: str
    kind: ColumnKind = "text"
    digits: int = 2
    is_signed: bool = False
    is_minor: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether it stands to the right and sorts by size."""
        return self.kind in ("number", "percent", "count", "p", "estimate")

    def shown(self, value: Scalar) -> str | None:
        """A figure as it is written, without its interval; None for what is text already."""
        if not self.is_numeric or isinstance(value, str):
            return None
        if isinstance(value, Estimate):
            value = value.value
        if value is None:
            return UNDEFINED
        if self.kind == "count":
            return count(value)
        if self.kind == "p":
            return p_value(value)
        if self.kind == "percent":
            return percent(value, self.digits)
        return number(value, self.digits, is_signed=self.is_signed)


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
        notes: sentences below it, such as why some rows have no interval.
        is_short: two or three columns that need not fill the page.
        is_map: cells stand centred with their shading.
        bold_says: what it says of a figure to be bold, or in plain text to have a star.
        shade_says: what it says of a figure to be shaded; plain text has no shades.
    """

    caption: str
    label: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Scalar | Cell]]
    foot: Sequence[Sequence[Scalar | Cell]] = ()
    notes: Sequence[str] = ()
    is_short: bool = False
    is_map: bool = False
    bold_says: str = ""
    shade_says: str = ""

    @property
    def page_caption(self) -> str:
        """The caption with what bold figures and shades say."""
        bold = self.bold_says and f"Bold: {self.bold_says}"
        return " ".join(filter(None, (self.caption, self.shade_says, bold)))


ChartKind = Literal["forest", "heatmap", "bars", "strip", "line", "scatter"]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing, by its data; `charts.draw` draws every kind.

    forest    a line a row: markers with whiskers, one a column, upon one axis
    heatmap   rows by columns, each cell's number in it
    bars      a group of bars a row, one bar a column
    strip     how the `points` of each row are spread: a box a row
    line      a line a row over `x`, with a band where there are limits
    scatter   markers at the `points` (x, y) of each row, upon two axes

    Attributes:
        kind: which.
        name: of its file in the folder of pictures, without suffix.
        title: its heading.
        caption: how it is read.
        rows, columns: names of the axes of `values`.
        values: shape (rows, columns), or (facets, rows, columns); nan is not drawn.
        low, high: limits, shaped as values; nan = none.
        low_wide, high_wide: of a second, thinner whisker, such as that of the wider universe.
        facets: titles of several drawings side by side, if there are several.
        x: places of the columns of a line.
        points: the values of each row of a strip; those of a scatter, shape (n, 2) a row, and with
            facets a sequence of such rows a facet. A row of it is drawn hollow where `hollow` names
            it.
        point_labels: shaped as the points of a scatter: what is written beside each, or "".
        links: of a scatter, shape (n, 2, 2) a row: faint lines from one (x, y) to another.
        is_outlined: whether a line goes round the points of each row that is not hollow.
        axis: what is measured, with its unit.
        axis_x: the same of the `x` of a line or a scatter.
        scale: the ends of the axis; left out, what the data need.
        reference: where a line is drawn across, such as 0.
        marks: shape of values: what stands behind the number of a heat map's cell.
        bold_at: size from which a cell of a heat map has a border.
        is_diverging: whether values are differences: numbers have a sign, and a heat map's colours
            part at 0.
        hollow: columns, or rows of a scatter, whose markers are open, such as people among models.
        digits: decimals of its numbers.
        described: what it shows, for who cannot see it; the caption when "".
    """

    kind: ChartKind
    name: str
    title: str
    caption: str
    rows: Sequence[str]
    columns: Sequence[str] = ("",)
    values: Any = ()
    low: Any = None
    high: Any = None
    low_wide: Any = None
    high_wide: Any = None
    facets: Sequence[str] = ()
    x: Sequence[float] = ()
    points: Sequence[Any] = ()
    point_labels: Sequence[Any] = ()
    links: Sequence[Any] = ()
    is_outlined: bool = False
    axis: str = ""
    axis_x: str = ""
    scale: tuple[float, float] | None = None
    reference: float | None = None
    marks: Any = None
    bold_at: float | None = None
    is_diverging: bool = False
    hollow: Sequence[str] = ()
    digits: int = 2
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
class SideBySide:
    """The view of each record: rows of another long table of the page, side by side.

    Attributes:
        records: name of the other table, whose `View` has two texts: what was asked, and an answer.
        rows: places of its rows, for each row of this table; all of them answer the same.
        named, value, low, high: its columns that say who answered, and the figure with its limits.
        has_texts: whether there are texts to search in.
    """

    records: str
    rows: Sequence[Sequence[int]]
    named: int
    value: int
    low: int
    high: int
    has_texts: bool = True


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
        title: place of the column that names a row's view.
        left_out: rows that the page does not carry.
        file: where all rows stand.
    """

    name: str
    caption: str
    label: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Scalar]]
    filters: Sequence[int] = ()
    view: View | SideBySide | None = None
    title: int = 0
    left_out: int = 0
    file: str = "the tables in the folder"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """How a text begins, what it scored, and one reason for that.

    Attributes:
        who: wrote it.
        figure: its score, as it is written.
        text: its beginning; "" where it is not known.
        reason: what a judge said of it, or "".
        by: that judge, and its own score.
    """

    who: str
    figure: str
    text: str = ""
    reason: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Excerpts:
    """Beginnings of texts that answer the same, side by side.

    Attributes:
        title: what they answer.
        note: how far they are apart.
        sides: one each.
        record: (name of a `Records` part, row) that has all of it, or None.
    """

    title: str
    note: str
    sides: Sequence[Excerpt]
    record: tuple[str, int] | None = None


Part = Paragraph | Points | Tiles | Table | Chart | Records | Excerpts


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document with a heading.

    Attributes:
        name: small letters, digits and hyphens, unique in the page: its address "#NAME".
        title: its heading.
        parts: what stands in it, in order.
        audience: who reads it.
    """

    name: str
    title: str
    parts: Sequence[Part]
    audience: Audience = "detail"


DEMONSTRATION: Final = "embedded stand-ins took part, no language model: no findings."
BY_THIS_PANEL: Final = "By this panel, "
"""What an answer begins with that a panel's scores give."""
IN_DEMONSTRATION: Final = "In this demonstration"


def in_demonstration(sentence: str) -> str:
    """The sentence, which states that it is of a demonstration.

    Its first letter stays as it is where a name may begin with it.
    """
    if IN_DEMONSTRATION.lower() in sentence.lower():
        return sentence
    if sentence.startswith(("Compared with ", "It is ", "It cannot ")):
        return f"{IN_DEMONSTRATION}, {sentence[0].lower()}{sentence[1:]}"
    answer = sentence.removeprefix(BY_THIS_PANEL)
    is_new = answer == sentence and sentence[:1].isupper()
    return f"{IN_DEMONSTRATION}{':' if is_new else ','} {answer}"


@dataclass(frozen=True, slots=True)
class Document:
    """A result, described.

    Attributes:
        title: what it is the result of.
        kind: "panel", "stress", "calibration", "audit", "comparison", …: which result it shows.
        sections: in order; a page's contents list them. A table without a row, or of whose figures
            none is there, is left out but for its notes, and so is a section in which nothing
            stands.
        headline: the answer that its user came for, in one to three sentences. Where embedded
            stand-ins took part, the first one says so, in whatever place it is shown.
        trust: whether it can be trusted and why, as (a word, the sentence): "coverage", "judges", …
        lead: what stands first where there is no headline, as (what stands in bold, the rest).
        state: how it ended, a sentence with its full stop, or "".
        notices: framed sentences above the contents: what a reader must know first.
        more: commands that show or do more, for the end of a terminal's summary.
        is_demonstration: whether an embedded stand-in had a part in it.
        demonstration: what the banner then says.
    """

    title: str
    kind: str
    sections: Sequence[Section]
    headline: Sequence[str] = ()
    trust: Sequence[tuple[str, str]] = ()
    lead: tuple[str, str] = ("", "")
    state: str = ""
    notices: Sequence[str] = ()
    more: Sequence[str] = ()
    is_demonstration: bool = False
    demonstration: str = DEMONSTRATION

    def __post_init__(self) -> None:
        if self.is_demonstration and self.headline:
            first, *others = self.headline
            object.__setattr__(self, "headline", [in_demonstration(first), *others])
        filled = [
            replace(one, parts=[part for given in one.parts for part in _without_empty(given)])
            for one in self.sections
        ]
        object.__setattr__(self, "sections", [one for one in filled if one.parts])


def _without_empty(part: Part) -> list[Part]:
    """The part; of a table without a figure, which holds names alone, only why."""
    if not isinstance(part, Table):
        return [part]
    if (part.rows or part.foot) and not _is_bare(part):
        return [part]
    told = [f"{note[:1].upper()}{note[1:].removesuffix('.')}." for note in part.notes]
    return [Points([("", one) for one in told])] if told else []


def _is_bare(table: Table) -> bool:
    """Whether it should have figures, and has none."""
    places = [k for k, one in enumerate(table.columns) if one.is_numeric]
    cells = [row[k] for row in (*table.rows, *table.foot) for k in places]
    return bool(places) and not any(map(_is_figure, cells))


def _is_figure(cell: Scalar | Cell) -> bool:
    value = cell.value if isinstance(cell, Cell) else cell
    if isinstance(value, Estimate):
        value = value.value
    return value is not None and value == value and value not in ("", UNDEFINED)
