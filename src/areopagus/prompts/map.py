"""The map of a prompt set: embedded texts in two dimensions, and the areas that they fill.

After the paper's figure 9. Two projections: the first two principal components (`pca`), which need
no further package and no random start, and UMAP (`umap`), which the paper shows. Distances and
areas of the one are not to be compared with those of the other. Areas of hulls compare generators
within one source, the largest being 1; they grow with the number of prompts and with a single
outlier, and stand beside that number.
"""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..async_runner import ordered_map
from ..errors import InputError
from ..judges.models.client import Client
from ..records.estimates import Estimates
from ..records.readers.dispatch import open_table
from ..records.run_folder import csv_table
from ..records.spreadsheets import writable
from .config import Projection
from .embedding import EmbeddingBackend, Vector, vector_of

Points = npt.NDArray[np.float64]

MAP_FILE = "map.csv"
MAP_TABLE = "map"
_COLUMNS = ("name", "source", "scenario_id", "generator", "angle", "x", "y")
_NEIGHBOURS = 15
_FEWEST_FOR_UMAP = 5
"""Below so many texts UMAP has no graph to lay out; the components serve instead."""


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


async def embed_all(
    client: Client,
    backend: EmbeddingBackend,
    items: Sequence[Embedded],
    step: Callable[[bool], None],
) -> tuple[dict[str, Any], list[tuple[Embedded, Vector]]]:
    """What became of embedding them, for run.json, and the texts that could be embedded.

    Args:
        client, backend: who is asked, over whom.
        items: the texts.
        step: called for each of them, with whether there is no vector.

    Raises:
        StoreError: the ledger cannot be written.
    """

    async def one(item: Embedded) -> Vector | str:
        found = await vector_of(client, backend, item.text)
        step(isinstance(found, str))
        return found

    reasons: Counter[str] = Counter()
    placed: list[tuple[Embedded, Vector]] = []
    async with aclosing(ordered_map(items, one, at_once=backend.spec.concurrency + 4)) as each:
        async for item, found in each:
            if isinstance(found, str):
                reasons[found] += 1
            else:
                placed.append((item, found))
    if len({len(vector) for _, vector in placed}) > 1:
        reasons["vectors of different lengths"] = len(placed)
        placed = []
    unasked = reasons["budget"] + reasons["interrupted"]
    outcome = {
        "model": backend.spec.model,
        "texts": len(items),
        "embedded": len(placed),
        "failed": len(items) - len(placed) - unasked,
        "not_asked": unasked,
        "not_asked_for_budget": reasons["budget"],
        "reasons": dict(reasons),
    }
    return outcome, placed


def map_estimates(
    placed: Sequence[tuple[Embedded, Vector]], projection: Projection = "pca", *, seed: int = 0
) -> tuple[dict[str, Points], Estimates]:
    """Coordinates by source in the order of the texts; hull areas and shares of variance."""
    found = Estimates()
    coordinates: dict[str, Points] = {}
    for source in dict.fromkeys(item.source for item, _ in placed):
        mine = [(item, vector) for item, vector in placed if item.source == source]
        vectors = np.asarray([vector for _, vector in mine], dtype=np.float64)
        points, share = laid_out(vectors, projection, seed=seed)
        coordinates[source] = points
        keys = {"factor": "source", "group": source}
        if math.isfinite(share):
            found.add(MAP_TABLE, "variance_share", share, **keys)
        items = [item for item, _ in mine]
        places = {
            name: [at for at, item in enumerate(items) if item.generator == name]
            for name in dict.fromkeys(item.generator for item in items if item.generator)
        }
        areas = {name: hull_area(points[at]) for name, at in places.items()}
        largest = max((area for area in areas.values() if area > 0), default=math.nan)
        for name, at in places.items():
            inner = _scenario_areas(points, items, at)
            found.add(MAP_TABLE, "prompts", len(at), respondent=name, **keys)
            for measure, value in (
                ("area", areas[name]),
                ("normalised_area", areas[name] / largest),
                ("mean_scenario_area", float(np.mean(inner)) if inner else math.nan),
            ):
                found.add(MAP_TABLE, measure, _area(value, len(at)), respondent=name, **keys)
    return coordinates, found


def _area(value: float, n: int) -> Estimate:
    if not math.isfinite(value):
        return undefined("fewer than three prompts, or all on a line", n=n, method="hull")
    return Estimate(value, n=n, method="hull", level=math.nan)


def _scenario_areas(points: Points, items: Sequence[Embedded], at: Sequence[int]) -> list[float]:
    """The hulls of one generator's prompts for one scenario each."""
    groups: dict[str, list[int]] = {}
    for place in at:
        groups.setdefault(items[place].scenario_id, []).append(place)
    areas = [hull_area(points[group]) for group in groups.values()]
    return [area for area in areas if not math.isnan(area)]


def write_map(folder: Path, items: Sequence[Embedded], coordinates: Mapping[str, Points]) -> None:
    """Writes where every text lies.

    Raises:
        StoreError: the folder cannot be written.
    """
    places = {source: iter(points) for source, points in coordinates.items()}
    with csv_table(folder / MAP_FILE, _COLUMNS) as writer:
        for item in items:
            x, y = next(places[item.source])
            cells = (item.name, item.source, item.scenario_id, item.generator, item.angle)
            writer.write((*(writable(cell) for cell in cells), f"{x:.6g}", f"{y:.6g}"))


def read_map(folder: Path) -> list[dict[str, Any]]:
    """The rows of that file, x and y as numbers; none where there is no map."""
    if not (folder / MAP_FILE).is_file():
        return []
    with open_table(folder / MAP_FILE) as table:
        rows = [dict(row) for _, row in table.rows([])]
    return [row | {"x": float(row["x"]), "y": float(row["y"])} for row in rows]


def require_projection(projection: Projection) -> None:
    """Returns where the projection can be made.

    Raises:
        InputError: `umap` without the package.
    """
    if projection == "umap" and find_spec("umap") is None:
        raise InputError(
            "projection umap needs the package umap-learn: pip install umap-learn",
            hint="Without it, `projection='pca'` draws the map.",
        )


def laid_out(vectors: Points, projection: Projection, *, seed: int) -> tuple[Points, float]:
    """The points of these vectors, and the share of variance that they hold.

    Args:
        vectors: shape (texts, dimensions).
        projection: which one.
        seed: of UMAP.

    Returns:
        Shape (texts, 2); the share in [0, 1], nan for UMAP, which has none.
    """
    if projection == "pca" or len(vectors) < _FEWEST_FOR_UMAP:
        return projected(vectors)
    # By name, so that neither type checkers nor a plain installation want the package.
    umap: Any = importlib.import_module("umap")
    reducer = umap.UMAP(
        n_components=2, n_neighbors=min(_NEIGHBOURS, len(vectors) - 1), metric="cosine",
        init="random" if len(vectors) < 2 * _FEWEST_FOR_UMAP else "spectral",
        random_state=seed, n_jobs=1,
    )  # fmt: skip
    return np.asarray(reducer.fit_transform(vectors), dtype=np.float64), math.nan


def projected(vectors: Points) -> tuple[Points, float]:
    """The first two principal components of unit vectors, and the share of variance they hold.

    Each vector is first brought to length 1, since only directions of embeddings mean anything.
    The sign of each axis is set so that its largest coordinate in absolute value is positive:
    it would else be an accident of the arithmetic.

    Args:
        vectors: shape (texts, dimensions).

    Returns:
        Shape (texts, 2), zeros where texts span fewer dimensions; and a share in [0, 1], nan
        where nothing varies.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    centred = units - units.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.zeros((len(vectors), 2))
    kept = min(2, len(values))
    points[:, :kept] = left[:, :kept] * values[:kept]
    for axis in range(2):
        extreme = points[np.argmax(np.abs(points[:, axis])), axis]
        points[:, axis] *= -1 if extreme < 0 else 1
    total = float((values**2).sum())
    return points, float((values[:kept] ** 2).sum()) / total if total > 1e-12 else math.nan


def hull_area(points: Points) -> float:
    """The area of the convex hull; nan below three points, 0 where they lie on a line."""
    if len(points) < 3:
        return math.nan
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(ConvexHull(points).volume)  # in two dimensions the volume is the area
    except QhullError:
        return 0.0
