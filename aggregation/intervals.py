"""Intervals whose unit is the prompt: t; and for the mean of a finite population.

Responses of one prompt are not independent, so nothing here resamples responses. Below six
prompts no interval is given: the smallest two-sided sign-flip p is then above .05.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .estimate import Estimate, undefined

Floats = npt.NDArray[np.float64]

MIN_UNITS = 6
"""Fewest prompts an interval is given for."""


def degrees_by_excess(n: int, excess: float) -> float:
    """Returns the degrees of freedom that an estimated variance is worth, n − 1 at most.

        df = 2 / (max(κ, 0) / n + 2 / (n − 1))

    Satterthwaite's 2 σ⁴ / Var(s²) with Var(s²) = σ⁴ (κ / n + 2 / (n − 1)). A few values far from
    the rest make nearly all of the variance; it is then as uncertain as if there were only those
    few, and Student's t with n − 1 degrees of freedom is too short. The kurtosis of a sample is
    mostly too small, so this corrects part of it. Tails lighter than the normal's are not made use
    of.

    Args:
        n: values, at least two.
        excess: κ, the kurtosis − 3.

    Source: O'Neill (2014), The American Statistician 68, 282–296, for the moments of s² and its
    effective degrees of freedom; Satterthwaite (1946), Biometrics Bulletin 2, 110–114.
    """
    return 2 / (max(0.0, excess) / n + 2 / (n - 1))


def variance_degrees(values: npt.ArrayLike) -> float:
    """Returns the degrees of freedom of the variance of a sample: `degrees_by_excess` of its own.

    Args:
        values: shape (n,), at least two, none missing; their location and scale do not matter.

    Returns:
        n − 1 where the values do not vary.

    Raises:
        ValueError: fewer than two values, or not one-dimensional.
    """
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size < 2:
        raise ValueError(f"at least two values in one dimension, got shape {sample.shape}")
    n = sample.size
    squares = (sample - sample.mean()) ** 2
    total = float(squares.sum())
    if total <= 0:
        return float(n - 1)
    # Over the largest, so that squares of tiny values do not vanish.
    scaled = squares / float(squares.max())
    kurtosis = n * float((scaled**2).sum()) / float(scaled.sum()) ** 2
    return degrees_by_excess(n, kurtosis - 3)


def t_interval(values: npt.ArrayLike, *, level: float = 0.95, unit: str = "prompt") -> Estimate:
    """Returns the mean of per-prompt statistics with its t interval, df = prompts − 1.

    Measured coverage at level .95 (benchmarks/simulate.py t-intervals, 5,000 worlds, Monte Carlo
    error .003 to .004): normal values .950, .953, .954 at 6, 10, 26 prompts; exponential values
    .889, .896, .931.

    Args:
        values: one statistic a prompt; nan is missing, and n counts the others.
        level: nominal coverage, in (0, 1).
        unit: what one value stands for.

    Returns:
        Limits nan, with the reason, below six values or when the values do not vary.

    Raises:
        ValueError: not one-dimensional, or level outside (0, 1).
    """
    check_level(level)
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"values must be a vector, got shape {array.shape}")
    known = array[~np.isnan(array)]
    mean = float(known.mean()) if known.size else math.nan
    error = float(known.std(ddof=1)) / math.sqrt(known.size) if known.size > 1 else math.nan
    if reason := refusal(mean, known.size, unit):
        return Estimate(
            mean, n=known.size, unit=unit, method="t", level=level, reason=reason, se=error
        )
    return _from_error(mean, error, known.size, unit, "t", level)


def share_over_prompts(values: Floats, *, level: float, what: str) -> Estimate:
    """The mean of one share a prompt, nan left out.

    Where every prompt's share is 0 or 1, a prompt is one trial and the interval is Wilson's; else
    it is the t interval, kept within [0, 1].

    Args:
        values: shape (prompts,).
        level: nominal coverage.
        what: the figure, for its method.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return undefined("no prompt has the scores that this figure needs", method=what)
    if np.isin(known, (0.0, 1.0)).all():
        from .proportions import wilson

        return wilson(int(known.sum()), known.size, level=level, unit="prompt").of(what)
    found = t_interval(known, level=level).of(what)
    if not found.has_interval:
        return found
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def mean_of_known(table: Floats, axis: int) -> Floats:
    """The mean over an axis, nan left out; nan of nothing."""
    there = ~np.isnan(table)
    n = there.sum(axis=axis)
    sums = np.where(there, table, 0.0).sum(axis=axis)
    means: Floats = np.divide(sums, n, out=np.full(n.shape, np.nan), where=n > 0)
    return means


def mean_by_prompt(values: Floats, prompts: npt.NDArray[np.int64], n_prompts: int) -> Floats:
    """Mean of the values of each prompt, nan left out; nan for a prompt without a value.

    Args:
        values: shape (rows, judges) or (rows,).
        prompts: shape (rows,), the code of each row's prompt.
        n_prompts: how many there are.
    """
    flat = values[:, None] if values.ndim == 1 else values
    known = ~np.isnan(flat)
    sums = np.bincount(prompts, np.where(known, flat, 0.0).sum(axis=1), n_prompts)
    counts = np.bincount(prompts, known.sum(axis=1), n_prompts)
    means: Floats = np.divide(sums, counts, out=np.full(n_prompts, np.nan), where=counts > 0)
    return means


def _from_error(
    value: float, error: float, n: int, unit: str, method: str, level: float
) -> Estimate:
    from scipy.special import stdtrit

    if error <= 1e-12 * max(abs(value), 1e-3):
        reason = f"the statistic does not vary over {unit}s"
        return Estimate(value, n=n, unit=unit, method=method, level=level, reason=reason, se=error)
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return Estimate(value, value - reach, value + reach, n, unit, method, level, se=error)


def refusal(value: float, n: int, unit: str) -> str | None:
    """Why a value over so many units gets no interval; None where it may."""
    if n == 0:
        return f"nothing was measured: no {unit} has a value"
    if math.isnan(value):
        return "the statistic is undefined on these data"
    if n < MIN_UNITS:
        return f"{n} {unit}s: an interval needs at least {MIN_UNITS}"
    return None


def check_level(level: float) -> None:
    """Raises ValueError for a level outside (0, 1)."""
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")


def fewest_units(is_enough: Callable[[int], bool], *, after: int) -> int:
    """Returns the smallest number above `after` that is enough, where all larger ones are too."""
    low, high = after, 2 * after
    while not is_enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


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
