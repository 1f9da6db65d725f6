"""How one of several groups of judges departs from people, beyond what the others depart.

What all groups share (a rubric read otherwise than people read it, a model's taste) is no group's
own. So each figure stands beside that of the other groups on the same responses, and a departure is
named only where it is the group's own. Order and level are kept apart: who is harsh by design has
another level, and may order as people do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from .effects import adjusted_by_holm, mean_by_prompt, t_test
from .estimate import Estimate, undefined
from .intervals import MIN_UNITS, t_interval
from .jackknife import STANDS, ratio, ratio_difference
from .pair_counting import pair_sums

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

ALONE = "there is no other persona to compare it with"

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class OrderDeparture:
    """Pair accuracy with people, ties of judges one half.

    Attributes:
        own: the group's.
        others: that of the other groups, each alone, on the pairs that it shares with this one.
        difference: own less others, with its p; see `order_departure`.
    """

    own: Estimate
    others: Estimate
    difference: Estimate


@dataclass(frozen=True, slots=True)
class GapDeparture:
    """A difference to people in points.

    Attributes:
        own: the group less people.
        others: the mean of the other groups less people.
        difference: the group less the others. Its p is the larger of those of `own` and of this,
            and there is none where the two have different signs, or where the others are farther
            from people: a departure has to be from people and from the others.
    """

    own: Estimate
    others: Estimate
    difference: Estimate


def order_departure(
    scores: Floats, group: int, human: Floats, prompt: Integers, *, n_prompts: int, level: float
) -> OrderDeparture:
    """Returns how much less, or more, a group orders as people do than another group alone.

    With a group's accuracy a and b_q that of another one, over the pairs that both have seen, the
    difference is Σ_q right / Σ_q decided of this group less the same of the others: the mean of all
    others would be better than any of them, by being a mean. Delete-one-prompt jackknife; p of its
    t with prompts − 1 degrees of freedom. Where it is the same in all of six prompts or more, p is
    that of flipped signs, 2 / 2^prompts.

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
        return OrderDeparture(own, none, none)
    others = ratio(totals[2], totals[3], method=f"{method}: the others, each alone", level=level)
    difference = ratio_difference(
        (totals[0], totals[1]),
        (totals[2], totals[3]),
        method=f"{method}, less that of the others, each alone, on the pairs that both have",
        level=level,
    )
    return OrderDeparture(own, others, _tested(difference))


def _tested(found: Estimate) -> Estimate:
    """The estimate with the p of its jackknife t."""
    if found.has_interval and found.se > 0:
        t = found.value / found.se
        p = 2 * float(stdtr(found.n - 1, -abs(t)))
        return replace(found, p=p, p_method=f"jackknife t over {found.unit}s, two-sided")
    if found.is_defined and found.n >= MIN_UNITS and (found.reason or "").endswith(STANDS):
        return _of_signs(found)
    return found


def _of_signs(found: Estimate) -> Estimate:
    p = 2.0 ** (1 - found.n) if found.value else 1.0
    return replace(found, p=p, p_method=f"sign flips of {found.unit}s, exact")


def gap_departure(
    mine: Floats,
    others: Floats,
    human: Floats,
    prompt: Integers,
    *,
    n_prompts: int,
    level: float,
    part: Mask | None = None,
) -> GapDeparture:
    """Returns how far a group stands from people, the other groups do, and it from them.

    Means over prompts of the mean difference of each, with t intervals. With `part`, the
    differences on those responses less those on the others of the same prompt: what a group gives
    to one respondent, freed from how harsh it is.

    Args:
        mine, others: shape (R,), scores of the group, and the mean of the other groups.
        human, prompt, n_prompts, level: as in `order_departure`.
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

    both = rated & np.isfinite(mine) & np.isfinite(others)
    own = _mean(by_prompt(mine - human), "score less people's mean", level)
    if not both.any():
        reason = "it shares no rated response with another persona"
        none = undefined(reason if np.isfinite(others).any() else ALONE)
        return GapDeparture(own, none, none)
    apart = _mean(by_prompt(others - human), "the others' mean less people's", level)
    found = _mean(by_prompt(np.where(rated, mine - others, np.nan)), "less the others' mean", level)
    is_own = own.value * found.value > 0 and abs(own.value) > abs(apart.value)
    p = max(own.p, found.p) if is_own and not math.isnan(own.p + found.p) else math.nan
    if math.isfinite(own.p + found.p) and not is_own:
        p = 1.0
    named = "the larger p of the difference to people and of that to the others"
    return GapDeparture(own, apart, replace(found, p=p, p_method=named))


def _mean(by_prompt: Floats, what: str, level: float) -> Estimate:
    """Mean over prompts with a t interval and its p."""
    found = t_interval(by_prompt, level=level).of(what)
    known = by_prompt[np.isfinite(by_prompt)]
    if found.has_interval:
        return replace(found, p=t_test(known)[1], p_method="t over prompts, two-sided")
    is_constant = len(known) >= MIN_UNITS and float(np.ptp(known)) < 1e-9
    return _of_signs(found) if is_constant else found


def adjusted(found: Sequence[Estimate], family: str, below: str, above: str) -> list[Estimate]:
    """The estimates with Holm's p over all of them, and its verdict where that is below .05.

    Args:
        found: with their p.
        family: what the tests are, for the table.
        below, above: the verdict on a value below 0 and above it; "" for none.
    """
    made = adjusted_by_holm(found, [family] * len(found))
    return [replace(one, verdict=_verdict(one, below, above)) for one in made]


def _verdict(found: Estimate, below: str, above: str) -> str | None:
    if not found.p_adjusted < ALPHA:
        return None
    return (below if found.value < 0 else above) or None


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
