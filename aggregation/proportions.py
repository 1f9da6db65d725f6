"""Shares of yes and no: Wilson, McNemar, chi-square, exact tests, judges of known errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
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
    low, high = _wilson_limits(successes, trials, level)
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
    low_a, high_a = _wilson_limits(successes_a, trials_a, level)
    low_b, high_b = _wilson_limits(successes_b, trials_b, level)
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


def _wilson_limits(successes: int, trials: int, level: float) -> tuple[float, float]:
    # By hand: scipy.stats, which has it too, takes longer to load than a small run lasts.
    z2 = float(ndtri((1 + level) / 2)) ** 2
    share, spread = successes / trials, z2 / trials
    middle = share + spread / 2
    half = math.sqrt(spread * (share * (1 - share) + spread / 4))
    low, high = ((middle + sign * half) / (1 + spread) for sign in (-1, 1))
    # At the ends the limit is exact, whatever rounding left.
    return (0.0 if successes == 0 else low), (1.0 if successes == trials else high)


def _check(successes: int, trials: int, level: float) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be in [0, trials], got {successes} of {trials}")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A test of independence of rows and columns.

    Attributes:
        statistic: Pearson's; nan where undefined.
        df: (rows − 1)(columns − 1) of what is not empty.
        p: by the chi-square distribution.
        n: observations.
        reason: why it is undefined, or None.
    """

    statistic: float
    df: int
    p: float
    n: int
    reason: str | None = None


def chi_square_test(counts: npt.ArrayLike) -> ChiSquare:
    """Returns Pearson's test of independence of a table of counts.

    X² = Σ (O − E)² / E. Observations must be independent: models that answered the same prompts
    are not independent samples, and this test finds differences between them too readily.

    Args:
        counts: shape (rows, columns), whole numbers from 0; empty rows and columns are left out.

    Returns:
        nan, with the reason, where fewer than two rows or columns have an observation.

    Raises:
        ValueError: not two-dimensional, or negative or fractional counts.

    Source: Pearson (1900).
    """
    from scipy import stats

    table = np.asarray(counts)
    if table.ndim != 2:
        raise ValueError(f"counts must be two-dimensional, got shape {table.shape}")
    whole = table.astype(np.int64)
    if (whole < 0).any() or (whole != table).any():
        raise ValueError("counts must be whole numbers from 0 up")
    whole = whole[whole.sum(axis=1) > 0][:, whole.sum(axis=0) > 0]
    n = int(whole.sum())
    rows, columns = whole.shape
    if rows < 2 or columns < 2:
        reason = f"{rows} rows and {columns} columns have observations"
        return ChiSquare(math.nan, 0, math.nan, n, reason)
    test = stats.chi2_contingency(whole, correction=False)
    return ChiSquare(float(test.statistic), int(test.dof), float(test.pvalue), n)


def rogan_gladen(
    share: float,
    n: int,
    *,
    specificity: float,
    n_negative: int,
    sensitivity: float,
    n_positive: int,
    level: float = 0.95,
    unit: str = "item",
) -> Estimate:
    """Returns the true share of passes behind the share that an imperfect judge passes.

    θ = (p + q0 − 1) / (q0 + q1 − 1)        p: share passed; q0: specificity; q1: sensitivity
    Limits after Lee et al.: p is taken as (n p + z²/2) / (n + z²) and q as (m q + 1) / (m + 2),
    m people's labels of that kind; then θ + 2 z² (θ v1 − (1 − θ) v0) ± z SE within [0, 1],
    v = q (1 − q) / (m + 2),
    SE² = (p (1 − p) / (n + z²) + (1 − θ)² v0 + θ² v1) / (q0 + q1 − 1)².

    It is for yes/no verdicts. A score cut at a threshold loses information: use `ppi_mean`. Items
    count as independent, which responses to one prompt are not.

    Args:
        share: of n items that the judge passed.
        n: items judged.
        specificity, sensitivity: shares of people's n_negative fails and n_positive passes that
            the judge calls rightly.
        n_negative, n_positive: items that people labeled, by their label.
        level: nominal coverage.
        unit: what the items are.

    Returns:
        The plain estimate clipped to [0, 1] with its limits; undefined, with the reason, where
        q0 + q1 is at most 1 (a judge no better than chance holds no information).

    Raises:
        ValueError: a share outside [0, 1], a number below 1, or a level outside (0, 1).

    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107; Lee et al.,
    arXiv 2511.21140 (interval).
    """
    shares = (share, specificity, sensitivity)
    if not all(0 <= value <= 1 for value in shares) or min(n, n_negative, n_positive) < 1:
        raise ValueError(
            "shares must lie in [0, 1] and numbers be at least 1, got "
            f"{shares} and {(n, n_negative, n_positive)}"
        )
    if not 0 < level < 1:
        raise ValueError(f"level must lie in (0, 1), got {level}")
    method = "Rogan-Gladen, adjusted Wald"
    z = float(ndtri((1 + level) / 2))
    p, q0, q1 = (
        (n * share + z * z / 2) / (n + z * z),
        (n_negative * specificity + 1) / (n_negative + 2),
        (n_positive * sensitivity + 1) / (n_positive + 2),
    )
    if specificity + sensitivity <= 1 or q0 + q1 <= 1:
        nan = math.nan
        reason = (
            "specificity and sensitivity add up to 1 or less: the judge is no better than chance"
        )
        return Estimate(nan, nan, nan, n, unit, method, level, reason)
    theta = (p + q0 - 1) / (q0 + q1 - 1)
    v0, v1 = q0 * (1 - q0) / (n_negative + 2), q1 * (1 - q1) / (n_positive + 2)
    shift = 2 * z * z * (theta * v1 - (1 - theta) * v0)
    variance = p * (1 - p) / (n + z * z) + (1 - theta) ** 2 * v0 + theta**2 * v1
    reach = z * math.sqrt(variance) / (q0 + q1 - 1)
    value, low, high = (
        min(max(limit, 0.0), 1.0)
        for limit in (
            (share + specificity - 1) / (specificity + sensitivity - 1),
            theta + shift - reach,
            theta + shift + reach,
        )
    )
    return Estimate(value, low, high, n, unit, method, level)
