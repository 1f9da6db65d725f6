"""Points in the plane for embedded texts, and the areas that they fill.

Two projections: the first two principal components (`pca`), which need no further package and no
random start, and UMAP (`umap`), which the paper's figure 9 shows. Distances and areas of the one
are not to be compared with those of the other.
"""

from __future__ import annotations

import importlib
import math
from importlib.util import find_spec
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ..errors import InputError

Points = npt.NDArray[np.float64]
Projection = Literal["pca", "umap"]
PROJECTIONS: tuple[Projection, ...] = get_args(Projection)

NEIGHBOURS = 15
FEWEST_FOR_UMAP = 5
"""Below so many texts UMAP has no graph to lay out; the components serve instead."""


def require_projection(projection: Projection) -> None:
    """Returns where the projection can be made.

    Raises:
        InputError: `umap` without the package.
    """
    if projection == "umap" and find_spec("umap") is None:
        raise InputError(
            "projection umap needs the package umap-learn: pip install umap-learn",
            hint="Without it, --projection pca draws the map.",
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
    if projection == "pca" or len(vectors) < FEWEST_FOR_UMAP:
        return projected(vectors)
    # By name, so that neither type checkers nor a plain installation want the package.
    umap: Any = importlib.import_module("umap")
    reducer = umap.UMAP(
        n_components=2, n_neighbors=min(NEIGHBOURS, len(vectors) - 1), metric="cosine",
        init="random" if len(vectors) < 2 * FEWEST_FOR_UMAP else "spectral",
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


def hull(points: Points) -> Points:
    """The corners of the convex hull in order; the points themselves where they have no area."""
    if len(points) < 3:
        return points
    from scipy.spatial import ConvexHull, QhullError

    try:
        corners: Points = points[ConvexHull(points).vertices]
    except QhullError:
        return points
    return corners


def hull_area(points: Points) -> float:
    """The area of the convex hull; nan below three points, 0 where they lie on a line."""
    if len(points) < 3:
        return math.nan
    from scipy.spatial import ConvexHull, QhullError

    try:
        return float(ConvexHull(points).volume)  # in two dimensions the volume is the area
    except QhullError:
        return 0.0
