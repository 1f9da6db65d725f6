"""Votes that are missing (aggregation/effects.py), beside a paired t over common judges."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy import stats
from simulation import simulation

from areopagus.aggregation.effects import FEWEST_JUDGES
from areopagus.aggregation.missingness import missingness
from areopagus.aggregation.rules import decided

from .comparisons import coded, difference, drawn_world

PROMPTS = 30
BETTER = 0.6
PANELS = {"10 x 3": (10, 3), "5 x 3": (5, 3), "10 x 1": (10, 1)}


def panel(rng: np.random.Generator, personas: int, models: int) -> np.ndarray:
    """Scores (2, prompts, personas, models), the first respondent `BETTER` by this panel."""
    scores, of_panel = drawn_world(rng, PROMPTS, (personas, models))
    scores[0] += BETTER - (of_panel[0] - of_panel[1])
    return scores


def lost(rng: np.random.Generator, scores: np.ndarray, how: str, share: float) -> np.ndarray:
    """Which votes are missing.

    at random    each with the same chance
    by judge     each judge with a chance of its own, from hardly ever to nearly always
    by model     of the second respondent alone: models stop, one after the other
    by quality   the lower the score, the likelier: from twice the share down to none
    """
    chance = np.full(scores.shape, share)
    if how == "by judge" and share:
        chance[:] = rng.beta(2 * share, 2 * (1 - share), size=scores.shape[2:])
    if how == "by quality":
        ranks = scores.ravel().argsort().argsort().reshape(scores.shape) / scores.size
        chance = 2 * share * (1 - ranks)
    if how == "by model":
        # Votes of the second respondent by model, each from the last prompt on.
        order = np.zeros(scores.shape, dtype=bool)
        in_order = np.moveaxis(order[1], (2, 0), (0, 1))[:, ::-1]
        flat = in_order.reshape(-1)
        flat[: round(share * flat.size)] = True
        order[1] = np.moveaxis(flat.reshape(in_order.shape)[:, ::-1], (0, 1), (2, 0))
        return order
    return np.asarray(rng.random(scores.shape) < chance)


@simulation(
    worlds=400,
    skip=lambda panel, how, missing: not missing and how != "at random",
    panel=tuple(PANELS),
    how=("at random", "by judge", "by model", "by quality"),
    missing=(0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
)
def missing_votes(
    rng: np.random.Generator, panel: str, how: str, missing: float
) -> Mapping[str, float]:
    """The first of two respondents is .6 better by this panel; 30 prompts, and a share of votes is
    missing. How many prompts are kept, how often the 95% interval covers .6 and the difference is
    called higher; the same of a paired t over the judges of both; and how often the bounds hold the
    difference of the whole votes, where they are given."""
    return world(rng, PANELS[panel], how, missing)


def world(
    rng: np.random.Generator, size: tuple[int, int], how: str, missing: float
) -> Mapping[str, float]:
    """What one world gives."""
    scores = panel(rng, *size)
    whole = float((scores[0] - scores[1]).mean())
    scores[lost(rng, scores, how, missing)] = np.nan
    effect = difference(coded(scores), scale=(-5, 15))
    here = effect.this_panel
    apart = (scores[0] - scores[1]).reshape(PROMPTS, -1)
    common = np.isfinite(apart)
    kept = common.sum(axis=1) >= FEWEST_JUDGES
    means = np.nanmean(apart[kept], axis=1)
    low, high = stats.ttest_1samp(means, 0).confidence_interval() if kept.sum() > 5 else (0, 0)
    found = {
        "prompts": float(here.n),
        "covered": float(here.low <= BETTER <= here.high),
        "called": float(here.verdict == "higher"),
        "t covered": float(low <= BETTER <= high),
        "t called": float(low > 0),
    }
    if effect.bounds is not None:
        found["bounds hold"] = float(effect.bounds.low <= whole <= effect.bounds.high)
    return found


@simulation(worlds=500, before=(0.02, 0.1, 0.3), more=(0.0, 0.2), prompts=(8, 12, 30, 100))
def lost_scores(
    rng: np.random.Generator, before: float, more: float, prompts: int
) -> Mapping[str, float]:
    """Two runs of three responses a prompt, without a score at a rate that differs between prompts
    (beta with the mean `before`, ICC .25) and is the same in both, but for what the later one loses
    more: how often `gate` says that it has lost some."""
    rate = rng.beta(3 * before, 3 * (1 - before), size=(prompts, 1))
    after = rate + more / (1 - before) * (1 - rate)
    scored = [(rng.random((prompts, 3)) >= one).mean(axis=1) for one in (after, rate)]
    (share,) = decided((scored[0] - scored[1])[:, None])
    return {"said": float(share.verdict == "lower")}


JUDGES = 10
UNEVEN = {"usual": 0.1, "uneven": 1.5, "own": 2.0}
WORLDS = {
    "1% without a score": {"usual": 0.01},
    "10%": {"usual": 0.1},
    "10%, uneven over prompts": {"usual": 0.1, "uneven": 1.5},
    "10%, uneven over prompts and answers": UNEVEN,
    "the same, 2 respondents": UNEVEN | {"respondents": 2},
    "the same, 6 prompts": UNEVEN | {"prompts": 6},
    "the same, 100 prompts": UNEVEN | {"prompts": 100},
    "3%, whole answers declined, 40 prompts": {"usual": 0.03, "own": 6.0, "prompts": 40},
    "one respondent 10% to 40%": {"usual": 0.1, "uneven": 1.0, "own": 1.0, "planted": 1.8},
    "the same, 40 prompts": {
        "usual": 0.1, "uneven": 1.0, "own": 1.0, "planted": 1.8, "prompts": 40,
    },
    "one respondent 1% to 10%, 40 prompts": {"usual": 0.01, "planted": 2.4, "prompts": 40},
}  # fmt: skip
"""Share of judgments without a score; standard deviations of its logit over prompts (uneven) and
over answers (own: judges of one model decline the same answer together); what the first respondent
adds to the logit."""


@simulation(worlds=500, world=WORLDS)
def unscored(rng: np.random.Generator, world: Mapping[str, float]) -> Mapping[str, float]:
    """Ten judges of one model, four respondents, 12 prompts where nothing else is stated: how often
    any respondent is wrongly said to differ in judgments without a score, and how often the first
    is called where it differs."""
    prompts, respondents = int(world.get("prompts", 12)), int(world.get("respondents", 4))
    logit = np.full((prompts, respondents), np.log(world["usual"] / (1 - world["usual"])))
    logit += world.get("uneven", 0.0) * rng.standard_normal((prompts, 1))
    logit += world.get("own", 0.0) * rng.standard_normal(logit.shape)
    logit[:, 0] += world.get("planted", 0.0)
    shape = (prompts, respondents, JUDGES)
    is_missing = rng.random(shape) < 1 / (1 + np.exp(-logit[:, :, None]))
    prompt, who, _ = np.indices(shape)
    every = missingness(
        is_missing.ravel(), prompt.ravel(), who.ravel(), n_prompts=prompts,
        n_respondents=respondents,
    )  # fmt: skip
    differ = [
        row.difference is not None and row.difference.verdict in ("higher", "lower")
        for row in every
    ]
    if "planted" in world:
        return {"called": float(differ[0])}
    return {"wrongly": float(any(differ))}
