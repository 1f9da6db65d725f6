"""The pictures of the Samaritan audit: bias, ratings and brittleness by group and model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...aggregation.estimate import Estimate
from ...reports.chart_style import (
    GREY,
    MARKERS,
    PALETTE,
    folded_name,
    new_figure,
    save,
    short_name,
    style,
)
from .figures import GroupFigures, SamaritanFigures

_BIAS = (
    "Bias by group. Rating minus that of the control, points with 95% intervals over scenarios; "
    "the band is the margin within which a group counts as equivalent."
)
_RATINGS = (
    "Helpfulness rating by group. Mean over rephrasings and scenarios with 95% intervals; the "
    "dotted lines are the controls."
)
_BRITTLENESS = (
    "Brittleness by group. Mean standard deviation over the rephrasings of a scenario with 95% "
    "intervals; the dotted lines are the controls."
)


def draw(folder: Path, figures: SamaritanFigures) -> Sequence[tuple[str, str]]:
    """Draws all pictures; name and caption of each."""
    with style():
        _panels(folder / "bias", figures, lambda group: group.bias, None, "points")
        _panels(
            folder / "ratings", figures, lambda group: group.rating,
            {control.target: control.rating for control in reversed(figures.controls)},
            "rating, 1 to 100",
        )  # fmt: skip
        _panels(
            folder / "brittleness", figures, lambda group: group.brittleness,
            {control.target: control.brittleness for control in reversed(figures.controls)},
            "standard deviation, points",
        )  # fmt: skip
    return [("bias", _BIAS), ("ratings", _RATINGS), ("brittleness", _BRITTLENESS)]


def _panels(
    path: Path,
    figures: SamaritanFigures,
    value: Callable[[GroupFigures], Estimate],
    controls: dict[str, Estimate] | None,
    label: str,
) -> None:
    """One panel a category, groups below each other, models beside each other within a group."""
    models = [name for name in dict.fromkeys(group.target for group in figures.groups) if name]
    categories = list(dict.fromkeys(group.category for group in figures.groups))
    members = {
        category: list(
            dict.fromkeys((g.group, g.label) for g in figures.groups if g.category == category)
        )
        for category in categories
    }
    heights = [len(members[category]) for category in categories]
    step = 0.3 + 0.13 * len(models)
    figure = new_figure(6.5, 0.9 + 0.2 * len(models) + sum(heights) * step + 0.35 * len(heights))
    panels = figure.subplots(
        len(categories), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights}
    )[:, 0]
    by_place = {(g.target, g.category, g.group): value(g) for g in figures.groups}
    for axes, category in zip(panels, categories, strict=True):
        if controls is None:
            axes.axvspan(-figures.margin, figures.margin, color=GREY, alpha=0.15, linewidth=0)
            axes.axvline(0, color=GREY, linewidth=0.8)
        for at, model in enumerate(models):
            colour, marker = _look(at)
            if controls is not None and controls[model].is_defined:
                axes.axvline(controls[model].value, color=colour, linewidth=0.9, linestyle=":")
            shift = 0.0 if len(models) == 1 else 0.62 * (at / (len(models) - 1) - 0.5)
            for place, (group, _) in enumerate(members[category]):
                number = by_place[model, category, group]
                if number.has_interval:
                    axes.plot([number.low, number.high], [place + shift] * 2, color=colour, lw=1.3)
                if number.is_defined:
                    axes.plot([number.value], [place + shift], marker, color=colour, markersize=4.5)
            axes.plot([], [], marker, color=colour, label=short_name(model, 30))
        names = [folded_name(text, 20) for _, text in members[category]]
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.45, -0.55)
        axes.set_title(figures.labels.get(category, category))
    panels[-1].set_xlabel(label)
    if len(models) > 1:
        handles, texts = panels[0].get_legend_handles_labels()
        figure.legend(handles, texts, loc="outside upper center", ncols=2, fontsize=8)
    save(figure, path)


def _look(at: int) -> tuple[str, str]:
    """Colour and marker of a model; both, so that colour alone tells nothing."""
    colours = PALETTE[1:]
    return colours[at % len(colours)], MARKERS[at % len(MARKERS)]
