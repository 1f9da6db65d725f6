"""The many-facet rating-scale model: responses, raters, criteria and thresholds on one ruler.

    log P(k) / P(k − 1) = quality of the response − difficulty of the criterion
                          − severity of the rater − threshold of step k

An additive severity takes 8 for twice the step from 7 that 10 is, and takes a rater who uses half
the scale for one who is lenient below and harsh above. Here a score is a category: how far a step
is follows from how often it is taken. Two more parameters a rater say how it is taken:

    log P(k) / P(k − 1) = a (quality − difficulty − severity − s · threshold of step k)

s above 1 draws a rater's thresholds apart, so that quality has to differ more before the score
does: 1/s is the share of the scale's range that the rater uses. a below 1 makes scores follow
quality less: the rater is erratic.

Source: Andrich (1978), Psychometrika 43, 561-573 (rating scale); Linacre (1989), Many-Facet Rasch
Measurement (raters); Uto and Ueno (2020), Behaviormetrika 47, 469-496 (a rater's own parameters).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .intervals import MIN_UNITS
from .multiplicity import holm
from .rating_scale import (
    FEWEST_RATINGS,
    Data,
    Fit,
    counted,
    maximum,
    mean_squares,
    start_of,
    steps_of,
)

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_CATEGORIES: Final = 21
"""Categories of one scale that are still fitted; a slider of 101 points is no rating scale."""

MOST_RATERS: Final = 300
MOST_RATINGS: Final = 200_000

_SMALLEST_SPREAD: Final = 0.05  # logits; below it raters share nothing that could be measured


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of one scale.

    Attributes:
        categories: scores that were used, ascending; the others are none of the model's.
        unused: scores of the scale that nobody gave.
        step: one a category but the lowest: the quality, in logits, at which the average rater is
            as likely to give it as the one below. Their mean is 0 on the average criterion.
    """

    categories: tuple[int, ...]
    unused: tuple[int, ...]
    step: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class ManyFacetFit:
    """What the model says; without anything but `reason` where it was not fitted.

    Attributes:
        raters: codes, ascending, of those who were fitted.
        severity: logits, their mean 0; positive is severe. Its test, and the verdict "severe" or
            "lenient", stand against the other usual raters, as in `rater_effects`.
        fair: what each rater gives the average response, in points.
        range_use: share of the scale's range that a rater uses, 1 being what the other usual raters
            do; verdict "narrow" or "wide".
        consistency: how much its scores follow quality, 1 being how the others' do; verdict
            "erratic".
        infit, outfit: mean squares of the rater, 1 where its scores scatter as the model says.
        infit_z, outfit_z: the same as standard normal deviates (Wilson and Hilferty).
        n_ratings: ratings of each rater.
        criteria: codes; difficulty: logits, their mean 0.
        thresholds: one for each scale.
        responses: codes; quality: logits, posterior means; quality_se: posterior deviations.
        is_extreme: responses whose every rating is the lowest, or the highest.
        spread: standard deviation of quality.
        reliability: separation reliability of the responses; of the raters' severities.
        n_prompts: independent units of the intervals.
        left_out: raters who were not fitted, with why.
        reason: why nothing was fitted, or None.
    """

    raters: tuple[int, ...] = ()
    severity: tuple[Estimate, ...] = ()
    fair: tuple[float, ...] = ()
    range_use: tuple[Estimate, ...] = ()
    consistency: tuple[Estimate, ...] = ()
    infit: tuple[float, ...] = ()
    outfit: tuple[float, ...] = ()
    infit_z: tuple[float, ...] = ()
    outfit_z: tuple[float, ...] = ()
    n_ratings: tuple[int, ...] = ()
    criteria: tuple[int, ...] = ()
    difficulty: tuple[Estimate, ...] = ()
    thresholds: tuple[Thresholds, ...] = ()
    responses: tuple[int, ...] = ()
    quality: tuple[float, ...] = ()
    quality_se: tuple[float, ...] = ()
    is_extreme: tuple[bool, ...] = ()
    spread: float = math.nan
    reliability: float = math.nan
    rater_reliability: float = math.nan
    n_prompts: int = 0
    left_out: tuple[tuple[int, str], ...] = ()
    reason: str | None = None


def many_facet(
    score: npt.ArrayLike,
    response: npt.ArrayLike,
    rater: npt.ArrayLike,
    *,
    scale: tuple[int, int] | Sequence[tuple[int, int]],
    criterion: npt.ArrayLike | None = None,
    prompt: npt.ArrayLike | None = None,
    rater_scale: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> ManyFacetFit:
    """Returns the fit of the model, by marginal maximum likelihood.

    Quality is normal over responses with mean and spread of its own, summed out on even nodes no
    wider apart than the sharpest posterior; severities, difficulties and steps are fixed, the mean
    of each kind 0. Newton with Louis' information. Range and consistency come of a second fit in
    which raters have both, geometric means 1. Standard errors are those of the sandwich over
    prompts: responses to one prompt, and one rater's several criteria, need not be independent.

    Joint maximum likelihood, which Facets uses, is not: with five raters a response it stretches
    the ruler (see benchmarks/simulate_many_facet.py, which has both).

    Mean squares compare a rating with what the *other* raters' ratings predict, so that they have
    expectation 1 with few raters too: infit = Σ (x − m)² / Σ v, outfit = mean (x − m)²/v, with m
    and v the mean and variance predicted.

    Args:
        score: shape (N,), whole numbers on the scale; nan is left out.
        response, rater: shape (N,), codes.
        scale: lowest and highest score; or one pair for each of several scales.
        criterion: shape (N,), codes; None: one.
        prompt: shape (N,), code of the response's prompt; None: each response is a unit.
        rater_scale: shape (N,), place of the rater's scale where there are several.
        level: of the intervals.

    Returns:
        Only a reason where scores are no whole numbers on the scale, where fewer than two raters
        vary, where no response has two of them, or where they share nothing. Groups of raters who
        share no response are not compared: the largest is fitted, and the others stand in
        `left_out`.

    Raises:
        ValueError: shapes that do not fit.
    """
    y = np.asarray(score, dtype=np.float64)
    known = np.isfinite(y)
    n = len(y)
    columns = [
        np.zeros(n, dtype=np.int64) if one is None else np.asarray(one).astype(np.int64)
        for one in (response, rater, criterion, response if prompt is None else prompt, rater_scale)
    ]
    if y.ndim != 1 or any(one.shape != y.shape for one in columns):
        raise ValueError(f"one response, rater and scale a score are needed, got shape {y.shape}")
    y = y[known]
    r, j, c, g, sc = (one[known] for one in columns)
    scales = [scale] if np.ndim(scale) == 1 else list(scale)
    ends = np.asarray(scales, dtype=np.float64)
    if why := _unfit(y, ends, sc):
        return ManyFacetFit(reason=why)
    left_out: dict[int, str] = {}
    for who in np.unique(j).tolist():
        if len(np.unique(y[j == who])) < 2:
            left_out[who] = "one value throughout"
    kept = ~np.isin(j, list(left_out))
    kept &= _is_shared(r, j, kept)
    largest, apart = _largest_component(r, j, kept)
    for who in np.unique(j).tolist():
        if who not in left_out and not (kept & (j == who)).any():
            left_out[who] = "shares no response with another rater"
        elif who in apart:
            left_out[who] = "shares no response with the raters compared here"
    kept &= largest
    y = y[kept]
    r, j, c, g, sc = (one[kept] for one in (r, j, c, g, sc))
    dropped = tuple(sorted(left_out.items()))
    if len(np.unique(j)) < 2:
        why = "no two raters who vary share a response"
        return ManyFacetFit(reason=why, left_out=dropped)
    if len(y) > MOST_RATINGS or len(np.unique(j)) > MOST_RATERS:
        why = f"more than {MOST_RATINGS:,} ratings or {MOST_RATERS} raters: not fitted"
        return ManyFacetFit(reason=why, left_out=dropped)
    return replace(_fitted(y, r, j, c, g, sc, scales, level), left_out=dropped)


def _unfit(y: Floats, ends: Floats, scale: Integers) -> str | None:
    """Why these are no categories of the scales, or None."""
    if not len(y):
        return "no scores"
    low, high = ends[scale, 0], ends[scale, 1]
    if (y != np.round(y)).any() or (ends != np.round(ends)).any():
        one = float(y[y != np.round(y)][0]) if (y != np.round(y)).any() else float("nan")
        return f"scores are no whole numbers ({one:g}): a rating scale has categories"
    if ((y < low) | (y > high)).any():
        one = float(y[(y < low) | (y > high)][0])
        return f"scores off the known scale ({one:g})"
    for place in np.unique(scale).tolist():
        if len(np.unique(y[scale == place])) > MOST_CATEGORIES:
            return f"more than {MOST_CATEGORIES} different scores: no rating scale"
    return None


def _is_shared(r: Integers, j: Integers, kept: Mask) -> Mask:
    """Which ratings are of responses that two raters or more rated."""
    pairs = np.unique(np.stack([r[kept], j[kept]]), axis=1)
    responses, counts = np.unique(pairs[0], return_counts=True)
    return np.isin(r, responses[counts > 1])


def _largest_component(r: Integers, j: Integers, kept: Mask) -> tuple[Mask, set[int]]:
    """Which ratings belong to the largest group that shares responses, and raters who do not."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    inside = np.zeros(len(r), dtype=bool)
    if not kept.any():
        return inside, set()
    raters, a = np.unique(j[kept], return_inverse=True)
    responses, b = np.unique(r[kept], return_inverse=True)
    size = len(raters) + len(responses)
    ones = np.ones(len(a))
    graph = sparse.coo_matrix((ones, (a, b + len(raters))), shape=(size, size))
    _, component = connected_components(graph, directed=False)
    of_rating = component[a]
    biggest = int(np.bincount(of_rating).argmax())
    inside[np.flatnonzero(kept)] = of_rating == biggest
    apart = {int(who) for who, one in zip(raters, component, strict=False) if one != biggest}
    return inside, apart


def _fitted(
    y: Floats,
    r: Integers,
    j: Integers,
    c: Integers,
    g: Integers,
    sc: Integers,
    scales: Sequence[Any],
    level: float,
) -> ManyFacetFit:
    from scipy.special import stdtrit

    responses, r = np.unique(r, return_inverse=True)
    raters, j = np.unique(j, return_inverse=True)
    criteria, c = np.unique(c, return_inverse=True)
    used_scales, sc = np.unique(sc, return_inverse=True)
    categories = [np.unique(y[sc == place]) for place in range(len(used_scales))]
    code = np.zeros(len(y), dtype=np.int64)
    for place, values in enumerate(categories):
        code[sc == place] = np.searchsorted(values, y[sc == place])
    data = counted(code, r, j, c, g, sc, [len(one) - 1 for one in categories])
    fit = maximum(data, start_of(data, code, sc), is_extended=False)
    J, C, at = data.J, data.C, data.n_fixed - 2
    n_prompts = int(data.cluster.max()) + 1
    mean, spread = float(fit.parameters[at]), math.exp(float(fit.parameters[at + 1]))
    if not np.isfinite(fit.parameters).all() or spread < _SMALLEST_SPREAD:
        why = "raters share nothing that could be measured: qualities do not differ"
        return ManyFacetFit(reason=why)
    reach = float(stdtrit(n_prompts - 1, (1 + level) / 2)) if n_prompts >= MIN_UNITS else math.nan
    method = f"marginal maximum likelihood; {level:.0%} t over prompts, sandwich"

    def estimates(values: Floats, errors: Floats, **given: Any) -> list[Estimate]:
        found = []
        for value, error in zip(values.tolist(), errors.tolist(), strict=True):
            why = f"{n_prompts} prompts: an interval needs at least {MIN_UNITS}"
            found.append(
                Estimate(
                    value, value - reach * error, value + reach * error, n_prompts, method=method,
                    level=level, se=error if math.isfinite(reach) else math.nan,
                    reason=None if math.isfinite(reach) else why, **given,
                )
            )  # fmt: skip
        return found

    errors = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))
    tested = _Contrasts.of(fit.parameters[:J], fit.covariance[:J, :J], n_prompts, NOTABLE_SEVERITY)
    severity = [
        replace(
            one, p=tested.p[k], p_adjusted=tested.adjusted[k], family="raters, Holm",
            p_method="t over prompts, against the other usual raters",
            verdict=tested.called(k, "severe", "lenient"),
        )
        for k, one in enumerate(estimates(fit.parameters[:J], errors[:J]))
    ]  # fmt: skip
    quality = mean + spread * (fit.weights @ fit.z)
    second = mean**2 + 2 * mean * spread * (fit.weights @ fit.z)
    second = second + spread**2 * (fit.weights @ fit.z**2)
    quality_se = np.sqrt(np.maximum(second - quality**2, 0.0))
    fitness = mean_squares(data, fit)
    range_use, consistency = _own_parameters(data, fit, n_prompts, reach, method, level)
    own = float(np.var(quality, ddof=1)) if data.R > 1 else math.nan
    of_raters = float(np.var(fit.parameters[:J], ddof=1))
    noise = float((errors[:J] ** 2).mean())
    return ManyFacetFit(
        raters=tuple(raters.tolist()),
        severity=tuple(severity),
        fair=tuple(_fair(data, fit.parameters, categories)),
        range_use=range_use,
        consistency=consistency,
        infit=fitness.infit,
        outfit=fitness.outfit,
        infit_z=fitness.infit_z,
        outfit_z=fitness.outfit_z,
        n_ratings=tuple(np.bincount(j, minlength=J).tolist()),
        criteria=tuple(criteria.tolist()),
        difficulty=tuple(estimates(fit.parameters[J : J + C], errors[J : J + C])),
        thresholds=tuple(
            Thresholds(
                tuple(int(one) for one in values),
                tuple(sorted(set(range(int(scales[at][0]), int(scales[at][1]) + 1))
                             - {int(one) for one in values})),
                tuple(estimates(*(one[steps_of(data, place)] for one in (fit.parameters, errors)))),
            )
            for place, (at, values) in enumerate(zip(used_scales, categories, strict=True))
        ),
        responses=tuple(responses.tolist()),
        quality=tuple(quality.tolist()),
        quality_se=tuple(quality_se.tolist()),
        is_extreme=tuple(_is_extreme(code, r, j, data).tolist()),
        spread=spread,
        reliability=own / (own + float((quality_se**2).mean())),
        rater_reliability=max(0.0, 1 - noise / of_raters) if of_raters > 0 else math.nan,
        n_prompts=n_prompts,
    )  # fmt: skip


NOTABLE_SEVERITY: Final = 0.25
"""Logits from which on a rater is called severe or lenient: with very many ratings any difference
is significant."""

NARROW: Final = 0.75
"""Share of the others' range below which a rater is called narrow."""


@dataclass(frozen=True, slots=True)
class _Contrasts:
    """Each rater against the mean of the other usual raters.

    A rater who stands out from the median is left out of what the others are measured against, as
    in `rater_effects`: one severe rater of five would make the other four look lenient.
    """

    value: Floats
    error: Floats
    p: list[float]
    adjusted: list[float]
    notable: float

    @classmethod
    def of(cls, values: Floats, covariance: Floats, n: int, notable: float) -> _Contrasts:
        """Tests them, Holm over raters."""
        J = len(values)
        everybody = np.ones(J, dtype=bool)
        first = cls._against(values, covariance, everybody, n, notable, float(np.median(values)))
        outlying = (np.array(first.adjusted) < 0.05) & (np.abs(first.value) >= notable)
        usual = ~outlying if (~outlying).sum() >= 2 else everybody
        return cls._against(values, covariance, usual, n, notable, None)

    @classmethod
    def _against(
        cls,
        values: Floats,
        covariance: Floats,
        usual: Mask,
        n: int,
        notable: float,
        origin: float | None,
    ) -> _Contrasts:
        from scipy.special import stdtr

        J = len(values)
        others = np.where(usual[None, :] & ~np.eye(J, dtype=bool), 1.0, 0.0)
        contrast = np.eye(J) - others / np.maximum(others.sum(axis=1, keepdims=True), 1.0)
        value = contrast @ values if origin is None else values - origin
        variance = np.einsum("ij,jk,ik->i", contrast, covariance, contrast)
        error = np.sqrt(np.maximum(variance, 0.0))
        p = [math.nan] * J
        if n >= MIN_UNITS:
            p = [
                2 * float(stdtr(n - 1, -abs(one) / se)) if se > 0 else math.nan
                for one, se in zip(value.tolist(), error.tolist(), strict=True)
            ]
        known = [k for k, one in enumerate(p) if not math.isnan(one)]
        adjusted = [math.nan] * J
        if known:
            for k, one in zip(known, holm([p[k] for k in known]), strict=True):
                adjusted[k] = float(one)
        return cls(value, error, p, adjusted, notable)

    def called(self, k: int, above: str | None, below: str | None) -> str | None:
        """The verdict on rater k, or None."""
        if not (self.adjusted[k] < 0.05 and abs(float(self.value[k])) >= self.notable):
            return None
        return above if self.value[k] > 0 else below


def _own_parameters(
    data: Data, fit: Fit, n_prompts: int, reach: float, method: str, level: float
) -> tuple[tuple[Estimate, ...], tuple[Estimate, ...]]:
    """Range use and consistency of each rater against the other usual raters."""
    J, free = data.J, np.flatnonzero(data.can_differ)
    few = Estimate(
        math.nan, n=n_prompts, method=method, level=level,
        reason=f"fewer than {FEWEST_RATINGS} ratings, or two categories",
    )  # fmt: skip
    if len(free) < 2:
        return (few,) * J, (few,) * J
    both = maximum(data, fit.parameters, is_extended=True, n_nodes=len(fit.z))
    found = []
    for first, sign, above, below in (
        (data.n_fixed + J, -1.0, "wide", "narrow"),
        (data.n_fixed, 1.0, None, "erratic"),
    ):
        places = first + free
        tested = _Contrasts.of(
            sign * both.parameters[places], both.covariance[np.ix_(places, places)], n_prompts,
            -math.log(NARROW),
        )  # fmt: skip
        mine = [few] * J
        for k, who in enumerate(free.tolist()):
            value, error = float(tested.value[k]), float(tested.error[k])
            mine[who] = Estimate(
                math.exp(value), math.exp(value - reach * error), math.exp(value + reach * error),
                n_prompts, method=method, level=level,
                reason=None if math.isfinite(reach)
                else f"{n_prompts} prompts: an interval needs at least {MIN_UNITS}",
                p=tested.p[k], p_adjusted=tested.adjusted[k], family="raters, Holm",
                p_method="t over prompts, of the logarithm, against the other usual raters",
                verdict=tested.called(k, above, below),
            )  # fmt: skip
        found.append(tuple(mine))
    return found[0], found[1]


def _fair(data: Data, parameters: Floats, categories: Sequence[Floats]) -> list[float]:
    """What each rater gives a response of mean quality on the average criterion, in points."""
    J, at = data.J, data.n_fixed - 2
    scale = np.zeros(J, dtype=np.int64)
    scale[data.rater] = data.scale
    found = []
    for who in range(J):
        steps = parameters[steps_of(data, int(scale[who]))]
        place = parameters[at] - parameters[who]
        eta = np.concatenate([[0.0], np.cumsum(place - steps)])
        p = np.exp(eta - eta.max())
        found.append(float(p @ categories[int(scale[who])] / p.sum()))
    return found


def _is_extreme(code: Integers, r: Integers, j: Integers, data: Data) -> Mask:
    """Responses whose every rating is the lowest category, or the highest, of the rater's scale."""
    scale = np.zeros(data.J, dtype=np.int64)
    scale[data.rater] = data.scale
    top = np.asarray(data.n_steps)[scale[j]]
    n = np.bincount(r, minlength=data.R)
    lowest = np.bincount(r, weights=code == 0, minlength=data.R)
    highest = np.bincount(r, weights=code == top, minlength=data.R)
    return np.asarray((lowest == n) | (highest == n))
