"""The shares of two questions, their gap as the paper has it, and the gap without its noise.

A question's answers come in strata: the orders of the options. Shares are those of the first
option, in [0, 1]; scores S are in points, 0 to 100, as in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

Strata = tuple[tuple[int, int], ...]
"""One (answers that take the first option, answers) for each order of the options."""

POINTS = 100
_ROUNDING = 1e-9


def share(strata: Strata) -> float:
    """P(A) of the paper: answers that take the first option out of all; nan without an answer."""
    n = sum(of for _, of in strata)
    return sum(count for count, _ in strata) / n if n else math.nan


def score(one: float, other: float) -> float:
    """S = |P1(A) − P2(A)| in points; nan where a share is."""
    return POINTS * abs(one - other)


def reaches(points: float, threshold: float) -> bool:
    """Whether a score is at least the threshold: 7/10 − 5/10 are 20 points, whatever floats say."""
    return points >= threshold - _ROUNDING


class Balanced(NamedTuple):
    """A share in which every order weighs the same.

    Attributes:
        share: mean over the orders of the share in each; nan where an order has no answer.
        variance: its unbiased variance, (1/m²) Σ p_o (1 − p_o)/(n_o − 1) over the m orders; nan
            where an order has fewer than two answers.
    """

    share: float
    variance: float


def balanced(strata: Sequence[tuple[int, int]]) -> Balanced:
    """The share with all orders alike.

    Where answers are missing, an order that is over-represented would pass for a preference. And a
    model that leans to the place of an option has less variance than one lot of answers would
    show: within an order it is measured, over both it would be overstated.
    """
    if not strata or any(of == 0 for _, of in strata):
        return Balanced(math.nan, math.nan)
    m = len(strata)
    shares = [count / of for count, of in strata]
    middle = sum(shares) / m
    if any(of < 2 for _, of in strata):
        return Balanced(middle, math.nan)
    parts = (p * (1 - p) / (of - 1) for p, (_, of) in zip(shares, strata, strict=True))
    return Balanced(middle, sum(parts) / m**2)


def squared_gap(one: Balanced, other: Balanced) -> float:
    """The unbiased squared gap, in squared shares: (P1 − P2)² − var(P1) − var(P2).

    The squared difference of two shares that are equal is still positive on average, by exactly
    the sum of their variances. May be negative; nan where a variance is.
    """
    return (one.share - other.share) ** 2 - one.variance - other.variance


def root_gap(mean_square: float) -> float:
    """The root of an average of unbiased squared gaps, in points; 0 where it is negative."""
    return POINTS * math.sqrt(max(0.0, mean_square))
