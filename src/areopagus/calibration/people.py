"""How far people agree with each other, criterion by criterion."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..aggregation.agreement import Level, gwet_ac2, krippendorff_alpha
from ..aggregation.estimate import Estimate, undefined
from .as_published import AsPublished, as_published
from .calibration_items import CalibrationItem, calibration_items
from .concordance import Concordance, concordance
from .leave_out import recomputed
from .material import Material
from .rater_pairs import PairwiseTau, pairwise_tau
from .rater_severity import SeverityTable, Straightlining, severity_table, straightlining
from .ratings import Ratings, by_place

Floats = npt.NDArray[np.float64]

MOST_FOR_INTERVALS = 100_000
"""Ratings up to which alpha and AC2 are computed anew without each block of prompts."""

MOST_CATEGORIES = 101
"""Different values up to which AC2 is given: it is a coefficient for categories."""


@dataclass(frozen=True, slots=True)
class CriterionAgreement:
    """People on one criterion.

    Attributes:
        criterion, kind: "overall", "clarity", …; "score" or "rank".
        n_ratings, n_raters, n_prompts, n_responses: what there is.
        n_too_large: prompts too large for a table of raters x responses, left out of the
            figures by prompt.
        pairwise: mean pairwise tau within prompts.
        concordance: W, r̄, ICC, shared choices of complete raters.
        alpha_interval, alpha_ordinal: Krippendorff's alpha over all responses, so that
            differences between prompts count as agreement; interval only for scores.
        ac2: Gwet's AC2 with quadratic weights, beside alpha: high where one value prevails.
        severity: harsh and lenient raters.
        straightlining: who gives the same value again and again.
        as_published: the paper's coefficients.
    """

    criterion: str
    kind: str
    n_ratings: int
    n_raters: int
    n_prompts: int
    n_responses: int
    n_too_large: int
    pairwise: PairwiseTau
    concordance: Concordance
    alpha_interval: Estimate
    alpha_ordinal: Estimate
    ac2: Estimate
    severity: SeverityTable
    straightlining: Straightlining
    as_published: AsPublished

    @property
    def name(self) -> str:
        """ "overall, rank" and the like."""
        return f"{self.criterion}, {self.kind}"


@dataclass(frozen=True, slots=True)
class People:
    """People with people.

    Attributes:
        criteria: one entry a criterion and kind, overall first, ranks before scores.
        pooled_alpha_interval, pooled_alpha_ordinal: alpha over all scored criteria as one:
            differences between criteria then count as agreement.
        same_on_all: share of rater x response cells with one score on all criteria (three or
            more).
        items: calibration items.
    """

    criteria: tuple[CriterionAgreement, ...]
    pooled_alpha_interval: Estimate
    pooled_alpha_ordinal: Estimate
    same_on_all: Estimate
    items: tuple[CalibrationItem, ...]


def people_with_people(material: Material, *, level: float = 0.95, seed: int = 0) -> People:
    """Returns how far people agree with each other on every criterion they rated.

    One million ratings take well under a minute: nothing of the size raters x responses is made.
    """
    criteria = tuple(
        criterion_agreement(one, material, level=level, seed=seed) for one in material.ratings
    )
    scored = [one for one in material.ratings if one.kind == "score"]
    return People(
        criteria=criteria,
        pooled_alpha_interval=_pooled_alpha(scored, "interval", level),
        pooled_alpha_ordinal=_pooled_alpha(scored, "ordinal", level),
        same_on_all=_same_on_all(scored),
        items=calibration_items(material),
    )


def criterion_agreement(
    ratings: Ratings, material: Material, *, level: float = 0.95, seed: int = 0
) -> CriterionAgreement:
    """Returns the agreement of people on one criterion."""
    from .ratings import n_too_large

    table = by_place(ratings)
    prompt = _prompt_of_columns(ratings)
    no_interval_level = undefined("ranks have no equal distances", unit="prompt")
    return CriterionAgreement(
        criterion=ratings.criterion,
        kind=ratings.kind,
        n_ratings=len(ratings),
        n_raters=ratings.n_raters,
        n_prompts=ratings.n_prompts,
        n_responses=ratings.n_responses,
        n_too_large=n_too_large(ratings),
        pairwise=pairwise_tau(ratings, level=level),
        concordance=concordance(ratings, level=level, seed=seed),
        alpha_interval=no_interval_level if ratings.kind == "rank"
        else _alpha(table, prompt, "interval", level),
        alpha_ordinal=_alpha(table, prompt, "ordinal", level),
        ac2=_ac2(table, prompt, ratings, material.scale, level),
        severity=severity_table(ratings, material.rater_ids, level=level),
        straightlining=straightlining(ratings, material.rater_ids),
        as_published=as_published(ratings),
    )  # fmt: skip


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
    name = f"Krippendorff's alpha, {metric}, all scored criteria pooled"
    if len(scored) < 2:
        return undefined("fewer than two scored criteria", method=name)
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
    if len(scored) < 3:
        return undefined("fewer than three scored criteria", unit="cell", method=method)
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
