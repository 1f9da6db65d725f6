"""Measures the many-facet rating-scale model in worlds whose parameters are known.

Run: python benchmarks/simulate_many_facet.py [--worlds 500] [--seed 1] [--only NAME] [--out FILE]
Prints Markdown tables, each figure with its Monte Carlo error: how often planted raters are named,
and others by mistake; the planted raters' range and consistency, with coverage of 95% intervals.

A world: responses to prompts (a third of the variance of quality is the prompt's), five or thirty
raters, scores from 1 to 7 or 10. "clean" worlds hold a rater severe by 1 logit and nothing else; in
"planted" ones a rater uses half the range (thresholds twice as far apart) and one is erratic
(scores follow quality by .35 of what the others' do). "skewed" draws quality from an exponential.
"halo" gives the rater and the response a deviation of their own that all criteria share. Both break
what the model assumes. "beside judges" puts five people beside ten judges whose errors are alike:
who is called erratic, narrow or wide in a fit of people alone, of judges alone, and of all?
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from areopagus.aggregation.many_facet import ManyFacetFit, many_facet

Floats = npt.NDArray[np.float64]

SEVERE, NARROW, ERRATIC = 0, 1, 2
"""Places of the planted raters."""


@dataclass(frozen=True)
class Design:
    """One kind of world."""

    name: str
    prompts: int
    raters: int = 5
    per_prompt: int = 4
    categories: int = 7
    criteria: int = 1
    seen_by: int = 0
    planted: bool = False
    severe: float = 1.0
    halo: float = 0.0
    is_skewed: bool = False


DESIGNS = (
    Design("clean, 9 prompts", 9),
    Design("clean, 26 prompts", 26),
    Design("clean, 100 prompts", 100),
    Design("nobody severe, 26 prompts", 26, severe=0.0),
    Design("skewed, 26 prompts", 26, is_skewed=True),
    Design("three of five raters each, 26 prompts", 26, seen_by=3),
    Design("three criteria, halo, 26 prompts", 26, criteria=3, halo=0.5),
    Design("planted, 9 prompts", 9, planted=True),
    Design("planted, 26 prompts", 26, planted=True),
    Design("planted, 100 prompts", 100, planted=True),
    Design("thirty judges, 26 prompts", 26, raters=30, categories=10),
    Design("thirty judges, planted, 26 prompts", 26, raters=30, categories=10, planted=True),
)


@dataclass(frozen=True)
class World:
    """Ratings and what made them."""

    score: Floats
    response: npt.NDArray[np.int64]
    rater: npt.NDArray[np.int64]
    criterion: npt.NDArray[np.int64]
    prompt: npt.NDArray[np.int64]
    range_use: Floats
    consistency: Floats


def world(design: Design, rng: np.random.Generator) -> World:
    """Draws one."""
    raters, criteria, top = design.raters, design.criteria, design.categories
    n = design.prompts * design.per_prompt
    prompt = np.repeat(np.arange(design.prompts), design.per_prompt)

    def draw(size: int) -> Floats:
        return rng.exponential(size=size) - 1 if design.is_skewed else rng.normal(size=size)

    quality = 1.5 * (math.sqrt(1 / 3) * draw(design.prompts)[prompt] + math.sqrt(2 / 3) * draw(n))
    severity = np.zeros(raters)
    # The others stand at the mean quality, where an erratic one is as severe as they are: whoever
    # else is named is named by mistake.
    severity[SEVERE] = design.severe
    steps = np.linspace(-2.5, 2.5, top - 1) + 0.2 * np.cos(np.arange(top - 1))
    steps -= steps.mean()
    difficulty = np.linspace(-0.4, 0.4, criteria) if criteria > 1 else np.zeros(1)
    s, a = np.ones(raters), np.ones(raters)
    if design.planted:
        s[NARROW], a[ERRATIC] = 2.0, 0.35
    halo = design.halo * rng.normal(size=(n, raters))
    place = (quality[:, None] + halo - severity)[:, :, None] - difficulty
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    eta = a[None, :, None, None] * (
        np.arange(top) * place[..., None] - s[None, :, None, None] * sums
    )
    score = (eta + rng.gumbel(size=eta.shape)).argmax(axis=-1) + 1.0
    if design.seen_by:
        for one in range(n):
            score[one, rng.permutation(raters)[design.seen_by :]] = np.nan
    r, j, c = np.indices(score.shape)
    kept = np.isfinite(score).reshape(-1)
    r, j, c = (one.reshape(-1)[kept] for one in (r, j, c))
    flat = score.reshape(-1)[kept]
    return World(flat, r, j, c, prompt[r], 1 / s, a)


@dataclass
class Tally:
    """What was seen over the worlds of one design."""

    named: dict[str, list[float]]
    own: dict[str, list[float]]
    unfit: int = 0
    seconds: float = 0.0


def fitted(made: World, design: Design) -> ManyFacetFit:
    """The fit of one world."""
    return many_facet(
        made.score, made.response, made.rater, scale=(1, design.categories),
        criterion=made.criterion, prompt=made.prompt,
    )  # fmt: skip


def measured(design: Design, worlds: int, seed: int) -> Tally:
    """Fits the worlds."""
    tally = Tally({}, {})
    for number in range(worlds):
        rng = np.random.default_rng([seed, number])
        made = world(design, rng)
        start = time.perf_counter()
        fit = fitted(made, design)
        tally.seconds += time.perf_counter() - start
        if fit.reason or len(fit.raters) < design.raters:
            tally.unfit += 1
            continue
        seen(tally, fit, made, design)
    return tally


def seen(tally: Tally, fit: ManyFacetFit, made: World, design: Design) -> None:
    """Takes one fit in."""
    planted: dict[str, int | None] = {"narrow": None, "erratic": None}
    if design.planted:
        planted |= {"narrow": NARROW, "erratic": ERRATIC}
    calls = {
        "narrow": [one.verdict for one in fit.range_use],
        "erratic": [one.verdict for one in fit.consistency],
    }
    for kind, verdicts in calls.items():
        who = planted[kind]
        if who is not None:
            tally.named.setdefault(f"{kind} found", []).append(float(verdicts[who] == kind))
        rest = [v for k, v in enumerate(verdicts) if k != who]
        tally.named.setdefault(f"{kind}, another", []).append(float(any(rest)))
    for name, found, truth in (
        ("range", fit.range_use, made.range_use), ("consistency", fit.consistency, made.consistency)
    ):  # fmt: skip
        for who in (NARROW,) if name == "range" else (ERRATIC,):
            if design.planted and found[who].has_interval:
                tally.own.setdefault(f"{name} of the planted", []).append(found[who].value)
                tally.own.setdefault(f"{name} covered", []).append(found[who].covers(truth[who]))


def beside_judges(worlds: int, seed: int, prompts: int = 26) -> list[str]:
    """Judges see another quality, correlated .7 with people's; the first person is erratic."""
    told = ["### beside judges", "", "| named | by its kind | in one fit |", "|---|---|---|"]
    found: dict[str, list[list[float]]] = {
        "the erratic person": [[], []], "another person": [[], []], "a judge": [[], []]
    }  # fmt: skip
    unfit = 0
    for number in range(worlds):
        rng = np.random.default_rng([seed, number])
        n, top = prompts * 4, 7
        quality = 1.5 * rng.normal(size=n)
        theirs = 0.7 * quality + math.sqrt(1 - 0.7**2) * 1.5 * rng.normal(size=n)
        sums = np.concatenate([[0.0], np.cumsum(np.linspace(-2.5, 2.5, top - 1))])
        place = np.concatenate(
            [np.tile(quality, (5, 1)), np.tile(theirs, (10, 1)) + 0.3 * rng.normal(size=(10, n))]
        )
        eta = np.arange(top) * place[..., None] - sums
        eta[5:] *= 2.0  # judges scatter little
        eta[0] *= 0.35
        score = (eta + rng.gumbel(size=eta.shape)).argmax(axis=-1) + 1.0
        rater, response = np.indices(score.shape)
        everybody = np.arange(15)
        for at, groups in enumerate(((everybody[:5], everybody[5:]), (everybody,))):
            called = np.zeros(15)
            for group in groups:
                mine = np.isin(rater, group).reshape(-1)
                fit = many_facet(
                    score.reshape(-1)[mine], response.reshape(-1)[mine], rater.reshape(-1)[mine],
                    scale=(1, top), prompt=(response // 4).reshape(-1)[mine],
                )  # fmt: skip
                unfit += bool(fit.reason)
                for k, who in enumerate(fit.raters):
                    called[who] = bool(fit.range_use[k].verdict or fit.consistency[k].verdict)
            found["the erratic person"][at].append(float(called[0]))
            found["another person"][at].append(float(called[1:5].any()))
            found["a judge"][at].append(float(called[5:].any()))
    told += [f"| {who} | {share(both[0])} | {share(both[1])} |" for who, both in found.items()]
    return [*told, f"not fitted {unfit} of {3 * worlds}", ""]


def share(values: list[float]) -> str:
    """A mean with its Monte Carlo error."""
    array = np.asarray(values, dtype=float)
    if not len(array):
        return "none"
    return f"{array.mean():.3f} ± {array.std() / math.sqrt(len(array)):.3f}"


def lines(design: Design, tally: Tally) -> list[str]:
    """The report of one design."""
    told = [f"### {design.name}", ""]
    told.append(f"not fitted {tally.unfit}, seconds {tally.seconds:.0f}")
    told += ["", "| figure | value |", "|---|---|"]
    for name, values in (*tally.named.items(), *tally.own.items()):
        told.append(f"| {name} | {share(values)} |")
    return [*told, ""]


def main() -> int:
    """Reads the options and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    told: list[str] = []
    if "beside judges".startswith(given.only):
        told += beside_judges(given.worlds, given.seed)
        print("\n".join(told), flush=True)
    for design in DESIGNS:
        if design.name.startswith(given.only):
            told += lines(design, measured(design, given.worlds, given.seed))
            print("\n".join(told[-40:]) if not given.out else design.name, flush=True)
            if given.out:
                given.out.write_text("\n".join(told) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
