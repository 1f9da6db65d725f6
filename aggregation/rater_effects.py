"""How raters, and judges, depart from the others: severity, spread, length, their own family."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .effects import mean_by_prompt, t_test
from .estimate import Estimate, undefined
from .intervals import MIN_UNITS, t_interval
from .jackknife import jackknife
from .multiplicity import holm
from .rater_severity import severity
from .ratings import Ratings, constant_raters

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_RATERS = 1500
"""Raters up to which the additive fit is solved; above it plain response means stand in."""

NOTABLE_SHARE = 0.25
"""A rater is named from this share of the standard deviation of single ratings on: with very many
ratings any difference is significant."""


@dataclass(frozen=True, slots=True)
class RaterSeverities:
    """Severities of the raters who vary, harshest first.

    Attributes:
        raters: codes.
        deviation: points from the other usual raters; its verdict is "harsh", "lenient" or None.
        shrunk: severity in the additive fit, shrunk towards 0, from the same origin.
        shrinkage: see `SeverityFit`; nan where the fit was not solved.
        n_groups: groups of raters that share no response.
        reason: why there are none, or None.
    """

    raters: tuple[int, ...] = ()
    deviation: tuple[Estimate, ...] = ()
    shrunk: tuple[Estimate, ...] = ()
    shrinkage: float = float("nan")
    n_groups: int = 0
    reason: str | None = None


def rater_severities(ratings: Ratings, *, level: float = 0.95) -> RaterSeverities:
    """Returns how harsh or lenient each rater is, measured against the other usual raters.

    deviation   mean over prompts of rating minus the fitted score of the response, less the same
                of the other usual raters, with a t interval over prompts; Holm over raters
    shrunk      severity in the additive fit, shrunk towards 0, less the mean of the other usual
                raters': the same origin; positive is lenient

    A rater is called harsh or lenient where Holm's p is below .05 and |deviation| is at least a
    quarter of the residual standard deviation. One harsh rater of five makes the other four look
    lenient in any mean of all, so raters who stand out from the median rater are left out of what
    all are measured against, prompt by prompt (two usual raters at least). A rater who gives one
    value throughout says nothing of the responses and takes no part; two who vary are needed.
    Measured (benchmarks/simulate.py calibration, five raters, one harsh by 1.5, 2,000 worlds, Monte
    Carlo error .005) at 9, 26, 100 prompts: coverage of the harsh rater's interval .942, .951,
    .956; the harsh rater named in all worlds, another one in .045, .035, .000 of them.
    """
    if ratings.kind == "rank":
        return RaterSeverities(reason="ranks hold no level: everybody's ranks have the same mean")
    if ratings.n_raters < 2:
        return RaterSeverities(reason="one rater")
    ratings = ratings.select(~np.isin(ratings.rater, constant_raters(ratings)))
    if ratings.n_raters < 2:
        why = "fewer than two raters vary: nobody can be called harsh or lenient"
        return RaterSeverities(reason=why)
    raters, j = np.unique(ratings.rater, return_inverse=True)
    responses, r = np.unique(ratings.response, return_inverse=True)
    J = len(raters)
    plain, component, shrunk, shrinkage = np.zeros(J), np.zeros(J, dtype=np.int64), None, np.nan
    if J <= MOST_RATERS:
        fit = severity(ratings.value, ratings.response, j, shrink=True)
        shrunk, shrinkage, component = fit.severity, fit.shrinkage, fit.judge_component
        plain = severity(ratings.value, ratings.response, j, shrink=False).severity
    b = np.where(np.isnan(plain), 0.0, plain)
    counts = np.bincount(r, minlength=len(responses))
    fitted = np.bincount(r, weights=ratings.value - b[j], minlength=len(responses)) / counts
    is_shared = counts[r] > 1
    residual = ratings.value - fitted[r]
    spread = float(np.std((residual - b[j])[is_shared])) if is_shared.any() else 0.0
    means, owner, prompt = _cells(residual[is_shared], j[is_shared], ratings.prompt[is_shared])
    middle = float(np.nanmedian(plain)) if not np.isnan(plain).all() else 0.0
    first = _over_prompts(means - middle, owner, J, level)
    is_usual = np.ones(J, dtype=bool)
    outlying = (_holm(first) < 0.05) & (np.abs(_values(first)) >= NOTABLE_SHARE * spread)
    if (~outlying).sum() >= 2:
        is_usual = ~outlying
    found = _over_prompts(_from_others(means, owner, prompt, is_usual), owner, J, level)
    adjusted = _holm(found)
    order = np.argsort(np.where(np.isnan(_values(found)), np.inf, _values(found)), kind="stable")
    unfit = "shares no response with another rater"
    if shrunk is None:
        shrunk = np.full(J, np.nan)
        unfit = f"more than {MOST_RATERS} raters: the additive fit was not solved"
    shrunk = _from_usual(shrunk, component, is_usual)
    per_rater = np.bincount(j, minlength=J)
    method = (
        "additive fit, shrunk (best linear unbiased prediction), less the same of the other usual "
        "raters"
    )
    return RaterSeverities(
        tuple(raters[order].tolist()),
        tuple(
            replace(
                found[k], p_adjusted=float(adjusted[k]), family="raters, Holm",
                verdict=None
                if not (adjusted[k] < 0.05 and abs(found[k].value) >= NOTABLE_SHARE * spread)
                else "harsh" if found[k].value < 0 else "lenient",
            )
            for k in order.tolist()
        ),
        tuple(
            Estimate(
                float(shrunk[k]), n=int(per_rater[k]), unit="rating", method=method,
                reason=unfit if np.isnan(shrunk[k])
                else "shrunk towards 0: the interval stands at the deviation",
            )
            for k in order.tolist()
        ),
        float(shrinkage),
        len(np.unique(component)) if J <= MOST_RATERS else 0,
    )  # fmt: skip


def _values(found: list[Estimate]) -> Floats:
    return np.array([one.value for one in found])


def _holm(found: list[Estimate]) -> Floats:
    return holm([one.p for one in found])


def _cells(
    deviation: Floats, rater: npt.NDArray[np.intp], prompt: Integers
) -> tuple[Floats, Integers, Integers]:
    """Mean deviation of each rater and prompt that met, with both; by rater."""
    width = int(prompt.max(initial=0)) + 1
    cell, place = np.unique(rater * width + prompt, return_inverse=True)
    means = np.bincount(place, weights=deviation) / np.bincount(place)
    owner, of_prompt = np.divmod(cell.astype(np.int64), width)
    return means, owner, of_prompt


def _from_others(means: Floats, owner: Integers, prompt: Integers, is_usual: Mask) -> Floats:
    """Deviations less those of the other usual raters of the same prompt."""
    size = int(prompt.max(initial=0)) + 1
    counts_in = is_usual[owner]
    sums = np.bincount(prompt, weights=np.where(counts_in, means, 0.0), minlength=size)
    counts = np.bincount(prompt, weights=counts_in, minlength=size)
    # nobody is measured against themselves
    rest = sums[prompt] - np.where(counts_in, means, 0.0)
    others = counts[prompt] - counts_in
    usual = float(means[counts_in].mean()) if counts_in.any() else 0.0
    found: Floats = means - np.divide(
        rest, others, out=np.full(len(means), usual), where=others > 0
    )
    return found


def _over_prompts(means: Floats, owner: Integers, J: int, level: float) -> list[Estimate]:
    """The mean of each rater's prompts with its t interval and p; nan for one without any."""
    found = []
    cuts = np.searchsorted(owner, np.arange(J + 1))
    for start, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        mine = means[start:end]
        one = t_interval(mine, level=level)
        reason = "shares no response with another rater"
        if len(mine):
            few = f"{len(mine)} prompts: an interval needs at least {MIN_UNITS}"
            reason = few if len(mine) < MIN_UNITS else "does not vary over prompts"
        found.append(
            Estimate(
                one.value, one.low, one.high, one.n,
                method=f"mean deviation from the other usual raters; {level:.0%} t over prompts",
                level=level, reason=None if one.has_interval else reason,
                p=t_test(mine)[1] if one.has_interval else float("nan"),
                p_method="t over prompts, two-sided",
            )
        )  # fmt: skip
    return found


def _from_usual(shrunk: Floats, component: Integers, is_usual: Mask) -> Floats:
    """Severities from where deviations are counted: the usual raters of the component but oneself.

    As fitted they sum to zero over all raters, so that a harsh one makes the others look lenient.
    """
    size = int(component.max(initial=0)) + 1
    counts_in = is_usual & np.isfinite(shrunk)
    sums = np.bincount(component, weights=np.where(counts_in, shrunk, 0.0), minlength=size)
    counts = np.bincount(component, weights=counts_in, minlength=size)
    rest = sums[component] - np.where(counts_in, shrunk, 0.0)
    others = counts[component] - counts_in
    # the only usual rater of a component stands for itself
    alone = np.where(counts_in, shrunk, 0.0)
    origin: Floats = np.divide(rest, others, out=alone, where=others > 0)
    return shrunk - origin


def level_difference(
    judge: Floats, panel: Floats, prompt: Integers, n_prompts: int, level: float
) -> Estimate:
    """Returns how far a judge scores above (lenient) or below (harsh) the whole panel."""
    means = mean_by_prompt(judge - panel, prompt, n_prompts)
    return t_interval(means, level=level).of("mean of judge less panel on the same responses")


def score_spread(judge: Floats, prompt: Integers, n_prompts: int) -> Estimate:
    """Returns the standard deviation of a judge's scores within prompts, pooled."""
    known = np.isfinite(judge)
    x, groups = judge[known], prompt[known]
    deviation = x - mean_by_prompt(x, groups, n_prompts)[groups]
    df = len(x) - len(np.unique(groups))
    value = float(np.sqrt((deviation**2).sum() / df)) if df > 0 else float("nan")
    return Estimate(
        value, n=len(x), unit="response", method="standard deviation within prompts, pooled",
        reason="a description of these scores: no interval" if df > 0
        else "no prompt has two scored responses",
    )  # fmt: skip


def own_family_preference(
    judge: Floats,
    others: Floats,
    prompt: Integers,
    own: Mask,
    other_models: Mask,
    n_prompts: int,
    level: float,
) -> Estimate:
    """Returns how much more a judge gives its own family's responses than other families do.

    (judge − judges of other families) on its own family's responses, less the same on other
    models' responses of the same prompt; mean over prompts.

    Args:
        judge: shape (R,), its scores.
        others: shape (R,), the mean of the judges of other families; nan where there are none.
        prompt: shape (R,).
        own, other_models: shape (R,), responses by the judge's family, and by other models.
        n_prompts, level: as elsewhere.
    """
    method = "judge less judges of other families, on its own family's responses less on others'"
    if not own.any():
        return undefined("its family wrote none of these responses", method=method)
    gap = judge - others
    if not np.isfinite(gap).any():
        return undefined("no judge of another family", method=method)
    difference = mean_by_prompt(np.where(own, gap, np.nan), prompt, n_prompts) - mean_by_prompt(
        np.where(other_models, gap, np.nan), prompt, n_prompts
    )
    if not np.isfinite(difference).any():
        return undefined("no prompt has responses of its family and of another", method=method)
    return t_interval(difference, level=level).of(method)


def length_slope(
    judge: Floats, human: Floats, length: Floats, prompt: Integers, n_prompts: int, level: float
) -> Estimate:
    """Returns the points a judge adds for a doubling of length, people's opinion held fixed.

    Least squares within prompts of the judge's score on log2(length) and people's mean.
    """
    method = "points a doubling of length, people's mean held fixed, within prompts"
    with np.errstate(divide="ignore", invalid="ignore"):
        doublings = np.where(length > 0, np.log2(np.where(length > 0, length, 1)), np.nan)
    known = np.isfinite(judge) & np.isfinite(human) & np.isfinite(doublings)
    if not known.any():
        return undefined("the lengths of the responses are not known", method=method)
    groups = prompt[known]

    def centred(values: Floats) -> Floats:
        mine = values[known]
        return mine - mean_by_prompt(mine, groups, n_prompts)[groups]

    x, h, d = centred(judge), centred(human), centred(doublings)
    parts = np.stack([d * d, d * h, h * h, d * x, h * x], axis=1)
    sums = np.zeros((n_prompts, 5))
    np.add.at(sums, groups, parts)
    sums = sums[np.bincount(groups, minlength=n_prompts) > 1]
    if not len(sums):
        return undefined("no prompt has two such responses", method=method)

    def slope(s: Floats) -> Floats:
        determinant = s[..., 0] * s[..., 2] - s[..., 1] ** 2
        top = s[..., 3] * s[..., 2] - s[..., 1] * s[..., 4]
        floor = 1e-9 * np.maximum(s[..., 0] * s[..., 2], 1e-30)
        found: Floats = np.divide(
            top, determinant, out=np.full(np.shape(top), np.nan), where=determinant > floor
        )
        return found

    total = sums.sum(axis=0)
    value = float(slope(total[None])[0])
    return jackknife(value, slope(total - sums), n=len(sums), method=method, level=level)
