"""The drawing of the map: one panel a source."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .projection import Points, hull

if TYPE_CHECKING:
    from .map import Embedded, PromptMap

_MOST_INNER = 60
"""Hulls of single scenarios are drawn up to so many a panel; more would hide everything else."""
_LABELLED = 1
_LABEL_WIDTH = 24


def draw_map(
    path: Path,
    items: Sequence[Embedded],
    coordinates: Mapping[str, Points],
    figures: PromptMap,
    generators: Sequence[str],
) -> bool:
    """Draws PATH.png and PATH.svg; whether there was anything to draw.

    Scenarios are diamonds, prompts markers on arms from them; faint hulls go round a generator's
    prompts for one scenario, bold ones round all of its prompts; the prompts farthest out carry
    the label of their angle.

    Raises:
        StoreError: they cannot be written.
    """
    if not coordinates:
        return False
    from ..reports import figure_style as drawn
    from ..reports.figure_style import BLACK, MARKERS, new_figure, save, short_name, style

    # Not the palette's own order: neighbours in it are of one hue.
    colours = (drawn.BLUE, drawn.ORANGE, drawn.GREEN, drawn.PURPLE, drawn.AMBER, drawn.SKY)
    with style():
        made = new_figure(4.8 * len(coordinates), 5.2)
        for number, (source, points) in enumerate(coordinates.items(), start=1):
            axes = made.add_subplot(1, len(coordinates), number)
            mine = [item for item in items if item.source == source]
            homes = {item.name: points[at] for at, item in enumerate(mine) if not item.generator}
            areas = {one.generator: one for one in figures.hulls if one.source == source}
            n_inner = len({(one.scenario_id, one.generator) for one in mine if one.generator})
            for rank, name in enumerate(generators):
                at = [place for place, item in enumerate(mine) if item.generator == name]
                if not at:
                    continue
                colour = colours[rank % len(colours)]
                _arms(axes, points, mine, at, homes, colour)
                if n_inner <= _MOST_INNER:
                    _inner_hulls(axes, points, mine, at, colour)
                area = areas[name].normalised_area
                label = short_name(name, 26) + ("" if area is None else f" (hull {area:.2f})")
                axes.scatter(
                    points[at, 0], points[at, 1], s=11, color=colour, label=label, zorder=3,
                    marker=MARKERS[rank % len(MARKERS)], linewidths=0,
                )  # fmt: skip
                ring = hull(points[at])
                ring = np.concatenate([ring, ring[:1]])
                axes.plot(ring[:, 0], ring[:, 1], color=colour, lw=1.6, zorder=2)
                _angles(axes, points, mine, at, colour)
            if homes:
                places = np.asarray(list(homes.values()))
                axes.scatter(
                    places[:, 0], places[:, 1], s=20, marker="D", facecolors="none",
                    edgecolors=BLACK, linewidths=0.8, label="scenario", zorder=4,
                )  # fmt: skip
            axes.set_title(source)
            axes.set_xlabel("first axis")
            axes.set_ylabel("second axis")
            axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
        save(made, path)
    return True


def _arms(
    axes: Any,
    points: Points,
    items: Sequence[Embedded],
    at: Sequence[int],
    homes: Mapping[str, Points],
    colour: str,
) -> None:
    for place in at:
        home = homes.get(items[place].scenario_id)
        if home is not None:
            ends = np.stack([home, points[place]])
            axes.plot(ends[:, 0], ends[:, 1], color=colour, lw=0.3, alpha=0.35, zorder=1)


def _inner_hulls(
    axes: Any, points: Points, items: Sequence[Embedded], at: Sequence[int], colour: str
) -> None:
    groups: dict[str, list[int]] = {}
    for place in at:
        groups.setdefault(items[place].scenario_id, []).append(place)
    for group in groups.values():
        if len(group) > 2:
            corners = hull(points[group])
            axes.fill(corners[:, 0], corners[:, 1], color=colour, alpha=0.08, lw=0, zorder=1)


def _angles(
    axes: Any, points: Points, items: Sequence[Embedded], at: Sequence[int], colour: str
) -> None:
    """The labels of the prompts farthest from the middle of the generator's."""
    middle = points[at].mean(axis=0)
    far = sorted(at, key=lambda place: (-float(np.sum((points[place] - middle) ** 2)), place))
    for place in far[:_LABELLED]:
        if not items[place].angle:
            continue
        text = textwrap.shorten(items[place].angle, 2 * _LABEL_WIDTH, placeholder="…")
        axes.annotate(
            "\n".join(textwrap.wrap(text, _LABEL_WIDTH)), points[place], xytext=(3, 3),
            textcoords="offset points", fontsize=5.5, color=colour, zorder=5,
        )  # fmt: skip
