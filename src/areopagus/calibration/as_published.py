"""Agreement of people in the definitions of the paper, for comparison only.

They are not what this project recommends: W takes the raw rank column without re-ranking or tie
correction, tau is taken over ranks concatenated across prompts, and ordinal alpha pools raw ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..aggregation.agreement import krippendorff_alpha
from ..aggregation.concordance import kendall_w_uncorrected
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.kendall import kendall_tau_b
from .ratings import Ratings, by_place, prompt_tables

MOST_PAIRS = 5000
"""Pairs of raters up to which the concatenated tau is computed."""


@dataclass(frozen=True, slots=True)
class AsPublished:
    """The paper's coefficients.

    Attributes:
        w: mean over prompts of W on raw ranks, uncorrected.
        pairwise_tau: mean over rater pairs of tau-b on ranks concatenated over common prompts.
        alpha: ordinal alpha over raw ranks; 1 where all ranks are equal, as released.
    """

    w: Estimate
    pairwise_tau: Estimate
    alpha: Estimate


_NO_INTERVAL = "the paper's definition: printed for comparison, without an interval"


def as_published(ratings: Ratings) -> AsPublished:
    """Returns W, pairwise tau and alpha of ranks in the paper's definitions."""
    if ratings.kind != "rank":
        none = undefined("the paper's definitions need ranks", method="the paper's definition")
        return AsPublished(none, none, none)
    w: list[float] = []
    for tables in prompt_tables(ratings):
        w.extend(kendall_w_uncorrected(-table) for table in tables.values)
    known = [value for value in w if not math.isnan(value)]
    mean_w = Estimate(
        float(np.mean(known)) if known else math.nan,
        n=len(known),
        unit="prompt",
        method="the paper's W: raw ranks, no tie correction, mean over prompts",
        reason=_NO_INTERVAL if known else "no prompt has two complete raters",
    )
    return AsPublished(mean_w, _concatenated_tau(ratings), _alpha(ratings))


def _concatenated_tau(ratings: Ratings) -> Estimate:
    method = "the paper's pairwise tau: tau-b on ranks concatenated over common prompts"
    raters, start = np.unique(ratings.rater, return_inverse=True)
    if len(raters) * (len(raters) - 1) // 2 > MOST_PAIRS:
        return undefined(
            f"more than {MOST_PAIRS} pairs of raters", method=method, unit="rater pair"
        )
    order = np.lexsort((ratings.response, start))
    cuts = np.searchsorted(start[order], np.arange(len(raters) + 1))
    mine = [order[cuts[k] : cuts[k + 1]] for k in range(len(raters))]
    taus: list[float] = []
    for one in range(len(raters)):
        for other in range(one + 1, len(raters)):
            _, left, right = np.intersect1d(
                ratings.response[mine[one]],
                ratings.response[mine[other]],
                assume_unique=True,
                return_indices=True,
            )
            if len(left) < 2:
                continue
            x: npt.NDArray[np.float64] = ratings.value[mine[one]][left]
            y: npt.NDArray[np.float64] = ratings.value[mine[other]][right]
            if np.ptp(x) > 0 and np.ptp(y) > 0:
                taus.append(kendall_tau_b(x, y))
    return Estimate(
        float(np.mean(taus)) if taus else math.nan,
        n=len(taus),
        unit="rater pair",
        method=method,
        reason=_NO_INTERVAL if taus else "no two raters share two responses they both order",
    )


def _alpha(ratings: Ratings) -> Estimate:
    method = "the paper's alpha: ordinal, raw ranks of all prompts"
    table = by_place(ratings)
    if table is None:
        return undefined("one response has too many ratings", method=method, unit="rating")
    value = krippendorff_alpha(table, "ordinal")
    several = (~np.isnan(table)).sum(axis=0) >= 2
    if math.isnan(value) and several.any():
        value = 1.0  # the released script's rule for constant data
    return Estimate(
        value,
        n=len(ratings),
        unit="rating",
        method=method,
        reason=_NO_INTERVAL if not math.isnan(value) else "no response has two ratings",
    )
