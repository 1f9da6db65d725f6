"""Corrections of the panel by people's ratings, each adopted only when it earns it out of fold."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.conformal import conformal_width, isotonic_map
from ..aggregation.estimate import Estimate, undefined
from ..aggregation.intervals import mean_by_prompt
from ..aggregation.sign_flips import sign_flip_test
from ..aggregation.stacking import stack_judges
from ..records.estimates import Estimates
from .dataset import Dataset, Target, keys_of
from .panel_people import none_rated

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ALPHA = 0.05
FEWEST_PROMPTS = 6
MOST_FOLDS = 10
FOLD_DRAWS = 5
"""Divisions of the prompts into folds over which a width is averaged."""

ADOPTED = "adopted"
"""The verdict on a correction that was earned."""

MapName = Literal["as is", "mean", "line", "isotonic"]
"""How people's level of a response is told; "mean" is a yardstick and is never adopted."""

_NAMED = {"as is": "the scores as they are", "line": "line", "isotonic": "isotonic map"}
_SIGN_FLIP = "sign flip over prompts, two-sided"


def add_corrections(
    out: Estimates,
    dataset: Dataset,
    target: Target | None,
    *,
    levels: Target | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> str | None:
    """Adds which corrections people's ratings earn, and returns a note on maps, or None.

    "weights"        ways of weighting judges (`group`): their agreement with people out of
                     fold, and the gain over equal weights, the difference of two agreements, which
                     is tested; the verdict of the agreement is "adopted" for one of them
    "judge weights"  of every judge (`group`) in the weighting that is adopted
    "maps"           ways from the panel's score to people's level (`group`): root mean squared
                     error out of fold; gain in squared error over the simpler way (p_adjusted is
                     Holm's over two), and over people's mean given to every response. A map is
                     adopted where it has both
    "map knots"      of the adopted map, fitted on everything; none for "as is"
    "conformal"      the half-width around a (mapped) panel score, at the level of all intervals

    Weights follow the order of the main target; the rest is fitted to `levels`, which the keys
    name. Why there is none stands in a row without a group.

    Args:
        out: takes the figures.
        dataset: the data.
        target: the main target: weights are fitted to its order.
        levels: what map and widths are fitted to; the main target where that holds scores.
        level: nominal coverage.
        seed: of folds and sign flips.
    """
    if target is None or dataset.panel is None or not target.both.any():
        _add_none(out, none_rated(dataset), ("weights", "agreement"))
        _add_none(out, none_rated(dataset))
        return None
    _add_weights(out, dataset, target, seed)
    if levels is None and target.ratings.kind == "score":
        levels = target
    if levels is None or not levels.both.any():
        why = "people gave ranks: an order holds no level"
        if levels is not None:
            why = "no response is both scored by people and by the panel"
        _add_none(out, why)
        return None
    predicted, note = _add_map(out, dataset, levels, seed)
    width = _conformal(dataset, levels, predicted, level)
    out.add("conformal", "half_width", width, **keys_of(levels.ratings))
    return note


def _add_none(
    out: Estimates,
    why: str,
    *places: tuple[str, str],
) -> None:
    for table, measure in places or (
        ("maps", "error"), ("conformal", "half_width")
    ):  # fmt: skip
        out.add(table, measure, undefined(why))


def _add_weights(out: Estimates, dataset: Dataset, target: Target, seed: int) -> None:
    panel = dataset.panel
    if panel is None:
        raise ValueError("weights need a panel")
    by_judge = panel.by_judge(target.criterion)
    table = by_judge.reshape(len(by_judge), -1)
    present = np.flatnonzero(np.isfinite(table[target.both]).any(axis=0))
    every_name = panel.judge_names()
    names = [every_name[k] for k in present.tolist()]
    if len(names) < 2:
        return _add_none(out, "one judge", ("weights", "agreement"))
    rows = np.flatnonzero(target.both)
    fit = stack_judges(
        table[rows][:, present], target.human[rows], dataset.responses.prompt[rows],
        alpha=ALPHA, seed=seed,
    )  # fmt: skip
    if fit.reason:
        _add_none(out, fit.reason, ("weights", "agreement"))
    no_order = "people, or judges so weighted, put all responses of every prompt level"

    def agreement(value: float, how: str) -> Estimate:
        return Estimate(
            value, n=fit.n_prompts, method=f"Somers' d within prompts, mean over prompts, {how}",
            reason=fit.reason or no_order if math.isnan(value) else "the test is that of the gain",
        )  # fmt: skip

    keys = {"factor": "weighting", **keys_of(target.ratings)}
    for way, value in fit.agreement.items():
        verdict = ADOPTED if way == fit.adopted else None
        figures = {
            "agreement": replace(agreement(value, "out of fold"), verdict=verdict),
        }
        if way in fit.p:
            figures["gain"] = Estimate(
                fit.gain[way], n=fit.n_prompts, method="gain over equal weights, out of fold",
                reason=fit.reason or "its test is a sign flip", p_adjusted=fit.p[way],
                p_method=_SIGN_FLIP, family="weightings, Holm",
            )  # fmt: skip
        out.add_all("weights", figures, group=str(way), **keys)
    for name, weight in zip(names, fit.weights, strict=True):
        out.add("judge weights", "weight", float(weight), factor="judge", group=name)
    return None


def _add_map(
    out: Estimates, dataset: Dataset, target: Target, seed: int
) -> tuple[Floats | None, str | None]:
    """Adds the map of the ensemble score (equal weights); returns its out-of-fold predictions.

    These have the shape (divisions into folds, responses): one division where nothing is fitted, or
    each prompt is a fold.

    A map is measured against people's mean as well: one that shrinks to it is better than any
    score that is off in level, and says nothing of a response.
    """
    rows = np.flatnonzero(target.both)
    prompts, code = np.unique(dataset.responses.prompt[rows], return_inverse=True)
    code = code.reshape(-1)
    x, y = target.panel[rows], target.human[rows]
    if len(prompts) < FEWEST_PROMPTS:
        few = f"{len(prompts)} prompts: a map needs at least {FEWEST_PROMPTS}"
        _add_none(out, few, ("maps", "error"))
        return None, None
    code = code.astype(np.int64)
    predicted = _out_of_fold(x, y, code, target.scale, seed)
    losses = {
        name: mean_by_prompt((values - y) ** 2, code, len(prompts))
        for name, values in predicted.items()
    }
    line_p = sign_flip_test(losses["as is"] - losses["line"], rng=seed)
    line_wins = line_p.value > 0 and line_p.p < ALPHA
    simpler: MapName = "line" if line_wins else "as is"
    isotonic_p = sign_flip_test(losses[simpler] - losses["isotonic"], rng=seed)
    small, large = sorted((line_p.p, isotonic_p.p))
    holm = {small: min(1.0, 2 * small), large: max(min(1.0, 2 * small), large)}
    # a map must pass both of its tests, so these need no further adjustment
    maps: tuple[MapName, MapName] = ("line", "isotonic")
    over_mean: dict[MapName, Estimate] = {
        name: sign_flip_test(losses["mean"] - losses[name], rng=seed) for name in maps
    }
    holds_order = {
        name: test.value > 0 and test.p < ALPHA and bool(np.ptp(predicted[name]) > 0)
        for name, test in over_mean.items()
    }
    adopted: MapName = "as is"
    empty: list[str] = []
    if line_p.value > 0 and holm[line_p.p] < ALPHA:
        adopted, empty = ("line", empty) if holds_order["line"] else (adopted, ["line"])
    if isotonic_p.value > 0 and holm[isotonic_p.p] < ALPHA:
        if holds_order["isotonic"]:
            adopted, empty = "isotonic", []
        else:
            empty = [*empty, "isotonic map"]
    note = None
    if empty and adopted == "as is":
        note = (
            f"the {' and the '.join(empty)} would gain over the scores as they are, but not over "
            f"people's mean ({y.mean():.2f}) given to every response: that states people's mean "
            "and corrects nothing"
        )
    n = len(prompts)
    keys = {"factor": "map", **keys_of(target.ratings)}
    for name, loss in losses.items():
        figures = {
            "error": Estimate(
                math.sqrt(float(np.mean(loss))), n=n,
                method="root mean squared error against people's mean, out of fold by prompt",
                reason="the test is that of the gain",
                verdict=ADOPTED if name == adopted else None,
            )
        }  # fmt: skip
        if name in over_mean:
            test, simple = (line_p, "as is") if name == "line" else (isotonic_p, simpler)
            figures["gain"] = _gain(test, _NAMED[simple], n, adjusted=holm[test.p])
            figures["gain_over_mean"] = _gain(over_mean[name], "people's mean", n)
        out.add_all("maps", figures, group=name, **keys)
    for place, (at, value) in enumerate(zip(*_knots(adopted, x, y, target.scale), strict=True)):
        out.add_all("map knots", {"x": at, "y": value}, group=adopted, item=str(place + 1), **keys)
    if adopted == "as is" or len(prompts) <= MOST_FOLDS:
        return predicted[adopted][None], note
    others = [
        _out_of_fold(x, y, code, target.scale, seed + draw)[adopted]
        for draw in range(1, FOLD_DRAWS)
    ]
    return np.stack([predicted[adopted], *others]), note


def _out_of_fold(
    x: Floats, y: Floats, code: Integers, scale: tuple[float, float] | None, seed: int
) -> dict[MapName, Floats]:
    """What each map, fitted without the fold of a response's prompt, says of the response."""
    predicted: dict[MapName, Floats] = {
        "as is": x, "mean": np.empty(len(x)), "line": np.empty(len(x)),
        "isotonic": np.empty(len(x)),
    }  # fmt: skip
    fold = _folds(int(code.max()) + 1, seed)[code]
    for held_out in range(int(fold.max()) + 1):
        test = fold == held_out
        predicted["mean"][test] = y[~test].mean()
        slope, intercept = _line(x[~test], y[~test])
        predicted["line"][test] = slope * x[test] + intercept
        fitted = isotonic_map(x[~test], y[~test], scale=scale)
        predicted["isotonic"][test] = fitted.predict(x[test])
    return predicted


def _gain(test: Estimate, over: str, n: int, *, adjusted: float = math.nan) -> Estimate:
    """How much smaller a map's squared error is; above 0 it is better."""
    return Estimate(
        test.value, n=n, method=f"squared error of {over} less that of the map, out of fold",
        reason="its test is a sign flip", p=test.p, p_adjusted=adjusted, p_method=_SIGN_FLIP,
        family=None if math.isnan(adjusted) else "maps, Holm",
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


def _conformal(
    dataset: Dataset, target: Target, predicted: Floats | None, level: float
) -> Estimate:
    rows = np.flatnonzero(target.both)
    if predicted is None:
        return undefined(f"fewer than {FEWEST_PROMPTS} prompts", method="conformal half-width")
    draws = len(predicted)
    split = f"out of {MOST_FOLDS} folds of prompts, over {draws} divisions into folds"
    if draws == 1:
        split = "out of fold by prompt, where a map is fitted"
    found = conformal_width(
        predicted.ravel(), np.tile(target.human[rows], draws), level=level,
        groups=np.tile(dataset.responses.prompt[rows], draws),
    )  # fmt: skip
    return replace(
        found, value=found.value if math.isfinite(found.value) else math.nan,
        method=f"{level:.0%} conformal half-width around the panel score; misses {split}, every "
        "prompt weighing alike",
        reason=found.reason or "a width, not an estimate: it covers the observed human mean, "
        "human noise included", level=level,
    )  # fmt: skip
