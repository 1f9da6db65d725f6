"""Preferences between two items: agreement of people, accuracy of scores, and worths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .estimate import Estimate, undefined
from .jackknife import BLOCKS, jackknife, ratio
from .pair_counting import round_ties
from .ranking import plackett_luce

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST_ITEMS = 200
"""Items among which worths are fitted."""


@dataclass(frozen=True, slots=True)
class Preferences:
    """Preferences of one criterion, each of a rater between two responses of one prompt.

    Attributes:
        criterion: a dimension, or "overall".
        rater, prompt: shape (N,), codes.
        first, second: shape (N,), codes of responses, first below second.
        won: shape (N,), 1 where the first is preferred, 0 where the second, 0.5 for a tie.
    Sorted by prompt and pair; one preference a rater and pair.
    """

    criterion: str
    rater: Integers
    prompt: Integers
    first: Integers
    second: Integers
    won: Floats

    def __len__(self) -> int:
        return len(self.won)


def make_preferences(
    criterion: str, rater: Integers, prompt: Integers, a: Integers, b: Integers, won_a: Floats
) -> tuple[Preferences, int]:
    """Returns sorted preferences, and how many repeat a pair of the same rater: the first stands.

    Whichever response stands first in the file, a pair is one pair.
    """
    swapped = a > b
    first, second = np.where(swapped, b, a), np.where(swapped, a, b)
    won = np.where(swapped, 1 - won_a, won_a)
    order = np.lexsort((np.arange(len(won)), rater, second, first, prompt))
    columns = [part[order] for part in (prompt, first, second, rater)]
    keep = np.ones(len(won), dtype=bool)
    if len(won) > 1:
        keep[1:] = np.any([part[1:] != part[:-1] for part in columns], axis=0)
    of_prompt, low, high, who = (part[keep] for part in columns)
    made = Preferences(criterion, who, of_prompt, low, high, won[order][keep])
    return made, int((~keep).sum())


@dataclass(frozen=True, slots=True)
class Pairs:
    """Preferences counted by pair.

    Attributes:
        prompt, first, second: shape (P,), codes.
        up, down, tied: shape (P,), raters who prefer the first, the second, neither.
    """

    prompt: Integers
    first: Integers
    second: Integers
    up: Floats
    down: Floats
    tied: Floats

    @property
    def n(self) -> Floats:
        """Shape (P,): raters of each pair."""
        return self.up + self.down + self.tied

    @property
    def decided(self) -> Floats:
        """Shape (P,): preferences that are no ties."""
        return self.up + self.down


def pairs_of(given: Preferences) -> Pairs:
    """Returns the preferences counted by pair."""
    changes = np.ones(len(given), dtype=bool)
    for part in (given.prompt, given.first, given.second):
        changes[1:] = changes[1:] & (part[1:] == part[:-1])
    changes = ~changes
    changes[:1] = True
    at = np.cumsum(changes) - 1
    starts = np.flatnonzero(changes)
    up, down, tied = (_sums(at, given.won == value, len(starts)) for value in (1.0, 0.0, 0.5))
    return Pairs(given.prompt[starts], given.first[starts], given.second[starts], up, down, tied)


def _sums(codes: Integers, values: npt.NDArray[Any], size: int) -> Floats:
    """Sums of values by code."""
    return np.asarray(np.bincount(codes, weights=values, minlength=size), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class PreferenceAgreement:
    """How far people prefer the same of two.

    Attributes:
        n_pairs, n_shared: pairs, and those of two raters or more.
        n_ties: preferences for neither.
        equal: share of equal preferences of two raters on one pair, a tie being equal to a tie.
        kappa: the same beyond chance.
        ceiling: the most that a judge could reach against single raters.
    """

    n_pairs: int
    n_shared: int
    n_ties: int
    equal: Estimate
    kappa: Estimate
    ceiling: Estimate


def preference_agreement(given: Preferences, *, level: float = 0.95) -> PreferenceAgreement:
    """Returns how far people prefer the same, with intervals over prompts.

    On a pair with m raters, of whom u prefer the one, d the other and t neither:

        equal = Σ [u(u−1) + d(d−1) + t(t−1)] / (m−1)  /  Σ m
        kappa = (equal − e) / (1 − e),  e = (1−τ)²/2 + τ²       τ: share of ties
        ceiling = 1/2 + sqrt(2 a − 1) / 2,  a = Σ [u(u−1) + d(d−1)] / (u+d−1)  /  Σ (u+d)

    over pairs with two raters (of a: two who decide), so that each preference weighs alike. Kappa
    is Scott's pi of the three answers, with the two sides equally likely, since which of two
    stands first means nothing. A judge who always names what most people prefer is right with
    probability max(q, 1 − q), q the share of people on one side, and two people agree with q² +
    (1 − q)²; the mean of the first is at most the ceiling, and reaches it where all pairs are
    equally hard (Jensen).

    Source: Scott (1955), Public Opinion Quarterly 19, 321–325.
    """
    pairs = pairs_of(given)
    up, down, tied, m, decided = pairs.up, pairs.down, pairs.tied, pairs.n, pairs.decided
    size = int(given.prompt.max(initial=-1)) + 1

    def by_prompt(values: Floats, mask: npt.NDArray[np.bool_]) -> Floats:
        return _sums(pairs.prompt[mask], values[mask], size)

    shared = m >= 2
    others = np.maximum(m - 1, 1)
    same_side = up * (up - 1) + down * (down - 1)
    same = by_prompt((same_side + tied * (tied - 1)) / others, shared)
    counted, ties = by_prompt(m, shared), by_prompt(tied, shared)
    both = decided >= 2
    alike = by_prompt(same_side / np.maximum(decided - 1, 1), both)
    decisions = by_prompt(decided, both)
    equal = ratio(same, counted, method="share of equal preferences of two raters", level=level)
    alike_share = ratio(alike, decisions, method="decided preferences that agree", level=level)
    none = "no pair was compared by two raters"
    if not shared.any():
        equal = undefined(none, method=equal.method)
    return PreferenceAgreement(
        n_pairs=len(m),
        n_shared=int(shared.sum()),
        n_ties=int(tied.sum()),
        equal=equal,
        kappa=_kappa(same, counted, ties, level),
        ceiling=_ceiling(alike_share),
    )


def _kappa(same: Floats, counted: Floats, ties: Floats, level: float) -> Estimate:
    method = "equal preferences beyond chance, Scott's pi with the sides alike"
    used = counted > 0
    parts = np.stack([same[used], counted[used], ties[used]])
    if not parts.shape[1]:
        return undefined("no pair was compared by two raters", method=method)

    def of(sums: Floats) -> Floats:
        n = np.where(sums[1] > 0, sums[1], np.nan)
        observed, share = sums[0] / n, sums[2] / n
        chance = (1 - share) ** 2 / 2 + share**2
        found: Floats = np.where(
            chance < 1, (observed - chance) / np.where(chance < 1, 1 - chance, 1), np.nan
        )
        return found

    total = parts.sum(axis=1)
    value = float(of(total))
    if math.isnan(value):
        return undefined("every preference is a tie", method=method)
    return jackknife(
        value, of(total[:, None] - parts), n=parts.shape[1], method=method, level=level,
        bounds=(-1.0, 1.0),
    )  # fmt: skip


def _ceiling(alike: Estimate) -> Estimate:
    method = "at most 1/2 + sqrt(2 a - 1)/2, a: two decided preferences agree; range from that of a"

    def of(value: float) -> float:
        return 0.5 + math.sqrt(max(2 * value - 1, 0.0)) / 2

    if not alike.is_defined:
        return undefined("no pair was decided by two raters", method=method)
    if not alike.value > 0.5:
        why = "people do not agree beyond chance: they prefer nothing in common"
        return undefined(why, method=method, n=alike.n)
    reason = None if alike.has_interval else alike.reason
    return Estimate(
        of(alike.value), of(alike.low) if alike.has_interval else math.nan,
        of(alike.high) if alike.has_interval else math.nan, alike.n, "prompt", method, alike.level,
        reason,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PreferenceAccuracy:
    """How far scores order pairs as people prefer.

    Attributes:
        accuracy: share of people's decided preferences, the scores' ties one half.
        n_decided: those preferences; n_ties: those whose pair the scores tie.
    """

    accuracy: Estimate
    n_decided: int
    n_ties: int


def preference_accuracy(
    given: Preferences, scores: Floats, *, level: float = 0.95
) -> PreferenceAccuracy:
    """Returns how far scores order pairs as people prefer, with intervals over prompts.

    Pairs with a response without a score take no part. A single preference is a noisy reference:
    `one_more_person` compares the scores with one more person.

    Args:
        given: the preferences.
        scores: shape (responses,), higher is better; nan where there is none.
        level: nominal coverage.
    """
    known = np.isfinite(scores[given.first]) & np.isfinite(scores[given.second])
    mine = Preferences(
        given.criterion, given.rater[known], given.prompt[known], given.first[known],
        given.second[known], given.won[known],
    )  # fmt: skip
    pairs = pairs_of(mine)
    rounded = round_ties(scores)
    side = np.sign(rounded[pairs.first] - rounded[pairs.second])
    size = int(given.prompt.max(initial=-1)) + 1
    up, down, decided = pairs.up, pairs.down, pairs.decided
    right = np.where(side > 0, up, np.where(side < 0, down, decided / 2))
    method = "accuracy on people's decided preferences, ties of the scores one half"
    accuracy = ratio(
        _sums(pairs.prompt, right, size), _sums(pairs.prompt, decided, size), method=method,
        level=level,
    )  # fmt: skip
    return PreferenceAccuracy(accuracy, int(decided.sum()), int(decided[side == 0].sum()))


@dataclass(frozen=True, slots=True)
class Worths:
    """How often items are preferred, and their worths.

    Attributes:
        win_share: by item: share of its comparisons won, ties one half.
        log_worth: by item: log worth, the mean of all being 0.
        tie_prevalence: δ: two equal items tie with probability δ / (2 + δ); nan without ties.
    """

    win_share: tuple[Estimate, ...]
    log_worth: tuple[Estimate, ...]
    tie_prevalence: float


def worths(
    first: Integers, second: Integers, won: Floats, n_items: int, clusters: Sequence[Any], *,
    unit: str = "prompt", level: float = 0.95,
) -> Worths:  # fmt: skip
    """Returns the worths of items by Bradley and Terry with Davidson's ties.

    P(i before j) = α_i / (α_i + α_j + δ sqrt(α_i α_j)), P(tie) the last term over the same sum:
    maximum likelihood (`ranking.plackett_luce`). The standard errors are those of the jackknife
    over clusters, the preferences of which are no independent draws: all of one rater, or all of
    one prompt.

    Args:
        first, second: shape (N,), codes below n_items.
        won: shape (N,), 1 where the first is preferred, 0 where the second, 0.5 for a tie.
        n_items: how many items.
        clusters: shape (N,), labels.
        unit: what a cluster is.
        level: nominal coverage.

    Source: Davidson (1970), Journal of the American Statistical Association 65, 317–328.
    """
    codes, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    n_clusters, blocks = len(codes), min(len(codes), BLOCKS)
    item = np.concatenate([first, second])
    gained, twice = np.concatenate([won, 1 - won]), np.concatenate([cluster, cluster])
    shares = []
    for one in range(n_items):
        mine = item == one
        top, bottom = (
            _sums(twice[mine], given[mine], n_clusters) for given in (gained, np.ones(len(item)))
        )
        share = ratio(top, bottom, method="share of comparisons won, ties one half", level=level)
        shares.append(_named(share, unit))
    method = "log worth by Bradley, Terry and Davidson, mean 0"
    if n_items > MOST_ITEMS:
        none = undefined(f"more than {MOST_ITEMS} items", unit=unit, method=method)
        return Worths(tuple(shares), (none,) * n_items, math.nan)
    key = (first * n_items + second) * 3 + (2 * won).astype(np.int64)
    found, row = np.unique(key, return_inverse=True)
    outcome, pair = found % 3, found // 3
    ranks = np.full((len(found), n_items), np.nan)
    ranks[np.arange(len(found)), pair // n_items] = np.where(outcome == 0, 2.0, 1.0)
    ranks[np.arange(len(found)), pair % n_items] = np.where(outcome == 2, 2.0, 1.0)
    row = row.reshape(-1)
    weights = np.bincount(row, minlength=len(found)).astype(np.float64)
    fit = plackett_luce(ranks, weights=weights)
    if fit.reason is not None:
        none = undefined(fit.reason, unit=unit, method=method, n=n_clusters)
        return Worths(tuple(shares), (none,) * n_items, math.nan)
    left_out = np.empty((0, n_items))
    if n_clusters >= 2:
        left_out = np.array([
            plackett_luce(
                ranks,
                weights=weights - np.bincount(row[cluster % blocks == block], minlength=len(found)),
            ).log_worth
            for block in range(blocks)
        ])  # fmt: skip
    made = []
    for one, (value, error) in enumerate(
        zip(fit.log_worth.tolist(), fit.standard_errors.tolist(), strict=True)
    ):
        with_error = jackknife(
            value, left_out[:, one], n=n_clusters, method=method, unit=unit, level=level
        )
        if not with_error.has_interval:
            told = f"{with_error.reason}; the error is that of independent preferences"
            with_error = replace(with_error, se=error, reason=told)
        made.append(with_error)
    return Worths(tuple(shares), tuple(made), fit.tie_prevalence.get(2, math.nan))


def _named(found: Estimate, unit: str) -> Estimate:
    """The same with another unit than prompts."""
    if unit == "prompt":
        return found
    reason = None if found.reason is None else found.reason.replace("prompt", unit)
    method = found.method.replace("delete-one-prompt", f"delete-one-{unit}")
    return replace(found, unit=unit, method=method, reason=reason)
