"""The one rule by which an audit says that a difference is shown.

A difference is shown where its p, adjusted by Holm over its family, is at most .05 and its own 95%
interval leaves out what stands for no difference. Both are asked for: tests and intervals are not
made of the same statistic, and a verdict must not contradict the figure beside it. The second
condition only takes verdicts away, so the family-wise error stays at .05 or below. Where all units
have one value there is no interval, and p decides; below six units nothing is shown.

An interval is of one difference by itself. So of several, one may leave out 0 without being shown;
reports name those (`by_interval_alone`), and those of which the test alone would
show something (`by_test_alone`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..aggregation.effects import DIFFERS, adjusted_by_holm, consistent, effect_verdict
from ..aggregation.estimate import Estimate
from ..aggregation.intervals import MIN_UNITS

ALPHA: Final = 0.05


def decided(
    found: Sequence[Estimate], families: Sequence[str], *, nulls: Sequence[float] = ()
) -> list[Estimate]:
    """The estimates with p adjusted within each family, and the verdict.

    Args:
        found: with their p; nan counts for nothing.
        families: one name an estimate.
        nulls: what stands for no difference, one an estimate; 0 where left out.
    """
    adjusted = adjusted_by_holm(found, families)
    return [
        consistent(replace(one, verdict=effect_verdict(one)), null=null)
        for one, null in zip(adjusted, nulls or [0.0] * len(adjusted), strict=True)
    ]


def is_shown(found: Estimate) -> bool:
    """Whether a difference is shown."""
    return found.verdict in DIFFERS


def by_interval_alone(found: Estimate, *, null: float = 0.0) -> bool:
    """Whether the interval leaves out no difference, and yet nothing is shown."""
    return found.has_interval and not is_shown(found) and not found.covers(null)


def by_test_alone(found: Estimate, *, null: float = 0.0) -> bool:
    """Whether p is at most .05, and yet nothing is shown: the interval holds no difference."""
    is_far = found.n >= MIN_UNITS and found.p_adjusted <= ALPHA
    return is_far and not is_shown(found) and found.covers(null)


def is_untested(found: Estimate) -> bool:
    """Whether units are too few to show anything, or no test could be made."""
    return math.isnan(found.value) or found.n < MIN_UNITS or found.verdict == "undefined"
