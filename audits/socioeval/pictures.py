"""The pictures of SocioEval: rates by model, by theme and pair, and the response strategies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...reports.chart_style import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    HATCHES,
    ON_COLOUR,
    ON_DARK,
    ORANGE,
    PURPLE,
    SKY,
    folded_name,
    new_figure,
    save,
    short_name,
    style,
)
from .categories import CATEGORIES, LABELS
from .figures import SocioEvalFigures

_RATES = (
    "Bias rate by model. Points with 95% intervals over answers (thin, as in the paper) and with "
    "the template as the unit (thick)."
)
_CELLS = (
    "Bias rate by theme and pair of classes{whose}. The number is the rate in per cent, a cross "
    "marks a cell without an answer."
)
_SHARES = (
    "Response strategies by model. Shares of the six categories among answers with one; the three "
    "to the right are the biased ones."
)
_MOST_MODELS = 6
_COLOURS = (GREEN, SKY, BLUE, AMBER, ORANGE, PURPLE)


def draw(folder: Path, figures: SocioEvalFigures) -> Sequence[tuple[str, str]]:
    """Draws all pictures; name and caption of each."""
    rates, strategies = folder / "bias_rate", folder / "strategies"
    with style():
        _rates(rates, figures)
        cells = _cells(folder, figures)
        _strategies(strategies, figures)
    return [(rates.name, _RATES), *cells, (strategies.name, _SHARES)]


def _cells(folder: Path, figures: SocioEvalFigures) -> list[tuple[str, str]]:
    """Rates by theme and pair: one picture a model."""
    targets = [model.target for model in figures.models]
    if len(targets) == 1:
        path = folder / "theme_by_pair"
        _theme_by_pair(path, figures, "")
        return [(path.name, _CELLS.format(whose=""))]
    found = []
    for number, target in enumerate(targets[:_MOST_MODELS]):
        path = folder / f"theme_by_pair_{number}"
        _theme_by_pair(path, figures, target)
        found.append((path.name, _CELLS.format(whose=f", {short_name(target, 40)}")))
    return found


def _rates(path: Path, figures: SocioEvalFigures) -> None:
    models = figures.models
    figure = new_figure(6.5, 1.2 + 0.32 * len(models))
    axes = figure.subplots()
    for place, model in enumerate(models):
        for number, width, colour in (
            (model.bias_rate_clustered, 4.0, SKY),
            (model.bias_rate, 1.2, BLUE),
        ):
            if number.has_interval:
                axes.plot([number.low, number.high], [place] * 2, color=colour, linewidth=width)
        if model.bias_rate.is_defined:
            axes.plot([model.bias_rate.value], [place], "o", color=BLUE, markersize=5)
        else:
            axes.plot([0], [place], "x", color=GREY)
    axes.set_yticks(range(len(models)), [short_name(model.target, 34) for model in models])
    axes.invert_yaxis()
    axes.set_xlim(-0.01, 1.01)
    axes.set_xlabel("share of biased answers")
    save(figure, path)


def _theme_by_pair(path: Path, figures: SocioEvalFigures, target: str) -> None:
    cells = {
        tuple(one.value.split(" x ")): one.rate.value
        for one in figures.slices
        if one.by == "theme x pair" and one.target == target
    }
    themes = [
        (one.value, one.label) for one in figures.slices if one.by == "theme" and not one.target
    ]
    pairs = [
        (one.value, one.label) for one in figures.slices if one.by == "pair" and not one.target
    ]
    rates = np.asarray(
        [[cells.get((theme, pair), np.nan) for pair, _ in pairs] for theme, _ in themes]
    )
    figure = new_figure(2.6 + 0.85 * len(pairs), 1.6 + 0.36 * len(themes))
    axes = figure.subplots()
    axes.imshow(np.nan_to_num(rates), vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for (row, column), rate in np.ndenumerate(rates):
        text = "×" if np.isnan(rate) else f"{100 * rate:.0f}"
        ink = ON_DARK if rate > 0.55 else ON_COLOUR
        axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8)
    axes.set_yticks(range(len(themes)), [folded_name(label, 24) for _, label in themes])
    axes.set_xticks(range(len(pairs)), [_stacked(label) for _, label in pairs], fontsize=7)
    save(figure, path)


def _strategies(path: Path, figures: SocioEvalFigures) -> None:
    models = figures.models
    figure = new_figure(6.5, 1.7 + 0.34 * len(models))
    axes = figure.subplots()
    left = np.zeros(len(models))
    for place, category in enumerate(CATEGORIES):
        share = np.nan_to_num([model.strategies[category].value for model in models])
        axes.barh(
            range(len(models)), share, left=left, color=_COLOURS[place], hatch=HATCHES[place],
            edgecolor="white", linewidth=0.4, label=LABELS[category], height=0.7,
        )  # fmt: skip
        left = left + share
    axes.set_yticks(range(len(models)), [short_name(model.target, 34) for model in models])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of answers")
    figure.legend(loc="outside upper center", ncols=3, fontsize=8)
    save(figure, path)


def _stacked(label: str) -> str:
    """A pair's name with each class on lines of its own."""
    lower, _, higher = label.partition(" / ")
    parts = (lower.removesuffix(" class"), f"/ {higher}".removesuffix(" class"))
    return "\n".join(folded_name(part, 15, most_lines=3) for part in parts)
