"""The rule that asks fewer judges (`--precision`): coverage and savings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from simulation import simulation

from areopagus.graphs.stopping import (
    PlannedJudgment,
    StoppingRule,
    balanced_order,
    next_block,
    reached_half_width,
)
from areopagus.precision.tally import reliability_kept

PROMPTS, PER_PROMPT = 10, 4


class Panel(NamedTuple):
    """Numbers of judges and variance components in points squared.

    r, p, m, rp, rm, e: responses within prompts, personas, models, their interactions with
    responses, and the rest. split: half the distance by which the two halves of the personas part.
    df: of the t distribution of the rest. criterion: variance of a criterion within a judgment.
    failing: share of the judgments that come to nothing.
    """

    personas: int = 10
    models: int = 3
    repeats: int = 1
    r: float = 0.64
    p: float = 0.06
    m: float = 0.10
    rp: float = 0.06
    rm: float = 0.30
    e: float = 0.25
    split: float = 0.0
    df: float = math.inf
    criteria: int = 5
    criterion: float = 0.5
    failing: float = 0.0


USUAL = Panel()
PANELS = {
    "usual": USUAL,
    "agreeing": Panel(p=0.03, m=0.03, rp=0.03, rm=0.08, e=0.10, criterion=0.1),
    "harsh models": Panel(p=0.20, m=0.80),
    "split by axis": Panel(split=0.7),
    "heavy tails": Panel(df=3),
    "one model": Panel(models=1, m=0.0),
    "five models": Panel(models=5),
    "asked twice": Panel(repeats=2),
    "one criterion": Panel(criteria=1),
    "one criterion, agreeing": Panel(p=0.02, m=0.03, rp=0.03, rm=0.05, e=0.10, criteria=1),
    "15% failing": Panel(failing=0.15),
}
ORDERS = ("balanced", "at random", "by model")


def world(rng: np.random.Generator, panel: Panel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Composites (responses, personas, models, repeats), nan where a judgment comes to nothing,
    what they would be without error, and prompts."""
    n, p, m = PROMPTS * PER_PROMPT, panel.personas, panel.models
    prompt = np.repeat(np.arange(PROMPTS), PER_PROMPT)

    def drawn(variance: float, *size: int) -> np.ndarray:
        return rng.normal(scale=math.sqrt(variance), size=size)

    universe = drawn(panel.r, n, 1, 1, 1)
    side = np.where(np.arange(p) < p // 2, 1.0, -1.0)[:, None, None]
    size = (n, p, m, panel.repeats)
    rest = rng.normal(size=size) if panel.df == math.inf else rng.standard_t(panel.df, size)
    rest = rest / (1 if panel.df == math.inf else math.sqrt(panel.df / (panel.df - 2)))
    y = (
        6 + drawn(0.3, PROMPTS, 1, 1, 1)[prompt] + universe
        + drawn(panel.p, 1, p, 1, 1) + drawn(panel.m, 1, 1, m, 1)
        + drawn(panel.rp, n, p, 1, 1) + drawn(panel.rm, n, 1, m, 1)
        + panel.split * drawn(1.0, n, 1, 1, 1) * side + math.sqrt(panel.e) * rest
    )  # fmt: skip
    within = drawn(panel.criterion if panel.criteria > 1 else 0.0, *size, panel.criteria)
    scores = np.clip(np.rint(y[..., None] + within), 1, 10).mean(axis=-1)
    scores[rng.random(size) < panel.failing] = np.nan
    return scores, universe[:, 0, 0, 0], prompt


def order_of(rng: np.random.Generator, plan: list[PlannedJudgment], order: str) -> list[int]:
    """The places of the plan in the order in which they are asked."""
    if order == "balanced":
        seed = int(rng.integers(2**31))
        return [int(key) for key in balanced_order(plan, seed=seed, response_id="r")]
    places = rng.permutation(len(plan)).tolist()
    if order == "by model":
        models = list(dict.fromkeys(plan[place].model for place in places))
        places.sort(key=lambda place: models.index(plan[place].model))
    return places


def reliability(scores: np.ndarray, universe: np.ndarray, prompt: np.ndarray) -> float:
    """Squared correlation with what is measured, within prompts."""
    y, x = (v - (np.bincount(prompt, v) / PER_PROMPT)[prompt] for v in (scores, universe))
    return float((x @ y) ** 2 / ((x @ x) * (y @ y)))


@simulation(
    worlds=10,
    order=ORDERS,
    panel=PANELS,
    width=(0.25, 0.5, 1.0),
    skip=lambda order, panel, width: order != "balanced" and (panel != USUAL or width != 0.5),
)
def precision(
    rng: np.random.Generator, order: str, panel: Panel, width: float
) -> Mapping[str, float]:
    """A panel of 10 x 3 judges scores 40 responses, and stops at a half width in points: share of
    responses whose interval holds the whole panel's mean, share whose mean is within the half width
    of it, judgments asked, and the share saved; reliability for the order within prompts of the
    whole panel and of the part asked, as stated and as it is. "At random", "by model": not in
    balance."""
    scores, universe, prompt = world(rng, panel)
    flat = scores.reshape(len(scores), -1)
    judges = np.ndindex(panel.personas, panel.models, panel.repeats)
    half_of_personas = panel.personas // 2
    plan = [
        PlannedJudgment(f"{k}", f"{m}", "a" if p < half_of_personas else "b", f"{p}")
        for k, (p, m, _) in enumerate(judges)
    ]
    rule, grain, n = StoppingRule(width), 1.0 / panel.criteria, len(plan)
    kept = np.full(flat.shape, np.nan)
    holds, within, counts, added = [], [], [], []
    for row, values in enumerate(flat):
        places = order_of(rng, plan, order)
        replies: list[float | None] = []
        while block := next_block(rule, n, replies, grain=grain):
            for place in places[len(replies) : len(replies) + block]:
                replies.append(None if math.isnan(values[place]) else float(values[place]))
                kept[row, place] = values[place]
        scored = kept[row][~np.isnan(kept[row])]
        half = reached_half_width(n, replies, grain=grain)
        error = abs(scored.mean() - np.nanmean(values))
        holds.append(error <= half + 1e-9)
        within.append(error <= max(width, half) + 1e-9)
        counts.append(len(replies))
        population = n - len(replies) + len(scored)
        added.append((1 - len(scored) / population) * scored.var(ddof=1) / len(scored))
    stated = reliability_kept(kept.reshape(scores.shape), prompt, float(np.mean(added)))
    is_stated = stated.full is not None and stated.stopped is not None
    return {
        "holds": float(np.mean(holds)),
        "within": float(np.mean(within)),
        "asked": float(np.mean(counts)),
        "saved": float(1 - np.mean(counts) / n),
        "stated": stated.full if is_stated else math.nan,
        "stated part": stated.stopped if is_stated else math.nan,
        "true": reliability(np.nanmean(flat, axis=1), universe, prompt),
        "true part": reliability(np.nanmean(kept, axis=1), universe, prompt),
    }
