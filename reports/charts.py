"""Draws a `Chart` of any kind as SVG, in the one style of all pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..formats import UNDEFINED, number
from .chart_style import (
    AMBER,
    BLACK,
    BLUE,
    GREEN,
    GREY,
    HATCHES,
    MARKERS,
    ON_COLOUR,
    ON_DARK,
    ORANGE,
    PALETTE,
    PURPLE,
    SKY,
    folded_name,
    new_figure,
    save,
    short_name,
    style,
)
from .document import Chart

Floats = npt.NDArray[np.float64]

WIDTH: Final = 7.4
"""Inches: as wide as the text of a page, where letters of 9 points are those of the page."""
PHONE_WIDTH: Final = 3.75
"""Inches: as wide as a phone's window, with letters of the same size."""
MOST_ROWS: Final = 60
"""Rows that one picture can hold; the tables hold all of them."""
DEMONSTRATION_MARK: Final = "DEMONSTRATION: embedded stand-ins took part; these are no findings"

_WHOLE: Final[dict[str, Any]] = {"clip_on": False, "in_layout": False}
"""For markers: one at an end of the scale is drawn whole, and no layout makes room for it."""
_SERIES: Final = tuple(colour for colour in PALETTE[1:] if colour != ORANGE)
"""Colours of series; orange is for those that are hollow, such as people."""
_APART: Final = (BLUE, ORANGE, GREEN, PURPLE, AMBER, SKY)
"""Colours of clouds of points: neighbours of the palette are of one hue."""


def draw(path: str | Path, chart: Chart, *, is_demonstration: bool = False) -> Path:
    """Draws PATH.svg, and returns its path.

    Args:
        path: without suffix.
        chart: what to draw; of more than `MOST_ROWS` rows the first ones.
        is_demonstration: whether an embedded stand-in took part; the picture says so itself, for it
            is shown without its report.

    Raises:
        StoreError: it cannot be written.
    """
    return save(drawn(chart, is_demonstration=is_demonstration), path)


def draw_for_phone(path: str | Path, chart: Chart, *, is_demonstration: bool = False) -> Path:
    """Draws PATH.svg as wide as a phone's window, and returns its path; see `draw`."""
    figure = drawn(chart, is_demonstration=is_demonstration, width=PHONE_WIDTH)
    return save(figure, path)


def fits_phone(chart: Chart) -> bool:
    """Whether a chart can be drawn so narrow: rows downwards with one axis across."""
    return chart.kind in ("forest", "strip") and not chart.facets


def drawn(chart: Chart, *, is_demonstration: bool = False, width: float = WIDTH) -> Any:
    """The matplotlib Figure of a chart, so many inches wide; see `draw`."""
    drawing = {
        "forest": _forest,
        "heatmap": _heatmap,
        "bars": _bars,
        "strip": _strip,
        "line": _line,
        "scatter": _scatter,
    }
    facets = chart.facets or ("",)
    n = min(len(chart.rows), MOST_ROWS)
    names_below = {"heatmap": chart.columns, "bars": chart.rows}.get(chart.kind, ())
    is_wide = len(names_below) > 4  # side by side they would run into each other
    across = 1 if len(facets) == 1 or is_wide else 2
    down = -(-len(facets) // across)
    names = [short_name(name, 40) for name in chart.columns if name]
    has_legend = chart.kind in ("forest", "bars") and len(names) > 1
    is_by_row = chart.kind in ("line", "scatter")
    has_legend |= is_by_row and n > 1
    labels = [short_name(name, 40) for name in chart.rows[:n]] if is_by_row else names
    per_line = max(1, int(width * 11 // (max(map(len, labels), default=1) + 6)))
    strip = 0.12 + 0.2 * -(-len(labels) // per_line) if has_legend else 0.0
    mark = textwrap.fill(DEMONSTRATION_MARK, int(width * 12))
    foot = 0.08 + 0.14 * len(mark.splitlines()) if is_demonstration else 0.0
    with style():
        tall = strip + foot + down * _height(chart, n, titled=bool(chart.facets))
        figure = new_figure(width, tall)
        figure.get_layout_engine().set(rect=(0, foot / tall, 1, 1 - (strip + foot) / tall))
        shared = None
        for at, title in enumerate(facets):
            is_shared = chart.kind not in ("heatmap", "scatter")
            axes = figure.add_subplot(down, across, at + 1, sharex=shared if is_shared else None)
            shared = shared or axes
            drawing[chart.kind](axes, chart, at, n)
            if title:
                axes.set_title(short_name(title, 50))
            if at % across and chart.kind in ("forest", "strip", "heatmap"):
                axes.tick_params(labelleft=False)
        if has_legend:
            # A legend outside lets constrained layout collapse: it has a strip of its own.
            handles, said = figure.axes[0].get_legend_handles_labels()
            figure.legend(
                handles, said, loc="upper left", ncols=min(per_line, len(said)), fontsize=8
            )
        if is_demonstration:
            figure.text(
                0.01, 0.05 / tall, mark, ha="left", va="bottom", fontsize=8,
                color=BLACK, fontweight="bold",
            )  # fmt: skip
        return figure


def _height(chart: Chart, n: int, *, titled: bool) -> float:
    head = 0.25 if titled else 0.0
    if chart.kind == "heatmap":
        return 0.75 + head + 0.34 * n
    if chart.kind in ("bars", "line"):
        return 2.9 + head
    if chart.kind == "scatter":
        return (3.6 if chart.facets else 4.6) + head
    series = len(chart.columns) if chart.kind == "forest" else 1
    return 0.75 + head + n * (0.16 + 0.13 * series)


def _table(chart: Chart, given: Any, at: int, n: int) -> Floats:
    """The rows of one facet; nan where nothing is given."""
    shape = (n, len(chart.columns) if chart.kind != "line" else len(chart.x))
    if given is None or (isinstance(given, tuple) and not given):
        return np.full(shape, np.nan)
    table = np.asarray(given, dtype=float)
    found: Floats = (table[at] if table.ndim == 3 else table)[:n]
    return found


def _names(names: Any, most: int, width: int) -> list[str]:
    return [folded_name(name, width) if len(name) > width else name for name in
            (short_name(name.replace("_", " "), most) for name in names)]  # fmt: skip


def _forest(axes: Any, chart: Chart, at: int, n: int) -> None:
    value, low, high = (_table(chart, one, at, n) for one in (chart.values, chart.low, chart.high))
    wide = [_table(chart, one, at, n) for one in (chart.low_wide, chart.high_wide)]
    series = len(chart.columns)
    for column, name in enumerate(chart.columns):
        y = np.arange(n) + (column - (series - 1) / 2) * 0.8 / max(series, 2)
        is_hollow = name in chart.hollow
        colour = ORANGE if is_hollow else _SERIES[column % len(_SERIES)]
        for ends, thick, alpha in (((wide[0], wide[1]), 4.0, 0.3), ((low, high), 1.6, 1.0)):
            has = ~(np.isnan(ends[0][:, column]) | np.isnan(ends[1][:, column]))
            axes.hlines(
                y[has], ends[0][has, column], ends[1][has, column], color=colour, linewidth=thick,
                alpha=alpha,
            )  # fmt: skip
        has_limits = ~np.isnan(low[:, column])
        for has, is_open in ((has_limits, is_hollow), (~has_limits, True)):
            axes.plot(
                value[has, column], y[has], MARKERS[column % len(MARKERS)] if series > 1 else "o",
                color=colour, markersize=5.5, linestyle="none",
                markerfacecolor="white" if is_open else colour,
                label=short_name(name, 40) if has is has_limits else None, **_WHOLE,
            )  # fmt: skip
    _rows_down(axes, chart.rows[:n])
    if series > 1:
        for line in np.arange(n - 1) + 0.5:
            axes.axhline(line, color=GREY, linewidth=0.3)
    _value_axis(axes, chart, [value, low, high, *wide], is_x=True)


def _strip(axes: Any, chart: Chart, at: int, n: int) -> None:
    points = [np.asarray(one, dtype=float) for one in chart.points[:n]]
    known = [one[~np.isnan(one)] for one in points]
    for place, values in enumerate(known):
        if not values.size:
            continue
        low, first, middle, third, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
        axes.hlines(place, low, high, color=BLUE, linewidth=1)
        axes.barh(place, third - first, 0.5, left=first, color="#CFE3F2", edgecolor=BLUE)
        axes.vlines(middle, place - 0.25, place + 0.25, color=BLUE, linewidth=2)
    names = [f"{name} ({len(v)})" for name, v in zip(chart.rows[:n], known, strict=True)]
    _rows_down(axes, names)
    _value_axis(axes, chart, [np.concatenate(known)] if known else [], is_x=True)


def _bars(axes: Any, chart: Chart, at: int, n: int) -> None:
    value, low, high = (_table(chart, one, at, n) for one in (chart.values, chart.low, chart.high))
    bottom = chart.scale[0] if chart.scale else 0.0
    width = 0.84 / max(len(chart.columns), 1)
    places = np.arange(n)
    for column, name in enumerate(chart.columns):
        x = places - 0.42 + width * (column + 0.5)
        mine = value[:, column]
        known = ~np.isnan(mine)
        errors = np.nan_to_num(np.stack([mine - low[:, column], high[:, column] - mine]))
        axes.bar(
            x[known], mine[known] - bottom, width * 0.92, bottom=bottom, yerr=errors[:, known],
            color=PALETTE[column % len(PALETTE)], hatch=HATCHES[column % len(HATCHES)],
            edgecolor="white", linewidth=0.3, error_kw={"elinewidth": 0.9, "capsize": 1.5},
            label=short_name(name.replace("_", " "), 40),
        )  # fmt: skip
        if not known.all():  # an empty artist without a clip upsets the layout
            axes.plot(x[~known], np.full((~known).sum(), bottom), "x", color=GREY, clip_on=False)
    axes.set_xticks(places, [folded_name(name, 14) for name in chart.rows[:n]], fontsize=8)
    axes.set_xlim(-0.5, n - 0.5)
    _value_axis(axes, chart, [value, low, high], is_x=False)


def _line(axes: Any, chart: Chart, at: int, n: int) -> None:
    value, low, high = (_table(chart, one, at, n) for one in (chart.values, chart.low, chart.high))
    x = np.asarray(chart.x, dtype=float)
    for row, name in enumerate(chart.rows[:n]):
        colour = _SERIES[row % len(_SERIES)]
        axes.fill_between(x, low[row], high[row], color=colour, alpha=0.15, linewidth=0)
        axes.plot(
            x, value[row], marker=MARKERS[row % len(MARKERS)], markersize=4, color=colour,
            linewidth=1.3, label=short_name(name, 40),
        )  # fmt: skip
    axes.set_xlabel(chart.axis_x, fontsize=8)
    _value_axis(axes, chart, [value, low, high], is_x=False)


def _scatter(axes: Any, chart: Chart, at: int, n: int) -> None:
    def rows(given: Sequence[Any]) -> Sequence[Any]:
        return (given[at] if chart.facets else given) if len(given) else [()] * n

    links, labels = rows(chart.links), rows(chart.point_labels)
    for row, (name, given) in enumerate(zip(chart.rows[:n], rows(chart.points), strict=False)):
        points = np.asarray(given, dtype=float).reshape(-1, 2)
        is_hollow = name in chart.hollow
        colour = BLACK if is_hollow else _APART[row % len(_APART)]
        for ends in np.asarray(links[row], dtype=float).reshape(-1, 2, 2):
            axes.plot(ends[:, 0], ends[:, 1], color=colour, linewidth=0.3, alpha=0.35, zorder=1)
        if chart.is_outlined and not is_hollow:
            ring = _outline(points)
            axes.plot(ring[:, 0], ring[:, 1], color=colour, linewidth=1.6, zorder=2)
        axes.scatter(
            points[:, 0], points[:, 1], s=20 if is_hollow else 11, zorder=4 if is_hollow else 3,
            marker="D" if is_hollow else MARKERS[row % len(MARKERS)],
            facecolors="none" if is_hollow else colour, edgecolors=colour,
            linewidths=0.8 if is_hollow else 0, label=short_name(name, 40),
        )  # fmt: skip
        for point, label in zip(points, labels[row], strict=False):
            if label:
                axes.annotate(
                    folded_name(short_name(label, 48), 24), point, xytext=(3, 3),
                    textcoords="offset points", fontsize=5.5, color=colour, zorder=5,
                )  # fmt: skip
    axes.set_xlabel(chart.axis_x, fontsize=8)
    _value_axis(axes, chart, [], is_x=False)
    axes.grid(axis="x", color=GREY, linewidth=0.3)


def _outline(points: Floats) -> Floats:
    """The corners of the convex hull, closed; the points where they have no area."""
    from scipy.spatial import ConvexHull, QhullError

    corners = points
    if len(points) > 2:
        with suppress(QhullError):
            corners = points[ConvexHull(points).vertices]
    return np.concatenate([corners, corners[:1]])


def _heatmap(axes: Any, chart: Chart, at: int, n: int) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    table = _table(chart, chart.values, at, n)
    known = table[~np.isnan(table)]
    ends: tuple[float, float]
    if chart.is_diverging:
        most = max(float(np.abs(known).max(initial=0.0)), chart.bold_at or 0.0) or 1.0
        ends, colours = (-most, most), ["#2166AC", "#F7F7F7", "#C65D1E"]
    else:
        ends = chart.scale or (float(known.min(initial=0.0)), float(known.max(initial=1.0)))
        colours = ["#F7F7F7", "#2166AC"]
    made = LinearSegmentedColormap.from_list(chart.kind, colours).with_extremes(bad="#DDDDDD")
    axes.imshow(np.ma.masked_invalid(table), cmap=made, vmin=ends[0], vmax=ends[1], aspect="auto")
    marks = np.asarray(chart.marks, dtype=object) if chart.marks is not None else None
    for (row, column), value in np.ndenumerate(table):
        text = number(float(value), chart.digits, is_signed=chart.is_diverging)
        if marks is not None and text != UNDEFINED:
            text += str((marks[at] if marks.ndim == 3 else marks)[row, column])
        reach = (
            abs(value) / ends[1]
            if chart.is_diverging
            else (value - ends[0]) / ((ends[1] - ends[0]) or 1)
        )
        is_bold = chart.bold_at is not None and abs(value) >= chart.bold_at
        axes.text(
            column, row, text, ha="center", va="center", fontsize=8,
            color=ON_DARK if reach > 0.7 else ON_COLOUR, fontweight="bold" if is_bold else "normal",
        )  # fmt: skip
        if is_bold:
            axes.add_patch(
                Rectangle((column - 0.47, row - 0.45), 0.94, 0.9, fill=False,
                          edgecolor=ON_COLOUR, linewidth=2)
            )  # fmt: skip
    axes.set_xticks(
        range(len(chart.columns)), [folded_name(name, 14) for name in chart.columns], fontsize=7.5
    )
    axes.xaxis.tick_top()
    axes.set_yticks(range(n), _names(chart.rows[:n], 40, 24), fontsize=8)
    axes.tick_params(length=0)
    if chart.axis:
        axes.set_xlabel(chart.axis, fontsize=8)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _rows_down(axes: Any, names: Any) -> None:
    folded = 24 if axes.figure.get_figwidth() > PHONE_WIDTH else 14
    axes.set_yticks(range(len(names)), _names(names, 40, folded), fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)


def _value_axis(axes: Any, chart: Chart, given: list[Floats], *, is_x: bool) -> None:
    """Limits, label, grid and the line of reference of the axis on which values stand."""
    name = "x" if is_x else "y"
    if chart.reference is not None:
        (axes.axvline if is_x else axes.axhline)(
            chart.reference, color=BLACK, linewidth=1, linestyle=(0, (4, 2))
        )
    known = np.concatenate([one[~np.isnan(one)].ravel() for one in given]) if given else np.empty(0)
    if chart.scale is not None and chart.kind != "forest":
        getattr(axes, f"set_{name}lim")(*chart.scale)
    elif chart.scale is not None and known.size:
        getattr(axes, f"set_{name}lim")(*_stretch(known, chart.scale))
    getattr(axes, f"set_{name}label")(chart.axis, fontsize=8)
    axes.grid(axis=name, color=GREY, linewidth=0.3)
    axes.set_axisbelow(True)


def _stretch(known: Floats, scale: tuple[float, float]) -> tuple[float, float]:
    """As much of the scale as the data need, at least a third, with some room at the ends."""
    low, high = float(known.min()), float(known.max())
    room = max((scale[1] - scale[0]) / 3 - (high - low), 0.1 * (high - low)) / 2
    return max(scale[0], low - room), min(scale[1], high + room)
