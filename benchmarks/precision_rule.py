"""Simulates panels of known make-up under the stopping rule of `--precision`.

Run: python benchmarks/precision_rule.py --worlds 100 --seed 1
Prints for each make-up and each wanted half width: the share of responses whose interval holds the
whole panel's mean, and whose mean is within the wanted half width of it; judgments asked on average
and the share saved; and the reliability for the order of responses to one prompt, as the run would
state it and as it is, for the whole panel and for the part asked. Below, the same without balance
(judges drawn purely at random) and with the models asked one after the other. Monte Carlo errors,
over worlds, stand beside.

A world is one panel: severities of its personas and models are drawn once and hold for all of its
responses. Scores are whole points from 1 to 10 on five criteria, or on one.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from areopagus.graphs.stopping import (
    PlannedJudgment,
    StoppingRule,
    balanced_order,
    next_block,
    reached_half_width,
)
from areopagus.precision.tally import reliability_kept

PROMPTS, PER_PROMPT = 10, 4
WIDTHS = (0.25, 0.5, 1.0)

Order = Callable[[Sequence[PlannedJudgment], np.random.Generator, str], list[str]]


@dataclass(frozen=True)
class Shape:
    """A make-up: numbers of judges and variance components in points squared.

    Attributes:
        r, p, m, rp, rm, e: responses within prompts, personas, models, their interactions with
            responses, and the rest of a judgment.
        split: half the distance by which the two halves of the personas part over a response.
        is_heavy: whether the rest has heavy tails (t with 3 degrees of freedom).
        criterion: variance of a criterion within a judgment.
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
    is_heavy: bool = False
    criteria: int = 5
    criterion: float = 0.5
    failing: float = 0.0


SHAPES = {
    "usual, 10 x 3": Shape(),
    "agreeing, 10 x 3": Shape(p=0.03, m=0.03, rp=0.03, rm=0.08, e=0.10, criterion=0.1),
    "harsh models, 10 x 3": Shape(p=0.20, m=0.80),
    "split by axis, 10 x 3": Shape(split=0.7),
    "heavy tails, 10 x 3": Shape(is_heavy=True),
    "one model, 10 x 1": Shape(models=1, m=0.0),
    "five models, 10 x 5": Shape(models=5),
    "twice each, 10 x 3 x 2": Shape(repeats=2),
    "one criterion, 10 x 3": Shape(criteria=1),
    "one criterion, agreeing": Shape(p=0.02, m=0.03, rp=0.03, rm=0.05, e=0.10, criteria=1),
    "15% failing, 10 x 3": Shape(failing=0.15),
}


def world(rng: np.random.Generator, shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Composites (responses, personas, models, repeats), what they would be without error, prompts.

    A judgment that comes to nothing is nan.
    """
    n = PROMPTS * PER_PROMPT
    prompt = np.repeat(np.arange(PROMPTS), PER_PROMPT)

    def drawn(variance: float, *size: int) -> np.ndarray:
        return rng.normal(scale=math.sqrt(variance), size=size)

    universe = drawn(shape.r, n, 1, 1, 1)
    y = 6.0 + drawn(0.3, PROMPTS, 1, 1, 1)[prompt] + universe
    y = y + drawn(shape.p, 1, shape.personas, 1, 1) + drawn(shape.m, 1, 1, shape.models, 1)
    y = y + drawn(shape.rp, n, shape.personas, 1, 1) + drawn(shape.rm, n, 1, shape.models, 1)
    side = np.where(np.arange(shape.personas) < shape.personas // 2, 1.0, -1.0)
    y = y + shape.split * drawn(1.0, n, 1, 1, 1) * side[None, :, None, None]
    size = (n, shape.personas, shape.models, shape.repeats)
    rest = rng.standard_t(3, size) / math.sqrt(3) if shape.is_heavy else rng.normal(size=size)
    y = y + math.sqrt(shape.e) * rest
    within = drawn(shape.criterion if shape.criteria > 1 else 0.0, *size, shape.criteria)
    scores = np.clip(np.rint(y[..., None] + within), 1, 10).mean(axis=-1)
    scores[rng.random(size) < shape.failing] = np.nan
    return scores, universe[:, 0, 0, 0], prompt


def seats_of(shape: Shape) -> list[PlannedJudgment]:
    """The plan, in the order of the flattened scores."""
    return [
        PlannedJudgment(f"{p}|{m}|{t}", f"{m}", "a" if p < shape.personas // 2 else "b", f"{p}")
        for p in range(shape.personas)
        for m in range(shape.models)
        for t in range(shape.repeats)
    ]


def balanced(
    assignments: Sequence[PlannedJudgment], rng: np.random.Generator, name: str
) -> list[str]:
    """The order of the package."""
    return balanced_order(assignments, seed=int(rng.integers(2**31)), response_id=name)


def at_random(
    assignments: Sequence[PlannedJudgment], rng: np.random.Generator, name: str
) -> list[str]:
    """Judges drawn without regard to who they are."""
    return [assignments[place].key for place in rng.permutation(len(assignments))]


def by_model(
    assignments: Sequence[PlannedJudgment], rng: np.random.Generator, name: str
) -> list[str]:
    """All judges of one model, then those of the next."""
    shuffled = [assignments[place] for place in rng.permutation(len(assignments))]
    first = {assignment.model: place for place, assignment in reversed(list(enumerate(shuffled)))}
    return [
        assignment.key
        for assignment in sorted(shuffled, key=lambda assignment: first[assignment.model])
    ]


@dataclass
class Found:
    """Figures by world."""

    holds: list[float] = field(default_factory=list)
    within: list[float] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    stated: list[tuple[float, float]] = field(default_factory=list)
    true: list[tuple[float, float]] = field(default_factory=list)


def simulate(shape: Shape, width: float, worlds: int, seed: int, order: Order) -> Found:
    """Runs the rule over so many panels of one make-up."""
    rng = np.random.default_rng(seed)
    assignments = seats_of(shape)
    place = {assignment.key: at for at, assignment in enumerate(assignments)}
    rule, grain = StoppingRule(width), 1.0 / shape.criteria
    found = Found()
    for _ in range(worlds):
        scores, universe, prompt = world(rng, shape)
        flat = scores.reshape(len(scores), -1)
        kept = np.full(flat.shape, np.nan)
        holds, within, counts, added, stopped = [], [], [], [], []
        for row, values in enumerate(flat):
            keys = [place[key] for key in order(assignments, rng, f"r{row}")]
            asked: list[float | None] = []
            while block := next_block(rule, len(assignments), asked, grain=grain):
                for at in keys[len(asked) : len(asked) + block]:
                    asked.append(None if math.isnan(values[at]) else float(values[at]))
                    kept[row, at] = values[at]
            mine = [value for value in asked if value is not None]
            half = reached_half_width(len(assignments), asked, grain=grain)
            error = abs(float(np.mean(mine)) - float(np.nanmean(values)))
            holds.append(error <= half + 1e-9)
            within.append(error <= max(width, half) + 1e-9)
            counts.append(len(asked))
            population = len(assignments) - len(asked) + len(mine)
            added.append((1 - len(mine) / population) * float(np.var(mine, ddof=1)) / len(mine))
            stopped.append(float(np.mean(mine)))
        found.holds.append(float(np.mean(holds)))
        found.within.append(float(np.mean(within)))
        found.asked.append(float(np.mean(counts)))
        stated = reliability_kept(kept.reshape(scores.shape), prompt, float(np.mean(added)))
        if stated.full is not None and stated.stopped is not None:
            found.stated.append((stated.full, stated.stopped))
        whole = np.nanmean(flat, axis=1)
        found.true.append(
            (_reliability(whole, universe, prompt), _reliability(stopped, universe, prompt))
        )
    return found


def _reliability(
    scores: Sequence[float] | np.ndarray, universe: np.ndarray, prompt: np.ndarray
) -> float:
    """Squared correlation with what is measured, within prompts."""
    y, x = np.asarray(scores, dtype=float), universe.astype(float)
    for name in np.unique(prompt):
        mine = prompt == name
        y, x = np.where(mine, y - y[mine].mean(), y), np.where(mine, x - x[mine].mean(), x)
    return float((x @ y) ** 2 / ((x @ x) * (y @ y)))


def _mean(values: Sequence[float]) -> str:
    array = np.asarray(values)
    return f"{array.mean():.3f} ({array.std(ddof=1) / math.sqrt(len(array)):.3f})"


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description="The stopping rule on simulated panels.")
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.worlds} worlds of {PROMPTS * PER_PROMPT} responses each; error in brackets")
    print("make-up | W | interval holds | within W | asked | saved | reliability stated | true")
    for name, shape in SHAPES.items():
        n = shape.personas * shape.models * shape.repeats
        for width in WIDTHS:
            found = simulate(shape, width, options.worlds, options.seed, balanced)
            asked = float(np.mean(found.asked))
            stated = np.mean(found.stated, axis=0) if found.stated else (math.nan, math.nan)
            true = np.mean(found.true, axis=0)
            print(
                f"{name} | {width:g} | {_mean(found.holds)} | {_mean(found.within)} | "
                f"{asked:.1f} of {n} | {1 - asked / n:.0%} | "
                f"{stated[0]:.2f} to {stated[1]:.2f} | {true[0]:.2f} to {true[1]:.2f}"
            )
    print("\nother orders, usual make-up, W = 0.5")
    for told, order in (("purely at random", at_random), ("model after model", by_model)):
        found = simulate(SHAPES["usual, 10 x 3"], 0.5, options.worlds, options.seed, order)
        print(f"{told} | {_mean(found.holds)} | asked {np.mean(found.asked):.1f}")


if __name__ == "__main__":
    main()
