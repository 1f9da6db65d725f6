"""What a figure has changed by between two measurements of the same units.

Of a figure that is a mean over units the change of each unit is known. Of any other (a share of
answers, an agreement, a difference of groups) the jackknife gives pseudo-values, of which the
change is the mean and whose spread is its error; so one test and one interval serve all figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .estimate import Estimate

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

Term = tuple[Floats, Floats, float]
"""Sums and sizes by unit, and the sign, of one ratio Σ x / Σ n of which a figure is made."""


def pseudo_values(value: float, left_out: npt.ArrayLike, rests_on: npt.ArrayLike) -> Floats:
    """Returns k θ − (k − 1) θ_(−b) for each of the k blocks that θ rests on, with mean θ.

    The mean of pseudo-values is the jackknife's estimate, which differs from θ by its bias; it is
    moved onto θ, so that what is tested is what is shown. For a mean over units, left out one by
    one, they are the values of the units.

    Args:
        value: θ, of all blocks.
        left_out: shape (blocks,), θ without each block.
        rests_on: shape (blocks,), whether the block has a part in θ: others say nothing of it.

    Returns:
        Shape (blocks,); nan for the others, and for all where θ is undefined without some block.

    Source: Tukey (1958); Efron & Tibshirani (1993), An Introduction to the Bootstrap, 11.
    """
    without = np.asarray(left_out, dtype=np.float64)
    mine = np.asarray(rests_on, dtype=bool)
    found = np.full(without.shape, np.nan)
    k = int(mine.sum())
    if k < 2 or math.isnan(value) or np.isnan(without[mine]).any():
        return found
    given = k * value - (k - 1) * without[mine]
    found[mine] = given - given.mean() + value
    return found


def ratios(terms: Sequence[Term]) -> tuple[float, Floats, Mask]:
    """Returns Σ sign · Σ x / Σ n, the same without each unit, and which units it rests on.

    Args:
        terms: with sums and sizes of shape (units,).
    """
    value, without, rests_on = 0.0, np.zeros(1), np.zeros(1, dtype=bool)
    for sums, sizes, sign in terms:
        total, size = float(sums.sum()), float(sizes.sum())
        rest = size - sizes
        ratio = np.full(sums.shape, np.nan)
        np.divide(total - sums, rest, out=ratio, where=rest > 1e-12)
        value += sign * (total / size if size else math.nan)
        without = without + sign * ratio
        rests_on = rests_on | (sizes > 0)
    return value, without, rests_on


def of_separate_units(before: Sequence[Term], after: Sequence[Term]) -> tuple[Floats, Mask] | None:
    """The change by unit of a difference of two groups, and which units are of the first.

    Where few units are on one side, the error of the difference is nearly theirs alone, and all
    units together would give it too many degrees of freedom: Welch's test of both sides does not.

    Args:
        before, after: of the figure, Σ x / Σ n of the first group less that of the second.

    Returns:
        Shape (units,): pseudo-values of each group's own change, nan where a unit plays no part;
        the difference of their means is the change. None where the figure is no such difference,
        or a unit is in both groups.
    """
    if [sign for _, _, sign in before] != [1.0, -1.0] or len(after) != 2:
        return None
    rests = [(b[1] > 0) | (a[1] > 0) for b, a in zip(before, after, strict=True)]
    if (rests[0] & rests[1]).any():
        return None
    columns = []
    for (b_sums, b_sizes, _), (a_sums, a_sizes, _), mine in zip(before, after, rests, strict=True):
        b, b_without, _ = ratios([(b_sums, b_sizes, 1.0)])
        a, a_without, _ = ratios([(a_sums, a_sizes, 1.0)])
        columns.append(pseudo_values(a - b, a_without - b_without, mine))
    return np.where(rests[0], columns[0], columns[1]), rests[0]


def change_of_limits(after: Estimate, before: Estimate, correlation: float) -> Estimate:
    """Returns after − before with limits made of those of the two.

        low  = d − √((a − a_low)² + (b_high − b)² − 2 r (a − a_low)(b_high − b))
        high = d + √((a_high − a)² + (b − b_low)² − 2 r (a_high − a)(b − b_low))

    For figures whose intervals are not symmetric, such as a root that cannot fall below 0.

    Args:
        after, before: a and b with their limits.
        correlation: r, of the errors of the two.

    Returns:
        Without limits where one of the two has none.

    Source: Zou & Donner (2008), Statistics in Medicine 27, 1693–1702.
    """
    a, b = after, before
    r = 0.0 if math.isnan(correlation) else correlation
    change = a.value - b.value

    def reach(one: float, other: float) -> float:
        if math.isnan(one + other):
            return math.nan
        return math.sqrt(max(0.0, one**2 + other**2 - 2 * r * one * other))

    return replace(
        after,
        value=change,
        low=change - reach(a.value - a.low, b.high - b.value),
        high=change + reach(a.high - a.value, b.value - b.low),
        method=f"of both intervals, correlation {r:.2f} (Zou & Donner)",
        p=math.nan, p_adjusted=math.nan, p_method=None, family=None, verdict=None, se=math.nan,
    )  # fmt: skip
