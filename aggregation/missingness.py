"""Which respondents' answers judges leave without a score: shares, and whether they differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .intervals import share_over_prompts
from .rules import decided

Floats = npt.NDArray[np.float64]

WORTH: Final = 0.1
"""Difference of shares whose detection `needed` speaks of."""


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

    The share of a respondent on a prompt is taken over all its judgments there; differences are
    decided together (`rules.decided`). Measured: benchmarks/simulate.py unscored.

    Args:
        is_missing: shape (judgments,), of those that were asked for.
        prompt, respondent: shape (judgments,), codes.
        n_prompts, n_respondents: how many codes there are.
        level: of the intervals.
        seed: of the sign vectors that are drawn.
    """
    cell = prompt * n_respondents + respondent
    asked = np.bincount(cell, minlength=n_prompts * n_respondents)
    missing = np.bincount(cell, weights=is_missing, minlength=n_prompts * n_respondents)
    shares: Floats = np.divide(
        missing, asked, out=np.full(asked.shape, np.nan), where=asked > 0
    ).reshape(n_prompts, n_respondents)
    of_respondents = [
        share_over_prompts(shares[:, who], level=level, what="share of judgments without a score")
        for who in range(n_respondents)
    ]
    differences: list[Estimate | None] = [None] * n_respondents
    # Of two, the second differs as the first does.
    n = {1: 0, 2: 1}.get(n_respondents, n_respondents)
    differences[:n] = decided(
        _less_others(shares)[:, :n], families=["respondents"] * n, worth=WORTH,
        of="share without a score, respondent − others", bounds=(-1.0, 1.0), level=level, seed=seed,
    )  # fmt: skip
    return tuple(map(Missingness, of_respondents, differences))


def _less_others(shares: Floats) -> Floats:
    """Each share less the mean of the others on the prompt; nan where one side is missing."""
    n = (~np.isnan(shares)).sum(axis=1, keepdims=True)
    total = np.nansum(shares, axis=1, keepdims=True)
    # v − (T − v) / (n − 1)
    found: Floats = np.divide(
        n * shares - total, n - 1, out=np.full(shares.shape, np.nan), where=n > 1
    )
    return found
