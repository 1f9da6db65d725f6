"""Adjusted p-values for a declared family of tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def holm(p_values: npt.ArrayLike) -> Floats:
    """Returns Holm's adjusted p-values, in the given order: family-wise error, any dependence.

    p~_(i) = max_{j ≤ i} min(1, (m − j + 1) p_(j)). nan stays nan and does not count towards m.

    Raises:
        ValueError: a p-value outside [0, 1].

    Source: Holm (1979).
    """
    p = np.asarray(p_values, dtype=np.float64)
    known = ~np.isnan(p)
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise ValueError("p-values must be in [0, 1] or nan")
    order = np.argsort(p[known], kind="stable")
    values = p[known][order]
    steps = np.maximum.accumulate(values * np.arange(values.size, 0, -1))
    placed = np.empty(values.size)
    placed[order] = np.minimum(steps, 1.0)
    adjusted = np.full(p.shape, np.nan)
    adjusted[known] = placed
    return adjusted
