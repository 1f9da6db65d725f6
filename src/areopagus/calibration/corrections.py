"""Corrections of the panel by people's ratings, each adopted only when it earns it out of fold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregation.conformal import conformal_width
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.prediction_powered import ppi_mean
from ..aggregation.stacking import stack_judges
from .material import Material, Target
from .responses import HUMAN, MODEL
from .score_map import ALPHA, FEWEST_PROMPTS, MapCorrection, fitted_map

Floats = npt.NDArray[np.float64]

CONFORMAL_LEVEL = 0.9


@dataclass(frozen=True, slots=True)
class WeightsCorrection:
    """Fitted weights of judges against equal ones.

    Attributes:
        adopted: "equal", "shrunk" or "best_single".
        weights: judge to weight of the adopted weighting; they sum to 1.
        tau: out-of-fold within-prompt tau of each weighting.
        tau_in_sample: what one would have believed.
        p: sign-flip p of each fitted weighting's gain over equal weights, Holm-adjusted.
        reason: why nothing could be adopted, or None.
    """

    adopted: str
    weights: Mapping[str, float]
    tau: Mapping[str, Estimate]
    tau_in_sample: Mapping[str, Estimate]
    p: Mapping[str, Estimate]
    reason: str | None


@dataclass(frozen=True, slots=True)
class GroupMean:
    """People's mean of a group of responses, with and without the panel's help.

    Attributes:
        group: a respondent, "people", "models" or "all".
        n_labelled, n_unlabelled: responses with ratings, and with panel scores only.
        labelled_only: mean of the rated responses.
        prediction_powered: with the panel's scores of the others (PPI++, clustered).
        weight: how far the panel is listened to, in [0, 1].
        earned: whether its interval is the narrower one.
    """

    group: str
    n_labelled: int
    n_unlabelled: int
    labelled_only: Estimate
    prediction_powered: Estimate
    weight: float
    earned: bool


@dataclass(frozen=True, slots=True)
class Corrections:
    """All corrections.

    Attributes:
        weights: on the main target.
        score_map, group_means, group_means_reason: on the target of `levels_from`.
        conformal: half-width around a (mapped) panel score, likewise.
        levels_from: what people's levels were taken from ("overall, score", …): the main target,
            or, where that is a rank, the first that they scored; None where they gave ranks only.
    """

    weights: WeightsCorrection
    score_map: MapCorrection
    group_means: tuple[GroupMean, ...]
    group_means_reason: str | None
    conformal: Estimate
    levels_from: str | None = None


def corrections(
    material: Material,
    target: Target | None,
    *,
    levels: Target | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Corrections:
    """Returns which corrections people's ratings earn.

    Args:
        material: the data.
        target: the main target: weights are fitted to its order.
        levels: what map, means and widths are fitted to; the main target where that holds scores.
        level: nominal coverage.
        seed: of folds and sign flips.
    """
    if target is None or material.panel is None or not target.both.any():
        reason = "no response is both rated and scored"
        return Corrections(
            WeightsCorrection("equal", {}, {}, {}, {}, reason),
            MapCorrection("as is", {}, {}, (), (), {}, reason), (), reason, undefined(reason),
        )  # fmt: skip
    weights = _weights(material, target, seed)
    if levels is None and target.ratings.kind == "score":
        levels = target
    if levels is None or not levels.both.any():
        none = "people gave ranks: an order holds no level"
        if levels is not None:
            none = "no response is both scored by people and by the panel"
        return Corrections(
            weights, MapCorrection("as is", {}, {}, (), (), {}, none), (), none, undefined(none)
        )
    score_map, predicted = fitted_map(material, levels, seed)
    means, no_means = _group_means(material, levels, level)
    width = _conformal(material, levels, predicted, seed)
    return Corrections(weights, score_map, means, no_means, width, levels.name)


def _weights(material: Material, target: Target, seed: int) -> WeightsCorrection:
    panel = material.panel
    if panel is None:
        raise ValueError("weights need a panel")
    by_judge = panel.by_judge(target.criterion)
    table = by_judge.reshape(len(by_judge), -1)
    present = np.flatnonzero(np.isfinite(table[target.both]).any(axis=0))
    every_name = panel.judge_names()
    names = [every_name[k] for k in present.tolist()]
    if len(names) < 2:
        return WeightsCorrection("equal", dict.fromkeys(names, 1.0), {}, {}, {}, "one judge")
    rows = np.flatnonzero(target.both)
    fit = stack_judges(
        table[rows][:, present], target.human[rows], material.responses.prompt[rows],
        alpha=ALPHA, seed=seed,
    )  # fmt: skip

    no_order = "people, or judges so weighted, put all responses of every prompt level"

    def taus(found: Mapping[Any, float], method: str) -> dict[str, Estimate]:
        return {
            str(name): Estimate(
                value, n=fit.n_prompts, unit="prompt", method=f"within-prompt tau-b, {method}",
                reason=fit.reason or no_order if math.isnan(value)
                else "the test is that of the gain",
            )
            for name, value in found.items()
        }  # fmt: skip

    return WeightsCorrection(
        adopted=fit.adopted,
        weights={n: float(w) for n, w in zip(names, fit.weights, strict=True)},
        tau=taus(fit.tau, "out of fold"),
        tau_in_sample=taus(fit.tau_in_sample, "in sample"),
        p={
            name: Estimate(
                value, n=fit.n_prompts, unit="prompt",
                method="two-sided sign-flip of the gain over equal weights "
                f"({_gain(fit.gain[name])}), Holm over two",
                reason=fit.reason or "a p-value has no interval",
            )
            for name, value in fit.p.items()
        },
        reason=fit.reason,
    )  # fmt: skip


def _gain(mean: float) -> str:
    if math.isnan(mean):
        return "undefined"
    return "none" if abs(mean) <= 1e-12 else "a loss" if mean < 0 else "above 0"


def _group_means(
    material: Material, target: Target, level: float
) -> tuple[tuple[GroupMean, ...], str | None]:
    responses = material.responses
    labelled = target.both
    unlabelled = np.isfinite(target.panel) & ~np.isfinite(target.human)
    if not unlabelled.any():
        return (), "every scored response is rated: there is nothing to predict"
    groups: dict[str, npt.NDArray[np.bool_]] = {"all": np.ones(len(responses), dtype=bool)}
    if responses.has_both_sources:
        groups["people"] = responses.source == HUMAN
        groups["models"] = responses.source == MODEL
    names = dict.fromkeys(who for who in responses.respondent if who)
    if 1 < len(names) <= 50:
        who = np.array([name or "" for name in responses.respondent], dtype=object)
        groups |= {name: who == name for name in names}
    found = []
    for name, mask in groups.items():
        mine, rest = labelled & mask, unlabelled & mask
        if mine.sum() < 2 or not rest.any():
            continue
        fit = ppi_mean(
            target.human[mine], target.panel[mine], target.panel[rest],
            groups=responses.prompt[mine].tolist(),
            unlabelled_groups=responses.prompt[rest].tolist(), level=level,
        )  # fmt: skip
        powered = fit.interval.of("prediction-powered mean of people's ratings")
        plain = fit.labelled_only.of("mean of people's ratings")
        found.append(
            GroupMean(
                group=name,
                n_labelled=fit.n_labelled,
                n_unlabelled=fit.n_unlabelled,
                labelled_only=plain,
                prediction_powered=powered,
                weight=fit.weight,
                earned=powered.has_interval
                and plain.has_interval
                and powered.high - powered.low < plain.high - plain.low,
            )
        )
    return tuple(found), None if found else "no group has two rated responses and others beside"


def _conformal(material: Material, target: Target, predicted: Floats | None, seed: int) -> Estimate:
    rows = np.flatnonzero(target.both)
    method = (
        f"{CONFORMAL_LEVEL:.0%} split-conformal half-width around the panel score, one a prompt"
    )
    if predicted is None:
        return undefined(f"fewer than {FEWEST_PROMPTS} prompts", method=method)
    found = conformal_width(
        predicted, target.human[rows], level=CONFORMAL_LEVEL,
        groups=material.responses.prompt[rows], seed=seed,
    )  # fmt: skip
    return Estimate(
        found.width if math.isfinite(found.width) else math.nan, n=found.n, unit=found.unit,
        method=method,
        reason=found.reason or "a width, not an estimate: it covers the observed human mean, "
        "human noise included",
    )  # fmt: skip
