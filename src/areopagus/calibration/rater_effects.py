"""How harsh or lenient each rater is, and who answers without discriminating."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import MIN_UNITS
from ..aggregation.multiplicity import holm
from ..aggregation.ratings import Ratings, constant_raters
from ..aggregation.severity import severity
from ..records.estimates import Estimates
from .dataset import keys_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_RATERS = 1500
"""Raters up to which the additive fit is solved; above it plain response means stand in."""

NOTABLE_SHARE = 0.25
"""A rater is named from this share of the standard deviation of single ratings on: with very many
ratings any difference is significant."""


def add_rater_effects(
    out: Estimates, ratings: Ratings, rater_ids: tuple[str, ...], *, level: float = 0.95
) -> None:
    """Adds the table "raters": severity, harshest first, and who answers without discriminating.

    deviation   mean over prompts of rating minus the fitted score of the response, less the same
                of the other usual raters, with a t interval over prompts; p_adjusted is Holm's
                over raters; the verdict is "harsh", "lenient", or "constant" (one value
                throughout: that is no severity, and every figure of the rater is undefined)
    shrunk      severity in the additive fit, shrunk towards 0, less the mean of the other usual
                raters': the same origin; positive is lenient
    share_tied  of those who give one value to all responses of most prompts

    A rater is named where |deviation| has Holm-adjusted p below .05 and is at least a quarter of
    the residual standard deviation. One harsh rater of five makes the other four look lenient in
    any mean of all, so raters who stand out from the median rater are left out of what all are
    measured against, prompt by prompt (two usual raters at least). A rater who gives one value
    throughout says nothing of the responses: it is left out of the fit, and stands last without a
    figure. Two raters who vary are needed; why there are no severities stands in a row without a
    rater.
    Measured (benchmarks/simulate_worlds.py, five raters, one harsh by 1.5, 2,000 worlds, Monte
    Carlo error .005) at 9, 26, 100 prompts: coverage of the harsh rater's interval .942, .951,
    .956; the harsh rater named in all worlds, another one in .045, .035, .000 of them.
    """
    keys = keys_of(ratings)
    constant = constant_raters(ratings)
    reason = _add_severities(out, ratings, constant, rater_ids, keys, level)
    if reason is not None:
        out.add("raters", "deviation", undefined(reason), **keys)
    if ratings.kind == "score":
        for code in constant.tolist():
            none = undefined(
                "gives one value throughout: that is no severity",
                n=int((ratings.rater == code).sum()),
            )
            none = replace(none, verdict="constant")
            out.add("raters", "deviation", none, rater=rater_ids[code], **keys)
            out.add("raters", "shrunk", none, rater=rater_ids[code], **keys)
    _add_ties(out, ratings, constant, rater_ids, keys)


def _add_severities(
    out: Estimates,
    ratings: Ratings,
    constant: Integers,
    rater_ids: tuple[str, ...],
    keys: dict[str, str],
    level: float,
) -> str | None:
    """Adds those of raters who vary, or returns why there are none."""
    if ratings.kind == "rank":
        return "ranks hold no level: everybody's ranks have the same mean"
    if ratings.n_raters < 2:
        return "one rater"
    ratings = ratings.select(~np.isin(ratings.rater, constant))
    if ratings.n_raters < 2:
        return "fewer than two raters vary: nobody can be called harsh or lenient"
    raters, j = np.unique(ratings.rater, return_inverse=True)
    responses, r = np.unique(ratings.response, return_inverse=True)
    J = len(raters)
    shrunk, plain, shrinkage, component = _fits(ratings, j, J)
    b = np.where(np.isnan(plain), 0.0, plain)
    counts = np.bincount(r, minlength=len(responses))
    fitted = np.bincount(r, weights=ratings.value - b[j], minlength=len(responses)) / counts
    is_shared = counts[r] > 1
    residual = ratings.value - fitted[r]
    spread = float(np.std((residual - b[j])[is_shared])) if is_shared.any() else 0.0
    entries = (residual[is_shared], j[is_shared], ratings.prompt[is_shared])
    is_reference = np.ones(J, dtype=bool)
    middle = float(np.nanmedian(plain)) if not np.isnan(plain).all() else 0.0
    first = _over_prompts(*_cells(*entries), J, level, middle=middle)
    outlying = (holm(first.p) < 0.05) & (np.abs(first.mean) >= NOTABLE_SHARE * spread)
    if (~outlying).sum() >= 2:
        is_reference = ~outlying
    mean, half, n_prompts, p = _over_prompts(*_cells(*entries), J, level, is_reference=is_reference)
    adjusted = holm(p)
    shrunk = _from_usual(shrunk, component, is_reference)
    alone = "shares no response with another rater"
    unfit = f"more than {MOST_RATERS} raters: the additive fit was not solved"
    unfit = unfit if J > MOST_RATERS else alone
    per_rater = np.bincount(j, minlength=J)
    for index in np.argsort(np.where(np.isnan(mean), np.inf, mean), kind="stable").tolist():
        reason = None
        if np.isnan(mean[index]):
            reason = alone
        elif n_prompts[index] < MIN_UNITS:
            reason = f"{n_prompts[index]} prompts: an interval needs at least {MIN_UNITS}"
        elif np.isnan(half[index]):
            reason = "does not vary over prompts"
        is_notable = adjusted[index] < 0.05 and abs(mean[index]) >= NOTABLE_SHARE * spread
        who = {"rater": rater_ids[raters[index]], **keys}
        deviation = Estimate(
            float(mean[index]), n=int(n_prompts[index]),
            method=f"mean deviation from the other usual raters; {level:.0%} t over prompts",
            low=float(mean[index] - half[index]), high=float(mean[index] + half[index]),
            level=level, reason=reason, p=float(p[index]), p_adjusted=float(adjusted[index]),
            p_method="t over prompts, two-sided", family="raters, Holm",
            verdict=None if not is_notable else "harsh" if mean[index] < 0 else "lenient",
        )  # fmt: skip
        out.add("raters", "deviation", deviation, **who)
        fit = Estimate(
            float(shrunk[index]), n=int(per_rater[index]), unit="rating",
            method="additive fit, shrunk (best linear unbiased prediction), less the same of the "
            "other usual raters",
            reason=unfit if np.isnan(shrunk[index])
            else "shrunk towards 0: the interval stands at the deviation",
        )  # fmt: skip
        out.add("raters", "shrunk", fit, **who)
    n_apart = 0 if J > MOST_RATERS else len(np.unique(component))
    if n_apart > 1:
        out.add("people", "n_groups_apart", n_apart, **keys)
    if np.isfinite(shrinkage):
        out.add("people", "shrinkage_of_severity", shrinkage, **keys)
    return None


def _from_usual(shrunk: Floats, component: Integers, is_reference: npt.NDArray[np.bool_]) -> Floats:
    """Severities from where deviations are counted: the usual raters of the component but oneself.

    As fitted they sum to zero over all raters, so that a harsh one makes the others look lenient.
    """
    size = int(component.max(initial=0)) + 1
    counts_in = is_reference & np.isfinite(shrunk)
    sums = np.bincount(component, weights=np.where(counts_in, shrunk, 0.0), minlength=size)
    counts = np.bincount(component, weights=counts_in, minlength=size)
    rest = sums[component] - np.where(counts_in, shrunk, 0.0)
    others = counts[component] - counts_in
    # the only usual rater of a component stands for itself
    alone = np.where(counts_in, shrunk, 0.0)
    origin: Floats = np.divide(rest, others, out=alone, where=others > 0)
    return shrunk - origin


def _fits(
    ratings: Ratings, j: npt.NDArray[np.intp], J: int
) -> tuple[Floats, Floats, float, Integers]:
    """Shrunk and plain severities by rater, the shrinkage and each rater's component."""
    if J > MOST_RATERS:
        nobody = np.zeros(J, dtype=np.int64)
        return np.full(J, np.nan), np.zeros(J), float("nan"), nobody
    fit = severity(ratings.value, ratings.response, j, shrink=True)
    plain = severity(ratings.value, ratings.response, j, shrink=False)
    return fit.severity, plain.severity, fit.shrinkage, fit.judge_component


class _Deviations(NamedTuple):
    """By rater: mean over prompts, half-width of its interval, prompts, and p."""

    mean: Floats
    half: Floats
    n: Integers
    p: Floats


def _cells(
    deviation: Floats, rater: npt.NDArray[np.intp], prompt: Integers
) -> tuple[Floats, Integers, Integers]:
    """Mean deviation of each rater and prompt that met, with both."""
    width = int(prompt.max(initial=0)) + 1
    cell, place = np.unique(rater * width + prompt, return_inverse=True)
    means = np.bincount(place, weights=deviation) / np.bincount(place)
    owner, of_prompt = np.divmod(cell.astype(np.int64), width)
    return means, owner, of_prompt


def _over_prompts(
    means: Floats,
    owner: Integers,
    prompt: Integers,
    J: int,
    level: float,
    *,
    middle: float = 0.0,
    is_reference: npt.NDArray[np.bool_] | None = None,
) -> _Deviations:
    """Deviations from a given middle, or prompt by prompt from the other reference raters."""
    from scipy import stats

    if is_reference is not None:
        size = int(prompt.max(initial=0)) + 1
        counts_in = is_reference[owner]
        sums = np.bincount(prompt, weights=np.where(counts_in, means, 0.0), minlength=size)
        counts = np.bincount(prompt, weights=counts_in, minlength=size)
        # nobody is measured against themselves
        rest = sums[prompt] - np.where(counts_in, means, 0.0)
        others = counts[prompt] - counts_in
        usual = float(means[counts_in].mean()) if counts_in.any() else 0.0
        means = means - np.divide(rest, others, out=np.full(len(means), usual), where=others > 0)
    else:
        means = means - middle
    n = np.bincount(owner, minlength=J).astype(np.int64)
    mean, half, p = np.full(J, np.nan), np.full(J, np.nan), np.full(J, np.nan)
    np.divide(np.bincount(owner, weights=means, minlength=J), n, out=mean, where=n > 0)
    squares = np.bincount(owner, weights=(means - mean[owner]) ** 2, minlength=J)
    known = (n >= MIN_UNITS) & (squares > 1e-20)
    error = np.sqrt(squares[known] / (n[known] - 1) / n[known])
    half[known] = stats.t.ppf((1 + level) / 2, n[known] - 1) * error
    p[known] = 2 * stats.t.sf(np.abs(mean[known]) / error, n[known] - 1)
    return _Deviations(mean, half, n, p)


def _add_ties(
    out: Estimates,
    ratings: Ratings,
    constant: Integers,
    rater_ids: tuple[str, ...],
    keys: dict[str, str],
) -> None:
    """Adds the share of rater x prompt cells (two or more responses) with one value only.

    Over all raters, and of those who give one value throughout (every coefficient of theirs is
    undefined, not 0) or tie more than half of three prompts or more.
    """
    raters, j = np.unique(ratings.rater, return_inverse=True)
    # sorted by prompt and rater: cells are runs
    key_changes = np.ones(len(ratings), dtype=bool)
    key_changes[1:] = (np.diff(ratings.prompt) != 0) | (np.diff(ratings.rater) != 0)
    starts = np.flatnonzero(key_changes)
    sizes = np.diff(np.append(starts, len(ratings)))
    least = np.minimum.reduceat(ratings.value, starts)
    most = np.maximum.reduceat(ratings.value, starts)
    several = sizes > 1
    tied, owner = (least == most)[several], j[starts][several]
    cells = np.bincount(owner, minlength=len(raters))
    flat = np.bincount(owner, weights=tied, minlength=len(raters))
    share = np.divide(flat, cells, out=np.full(len(raters), np.nan), where=cells > 0)
    n = int(several.sum())
    method = "share of rater x prompt cells with one value throughout"
    unit = "rater x prompt"
    description = "a description of these ratings: no interval"
    found = Estimate(
        float(tied.mean()) if n else float("nan"), n=n, unit=unit, method=method,
        reason=description if n else "nobody rated two responses of a prompt",
    )  # fmt: skip
    out.add("people", "share_tied", found, **keys)
    is_constant = np.isin(raters, constant)
    named = np.flatnonzero(is_constant | ((share > 0.5) & (cells >= 3)))
    for k in sorted(named.tolist(), key=lambda k: (-share[k], rater_ids[raters[k]])):
        found = Estimate(
            float(share[k]), n=int(cells[k]), unit=unit, method=method,
            reason=description if cells[k] else "rated no two responses of a prompt",
            verdict="constant" if is_constant[k] else None,
        )  # fmt: skip
        out.add("raters", "share_tied", found, rater=rater_ids[raters[k]], **keys)
