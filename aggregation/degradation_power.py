"""How many prompts a cell needs before it can be called changed or robust."""

import math
from functools import lru_cache

from .equivalence import prompts_for_equivalence


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

    Power of the two-sided paired t test by the noncentral t, at the level of Holm's first step
    (alpha / tests): the number is enough however few other cells change. Never fewer than the
    prompts with which a sign-flip test can reach that level at all, 2 / 2^n ≤ alpha / tests.

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
    low = max(1, math.ceil(1 - math.log2(level) - 1e-9) - 1)
    high = low + 1
    while _power(high, standard_deviation, effect, level) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _power(middle, standard_deviation, effect, level) < power:
            low = middle
        else:
            high = middle
    return high


def _power(n: int, sd: float, effect: float, level: float) -> float:
    from scipy import stats

    noncentrality = effect * math.sqrt(n) / sd
    limit = float(stats.t.ppf(1 - level / 2, n - 1))
    # Far out scipy's noncentral t underflows; the power is 1 to every digit long before.
    if noncentrality > limit + 12:
        return 1.0
    return float(stats.nct.sf(limit, n - 1, noncentrality))


@lru_cache(maxsize=4096)
def prompts_to_exclude(standard_deviation: float, margin: float, *, alpha: float = 0.05) -> int:
    """Returns `prompts_for_equivalence` at power .8 (remembered: a report asks for it often)."""
    return prompts_for_equivalence(standard_deviation, margin, level=1 - alpha)
