"""Comparing yes/no rates of several models on the same prompts: Cochran's Q, McNemar, clusters."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from .estimate import Estimate
from .proportions import mcnemar_midp

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
    p_mid = mcnemar_midp(only_a, only_b)
    n = only_a + only_b
    if n == 0:
        nan = math.nan
        return McNemar(only_a, only_b, both, neither, nan, nan, nan, nan)
    statistic = (only_a - only_b) ** 2 / n
    exact = min(1.0, 2 * float(stats.binom.cdf(min(only_a, only_b), n, 0.5)))
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
    z = float(stats.norm.ppf((1 + level) / 2))
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
