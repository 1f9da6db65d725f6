"""Which respondents' answers judges leave without a score: shares, and whether they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .common_judges import mean_of_known
from .effects import mean_effects, share_over_prompts
from .estimate import Estimate

Floats = npt.NDArray[np.float64]


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
) -> tuple[Missingness, ...]:
    """Returns each respondent's share of judgments without a score, the prompt being the unit.

    A mean over scored judgments speaks of what was scored. Where judges leave out one respondent's
    answers more often than another's, above all the weak ones, the means are not comparable.

    The share of a respondent on a prompt is taken over all its judgments there. Differences are
    paired by prompt; their tests (skewness-adjusted sign flips) are corrected by Holm over the
    respondents. Measured: benchmarks/simulate_missing.py.

    Args:
        is_missing: shape (judgments,), of those that were asked for.
        prompt, respondent: shape (judgments,), codes.
        n_prompts, n_respondents: how many codes there are.
        level: of the intervals; 1 − the size of the tests.
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
        others = np.stack(
            [mean_of_known(np.delete(shares, who, axis=1), axis=1) for who in range(n_respondents)],
            axis=1,
        )
        # Of two, the second differs as the first does: one test.
        compared = (shares - others)[:, : 1 if n_respondents == 2 else n_respondents]
        effects = mean_effects(
            compared,
            of="share without a score, respondent − others",
            families=["respondents, Holm"] * compared.shape[1],
            level=level,
        )
        differences = [one.mean for one in effects] + [None] * (n_respondents - len(effects))
    return tuple(
        Missingness(share, difference if difference is None else _kept_within(difference))
        for share, difference in zip(found, differences, strict=True)
    )


def _kept_within(difference: Estimate) -> Estimate:
    """A difference of shares cannot leave [−1, 1]."""
    if not difference.has_interval:
        return difference
    return replace(difference, low=max(-1.0, difference.low), high=min(1.0, difference.high))
