"""The many-facet rating-scale model: which rater uses part of the scale, and who is erratic.

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
from .rating_scale import FEWEST_RATINGS, Data, Fit, counted, infit_deviates, maximum

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_CATEGORIES: Final = 21
"""Categories of one scale that are still fitted; a slider of 101 points is no rating scale."""

MOST_RATERS: Final = 300
MOST_RATINGS: Final = 200_000

FEWEST_SHARED: Final = 0.2
"""Reliability of the responses' order below which nothing is fitted: of ratings at random it is
about .1."""


@dataclass(frozen=True, slots=True)
class ManyFacetFit:
    """What the model says; without anything but `reason` where it was not fitted.

    Attributes:
        raters: codes, ascending, of those who were fitted.
        range_use: share of the scale's range that a rater uses, 1 being what the other usual raters
            do; verdict "narrow" or "wide".
        consistency: how much its scores follow quality, 1 being how the others' do; verdict
            "erratic".
        n_ratings, n_responses: that were fitted.
        n_prompts: independent units of the intervals.
        left_out: raters who were not fitted, with why.
        reason: why nothing was fitted, or None.
    """

    raters: tuple[int, ...] = ()
    range_use: tuple[Estimate, ...] = ()
    consistency: tuple[Estimate, ...] = ()
    n_ratings: int = 0
    n_responses: int = 0
    n_prompts: int = 0
    left_out: tuple[tuple[int, str], ...] = ()
    reason: str | None = None


def many_facet(
    score: npt.ArrayLike,
    response: npt.ArrayLike,
    rater: npt.ArrayLike,
    *,
    scale: tuple[int, int],
    criterion: npt.ArrayLike | None = None,
    prompt: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> ManyFacetFit:
    """Returns the fit of the model, by marginal maximum likelihood.

    Quality is normal over responses with mean and spread of its own, summed out on even nodes no
    wider apart than the sharpest posterior; severities, difficulties and steps are fixed, the mean
    of each kind 0. Newton with Louis' information. Range and consistency come of a second fit in
    which raters have both, geometric means 1. Standard errors are those of the sandwich over
    prompts: responses to one prompt, and one rater's several criteria, need not be independent.

    How severe a rater is says `rater_effects.rater_severities`, in points.

    Measured with five raters (benchmarks/simulate_many_facet.py, 500 worlds, Monte Carlo error
    .005): at 26 prompts of four a rater with half the range is named in .994, an erratic one in
    .964 of worlds, another as narrow or wide in .024, as erratic in .000; at 9 prompts .450, .346,
    .058, .004.

    Args:
        score: shape (N,), whole numbers on the scale; nan is left out.
        response, rater: shape (N,), codes.
        scale: lowest and highest score.
        criterion: shape (N,), codes; None: one.
        prompt: shape (N,), code of the response's prompt; None: each response is a unit.
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
        for one in (response, rater, criterion, response if prompt is None else prompt)
    ]
    if y.ndim != 1 or any(one.shape != y.shape for one in columns):
        raise ValueError(f"one response and rater a score are needed, got shape {y.shape}")
    y = y[known]
    r, j, c, g = (one[known] for one in columns)
    if why := _unfit(y, scale):
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
    r, j, c, g = (one[kept] for one in (r, j, c, g))
    dropped = tuple(sorted(left_out.items()))
    if len(np.unique(j)) < 2:
        why = "no two raters who vary share a response"
        return ManyFacetFit(reason=why, left_out=dropped)
    if len(y) > MOST_RATINGS or len(np.unique(j)) > MOST_RATERS:
        why = f"more than {MOST_RATINGS:,} ratings or {MOST_RATERS} raters: not fitted"
        return ManyFacetFit(reason=why, left_out=dropped)
    return replace(_fitted(y, r, j, c, g, level), left_out=dropped)


def _unfit(y: Floats, scale: tuple[int, int]) -> str | None:
    """Why these are no categories of the scale, or None."""
    if not len(y):
        return "no scores"
    low, high = scale
    if (y != np.round(y)).any() or any(end != round(end) for end in scale):
        parts = y[y != np.round(y)]
        value = float(parts[0]) if len(parts) else math.nan
        return f"scores are no whole numbers ({value:g}): a rating scale has categories"
    if ((y < low) | (y > high)).any():
        return f"scores off the known scale ({float(y[(y < low) | (y > high)][0]):g})"
    if len(np.unique(y)) > MOST_CATEGORIES:
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
    y: Floats, r: Integers, j: Integers, c: Integers, g: Integers, level: float
) -> ManyFacetFit:
    from scipy.special import stdtrit

    raters = np.unique(j)
    data, start = counted(y, r, j, c, g)
    fit = maximum(data, start, is_extended=False)
    n_prompts = int(data.cluster.max()) + 1
    if (shared := _shared(fit)) < FEWEST_SHARED:
        why = f"raters share too little of their order (reliability {shared:.2f})"
        return ManyFacetFit(reason=why)
    if not (fit.is_reached and np.isfinite(fit.parameters).all()):
        return ManyFacetFit(reason="the likelihood has no maximum that was reached")
    both = None
    if data.can_differ.sum() >= 2:
        both = maximum(data, fit.parameters, is_extended=True, n_nodes=len(fit.z))
        if not (both.is_reached and np.isfinite(both.parameters).all()):
            both = None
    reach = float(stdtrit(n_prompts - 1, (1 + level) / 2)) if n_prompts >= MIN_UNITS else math.nan
    method = f"marginal maximum likelihood; {level:.0%} t over prompts, sandwich"
    range_use, consistency = _own_parameters(
        data, both, infit_deviates(data, fit), n_prompts, reach, method, level
    )
    return ManyFacetFit(tuple(raters.tolist()), range_use, consistency, len(y), data.R, n_prompts)


NARROW: Final = 0.75
"""Share of the others' range below which a rater is called narrow (and 1/NARROW, wide)."""

FAINT: Final = 0.75
"""Consistency below which a rater is called erratic, if its scores also scatter more than they
should: either alone names a usual rater too often."""

FOLLOWS: Final = 0.05
"""Consistency below which nothing is said of a rater's range."""

BY_CHANCE: Final = 0.05
"""Chance, over all raters, that a usual one's standardised infit is as high as an erratic one's has
to be."""

NARROW_RANGE, WIDE, ERRATIC = "narrow", "wide", "erratic"


@dataclass(frozen=True, slots=True)
class _Contrasts:
    """Each rater against the mean of the other usual raters.

    A rater who stands out from the median is left out of what the others are measured against, as
    in `rater_effects`: one erratic rater of five would make the other four look too consistent.

    Attributes:
        value: differences; error: their standard errors; origin: what they are taken from.
        contrast: shape (raters, raters), what made them.
        p, adjusted: of the test that each is 0, and after Holm over raters.
        notable: size from which on a difference is worth a word.
    """

    value: Floats
    error: Floats
    origin: Floats
    contrast: Floats
    p: list[float]
    adjusted: list[float]
    notable: float

    @classmethod
    def of(cls, values: Floats, covariance: Floats, n: int, notable: float) -> _Contrasts:
        """Tests them."""
        J = len(values)
        everybody = np.ones(J, dtype=bool)
        first = cls._against(values, covariance, everybody, n, notable)
        away = np.abs(values - np.median(values)) >= notable
        outlying = away & (np.array(first.adjusted) < 0.05)
        usual = ~outlying if (~outlying).sum() >= 2 else everybody
        return cls._against(values, covariance, usual, n, notable)

    @classmethod
    def _against(
        cls, values: Floats, covariance: Floats, usual: Mask, n: int, notable: float
    ) -> _Contrasts:
        from scipy.special import stdtr

        J = len(values)
        others = np.where(usual[None, :] & ~np.eye(J, dtype=bool), 1.0, 0.0)
        others /= np.maximum(others.sum(axis=1, keepdims=True), 1.0)
        contrast = np.eye(J) - others
        value = contrast @ values
        error = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", contrast, covariance, contrast), 0.0))
        p = [math.nan] * J
        if n >= MIN_UNITS:
            p = [
                2 * float(stdtr(n - 1, -abs(one) / se)) if 0 < se < math.inf else math.nan
                for one, se in zip(value.tolist(), error.tolist(), strict=True)
            ]
        known = [k for k, one in enumerate(p) if not math.isnan(one)]
        adjusted = [math.nan] * J
        if known:
            for k, one in zip(known, holm([p[k] for k in known]), strict=True):
                adjusted[k] = float(one)
        return cls(value, error, others @ values, contrast, p, adjusted, notable)

    def called(self, k: int, above: str | None, below: str | None) -> str | None:
        """The verdict on rater k, or None."""
        if not (self.adjusted[k] < 0.05 and abs(float(self.value[k])) >= self.notable):
            return None
        return above if self.value[k] > 0 else below


def _own_parameters(
    data: Data,
    both: Fit | None,
    infit_z: Sequence[float],
    n_prompts: int,
    reach: float,
    method: str,
    level: float,
) -> tuple[tuple[Estimate, ...], tuple[Estimate, ...]]:
    """Range use and consistency of each rater against the other usual raters."""
    from scipy.special import ndtri

    J, free = data.J, np.flatnonzero(data.can_differ)

    def none(reason: str) -> Estimate:
        return Estimate(math.nan, n=n_prompts, method=method, level=level, reason=reason)

    few = none(f"fewer than {FEWEST_RATINGS} ratings, or two categories")
    range_use, consistency = [few] * J, [few] * J
    if both is None:
        if len(free) > 1:
            few = none("with a range and a consistency of raters' own no maximum was reached")
        return (few,) * J, (few,) * J
    places = np.concatenate([data.n_fixed + free, data.n_fixed + J + free])
    a, w = both.parameters[places].reshape(2, -1)
    covariance = both.covariance[np.ix_(places, places)]
    n = len(free)
    no_interval = f"{n_prompts} prompts: an interval needs at least {MIN_UNITS}"
    given: dict[str, Any] = {
        "n": n_prompts, "method": method, "level": level, "family": "raters, Holm",
        "reason": None if math.isfinite(reach) else no_interval,
    }  # fmt: skip
    scatters = float(ndtri(1 - BY_CHANCE / J))
    tested = _Contrasts.of(a, covariance[:n, :n], n_prompts, 1 - FAINT)
    # a ratio to the others, by its first derivatives
    ratio = a / tested.origin
    slope = np.eye(n) + ratio[:, None] * (tested.contrast - np.eye(n))
    error = np.einsum("ij,jk,ik->i", slope, covariance[:n, :n], slope)
    error = np.sqrt(np.maximum(error, 0.0)) / tested.origin
    for k, who in enumerate(free.tolist()):
        value, far = float(ratio[k]), reach * float(error[k])
        consistency[who] = Estimate(
            value, value - far, value + far, p=tested.p[k], p_adjusted=tested.adjusted[k],
            p_method="t over prompts, of the difference from the other usual raters",
            verdict=tested.called(k, None, ERRATIC) if infit_z[who] > scatters else None,
            se=float(error[k]), **given,
        )  # fmt: skip
    follows = np.flatnonzero((a > FOLLOWS) & (w > FOLLOWS))
    for k in np.setdiff1d(np.arange(n), follows).tolist():
        why = "follow quality too little" if a[k] <= FOLLOWS else "are all at the ends"
        range_use[int(free[k])] = none(f"its scores {why} to tell a range")
    if len(follows) < 2:
        return tuple(range_use), tuple(consistency)
    slope = np.hstack([np.diag(1 / a[follows]), -np.diag(1 / w[follows])])
    mine = np.ix_(np.concatenate([follows, n + follows]), np.concatenate([follows, n + follows]))
    tested = _Contrasts.of(
        np.log(a[follows] / w[follows]), slope @ covariance[mine] @ slope.T, n_prompts,
        -math.log(NARROW),
    )  # fmt: skip
    for k, one in enumerate(follows.tolist()):
        value, far = float(tested.value[k]), min(reach * float(tested.error[k]), 50.0)
        who = int(free[one])
        # of an erratic rater nothing else is said: chance alone would fill its range, or empty it
        called = None if consistency[who].verdict else tested.called(k, WIDE, NARROW_RANGE)
        range_use[who] = Estimate(
            math.exp(value), math.exp(value - far), math.exp(value + far), p=tested.p[k],
            p_adjusted=tested.adjusted[k], verdict=called,
            p_method="t over prompts, of the logarithm, against the other usual raters", **given,
        )  # fmt: skip
    return tuple(range_use), tuple(consistency)


def _shared(fit: Fit) -> float:
    """Separation reliability: variance of the qualities, of that and their mean error variance."""
    first, second = fit.weights @ fit.z, fit.weights @ fit.z**2
    own = float(np.var(first, ddof=1)) if len(first) > 1 else 0.0
    noise = float(np.maximum(second - first**2, 0.0).mean())
    return own / (own + noise) if own + noise > 0 else 0.0
