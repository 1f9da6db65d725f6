"""Jackknife intervals over prompts, from what a statistic is without each of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from .estimate import Estimate
from .intervals import MIN_UNITS

Floats = npt.NDArray[np.float64]

BLOCKS = 50
"""Prompts are left out one by one up to this many where a statistic must be computed anew."""

STANDS = "the value stands for its interval"
"""Ends the reason of a figure that is the same in every prompt, six prompts or more."""

Bounds = tuple[float, float]
"""The least and the greatest value that a figure can have."""


def cut_to_range(number: Estimate, bounds: Bounds) -> Estimate:
    """Returns a number whose limits do not leave the range of its figure; the method says so.

    What is cut off holds no value that the figure can have, so coverage stays what it is. An
    estimate that leaves the range itself, as one of a small variance may, keeps its limits: cut,
    they would begin at it.
    """
    slack = 1e-9
    is_outside = number.value < bounds[0] - slack or number.value > bounds[1] + slack
    if not number.has_interval or is_outside:
        return number
    low, high = max(number.low, bounds[0]), min(number.high, bounds[1])
    ends = [end for end, was in ((bounds[0], number.low < low), (bounds[1], number.high > high))
            if was]  # fmt: skip
    if not ends:
        return number
    named = " and ".join(f"{end:g}" for end in ends)
    method = f"{number.method}; cut at {named}, where the range of the figure ends"
    return replace(number, low=low, high=high, method=method)


def verdict_limits(number: Estimate) -> tuple[float, float]:
    """Returns the limits that a verdict is made of, nan where there are none.

    A figure that is the same in every prompt has no interval; with the prompts that an interval
    needs its value stands for one. Without that the purest cases would pass unnamed: the judge
    that gives one score to models and one to people is right in exactly half of all pairs within
    source, prompt by prompt.
    """
    if number.has_interval:
        return number.low, number.high
    if number.is_defined and number.n >= MIN_UNITS and (number.reason or "").endswith(STANDS):
        return number.value, number.value
    return math.nan, math.nan


def jackknife_error(left_out: Floats) -> Floats:
    """Returns the jackknife's standard error, sqrt((B − 1) / B Σ (θ_(−b) − mean)²), by column.

    Args:
        left_out: shape (B,) or (B, figures), the statistics without each block.
    """
    blocks = len(left_out)
    squares = ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt((blocks - 1) / blocks * squares), dtype=np.float64)


def jackknife(
    value: float,
    left_out: Floats,
    *,
    n: int,
    method: str,
    unit: str = "prompt",
    level: float = 0.95,
    bounds: Bounds | None = None,
) -> Estimate:
    """Returns a value with its jackknife t interval.

    SE² = (B − 1) / B Σ (θ_(−b) − mean)²; limits θ ± t_{B−1} SE, B the number of blocks left out.

    Args:
        value: the statistic over everything.
        left_out: the statistic without each block of prompts, nan where undefined.
        n: prompts that say anything about it; below six no interval is given.
        method: the estimator, for the report.
        unit: what is left out.
        level: nominal coverage.
        bounds: of the figure; limits beyond are cut.
    """
    named = f"{method}; {level:.0%} delete-one-{unit} jackknife, t"
    if len(left_out) < n:
        named = f"{method}; {level:.0%} jackknife over {len(left_out)} blocks of {unit}s, t"

    def without(reason: str) -> Estimate:
        return Estimate(value, n=n, unit=unit, method=named, level=level, reason=reason)

    if math.isnan(value):
        return without("undefined on these data")
    if n < MIN_UNITS:
        return without(f"{n} {unit}s: an interval needs at least {MIN_UNITS}")
    if np.isnan(left_out).any():
        return without(f"undefined without one of {int(np.isnan(left_out).sum())} {unit}s")
    blocks = len(left_out)
    error = float(jackknife_error(left_out))
    if error <= 1e-12 * max(abs(value), 1e-3):
        return without(f"does not vary over {unit}s: {STANDS}")
    reach = float(stdtrit(blocks - 1, (1 + level) / 2)) * error
    found = Estimate(value, value - reach, value + reach, n, unit, named, level, se=error)
    return found if bounds is None else cut_to_range(found, bounds)


def ratio(
    top: Floats, bottom: Floats, *, method: str, level: float = 0.95, minus: float = 0.0
) -> Estimate:
    """Returns Σ top / Σ bottom − minus over prompts, with its jackknife interval.

    Args:
        top, bottom: one entry a prompt, 0 ≤ top ≤ bottom; prompts whose bottom is 0 say nothing
            and do not count.
        method: the estimator, for the report.
        level: nominal coverage.
        minus: subtracted from the ratio.
    """
    used = bottom > 0
    top, bottom = top[used], bottom[used]
    n = len(bottom)
    if not n:
        return Estimate(
            math.nan, n=0, unit="prompt", method=method, reason="no prompt has a pair to decide"
        )
    rest = bottom.sum() - bottom
    left_out = np.full(n, np.nan)
    np.divide(top.sum() - top, rest, out=left_out, where=rest > 0)
    value = float(top.sum() / bottom.sum()) - minus
    return jackknife(
        value, left_out - minus, n=n, method=method, level=level, bounds=(-minus, 1.0 - minus)
    )


def ratio_difference(
    first: tuple[Floats, Floats],
    second: tuple[Floats, Floats],
    *,
    method: str,
    level: float = 0.95,
) -> Estimate:
    """Returns the difference of two ratios of sums over the same prompts, paired by prompt.

    Args:
        first, second: (top, bottom), one entry a prompt, in the same order.
        method, level: as in `ratio`.
    """
    (top, bottom), (other_top, other_bottom) = first, second
    used = (bottom > 0) | (other_bottom > 0)
    n = int(used.sum())
    if not bottom.sum() > 0 or not other_bottom.sum() > 0:
        return Estimate(
            math.nan, n=n, unit="prompt", method=method, reason="one side has no pair to decide"
        )

    def without_each(upper: Floats, lower: Floats) -> Floats:
        rest = lower.sum() - lower[used]
        found = np.full(n, np.nan)
        np.divide(upper.sum() - upper[used], rest, out=found, where=rest > 0)
        return found

    left_out = without_each(top, bottom) - without_each(other_top, other_bottom)
    value = float(top.sum() / bottom.sum() - other_top.sum() / other_bottom.sum())
    return jackknife(value, left_out, n=n, method=method, level=level, bounds=(-1.0, 1.0))


def recomputed(
    statistic: Callable[[npt.NDArray[np.bool_]], float],
    prompt: npt.NDArray[Any],
    *,
    method: str,
    level: float = 0.95,
    bounds: Bounds | None = None,
) -> Estimate:
    """Returns a statistic of rows with its interval, computed anew without each block of prompts.

    Args:
        statistic: from a boolean mask of rows to the value.
        prompt: shape (rows,), the prompt code of each row.
        method, level: as in `ratio`.
        bounds: as in `jackknife`.
    """
    codes, place = np.unique(prompt, return_inverse=True)
    n = len(codes)
    value = statistic(np.ones(len(prompt), dtype=bool))
    if n < MIN_UNITS or math.isnan(value):
        return jackknife(value, np.empty(0), n=n, method=method, level=level)
    blocks = place % min(n, BLOCKS)
    left_out = np.array([statistic(blocks != block) for block in range(min(n, BLOCKS))])
    return jackknife(value, left_out, n=n, method=method, level=level, bounds=bounds)
