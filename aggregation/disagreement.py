"""How far the judges of a response disagree, in one word."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

MODERATE_SD: Final = 0.10
"""From this SD between judges, as a share of the scale's width, disagreement is "moderate"."""

HIGH_SD: Final = 0.20
"""From this SD on it is "high". Judges who pick 1 to 10 blindly reach .32."""

SPLIT_GAP: Final = 0.20
"""From this gap between two axis means, as a share of the width, a response splits the panel."""


def disagreement_labels(
    composites: FloatArray, present: NDArray[np.bool_], to_axis: FloatArray, *, width: float
) -> NDArray[np.object_]:
    """Returns "low", "moderate", "high", "split" or "undefined" for each response.

    With s the SD between the judges' composites (divisor n - 1) over the width of the scale:
    low below .10 (.9 points on a scale of 1 to 10), moderate below .20 (1.8 points), high from
    there. "split" comes before these: the farthest two axis means, of axes with at least two
    judges each, lie at least .20 of the width apart and at least two standard errors (Welch's),
    so that a gap which a few noisy judges make by chance is not called a split. "undefined" where
    fewer than two judges scored. The thresholds are conventions of this project.

    Args:
        composites: shape (R, C), each judge's composite (its repeats averaged).
        present: shape (R, C), whether the judge scored.
        to_axis: shape (C, A), 1 where the judge belongs to the axis.
        width: highest minus lowest score of the scale.
    """
    mask = present.astype(np.float64)
    values = np.where(present, composites, 0.0)
    n = mask.sum(axis=1)
    mean = values.sum(axis=1) / np.maximum(n, 1)
    squares = (np.where(present, values - mean[:, None], 0.0) ** 2).sum(axis=1)
    # rounding must not decide on which side of a threshold a round figure falls
    spread = np.round(np.sqrt(squares / np.maximum(n - 1, 1)) / width, 12)

    labels = np.full(len(n), "low", dtype=object)
    labels[spread >= MODERATE_SD] = "moderate"
    labels[spread >= HIGH_SD] = "high"
    labels[_is_split(values, mask, to_axis, width)] = "split"
    labels[n < 2] = "undefined"
    return labels


def _is_split(
    values: FloatArray, mask: FloatArray, to_axis: FloatArray, width: float
) -> NDArray[np.bool_]:
    n = mask @ to_axis
    mean = (values @ to_axis) / np.maximum(n, 1)
    # the within-axis squares by deviations: a difference of squares would lose all digits
    own = mean @ to_axis.T
    squares = ((values - own) ** 2 * mask) @ to_axis
    error = squares / np.maximum(n - 1, 1) / np.maximum(n, 1)

    counted = n >= 2
    top = np.where(counted, mean, -np.inf).argmax(axis=1)[:, None]
    bottom = np.where(counted, mean, np.inf).argmin(axis=1)[:, None]
    gap = np.take_along_axis(mean, top, 1) - np.take_along_axis(mean, bottom, 1)
    standard_error = np.sqrt(
        np.take_along_axis(error, top, 1) + np.take_along_axis(error, bottom, 1)
    )
    enough = counted.sum(axis=1) >= 2
    wide = (np.round(gap / width, 12) >= SPLIT_GAP) & (gap >= 2 * standard_error)
    return np.asarray(enough & wide[:, 0])
