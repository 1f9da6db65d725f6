"""Mean of a finite population from a part of it: how far the whole may be from what was drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache


def half_width(
    values: Sequence[float], population: int, *, level: float = 0.95, grain: float = 0.0
) -> float:
    """Returns the half width of the t interval for the mean of all, of whom some were drawn.

        t(n - 1) sqrt((1 - n/N) max(s^2, g^2/12) / n)      n drawn without replacement of N

    The factor 1 - n/N is the finite-population correction: nothing is left open once all are
    drawn. Scores come in steps, so equal ones do not prove that there is no spread: the variance
    never counts as less than that of rounding to the grain g.

    Args:
        values: what was drawn, n of them.
        population: how many there are in all, N.
        level: confidence level, in (0, 1).
        grain: step in which values come; 0 for none.

    Returns:
        At least 0; 0 where n = N; inf with fewer than two values of a larger population.

    Raises:
        ValueError: more values than the population has, or an option out of range.

    Source: Cochran (1977), Sampling Techniques, ch. 2; the variance of rounding is Sheppard's.
    """
    n = len(values)
    if n > population:
        raise ValueError(f"{n} values of a population of {population}")
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    if grain < 0:
        raise ValueError(f"grain must be at least 0, got {grain}")
    if n == population:
        return 0.0
    if n < 2:
        return math.inf
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    variance = max(variance, grain * grain / 12.0)
    return shrinking(n, population, level=level) * math.sqrt(variance)


def shrinking(n: int, population: int, *, level: float = 0.95) -> float:
    """Returns t(n - 1) sqrt((1 - n/N) / n), what a standard deviation is multiplied by.

    Args:
        n: drawn, at least 2.
        population: N, at least n.
        level: confidence level, in (0, 1).
    """
    return _quantile(n - 1, level) * math.sqrt((1.0 - n / population) / n)


@lru_cache(maxsize=4096)
def _quantile(df: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(df, (1.0 + level) / 2.0))
