"""The plainest family-wise correction, beside `multiplicity`'s sharper ones."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def bonferroni(p_values: npt.ArrayLike) -> Floats:
    """Returns Bonferroni's adjusted p-values, min(1, m p), in the given order.

    nan stays nan and does not count towards m. Holm's are never larger and hold the same level.

    Raises:
        ValueError: a p-value outside [0, 1].
    """
    p = np.asarray(p_values, dtype=np.float64)
    known = ~np.isnan(p)
    if ((p[known] < 0) | (p[known] > 1)).any():
        raise ValueError("p-values must be in [0, 1] or nan")
    adjusted: Floats = np.minimum(p * known.sum(), 1.0)
    return adjusted
