"""Coverage of the intervals of `compare` and of respondents' means, and the errors of its verdicts.

    python benchmarks/simulate_differences.py [--worlds 2000] [--seed 0]

Ten personas on three models score respondents on 9, 30 and 100 prompts. Every respondent has a
quality that varies over prompts, personas and models have severities, and respondents meet with
both and with prompts: all effects are drawn anew in each world, so that the truth for other judges
is known; the truth for this panel is that of the judges drawn. Worlds are normal, skewed (every
effect exponential) or ordinal (normal, rounded to whole points). "One model missing": one of the
models scored the second respondent on a third of the prompts only. "By criterion": five criteria
whose effects are half shared, so that they correlate by .5, and their mean, the composite.
"Votes missing at random": panels of 10 x 3, 5 x 3, 10 x 1 and 3 x 1 lose votes on either side; the
first respondent is .6 better on this panel. The floor is how many judges must have scored both
sides of a prompt: two thirds of the panel, or a few.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from areopagus.aggregation.differences import (
    Difference,
    _scored,
    in_both_universes,
    paired_differences,
    sides_of,
)

from areopagus.aggregation.common_judges import FEWEST_JUDGES

PERSONAS, MODELS, CRITERIA = 10, 3, 5
SD = {"r": 0.0, "q": 0.7, "P": 0.25, "M": 0.55, "rP": 0.12, "rM": 0.3, "rq": 0.6, "qP": 0.2,
      "qM": 0.4, "rqP": 0.2, "rqM": 0.35, "e": 0.6}  # fmt: skip
"""Standard deviations of the effects: r respondent, q prompt, P persona, M model."""


def world(
    rng: np.random.Generator,
    prompts: int,
    kind: str,
    sides: int = 2,
    judges: tuple[int, int] = (PERSONAS, MODELS),
) -> tuple[np.ndarray, np.ndarray]:
    """Scores (sides, prompts, personas, models), and the means of this panel over all prompts."""
    shape = {"r": sides, "q": prompts, "P": judges[0], "M": judges[1]}
    scores = np.full((sides, prompts, *judges), 5.0)
    of_panel = np.full((sides, 1, *judges), 5.0)
    for name, sd in SD.items():
        axes = "rqPM" if name == "e" else name
        size = [shape[one] if one in axes else 1 for one in "rqPM"]
        drawn = rng.exponential(size=size) - 1 if kind == "skewed" else rng.normal(size=size)
        scores = scores + sd * drawn
        if "q" not in axes:
            of_panel = of_panel + sd * drawn
    if kind == "ordinal":
        scores = np.round(scores)
    return scores, of_panel.mean(axis=(1, 2, 3))


def criteria_world(rng: np.random.Generator, prompts: int, sides: int) -> np.ndarray:
    """Scores (sides, prompts, personas, models, 1 + criteria), the composite first."""
    shared = world(rng, prompts, "normal", sides)[0] - 5.0
    own = [world(rng, prompts, "normal", sides)[0] - 5.0 for _ in range(CRITERIA)]
    each = 5.0 + math.sqrt(0.5) * (shared[..., None] + np.stack(own, axis=-1))
    return np.concatenate([each.mean(axis=-1, keepdims=True), each], axis=-1)


def compared(
    scores: np.ndarray, pairs: list[tuple[int, int]], fewest: int = FEWEST_JUDGES
) -> list[list[Difference]]:
    """The differences of these pairs; scores (sides, prompts, personas, models[, columns])."""
    shape = scores.shape[:4]
    sides, prompts, personas, models = shape
    side, prompt, persona, model = (axis.ravel() for axis in np.indices(shape))
    n = side.size
    made = sides_of(
        scores.reshape(n, -1), np.ones(n, dtype=bool), side=side, item=prompt,
        judge=persona * models + model, n_sides=sides, n_judges=personas * models,
    )  # fmt: skip
    return paired_differences(
        made, pairs, prompt_of=np.arange(prompts), most=np.inf, fewest=fewest,
        persona=np.repeat(np.arange(personas), models),
        model=np.tile(np.arange(models), personas),
    )  # fmt: skip


def missing_votes(n: int, judges: tuple[int, int], share: float, fewest: int, seed: int) -> str:
    """Prompts kept of 30, power at .6 and coverage; this share of votes is missing at random."""
    rng = np.random.default_rng([seed, *judges, round(100 * share)])
    kept = higher = covered = known = 0
    for _ in range(n):
        scores, truth = world(rng, 30, "normal", judges=judges)
        scores[0] += 0.6 - (truth[0] - truth[1])
        scores[rng.random(scores.shape) < share] = np.nan
        ((one,),) = compared(scores, [(0, 1)], fewest)
        kept += one.this_panel.n
        higher += one.this_panel.verdict == "higher"
        known += one.this_panel.has_interval
        covered += one.this_panel.covers(0.6)
    coverage = f"{covered / known:.3f}" if known > n / 20 else "    –"
    return f"{kept / n:4.1f} {higher / n:.2f} {coverage}"


def by_criterion(n: int, prompts: int, sides: int, seed: int) -> str:
    """Shares of worlds with a verdict on a criterion, the composite, either; all are equal."""
    rng = np.random.default_rng([seed, prompts, sides])
    pairs = [(a, b) for a in range(sides) for b in range(a)]
    hits = np.zeros(3)
    for _ in range(n):
        told = np.array(
            [
                [one.this_panel.verdict != "not told apart" for one in row]
                for row in compared(criteria_world(rng, prompts, sides), pairs)
            ]
        )
        hits += told[:, 1:].any(), told[:, 0].any(), told.any()
    return "   ".join(f"{hit / n:.3f}" for hit in hits)


def told_lost(n: int, prompts: int, before: float, after: float, seed: int) -> float:
    """Share of worlds in which `gate` says that a run has no score on more than chance leaves.

    Three responses a prompt, each without a score at a rate that differs between prompts (beta with
    this mean, ICC .25) and is the same in both runs, but for what the later one loses more.
    """
    rng = np.random.default_rng([seed, prompts, round(1000 * before), round(1000 * after)])
    hits = 0
    for _ in range(n):
        rate = rng.beta(3 * before, 3 * (1 - before), size=(prompts, 1))
        lost = rate + (after - before) / (1 - before) * (1 - rate)
        scored = [(rng.random((prompts, 3)) >= one).mean(axis=1) for one in (lost, rate)]
        one = _scored(scored[0] - scored[1], 0.95)
        hits += one.value < 0 and one.p <= 0.05
    return hits / n


def main() -> None:
    """Prints coverages and error rates with their Monte Carlo errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    n = options.worlds
    rng = np.random.default_rng(options.seed)
    print(f"{n:,} worlds a figure; Monte Carlo error of .95: {math.sqrt(0.95 * 0.05 / n):.3f}")
    print("coverage of 95% intervals   difference: this panel, others   mean: this panel, others")
    personas = np.repeat(np.arange(PERSONAS), MODELS)
    models = np.tile(np.arange(MODELS), PERSONAS)
    for kind in ("normal", "skewed", "ordinal"):
        for prompts in (9, 30, 100):
            hits = np.zeros(4)
            for _ in range(n):
                scores, truth = world(rng, prompts, kind)
                ((one,),) = compared(scores, [(0, 1)])
                hits[0] += one.this_panel.covers(truth[0] - truth[1])
                hits[1] += one.such_judges.covers(0.0)
                cells = scores[0].reshape(prompts, -1, 1)
                (mean,) = in_both_universes(
                    cells, np.ones(cells.shape[:2]), personas, models, bounds=(-np.inf, np.inf)
                )
                hits[2] += mean.this_panel.covers(truth[0])
                hits[3] += mean.such_judges.covers(5.0)
            shown = "   ".join(f"{hit / n:.3f}" for hit in hits)
            print(f"  {kind:8} {prompts:4} prompts          {shown}", flush=True)
    print("share of worlds with a verdict where respondents are equal: 2 respondents, 6 (15 pairs)")
    kept = dict(SD)
    SD.update({"rP": 0.0, "rM": 0.0})  # equal on this panel, and on every other
    for prompts in (9, 30, 100):
        alone = family = missing = 0
        pairs = [(a, b) for a in range(6) for b in range(a)]
        for _ in range(n):
            scores, _ = world(rng, prompts, "normal", sides=6)
            ((one,),) = compared(scores[:2], [(0, 1)])
            alone += one.this_panel.verdict != "not told apart"
            each = compared(scores, pairs)
            family += any(found.this_panel.verdict != "not told apart" for (found,) in each)
            lacking = scores[:2].copy()
            lacking[1, prompts // 3 :, :, int(rng.integers(MODELS))] = np.nan
            ((one,),) = compared(lacking, [(0, 1)])
            missing += one.this_panel.verdict != "not told apart"
        print(
            f"  {prompts:4} prompts   {alone / n:.3f}   {family / n:.3f}   "
            f"one model missing: {missing / n:.3f}",
            flush=True,
        )
    print("by criterion, respondents equal: share of worlds with a verdict on a criterion,")
    print("  on the composite, on either; 2 respondents, then 6 (15 pairs)")
    for prompts in (9, 30, 100):
        two, six = (by_criterion(n, prompts, sides, options.seed) for sides in (2, 6))
        print(f"  {prompts:4} prompts   {two}      {six}", flush=True)
    SD.update(kept)
    print("votes missing at random, 30 prompts: kept, power at .6, coverage, by floor of judges")
    for judges in ((10, 3), (5, 3), (10, 1), (3, 1)):
        n_judges = math.prod(judges)
        floors = dict.fromkeys(min(k, n_judges) for k in (1, 2, 3, math.ceil(2 * n_judges / 3)))
        print(f"  {judges[0]:2} x {judges[1]}, floor " + "".join(f"{k:<19}" for k in floors))
        for percent in (0, 5, 10, 15, 20, 25, 30, 40, 50):
            each = [
                missing_votes(n, judges, percent / 100, floor, options.seed) for floor in floors
            ]
            print(f"  {percent:4}% missing   " + "    ".join(each), flush=True)
    print("share of worlds in which a run is said to lose scores: .02, .1, .3 missing in both;")
    print("  .1 missing before, .3 after")
    for prompts in (8, 12, 30, 100):
        rates = ((0.02, 0.02), (0.1, 0.1), (0.3, 0.3), (0.1, 0.3))
        shown = "   ".join(f"{told_lost(n, prompts, *one, options.seed):.3f}" for one in rates)
        print(f"  {prompts:4} prompts   {shown}", flush=True)


if __name__ == "__main__":
    main()
