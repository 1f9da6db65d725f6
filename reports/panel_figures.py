"""The pictures of a panel run: scorecard, ranking, distribution, two axes, agreement of personas.

They draw plain arrays; nan is what was not measured, and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .chart_style import (
    BLUE,
    GREY,
    MARKERS,
    ON_COLOUR,
    ON_DARK,
    ORANGE,
    PALETTE,
    folded_name,
    new_figure,
    save,
    short_name,
    style,
)

MOST_MARKED = 9
"""Respondents whose markers are still told apart in one picture."""

MOST_LINES = 40
"""Respondents that a picture with a line for each can hold."""

_MODELS = tuple(colour for colour in PALETTE[1:] if colour != ORANGE)
"""Colours of models: orange is for people."""

_WHOLE: dict[str, Any] = {"clip_on": False, "in_layout": False}
"""For markers: one at an end of the scale is drawn whole, and no layout makes room for it (an empty
line that is not clipped would claim the figure's corner)."""

_WIDTH = 5.2  # with a phone's width its letters are still read


def draw_scorecard(
    path: str | Path,
    *,
    respondents: Sequence[str],
    criteria: Sequence[str],
    mean: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    is_person: Sequence[bool],
    scale: tuple[float, float],
) -> tuple[Path, ...]:
    """Draws means with intervals by criterion and respondent; returns PNG and SVG.

    Filled markers are models, open diamonds people, after figure 3 of the SCRuB paper.

    Args:
        path: without suffix.
        respondents: at most `MOST_MARKED` of them.
        criteria: one line each.
        mean, low, high: shape (respondents, criteria).
        is_person: which respondents are people.
        scale: ends of the scale; the axis shows what is needed of it, at least a third.
    """
    means, lows, highs = (np.asarray(given, dtype=float) for given in (mean, low, high))
    n = len(respondents)
    names = [short_name(name, 50) for name in respondents]
    height = 0.95 + _legend_height(names) + len(criteria) * (0.28 + 0.13 * n)
    with style():
        figure = new_figure(_WIDTH, height)
        axes = figure.add_subplot()
        for who, name in enumerate(names):
            y = np.arange(len(criteria)) + (who - (n - 1) / 2) * 0.8 / max(n, 2)
            colour = ORANGE if is_person[who] else _MODELS[who % len(_MODELS)]
            marker = "D" if is_person[who] else MARKERS[who % len(MARKERS)]
            _whiskers(axes, lows[who], highs[who], y, colour)
            axes.plot(
                means[who], y, marker, color=colour, markersize=6, linestyle="none",
                markerfacecolor="white" if is_person[who] else colour,
                label=name, **_WHOLE,
            )  # fmt: skip
        axes.set_yticks(range(len(criteria)), [folded_name(name, 16) for name in criteria])
        axes.set_ylim(len(criteria) - 0.5, -0.5)
        for line in np.arange(len(criteria) - 1) + 0.5:
            axes.axhline(line, color=GREY, linewidth=0.4)
        _score_axis(axes, [means, lows, highs], scale)
        _legend_above(figure, axes)
        return save(figure, path)


def draw_ranking(
    path: str | Path,
    *,
    respondents: Sequence[str],
    composite: npt.ArrayLike,
    rank: npt.ArrayLike,
    scale: tuple[float, float],
) -> tuple[Path, ...]:
    """Draws composites, and mean ranks where there are any, a line each; returns PNG and SVG.

    Args:
        path: without suffix.
        respondents: in the order of the lines, best first; at most `MOST_LINES`.
        composite: shape (respondents, 3): mean, low, high.
        rank: the same of mean ranks; all nan for none.
        scale: see `draw_scorecard`.
    """
    scores, ranks = np.asarray(composite, dtype=float), np.asarray(rank, dtype=float)
    has_ranks = not bool(np.isnan(ranks).all())
    y = np.arange(len(respondents))
    with style():
        figure = new_figure(_WIDTH, 0.8 + 0.24 * len(respondents))
        panels = figure.subplots(1, 2 if has_ranks else 1, sharey=True, squeeze=False)[0]
        for axes, table in zip(panels, (scores, ranks), strict=False):
            _whiskers(axes, table[:, 1], table[:, 2], y, BLUE)
            has = ~np.isnan(table[:, 1])
            axes.plot(table[has, 0], y[has], "o", color=BLUE, markersize=5, **_WHOLE)
            axes.plot(table[~has, 0], y[~has], "o", color=BLUE, markersize=5, mfc="white", **_WHOLE)
            axes.grid(axis="x", color=GREY, linewidth=0.3)
            axes.set_axisbelow(True)
        panels[0].set_yticks(y, [short_name(name, 26) for name in respondents], fontsize=8)
        panels[0].set_ylim(len(respondents) - 0.5, -0.5)
        _score_axis(panels[0], [scores], scale)
        panels[0].set_xlabel("mean composite", fontsize=8)
        if has_ranks:
            panels[1].set_xlabel("mean rank, 1 = best", fontsize=8)
        return save(figure, path)


def draw_distribution(
    path: str | Path,
    *,
    groups: Sequence[str],
    values: Sequence[npt.ArrayLike],
    scale: tuple[float, float],
) -> tuple[Path, ...]:
    """Draws how composites are spread, a box plot a group; returns PNG and SVG.

    Args:
        path: without suffix.
        groups: names, at most `MOST_LINES`.
        values: the composites of each group.
        scale: the whole of it is shown.
    """
    arrays = [np.asarray(given, dtype=float) for given in values]
    known = [array[~np.isnan(array)] for array in arrays]
    with style():
        figure = new_figure(_WIDTH, 0.8 + 0.3 * len(groups))
        axes = figure.add_subplot()
        for place, array in enumerate(known):
            if array.size:
                _box(axes, place, array)
        labels = [f"{short_name(n, 26)} ({len(v)})" for n, v in zip(groups, known, strict=True)]
        axes.set_yticks(range(len(groups)), labels, fontsize=8)
        axes.set_ylim(len(groups) - 0.4, -0.6)
        axes.set_xlim(*scale)
        axes.set_xlabel("composite of a response")
        axes.grid(axis="x", color=GREY, linewidth=0.3)
        axes.set_axisbelow(True)
        return save(figure, path)


def draw_two_axes(
    path: str | Path,
    *,
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    names: tuple[str, str],
    scale: tuple[float, float],
) -> tuple[Path, ...]:
    """Draws the means of two axes of personas against one another; returns PNG and SVG.

    Responses are counted in squares of a fortieth of the scale; the area of a mark says how many
    stand there. On the dashed line both axes say the same.

    Args:
        path: without suffix.
        x, y: shape (responses,).
        names: of the two axes.
        scale: ends of the scale.
    """
    left, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    known = ~(np.isnan(left) | np.isnan(up))
    step = (scale[1] - scale[0]) / 40
    grid = np.round(np.column_stack([left[known], up[known]]) / step)
    places, number = np.unique(grid, axis=0, return_counts=True)
    with style():
        figure = new_figure(4.4, 4.2)
        axes = figure.add_subplot()
        axes.plot(scale, scale, "--", color=GREY, linewidth=1)
        if len(places):
            size = 10 + 120 * number / max(12, number.max())
            axes.scatter(
                places[:, 0] * step, places[:, 1] * step, s=size, color=BLUE, alpha=0.75,
                edgecolors="white", linewidths=0.4, **_WHOLE,
            )  # fmt: skip
            both = np.concatenate([left[known], up[known]])
            low, high = _stretch(both, scale)
            axes.set_xlim(low, high)
            axes.set_ylim(low, high)
        axes.set_aspect("equal")
        axes.set_xlabel(f"mean of the {short_name(names[0], 30)} personas")
        axes.set_ylabel(f"mean of the {short_name(names[1], 30)} personas")
        return save(figure, path)


def draw_differences(
    path: str | Path,
    *,
    labels: Sequence[str],
    criteria: Sequence[str],
    mean: npt.ArrayLike,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
) -> tuple[Path, ...]:
    """Draws differences with intervals around a line at 0; returns PNG and SVG.

    Args:
        path: without suffix.
        labels: what each marker is the difference of; at most `MOST_MARKED`.
        criteria: one line each.
        mean, low, high: shape (labels, criteria).
    """
    means, lows, highs = (np.asarray(given, dtype=float) for given in (mean, low, high))
    n = len(labels)
    names = [short_name(label, 60) for label in labels]
    height = 0.95 + _legend_height(names) + len(criteria) * (0.28 + 0.13 * n)
    with style():
        figure = new_figure(_WIDTH, height)
        axes = figure.add_subplot()
        for at, name in enumerate(names):
            y = np.arange(len(criteria)) + (at - (n - 1) / 2) * 0.8 / max(n, 2)
            colour = PALETTE[1:][at % (len(PALETTE) - 1)]
            _whiskers(axes, lows[at], highs[at], y, colour)
            axes.plot(
                means[at], y, MARKERS[at % len(MARKERS)], color=colour, markersize=6,
                linestyle="none", label=name, **_WHOLE,
            )  # fmt: skip
        axes.axvline(0, color="black", linewidth=1)
        axes.set_yticks(range(len(criteria)), [folded_name(name, 16) for name in criteria])
        axes.set_ylim(len(criteria) - 0.5, -0.5)
        axes.set_xlabel("difference in points")
        axes.grid(axis="x", color=GREY, linewidth=0.3)
        axes.set_axisbelow(True)
        _legend_above(figure, axes)
        return save(figure, path)


def draw_agreement(
    path: str | Path, *, names: Sequence[str], groups: Sequence[str], tau: npt.ArrayLike
) -> tuple[Path, ...]:
    """Draws the agreement of personas as a heat map with its numbers; returns PNG and SVG.

    Args:
        path: without suffix.
        names: the personas.
        groups: their axes; a line parts neighbours of different ones.
        tau: shape (personas, personas); nan is left grey.
    """
    from matplotlib.colors import LinearSegmentedColormap

    table = np.asarray(tau, dtype=float)
    n = len(names)
    with style():
        labels = [short_name(name.replace("_", " "), 30) for name in names]
        longest = max(map(len, labels))
        # Room for the names: level on the left, aslant above and beyond the last column.
        figure = new_figure(0.5 + 0.14 * longest + 0.5 * n, 0.6 + 0.06 * longest + 0.4 * n)
        axes = figure.add_subplot()
        colours = LinearSegmentedColormap.from_list(
            "agreement", ["#C65D1E", "#F7F7F7", "#2166AC"]
        ).with_extremes(bad="#DDDDDD")
        axes.pcolormesh(
            np.ma.masked_invalid(table), cmap=colours, vmin=-1, vmax=1, edgecolors="white",
            linewidth=1,
        )  # fmt: skip
        for (row, column), value in np.ndenumerate(table):
            text = "–" if np.isnan(value) else f"{value + 0.0:.2f}"
            is_dark = not np.isnan(value) and abs(value) > 0.85
            axes.text(
                column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7.5,
                color=ON_DARK if is_dark else ON_COLOUR,
            )  # fmt: skip
        for place in range(1, n):
            if groups[place] != groups[place - 1]:
                axes.axhline(place, color="black", linewidth=1.6)
                axes.axvline(place, color="black", linewidth=1.6)
        middle = np.arange(n) + 0.5
        axes.set_yticks(middle, labels, fontsize=8)
        axes.set_xticks(middle, labels, fontsize=8, rotation=45, ha="left", rotation_mode="anchor")
        axes.xaxis.tick_top()
        axes.set_ylim(n, 0)
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        return save(figure, path)


def _box(axes: Any, place: int, values: npt.NDArray[np.float64]) -> None:
    ends = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
    axes.hlines(place, ends[0], ends[4], color=BLUE, linewidth=1.3)
    axes.barh(
        place, ends[3] - ends[1], 0.55, left=ends[1], color=PALETTE[2], edgecolor=BLUE, zorder=2
    )
    axes.vlines(ends[2], place - 0.275, place + 0.275, color=ON_COLOUR, linewidth=2, zorder=3)


def _whiskers(axes: Any, low: Any, high: Any, y: Any, colour: str) -> None:
    has = ~(np.isnan(low) | np.isnan(high))
    axes.hlines(y[has], low[has], high[has], color=colour, linewidth=1.3)


def _stretch(values: npt.NDArray[np.float64], scale: tuple[float, float]) -> tuple[float, float]:
    """Round ends around the values, inside the scale, at least a third of it apart."""
    known = values[~np.isnan(values)]
    if not known.size:
        return scale
    step = (scale[1] - scale[0]) / 18
    low = max(scale[0], np.floor(known.min() / step - 0.5) * step)
    high = min(scale[1], np.ceil(known.max() / step + 0.5) * step)
    missing = (scale[1] - scale[0]) / 3 - (high - low)
    if missing > 0:
        low, high = max(scale[0], low - missing / 2), min(scale[1], high + missing / 2)
    return float(low), float(high)


def _score_axis(axes: Any, drawn: Sequence[Any], scale: tuple[float, float]) -> None:
    values = np.concatenate([np.ravel(given) for given in drawn])
    axes.set_xlim(*_stretch(values, scale))
    axes.set_xlabel(f"mean score ({scale[0]:g} to {scale[1]:g})")
    axes.grid(axis="x", color=GREY, linewidth=0.3)
    axes.set_axisbelow(True)


def _legend_above(figure: Any, axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    columns = _legend_columns(labels)
    strip = 0.12 + _legend_height(labels)
    figure.get_layout_engine().set(rect=(0, 0, 1, 1 - strip / figure.get_figheight()))
    figure.legend(handles, labels, loc="upper center", ncols=columns, fontsize=8)


def _legend_columns(labels: Sequence[str]) -> int:
    return 2 if len(labels) > 1 and max(map(len, labels)) <= 26 else 1


def _legend_height(labels: Sequence[str]) -> float:
    """Inches that the legend takes above a drawing."""
    return 0.2 * -(-len(labels) // _legend_columns(labels))
