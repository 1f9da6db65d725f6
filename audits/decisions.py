"""Verdicts of figures that have an interval of their own, and no value a unit.

Shares against no preference, balanced shares and means over crossed clusters are decided as every
comparison is (`aggregation.rules`): by limits that hold for the whole family. Theirs are the
intervals that they have, at the level that Bonferroni gives each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.rules import WORTH, labelled, with_verdict

ALPHA: Final = 0.05

Interval = Callable[[float], Estimate]
"""A level to the figure with its interval at it."""


def decided_by_intervals(
    intervals: Sequence[Interval],
    *,
    family: str,
    nulls: Sequence[float] | None = None,
    worth: float = WORTH,
) -> list[Estimate]:
    """Returns the figures at 95%, with the limits of the family and what these decide.

    Args:
        intervals: one a figure.
        family: what they are, in the plural.
        nulls: what stands for no difference, one a figure; 0 where left out.
        worth: the distance from it that `needed` units would detect.
    """
    from scipy.special import stdtr, stdtrit

    plain = [make(1 - ALPHA) for make in intervals]
    k = max(sum(one.is_defined for one in plain), 1)
    found = []
    for make, one, null in zip(intervals, plain, nulls or [0.0] * len(plain), strict=True):
        wide = make(1 - ALPHA / k)
        se = one.se
        if one.has_interval and math.isnan(se):
            se = (one.high - one.low) / 2 / float(stdtrit(one.n - 1, 1 - ALPHA / 2))
        row = replace(
            one, value=one.value - null, low_family=wide.low - null, high_family=wide.high - null,
            se=se,
        )  # fmt: skip
        row = with_verdict(row, margin=None, worth=worth, tail=ALPHA / 2 / k, n_tests=k)
        p = row.p
        if one.has_interval:
            single = one.p if one.p == one.p else 2 * stdtr(one.n - 1, -abs(row.value) / se)
            p = float(np.minimum(1.0, k * single))
        found.append(
            replace(
                one,
                p=p,
                p_method=one.p_method or row.p_method,
                family=labelled(family, k),
                low_family=wide.low,
                high_family=wide.high,
                verdict=row.verdict,
                needed=row.needed,
            )
        )
    return found


def is_shown(found: Estimate) -> bool:
    """Whether it is higher or lower."""
    return found.verdict in ("higher", "lower")


def is_untested(found: Estimate) -> bool:
    """Whether nothing could be decided."""
    return math.isnan(found.value) or found.n < MIN_UNITS or found.verdict in (None, "undefined")
