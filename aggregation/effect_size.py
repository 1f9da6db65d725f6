"""Sizes of effects: paired differences, detectable changes, words that tell two texts apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special


def cohen_dz(differences: npt.ArrayLike) -> float:
    """Returns mean / standard deviation of paired differences; nan is missing.

    Depends on the correlation between the two arms: not comparable across designs, so raw points
    come first. nan with fewer than two values or values that do not vary.
    """
    values = np.asarray(differences, dtype=np.float64)
    known = values[~np.isnan(values)]
    if known.size < 2:
        return math.nan
    spread = float(known.std(ddof=1))
    mean = float(known.mean())
    return mean / spread if spread > 1e-12 * max(abs(mean), 1e-3) else math.nan


def cohen_dav(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Returns the mean of first − second over the mean of the two standard deviations.

    Pairs with a missing side are deleted; nan with fewer than two pairs or without spread.

    Raises:
        ValueError: different lengths.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"first and second must be paired, got shapes {a.shape} and {b.shape}")
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < 2:
        return math.nan
    spread = float(a[both].std(ddof=1) + b[both].std(ddof=1)) / 2
    return float((a[both] - b[both]).mean()) / spread if spread > 0 else math.nan


def hedges_correction(degrees_of_freedom: float) -> float:
    """Returns J = Γ(ν/2) / (sqrt(ν/2) Γ((ν − 1)/2)), which unbiases a standardised mean.

    Raises:
        ValueError: degrees of freedom not above 1.

    Source: Hedges (1981).
    """
    if not degrees_of_freedom > 1:
        raise ValueError(f"degrees_of_freedom must be above 1, got {degrees_of_freedom}")
    half = degrees_of_freedom / 2
    return math.exp(special.gammaln(half) - special.gammaln(half - 0.5)) / math.sqrt(half)


def smallest_detectable_change(
    retest_sd: float, n_judges: int, *, repeats: int = 1, n_prompts: int = 1, level: float = 0.95
) -> float:
    """Returns the change of a panel mean that re-asking alone stays below with probability level.

    z sqrt(2) s / sqrt(judges x repeats x prompts). Too small where re-ask noise is shared between
    judges, and meaningless where repeats came from a cache or at temperature 0.

    Args:
        retest_sd: standard deviation of one judge's repeated scores of one response.
        n_judges: judges averaged.
        repeats: askings of each judge averaged.
        n_prompts: prompts averaged.
        level: two-sided, in (0, 1).

    Raises:
        ValueError: an argument outside its range.
    """
    if not (retest_sd >= 0 or math.isnan(retest_sd)) or min(n_judges, repeats, n_prompts) < 1:
        raise ValueError("retest_sd must be at least 0, and every count at least 1")
    if not 0 < level < 1:
        raise ValueError(f"level must be in (0, 1), got {level}")
    z = float(special.ndtri((1 + level) / 2))
    return z * math.sqrt(2) * retest_sd / math.sqrt(n_judges * repeats * n_prompts)


@dataclass(frozen=True, slots=True)
class WordContrast:
    """One word.

    Attributes:
        word: the word.
        count_a, count_b: occurrences in the two bodies.
        log_odds: difference of log-odds, positive where it marks the first.
        z: log_odds over its standard error.
        p: two-sided, normal; for a correction over words, not as a finding of its own.
    """

    word: str
    count_a: int
    count_b: int
    log_odds: float
    z: float
    p: float


def log_odds_with_prior(
    counts_a: Mapping[str, int],
    counts_b: Mapping[str, int],
    *,
    background: Mapping[str, int] | None = None,
    prior_size: float = 500.0,
) -> tuple[WordContrast, ...]:
    """Returns every word's contrast, by |z| falling, then by word.

    δ_w = ln((a_w + α_w) / (n_a + α_0 − a_w − α_w)) − the same for b; var ≈ 1/(a_w + α_w) +
    1/(b_w + α_w); α_w is prior_size times the word's share in the background, α_0 = prior_size.
    The prior draws rare words to no difference, which raw counts or ratios put at the top. Counts
    are taken as independent: texts that repeat their own words make z too large.

    Args:
        counts_a: word to occurrences.
        counts_b: likewise.
        background: counts of the corpus that the prior follows; the two together when left out.
        prior_size: weight of the prior in words.

    Returns:
        Empty without a word.

    Raises:
        ValueError: negative counts, a prior that is not positive, or a word of the two bodies that
            the background does not have.

    Source: Monroe, Colaresi & Quinn (2008), Political Analysis 16, 372–403, eqs. 15–22.
    """
    if prior_size <= 0 or not math.isfinite(prior_size):
        raise ValueError(f"prior_size must be positive, got {prior_size}")
    words = sorted(set(counts_a) | set(counts_b))
    base = background
    if base is None:
        base = {word: counts_a.get(word, 0) + counts_b.get(word, 0) for word in words}
    if any(count < 0 for counts in (counts_a, counts_b, base) for count in counts.values()):
        raise ValueError("counts must be at least 0")
    total = sum(base.values())
    words = [word for word in words if counts_a.get(word, 0) or counts_b.get(word, 0)]
    unknown = [word for word in words if not base.get(word)]
    if unknown:
        raise ValueError(f"the background does not have {', '.join(unknown[:5])}")
    n_a, n_b = sum(counts_a.values()), sum(counts_b.values())
    found = []
    for word in words:
        alpha = prior_size * base[word] / total
        a, b = counts_a.get(word, 0), counts_b.get(word, 0)
        rest_a = n_a + prior_size - a - alpha
        rest_b = n_b + prior_size - b - alpha
        if rest_a <= 0 or rest_b <= 0:
            continue  # the only word there is: nothing to be told apart from
        difference = math.log((a + alpha) / rest_a) - math.log((b + alpha) / rest_b)
        z = difference / math.sqrt(1 / (a + alpha) + 1 / (b + alpha))
        found.append(WordContrast(word, a, b, difference, z, 2 * float(special.ndtr(-abs(z)))))
    return tuple(sorted(found, key=lambda item: (-abs(item.z), item.word)))
