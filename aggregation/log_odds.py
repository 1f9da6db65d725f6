"""Which words tell two bodies of text apart: log-odds with an informative Dirichlet prior."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from scipy import stats


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
        found.append(WordContrast(word, a, b, difference, z, 2 * float(stats.norm.sf(abs(z)))))
    return tuple(sorted(found, key=lambda item: (-abs(item.z), item.word)))
