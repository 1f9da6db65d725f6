"""Comparisons by a panel (aggregation/contrasts.py): universes, separate prompts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from simulation import simulation

from areopagus.aggregation.contrasts import Contrast, Effect, Scores, effects

PERSONAS = 10


def coded(scores: np.ndarray, is_there: np.ndarray | None = None) -> Scores:
    """Scores of shape (arms, prompts, personas, models) in rows; those that are not there were not
    to be asked."""
    arm, prompt, persona, model = (axis.ravel() for axis in np.indices(scores.shape))
    personas, models = scores.shape[2:]
    judge = np.arange(personas * models)
    return Scores(
        values=scores.reshape(-1, 1),
        arm=arm,
        item=prompt,
        judge=persona * models + model,
        wanted=np.ones(scores.size, dtype=bool) if is_there is None else is_there.ravel(),
        arms=tuple(f"arm {code}" for code in range(len(scores))),
        columns=("composite",),
        unit_of=np.arange(scores.shape[1]),
        units=tuple(map(str, range(scores.shape[1]))),
        persona=judge // models,
        model=judge % models,
    )


def difference(scores: Scores) -> Effect:
    """The first arm less the second."""
    return effects(scores, [Contrast({"arm 0": 1, "arm 1": -1}, "composite")], scale=(-99, 99))[0]


def world(rng: np.random.Generator, prompts: int, models: int, taste: float) -> np.ndarray:
    """Two respondents whom judges of this kind like equally; each model has a taste of its own."""
    shape = (2, prompts, PERSONAS, models)
    return (
        rng.normal(0, 0.7, (1, prompts, 1, 1))
        + rng.normal(0, 0.6, (2, prompts, 1, 1))
        + rng.normal(0, 0.5, (1, 1, 1, models))
        + rng.normal(0, taste, (2, 1, 1, models))
        + rng.normal(0, taste / 3, (2, 1, PERSONAS, 1))
        + rng.normal(0, 0.6, shape)
    )


@simulation(worlds=500, models=(3, 5), taste=(0.0, 0.3), prompts=(9, 30, 100))
def universes(
    rng: np.random.Generator, models: int, taste: float, prompts: int
) -> Mapping[str, float]:
    """Respondents that judges like these like equally, models with tastes of their own: how often
    one is called higher by this panel, and by judges like these; and whether the limits of the
    latter cover 0."""
    effect = difference(coded(world(rng, prompts, models, taste)))
    there = effect.such_judges
    return {
        "this panel": float(effect.this_panel.verdict in ("higher", "lower")),
        "judges like these": float(there.verdict in ("higher", "lower")),
        "covered": float(there.low <= 0 <= there.high),
    }


@simulation(worlds=500, kind=("paired", "separate"), prompts=(9, 30, 100))
def separate_prompts(rng: np.random.Generator, kind: str, prompts: int) -> Mapping[str, float]:
    """Two respondents on the same prompts, or each on as many of its own: coverage of a true 0,
    and how often a true 0.6 is called higher."""
    scores = world(rng, 2 * prompts, 3, 0.0)
    is_there = np.zeros(scores.shape, dtype=bool)
    is_there[:, :prompts] = True
    if kind == "separate":
        is_there[1] = ~is_there[1]
    equal = difference(coded(scores, is_there)).this_panel
    scores[0] += 0.6
    moved = difference(coded(scores, is_there)).this_panel
    return {
        "covered": float(equal.low <= 0 <= equal.high),
        "called": float(moved.verdict == "higher"),
    }
