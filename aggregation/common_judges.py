"""Arms compared over the judges that scored all of them: missing in one, a judge counts in none.

A panel mean averages whoever scored. Where a model is filtered under one framing, or stops at its
quota, the difference of two such means is the severity of that model and no change of the response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from .rater_severity import AdditiveFit

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

FEWEST_JUDGES: Final = 2
"""Judges that must have scored both sides of a prompt for it to count in a comparison.

One where only one was planned. A comparison needs no quorum: judges are compared with themselves,
so a prompt with few of them has a noisier difference and no other one, and leaving prompts out
costs more than the noise. With 2 of three judges or more it is never stricter than the quorum of
two thirds that a single response needs for its score; with 1, a prompt of a large panel could rest
on one judge.

Measured: docs/how-it-works/measurement.md, "Missing votes".
"""

MOST_ABSTAINED: Final = 0.5
"""Share of a response's judgments above which it declined: the few scores it has are compared with
nothing."""

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class CommonJudges:
    """Means of several arms over the same judges.

    Attributes:
        means: shape (arms, items, criteria), over the judges that scored the item in every arm,
            freed from which judges these are (`freed_means`); nan where the item is left out.
        plain: the same, not freed.
        raw: the mean of whoever scored in each arm, of items that are not left out: what a
            difference of panel means would be made of.
        judges: shape (items, judges): whose scores are in `means`.
        left_out: shape (items,): scored in every arm, and the judges common to all are too few.
        without: models that no counted item has a common judge of.
        n_common: judgments in every arm, of those judges and items that count.
        n_planned: judgments planned in every arm, of the items that were scored in each.
        n_one_sided: judgments on such items that are there in some arms and missing in others.
    """

    means: Floats
    plain: Floats
    raw: Floats
    judges: Mask
    left_out: Mask
    without: tuple[str, ...]
    n_common: int
    n_planned: int
    n_one_sided: int


def common_judges(
    scores: npt.ArrayLike,
    models: Sequence[str],
    *,
    units: Integers | None = None,
    fewest: int = FEWEST_JUDGES,
) -> CommonJudges:
    """Returns the means of all arms over the judges that scored an item in each of them.

    A judge is compared with itself, repeat by repeat. An item counts where at least `fewest` judges
    are left, or all of a smaller panel.

    Args:
        scores: shape (arms, items, repeats, judges, criteria); nan where there is none.
        models: of each judge.
        units: of each item, whose means are averaged; each its own when left out.
        fewest: judges that must have scored an item in every arm.

    Raises:
        ValueError: shapes that do not fit.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 5 or table.shape[3] != len(models):
        raise ValueError(
            f"scores must be (arms, items, repeats, {len(models)} judges, criteria), got "
            f"{table.shape}"
        )
    there = ~np.isnan(table)
    in_all = _all(there, 0)
    # An arm without any score of an item is a missing response, and no missing judge.
    is_scored = _all(_any(there, (3, 4)), 0)
    has = _any(in_all, 1)
    enough = has.sum(axis=1) >= min(fewest, len(models))
    judged = has & enough[:, None]
    judges = _any(judged, 2)
    by_judge = mean_of_known(np.where(in_all, table, np.nan), axis=2)
    common = np.where(judged, by_judge, np.nan)
    left_out = _any(is_scored, 1) & ~_any(judges, 1)
    one_sided = _any(there, 0) & ~in_all & is_scored[:, :, None, None]
    raw = mean_of_known(mean_of_known(table, axis=3), axis=2)
    return CommonJudges(
        means=freed_means(common, units),
        plain=mean_of_known(common, axis=2),
        raw=np.where(left_out[:, None], np.nan, raw),
        judges=judges,
        left_out=left_out,
        without=tuple(
            name
            for name in dict.fromkeys(models)
            if not judges[:, [model == name for model in models]].any()
        ),
        n_common=int(_any(in_all & judged[:, None], 3).sum()),
        n_planned=int(is_scored.sum()) * len(models),
        n_one_sided=int(_any(one_sided, 3).sum()),
    )


def freed_means(values: Floats, units: Integers | None = None) -> Floats:
    """Returns the mean over judges of each item, freed from which judges it has.

    Where a judge is missing on some items, the additive fit of items and judges says what it would
    have added (`AdditiveFit`). Over items, or over the means of units, the values scatter as much
    as their mean is uncertain (`AdditiveFit.spread`). Where nothing is missing it is the plain
    mean.

    Args:
        values: shape (arms, items, judges, criteria), nan alike in every arm where a judge does
            not count.
        units: of each item, shape (items,); each its own when left out.

    Returns:
        Shape (arms, items, criteria); nan where no judge counts.
    """
    n_arms, n_items, n_judges, n_criteria = values.shape
    code = np.arange(n_items) if units is None else units
    means = np.full((n_arms, n_items, n_criteria), np.nan)
    is_there = ~np.isnan(values[0])
    # Most often the same judges are missing on every criterion: then one fit does for all.
    same = bool((is_there == is_there[..., :1]).all())
    for columns in [np.arange(n_criteria)] if same else np.arange(n_criteria)[:, None]:
        mask = is_there[..., columns[0]]
        kept = _any(mask, 1)
        counts = mask[kept].astype(np.float64)
        totals = np.moveaxis(np.nan_to_num(values[:, kept][..., columns]), 0, 2)
        totals = totals.reshape(len(counts), n_judges, n_arms * len(columns))
        if not len(counts):
            continue
        fit = AdditiveFit(n_judges, totals.shape[2])
        fit.add(totals, counts)
        of_unit = np.unique(code[kept], return_inverse=True, return_counts=True)
        weights = 1 / (len(of_unit[0]) * of_unit[2][of_unit[1].reshape(-1)])
        freed = fit.spread(totals, counts, weights).reshape(len(counts), n_arms, len(columns))
        means[:, np.flatnonzero(kept)[:, None], columns] = np.moveaxis(freed, 1, 0)
    return means


def panel_means(scores: Floats, quorum: float) -> Floats:
    """Returns the mean of whoever scored, of responses that the quorum of the judges scored.

    Args:
        scores: shape (items, repeats, judges, criteria); nan where there is none.
        quorum: share of the judges, in [0, 1].

    Returns:
        Shape (items, criteria): the mean over the repeats that have one; nan without.
    """
    n = (~np.isnan(scores)).sum(axis=2)
    least = max(quorum * scores.shape[2], 1) - _ROUNDING
    return mean_of_known(np.where(n >= least, mean_of_known(scores, axis=2), np.nan), axis=1)


def mean_of_known(table: Floats, axis: int) -> Floats:
    """The mean over an axis, nan left out; nan of nothing."""
    there = ~np.isnan(table)
    n = there.sum(axis=axis)
    sums = np.where(there, table, 0.0).sum(axis=axis)
    means: Floats = np.divide(sums, n, out=np.full(n.shape, np.nan), where=n > 0)
    return means


def _any(mask: Mask, axis: int | tuple[int, ...]) -> Mask:
    return np.asarray(mask.any(axis=axis), dtype=bool)


def _all(mask: Mask, axis: int) -> Mask:
    return np.asarray(mask.all(axis=axis), dtype=bool)
