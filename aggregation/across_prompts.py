"""Agreement where every prompt has one response: over pairs of responses to different prompts.

There is no order within a prompt then, and a tau over all responses, which elsewhere mixes what
prompts are like with what responses are like, is the only order there is. Prompts stay the unit of
every interval: values are computed anew without each prompt, or each of 50 blocks of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from .estimate import Estimate, undefined
from .generalizability import henderson
from .jackknife import BLOCKS, jackknife, recomputed
from .kendall import kendall_tau_b
from .pair_counting import pair_sums
from .ratings import Ratings

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_RATERS: Final = 20
"""Raters who are compared pair by pair, and left out one by one; of more, those with the most
ratings."""

FEWEST_SHARED: Final = 10
"""Responses that two raters must share for a tau of theirs."""

NO_ORDER: Final = "one response a prompt: there is no order within prompts"


def tau_across(x: Floats, y: Floats, prompt: Integers, *, level: float = 0.95) -> Estimate:
    """Returns tau-b over all pairs of responses, with its interval over prompts.

    Args:
        x, y: shape (R,), finite.
        prompt: shape (R,), codes.
        level: nominal coverage.
    """

    def value(mask: Mask) -> float:
        return kendall_tau_b(x[mask], y[mask])

    method = "tau-b over responses to different prompts"
    return recomputed(value, prompt, method=method, level=level, bounds=(-1.0, 1.0))


def rater_table(ratings: Ratings) -> tuple[Floats, Integers, Integers]:
    """Returns ratings as (raters, responses), nan where missing; raters; prompt of each response.

    Of more than `MOST_RATERS` raters those with the most ratings.
    """
    raters, counts = np.unique(ratings.rater, return_counts=True)
    chosen = np.sort(raters[np.argsort(-counts, kind="stable")[:MOST_RATERS]])
    responses, first, column = np.unique(ratings.response, return_index=True, return_inverse=True)
    mine = np.isin(ratings.rater, chosen)
    table = np.full((len(chosen), len(responses)), np.nan)
    table[np.searchsorted(chosen, ratings.rater[mine]), column.reshape(-1)[mine]] = ratings.value[
        mine
    ]
    return table, chosen, ratings.prompt[first]


def pairwise_tau_across(ratings: Ratings, *, level: float = 0.95) -> Estimate:
    """Returns the mean tau-b of pairs of raters over the responses that both rated.

    nan with a reason where no two share `FEWEST_SHARED` responses.
    """
    table, raters, prompt = rater_table(ratings)
    known = np.isfinite(table)
    pairs = [
        (a, b)
        for a, b in combinations(range(len(raters)), 2)
        if int((known[a] & known[b]).sum()) >= FEWEST_SHARED
    ]
    method = f"mean tau-b of {len(pairs)} pairs of raters, over responses to different prompts"
    if not pairs:
        return undefined(f"no two raters share {FEWEST_SHARED} responses", method=method)

    def value(mask: Mask) -> float:
        taus = [
            kendall_tau_b(table[a][shared], table[b][shared])
            for a, b in pairs
            for shared in (known[a] & known[b] & mask,)
        ]
        return float(np.mean(taus))

    return recomputed(value, prompt, method=method, level=level, bounds=(-1.0, 1.0))


@dataclass(frozen=True, slots=True)
class IccAcross:
    """ICC of one rater and of the mean of a response's raters (consistency), and absolute."""

    one: Estimate
    mean: Estimate
    absolute: Estimate
    mean_raters: float


def icc_across(ratings: Ratings, *, level: float = 0.95) -> IccAcross:
    """Returns the intraclass correlations of responses x raters, complete or not.

    With Henderson's components of responses, raters and the rest: one = s2_r / (s2_r + s2_e), mean
    with s2_e / m, absolute = s2_r / (s2_r + s2_j + s2_e). On a complete table these are the forms
    ICC(3,1), ICC(3,m) and ICC(2,1) of Shrout and Fleiss (1979). m is the harmonic mean of the
    ratings of a response.
    """
    m = 1 / float(np.mean(1 / np.unique(ratings.response, return_counts=True)[1]))

    def components(mask: Mask) -> list[float]:
        codes = [
            np.unique(labels[mask], return_inverse=True)[1].reshape(-1).astype(np.int64)
            for labels in (ratings.response, ratings.rater)
        ]
        if len(codes[1]) <= int(codes[0].max(initial=-1)) + 1:
            return [math.nan] * 3  # one rating each: nothing to tell apart
        return henderson(ratings.value[mask], codes)

    values, n = _with_each_left_out(components, ratings.prompt)
    of_response, of_rater, rest = values.T
    forms = [
        ("ICC(3,1)", of_response + rest),
        (f"ICC(3,{m:.3g})", of_response + rest / m),
        ("ICC(2,1)", of_response + of_rater + rest),
    ]
    bounds = (-math.inf, 1.0)
    one, mean, absolute = (
        _jackknifed(
            np.divide(of_response, whole, out=np.full(len(whole), np.nan), where=whole > 0),
            f"{name} over responses to different prompts, Henderson's components", n, level, bounds,
        )
        for name, whole in forms
    )  # fmt: skip
    return IccAcross(one, mean, absolute, m)


def _with_each_left_out(
    statistics: Callable[[Mask], list[float]], prompt: Integers
) -> tuple[Floats, int]:
    """Returns statistics of all rows, then without each block of prompts, a row each; n prompts."""
    codes, place = np.unique(prompt, return_inverse=True)
    n_blocks = min(len(codes), BLOCKS)
    blocks = place.reshape(-1) % n_blocks
    rows = [statistics(np.ones(len(prompt), dtype=bool))]
    rows += [statistics(blocks != block) for block in range(n_blocks)]
    return np.array(rows), len(codes)


def _jackknifed(
    values: Floats, method: str, n: int, level: float, bounds: tuple[float, float]
) -> Estimate:
    """The first of these values, with the interval that the others make."""
    return jackknife(float(values[0]), values[1:], n=n, method=method, level=level, bounds=bounds)


@dataclass(frozen=True, slots=True)
class OnePersonAcross:
    """Share of pairs ordered as the other raters' mean orders them: of one rater and of the panel.

    Attributes:
        of_one, of_panel: means over the raters left out; ties count one half, chance is .5.
        difference: panel less rater.
        n_raters: how many were left out.
    """

    of_one: Estimate
    of_panel: Estimate
    difference: Estimate
    n_raters: int


def one_person_across(ratings: Ratings, panel: Floats, *, level: float = 0.95) -> OnePersonAcross:
    """Returns the panel against one more person, on pairs of responses to different prompts.

    Each rater is left out in turn; rater and panel are compared with the mean of the same others,
    on the responses that the rater rated and the panel scored.

    Args:
        ratings: people's, of responses.
        panel: shape (responses,), by code of the response; nan where there is none.
        level: nominal coverage.
    """
    table, _, prompt = rater_table(ratings)
    scores = panel[np.unique(ratings.response)]
    n, sums = np.isfinite(table).sum(axis=0), np.nansum(table, axis=0)
    rows = []
    for own in table:
        usable = np.isfinite(own) & (n > 1) & np.isfinite(scores)
        if int(usable.sum()) >= FEWEST_SHARED:
            others = np.full(len(own), np.nan)
            others[usable] = (sums[usable] - own[usable]) / (n[usable] - 1)
            rows.append((own, others))
    none = undefined(f"no rater shares {FEWEST_SHARED} responses with the panel and another rater")
    if not rows:
        return OnePersonAcross(none, none, none, 0)
    zeros = np.zeros(len(scores), dtype=np.int64)

    def accuracy(judge: Floats, others: Floats, mask: Mask) -> float:
        found = pair_sums(judge, others, zeros, mask, n_prompts=1)
        return float(found.right[0] / found.decided[0]) if found.decided[0] else math.nan

    def both(mask: Mask) -> list[float]:
        return [
            float(np.mean([accuracy(judge, others, mask) for judge, others in pairs]))
            for pairs in (rows, [(scores, others) for _, others in rows])
        ]

    values, n_prompts = _with_each_left_out(both, prompt)
    of_one, of_panel = values.T

    def made(found: Floats, what: str, low: float) -> Estimate:
        method = f"pair accuracy over responses to different prompts, {what}"
        return _jackknifed(found, method, n_prompts, level, (low, 1.0))

    return OnePersonAcross(
        made(of_one, "a rater against the mean of the others", 0.0),
        made(of_panel, "the panel against the same means", 0.0),
        made(of_panel - of_one, "panel less rater", -1.0),
        len(rows),
    )
