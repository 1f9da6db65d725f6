"""Prompts that find a difference: for `differences` until it is on the engine."""

from __future__ import annotations

import math
from functools import lru_cache

from scipy.special import nctdtr, stdtrit

from .intervals import fewest_units


@lru_cache(maxsize=4096)
def prompts_to_detect(
    standard_deviation: float,
    effect: float,
    *,
    alpha: float = 0.05,
    tests: int = 1,
    power: float = 0.8,
) -> int:
    """Returns the fewest prompts that find a true mean of `effect` at level alpha / tests.

    Power of the two-sided paired t test by the noncentral t. Never fewer than the prompts with
    which a sign-flip test can reach that level at all, 2 / 2^n ≤ alpha / tests.

    Args:
        standard_deviation: of the per-prompt differences, above 0.
        effect: true mean in the same units; only its size counts, above 0.
        alpha: family-wise level.
        tests: cells in the family.
        power: wanted probability.

    Raises:
        ValueError: an argument outside its range.
    """
    effect = abs(effect)
    if not (standard_deviation > 0 and effect > 0 and tests >= 1):
        raise ValueError("standard_deviation and effect must be above 0, tests at least 1")
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError("alpha and power must be in (0, 1)")
    level = alpha / tests
    lattice = max(1, math.ceil(1 - math.log2(level) - 1e-9) - 1)

    def reaches(n: int) -> bool:
        noncentrality = effect * math.sqrt(n) / standard_deviation
        limit = float(stdtrit(n - 1, 1 - level / 2))
        # Far out scipy's noncentral t underflows; the power is 1 to every digit long before.
        return noncentrality > limit + 12 or 1 - float(nctdtr(n - 1, noncentrality, limit)) >= power

    return fewest_units(reaches, after=lattice)
