"""Shares of yes and no: Wilson, paired models, chi-square, exact tests, judges of known errors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
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
class CochranQ:
    """Cochran's test that several models have one rate.

    Attributes:
        q: the statistic; nan where undefined.
        df: models − 1.
        p_chi2: by the chi-square distribution: prompts independent of each other.
        p_permutation: by permuting the models within each cluster of prompts; nan without.
        n: prompts that every model has an outcome for.
        n_missing: prompts left out because a model has none.
        n_clusters: clusters among the n prompts.
        resamples: permutations drawn.
        reason: why something is undefined, or None.
    """

    q: float
    df: int
    p_chi2: float
    p_permutation: float
    n: int
    n_missing: int
    n_clusters: int
    resamples: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's test of two models on the same prompts.

    Attributes:
        only_a, only_b: discordant prompts.
        both, neither: concordant ones.
        statistic: (only_a − only_b)² / (only_a + only_b); nan without a discordant prompt.
        p_chi2, p_exact, p_mid: by chi-square with 1 df, exact binomial, and mid-p.
    """

    only_a: int
    only_b: int
    both: int
    neither: int
    statistic: float
    p_chi2: float
    p_exact: float
    p_mid: float

    @property
    def n(self) -> int:
        """Prompts that both have an outcome for."""
        return self.only_a + self.only_b + self.both + self.neither


def cochran_q(
    outcomes: npt.ArrayLike,
    *,
    clusters: Sequence[Hashable] | None = None,
    resamples: int = 9999,
    rng: np.random.Generator | int | None = 0,
) -> CochranQ:
    """Returns Cochran's Q test over models that answered the same prompts.

    Q = (k − 1)(k Σ_j C_j² − N²) / (k N − Σ_i R_i²)      C_j: yeses of model j; R_i: of prompt i;
    N: all. Under the null, chi-square with k − 1 df where prompts are independent. Prompts made
    from one template are not: the permutation exchanges the models of a whole cluster at once, so
    that what its prompts share stays together. With k = 2, Q is McNemar's statistic.

    Args:
        outcomes: shape (models, prompts), 0 and 1; nan is missing and leaves the prompt out. With
            repeats, the shares of yes: then only the permutation test is given.
        clusters: one label a prompt; every prompt its own cluster when left out.
        resamples: permutations drawn; 0 leaves the permutation test out.
        rng: generator or seed.

    Raises:
        ValueError: not two-dimensional, fewer than two models, values outside [0, 1], or labels of
            another number than prompts.

    Source: Cochran (1950), Biometrika 37, 256–266.
    """
    from scipy import stats

    table = np.asarray(outcomes, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 2:
        raise ValueError(f"outcomes must be (models of 2 at least, prompts), got {table.shape}")
    known = table[~np.isnan(table)]
    if known.size and (known.min() < 0 or known.max() > 1):
        raise ValueError("outcomes must be in [0, 1] or nan")
    labels = list(range(table.shape[1])) if clusters is None else list(clusters)
    if len(labels) != table.shape[1]:
        raise ValueError(f"clusters must be one a prompt, got {len(labels)} of {table.shape[1]}")
    whole = np.asarray(~np.isnan(table).any(axis=0), dtype=np.bool_)
    kept = table[:, whole]
    k, n = kept.shape
    groups = [label for label, keep in zip(labels, whole.tolist(), strict=True) if keep]
    codes = _codes(groups)
    n_clusters = int(codes.max()) + 1 if n else 0
    missing = table.shape[1] - n
    nan = math.nan
    below = float(k * kept.sum() - (kept.sum(axis=0) ** 2).sum()) if n else 0.0
    if below <= 1e-12:
        reason = "no prompt on which the models differ" if n else "no prompt that all have answered"
        return CochranQ(nan, k - 1, nan, nan, n, missing, n_clusters, 0, reason)
    q = _q(kept.sum(axis=1), below, k)
    is_binary = bool(np.isin(kept, (0.0, 1.0)).all())
    p_chi2 = float(stats.chi2.sf(q, k - 1)) if is_binary else nan
    p_permutation = nan
    if resamples:
        sums = np.zeros((n_clusters, k))
        np.add.at(sums, codes, kept.T)
        reached = _reached(sums, below, q, resamples, np.random.default_rng(rng))
        p_permutation = (1 + reached) / (resamples + 1)
    return CochranQ(q, k - 1, p_chi2, p_permutation, n, missing, n_clusters, resamples)


def mcnemar_test(a: npt.ArrayLike, b: npt.ArrayLike) -> McNemar:
    """Returns McNemar's test of two models' 0/1 outcomes on the same prompts.

    Args:
        a: shape (prompts,), 0 and 1; nan is missing and deletes the prompt.
        b: likewise.

    Raises:
        ValueError: different lengths, or values other than 0, 1 and nan.

    Source: McNemar (1947); mid-p as in `mcnemar_midp`.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"must be of one length, got {first.shape} and {second.shape}")
    there = ~(np.isnan(first) | np.isnan(second))
    first, second = first[there], second[there]
    if not np.isin(np.concatenate((first, second)), (0.0, 1.0)).all():
        raise ValueError("outcomes must be 0, 1 or nan")
    only_a = int((first > second).sum())
    only_b = int((second > first).sum())
    both = int(((first == 1) & (second == 1)).sum())
    neither = int(first.size - only_a - only_b - both)
    return mcnemar_of_counts(only_a, only_b, both=both, neither=neither)


def mcnemar_of_counts(only_a: int, only_b: int, *, both: int = 0, neither: int = 0) -> McNemar:
    """Returns the same test from its counts.

    Raises:
        ValueError: a negative count.
    """
    from scipy import stats

    p_mid = mcnemar_midp(only_a, only_b)
    n = only_a + only_b
    if n == 0:
        nan = math.nan
        return McNemar(only_a, only_b, both, neither, nan, nan, nan, nan)
    statistic = (only_a - only_b) ** 2 / n
    exact = float(stats.binomtest(only_a, n).pvalue)
    p_chi2 = float(stats.chi2.sf(statistic, 1))
    return McNemar(only_a, only_b, both, neither, statistic, p_chi2, exact, p_mid)


def paired_difference(
    only_a: int, only_b: int, n: int, *, level: float = 0.95, unit: str = "prompt"
) -> Estimate:
    """Returns the difference of two rates on the same prompts, p_a − p_b, with its interval.

    With f~ = (f + 1) / (n + 2) for the two discordant shares: (f~_a − f~_b) ± z sqrt((f~_a + f~_b
    − (f~_a − f~_b)²) / (n + 2)), cut at ±1. The value is the plain difference. Prompts must be
    independent.

    Returns:
        nan, with the reason, without prompts.

    Raises:
        ValueError: counts that do not fit n, or level outside (0, 1).

    Source: Bonett & Price (2012), Journal of Educational and Behavioral Statistics 37, 479–488.
    """
    if only_a < 0 or only_b < 0 or only_a + only_b > n:
        raise ValueError(f"discordant counts must fit n, got {only_a} and {only_b} of {n}")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    if n == 0:
        nan = math.nan
        return Estimate(nan, nan, nan, 0, unit, "bonett-price", level, f"no {unit}s")
    a, b = (only_a + 1) / (n + 2), (only_b + 1) / (n + 2)
    z = float(ndtri((1 + level) / 2))
    reach = z * math.sqrt((a + b - (a - b) ** 2) / (n + 2))
    low, high = max(a - b - reach, -1.0), min(a - b + reach, 1.0)
    return Estimate((only_a - only_b) / n, low, high, n, unit, "bonett-price", level)


def _q(sums: Floats, below: float, k: int) -> float:
    return float((k - 1) * (k * (sums**2).sum() - sums.sum() ** 2) / below)


def _reached(
    sums: Floats, below: float, q: float, resamples: int, generator: np.random.Generator
) -> int:
    """How many permutations of the models within clusters give a Q as large."""
    n_clusters, k = sums.shape
    at_once = max(1, 500_000 // sums.size)
    reached = done = 0
    while done < resamples:
        many = min(at_once, resamples - done)
        done += many
        copies = np.broadcast_to(sums, (many, n_clusters, k))
        drawn = generator.permuted(copies, axis=2).sum(axis=1)
        found = (k - 1) * (k * (drawn**2).sum(axis=1) - drawn.sum(axis=1) ** 2) / below
        reached += int((found >= q * (1 - 1e-9)).sum())
    return reached


def _codes(labels: Sequence[Hashable]) -> npt.NDArray[np.int64]:
    place: dict[Hashable, int] = {}
    return np.asarray([place.setdefault(label, len(place)) for label in labels], dtype=np.int64)


SMALL_EXPECTED = 5.0
"""Below this expected count in any cell the chi-square distribution is not relied upon."""


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A test of independence of rows and columns.

    Attributes:
        statistic: Pearson's; nan where undefined.
        df: (rows − 1)(columns − 1) of what is not empty.
        p: by `method`.
        p_chi2: by the chi-square distribution, whatever the expected counts are.
        n: observations.
        least_expected: smallest expected count.
        cramers_v: effect size in [0, 1].
        method: "chi-square" or "permutation".
        resamples: tables drawn, 0 without permutation.
        reason: why it is undefined, or None.
    """

    statistic: float
    df: int
    p: float
    p_chi2: float
    n: int
    least_expected: float
    cramers_v: float
    method: str
    resamples: int = 0
    reason: str | None = None


def chi_square_test(
    counts: npt.ArrayLike,
    *,
    resamples: int = 9999,
    rng: np.random.Generator | int | None = 0,
) -> ChiSquare:
    """Returns Pearson's test of independence of a table of counts.

    X² = Σ (O − E)² / E. Observations must be independent: models that answered the same prompts
    are not independent samples (see `cochran_q`). With an expected count below 5 the p-value is
    (1 + #{X²* ≥ X²}) / (B + 1) over tables drawn with both margins as they are.

    Args:
        counts: shape (rows, columns), whole numbers from 0; empty rows and columns are left out.
        resamples: tables drawn in that case.
        rng: generator or seed.

    Returns:
        nan, with the reason, where fewer than two rows or columns have an observation.

    Raises:
        ValueError: not two-dimensional, or negative or fractional counts.

    Source: Pearson (1900); Patefield (1981) for the draws; Phipson & Smyth (2010) for their p.
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
        nan = math.nan
        reason = f"{rows} rows and {columns} columns have observations"
        return ChiSquare(nan, 0, nan, nan, n, nan, nan, "chi-square", 0, reason)
    test = stats.chi2_contingency(whole, correction=False)
    expected, df = test.expected_freq, int(test.dof)
    statistic, p_chi2 = float(test.statistic), float(test.pvalue)
    v = math.sqrt(statistic / (n * (min(rows, columns) - 1)))
    least = float(expected.min())
    if least >= SMALL_EXPECTED or not resamples:
        return ChiSquare(statistic, df, p_chi2, p_chi2, n, least, v, "chi-square")
    generator = np.random.default_rng(rng)
    drawn = stats.random_table(whole.sum(axis=1), whole.sum(axis=0)).rvs(
        size=resamples, random_state=generator
    )
    found = ((drawn - expected) ** 2 / expected).sum(axis=(1, 2))
    reached = int((found >= statistic * (1 - 1e-9)).sum())
    p = (1 + reached) / (resamples + 1)
    return ChiSquare(statistic, df, p, p_chi2, n, least, v, "permutation", resamples)


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
