"""Variance components of people's scores: how they spread, agree, and tell two sides apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..aggregation.generalizability import RESIDUAL, crossed, g_study

if TYPE_CHECKING:
    from ..calibration.ratings import Ratings

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FEWEST_BOTH = 6
"""Prompts answered by people and by models below which their difference has no known spread."""


@dataclass(frozen=True, slots=True)
class PeopleComponents:
    """How people's scores spread within prompts.

    Attributes:
        sd: sqrt(response + residual): of one rating within a prompt and side.
        icc: response / (response + residual): the correlation of two raters there.
        between_sd: SD over prompts of the true difference of people's and models' responses; 0
            where no more than chance is seen, nan where it cannot be told.
        n_both: prompts with both.
        reason: why there are no components, or None.
    """

    sd: float
    icc: float
    between_sd: float
    n_both: int
    reason: str | None


def people_components(ratings: Ratings, source: Integers) -> PeopleComponents:
    """Returns the components of y = prompt + side + response + rater + residual.

    All effects but the first stand within prompts, so that neither a rater's level nor a prompt's
    is in any figure. Henderson's method I, after each side's mean was taken off; a negative
    component counts as 0. Where one response stands on each side, side and response are one: the
    sides are then left out, and what they differ by is in the response.

    Sides need not spread alike, so between² is not taken from their component but from the
    difference D of each prompt: a rater's mean of people's responses less that of models', averaged
    over the raters of both. With w the weight of a rating in it,

        Var(D) = between² + response sum_r (sum_h w_hr)² + residual sum_hr w_hr²

    and between² is the variance of D over prompts less the mean of the last two.

    Args:
        ratings: scores of one criterion.
        source: of each response, as `calibration.responses` codes it: 0 people, 1 models, -1 not
            known.
    """
    side = source[ratings.response]
    both = np.intersect1d(ratings.prompt[side == 0], ratings.prompt[side == 1])
    components, reason = _components(ratings, side) if len(both) else (None, None)
    has_sides = components is not None and len(both) >= FEWEST_BOTH
    if components is None:
        components, reason = _components(ratings, None)
    nan = math.nan
    if components is None:
        return PeopleComponents(nan, nan, nan, len(both), reason)
    response, residual = max(components["response"], 0.0), max(components[RESIDUAL], 0.0)
    total = response + residual
    # of scores that never vary rounding errors are left
    if not total > 1e-12:
        return PeopleComponents(nan, nan, nan, len(both), "they do not vary within prompts")
    between = nan
    if has_sides:
        between = _between(ratings, side, response=response, residual=residual)
    return PeopleComponents(math.sqrt(total), response / total, between, len(both), None)


def _components(
    ratings: Ratings, side: Integers | None
) -> tuple[dict[str, float] | None, str | None]:
    """The components, or why there are none."""
    y = ratings.value.astype(np.float64)
    effects = {
        "prompt": ratings.prompt,
        "response": ratings.response,
        "rater": crossed(ratings.prompt, ratings.rater),
    }
    if side is not None:
        for one in np.unique(side).tolist():
            y[side == one] -= y[side == one].mean()
        effects["side"] = crossed(ratings.prompt, side)
    study = g_study(y, effects)
    return (study.components, None) if study.reason is None else (None, study.reason)


def _between(ratings: Ratings, side: Integers, *, response: float, residual: float) -> float:
    """SD over prompts of the true difference; nan with too few prompts whose raters saw both."""
    differences: list[float] = []
    noise: list[float] = []
    starts = np.flatnonzero(np.diff(ratings.prompt, prepend=-1))  # they are sorted by prompt
    for rows in np.split(np.arange(len(ratings)), starts[1:]):
        weight = _weights(ratings.rater[rows], side[rows])
        if weight is None:
            continue
        differences.append(float(weight @ ratings.value[rows]))
        _, code = np.unique(ratings.response[rows], return_inverse=True)
        by_response = np.bincount(code.reshape(-1), weights=weight)
        noise.append(
            response * float(by_response @ by_response) + residual * float(weight @ weight)
        )
    if len(differences) < FEWEST_BOTH:
        return math.nan
    return math.sqrt(max(float(np.var(differences, ddof=1)) - float(np.mean(noise)), 0.0))


def _weights(rater: Integers, side: Integers) -> Floats | None:
    """Of each rating in its prompt's difference; None where no rater saw both sides."""
    weight = np.zeros(len(rater))
    n_raters = 0
    for one in np.unique(rater).tolist():
        people, models = (rater == one) & (side == 0), (rater == one) & (side == 1)
        if people.any() and models.any():
            weight[people] = 1 / people.sum()
            weight[models] = -1 / models.sum()
            n_raters += 1
    return weight / n_raters if n_raters else None
