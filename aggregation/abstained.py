"""What a mean could be if those who abstained had scored."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class AbstentionBounds:
    """A mean of answered scores, and the range that abstentions leave open.

    Attributes:
        mean: of the scores given; nan where nobody scored.
        low, high: the mean if every abstention were the lowest or the highest score. They are
            bounds, not an interval: no sampling error is in them.
        coverage: share that scored.
        n_scored, n_abstained: counts.
    """

    mean: float
    low: float
    high: float
    coverage: float
    n_scored: int
    n_abstained: int


def abstention_bounds(
    scores: npt.ArrayLike, *, lowest: float = 1.0, highest: float = 10.0
) -> AbstentionBounds:
    """Returns the mean of the scores given and its bounds over what the abstentions could be.

    [(S + a·lowest) / n, (S + a·highest) / n]      S: sum of scores, a abstentions among n
    Dropping, counting as the lowest score, and bounding answer three different questions; where
    abstention goes with quality, the mean of answered scores is biased and only the bounds hold.

    Args:
        scores: one score each, nan for an abstention. A judgment that failed is no abstention:
            leave it out.
        lowest, highest: ends of the scale.

    Raises:
        ValueError: no entry, a score outside the scale, or ends in the wrong order.

    Source: Rao & Callison-Burch, arXiv 2606.00093.
    """
    values = np.asarray(scores, dtype=np.float64).ravel()
    if not lowest < highest:
        raise ValueError(f"lowest must be below highest, got {lowest} and {highest}")
    given = values[~np.isnan(values)]
    if not values.size or (given.size and (given.min() < lowest or given.max() > highest)):
        raise ValueError(
            f"scores must be at least one value within [{lowest:g}, {highest:g}], got "
            + (f"{given.min():g} to {given.max():g}" if given.size else "none")
        )
    n, n_scored, total = values.size, int(given.size), float(given.sum())
    n_abstained = n - n_scored
    return AbstentionBounds(
        mean=total / n_scored if n_scored else math.nan,
        low=(total + n_abstained * lowest) / n,
        high=(total + n_abstained * highest) / n,
        coverage=n_scored / n,
        n_scored=n_scored,
        n_abstained=n_abstained,
    )
