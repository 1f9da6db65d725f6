"""Panels that repeat one rater: their agreement with people is that rater's, not a judgment."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from ..aggregation.pair_counting import round_ties
from .dataset import Dataset, Target

Floats = npt.NDArray[np.float64]

MOST_COMPARED: Final = 400
"""Responses of a rater among which independent disagreements with the others are counted."""

BY_CHANCE: Final = 0.001
"""Probability, over all raters, below which an equal order is no chance."""


class Copy(NamedTuple):
    """A rater whose order of the responses the panel repeats without exception."""

    rater: str
    criterion: str
    kind: str
    n: int


def copied_raters(dataset: Dataset, targets: tuple[Target, ...]) -> list[Copy]:
    """Returns the raters whose order the panel repeats on a target, ties included.

    Of scores it is the order of all responses that rater and panel both have, of ranks that within
    prompts. A rater and a good panel may well agree; so only disagreements of the rater with the
    mean of the other raters count. Where the two order a pair oppositely, a panel that does not
    know the rater's errors sides with the rater in one half of the pairs at most, if the rater is
    no better than that mean. Pairs without a response in common are independent of each other: k of
    them that all go the rater's way have the probability 2^-k, which times the number of raters
    must lie below `BY_CHANCE`. A single rater has no others, and nothing is said of one.

    Args:
        dataset: with a panel, and raters who are persons.
        targets: what both judged.
    """
    copies = []
    for target in targets:
        ratings = target.ratings
        order = round_ties(target.panel)[ratings.response]
        mine = ratings.select(np.isfinite(order))
        value, panel = round_ties(mine.value), order[np.isfinite(order)]
        # ranks hold no order across prompts
        prompt = mine.prompt if ratings.kind == "rank" else np.zeros_like(mine.prompt)
        at = np.lexsort((panel, value, prompt, mine.rater))
        is_next = (np.diff(mine.rater[at]) == 0) & (np.diff(prompt[at]) == 0)
        is_equal = np.sign(np.diff(value[at])) == np.sign(np.diff(panel[at]))
        wrong = np.bincount(mine.rater[at][1:][is_next & ~is_equal], minlength=mine.n_raters)
        for code in np.unique(mine.rater).tolist():
            if code < len(wrong) and wrong[code]:
                continue
            own = mine.rater == code
            response, scores = mine.response[own], value[own]
            others = mine.select(~own).mean_by_response(len(dataset.responses))[0][response]
            k = _independent_disagreements(scores, others, prompt[own])
            if mine.n_raters * 0.5**k < BY_CHANCE:
                copies.append(
                    Copy(dataset.rater_ids[code], ratings.criterion, ratings.kind, int(own.sum()))
                )
    return copies


def _independent_disagreements(own: Floats, others: Floats, prompt: npt.NDArray[np.int64]) -> int:
    """How many pairs of responses, none in two pairs, the rater and the others order oppositely."""
    own, others = own[:MOST_COMPARED], others[:MOST_COMPARED]
    prompt = prompt[:MOST_COMPARED]
    sides = np.subtract.outer(own, own) * np.nan_to_num(np.subtract.outer(others, others))
    is_opposed = (sides < 0) & (prompt[:, None] == prompt)
    is_free = np.ones(len(own), dtype=bool)
    n = 0
    for k in range(len(own)):
        partners = np.flatnonzero(is_opposed[k] & is_free)
        if is_free[k] and len(partners):
            is_free[[k, partners[0]]] = False
            n += 1
    return n
