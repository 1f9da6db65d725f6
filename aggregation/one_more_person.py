"""Whether scores agree with people as well as one more person would: one rule for every answer.

Scores and persons are compared with the same reference, each other person alone: do the scores
agree with these people as well as these people agree with each other? Of two responses a person
says the first, the second or neither, whether by ratings, ranks or a choice. So the same people and
the same scores get the same verdict, however people were asked. The mean of the other persons would
need ratings; what most of them say leaves out pairs on which they are divided. What one person adds
by chance lowers the agreement of scores and of persons alike, and so changes neither the sign of
their difference nor their ratio.
Labels go by the same rule, with kappa in the place of d (`labels.against_one_person`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from .estimate import Estimate, undefined
from .intervals import MIN_UNITS, t_interval
from .jackknife import cut_to_range
from .kendall import signed_pairs
from .pair_counting import round_ties
from .preferences import Preferences, pairs_of
from .ratings import Ratings

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BETTER: Final = "better"
AT_LEAST_HALF: Final = "at least half"
WORSE: Final = "worse"
UNDECIDED: Final = "undecided"
UNCONFIRMED: Final = "unconfirmed"
CONSTANT: Final = "constant"
DISAGREES: Final = "disagrees"
ABOVE_CHANCE: Final = "above chance"
FEW, NOISE, UNDEFINED = "few", "noise", "undefined"
"""Why nothing can be said: too few prompts, people not shown to agree, no agreement at all."""


def limits_or_value(figure: Estimate) -> tuple[float, float]:
    """Returns the limits of a figure; one that is the same in every prompt stands for its own.

    nan where it is undefined, or rests on fewer prompts than an interval needs.
    """
    if figure.has_interval:
        return figure.low, figure.high
    has_enough = figure.is_defined and figure.n >= MIN_UNITS
    return (figure.value, figure.value) if has_enough else (math.nan, math.nan)


def verdict_on(difference: Estimate, beyond_half: Estimate) -> str | None:
    """Returns the verdict on scores beside one more person; None where there is too little for one.

    "better" or "worse" where the interval of the difference leaves out 0. Else "at least half"
    where the scores are shown to have more than half of the person's agreement, and "undecided"
    where they are not.

    Args:
        difference: agreement of the scores less that of the person; agreement is 0 by chance.
        beyond_half: agreement of the scores less half of that of the person.
    """
    low, high = limits_or_value(difference)
    if math.isnan(low):
        return None
    if low > 0 or high < 0:
        return BETTER if low > 0 else WORSE
    return AT_LEAST_HALF if limits_or_value(beyond_half)[0] > 0 else UNDECIDED


def verdict_against_people(
    agreement: Estimate,
    people: Estimate | None,
    difference: Estimate | None,
    *,
    chance: float = 0,
    is_constant: bool = False,
) -> str:
    """Returns the verdict on scores held against people, whatever people gave.

    "constant" comes first, then why nothing can be said, then "disagrees" where the agreement is
    shown to be below chance and "unconfirmed" where it may be chance, then the verdict of
    `verdict_on`; "above chance" where there is no one more person to compare with.

    Args:
        agreement: of the scores with people.
        people: agreement of people with each other; None where that is not known.
        difference: scores less one more person, with its verdict; None where there is none.
        chance: the agreement of scores, or of people, at random.
        is_constant: whether there is one score, or label, for everything.
    """
    if is_constant:
        return CONSTANT
    if not agreement.is_defined:
        return UNDEFINED
    low, high = limits_or_value(agreement)
    if math.isnan(low):
        return FEW
    if people is not None and people.is_defined and not limits_or_value(people)[0] > chance:
        return NOISE
    if not low > chance:
        return DISAGREES if high < chance else UNCONFIRMED
    return (difference.verdict if difference is not None else None) or ABOVE_CHANCE


@dataclass(frozen=True, slots=True)
class BesideOnePerson:
    """Scores beside one more person, over the prompts of pairs that two people or more saw.

    Attributes:
        of_one, of_scores: agreement with each of the other people, d: 0 by chance.
        difference: scores less person, paired by prompt, with the verdict of `verdict_on`.
    """

    of_one: Estimate
    of_scores: Estimate
    difference: Estimate


@dataclass(frozen=True, slots=True)
class ByPerson:
    """What each person and prompt adds.

    Attributes:
        person, prompt: shape (cells,), codes; with a pair that another person decides.
        of_one, of_scores: shape (cells,), C - D with the other people.
        decided: shape (cells,), those comparisons.
    """

    person: Integers
    prompt: Integers
    of_one: Floats
    of_scores: Floats
    decided: Floats


class _Sums:
    """C - D and comparisons by prompt, of persons and of scores."""

    def __init__(self, n_prompts: int) -> None:
        self.of_one, self.of_scores, self.decided = (np.zeros(n_prompts) for _ in range(3))

    def add(self, prompt: Integers, up: Floats, down: Floats, n: Floats, side: Floats) -> None:
        """Adds pairs of responses.

        Args:
            prompt: shape (pairs,).
            up, down, n: shape (pairs,): people who put the first before, the second before, and
                all who saw both.
            side: shape (pairs,), 1, 0 or -1 by the order of the scores; nan without scores.
        """
        used = (n > 1) & np.isfinite(side)
        prompt = prompt[used]
        up, down, n, side = (part[used] for part in (up, down, n, side))
        alike = ((up - down) ** 2 - up - down) / (n - 1)
        size = len(self.decided)
        self.of_one += np.bincount(prompt, weights=alike, minlength=size)
        self.of_scores += np.bincount(prompt, weights=side * (up - down), minlength=size)
        self.decided += np.bincount(prompt, weights=up + down, minlength=size)

    def result(self, level: float) -> BesideOnePerson:
        """The comparison over prompts, with t intervals."""
        if not self.decided.any():
            none = undefined("no pair with scores was decided by one person and seen by another")
            return BesideOnePerson(none, none, none)
        of_one, of_scores = (
            np.divide(part, self.decided, out=np.full(len(part), np.nan), where=self.decided > 0)
            for part in (self.of_one, self.of_scores)
        )

        def mean(values: Floats, method: str, most: float = 1.0) -> Estimate:
            return cut_to_range(t_interval(values, level=level).of(method), (-most, most))

        difference = mean(of_scores - of_one, "panel less person, paired by prompt", 2.0)
        beyond_half = mean(of_scores - of_one / 2, "panel less half of the person", 2.0)
        return BesideOnePerson(
            mean(of_one, "Somers' d of a person with each other one"),
            mean(of_scores, "Somers' d of the panel with each person"),
            replace(difference, verdict=verdict_on(difference, beyond_half)),
        )


def choices_beside_one_person(
    chosen: Preferences, scores: Floats, *, level: float = 0.95
) -> BesideOnePerson:
    """Returns the comparison on pairs of responses that people chose between.

        of_one    = Σ [(u - d)² - (u + d)] / (m - 1)  /  Σ (u + d)
        of_scores = Σ s (u - d)                       /  Σ (u + d)

    over the pairs of a prompt that m > 1 people saw, of whom u prefer the one and d the other, s
    the side of the scores: each decided preference is a reference, a tie of whoever is compared
    with it adds 0. Then the mean over prompts.

    Args:
        chosen: people's preferences.
        scores: shape (responses,), higher is better; nan where there is none.
        level: nominal coverage.
    """
    pairs, rounded = pairs_of(chosen), round_ties(scores)
    sums = _Sums(int(chosen.prompt.max(initial=-1)) + 1)
    side = np.sign(rounded[pairs.first] - rounded[pairs.second])
    sums.add(pairs.prompt, pairs.up, pairs.down, pairs.n, side)
    return sums.result(level)


def ratings_beside_one_person(
    ratings: Ratings, scores: Floats, *, level: float = 0.95
) -> tuple[BesideOnePerson, ByPerson]:
    """Returns the same of ratings or ranks: they say which of two responses is better, or neither.

    Args:
        ratings: people's, oriented so that higher is better.
        scores, level: as in `choices_beside_one_person`.
    """
    rounded = round_ties(scores)
    sums = _Sums(int(ratings.prompt.max(initial=-1)) + 1)
    cells: list[tuple[npt.NDArray[Any], ...]] = []
    for tables, signs, seen in signed_pairs(ratings):
        of_response = rounded[tables.response]
        first, second = np.triu_indices(of_response.shape[1], k=1)
        side = np.sign(of_response[:, first] - of_response[:, second])
        up, down = ((way * signs > 0).sum(axis=1).astype(np.float64) for way in (1, -1))
        n = seen.sum(axis=1).astype(np.float64)
        prompt = np.broadcast_to(tables.prompt[:, None], side.shape)
        sums.add(prompt.ravel(), *(part.ravel() for part in (up, down, n, side)))
        usable = seen & (np.isfinite(side) & (n > 1))[:, None]
        others = np.where(usable, (up - down)[:, None] - signs, 0.0)
        decided = np.where(usable, (up + down)[:, None] - np.abs(signs), 0.0).sum(axis=2)
        of_one = (signs * others).sum(axis=2)
        of_scores = (np.nan_to_num(side)[:, None] * others).sum(axis=2)
        there = decided > 0
        cells.append((
            tables.rater[there], np.broadcast_to(tables.prompt[:, None], there.shape)[there],
            of_one[there], of_scores[there], decided[there],
        ))  # fmt: skip
    columns = [np.concatenate(part) for part in zip(*cells, strict=True)] or [np.zeros(0)] * 5
    return sums.result(level), ByPerson(*columns)
