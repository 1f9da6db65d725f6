"""Draws a `Chart` of any kind as SVG, in one style, with its text as text.

Colours are of the Okabe-Ito palette; whatever a colour says, a marker or a number says as well, so
that charts are read by colour-blind people and in grey. Every colour is a CSS variable of the page
with a value for a light background behind it: a page sets them for dark ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from unicodedata import east_asian_width
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import numpy.typing as npt

from ..formats import UNDEFINED, interval, number, words
from ..records.run_folder import replaced, unwritable
from .document import Chart
from .visible import visible_plain

Floats = npt.NDArray[np.float64]
Point = tuple[float, float]

WIDTH: Final = 740
"""CSS pixels: as wide as the text of a page."""
PHONE_WIDTH: Final = 360
MOST_ROWS: Final = 60
"""Rows that one picture can hold; the tables hold all of them."""
DEMONSTRATION_MARK: Final = "DEMONSTRATION: embedded stand-ins took part; these are no findings"

INK, QUIET, LINE = "var(--ink, #1b1f24)", "var(--quiet, #57606a)", "var(--line, #d4d9df)"
PAPER: Final = "var(--paper, #ffffff)"
BLUE, ORANGE, GREEN = "var(--blue, #0072b2)", "var(--orange, #d55e00)", "var(--green, #009e73)"
PURPLE, SKY, AMBER = "var(--purple, #cc79a7)", "var(--sky, #56b4e9)", "var(--amber, #e69f00)"
NAVY, WINE, GREY = "var(--navy, #332288)", "var(--wine, #882255)", "var(--grey, #777777)"
SERIES: Final = (BLUE, SKY, AMBER, GREEN, PURPLE, NAVY, WINE)
"""Colours of series; orange is for those that are hollow, such as people."""
CLOUDS: Final = (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY)
"""Colours of clouds of points: neighbours among the series are of one hue."""

TEXT, SMALL = 13, 12
"""CSS pixels of letters."""
STEP: Final = 15
"""From one line of text, or one marker of a row, to the next."""

MARKERS: Final = (
    "M-4,0a4,4 0 1 0 8,0a4,4 0 1 0 -8,0z", "M-3.6-3.6h7.2v7.2h-7.2z", "M0-4.6L4.4,3.4H-4.4z",
    "M0-5L5,0 0,5-5,0z", "M0,4.6L4.4-3.4H-4.4z",
    "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3z", "M-4.6,0L3.4-4.4V4.4z", "M4.6,0L-3.4-4.4V4.4z",
)  # fmt: skip
DIAMOND: Final = MARKERS[3]


def fits_phone(chart: Chart) -> bool:
    """Whether a chart can be drawn so narrow: all but a map of many columns."""
    return chart.kind != "heatmap" or len(chart.columns) <= 4


def draw(
    chart: Chart, *, is_demonstration: bool = False, width: float = WIDTH, css_class: str = "wide"
) -> str:
    """The chart as one <svg> element without ids, style or script, which may stand in any page.

    Args:
        chart: what to draw; of more than `MOST_ROWS` rows the first ones.
        is_demonstration: whether an embedded stand-in took part; the picture says so itself, for it
            is shown without its report.
        width: CSS pixels.
        css_class: of the element.
    """
    pen = _Pen()
    layout: Callable[[_Pen, Chart, int, float, float, float], float] = {
        "heatmap": _heatmap, "line": _plane, "scatter": _plane,
    }.get(chart.kind, _rows)  # fmt: skip
    bottom = _legend(pen, chart, width)
    facets = chart.facets or ("",)
    across = 2 if layout is _plane and len(facets) > 1 and width > PHONE_WIDTH else 1
    each = width / across
    for first in range(0, len(facets), across):
        top, ends = bottom, []
        for at in range(first, min(first + across, len(facets))):
            left = (at - first) * each
            if facets[at]:
                title = short_name(facets[at], _most(facets[at], each, TEXT))
                pen.text(left, top + STEP, title, size=TEXT, font_weight="bold")
                pen.spoken.append(title)
            head = 26 if facets[at] else 4
            ends.append(layout(pen, chart, at, left, left + each - 4, top + head))
        bottom = max(ends) + 6
    if is_demonstration:
        for line in folded_name(DEMONSTRATION_MARK, int(width / 8.5), most_lines=9).split("\n"):
            bottom += STEP
            pen.text(0, bottom, line, font_weight="bold")
    height = math.ceil(bottom + 6)
    label = visible_plain(chart.described or f"{chart.title}. {chart.caption}", most=600)
    described = escape("; ".join(pen.spoken))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{css_class}" width="{width:g}" '
        f'height="{height}" viewBox="0 0 {width:g} {height}" role="img" '
        f'font-family="sans-serif" aria-label={quoteattr(label)}><desc>{described}</desc>'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>{"".join(pen.parts)}</svg>'
    )


def standalone(svg: str) -> str:
    """What `draw` returned, for files and viewers without CSS variables: in light colours."""
    return re.sub(r"var\(--[a-z]+, (#[0-9a-f]{6})\)", r"\1", svg) + "\n"


def save(path: Path, svg: str) -> None:
    """Writes what `draw` returned as a file; its folder is made where it is missing.

    Raises:
        StoreError: it cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path, error) from error
    with replaced(path) as part:
        part.write_text(standalone(svg), encoding="utf-8")


def short_name(name: str, most: int) -> str:
    """The name on one line of at most so many characters, cut in its middle.

    Names of models differ at their ends. Hidden characters, which no drawing may hold, are shown
    as their codes.
    """
    text = visible_plain(name, most=400)
    if len(text) <= most:
        return text
    tail = max(1, most // 3)
    return f"{text[: max(most - tail - 1, 1)]}…{text[-tail:]}"


def folded_name(name: str, width: int, *, most_lines: int = 2) -> str:
    """An identifier as words on several lines; a word that is too long is hyphenated.

    What takes more lines is cut in its middle, as names often differ at their ends.
    """
    lines = _lines(name, width)
    for most in range(min(len(name), width * most_lines), width, -1):
        if len(lines) <= most_lines:
            break
        lines = _lines(short_name(name, most), width)
    if len(lines) > most_lines:
        lines = [short_name(name, width)]
    return "\n".join(lines)


def _lines(name: str, width: int) -> list[str]:
    lines: list[str] = []
    pending = visible_plain(words(name), most=200).split()
    while pending:
        word = pending.pop(0)
        if len(word) > width:
            pending.insert(0, word[width - 1 :])
            word = word[: width - 1] + "-"
        if lines and len(lines[-1]) + 1 + len(word) <= width and not lines[-1].endswith("-"):
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _length(text: str, size: float = SMALL) -> float:
    """Pixels that text takes at most, by the widths of a wide font: the reader's is not known."""
    thin, fat = "iljtfr.,:;'|!()[]- ", "mwMWQ@%⟨⟩"
    return size * sum(
        1.0 if c in fat or east_asian_width(c) in "WF" else 0.4 if c in thin else 0.64
        for c in visible_plain(text, most=400)
    )


def _most(text: str, pixels: float, size: float = SMALL) -> int:
    """Characters of a text that have so much room."""
    return max(6, int(pixels * len(text) / (_length(text, size) or 1.0)))


class _Pen:
    """Shapes and text, in CSS pixels.

    Attributes:
        parts: elements.
        spoken: the drawing's values in words, for who cannot see it.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.spoken: list[str] = []

    def add(self, name: str, content: str = "", /, **attributes: object) -> None:
        written = " ".join(
            f'{key.replace("_", "-")}="{round(value, 2):g}"' if isinstance(value, (int, float))
            else f'{key.replace("_", "-")}="{value}"'
            for key, value in attributes.items()
        )  # fmt: skip
        self.parts.append(
            f"<{name} {written}>{content}</{name}>" if content else f"<{name} {written}/>"
        )

    def line(self, start: Point, end: Point, colour: str = LINE, **more: object) -> None:
        (x1, y1), (x2, y2) = start, end
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, **more)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        anchor: str = "start",
        size: float = SMALL,
        **more: object,
    ) -> None:
        attributes = {"fill": INK} | more
        self.add("text", escape(text), x=x, y=y, font_size=size, text_anchor=anchor, **attributes)

    def lines(self, x: float, y: float, text: str, anchor: str, size: float = TEXT) -> None:
        """Lines of text around a height."""
        several = text.split("\n")
        for place, line in enumerate(several):
            self.text(x, y + 4.5 + STEP * (place - (len(several) - 1) / 2), line, anchor, size)

    def mark(self, at: Point, shape: str, colour: str, *, is_open: bool = False) -> None:
        self.add(
            "path", d=shape, transform=f"translate({at[0]:.2f} {at[1]:.2f})", stroke=colour,
            fill=PAPER if is_open else colour, stroke_width=1.4,
        )  # fmt: skip


class _Axis(NamedTuple):
    """Where values stand: `low` at the pixel `start`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self, apart: float) -> list[tuple[float, str]]:
        """Round values and their labels, so many pixels apart or more."""
        least = (self.high - self.low) * apart / max(abs(self.end - self.start), apart)
        power = math.floor(math.log10(least)) if least else 0
        step = next((m * 10.0**power for m in (1, 2, 5, 10) if m * 10.0**power >= least), 1.0)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        values = [k * step for k in range(first, last + 1)]
        if values and self.low.is_integer() and abs(self(values[0]) - self.start) > 0.7 * apart:
            values.insert(0, self.low)  # the end of a scale from 1
        return [(value, number(value, digits)) for value in values]


def _domain(chart: Chart, *values: Floats) -> Point:
    """The ends of an axis: the scale, or of a forest what its data need of it; else the data's."""
    numbers = np.concatenate([part[~np.isnan(part)].ravel() for part in values])
    if chart.scale is not None and (chart.kind != "forest" or not numbers.size):
        return chart.scale
    if chart.scale is not None:
        ends, (low, high) = chart.scale, (float(numbers.min()), float(numbers.max()))
        room = max((ends[1] - ends[0]) / 3 - (high - low), 0.1 * (high - low)) / 2
        return max(ends[0], low - room), min(ends[1], high + room)
    with_line = [chart.reference] if chart.reference is not None else []
    numbers = np.append(numbers, [*with_line, *([0.0] if chart.kind == "bars" else [])])
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)
    room = 0.05 * (high - low) or 0.5
    return (low if chart.kind == "bars" and low == 0 else low - room), high + room


def _table(chart: Chart, cells: Any, at: int) -> Floats:
    """The rows of one facet; nan where nothing is given."""
    n = min(len(chart.rows), MOST_ROWS)
    if cells is None or (isinstance(cells, tuple) and not cells):
        return np.full((n, len(chart.x) if chart.kind == "line" else len(chart.columns)), np.nan)
    table = np.asarray(cells, dtype=float)
    rows: Floats = (table[at] if table.ndim == 3 else table)[:n]
    return rows


def _look(chart: Chart, place: int) -> tuple[str, str, bool]:
    """Marker, colour and whether it is open, of a column of a forest or a row of a plane."""
    name = (chart.rows if chart.kind in ("line", "scatter") else chart.columns)[place]
    if name in chart.hollow:
        return DIAMOND, INK if chart.kind == "scatter" else ORANGE, True
    colours = CLOUDS if chart.kind == "scatter" else SERIES
    colours = (GREY, *colours) if chart.kind == "bars" else colours
    shapes = [shape for shape in MARKERS if shape != DIAMOND or not chart.hollow]
    return shapes[place % len(shapes)], colours[place % len(colours)], False


def _legend(pen: _Pen, chart: Chart, width: float) -> float:
    """Marker and name of each series; returns where it ends."""
    is_by_row = chart.kind in ("line", "scatter")
    names = [*(chart.rows[:MOST_ROWS] if is_by_row else chart.columns)]
    if chart.kind in ("heatmap", "strip") or len(names) < 2:
        return 0.0
    x, y = 0.0, 16.0
    for place, name in enumerate(names):
        shape, colour, is_open = _look(chart, place)
        label = short_name(words(name), min(40, _most(name, width - 40)))
        if x and x + 20 + _length(label) > width:
            x, y = 0.0, y + 18
        pen.mark((x + 6, y - 4), shape, colour, is_open=is_open)
        pen.text(x + 16, y, label)
        x += 34 + _length(label)
    return y + 10


def _labels(names: Iterable[str], most_px: float) -> tuple[list[str], float]:
    """Names of rows on one or two lines, and the pixels that they take."""
    labels = [folded_name(short_name(name, 60), _most(name, most_px, TEXT)) for name in names]
    lengths = [_length(line, TEXT) for label in labels for line in label.split("\n")]
    return labels, min(most_px, max(lengths, default=0.0)) + 10


def _axis_below(pen: _Pen, x: _Axis, top: float, bottom: float, title: str, left: float) -> float:
    """Ticks, grid and title of an axis across; returns where they end."""
    ticks = x.ticks(44)
    for value, label in ticks:
        pen.line((x(value), top), (x(value), bottom))
        pen.text(x(value), bottom + 16, label, "middle", fill=QUIET)
    y = bottom + 20
    for line in folded_name(title, _most(title, x.end - left), most_lines=3).split("\n"):
        half = _length(line) / 2
        y += STEP
        pen.text(max(left + half, min((x.start + x.end) / 2, x.end - half)), y, line, "middle")
    return y


def _rows(pen: _Pen, chart: Chart, at: int, left: float, right: float, top: float) -> float:
    """Rows downwards upon one axis across, their values beside them: forest, bars and strip."""
    n = min(len(chart.rows), MOST_ROWS)
    names, series = [*chart.rows[:n]], 1 if chart.kind == "strip" else len(chart.columns)
    is_wide, is_signed = right - left > PHONE_WIDTH + 40, chart.is_diverging
    parts = (chart.values, chart.low, chart.high, chart.low_wide, chart.high_wide)
    value, low, high, low_wide, high_wide = (_table(chart, part, at) for part in parts)
    # Facets have one axis, so that they can be compared.
    axis = [_table(chart, part, k) for k in range(len(chart.facets) or 1) for part in parts]
    if chart.kind == "strip":
        points = chart.points[at] if chart.facets else chart.points
        clouds = [np.asarray(cloud, dtype=float) for cloud in points[:n]]
        clouds = [cloud[~np.isnan(cloud)] for cloud in clouds]
        names = [f"{name} ({len(cloud)})" for name, cloud in zip(names, clouds, strict=True)]
        spread = [
            np.quantile(cloud, [0.05, 0.25, 0.5, 0.75, 0.95]) if cloud.size else np.full(5, np.nan)
            for cloud in clouds
        ]
        boxes = np.asarray(spread).reshape(n, 5)
        axis = [boxes]
        value, low_wide, high_wide, low, high = (boxes[:, k : k + 1] for k in (2, 0, 4, 1, 3))
    figures = [
        [
            number(value[k, j], chart.digits, is_signed=is_signed)
            + (
                f" {interval(low[k, j], high[k, j], chart.digits, is_signed=is_signed)}"
                if is_wide and chart.kind == "forest" and not math.isnan(low[k, j]) else ""
            )
            for j in range(series)
        ]
        for k in range(n)
    ]  # fmt: skip
    beside = max((_length(figure) for row in figures for figure in row), default=0.0) + 12
    labels, start = _labels(names, (0.34 if is_wide else 0.4) * (right - left))
    if start + beside > 0.7 * (right - left):
        figures, beside = [[figure.split(" ")[0] for figure in row] for row in figures], 52.0
    x = _Axis(*_domain(chart, *axis), left + start + 8, right - beside - 6)
    heights = [max(STEP * max(series, label.count("\n") + 1) + 9, 24) for label in labels]
    bottom = top + sum(heights)
    end = _axis_below(pen, x, top, bottom, chart.axis, left)
    if chart.reference is not None:
        place = x(chart.reference)
        pen.line((place, top), (place, bottom), INK, stroke_dasharray="4 2")
    y = top
    for k, (label, height) in enumerate(zip(labels, heights, strict=True)):
        if k and series > 1:
            pen.line((left, y), (right, y))
        middle = y + height / 2
        pen.lines(x.start - 10, middle, label, "end")
        for j in range(series):
            here = middle + STEP * (j - (series - 1) / 2)
            shape, colour, is_open = _look(chart, j)
            thick, pale = (12.0, 1.5) if chart.kind == "strip" else (2.0, 6.0)
            if chart.kind == "bars" and not math.isnan(value[k, j]):
                base = x(x.low if x.low >= 0 else 0.0)
                pen.add(
                    "rect", x=min(base, x(value[k, j])), y=here - 5.5, height=11,
                    width=abs(x(value[k, j]) - base), fill=colour, fill_opacity=0.45,
                )  # fmt: skip
            for first, last, stroke in ((low_wide, high_wide, pale), (low, high, thick)):
                if not math.isnan(first[k, j] + last[k, j]):
                    pen.line(
                        (x(first[k, j]), here), (x(last[k, j]), here), colour, stroke_width=stroke,
                        stroke_opacity=1 if stroke < 4 else 0.35,
                    )  # fmt: skip
            if chart.kind == "strip" and not math.isnan(value[k, j]):
                place = x(value[k, j])
                pen.line((place, here - 8), (place, here + 8), colour, stroke_width=2.5)
            elif not math.isnan(value[k, j]):
                is_bare = chart.kind == "forest" and math.isnan(low[k, j])
                pen.mark((x(value[k, j]), here), shape, colour, is_open=is_open or is_bare)
            pen.text(right, here + 4.5, figures[k][j], "end")
        spoken = ", ".join(
            f"{visible_plain(column, most=60)} {figure}".strip()
            for column, figure in zip(chart.columns, figures[k], strict=False)
        )
        pen.spoken.append(f"{visible_plain(names[k], most=60)}: {spoken}")
        y += height
    return end


def _plane(pen: _Pen, chart: Chart, at: int, left: float, right: float, top: float) -> float:
    """Two axes: lines over x with bands, or clouds of points."""
    n = min(len(chart.rows), MOST_ROWS)
    is_line = chart.kind == "line"
    value, low, high = (
        _table(chart, limits, at) for limits in (chart.values, chart.low, chart.high)
    )
    clouds: list[Floats] = []
    if is_line:
        across = np.asarray(chart.x, dtype=float)
        clouds = [np.column_stack([across, row]) for row in value]
        ends = _domain(chart, value, low, high)
    else:
        points = chart.points[at] if chart.facets else chart.points
        clouds = [np.asarray(cloud, dtype=float).reshape(-1, 2) for cloud in points[:n]]
        across = np.concatenate([cloud[:, 0] for cloud in clouds]) if clouds else np.empty(0)
        ends = _domain(chart, *(cloud[:, 1] for cloud in clouds), np.empty(0))
    across = across[~np.isnan(across)]
    room = 0.03 * float(np.ptp(across) if across.size else 1.0) or 0.5
    sides = (float(across.min()) - room, float(across.max()) + room) if across.size else (0.0, 1.0)
    bottom = top + (250 if is_line else min(0.85 * (right - left), 420))
    y = _Axis(*ends, bottom, top + 24)
    ticks = y.ticks(44)
    start = left + max((_length(label) for _, label in ticks), default=0.0) + 10
    x = _Axis(*(sides if is_line or chart.scale is None else chart.scale), start, right - 10)
    pen.text(left, top + 10, short_name(chart.axis, _most(chart.axis, right - left)))
    for place, label in ticks:
        pen.line((start, y(place)), (x.end, y(place)))
        pen.text(start - 6, y(place) + 4, label, "end", fill=QUIET)
    end = _axis_below(pen, x, y.end, bottom, chart.axis_x, left)
    if chart.reference is not None:
        place = y(chart.reference)
        pen.line((x.start, place), (x.end, place), INK, stroke_dasharray="4 2")

    def path(corners: Iterable[Sequence[float]], fill: str = "none", **more: object) -> None:
        steps = [f"{x(a):.1f},{y(b):.1f}" for a, b in corners if not math.isnan(a + b)]
        if steps:
            pen.add("path", d="M" + "L".join(steps), fill=fill, **more)

    def rows(of_chart: Sequence[Any]) -> Sequence[Any]:
        return (of_chart[at] if chart.facets else of_chart) if len(of_chart) else [()] * n

    for row, (name, points) in enumerate(zip(chart.rows[:n], clouds, strict=False)):
        shape, colour, is_open = _look(chart, row)
        if is_line:
            edges = [np.column_stack([points[:, 0], limit[row]]) for limit in (low, high)]
            band = np.concatenate([edges[0], edges[1][::-1]])
            path(band, fill=colour, fill_opacity=0.15)
            path(points, stroke=colour, stroke_width=2)
            figures = ", ".join(f"{a:g} {number(b, chart.digits)}" for a, b in points)
            pen.spoken.append(f"{visible_plain(name, most=60)}: {figures}")
        for link in rows(chart.links)[row]:
            path(link, stroke=colour, stroke_width=0.5, stroke_opacity=0.4)
        if chart.is_outlined and not is_open:
            ring = _outline(points)
            path([*ring, *ring[:1]], stroke=colour, stroke_width=2)
        for a, b in points:
            if not math.isnan(a + b):
                pen.mark((x(a), y(b)), shape, colour, is_open=is_open)
        for (a, b), label in zip(points, rows(chart.point_labels)[row], strict=False):
            if label:
                text = short_name(words(label), 40)
                is_right = x(a) + 8 + _length(text) > x.end
                pen.text(
                    x(a) + (-8 if is_right else 8), y(b) - 4, text, "end" if is_right else "start"
                )
    return end


def _outline(points: Floats) -> list[Point]:
    """The corners of the convex hull in order, by Andrew's monotone chain."""
    ordered = sorted({(float(a), float(b)) for a, b in points})
    ring: list[Point] = []
    for half in (ordered, ordered[::-1]):
        chain: list[Point] = []
        for x, y in half:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) > (by - ay) * (x - ax):
                    break
                chain.pop()
            chain.append((x, y))
        ring += chain[:-1]
    return ring or ordered


def _heatmap(pen: _Pen, chart: Chart, at: int, left: float, right: float, top: float) -> float:
    """Rows by columns, each cell's number in it."""
    table = _table(chart, chart.values, at)
    numbers = table[~np.isnan(table)]
    if chart.is_diverging:
        high = max(float(np.abs(numbers).max(initial=0.0)), chart.bold_at or 0.0) or 1.0
        low = 0.0
    else:
        low, high = chart.scale or (
            float(numbers.min(initial=0.0)),
            float(numbers.max(initial=1.0)),
        )
    marks = np.asarray(chart.marks, dtype=object) if chart.marks is not None else None
    labels, start = _labels(chart.rows[: len(table)], 0.34 * (right - left))
    heads = [visible_plain(words(name), most=60) for name in chart.columns]
    cell = (right - left - start - 6) / max(len(heads), 1)
    longest = max((_length(word) for head in heads for word in head.split()), default=0.0)
    is_slanted = longest > cell - 4
    if is_slanted:  # side by side they would run into each other
        heads = [short_name(head, _most(head, 0.3 * (right - left))) for head in heads]
        over = max((_length(head) for head in heads), default=0.0) * 0.77
        cell = (right - left - start - 6 - over) / max(len(heads), 1)
        top += over * 0.8 + 16
    else:
        heads = [folded_name(head, _most(head, cell - 4)) for head in heads]
        top += STEP * (1 + max((head.count("\n") for head in heads), default=0)) + 6
    cell = min(cell, 130.0)
    x0 = left + start + 6
    for column, head in enumerate(heads):
        middle = x0 + cell * (column + 0.5)
        if is_slanted:
            pen.text(middle, top - 8, head, transform=f"rotate(-40 {middle:.1f} {top - 8:.1f})")
        else:
            pen.lines(middle, top - 12 - STEP * head.count("\n") / 2, head, "middle", SMALL)
    for row, label in enumerate(labels):
        y, height = top + 30 * row, 30
        pen.lines(x0 - 8, y + height / 2, label, "end")
        figures = []
        for column, value in enumerate(table[row]):
            text = number(float(value), chart.digits, is_signed=chart.is_diverging)
            if marks is not None and text != UNDEFINED:
                text += str((marks[at] if marks.ndim == 3 else marks)[row, column])
            size = abs(value) if chart.is_diverging else value
            reach = min(1.0, max(0.0, (size - low) / ((high - low) or 1.0)))
            colour = "#d55e00" if chart.is_diverging and value > 0 else "#0072b2"
            if math.isnan(value):
                reach, colour = 0.3, GREY
            is_bold = chart.bold_at is not None and abs(value) >= chart.bold_at
            x = x0 + cell * column
            border = {"stroke": INK, "stroke_width": 2} if is_bold else {"stroke": PAPER}
            pen.add(
                "rect", x=x + 1, y=y + 1, width=cell - 2, height=height - 2, fill=colour,
                fill_opacity=0.75 * reach, **border,  # so that ink is read on it by day and night
            )  # fmt: skip
            weight = "bold" if is_bold else "normal"
            pen.text(x + cell / 2, y + height / 2 + 4.5, text, "middle", font_weight=weight)
            figures.append(f"{visible_plain(chart.columns[column], most=60)} {text}")
        pen.spoken.append(f"{visible_plain(chart.rows[row], most=60)}: {', '.join(figures)}")
    end = top + 30 * len(labels)
    if chart.axis:
        end += 18
        pen.text(x0, end, chart.axis)
    return end
