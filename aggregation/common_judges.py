"""Arms compared over the judges that scored all of them: missing in one, a judge counts in none.

A panel mean averages whoever scored. Where a model is filtered under one framing, or stops at its
quota, the difference of two such means is the severity of that model and no change of the response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class CommonJudges:
    """Means of several arms over the same judges.

    Attributes:
        means: shape (arms, items, criteria), over the judges that scored the item in every arm;
            nan where the item is left out.
        raw: the same over whoever scored in each arm, where these are the quorum of all: what a
            difference of panel means would be made of.
        judges: shape (items, judges): whose scores stand in `means`.
        left_out: shape (items,): scored in every arm, and the judges common to all are too few.
        without: models that are left out of all items, since they scored too few of them.
        n_common: judgments in every arm, of those judges and items that count.
        n_planned: judgments planned in every arm, of the items that were scored in each.
        n_one_sided: judgments on such items that are there in some arms and missing in others.
    """

    means: Floats
    raw: Floats
    judges: Mask
    left_out: Mask
    without: tuple[str, ...]
    n_common: int
    n_planned: int
    n_one_sided: int


def common_judges(scores: npt.ArrayLike, models: Sequence[str], *, quorum: float) -> CommonJudges:
    """Returns the means of all arms over the judges that scored an item in each of them.

    A judge is compared with itself, repeat by repeat. An item counts where the judges that are left
    are the quorum of those planned, of all together and of each model. A model whose judges are
    fewer than that on more items than the quorum allows is left out of all items, and named,
    where the others are still the quorum of all: so every item is measured by the same panel,
    and a model that was filtered throughout leaves an answer of the others.

    Args:
        scores: shape (arms, items, repeats, judges, criteria); nan where there is none.
        models: of each judge.
        quorum: share of the planned judges, in [0, 1].

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
    names = list(dict.fromkeys(models))
    of_model = np.asarray([[model == name for model in models] for name in names], dtype=bool)
    least = quorum * of_model.sum(axis=1) - _ROUNDING
    least_of_all = max(quorum * len(models), 1) - _ROUNDING
    items = _any(is_scored, 1)
    out = set()
    for k, mine in enumerate(of_model):
        held = (_any(has, 2)[:, mine].sum(axis=1) >= least[k])[items]
        if held.size and held.mean() < quorum - _ROUNDING:
            out.add(k)
    if len(models) - of_model[sorted(out)].sum() < least_of_all:
        out = set()
    rest: Mask = of_model[sorted(out)].sum(axis=0) == 0
    kept = has & rest[:, None]
    enough: Mask = kept.sum(axis=1) >= least_of_all
    for k, mine in enumerate(of_model):
        if k not in out:
            enough &= kept[:, mine].sum(axis=1) >= least[k]
    judged = kept & enough[:, None]
    by_judge = mean_of_known(np.where(in_all, table, np.nan), axis=2)
    one_sided = _any(there, 0) & ~in_all & is_scored[:, :, None, None]
    # Whoever scored, of the responses that had the quorum of all.
    n = there.sum(axis=3)
    whoever = np.where(n >= least_of_all, mean_of_known(table, axis=3), np.nan)
    return CommonJudges(
        means=mean_of_known(np.where(judged, by_judge, np.nan), axis=2),
        raw=mean_of_known(whoever, axis=2),
        judges=_any(judged, 2),
        left_out=items & ~_any(judged, (1, 2)),
        without=tuple(names[k] for k in sorted(out)),
        n_common=int(_any(in_all & judged[:, None], 3).sum()),
        n_planned=int(is_scored.sum()) * len(models),
        n_one_sided=int(_any(one_sided, 3).sum()),
    )


def mean_of_known(table: Floats, axis: int) -> Floats:
    """The mean over an axis, nan left out; nan of nothing."""
    there = ~np.isnan(table)
    n = there.sum(axis=axis)
    sums = np.where(there, table, 0.0).sum(axis=axis)
    found: Floats = np.divide(sums, n, out=np.full(n.shape, np.nan), where=n > 0)
    return found


def _any(mask: Mask, axis: int | tuple[int, ...]) -> Mask:
    return np.asarray(mask.any(axis=axis), dtype=bool)


def _all(mask: Mask, axis: int) -> Mask:
    return np.asarray(mask.all(axis=axis), dtype=bool)
