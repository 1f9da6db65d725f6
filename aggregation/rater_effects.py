"""How harsh or lenient raters, and judges, are beside the others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .estimate import Estimate
from .intervals import MIN_UNITS, mean_by_prompt, t_interval
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
        n_groups: groups of raters that share no response.
        reason: why there are none, or None.
    """

    raters: tuple[int, ...] = ()
    deviation: tuple[Estimate, ...] = ()
    n_groups: int = 0
    reason: str | None = None


def rater_severities(ratings: Ratings, *, level: float = 0.95) -> RaterSeverities:
    """Returns how harsh or lenient each rater is, measured against the other usual raters.

    deviation   mean over prompts of rating minus the fitted score of the response, less the same
                of the other usual raters, with a t interval over prompts; Holm over raters

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
    plain, n_groups = np.zeros(J), 0
    if J <= MOST_RATERS:
        fit = severity(ratings.value, ratings.response, j, shrink=False)
        plain, n_groups = fit.severity, len(np.unique(fit.judge_component))
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
        n_groups,
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
                p=_t_test(mine)[1] if one.has_interval else float("nan"),
                p_method="t over prompts, two-sided",
            )
        )  # fmt: skip
    return found


def level_difference(
    judge: Floats, panel: Floats, prompt: Integers, n_prompts: int, level: float
) -> Estimate:
    """Returns how far a judge scores above (lenient) or below (harsh) the whole panel."""
    means = mean_by_prompt(judge - panel, prompt, n_prompts)
    return t_interval(means, level=level).of("mean of judge less panel on the same responses")


def _t_test(known: Floats) -> tuple[float, float]:
    """t and its two-sided p; nan below two values or where they do not vary."""
    n = known.size
    mean = float(known.mean()) if n else math.nan
    error = float(known.std(ddof=1)) / math.sqrt(n) if n > 1 else 0.0
    if not error > 1e-12 * max(abs(mean), 1e-3):
        return math.nan, math.nan
    from scipy.special import stdtr

    t = mean / error
    return t, 2 * float(stdtr(n - 1, -abs(t)))
