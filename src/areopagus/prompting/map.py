"""The map of a prompt set: embedded texts in two dimensions, with the hulls that they fill.

After the paper's figure 9. Areas of hulls compare generators within one source, the largest being
1; they grow with the number of prompts and with a single outlier, and stand beside that number.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .embedding import Vector
from .projection import Points, Projection, hull, hull_area, laid_out

MAP_FILE = "map.csv"
PICTURE = "map"


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text to place.

    Attributes:
        name: id of a prompt, or of a scenario.
        scenario_id, source: where it belongs.
        generator: "" for a scenario itself.
        text: what is embedded.
        angle: the generator's label for a prompt's angle.
    """

    name: str
    scenario_id: str
    source: str
    generator: str
    text: str
    angle: str = ""


@dataclass(frozen=True, slots=True)
class Hull:
    """What one generator's prompts fill on the map of one source.

    Attributes:
        prompts: how many are placed.
        area: of the hull of all of them; None below three.
        normalised_area: the same, the largest of the source's generators being 1.
        mean_scenario_area: mean over scenarios of the hull of its prompts for one scenario.
    """

    source: str
    generator: str
    prompts: int
    area: float | None
    normalised_area: float | None
    mean_scenario_area: float | None


@dataclass(frozen=True, slots=True)
class PromptMap:
    """The map's figures.

    Attributes:
        model: the embedding model.
        projection: which one was asked for.
        texts, placed: planned ones, and those that could be embedded.
        hulls: one a source and generator.
        variance_shares: source to the share of variance that two components hold; None for UMAP.
    """

    model: str
    projection: Projection
    texts: int
    placed: int
    hulls: tuple[Hull, ...]
    variance_shares: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def map_figures(
    placed: Sequence[tuple[Embedded, Vector]], projection: Projection = "pca", *, seed: int = 0
) -> tuple[dict[str, Points], tuple[Hull, ...], dict[str, float | None]]:
    """Coordinates by source in the order of the texts, hulls, and shares of variance by source."""
    coordinates: dict[str, Points] = {}
    shares: dict[str, float | None] = {}
    hulls: list[Hull] = []
    for source in dict.fromkeys(item.source for item, _ in placed):
        mine = [(item, vector) for item, vector in placed if item.source == source]
        vectors = np.asarray([vector for _, vector in mine], dtype=np.float64)
        points, share = laid_out(vectors, projection, seed=seed)
        coordinates[source], shares[source] = points, _plain(share)
        items = [item for item, _ in mine]
        names = list(dict.fromkeys(item.generator for item in items if item.generator))
        places = {
            name: [at for at, item in enumerate(items) if item.generator == name] for name in names
        }
        areas = {name: hull_area(points[at]) for name, at in places.items()}
        largest = max((area for area in areas.values() if area > 0), default=math.nan)
        hulls += [
            Hull(
                source, name, len(places[name]), _plain(areas[name]),
                _plain(areas[name] / largest), _plain(_inner_area(points, items, places[name])),
            )
            for name in names
        ]  # fmt: skip
    return coordinates, tuple(hulls), shares


def _inner_area(points: Points, items: Sequence[Embedded], at: Sequence[int]) -> float:
    """The mean over scenarios of the hull of one generator's prompts for one scenario."""
    groups: dict[str, list[int]] = {}
    for place in at:
        groups.setdefault(items[place].scenario_id, []).append(place)
    areas = [hull_area(points[group]) for group in groups.values()]
    known = [area for area in areas if not math.isnan(area)]
    return float(np.mean(known)) if known else math.nan


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


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
    from ..reports import chart_style as drawn
    from ..reports.chart_style import BLACK, MARKERS, new_figure, save, short_name, style

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
