"""How far people agree with each other: the tables "people" and "raters" of the estimates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..aggregation.agreement import Level, gwet_ac2, krippendorff_alpha
from ..aggregation.concordance import concordance
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.jackknife import recomputed
from ..aggregation.kendall import pairwise_tau
from ..aggregation.ratings import Ratings, by_place, n_too_large
from ..records.estimates import Estimates
from .dataset import Dataset, keys_of
from .rater_effects import add_rater_effects

Floats = npt.NDArray[np.float64]

MOST_FOR_INTERVALS = 100_000
"""Ratings up to which alpha and AC2 are computed anew without each block of prompts."""

MOST_CATEGORIES = 101
"""Different values up to which AC2 is given: it is a coefficient for categories."""

EVERY = "all"
"""The criterion of figures over all scored criteria together."""


def add_people(out: Estimates, dataset: Dataset, *, level: float = 0.95, seed: int = 0) -> None:
    """Adds how far people agree on every criterion they rated.

    One million ratings take well under a minute: nothing of the size raters x responses is made.
    """
    for ratings in dataset.ratings:
        add_criterion(out, ratings, dataset, level=level, seed=seed)
        add_rater_effects(out, ratings, dataset.rater_ids, level=level)
    scored = [one for one in dataset.ratings if one.kind == "score"]
    keys = {"criterion": EVERY, "detail": "score"}
    if len(scored) > 1:
        out.add("people", "alpha_interval", _pooled_alpha(scored, "interval", level), **keys)
        out.add("people", "alpha_ordinal", _pooled_alpha(scored, "ordinal", level), **keys)
    if len(scored) > 2:
        out.add("people", "same_on_all", _same_on_all(scored), **keys)


def add_criterion(
    out: Estimates, ratings: Ratings, dataset: Dataset, *, level: float = 0.95, seed: int = 0
) -> None:
    """Adds the agreement of people on one criterion.

    tau is the mean over pairs of raters, within prompts; W, r̄, ICC and shared choices are those of
    raters who rated whole prompts. Alpha is taken over all responses, so that differences between
    prompts count as agreement (interval only for scores); AC2 with quadratic weights stands beside
    it: it is high where one value prevails.
    """
    table, prompt = by_place(ratings), _prompt_of_columns(ratings)
    agreed = concordance(ratings, level=level, seed=seed)
    pairs = pairwise_tau(ratings, level=level)
    n_pairs = pairs.n_pairs_defined
    figures: dict[str, Estimate | float] = {
        "n_ratings": len(ratings),
        "n_raters": ratings.n_raters,
        "n_prompts": ratings.n_prompts,
        "n_responses": ratings.n_responses,
        "n_too_large": n_too_large(ratings),
        "tau": pairs.tau,
        "n_rater_pairs": Estimate(
            n_pairs, n=n_pairs, n_planned=n_pairs + pairs.n_pairs_undefined, unit="rater pair",
            method="pairs of raters that met and have a tau", level=math.nan,
        ),
        "n_response_pairs": pairs.n_response_pairs,
        "w": agreed.w,
        "w_by_chance": agreed.chance_w,
        "mean_spearman": replace(
            agreed.mean_spearman, p=agreed.p.value, p_method=agreed.p.method or None
        ),
        "alpha_ordinal": _alpha(table, prompt, "ordinal", level),
        "ac2": _ac2(table, prompt, ratings, dataset.scale, level),
        "icc_one": agreed.icc_one,
        "icc_mean": agreed.icc_mean,
        "same_first": agreed.top_one,
        "same_first_by_chance": agreed.top_one_chance,
        "same_order": agreed.same_order,
        "mean_raters": agreed.mean_raters,
        "n_partial": agreed.n_partial,
        "n_constant": agreed.n_constant,
    }  # fmt: skip
    if ratings.kind == "score":  # ranks have no equal distances
        figures["alpha_interval"] = _alpha(table, prompt, "interval", level)
        figures["icc_absolute"] = agreed.icc_absolute
    out.add_all("people", figures, **keys_of(ratings))


def _prompt_of_columns(ratings: Ratings) -> npt.NDArray[np.int64]:
    _, first = np.unique(ratings.response, return_index=True)
    return ratings.prompt[first]


def _with_interval(
    table: Floats,
    prompt: npt.NDArray[np.int64],
    statistic: str,
    value_of: _Statistic,
    level: float,
    why_undefined: str,
) -> Estimate:
    several = (~np.isnan(table)).sum(axis=0) >= 2
    n = len(np.unique(prompt[several]))
    value = value_of(table)
    if math.isnan(value):
        return Estimate(value, n=n, unit="prompt", method=statistic, reason=why_undefined)
    if int((~np.isnan(table)).sum()) > MOST_FOR_INTERVALS:
        return Estimate(
            value, n=n, unit="prompt", method=statistic,
            reason=f"no interval: more than {MOST_FOR_INTERVALS:,} ratings",
        )  # fmt: skip
    table, prompt = table[:, several], prompt[several]
    return recomputed(
        lambda mask: value_of(table[:, mask]), prompt, method=statistic, level=level,
        bounds=(-math.inf, 1.0),
    )  # fmt: skip


class _Statistic:
    """A coefficient of a table of ratings, with its options."""

    def __init__(self, level: Level | None, labels: tuple[float, ...] | None = None) -> None:
        self._level: Level | None = level
        self._labels = labels

    def __call__(self, table: Floats) -> float:
        if self._level is not None:
            return krippendorff_alpha(table, self._level)
        return gwet_ac2(table, weights="quadratic", labels=self._labels)


def _alpha(
    table: Floats | None, prompt: npt.NDArray[np.int64], metric: Level, level: float
) -> Estimate:
    name = f"Krippendorff's alpha, {metric}"
    if table is None:
        return undefined("one response has too many ratings", method=name)
    return _with_interval(
        table, prompt, name, _Statistic(metric), level,
        "only one value is used, or no response has two ratings: 0 / 0",
    )  # fmt: skip


def _ac2(
    table: Floats | None, prompt: npt.NDArray[np.int64], ratings: Ratings,
    scale: tuple[float, float] | None, level: float,
) -> Estimate:  # fmt: skip
    name = "Gwet's AC2, quadratic weights"
    if table is None:
        return undefined("one response has too many ratings", method=name)
    values = np.unique(ratings.value)
    labels: tuple[float, ...] | None = None
    if ratings.kind == "score" and scale is not None and bool((values == np.round(values)).all()):
        low, high = math.ceil(scale[0]), math.floor(scale[1])
        if values[0] >= low and values[-1] <= high:
            labels = tuple(float(k) for k in range(low, high + 1))
    if labels is None:
        labels = tuple(values.tolist())
        name += " over the values in use"
    if len(labels) > MOST_CATEGORIES:
        return undefined(
            f"more than {MOST_CATEGORIES} different values are no categories", method=name
        )
    return _with_interval(
        table, prompt, name, _Statistic(None, labels), level,
        "only one value is used, or no response has two ratings",
    )  # fmt: skip


def _pooled_alpha(scored: list[Ratings], metric: Level, level: float) -> Estimate:
    width = 1 + max(int(one.response.max()) for one in scored)
    together = Ratings(
        "all", "score",
        np.concatenate([one.rater for one in scored]),
        np.concatenate([one.response + k * width for k, one in enumerate(scored)]),
        np.concatenate([one.prompt for one in scored]),
        np.concatenate([one.value for one in scored]),
    )  # fmt: skip
    table = by_place(together)
    return _alpha(table, _prompt_of_columns(together), metric, level)


def _same_on_all(scored: list[Ratings]) -> Estimate:
    method = "share of rater x response cells with one score on all criteria"
    width = 1 + max(int(one.response.max()) for one in scored)
    key = np.concatenate([one.rater * width + one.response for one in scored])
    value = np.concatenate([one.value for one in scored])
    order = np.argsort(key, kind="stable")
    key, value = key[order], value[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    sizes = np.diff(np.append(starts, len(key)))
    same = np.minimum.reduceat(value, starts) == np.maximum.reduceat(value, starts)
    whole = sizes >= 3
    n = int(whole.sum())
    return Estimate(
        float(same[whole].mean()) if n else math.nan, n=n, unit="rater x response", method=method,
        reason="a description of these ratings: no interval" if n
        else "nobody rated a response on three criteria",
    )  # fmt: skip
