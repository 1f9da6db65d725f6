"""The pictures of the hidden-bias audit: what is flagged against chance, and the gaps by type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...reports.chart_style import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    new_figure,
    save,
    short_name,
    style,
)
from .figures import Cell, HiddenBiasFigures

_FLAGGED = (
    "Share of test instances flagged by the paper's rule, by type of descriptor. Points: the "
    "share; grey bars: the range in which it falls in 95% of deals of the same answers over the "
    "identities."
)
_GAPS = (
    "Gap by type of descriptor, without what chance adds to it: root of the mean squared gap in "
    "points, 95% intervals with the concept pair as unit."
)
_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, AMBER)


def draw(folder: Path, figures: HiddenBiasFigures) -> Sequence[tuple[str, str]]:
    """Draws both pictures; name and caption of each. None without a type."""
    if not any(_types(figures, at) for at in range(len(figures.targets))):
        return []
    flagged, gaps = folder / "flagged", folder / "gaps"
    with style():
        _draw_flagged(flagged, figures)
        _draw_gaps(gaps, figures)
    return [(flagged.name, _FLAGGED), (gaps.name, _GAPS)]


def _types(figures: HiddenBiasFigures, at: int) -> list[Cell]:
    return [cell for cell in figures.targets[at].cells if cell.level == "type"]


def _axes(figures: HiddenBiasFigures) -> tuple[Any, Any, list[str]]:
    labels = [cell.label for cell in _types(figures, 0)]
    height = 1.6 + (0.16 + 0.14 * len(figures.targets)) * max(len(labels), 3)
    figure = new_figure(6.5, min(height, 14))
    return figure, figure.subplots(), labels


def _place(row: int, at: int, n: int) -> float:
    return row + (at - (n - 1) / 2) * 0.7 / max(n, 1)


def _draw_flagged(path: Path, figures: HiddenBiasFigures) -> None:
    figure, axes, labels = _axes(figures)
    n = len(figures.targets)
    for at, target in enumerate(figures.targets):
        for row, cell in enumerate(_types(figures, at)):
            y = _place(row, at, n)
            if not cell.measured:
                axes.plot([0], [y], "x", color=GREY)
                continue
            chance = cell.chance_flagged
            if chance.has_interval:
                axes.plot(
                    [100 * chance.low / cell.measured, 100 * chance.high / cell.measured],
                    [y, y], color=GREY, alpha=0.5, linewidth=5, solid_capstyle="butt",
                )  # fmt: skip
            axes.plot(
                [100 * cell.flagged / cell.measured], [y], "o", markersize=4,
                color=_COLOURS[at % len(_COLOURS)],
                label=short_name(target.target, 30) if row == 0 else None,
            )  # fmt: skip
    _finish(figure, axes, labels, "flagged, per cent of test instances", n)
    axes.set_xlim(-2, 102)
    save(figure, path)


def _draw_gaps(path: Path, figures: HiddenBiasFigures) -> None:
    figure, axes, labels = _axes(figures)
    n = len(figures.targets)
    for at, target in enumerate(figures.targets):
        colour = _COLOURS[at % len(_COLOURS)]
        for row, cell in enumerate(_types(figures, at)):
            y = _place(row, at, n)
            if not cell.gap.is_defined:
                axes.plot([0], [y], "x", color=GREY)
                continue
            if cell.gap.has_interval:
                axes.plot([cell.gap.low, cell.gap.high], [y, y], color=colour, linewidth=1.2)
            axes.plot(
                [cell.gap.value], [y], "o", markersize=4, color=colour,
                label=short_name(target.target, 30) if row == 0 else None,
            )  # fmt: skip
    _finish(figure, axes, labels, "gap in points", n)
    axes.set_xlim(-2, min(max(axes.get_xlim()[1], 2), 102))
    save(figure, path)


def _finish(figure: Any, axes: Any, labels: list[str], what: str, n: int) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.invert_yaxis()
    axes.set_xlabel(what)
    if n > 1:
        figure.legend(loc="outside upper center", ncols=2, fontsize=8)
