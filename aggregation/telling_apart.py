"""Whether a judge model tells responses apart at all, by its own scores."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .intervals import MIN_UNITS

MOST_ALIKE: Final = 0.95
"""Share of its scores that are one value, from which on a model hardly varies them."""
ALPHA: Final = 0.05

HARDLY_VARIES: Final = "hardly varies"
LIKE_CHANCE: Final = "not more than chance"
ABOVE_CHANCE: Final = "more than chance"
REPEATS: Final = "repeats"
PERSONAS: Final = "personas"

_NO_SPREAD: Final = 1e-9


def most_frequent_score(scores: npt.ArrayLike, response: npt.ArrayLike) -> Estimate:
    """Returns the share of the most frequent score, which the method names.

    Args:
        scores: shape (judgments,), none missing.
        response: shape (judgments,), codes.

    Returns:
        n counts judgments; the verdict is "hardly varies" from a share of .95 on. Undefined of
        fewer than six responses.
    """
    values, n_responses = np.asarray(scores, dtype=np.float64), len(np.unique(response))
    if n_responses < MIN_UNITS:
        return Estimate(
            math.nan, n=len(values), unit="judgment", reason=f"fewer than {MIN_UNITS} responses"
        )
    levels, counts = np.unique(np.round(values, 9), return_counts=True)
    share = float(counts.max() / len(values))
    return Estimate(
        share, n=len(values), unit="judgment", method=f"share of {levels[counts.argmax()]:g}",
        verdict=HARDLY_VARIES if share >= MOST_ALIKE else None,
    )  # fmt: skip


def between_responses(
    scores: npt.ArrayLike, response: npt.ArrayLike, persona: npt.ArrayLike
) -> Estimate:
    """Returns the F ratio of a model's scores: between responses, over what chance makes of them.

    With y the scores less the mean of their persona, c the C cells persona x response:

        several personas    F = [Σ_c ȳ_r² / (R − 1)] / [Σ_c (ȳ_c − ȳ_r)² / (C − R − P + 1)]
        one persona         F = [Σ n_c ȳ_c² / (C − P)] / [Σ (y − ȳ_c)² / (N − C)]

    With several personas the noise is what they disagree in, over the means of their repeats, so
    that personas who truly see responses differently count as noise too. Repeats alone would not
    do: a model that answers the same question alike each time (temperature 0) has none. Where
    judgments are missing, the first is an approximation.

    Args:
        scores: shape (judgments,), none missing.
        response, persona: shape (judgments,), codes.

    Returns:
        F with its p; the verdict is "more than chance" where p is at most .05. Undefined of fewer
        than six responses, where every response was scored once, where nothing varies, and where
        one persona repeats every score.

    Source: the analysis of variance, Scheffé (1959), ch. 4.
    """
    from scipy.special import fdtrc

    y = np.asarray(scores, dtype=np.float64)
    persona_code, r = (np.unique(codes, return_inverse=True)[1] for codes in (persona, response))
    personas, responses = len(np.unique(persona)), len(np.unique(response))
    cells, cell = np.unique(persona_code * max(responses, 1) + r, return_inverse=True)
    between_df, within_df = responses - 1, len(cells) - responses - personas + 1
    noise, group = (PERSONAS, r) if within_df > 0 else (REPEATS, cell)
    if noise == PERSONAS:
        y = np.bincount(cell, y) / np.bincount(cell)
        persona_code, group = np.divmod(cells, responses)
    else:
        between_df, within_df = len(cells) - personas, len(y) - len(cells)

    def none(reason: str) -> Estimate:
        return Estimate(math.nan, n=responses, unit="response", method=noise, reason=reason)

    if responses < MIN_UNITS:
        return none(f"fewer than {MIN_UNITS} responses")
    if within_df < 1 or between_df < 1:
        return none("every response was scored once")
    y = y - (np.bincount(persona_code, y) / np.bincount(persona_code))[persona_code]
    size = np.bincount(group)
    means = np.bincount(group, y) / size
    between = float((size * means**2).sum()) / between_df
    within = float(((y - means[group]) ** 2).sum()) / within_df
    if max(between, within) < _NO_SPREAD:
        return none("the scores do not vary")
    if noise == REPEATS and within < _NO_SPREAD:
        return none("one persona gave the same score each time")
    ratio = between / within if within > _NO_SPREAD else math.inf
    p = float(fdtrc(between_df, within_df, ratio)) if math.isfinite(ratio) else 0.0
    return Estimate(
        min(ratio, 1e9), n=responses, unit="response", method=noise, p=p, p_method="F",
        verdict=ABOVE_CHANCE if p <= ALPHA else LIKE_CHANCE,
    )  # fmt: skip
