"""Intervals whose unit is the prompt: t, jackknife, cluster bootstrap; and of a finite population.

Responses of one prompt are not independent, so nothing here resamples responses. Below six
prompts no interval is given: the smallest two-sided sign-flip p is then above .05, and a
bootstrap has too few distinct samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtrit

from .estimate import Estimate
from .kendall import tau_from_counts
from .pair_counting import GroupPairCounts, Labels, group_pair_counts

Floats = npt.NDArray[np.float64]

BootstrapMethod = Literal["percentile", "bca", "bootstrap-t"]
MIN_UNITS = 6
"""Fewest prompts an interval is given for."""

MAX_UNDEFINED_SHARE = 0.01
"""Share of resamples without a value above which the limits are refused."""

_BLOCK = 4_000_000


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

    Measured coverage at level .95 (benchmarks/simulate_agreement.py, 5,000 worlds, Monte Carlo
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
    _check_level(level)
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"values must be a vector, got shape {array.shape}")
    known = array[~np.isnan(array)]
    mean = float(known.mean()) if known.size else math.nan
    error = float(known.std(ddof=1)) / math.sqrt(known.size) if known.size > 1 else math.nan
    if reason := _refusal(mean, known.size, unit):
        return Estimate(
            mean, n=known.size, unit=unit, method="t", level=level, reason=reason, se=error
        )
    return _from_error(mean, error, known.size, unit, "t", level)


def bootstrap_stratified_tau(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    groups: Labels,
    *,
    resamples: int = 10_000,
    level: float = 0.95,
    method: BootstrapMethod = "bootstrap-t",
    rng: np.random.Generator | int | None = 0,
    unit: str = "prompt",
) -> Estimate:
    """Returns the stratified tau-b with a bootstrap interval over whole prompts.

    Within-group pair counts add up over prompts, so a resample, which draws as many prompts as
    there are, is a weighted sum of one row of counts a prompt; two copies of a prompt are not
    compared with each other. The errors of bootstrap-t are the infinitesimal jackknife:
    Σ w_g (∇τ · c_g)² G / (G − 1). Percentile and BCa are too short below some twenty prompts.

    Measured coverage at level .95 (benchmarks/simulate_agreement.py, prompts of 6 responses whose
    correlations vary in [.3, .9], 5,000 worlds, Monte Carlo error .003 to .004), at 11, 26, 50
    prompts: bootstrap-t .951, .953, .948; BCa .905, .934, .940; percentile .904, .929, .937.

    Args:
        x: shape (items,); nan is missing.
        y: shape (items,), likewise.
        groups: one prompt label an item. Prompts without any pair that x or y orders carry no
            information and are not counted in n.
        resamples: bootstrap samples.
        level: nominal coverage.
        method: "percentile", "bca" (Efron, 1987) or "bootstrap-t".
        rng: generator or seed.
        unit: what one group is.

    Returns:
        Limits nan, with the reason, below six prompts, when tau does not vary, or when over 1% of
        the resamples have no value. Fewer are left out and named in `method`.

    Raises:
        ValueError: as `kendall_tau_b`; unknown method, level outside (0, 1), resamples below 1.

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, ch. 12 to 14.
    """
    _check_bootstrap(method, level, resamples)
    counts = group_pair_counts(x, y, groups)
    value = tau_from_counts(counts.total())
    parts = _tau_parts(counts)
    n = len(parts)
    if reason := _refusal(value, n, unit):
        return Estimate(value, math.nan, math.nan, n, unit, method, level, reason)
    generator = np.random.default_rng(rng)
    drawn, errors = np.empty(resamples), np.full(resamples, np.nan)
    products = (parts[:, :, None] * parts[:, None, :]).reshape(n, 9)
    step = max(_BLOCK // n, 1)
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        block = slice(start, start + count)
        picked = generator.integers(0, n, size=(count, n)) + n * np.arange(count)[:, None]
        weights = np.bincount(picked.ravel(), minlength=count * n).reshape(count, n)
        weights = weights.astype(np.float64)
        sums = weights @ parts
        drawn[block] = _tau_of_parts(sums)
        if method == "bootstrap-t":
            slope = _tau_slope(sums)
            spread = (weights @ products).reshape(count, 3, 3)
            variance = np.einsum("bi,bij,bj->b", slope, spread, slope) * n / (n - 1)
            errors[block] = np.sqrt(np.maximum(variance, 0))
    left_out = _tau_of_parts(parts.sum(axis=0) - parts)
    own_error = math.nan
    if method == "bootstrap-t":
        influence = parts @ _tau_slope(parts.sum(axis=0)[None])[0]
        own_error = math.sqrt(float((influence**2).sum()) * n / (n - 1))
    return _bootstrap_interval(value, drawn, errors, left_out, n, unit, method, level, own_error)


def _tau_parts(counts: GroupPairCounts) -> Floats:
    """Per group C − D and the pairs that x, and that y, orders; uninformative groups left out."""
    decided = counts.concordant + counts.discordant
    parts = np.stack(
        [counts.concordant - counts.discordant, decided + counts.tied_y, decided + counts.tied_x],
        axis=1,
    ).astype(np.float64)
    return parts[(parts[:, 1] > 0) | (parts[:, 2] > 0)]


def _tau_of_parts(sums: Floats) -> Floats:
    scale = np.sqrt(sums[:, 1] * sums[:, 2])
    tau: Floats = np.divide(sums[:, 0], scale, out=np.full(scale.shape, np.nan), where=scale > 0)
    return tau


def _tau_slope(sums: Floats) -> Floats:
    """Gradient of tau by its three parts; nan where tau is undefined."""
    is_defined = (sums[:, 1] > 0) & (sums[:, 2] > 0)
    safe = np.where(is_defined[:, None], sums, np.nan)
    tau = _tau_of_parts(sums)
    return np.stack(
        [
            1 / np.sqrt(safe[:, 1] * safe[:, 2]),
            -tau / (2 * safe[:, 1]),
            -tau / (2 * safe[:, 2]),
        ],
        axis=1,
    )


def _bootstrap_interval(
    value: float,
    drawn: Floats,
    errors: Floats,
    left_out: Floats,
    n: int,
    unit: str,
    method: BootstrapMethod,
    level: float,
    own_error: float,
) -> Estimate:
    def refuse(reason: str) -> Estimate:
        return Estimate(value, math.nan, math.nan, n, unit, method, level, reason)

    usable = ~np.isnan(drawn)
    if method == "bootstrap-t":
        # A resample whose error is nil has no t; it is undefined, not infinitely far away.
        usable &= ~np.isnan(errors) & (errors > 1e-12)
    undefined = int(drawn.size - usable.sum())
    seen = drawn[~np.isnan(drawn)]
    if seen.size and np.ptp(seen) <= 1e-12 * max(abs(value), 1.0):
        return refuse(f"the statistic does not vary over {unit}s")
    if undefined > MAX_UNDEFINED_SHARE * drawn.size:
        return refuse(f"undefined in {undefined} of {drawn.size} resamples")
    named = method if not undefined else f"{method}, {undefined} of {drawn.size} undefined"
    tail = (1 - level) / 2
    if method == "percentile":
        low, high = np.quantile(drawn[usable], [tail, 1 - tail])
    elif np.isnan(left_out).any():
        return refuse(f"undefined without one of {int(np.isnan(left_out).sum())} {unit}s")
    elif method == "bca":
        limits = _bca_levels(value, drawn[usable], left_out, tail)
        if limits is None:
            return refuse("BCa is undefined: every resample lies on one side of the estimate")
        low, high = np.quantile(drawn[usable], limits)
    else:
        t = (drawn[usable] - value) / errors[usable]
        lower, upper = np.quantile(t, [tail, 1 - tail])
        low, high = value - upper * own_error, value - lower * own_error
    return Estimate(value, float(low), float(high), n, unit, named, level)


def _bca_levels(value: float, drawn: Floats, left_out: Floats, tail: float) -> Floats | None:
    # Resamples equal to the estimate count half, also where they were summed in another order.
    equal = np.abs(drawn - value) <= 1e-12 * max(abs(value), 1.0)
    below = float(((drawn < value) & ~equal).mean() + equal.mean() / 2)
    if not 0 < below < 1:
        return None
    deviations = left_out.mean() - left_out
    squares = float((deviations**2).sum())
    skew = float((deviations**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    bias = ndtri(below)
    points = bias + ndtri([tail, 1 - tail])
    levels: Floats = ndtr(bias + points / (1 - skew * points))
    return levels


def _from_error(
    value: float, error: float, n: int, unit: str, method: str, level: float
) -> Estimate:
    if error <= 1e-12 * max(abs(value), 1e-3):
        reason = f"the statistic does not vary over {unit}s"
        return Estimate(value, n=n, unit=unit, method=method, level=level, reason=reason, se=error)
    reach = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return Estimate(value, value - reach, value + reach, n, unit, method, level, se=error)


def _refusal(value: float, n: int, unit: str) -> str | None:
    if n == 0:
        return f"nothing was measured: no {unit} has a value"
    if math.isnan(value):
        return "the statistic is undefined on these data"
    if n < MIN_UNITS:
        return f"{n} {unit}s: an interval needs at least {MIN_UNITS}"
    return None


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")


def _check_bootstrap(method: str, level: float, resamples: int) -> None:
    _check_level(level)
    if method not in get_args(BootstrapMethod):
        raise ValueError(
            f"method must be one of {', '.join(get_args(BootstrapMethod))}, got {method!r}"
        )
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")


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
