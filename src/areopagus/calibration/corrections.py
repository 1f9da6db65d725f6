"""Corrections of the panel by people's ratings, each adopted only when it earns it out of fold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.conformal import conformal_width
from ..aggregation.mapping import isotonic_map
from ..aggregation.prediction_powered import ppi_mean
from ..aggregation.stacking import stack_judges
from ..aggregation.tests_of_effect import sign_flip_test
from ..number import Number, from_interval, undefined
from .judge_bias import prompt_means
from .material import Material, Target
from .responses import HUMAN, MODEL

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ALPHA = 0.05
FEWEST_PROMPTS = 6
MOST_FOLDS = 10
CONFORMAL_LEVEL = 0.9

MapName = Literal["as is", "line", "isotonic"]


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
    tau: Mapping[str, Number]
    tau_in_sample: Mapping[str, Number]
    p: Mapping[str, Number]
    reason: str | None


@dataclass(frozen=True, slots=True)
class MapCorrection:
    """A map from panel scores to people's scale.

    Attributes:
        adopted: "as is" unless a map's out-of-fold gain has p below .05.
        error: root mean squared error of each, out of fold.
        p: sign-flip p over prompts of the line against the scores as they are, and of the
            isotonic map against the better of those, Holm-adjusted.
        x, y: knots of the adopted map, fitted on everything; empty when "as is".
        folds: prompt id to the fold it was predicted in.
        reason: why there is no map, or None.
    """

    adopted: MapName
    error: Mapping[str, Number]
    p: Mapping[str, Number]
    x: tuple[float, ...]
    y: tuple[float, ...]
    folds: Mapping[str, int]
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
    labelled_only: Number
    prediction_powered: Number
    weight: float
    earned: bool


@dataclass(frozen=True, slots=True)
class Corrections:
    """All corrections; `conformal` is the half-width around a (mapped) panel score."""

    weights: WeightsCorrection
    score_map: MapCorrection
    group_means: tuple[GroupMean, ...]
    group_means_reason: str | None
    conformal: Number


def corrections(
    material: Material, target: Target | None, *, level: float = 0.95, seed: int = 0
) -> Corrections:
    """Returns which corrections people's ratings of the main target earn."""
    if target is None or material.panel is None or not target.both.any():
        reason = "no response is both rated and scored"
        return Corrections(
            WeightsCorrection("equal", {}, {}, {}, {}, reason),
            MapCorrection("as is", {}, {}, (), (), {}, reason), (), reason, undefined(reason),
        )  # fmt: skip
    score_map, predicted = _score_map(material, target, seed)
    if target.ratings.kind == "rank":
        no_means: str | None = "people gave ranks: an order holds no level"
        means: tuple[GroupMean, ...] = ()
        width = undefined("people gave ranks: an order holds no level")
    else:
        means, no_means = _group_means(material, target, level)
        width = _conformal(material, target, predicted, seed)
    return Corrections(_weights(material, target, seed), score_map, means, no_means, width)


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

    def taus(found: Mapping[Any, float], method: str) -> dict[str, Number]:
        return {
            str(name): Number(
                value, fit.n_prompts, "prompt", f"within-prompt tau-b, {method}",
                reason=fit.reason if math.isnan(value) else "the test is that of the gain",
            )
            for name, value in found.items()
        }  # fmt: skip

    return WeightsCorrection(
        adopted=fit.adopted,
        weights={n: float(w) for n, w in zip(names, fit.weights, strict=True)},
        tau=taus(fit.tau, "out of fold"),
        tau_in_sample=taus(fit.tau_in_sample, "in sample"),
        p={
            name: Number(
                value, fit.n_prompts, "prompt",
                "two-sided sign-flip of the gain over equal weights, Holm over two",
                reason=fit.reason or "a p-value has no interval",
            )
            for name, value in fit.p.items()
        },
        reason=fit.reason,
    )  # fmt: skip


def _folds(n: int, seed: int) -> Integers:
    if n <= MOST_FOLDS:
        return np.arange(n, dtype=np.int64)
    order = np.random.default_rng(seed).permutation(n)
    return (np.argsort(order) % MOST_FOLDS).astype(np.int64)


def _line(x: Floats, y: Floats) -> tuple[float, float]:
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread > 0 else 0.0
    slope = max(slope, 0.0)  # a map that turns the order round is no calibration
    return slope, float(y.mean() - slope * x.mean())


def _score_map(
    material: Material, target: Target, seed: int
) -> tuple[MapCorrection, Floats | None]:
    """The map of the ensemble score (equal weights), and its out-of-fold predictions."""
    if target.ratings.kind == "rank":
        return MapCorrection(
            "as is", {}, {}, (), (), {}, "people gave ranks: an order holds no level"
        ), None
    rows = np.flatnonzero(target.both)
    prompts, code = np.unique(material.responses.prompt[rows], return_inverse=True)
    code = code.reshape(-1)
    x, y = target.panel[rows], target.human[rows]
    if len(prompts) < FEWEST_PROMPTS:
        return MapCorrection(
            "as is", {}, {}, (), (), {},
            f"{len(prompts)} prompts: a map needs at least {FEWEST_PROMPTS}",
        ), None  # fmt: skip
    fold = _folds(len(prompts), seed)
    predicted: dict[MapName, Floats] = {
        "as is": x, "line": np.empty(len(x)), "isotonic": np.empty(len(x))
    }  # fmt: skip
    for out in range(int(fold.max()) + 1):
        test = fold[code] == out
        slope, intercept = _line(x[~test], y[~test])
        predicted["line"][test] = slope * x[test] + intercept
        fitted = isotonic_map(x[~test], y[~test], scale=material.scale)
        predicted["isotonic"][test] = fitted.predict(x[test])
    losses = {
        name: prompt_means((values - y) ** 2, code.astype(np.int64), len(prompts))
        for name, values in predicted.items()
    }
    line_p = sign_flip_test(losses["as is"] - losses["line"], rng=seed)
    line_wins = line_p.mean > 0 and line_p.p_value < ALPHA
    simpler: MapName = "line" if line_wins else "as is"
    isotonic_p = sign_flip_test(losses[simpler] - losses["isotonic"], rng=seed)
    small, large = sorted((line_p.p_value, isotonic_p.p_value))
    holm = {small: min(1.0, 2 * small), large: max(min(1.0, 2 * small), large)}
    adopted: MapName = "as is"
    if line_p.mean > 0 and holm[line_p.p_value] < ALPHA:
        adopted = "line"
    if isotonic_p.mean > 0 and holm[isotonic_p.p_value] < ALPHA:
        adopted = "isotonic"
    knots_x, knots_y = _knots(adopted, x, y, material.scale)
    n = len(prompts)
    return MapCorrection(
        adopted=adopted,
        error={
            name: Number(
                math.sqrt(float(np.mean(loss))), n, "prompt",
                "root mean squared error against people's mean, out of fold by prompt",
                reason="the test is that of the gain",
            )
            for name, loss in losses.items()
        },
        p={
            "line": _p(holm[line_p.p_value], n, "line against the scores as they are"),
            "isotonic": _p(holm[isotonic_p.p_value], n, f"isotonic map against {simpler}"),
        },
        x=knots_x,
        y=knots_y,
        folds={
            material.responses.prompt_ids[prompt]: int(f)
            for prompt, f in zip(prompts.tolist(), fold.tolist(), strict=True)
        },
        reason=None,
    ), predicted[adopted]  # fmt: skip


def _p(value: float, n: int, what: str) -> Number:
    return Number(
        value, n, "prompt", f"two-sided sign-flip, {what}, Holm over two",
        reason="a p-value has no interval",
    )  # fmt: skip


def _knots(
    adopted: MapName, x: Floats, y: Floats, scale: tuple[float, float] | None
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if adopted == "as is":
        return (), ()
    if adopted == "isotonic":
        fitted = isotonic_map(x, y, scale=scale)
        return tuple(fitted.x.tolist()), tuple(fitted.y.tolist())
    slope, intercept = _line(x, y)
    ends = np.array(scale if scale is not None else (x.min(), x.max()), dtype=np.float64)
    mapped = slope * ends + intercept
    return tuple(ends.tolist()), tuple(mapped.tolist())


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
        powered = from_interval(fit.interval, "prediction-powered mean of people's ratings")
        plain = from_interval(fit.labelled_only, "mean of people's ratings")
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


def _conformal(material: Material, target: Target, predicted: Floats | None, seed: int) -> Number:
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
    return Number(
        found.width if math.isfinite(found.width) else math.nan, found.n, found.unit, method,
        reason=found.reason or "a width, not an estimate: it covers the observed human mean, "
        "human noise included",
    )  # fmt: skip
