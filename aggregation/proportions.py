"""Intervals and tests of proportions: Wilson, Newcombe, McNemar mid-p."""

import math

from scipy.special import ndtri

from .estimate import Estimate


def wilson(successes: int, trials: int, *, level: float = 0.95, unit: str = "item") -> Estimate:
    """Returns a proportion with Wilson's score interval.

    (p̂ + z²/2n ± z sqrt(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n). Trials must be independent: repeats
    of one prompt are not.

    Returns:
        nan, with the reason, without trials.

    Raises:
        ValueError: successes outside [0, trials], or level outside (0, 1).

    Source: Wilson (1927).
    """
    _check(successes, trials, level)
    if trials == 0:
        nan = math.nan
        return Estimate(nan, nan, nan, 0, unit, "wilson", level, f"no {unit}s")
    low, high = _wilson_limits(successes / trials, trials, level)
    return Estimate(successes / trials, low, high, trials, unit, "wilson", level)


def newcombe(
    successes_a: int,
    trials_a: int,
    successes_b: int,
    trials_b: int,
    *,
    level: float = 0.95,
    unit: str = "item",
) -> Estimate:
    """Returns the difference p_a − p_b of independent proportions with Newcombe's interval.

    d − sqrt((p_a − l_a)² + (u_b − p_b)²), d + sqrt((u_a − p_a)² + (p_b − l_b)²), with Wilson
    limits l, u. n counts both samples.

    Raises:
        ValueError: as in `wilson`.

    Source: Newcombe (1998), Statistics in Medicine 17, 873–890, method 10.
    """
    _check(successes_a, trials_a, level)
    _check(successes_b, trials_b, level)
    n = trials_a + trials_b
    if trials_a == 0 or trials_b == 0:
        nan = math.nan
        return Estimate(nan, nan, nan, n, unit, "newcombe", level, f"a sample without {unit}s")
    a, b = successes_a / trials_a, successes_b / trials_b
    low_a, high_a = _wilson_limits(a, trials_a, level)
    low_b, high_b = _wilson_limits(b, trials_b, level)
    low = a - b - math.hypot(a - low_a, high_b - b)
    high = a - b + math.hypot(high_a - a, b - low_b)
    return Estimate(a - b, low, high, n, unit, "newcombe", level)


def mcnemar_midp(only_a: int, only_b: int) -> float:
    """Returns McNemar's two-sided mid-p from the two discordant counts of paired yes/no data.

    2 P(X < min) + P(X = min), X ~ Binomial(only_a + only_b, 1/2); 1 when the counts are equal.

    Returns:
        nan without a discordant pair: the pairs say nothing about a difference.

    Raises:
        ValueError: a negative count.

    Source: Fagerland, Lydersen & Laake (2013), BMC Medical Research Methodology 13:91.
    """
    from scipy import stats

    if only_a < 0 or only_b < 0:
        raise ValueError(f"counts must be at least 0, got {only_a} and {only_b}")
    n, least = only_a + only_b, min(only_a, only_b)
    if n == 0:
        return math.nan
    at_least = float(stats.binom.pmf(least, n, 0.5))
    return min(2 * float(stats.binom.cdf(least, n, 0.5)) - at_least, 1.0)


def _wilson_limits(p: float, n: int, level: float) -> tuple[float, float]:
    z = float(ndtri((1 + level) / 2))
    centre = p + z * z / (2 * n)
    reach = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    # At 0 and 1 the limit is exactly there; rounding must not push it outside.
    low = 0.0 if p == 0 else (centre - reach) / scale
    high = 1.0 if p == 1 else (centre + reach) / scale
    return low, high


def _check(successes: int, trials: int, level: float) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be in [0, trials], got {successes} of {trials}")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
