"""A proportion whose observations come in clusters: repeats of a prompt, prompts of a template."""

import math
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats

from .estimate import Estimate

FEWEST_CLUSTERS = 6
"""Below this number of clusters there is no interval: their spread cannot be told."""


def clustered_proportion(
    outcomes: npt.ArrayLike,
    clusters: Sequence[Hashable],
    *,
    level: float = 0.95,
    unit: str = "prompt",
) -> Estimate:
    """Returns a proportion with a Wilson interval at its effective number of observations.

    p̂ = Σ y / n over all observations; with r_g = Σ_{i in g} (y_i − p̂) and G clusters, var =
    G/(G − 1) Σ r_g² / n², n_eff = min(n, p̂(1 − p̂) / var); the interval is Wilson's for p̂ of
    n_eff, with the t quantile of G − 1 degrees of freedom in place of the normal one. Where every
    outcome is the same, nothing shows how alike the members of a cluster are: n_eff is then G.

    Args:
        outcomes: shape (observations,), 0 and 1; nan is missing and left out.
        clusters: one label an observation.
        level: nominal coverage.
        unit: what a cluster is.

    Returns:
        n is the number of clusters; no limits with fewer than six of them; nan without outcomes.

    Raises:
        ValueError: different lengths, other values, or level outside (0, 1).

    Source: Korn & Graubard (1998), Survey Methodology 24, 193–201, for the effective number, with
    Wilson's interval in place of Clopper's after Dean & Pagano (2015), Journal of Survey
    Statistics and Methodology 3, 484–503.
    """
    y = np.asarray(outcomes, dtype=np.float64)
    if y.ndim != 1 or len(clusters) != y.size:
        raise ValueError(f"one label an outcome: got {y.shape} and {len(clusters)}")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    known = ~np.isnan(y)
    if not np.isin(y[known], (0.0, 1.0)).all():
        raise ValueError("outcomes must be 0, 1 or nan")
    place: dict[Hashable, int] = {}
    codes = np.asarray(
        [
            place.setdefault(label, len(place))
            for label, keep in zip(clusters, known, strict=True)
            if keep
        ],
        dtype=np.int64,
    )
    y = y[known]
    n, groups = y.size, len(place)
    method = "clustered wilson"
    nan = math.nan
    if n == 0:
        return Estimate(nan, nan, nan, 0, unit, method, level, "no outcome")
    p = float(y.mean())
    if groups < FEWEST_CLUSTERS:
        reason = f"an interval needs {FEWEST_CLUSTERS} {unit}s, there are {groups}"
        return Estimate(p, nan, nan, groups, unit, method, level, reason)
    rests = np.bincount(codes, weights=y - p, minlength=groups)
    variance = groups / (groups - 1) * float(rests @ rests) / n**2
    if p in (0.0, 1.0):
        effective = float(groups)
    else:
        effective = min(float(n), p * (1 - p) / variance) if variance > 0 else float(n)
    quantile = float(stats.t.ppf((1 + level) / 2, groups - 1))
    centre = p + quantile**2 / (2 * effective)
    reach = quantile * math.sqrt(p * (1 - p) / effective + quantile**2 / (4 * effective**2))
    scale = 1 + quantile**2 / effective
    low = 0.0 if p == 0 else (centre - reach) / scale
    high = 1.0 if p == 1 else (centre + reach) / scale
    return Estimate(p, low, high, groups, unit, method, level)
