"""A map from the panel's scores to people's level, adopted only when it earns it out of fold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation.conformal import isotonic_map
from ..aggregation.estimate import Estimate
from ..aggregation.sign_flips import SignFlipTest, sign_flip_test
from .judge_bias import prompt_means
from .material import Material, Target

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

ALPHA = 0.05
FEWEST_PROMPTS = 6
MOST_FOLDS = 10

MapName = Literal["as is", "mean", "line", "isotonic"]
"""How people's level of a response is told; "mean" is a yardstick and is never adopted."""

_NAMED = {"as is": "the scores as they are", "line": "line", "isotonic": "isotonic map"}


@dataclass(frozen=True, slots=True)
class MapCorrection:
    """A map from panel scores to people's scale.

    Attributes:
        adopted: "as is" unless a map's out-of-fold gain has p below .05, over the scores as they
            are and over people's mean alike.
        error: root mean squared error of each, out of fold; "mean" is one value for everything,
            people's mean of the other folds.
        p: sign-flip p over prompts of the line against the scores as they are, and of the
            isotonic map against the better of those, Holm-adjusted; "line over mean" and
            "isotonic over mean" against people's mean, both of which a map must pass.
        x, y: knots of the adopted map, fitted on everything; empty when "as is".
        folds: prompt id to the fold it was predicted in.
        reason: why there is no map, or None.
        note: what a map that gains only by stating people's mean comes to, or None.
    """

    adopted: MapName
    error: Mapping[str, Estimate]
    p: Mapping[str, Estimate]
    x: tuple[float, ...]
    y: tuple[float, ...]
    folds: Mapping[str, int]
    reason: str | None
    note: str | None = None


def fitted_map(
    material: Material, target: Target, seed: int
) -> tuple[MapCorrection, Floats | None]:
    """Returns the map of the ensemble score (equal weights), and its out-of-fold predictions.

    A map is measured against people's mean as well: one that shrinks to it is better than any
    score that is off in level, and says nothing of a response.
    """
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
        "as is": x, "mean": np.empty(len(x)), "line": np.empty(len(x)),
        "isotonic": np.empty(len(x)),
    }  # fmt: skip
    for out in range(int(fold.max()) + 1):
        test = fold[code] == out
        predicted["mean"][test] = y[~test].mean()
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
    # a map must pass both of its tests, so these need no further adjustment
    maps: tuple[MapName, MapName] = ("line", "isotonic")
    over_mean: dict[MapName, SignFlipTest] = {
        name: sign_flip_test(losses["mean"] - losses[name], rng=seed) for name in maps
    }
    holds_order = {
        name: test.mean > 0 and test.p_value < ALPHA and bool(np.ptp(predicted[name]) > 0)
        for name, test in over_mean.items()
    }
    adopted: MapName = "as is"
    empty: list[str] = []
    if line_p.mean > 0 and holm[line_p.p_value] < ALPHA:
        adopted, empty = ("line", empty) if holds_order["line"] else (adopted, ["line"])
    if isotonic_p.mean > 0 and holm[isotonic_p.p_value] < ALPHA:
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
    knots_x, knots_y = _knots(adopted, x, y, material.scale)
    n = len(prompts)
    return MapCorrection(
        adopted=adopted,
        error={
            name: Estimate(
                math.sqrt(float(np.mean(loss))), n=n, unit="prompt",
                method="root mean squared error against people's mean, out of fold by prompt",
                reason="the test is that of the gain",
            )
            for name, loss in losses.items()
        },
        p={
            "line": _p(
                holm[line_p.p_value], n,
                f"line against the scores as they are ({_direction(line_p.mean)}), Holm over two",
            ),
            "isotonic": _p(
                holm[isotonic_p.p_value], n,
                f"isotonic map against {_NAMED[simpler]} ({_direction(isotonic_p.mean)}), "
                "Holm over two",
            ),
            **{
                f"{name} over mean": _p(
                    test.p_value, n,
                    f"{_NAMED[name]} against people's mean ({_direction(test.mean)})",
                )
                for name, test in over_mean.items()
            },
        },
        x=knots_x,
        y=knots_y,
        folds={
            material.responses.prompt_ids[prompt]: int(f)
            for prompt, f in zip(prompts.tolist(), fold.tolist(), strict=True)
        },
        reason=None,
        note=note,
    ), predicted[adopted]  # fmt: skip


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


def _direction(gain: float) -> str:
    """In words which error is the larger: a two-sided p does not say."""
    if abs(gain) <= 1e-12:
        return "error as large"
    return "error smaller" if gain > 0 else "error LARGER"


def _p(value: float, n: int, what: str) -> Estimate:
    return Estimate(
        value,
        n=n,
        unit="prompt",
        method=f"two-sided sign-flip, {what}",
        reason="a p-value has no interval",
    )


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
