"""Tilts of one judge: its level, its own family's responses, and length."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import t_interval
from .leave_out import jackknife

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def prompt_means(values: Floats, prompt: Integers, n_prompts: int) -> Floats:
    """Returns the mean of each prompt's known values; nan where none is."""
    known = np.isfinite(values)
    counts = np.bincount(prompt[known], minlength=n_prompts)
    sums = np.bincount(prompt[known], weights=values[known], minlength=n_prompts)
    means: Floats = np.divide(sums, counts, out=np.full(n_prompts, np.nan), where=counts > 0)
    return means


def level_difference(
    judge: Floats, panel: Floats, prompt: Integers, n_prompts: int, level: float
) -> Estimate:
    """Returns how far a judge scores above (lenient) or below (harsh) the whole panel."""
    means = prompt_means(judge - panel, prompt, n_prompts)
    return t_interval(means, level=level).of("mean of judge less panel on the same responses")


def spread(judge: Floats, prompt: Integers, n_prompts: int) -> Estimate:
    """Returns the standard deviation of a judge's scores within prompts, pooled."""
    known = np.isfinite(judge)
    x, groups = judge[known], prompt[known]
    deviation = x - prompt_means(x, groups, n_prompts)[groups]
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
    difference = prompt_means(np.where(own, gap, np.nan), prompt, n_prompts) - prompt_means(
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
        return mine - prompt_means(mine, groups, n_prompts)[groups]

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
