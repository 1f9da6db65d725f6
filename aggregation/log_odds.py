"""Which words tell the texts of groups apart: log-odds with an informative prior, by units."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

PRIOR_SIZE = 500.0
LEAST_SPREAD = 0.1
"""Of a word that nearly all units use; see `word_contrasts`."""


@dataclass(frozen=True, slots=True)
class WordContrasts:
    """Every word in every group, against all other groups together; arrays (groups, words).

    Attributes:
        here, there: units of the group, and of the others, whose texts use the word.
        log_odds: positive where the word marks the group.
        se: its standard error.
        low, high: limits that hold for all words and groups at once.
        p: the level at which they reach 0.
        resamples: relabellings.
    """

    here: Integers
    there: Integers
    log_odds: Floats
    se: Floats
    low: Floats
    high: Floats
    p: Floats
    resamples: int


def log_odds_with_prior(
    here: npt.ArrayLike, there: npt.ArrayLike, prior: npt.ArrayLike
) -> tuple[Floats, Floats]:
    """Returns the log-odds of every word in one body of counts against another, and their errors.

    δ_w = ln((a_w + α_w) / (n_a + α_0 − a_w − α_w)) − the same for b; var = 1/(a_w + α_w) +
    1/(b_w + α_w); n and α_0 are sums over words. The prior draws rare words to no difference,
    which raw counts or ratios put at the top. The error takes counts for independent: counts of
    word tokens are not, as a text repeats its own words; counts of units whose texts use the word
    are, and then it is a little too large, for a unit counts once at most.

    Args:
        here, there: a and b, shape (..., words), at least 0.
        prior: α, shape (words,), above 0.

    Returns:
        δ and its standard error, shape (..., words); nan where there is no other word.

    Raises:
        ValueError: negative counts, or a prior that is not positive.

    Source: Monroe, Colaresi & Quinn (2008), Political Analysis 16, 372–403, eqs. 15–22.
    """
    a, b = np.asarray(here, dtype=np.float64), np.asarray(there, dtype=np.float64)
    alpha = np.asarray(prior, dtype=np.float64)
    if (a < 0).any() or (b < 0).any():
        raise ValueError("counts must be at least 0")
    if not (np.isfinite(alpha).all() and (alpha > 0).all()):
        raise ValueError("the prior must be positive")
    a, b = a + alpha, b + alpha
    rests = [one.sum(axis=-1, keepdims=True) - one for one in (a, b)]
    rests = [np.where(rest > 1e-12, rest, np.nan) for rest in rests]
    delta = np.log(a / rests[0]) - np.log(b / rests[1])
    return delta, np.sqrt(1 / a + 1 / b)


def word_contrasts(
    used: npt.ArrayLike,
    groups: npt.ArrayLike,
    relabelled: Iterable[npt.ArrayLike],
    *,
    prior_size: float = PRIOR_SIZE,
    level: float = 0.95,
) -> WordContrasts:
    """Returns every word's log-odds in every group against the others, with simultaneous limits.

    z = δ / se of `log_odds_with_prior` over units, the prior being the words of all units
    together, α_w = prior_size × the word's share; s = z / √(1 − c_w / n), c_w of n units using
    the word, is compared. Limits are where |s| is the quantile of the largest |s| over words and
    groups under relabellings (Westfall & Young 1993, single step), and never narrower than normal
    ones. Where labels can be exchanged between units, the chance that any word is found falsely is
    at most 1 − level, whatever the words have to do with each other.

    Args:
        used: shape (units, words), whether a unit's texts use the word; every word at least once.
        groups: shape (units,), the number of its group, from 0.
        relabelled: such arrays after an exchange of labels that the null allows.
        prior_size: the prior's weight, in words.
        level: nominal simultaneous coverage.

    Raises:
        ValueError: one group alone, different lengths, a word that nobody uses, a prior size that
            is not positive, or no relabelling.
    """
    table = np.asarray(used, dtype=np.float32)
    labels = np.asarray(groups, dtype=np.int64)
    if table.ndim != 2 or labels.shape != (len(table),):
        raise ValueError(f"one group a unit: got {table.shape} and {labels.shape}")
    if not (prior_size > 0 and math.isfinite(prior_size)):
        raise ValueError(f"prior_size must be positive, got {prior_size}")
    numbers = np.unique(labels)
    if numbers.size < 2:
        raise ValueError("two groups at least are compared")
    counts = table.sum(axis=0, dtype=np.float64)
    if (counts <= 0).any():
        raise ValueError("a word that nobody uses cannot be compared")
    prior = prior_size * counts / counts.sum()

    def contrasted(given: Integers) -> tuple[Floats, Floats, Floats]:
        """Counts, log-odds and errors for one labelling."""
        is_in = (given == numbers[:, None]).astype(np.float32)
        here = (is_in @ table).astype(np.float64)
        return here, *log_odds_with_prior(here, counts - here, prior)

    here, delta, error = contrasted(labels)
    # A unit uses a word once at most: z of common words varies less than that of rare ones, and
    # without this the largest z would nearly always be a rare word's.
    spreads = np.sqrt(np.maximum(1 - counts / len(table), LEAST_SPREAD))
    drawn = []
    for other in relabelled:
        _, odds, spread = contrasted(np.asarray(other, dtype=np.int64))
        drawn.append(float(np.nanmax(np.abs(odds / spread) / spreads, initial=0.0)))
    if not drawn:
        raise ValueError("no relabelling is given")
    largest = np.sort(drawn)
    critical = largest[min(math.ceil(level * (len(largest) + 1)), len(largest)) - 1]
    seen = np.abs(delta / error) / spreads * (1 - 1e-9)
    p = (1 + len(largest) - np.searchsorted(largest, seen)) / (len(largest) + 1)
    p = np.maximum(p, 2 * special.ndtr(-np.abs(delta / error)))
    reach = np.maximum(critical * spreads, special.ndtri((1 + level) / 2)) * error
    return WordContrasts(
        here.astype(np.int64), (counts - here).astype(np.int64), delta, error, delta - reach,
        delta + reach, p, len(largest),
    )  # fmt: skip
