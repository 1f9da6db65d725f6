"""The two pictures of a stress test: the scorecard, and the heat map of the degradation.

They follow figure 10 of the SCRuB paper: (a) scores under the conditions, (b) deltas with their
mean column.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .chart_style import (
    BLACK,
    GREY,
    HATCHES,
    ON_COLOUR,
    ON_DARK,
    PALETTE,
    folded_name,
    new_figure,
    save,
    short_name,
    style,
)

Floats = npt.NDArray[np.float64]

DEMONSTRATION_MARK = "DEMONSTRATION: embedded stand-ins took part; these are no findings"
_LINE_INCHES = 0.19


def draw_scorecard(
    path: str | Path,
    *,
    targets: Sequence[str],
    conditions: Sequence[str],
    dimensions: Sequence[str],
    mean: npt.ArrayLike,
    se: npt.ArrayLike,
    baseline: str,
    scale: tuple[float, float],
    is_demonstration: bool = False,
) -> tuple[Path, ...]:
    """Draws mean scores by dimension and condition, one panel a target; returns PNG and SVG.

    Bars are means over prompts, error bars one standard error over prompts; a black tick across
    each group marks the baseline's mean. A missing mean is a cross on the axis.

    Args:
        path: without suffix.
        targets, conditions, dimensions: names of the axes.
        mean, se: shape (targets, conditions, dimensions); nan = not measured.
        baseline: which condition the ticks mark.
        scale: ends of the scale.
        is_demonstration: whether an embedded stand-in took part; the picture says so itself, for
            it is shown without its report.
    """
    means, errors = np.asarray(mean, dtype=float), np.asarray(se, dtype=float)
    columns = 1 if len(targets) == 1 else 2
    rows = -(-len(targets) // columns)
    width = max(6.5, 1.3 * len(dimensions) + 0.5) * (1 if columns == 1 else 1.75)
    with style():
        legend_rows = -(-len(conditions) // 5)
        strip = 0.12 + 0.18 * legend_rows
        notes = [DEMONSTRATION_MARK] if is_demonstration else []
        foot = _LINE_INCHES * len(notes)
        figure = new_figure(width, 0.6 + strip + foot + 2.6 * rows)
        for at, target in enumerate(targets):
            axes = figure.add_subplot(rows, columns, at + 1)
            _bars(axes, means[at], errors[at], conditions, dimensions, baseline, scale)
            axes.set_title(short_name(target, 60))
            if at % columns == 0:
                axes.set_ylabel(f"mean score ({scale[0]:g} to {scale[1]:g})")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        # The legend has a strip of its own: a legend outside lets constrained layout collapse.
        tall = figure.get_figheight()
        figure.get_layout_engine().set(rect=(0, foot / tall, 1, 1 - (strip + foot) / tall))
        _write_notes(figure, notes)
        figure.legend(handles, labels, loc="upper center", ncols=min(5, len(labels)), fontsize=8)
        return save(figure, path)


def _write_notes(figure: Any, notes: Sequence[str]) -> None:
    """Lines at the foot, below what the layout may use."""
    tall = figure.get_figheight()
    for line, note in enumerate(reversed(notes)):
        is_mark = note == DEMONSTRATION_MARK
        figure.text(
            0.01, (0.05 + _LINE_INCHES * line) / tall, note, ha="left", va="bottom", fontsize=7.5,
            color=BLACK, fontweight="bold" if is_mark else "normal",
        )  # fmt: skip


def _bars(
    axes: Any,
    mean: Floats,
    error: Floats,
    conditions: Sequence[str],
    dimensions: Sequence[str],
    baseline: str,
    scale: tuple[float, float],
) -> None:
    low, high = scale
    width = 0.84 / len(conditions)
    places = np.arange(len(dimensions))
    for at, condition in enumerate(conditions):
        x = places - 0.42 + width * (at + 0.5)
        known = ~np.isnan(mean[at])
        axes.bar(
            x[known], mean[at][known] - low, width * 0.92, bottom=low,
            yerr=np.nan_to_num(error[at][known]), color=PALETTE[at % len(PALETTE)],
            hatch=HATCHES[at % len(HATCHES)], edgecolor="white", linewidth=0.3,
            error_kw={"elinewidth": 0.9, "capsize": 1.5},
            label=short_name(condition.replace("_", " "), 30),
        )  # fmt: skip
        if not known.all():  # an empty artist without a clip upsets the layout
            axes.plot(x[~known], np.full((~known).sum(), low), "x", color=GREY, clip_on=False)
    ticks = mean[list(conditions).index(baseline)]
    axes.hlines(
        ticks, places - 0.42, places + 0.42, color=BLACK, linewidth=1.0, linestyle=(0, (4, 2))
    )
    axes.set_xticks(places, [folded_name(name, 14) for name in dimensions], fontsize=8)
    axes.set_ylim(low, high)
    axes.set_xlim(-0.5, len(dimensions) - 0.5)


def draw_delta_heatmap(
    path: str | Path,
    *,
    targets: Sequence[str],
    conditions: Sequence[str],
    dimensions: Sequence[str],
    delta: npt.ArrayLike,
    mean_column: npt.ArrayLike,
    bold_at: float = 1.2,
    labels: npt.ArrayLike | None = None,
    labels_say: str = "",
    is_demonstration: bool = False,
) -> tuple[Path, ...]:
    """Draws deltas (baseline minus variant) by framing and dimension; returns PNG and SVG.

    The number stands in every cell, so that nothing hangs on colour: orange and a plus are a loss,
    blue and a minus a gain, both the darker the larger. Cells at `bold_at` points or more have a
    bold border.

    Args:
        path: without suffix.
        targets, conditions, dimensions: names of the axes.
        delta: shape (targets, conditions, dimensions), points; nan = undefined.
        mean_column: shape (targets, conditions), the mean over dimensions.
        bold_at: points from which the border is bold.
        labels: shape of delta, marks put behind the number, such as * for changed cells.
        labels_say: what those marks mean, for the picture's foot.
        is_demonstration: as for the scorecard.
    """
    deltas = np.asarray(delta, dtype=float)
    means = np.asarray(mean_column, dtype=float)[:, :, None]
    table = np.concatenate([deltas, means], axis=2)
    marks = np.full(table.shape, "", dtype=object)
    if labels is not None:
        marks[:, :, :-1] = np.asarray(labels, dtype=object)
    columns = 1 if len(targets) == 1 else 2
    rows = -(-len(targets) // columns)
    shown = np.abs(table[~np.isnan(table)])
    limit = max(float(shown.max()) if shown.size else 0.0, bold_at)
    width = (1.8 + 0.82 * table.shape[2]) * columns + 0.6
    with style():
        notes = [labels_say] if labels_say else []
        notes += [DEMONSTRATION_MARK] if is_demonstration else []
        foot = _LINE_INCHES * len(notes)
        tall = max(2.1, rows * (1.0 + 0.42 * len(conditions)) + 0.3) + foot
        figure = new_figure(width, tall)
        if notes:
            figure.get_layout_engine().set(rect=(0, foot / tall, 1, 1 - foot / tall))
        image = None
        for at, target in enumerate(targets):
            axes = figure.add_subplot(rows, columns, at + 1)
            image = _heat(axes, table[at], marks[at], limit, bold_at)
            names = [*(folded_name(name, 14) for name in dimensions), "mean"]
            axes.set_xticks(range(len(names)), names, fontsize=7.5)
            axes.xaxis.tick_top()
            axes.set_yticks(
                range(len(conditions)), [folded_name(name, 18) for name in conditions], fontsize=8
            )
            axes.set_title(short_name(target, 58))
        bar = figure.colorbar(image, ax=figure.axes, shrink=min(0.9, 4.5 / tall), pad=0.02)
        bar.set_label("delta in points\n(positive: worse)", fontsize=7.5)
        _write_notes(figure, notes)
        return save(figure, path)


def _heat(axes: Any, table: Floats, marks: Any, limit: float, bold_at: float) -> Any:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    colours = LinearSegmentedColormap.from_list(
        "delta", ["#2166AC", "#F7F7F7", "#C65D1E"]
    ).with_extremes(bad="#DDDDDD")
    image = axes.imshow(
        np.ma.masked_invalid(table), cmap=colours, vmin=-limit, vmax=limit, aspect="auto"
    )
    for (row, column), value in np.ndenumerate(table):
        # Without 0.0 a rounded-away loss would read as a minus nought.
        points = f"{round(float(value), 2) + 0.0:+.2f}"
        text = "–" if np.isnan(value) else f"{points}{marks[row, column]}"
        is_dark = not np.isnan(value) and abs(value) > 0.85 * limit
        is_bold = not np.isnan(value) and abs(value) >= bold_at
        axes.text(
            column, row, text, ha="center", va="center", fontsize=8,
            color=ON_DARK if is_dark else ON_COLOUR, fontweight="bold" if is_bold else "normal",
        )  # fmt: skip
        if is_bold:
            axes.add_patch(
                Rectangle(
                    (column - 0.47, row - 0.45),
                    0.94,
                    0.9,
                    fill=False,
                    edgecolor=ON_COLOUR,
                    linewidth=2,
                )
            )
    axes.axvline(table.shape[1] - 1.5, color=BLACK, linewidth=1.2)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image
