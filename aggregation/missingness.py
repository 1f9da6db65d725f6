"""Which respondents' answers judges leave without a score: shares, and whether they differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .intervals import MIN_UNITS, share_over_prompts, t_interval
from .rules import cut

Floats = npt.NDArray[np.float64]

DRAWS: Final = 4_999
"""Rearrangements that are drawn."""
DIFFERENCE: Final = "share without a score, respondent − others"
_MOST_NUMBERS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Missingness:
    """What judges did not score of one respondent.

    Attributes:
        share: of its judgments, as mean over prompts.
        difference: that share less the mean share of all other respondents on the same prompts,
            tested; None where there is nobody else, and for the second of two, of whom the first
            has said it.
    """

    share: Estimate
    difference: Estimate | None


def missingness(
    is_missing: npt.NDArray[np.bool_],
    prompt: npt.NDArray[np.int64],
    respondent: npt.NDArray[np.int64],
    *,
    n_prompts: int,
    n_respondents: int,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Missingness, ...]:
    """Returns each respondent's share of judgments without a score, the prompt being the unit.

    A mean over scored judgments speaks of what was scored. Where judges leave out one respondent's
    answers more often than another's, above all the weak ones, the means are not comparable.

    The share of a respondent on a prompt is taken over all its judgments there. A difference is
    tested by rearranging the respondents' shares within each prompt: if it makes no difference
    whose answer is judged, all arrangements are equally likely, however uneven prompts are. The
    p is that of the largest difference of any respondent, in its standard deviations over
    arrangements (Westfall & Young, 1993). A respondent is higher or lower where that p and the
    interval say so. The limits of `rules.decided` would not do: where votes are seldom missing,
    shares are nearly all 0, and they err in .17 of worlds. Measured: benchmarks/simulate.py
    unscored.

    Args:
        is_missing: shape (judgments,), of those that were asked for.
        prompt, respondent: shape (judgments,), codes.
        n_prompts, n_respondents: how many codes there are.
        level: of the intervals; 1 − the size of the tests.
        seed: of the arrangements drawn.
    """
    cell = prompt * n_respondents + respondent
    asked = np.bincount(cell, minlength=n_prompts * n_respondents)
    missing = np.bincount(cell, weights=is_missing, minlength=n_prompts * n_respondents)
    shares: Floats = np.divide(
        missing, asked, out=np.full(asked.shape, np.nan), where=asked > 0
    ).reshape(n_prompts, n_respondents)
    found = [
        share_over_prompts(shares[:, who], level=level, what="share of judgments without a score")
        for who in range(n_respondents)
    ]
    differences: Sequence[Estimate | None] = [None] * n_respondents
    if n_respondents > 1:
        compared = _less_others(shares)
        p = _tested(shares, compared, seed)
        # Of two, the second differs as the first does.
        n = 1 if n_respondents == 2 else n_respondents
        differences = [
            _difference(compared[:, who], float(p[who]), level) if who < n else None
            for who in range(n_respondents)
        ]
    return tuple(map(Missingness, found, differences))


def _less_others(shares: Floats) -> Floats:
    """Each share less the mean of the others on the prompt; nan where one side is missing."""
    n = (~np.isnan(shares)).sum(axis=1, keepdims=True)
    total = np.nansum(shares, axis=1, keepdims=True)
    # v − (T − v) / (n − 1)
    found: Floats = np.divide(
        n * shares - total, n - 1, out=np.full(shares.shape, np.nan), where=n > 1
    )
    return found


def _tested(shares: Floats, compared: Floats, seed: int) -> Floats:
    """Two-sided p of the largest difference of all respondents; nan below six prompts."""
    is_paired = ~np.isnan(compared)
    n = is_paired.sum(axis=0)
    sums = np.where(is_paired, compared, 0.0).sum(axis=0)
    drawn = np.zeros((DRAWS, len(n)))
    rng = np.random.default_rng(seed)
    # A prompt whose respondents are alike stays as it is however they are arranged.
    rows = np.flatnonzero((np.abs(np.where(is_paired, compared, 0.0)) > 1e-12).any(axis=1))
    for pattern in np.unique(is_paired[rows], axis=0) if rows.size else ():
        mine = rows[(is_paired[rows] == pattern).all(axis=1)]
        values = compared[mine][:, pattern]
        at_once = max(1, _MOST_NUMBERS // values.size)
        for first in range(0, DRAWS, at_once):
            n_drawn = min(at_once, DRAWS - first)
            arranged = rng.permuted(np.broadcast_to(values, (n_drawn, *values.shape)), axis=2)
            drawn[first : first + n_drawn, pattern] += arranged.sum(axis=1)
    deviation = drawn.std(axis=0)
    is_tested = (n >= MIN_UNITS) & (deviation > 0)
    scale = np.where(is_tested, deviation, 1.0)
    observed = np.where(is_tested, np.abs(sums) / scale, 0.0) * (1 - 1e-9)
    extreme = np.where(is_tested, np.abs(drawn) / scale, 0.0)
    p = (1 + (extreme.max(axis=1)[:, None] >= observed).sum(axis=0)) / (DRAWS + 1)
    return np.where(n < MIN_UNITS, np.nan, p)


def _difference(values: Floats, p: float, level: float) -> Estimate:
    mean = cut(t_interval(values, level=level).of(DIFFERENCE), (-1.0, 1.0))
    verdict = "undefined" if math.isnan(p) else "open"
    if p <= 1 - level + 1e-12 and not mean.covers(0.0):
        verdict = "higher" if mean.value > 0 else "lower"
    return replace(
        mean, p=p, p_method=f"respondents rearranged within prompts, {DRAWS:,} drawn",
        family="respondents, largest of all", verdict=verdict,
    )  # fmt: skip
