"""Two binomial counts that should have one share: an exact test, and how often a rule on them errs.

Both are of independent answers with one probability a side. Where answers come in strata of other
probabilities, such as two orders of the options asked equally often, counts vary less than that
(Hoeffding 1956): the figures here then state an error rate that is not exceeded.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .proportions import newcombe

Floats = npt.NDArray[np.float64]

_GRID = 400
"""Values of the common probability at which an unconditional test looks, 0 and 1 included."""
_ROUNDING = 1e-9


@lru_cache(maxsize=65_536)
def gap_rate(n_one: int, n_other: int, p: float, threshold: float) -> float:
    """Returns P(|j/n1 − k/n2| ≥ threshold) where both sides have the share p.

    Σ b(j; n1, p) b(k; n2, p) over all such j, k. At ten answers and a threshold of .2 it is .503
    for p = .5 and .244 for p = .1 or .9.

    Args:
        n_one, n_other: answers of the two sides.
        p: the share that both have.
        threshold: of the gap, as a share.

    Returns:
        nan where a side has no answer.
    """
    if n_one < 1 or n_other < 1:
        return math.nan
    reached = np.abs(_differences(n_one, n_other)) >= threshold - _ROUNDING
    return float(_binomial(n_one, p) @ reached @ _binomial(n_other, p))


@lru_cache(maxsize=65_536)
def exact_p(count_one: int, n_one: int, count_other: int, n_other: int) -> float:
    """Returns the two-sided unconditional exact p of two shares being the same.

    sup over p of P(|Z| ≥ |z|), Z the pooled score statistic (j/n1 − k/n2)/sqrt(q(1 − q)(1/n1 +
    1/n2)), q the pooled share, 0 where all answers are alike. At ten answers each its size is .042
    at most, that of Fisher's test .013, and 40 points are the smallest gap that it can call
    significant at .05.

    Returns:
        nan where a side has no answer.

    Source: Suissa & Shuster (1985), Journal of the Royal Statistical Society A 148, 317–327.
    """
    if n_one < 1 or n_other < 1:
        return math.nan
    statistics = _statistics(n_one, n_other)
    seen = statistics[count_one, count_other]
    if seen <= 0:
        return 1.0
    extreme = (statistics >= seen * (1 - _ROUNDING)).astype(np.float64)
    of_one, of_other = _grid_binomials(n_one), _grid_binomials(n_other)
    found = np.einsum("gj,gj->g", of_one @ extreme, of_other)
    return float(min(1.0, found.max()))


@lru_cache(maxsize=65_536)
def is_gap_beyond(
    count_one: int, n_one: int, count_other: int, n_other: int, threshold: float
) -> bool:
    """Returns whether the gap is more than the threshold by Newcombe's 90% interval.

    A one-sided test at .05 of a gap of at most so much; at a gap of exactly .2 it says so of .051
    of pairs at ten answers.
    """
    limits = newcombe(count_one, n_one, count_other, n_other, level=0.90)
    return bool(limits.low > threshold or limits.high < -threshold)


@lru_cache(maxsize=64)
def _statistics(n_one: int, n_other: int) -> Floats:
    pooled = (np.arange(n_one + 1)[:, None] + np.arange(n_other + 1)) / (n_one + n_other)
    variance = pooled * (1 - pooled) * (1 / n_one + 1 / n_other)
    gaps = np.abs(_differences(n_one, n_other))
    found: Floats = np.divide(gaps, np.sqrt(variance), out=np.zeros_like(gaps), where=variance > 0)
    return found


def _differences(n_one: int, n_other: int) -> Floats:
    found: Floats = np.arange(n_one + 1)[:, None] / n_one - np.arange(n_other + 1) / n_other
    return found


@lru_cache(maxsize=64)
def _grid_binomials(n: int) -> Floats:
    return np.stack([_binomial(n, at / _GRID) for at in range(_GRID + 1)])


def _binomial(n: int, p: float) -> Floats:
    from scipy import stats

    found: Floats = stats.binom.pmf(np.arange(n + 1), n, p)
    return found
