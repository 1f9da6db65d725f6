"""The pictures of an attack: shifts by family, and what the detectors find."""

from __future__ import annotations

from pathlib import Path

from ..aggregation.estimate import Estimate
from .figures import AttackFigures

WIDTH = 5.2


def draw_attack(folder: Path, figures: AttackFigures) -> None:
    """Draws families.png/.svg and detectors.png/.svg."""
    _draw_families(folder / "families", figures)
    _draw_detectors(folder / "detectors", figures)


def _draw_families(path: Path, figures: AttackFigures) -> None:
    from ..reports.chart_style import BLUE, GREY, ORANGE, new_figure, save, short_name, style

    rows = [
        (
            family.id,
            family.all.beyond_control if family.all.beyond_control.is_defined else family.all.shift,
            family.all.shift,
            family.asks == "lowest",
        )
        for family in figures.families
    ]
    if figures.benign:
        benign = figures.benign[0].shift
        rows.append(("harmless prose − clean", benign, benign, False))
    with style():
        figure = new_figure(WIDTH, 0.9 + 0.21 * len(rows))
        axes = figure.add_subplot()
        for place, (_, shift, raw, is_lowering) in enumerate(rows):
            if raw.is_defined and raw is not shift:
                axes.plot(raw.value, place, "x", color=GREY, markersize=5, zorder=3)
            if not shift.is_defined:
                continue
            colour = ORANGE if is_lowering else BLUE
            if shift.has_interval:
                axes.plot([shift.low, shift.high], [place, place], color=colour, linewidth=1.4)
            axes.plot(
                shift.value, place, "D" if is_lowering else "o", color=colour, markersize=5,
                markerfacecolor="white" if is_lowering else colour,
            )  # fmt: skip
        axes.axvline(0, color=GREY, linestyle="--", linewidth=1)
        names = [short_name(name.replace("_", " "), 26) for name, *_ in rows]
        axes.set_yticks(range(len(rows)), names, fontsize=8)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel("points beyond harmless prose (grey: raw shift)")
        axes.grid(axis="x", color=GREY, linewidth=0.3)
        axes.set_axisbelow(True)
        save(figure, path)


def _draw_detectors(path: Path, figures: AttackFigures) -> None:
    from ..reports.chart_style import BLUE, GREY, ON_COLOUR, new_figure, save, short_name, style

    rows: list[tuple[str, Estimate]] = [
        (family.id, family.flagged) for family in figures.families if family.flagged.is_defined
    ]
    with style():
        figure = new_figure(WIDTH, 0.9 + 0.21 * len(rows))
        axes = figure.add_subplot()
        for place, (_, flagged) in enumerate(rows):
            axes.barh(place, flagged.value, 0.62, color=BLUE, edgecolor=ON_COLOUR, linewidth=0.4)
        names = [short_name(name.replace("_", " "), 26) for name, _ in rows]
        axes.set_yticks(range(len(rows)), names, fontsize=8)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of attacked responses newly flagged")
        axes.grid(axis="x", color=GREY, linewidth=0.3)
        axes.set_axisbelow(True)
        save(figure, path)
