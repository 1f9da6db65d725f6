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
from collections.abc import Collection, Sequence
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

FEWEST_SHARED: Final = 0.2
"""Reliability of the responses' order below which there is no ruler: of ratings at random it is
about .1."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The thresholds of one scale.

    Attributes:
        categories: scores that were used, ascending; the others are none of the model's.
        unused: scores of the scale that nobody gave.
        step: one a category but the lowest: the quality, in logits, at which the usual rater is as
            likely to give it as the one below. Their mean is 0 on the average criterion.
    """

    categories: tuple[int, ...]
    unused: tuple[int, ...]
    step: tuple[Estimate, ...]


@dataclass(frozen=True, slots=True)
class ManyFacetFit:
    """What the model says; without anything but `reason` where it was not fitted.

    Attributes:
        raters: codes, ascending, of those who were fitted.
        severity: logits above the other usual raters, as in `rater_effects`; positive is severe.
            Its verdict is "severe" or "lenient".
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
        has_own_parameters: whether severities, steps and qualities are those of the second fit,
            because somebody is narrow, wide or erratic.
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
    has_own_parameters: bool = False
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
    named: Collection[int] | None = None,
    level: float = 0.95,
) -> ManyFacetFit:
    """Returns the fit of the model, by marginal maximum likelihood.

    Quality is normal over responses with mean and spread of its own, summed out on even nodes no
    wider apart than the sharpest posterior; severities, difficulties and steps are fixed, the mean
    of each kind 0. Newton with Louis' information. Range and consistency come of a second fit in
    which raters have both, geometric means 1. Standard errors are those of the sandwich over
    prompts: responses to one prompt, and one rater's several criteria, need not be independent.

    Joint maximum likelihood, which Facets uses, stretches thresholds by 1.31 with five raters a
    response (1.05 corrected by (L − 1)/L); this by 1.03 (26 prompts; benchmarks/
    simulate_many_facet.py, 500 worlds, Monte Carlo error .005). There 95% intervals of severities
    cover .952, of thresholds .944; with misfit .958 and .924, a rater with half the range is named
    in .994, an erratic one in .964 of worlds, another as narrow or wide in .024, as erratic in
    .000. At 9 prompts: .450, .346, .058, .004.

    What a rater makes of a response on all criteria at once is scatter, which shrinks the ruler;
    intervals are those of the shrunken one.

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
        named: raters known to be narrow, wide or erratic, of whom the ruler is to be free; None:
            those found to be so here. Where raters are of two kinds, such as people and judges,
            each is to be looked at among its own: judges who share their errors make all people
            look erratic.
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
    return replace(_fitted(y, r, j, c, g, sc, scales, level, named), left_out=dropped)


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
    named: Collection[int] | None,
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
    n_prompts = int(data.cluster.max()) + 1
    if (shared := _shared(fit)) < FEWEST_SHARED:
        why = f"raters share too little for a ruler (reliability {shared:.2f})"
        return ManyFacetFit(reason=why)
    if not (fit.is_reached and np.isfinite(fit.parameters).all()):
        return ManyFacetFit(reason="the likelihood has no maximum that was reached")
    reach = float(stdtrit(n_prompts - 1, (1 + level) / 2)) if n_prompts >= MIN_UNITS else math.nan
    method = f"marginal maximum likelihood; {level:.0%} t over prompts, sandwich"
    fitness = mean_squares(data, fit)
    both = None
    if (named is None or named) and data.can_differ.sum() >= 2:
        both = maximum(data, fit.parameters, is_extended=True, n_nodes=len(fit.z))
        if not (both.is_reached and np.isfinite(both.parameters).all()):
            both = None
    range_use, consistency = _own_parameters(
        data, both, fitness.infit_z, n_prompts, reach, method, level
    )
    called = np.array([
        bool(one.verdict or two.verdict)
        for one, two in zip(range_use, consistency, strict=True)
    ])  # fmt: skip
    if named is not None:
        called = np.isin(raters, list(named))
    ruler = plain = _ruler(data, fit, ~called)
    if both is not None and called.any():
        ruler = _ruler(data, both, ~called)
        if not ruler.error(data.J) <= MOST_LOST * plain.error(data.J):
            ruler = plain
    own_parameters = ruler is not plain
    if own_parameters:
        method = f"range and consistency of raters' own; {method}"

    def estimates(values: Floats, errors: Floats) -> list[Estimate]:
        found = []
        for value, error in zip(values.tolist(), errors.tolist(), strict=True):
            why = f"{n_prompts} prompts: an interval needs at least {MIN_UNITS}"
            found.append(
                Estimate(
                    value, value - reach * error, value + reach * error, n_prompts, method=method,
                    level=level, se=error if math.isfinite(reach) else math.nan,
                    reason=None if math.isfinite(reach) else why,
                )
            )  # fmt: skip
        return found

    J, C = data.J, data.C
    errors = np.sqrt(np.maximum(np.diag(ruler.covariance), 0.0))
    tested = _Contrasts.of(
        ruler.values[:J], ruler.covariance[:J, :J], n_prompts, NOTABLE_SEVERITY
    )  # fmt: skip
    severity = [
        replace(
            one, p=tested.p[k], p_adjusted=tested.adjusted[k], family="raters, Holm",
            p_method="t over prompts, against the other usual raters",
            verdict=tested.called(k, SEVERE, LENIENT),
        )
        for k, one in enumerate(estimates(tested.value, tested.error))
    ]  # fmt: skip
    quality, quality_se = ruler.quality
    quality = quality - float(ruler.values[:J][tested.usual].mean())
    of_raters = float(np.var(ruler.values[:J], ddof=1))
    noise = float((errors[:J] ** 2).mean())
    return ManyFacetFit(
        raters=tuple(raters.tolist()),
        severity=tuple(severity),
        fair=tuple(_fair(data, ruler, categories)),
        range_use=range_use,
        consistency=consistency,
        infit=fitness.infit,
        outfit=fitness.outfit,
        infit_z=fitness.infit_z,
        outfit_z=fitness.outfit_z,
        n_ratings=tuple(np.bincount(j, minlength=J).tolist()),
        criteria=tuple(criteria.tolist()),
        difficulty=tuple(estimates(ruler.values[J : J + C], errors[J : J + C])),
        thresholds=tuple(
            Thresholds(
                tuple(int(one) for one in values),
                tuple(sorted(set(range(int(scales[at][0]), int(scales[at][1]) + 1))
                             - {int(one) for one in values})),
                tuple(estimates(*(one[steps_of(data, place)] for one in (ruler.values, errors)))),
            )
            for place, (at, values) in enumerate(zip(used_scales, categories, strict=True))
        ),
        responses=tuple(responses.tolist()),
        quality=tuple(quality.tolist()),
        quality_se=tuple(quality_se.tolist()),
        is_extreme=tuple(_is_extreme(code, r, j, data).tolist()),
        spread=ruler.spread,
        has_own_parameters=own_parameters,
        reliability=_reliability(quality, quality_se),
        rater_reliability=max(0.0, 1 - noise / of_raters) if of_raters > 0 else math.nan,
        n_prompts=n_prompts,
    )  # fmt: skip


NOTABLE_SEVERITY: Final = 0.25
"""Logits from which on a rater is called severe or lenient: with very many ratings any difference
is significant."""

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

MOST_LOST: Final = 4.0
"""The ruler is that of the second fit, where anybody is narrow, wide or erratic, unless standard
errors of severities are so many times those of the first: with few prompts it may be far off."""

SEVERE, LENIENT, NARROW_RANGE, WIDE, ERRATIC = "severe", "lenient", "narrow", "wide", "erratic"


@dataclass(frozen=True, slots=True)
class _Contrasts:
    """Each rater against the mean of the other usual raters.

    A rater who stands out from the median is left out of what the others are measured against, as
    in `rater_effects`: one severe rater of five would make the other four look lenient.

    Attributes:
        value: differences; error: their standard errors; origin: what they are taken from.
        contrast: shape (raters, raters), what made them.
        p, adjusted: of the test that each is 0, and after Holm over raters.
        notable: size from which on a difference is worth a word.
        usual: shape (raters,), who the others are measured against.
    """

    value: Floats
    error: Floats
    origin: Floats
    contrast: Floats
    p: list[float]
    adjusted: list[float]
    notable: float
    usual: Mask

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
        return cls(value, error, others @ values, contrast, p, adjusted, notable, usual)

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


@dataclass(frozen=True, slots=True)
class _Ruler:
    """What a fit says in the unit of the usual raters, whose mean consistency and range are 1.

    Attributes:
        values: severities at the mean quality (their mean 0), difficulties, steps.
        covariance: of these.
        mean, spread: of quality.
        widths: shape (J,), how far apart each rater's thresholds are.
        quality: posterior means and deviations.
    """

    values: Floats
    covariance: Floats
    mean: float
    spread: float
    widths: Floats
    quality: tuple[Floats, Floats]

    def error(self, n_raters: int) -> float:
        """The largest standard error of a severity."""
        return float(np.sqrt(np.diag(self.covariance)[:n_raters].max()))


def _ruler(data: Data, fit: Fit, is_usual: Mask) -> _Ruler:
    """Puts a fit in that unit, errors by numeric first derivatives.

    A rater's severity is that at the mean quality: where a is not 1 it differs with quality.
    """
    J, C, at = data.J, data.C, data.n_fixed - 2
    usual = is_usual & data.can_differ
    if not usual.any():
        usual = np.ones(J, dtype=bool)

    def turned(parameters: Floats) -> tuple[Floats, float, float]:
        a, w = parameters[at + 2 :].reshape(2, J)
        unit = a[usual].mean()
        mean = parameters[at] * unit
        severity = parameters[:J] - (a / unit - 1) * mean
        values = np.concatenate(
            [
                severity - severity.mean(),
                parameters[J : J + C] * unit,
                parameters[J + C : at] * w[usual].mean(),
            ]
        )
        return values, float(mean - severity.mean()), float(unit)

    values, mean, unit = turned(fit.parameters)
    n = len(fit.covariance)
    slope = np.zeros((len(values), n))
    for place in range(n):
        step = np.zeros(len(fit.parameters))
        step[place] = 1e-5
        up, down = turned(fit.parameters + step)[0], turned(fit.parameters - step)[0]
        slope[:, place] = (up - down) / 2e-5
    spread = unit * math.exp(float(fit.parameters[at + 1]))
    first, second = fit.weights @ fit.z, fit.weights @ fit.z**2
    deviation = spread * np.sqrt(np.maximum(second - first**2, 0.0))
    w = fit.parameters[at + 2 + J :]
    return _Ruler(
        values, slope @ fit.covariance @ slope.T, mean, spread, w / w[usual].mean(),
        (mean + spread * first, deviation),
    )  # fmt: skip


def _shared(fit: Fit) -> float:
    """Reliability of the responses' order, 1 being the variance of quality."""
    first, second = fit.weights @ fit.z, fit.weights @ fit.z**2
    return _reliability(first, np.sqrt(np.maximum(second - first**2, 0.0)))


def _reliability(quality: Floats, error: Floats) -> float:
    """Separation reliability: variance of the estimates, of that and their mean error variance."""
    own = float(np.var(quality, ddof=1)) if len(quality) > 1 else 0.0
    noise = float((error**2).mean())
    return own / (own + noise) if own + noise > 0 else 0.0


def _fair(data: Data, ruler: _Ruler, categories: Sequence[Floats]) -> list[float]:
    """What each rater gives a response of mean quality on the average criterion, in points."""
    scale = np.zeros(data.J, dtype=np.int64)
    scale[data.rater] = data.scale
    found = []
    for who in range(data.J):
        steps = ruler.values[steps_of(data, int(scale[who]))] * ruler.widths[who]
        eta = np.concatenate([[0.0], np.cumsum(ruler.mean - ruler.values[who] - steps)])
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
