"""People and panel where every prompt has one response: figures over responses to other prompts.

They stand where those within prompts stand (tables "people", "panel", "one person"), their methods
say so, and what only an order within prompts can say is undefined with that reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..aggregation.across_prompts import (
    NO_ORDER,
    icc_across,
    one_person_across,
    pairwise_tau_across,
    tau_across,
)
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.kendall import agreement_ceiling
from ..aggregation.pair_counting import pair_sums, round_ties
from ..aggregation.ratings import Ratings
from .dataset import Target

MOST_RATINGS = 100_000
"""Ratings up to which figures are computed anew without each block of prompts."""


def has_one_response_a_prompt(ratings: Ratings) -> bool:
    """Whether fewer than half of the rated responses share their prompt with another."""
    _, first = np.unique(ratings.response, return_index=True)
    sizes = np.bincount(ratings.prompt[first])
    return bool(2 * sizes[sizes > 1].sum() < sizes.sum())


def people_across(ratings: Ratings, *, level: float) -> dict[str, Estimate | float]:
    """The measures of the table "people" that are counted within prompts elsewhere."""
    found: dict[str, Estimate | float] = {
        name: undefined(NO_ORDER)
        for name in ("w", "mean_spearman", "same_first", "same_order")
    }  # fmt: skip
    if len(ratings) > MOST_RATINGS:
        return found
    found["tau"] = pairwise_tau_across(ratings, level=level)
    if ratings.kind == "score":
        icc = icc_across(ratings, level=level)
        found |= {"icc_one": icc.one, "icc_mean": icc.mean, "icc_absolute": icc.absolute}
        found["mean_raters"] = icc.mean_raters
    return found


def panel_across(
    target: Target, prompt: npt.NDArray[np.int64], *, level: float
) -> dict[str, Estimate | float]:
    """The measures of the table "panel": tau of the panel, of raters, and its ceiling."""
    both = target.both
    x, y = round_ties(target.panel[both]), round_ties(target.human[both])
    sums = pair_sums(x, y, np.zeros(len(x), dtype=np.int64), n_prompts=1)
    of_raters = pairwise_tau_across(target.ratings, level=level)
    return {
        "n_prompts": len(np.unique(prompt[both])),
        "tau": tau_across(x, y, prompt[both], level=level),
        "mean_tau": undefined(NO_ORDER),
        "accuracy": undefined(NO_ORDER),
        "n_ties": int(sums.ties.sum()),
        "tau_of_raters": of_raters,
        "ceiling": _ceiling(of_raters, max(round(float(target.n_raters[both].mean())), 1)),
    }


def one_person_figures(target: Target, *, level: float) -> Mapping[str, Estimate | float]:
    """The measures of the table "one person"; tau is 2 x pair accuracy - 1, as ties allow."""
    found = one_person_across(target.ratings, target.panel, level=level)
    figures: dict[str, Estimate | float] = {"n_comparisons": found.n_raters}
    for name in ("of_one", "of_panel", "difference"):
        one: Estimate = getattr(found, name)
        figures[f"accuracy_{name}"] = one
        shift = 0.0 if name == "difference" else 1.0
        figures[f"tau_{name}"] = replace(
            one, value=2 * one.value - shift, low=2 * one.low - shift, high=2 * one.high - shift,
            se=2 * one.se, method=f"2 x {one.method}" + (" - 1" if shift else ""),
        )  # fmt: skip
    return figures


def _ceiling(tau: Estimate, m: int) -> Estimate:
    method = f"Gaussian ceiling for {m} raters; range from the interval of the raters' tau"

    def of(value: float) -> float:
        return agreement_ceiling(min(max(value, 0.0), 1.0), m)

    if not tau.is_defined or not tau.value > 0:
        reason = tau.reason if not tau.is_defined else "the raters' own tau is not positive"
        return Estimate(math.nan, n=tau.n, method=method, reason=reason)
    if not tau.has_interval:
        return Estimate(of(tau.value), n=tau.n, method=method, reason=tau.reason)
    low, high = of(tau.low), of(tau.high)
    return Estimate(of(tau.value), low, high, tau.n, method=method, level=tau.level)
