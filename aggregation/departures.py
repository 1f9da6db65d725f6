"""How one of several groups of judges departs from people, beyond what the others depart.

What all groups share (a rubric read otherwise than people read it, a model's taste) is no group's
own. So each figure stands beside that of the other groups on the same responses, and a departure is
named only where it is the group's own. Order and level are kept apart: who is harsh by design has
another level, and may order as people do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .estimate import Estimate, undefined
from .intervals import mean_by_prompt
from .jackknife import ratio, ratio_difference
from .pair_counting import pair_sums

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ALONE = "there is no other persona to compare it with"


class OrderDeparture(NamedTuple):
    """Pair accuracy with people, ties of judges one half.

    Attributes:
        own: the group's.
        others: that of the other groups, each alone, on the pairs that it shares with this one.
        difference: own minus others; nothing is decided yet.
        by_prompt: shape (prompts,), the jackknife's values of the difference, nan where a prompt
            plays no part: their mean is the difference, and `rules.decided` decides it.
    """

    own: Estimate
    others: Estimate
    difference: Estimate
    by_prompt: Floats


class GapDeparture(NamedTuple):
    """Differences to people in points, shape (prompts,) each; nan where a prompt has none.

    A departure has to be from people and from the others: both `own` and `difference` are decided,
    and `departs` says what they show.

    Attributes:
        own: the group minus people.
        others: the mean of the other groups minus people.
        difference: the group minus the others.
        reason: why there is no difference, or None.
    """

    own: Floats
    others: Floats
    difference: Floats
    reason: str | None = None


def departs(own: Estimate, others: Estimate, difference: Estimate) -> int:
    """Returns 1 or −1 where a group is shown to depart from people upwards or downwards.

    Args:
        own, difference: of `GapDeparture`, decided.
        others: its mean; a group that is nearer to people than the others departs from those alone.
    """
    is_decided = own.verdict == difference.verdict and own.verdict in ("higher", "lower")
    if not is_decided or abs(own.value) <= abs(others.value):
        return 0
    return 1 if own.verdict == "higher" else -1


def order_departure(
    scores: Floats, group: int, human: Floats, prompt: Integers, *, n_prompts: int, level: float
) -> OrderDeparture:
    """Returns how much less, or more, a group orders as people do than another group alone.

    With a group's accuracy a and b_q that of another one, over the pairs that both have seen, the
    difference is Σ_q right / Σ_q decided of this group less the same of the others: the mean of all
    others would be better than any of them, by being a mean. Delete-one-prompt jackknife.

    Args:
        scores: shape (R, groups); nan where missing.
        group: whose departure, a column.
        human: shape (R,), people's mean, higher is better; nan where nobody rated.
        prompt: shape (R,), codes below n_prompts.
        n_prompts: how many.
        level: of the intervals.
    """
    mine = scores[:, group]

    def sums(judge: Floats) -> tuple[Floats, Floats]:
        return pair_sums(judge, human, prompt, n_prompts=n_prompts).accuracy

    method = "pair accuracy with people, ties one half"
    of_mine = sums(mine)
    own = ratio(*of_mine, method=method, level=level)
    totals = np.zeros((4, n_prompts))
    for other in (q for q in range(scores.shape[1]) if q != group):
        both = np.isfinite(mine) & np.isfinite(scores[:, other])
        if both.any():
            is_whole = bool((both == np.isfinite(mine)).all())
            first = of_mine if is_whole else sums(np.where(both, mine, np.nan))
            totals += np.stack([*first, *sums(np.where(both, scores[:, other], np.nan))])
    if not totals[3].any():
        reason = ALONE if scores.shape[1] < 2 else "it shares no pair with another persona"
        none = undefined(reason, method=method)
        return OrderDeparture(own, none, none, np.full(n_prompts, np.nan))
    others = ratio(totals[2], totals[3], method=f"{method}: the others, each alone", level=level)
    difference = ratio_difference(
        (totals[0], totals[1]),
        (totals[2], totals[3]),
        method=f"{method}, less that of the others, each alone, on the pairs that both have",
        level=level,
    )
    values = np.full(n_prompts, np.nan)
    used = (totals[1] > 0) | (totals[3] > 0)
    rest = totals.sum(axis=1, keepdims=True) - totals[:, used]
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = rest[0] / rest[1] - rest[2] / rest[3]
    if np.isfinite(left_out).all():
        values[used] = difference.value + (used.sum() - 1) * (left_out.mean() - left_out)
    return OrderDeparture(own, others, difference, values)


def gap_departure(
    mine: Floats,
    others: Floats,
    human: Floats,
    prompt: Integers,
    *,
    n_prompts: int,
    part: Mask | None = None,
) -> GapDeparture:
    """Returns how far a group stands from people, the other groups do, and it from them.

    The mean difference of each prompt. With `part`, the differences on those responses minus those
    on the others of the same prompt: what a group gives to one respondent, freed from how harsh it
    is.

    Args:
        mine, others: shape (R,), scores of the group, and the mean of the other groups.
        human, prompt, n_prompts: as in `order_departure`.
        part: shape (R,).
    """
    rated = np.isfinite(human)

    def by_prompt(values: Floats) -> Floats:
        if part is None:
            return mean_by_prompt(values, prompt, n_prompts)
        inside, outside = (np.where(mask, values, np.nan) for mask in (part, ~part))
        return mean_by_prompt(inside, prompt, n_prompts) - mean_by_prompt(
            outside, prompt, n_prompts
        )

    reason = None
    if not (rated & np.isfinite(mine) & np.isfinite(others)).any():
        is_alone = not np.isfinite(others).any()
        reason = ALONE if is_alone else "it shares no rated response with another persona"
    return GapDeparture(
        by_prompt(mine - human), by_prompt(others - human),
        by_prompt(np.where(rated, mine - others, np.nan)), reason,
    )  # fmt: skip


def places(values: Floats, prompt: Integers) -> Floats:
    """Returns the place of each value within its prompt, 1 the lowest, ties at their mean place.

    Args:
        values: shape (R,); nan stays nan and takes no place.
        prompt: shape (R,).
    """
    found = np.full(len(values), np.nan)
    known = np.flatnonzero(np.isfinite(values))
    known = known[np.argsort(prompt[known], kind="stable")]
    for rows in np.split(known, np.flatnonzero(np.diff(prompt[known])) + 1):
        _, place, counts = np.unique(values[rows], return_inverse=True, return_counts=True)
        found[rows] = (np.cumsum(counts) - (counts - 1) / 2)[place.reshape(-1)]
    return found
