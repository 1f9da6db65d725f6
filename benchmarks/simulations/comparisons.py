"""Comparisons by a panel (aggregation/effects.py): coverage, universes, separate prompts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from simulation import simulation

from areopagus.aggregation.effects import Contrast, Effect, Scores, effects

PERSONAS = 10
SD = {"r": 0.0, "q": 0.7, "P": 0.25, "M": 0.55, "rP": 0.12, "rM": 0.3, "rq": 0.6, "qP": 0.2,
      "qM": 0.4, "rqP": 0.2, "rqM": 0.35, "rqPM": 0.6}  # fmt: skip
"""Standard deviations of the effects: r respondent, q prompt, P persona, M model."""


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


def difference(scores: Scores, scale: tuple[float, float] = (-99, 99)) -> Effect:
    """The first arm less the second."""
    return effects(scores, [Contrast({"arm 0": 1, "arm 1": -1}, "composite")], scale=scale)[0]


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


def drawn_world(
    rng: np.random.Generator, prompts: int, judges: tuple[int, int], kind: str = "normal"
) -> tuple[np.ndarray, np.ndarray]:
    """Scores (2, prompts, personas, models), and the means of this panel over all prompts."""
    shape = {"r": 2, "q": prompts, "P": judges[0], "M": judges[1]}
    scores = np.full((2, prompts, *judges), 5.0)
    of_panel = np.full((2, 1, *judges), 5.0)
    for name, sd in SD.items():
        size = [shape[one] if one in name else 1 for one in "rqPM"]
        drawn = rng.exponential(size=size) - 1 if kind == "skewed" else rng.normal(size=size)
        scores = scores + sd * drawn
        if "q" not in name:
            of_panel = of_panel + sd * drawn
    scores = np.round(scores) if kind == "ordinal" else scores
    return scores, of_panel.mean(axis=(1, 2, 3))


@simulation(worlds=500, kind=("normal", "skewed", "ordinal"), prompts=(9, 30, 100))
def panel_coverage(rng: np.random.Generator, kind: str, prompts: int) -> Mapping[str, float]:
    """Ten personas on three models score two respondents; all effects are drawn anew, normal,
    skewed (exponential) or rounded to whole points. Coverage of 95% intervals for this panel and
    for judges like these: of the difference, and of a respondent's mean."""
    scores, truth = drawn_world(rng, prompts, (PERSONAS, 3), kind)
    table = coded(scores)
    (mean,) = effects(table, [Contrast({"arm 0": 1}, "composite")])
    apart = difference(table)
    return {
        "difference": float(apart.this_panel.covers(truth[0] - truth[1])),
        "for others": float(apart.such_judges.covers(0.0)),
        "mean": float(mean.this_panel.covers(truth[0])),
        "of others": float(mean.such_judges.covers(5.0)),
    }


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
