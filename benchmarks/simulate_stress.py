"""Measures the estimators of the stress test over simulated studies of one target.

Run: python benchmarks/simulate_stress.py [--studies 2000] [--seed 1] [--only KIND] [--out FILE]
Prints a Markdown table: every figure with its Monte Carlo error, what it should be, and whether it
is significantly off (at .05, by itself). The figures stand in the docstrings of
`areopagus.aggregation`.

A study: four framings and a baseline, five dimensions. A score is a prompt's level, the response's
own error (shared by its five dimensions) and each dimension's error; a delta then has a standard
deviation of .8 and shares the baseline's error with the other framings' deltas.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from areopagus.aggregation.ctd import Degradation, degradation
from scipy import integrate, stats

from areopagus.aggregation.degradation_cells import DegradationCell
from areopagus.aggregation.retest_noise import noise_floor

FRAMINGS = ("empirical_i", "empirical_friend", "emotion_agree", "emotion_disagree")
DIMENSIONS = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)
PLANTED = np.array(
    [
        [0.5, 0.3, 0.2, 0.0, 0.3],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [0.6, 0.8, 0.4, 1.2, 0.9],
        [0.2, 0.0, 0.0, -0.5, 0.0],
    ]
)
SD, MARGIN, ALPHA = 0.8, 0.5, 0.05
FLIPS = 999
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Row:
    """One figure: value, Monte Carlo error, what it should be ("=", "≤", "≥" or "" for none)."""

    world: str
    prompts: int
    figure: str
    value: float
    error: float
    rule: str = ""
    wanted: float = math.nan

    def is_off(self) -> str:
        """Returns "yes" or "no", or "" where nothing was to be met."""
        if not self.rule:
            return ""
        gap = self.value - self.wanted
        z = gap / self.error
        off = {"=": abs(z) > 1.96, "≤": z > 1.645, "≥": z < -1.645}
        return "yes" if off[self.rule] else "no"

    def markdown(self) -> str:
        """Returns the table's line."""
        wanted = f"{self.rule} {self.wanted:.3f}" if self.rule else ""
        return (
            f"| {self.world} | {self.prompts} | {self.figure} | {self.value:.3f} ± "
            f"{self.error:.3f} | {wanted} | {self.is_off()} |"
        )


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Returns standard normal errors."""
    return rng.normal(size=shape)


def skewed(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Returns exponential errors of mean 0 and standard deviation 1."""
    return rng.exponential(size=shape) - 1


def scores_of(
    rng: np.random.Generator, prompts: int, draw: Draw, deltas: np.ndarray, sd: float
) -> np.ndarray:
    """Returns scores, shape (1, conditions, prompts, dimensions), the baseline first."""
    part = sd / 2
    scores = 6 + 0.7 * rng.normal(size=(1, prompts, 1)) + 0.3 * rng.normal(size=(1, prompts, 5))
    scores = scores + part * draw(rng, (5, prompts, 1)) + part * draw(rng, (5, prompts, 5))
    scores[1:] -= deltas[:, None, :]
    return scores[None]


def studies_of(
    studies: int,
    rng: np.random.Generator,
    prompts: int,
    *,
    draw: Draw = normal,
    deltas: np.ndarray | float = 0.0,
    sd: float = SD,
    effects: Draw | None = None,
) -> Iterator[Degradation]:
    """Yields the results of so many studies."""
    planted = np.broadcast_to(np.asarray(deltas, dtype=float), (4, 5))
    for study in range(studies):
        scores = scores_of(rng, prompts, draw, planted, sd)
        if effects is not None:
            scores[:, 1:] -= sd * effects(rng, (4, prompts, 5))
        yield degradation(
            scores, targets=["target"], conditions=["baseline", *FRAMINGS], dimensions=DIMENSIONS,
            margin=MARGIN, alpha=ALPHA, scale=(-90, 110), flips=FLIPS, seed=study,
        )  # fmt: skip


def dimension_cells(one: Degradation) -> list[DegradationCell]:
    """Returns the cells of single dimensions."""
    return [cell for cell in one.cells if cell.dimension is not None]


def mean_cells(one: Degradation) -> list[DegradationCell]:
    """Returns the cells of the mean column."""
    return [cell for cell in one.cells if cell.dimension is None]


def share(values: list[float]) -> tuple[float, float]:
    """Returns the mean over studies and its Monte Carlo error, which is never quite 0."""
    n = len(values)
    return float(np.mean(values)), max(float(np.std(values, ddof=1)), 1 / n) / math.sqrt(n)


def equivalence_power(n: int, sd: float, margin: float) -> float:
    """Returns the chance that the 90% t interval lies inside ±margin at a true mean of 0."""
    limit = stats.t.ppf(1 - ALPHA, n - 1)

    def at(s: float) -> float:
        room = max(margin * math.sqrt(n) / sd - limit * s, 0.0)
        density = stats.chi(n - 1).pdf(s * math.sqrt(n - 1)) * math.sqrt(n - 1)
        return float((2 * stats.norm.cdf(room) - 1) * density)

    return float(integrate.quad(at, 0, 4, points=[1], limit=200)[0])


def unchanged(
    studies: int, rng: np.random.Generator, prompts: int, draw: Draw, name: str
) -> Iterator[Row]:
    """Yields the figures of a target that does not change at all."""
    kept: dict[str, list[float]] = {}

    def add(key: str, value: float) -> None:
        kept.setdefault(key, []).append(value)

    for one in studies_of(studies, rng, prompts, draw=draw):
        cells, means = dimension_cells(one), mean_cells(one)
        add("changed", float(any(c.verdict == "changed" for c in cells)))
        add("max_t", float(any(c.p_max_t <= ALPHA for c in cells)))
        add("means", float(any(c.verdict == "changed" for c in means)))
        add("raw", float(any(c.delta.p <= ALPHA for c in cells)))
        add("covered", float(np.mean([c.delta.covers(0) for c in cells])))
        add("inside", float(np.mean([bool(c.within_margin) for c in cells])))
        add("robust", float(np.mean([c.verdict == "robust" for c in cells])))
        add("everywhere", float(one.robust_everywhere[0].is_robust is True))
        add("profile", float(one.findings[0].kind != "none"))
    row = partial(Row, name, prompts)
    power = equivalence_power(prompts, SD, MARGIN)
    yield row("some cell changed, Holm", *share(kept["changed"]), "≤", ALPHA)
    yield row("some cell changed, max-T", *share(kept["max_t"]), "≤", ALPHA)
    yield row("some mean cell changed, Holm", *share(kept["means"]), "≤", ALPHA)
    yield row("some raw p at most .05", *share(kept["raw"]))
    yield row("coverage of the 95% intervals", *share(kept["covered"]), "=", 1 - ALPHA)
    if draw is normal:
        yield row("inside the margin, each cell (theory)", *share(kept["inside"]), "=", power)
        # Holm may call up to alpha / 20 of the cells changed.
        yield row("robust, each cell (theory)", *share(kept["robust"]), "≥", power - ALPHA / 20)
    else:
        yield row("robust, each cell", *share(kept["robust"]))
    yield row("robust on all 20 cells", *share(kept["everywhere"]))
    yield row("profile not empty", *share(kept["profile"]), "≤", ALPHA)


def planted(studies: int, rng: np.random.Generator, prompts: int, draw: Draw) -> Iterator[Row]:
    """Yields how well planted deltas come back."""
    errors, covered, changed, headline, headline_in, gap, gap_in = ([] for _ in range(7))
    false: list[float] = []
    kinds: dict[str, list[float]] = {"condition_dominates": [], "asymmetry": []}
    truth = PLANTED.ravel()
    for one in studies_of(studies, rng, prompts, draw=draw, deltas=PLANTED):
        cells = dimension_cells(one)
        estimates = np.array([c.delta.value for c in cells])
        errors.append(estimates - truth)
        limits = np.array([[c.delta.low, c.delta.high] for c in cells])
        covered.append(float(((limits[:, 0] <= truth) & (truth <= limits[:, 1])).mean()))
        verdicts = np.array([c.verdict == "changed" for c in cells])
        changed.append(verdicts)
        false.append(float(verdicts[truth == 0].any()))
        mean = one.overall["target"]
        headline.append(mean.value - PLANTED.mean())
        headline_in.append(float(mean.low <= PLANTED.mean() <= mean.high))
        declared = next(row for row in one.asymmetries if row.is_declared).estimate
        gap.append(declared.value - 1.7)
        gap_in.append(float(declared.low <= 1.7 <= declared.high))
        for kind, seen in kinds.items():
            found = [f for f in one.findings if f.kind == kind]
            seen.append(float(any(f.subject[0] == "emotion_agree" for f in found)))
    row = partial(Row, f"planted deltas, {draw.__name__} errors", prompts)
    table = np.array(errors)
    yield row("bias, mean of 20 cells", *share(table.mean(axis=1).tolist()), "=", 0.0)
    z = table.mean(axis=0) / (table.std(axis=0, ddof=1) / math.sqrt(len(table)))
    worst = int(np.abs(z).argmax())
    # The largest of 20: its limit is Bonferroni's, so the error is scaled to make 1.96 that.
    error = (
        float(table[:, worst].std(ddof=1))
        / math.sqrt(len(table))
        * stats.norm.isf(0.025 / 20)
        / 1.96
    )
    yield row("bias, worst cell of 20 (Bonferroni)", float(table[:, worst].mean()), error, "=", 0.0)
    yield row("bias of the mean over all cells", *share(headline), "=", 0.0)
    yield row("bias of the agree − disagree gap", *share(gap), "=", 0.0)
    yield row("coverage, cells", *share(covered), "=", 0.95)
    yield row("coverage, mean over all cells", *share(headline_in), "=", 0.95)
    yield row("coverage, agree − disagree gap", *share(gap_in), "=", 0.95)
    yield row("some unchanged cell called changed", *share(false), "≤", ALPHA)
    found = np.array(changed)
    for size in (0.3, 0.5, 0.8, 1.2):
        hit = found[:, np.isclose(np.abs(truth), size)].mean(axis=1)
        yield row(f"called changed at a true {size}", *share(hit.tolist()))
    yield row("profile: emotion_agree dominates", *share(kinds["condition_dominates"]))
    yield row("profile: asymmetry found", *share(kinds["asymmetry"]))


def at_margin(studies: int, rng: np.random.Generator, prompts: int, draw: Draw) -> Iterator[Row]:
    """Yields how often a target changed by exactly the margin is called robust."""
    every = [
        float(np.mean([c.verdict == "robust" for c in dimension_cells(one)]))
        for one in studies_of(studies, rng, prompts, draw=draw, deltas=MARGIN)
    ]
    single = np.zeros((4, 5))
    single[2, 3] = MARGIN
    # Errors so small that only the cell on the margin can stop the claim: its worst case.
    some = [
        float(one.robust_everywhere[0].is_robust is True)
        for one in studies_of(studies, rng, prompts, draw=draw, deltas=single, sd=0.2)
    ]
    row = partial(Row, f"changed by the margin, {draw.__name__} errors", prompts)
    yield row("robust wrongly, each cell", *share(every), "≤", ALPHA)
    yield row("robust on all 20 wrongly, one cell changed", *share(some), "≤", ALPHA)


def wavering_judges(studies: int, rng: np.random.Generator, prompts: int) -> Iterator[Row]:
    """Yields the size of "robust" where nearly all scatter is that of the asking, or none is.

    Targets change by exactly the margin. Thirty judges share their noise of a response (rho .25,
    s = .9, a panel mean's .47), or are without any, so that a delta is one number throughout but
    for its prompt: no floor of noise stands between either and the verdict.
    """
    for name, sd in (("shared noise of asking, s = .47", 0.47 * 2**0.5), ("no noise at all", 0.0)):
        robust = []
        for study in range(studies):
            deltas = MARGIN + sd * rng.normal(size=(4, prompts, 5))
            if not sd:
                deltas += 0.2 * rng.normal(size=(4, prompts, 1))
            scores = np.concatenate([np.zeros((1, prompts, 5)), -deltas])[None]
            found = degradation(
                scores, targets=["target"], conditions=["baseline", *FRAMINGS],
                dimensions=DIMENSIONS, margin=MARGIN, alpha=ALPHA, scale=(-90, 110), flips=FLIPS,
                seed=study,
            )  # fmt: skip
            robust.append(np.mean([cell.verdict == "robust" for cell in dimension_cells(found)]))
        row = partial(Row, "changed by the margin, deterministic or wavering judges", prompts)
        yield row(f"robust wrongly, each cell: {name}", *share(robust), "≤", ALPHA)
    below, estimates = [], []
    for _ in range(studies):
        floor = noise_floor(*(0.3 * rng.normal(size=(2, 10, 1))), dimensions=["all"])
        component = floor.of("all")
        below.append(float(component.upper >= 0.3))
        estimates.append(component.retest_sd**2 - 0.09)
    row = partial(Row, "noise floor, s = .3, 10 responses re-asked", 10)
    yield row("upper bound holds s", *share(below), "=", 0.95)
    yield row("bias of s²", *share(estimates), "=", 0.0)


def rare(studies: int, rng: np.random.Generator, prompts: int) -> Iterator[Row]:
    """Yields what equivalence makes of a target that breaks down on one prompt in twenty."""
    broken = [
        float(np.mean([cell.verdict == "robust" for cell in dimension_cells(one)]))
        for one in studies_of(
            studies, rng, prompts, sd=0.3,
            effects=lambda r, shape: -MARGIN / 0.05 / 0.3 * (r.random((*shape[:2], 1)) < 0.05),
        )
    ]  # fmt: skip
    row = partial(Row, "10 points lost on one prompt in twenty, 0.5 on average", prompts)
    yield row("called robust, each cell", *share(broken))


SEVERITY = np.repeat([0.5, 0.5, -2.6], 3)
MODELS = ("kind",) * 3 + ("fair",) * 3 + ("harsh",) * 3


def missing_judges(studies: int, rng: np.random.Generator, prompts: int) -> Iterator[Row]:
    """Yields what a content filter does: an unchanged target, three models, one missing.

    The harsh model refuses every response under one framing, or each with a chance of .3.
    """
    for name, chance in (("every response", 1.0), ("three in ten responses", 0.3)):
        changed, covered, naive, kept = [], [], [], []
        for study in range(studies // 4):
            scores = scores_of(rng, prompts, normal, np.zeros((4, 5)), SD)
            judged = scores[:, :, :, None, None] + SEVERITY[:, None]
            judged = judged + 0.8 * rng.normal(size=judged.shape)
            filtered = rng.random(prompts) < chance
            judged[:, 3, filtered, :, 6:] = np.nan
            options = {
                "targets": ["target"], "conditions": ["baseline", *FRAMINGS],
                "dimensions": DIMENSIONS, "scale": (-90, 110), "flips": FLIPS, "seed": study,
            }  # fmt: skip
            found = degradation(judged, models=MODELS, **options)
            cells = [c for c in dimension_cells(found) if c.condition == FRAMINGS[2]]
            changed.append(float(any(c.verdict == "changed" for c in dimension_cells(found))))
            covered.append(float(np.mean([c.delta.covers(0) for c in cells])))
            kept.append(cells[0].delta.n / prompts)
            whoever = degradation(np.nanmean(judged, axis=(3, 4)), **options)
            naive.append(float(any(c.verdict == "changed" for c in dimension_cells(whoever))))
        world = f"unchanged target, one of three models refuses {name} under one framing"
        row = partial(Row, f"{world} ({len(changed)} studies)", prompts)
        yield row("some cell changed, common judges", *share(changed), "≤", ALPHA)
        yield row("coverage of that framing's intervals", *share(covered), "=", 0.95)
        yield row("share of prompts kept", *share(kept))
        yield row("some cell changed, whoever scored", *share(naive))


def missing_votes(studies: int, rng: np.random.Generator, prompts: int) -> Iterator[Row]:
    """Yields what votes missing at random leave: 0.8 points lost under one framing, 0 elsewhere."""
    planted = np.zeros((4, 5))
    planted[2] = 0.8
    for personas, models in ((10, 3), (5, 3), (10, 1)):
        of_judge = tuple(f"model {k}" for k in range(models)) * personas
        for percent in (0, 10, 20, 30, 50):
            kept, found, wrong, covered = [], [], [], []
            for study in range(max(studies // 10, 20)):
                scores = scores_of(rng, prompts, normal, planted, SD)
                severity = 0.7 * rng.normal(size=(len(of_judge), 1))
                judged = scores[:, :, :, None, None] + severity
                judged = judged + 0.8 * rng.normal(size=judged.shape)
                judged[rng.random(judged.shape[:-1]) < percent / 100] = np.nan
                one = degradation(
                    judged, targets=["target"], conditions=["baseline", *FRAMINGS],
                    dimensions=DIMENSIONS, models=of_judge, scale=(-90, 110), flips=FLIPS,
                    seed=study,
                )  # fmt: skip
                cell = one.cell("target", FRAMINGS[2], None)
                kept.append(cell.delta.n / prompts)
                found.append(float(cell.verdict == "changed"))
                others = [c for c in dimension_cells(one) if c.condition != FRAMINGS[2]]
                wrong.append(float(any(c.verdict == "changed" for c in others)))
                covered.append(
                    float(np.mean([c.delta.covers(0) for c in others if c.delta.has_interval]))
                )
            world = f"{percent}% of votes missing at random, {personas} x {models} judges"
            row = partial(Row, f"{world} ({len(kept)} studies)", prompts)
            yield row("share of prompts kept", *share(kept))
            yield row("0.8 points called changed", *share(found))
            yield row("some unchanged cell called changed", *share(wrong), "≤", ALPHA)
            yield row("coverage of unchanged cells", *share(covered), "=", 0.95)


def uneven(studies: int, rng: np.random.Generator, prompts: int) -> Iterator[Row]:
    """Yields the error where prompts change by skewed amounts of mean 0: no symmetric null."""
    changed, most, covered = [], [], []
    for one in studies_of(studies, rng, prompts, effects=skewed):
        cells = dimension_cells(one)
        changed.append(float(any(c.verdict == "changed" for c in cells)))
        most.append(float(any(c.p_max_t <= ALPHA for c in cells)))
        covered.append(float(np.mean([c.delta.covers(0) for c in cells])))
    row = partial(Row, "mean change 0, skewed from prompt to prompt", prompts)
    yield row("some cell changed, Holm", *share(changed), "≤", ALPHA)
    yield row("some cell changed, max-T", *share(most), "≤", ALPHA)
    yield row("coverage of the 95% intervals", *share(covered), "=", 0.95)


WORLDS: tuple[partial[Iterator[Row]], ...] = (
    *(
        partial(unchanged, prompts=n, draw=normal, name="unchanged, normal errors")
        for n in (9, 20, 30, 100)
    ),
    *(
        partial(unchanged, prompts=n, draw=skewed, name="unchanged, skewed errors")
        for n in (9, 20, 100)
    ),
    partial(planted, prompts=20, draw=normal),
    partial(planted, prompts=30, draw=normal),
    partial(planted, prompts=20, draw=skewed),
    partial(at_margin, prompts=20, draw=normal),
    partial(at_margin, prompts=20, draw=skewed),
    partial(wavering_judges, prompts=20),
    partial(uneven, prompts=20),
    partial(rare, prompts=20),
    partial(rare, prompts=60),
    partial(missing_judges, prompts=20),
    partial(missing_votes, prompts=30),
)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="kind of world: unchanged, planted, at_margin, …")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [
        "| world | prompts | figure | value ± Monte Carlo error | should be | significantly off |",
        "|---|---|---|---|---|---|",
    ]
    rows: list[Row] = []
    print(*lines, sep="\n", flush=True)
    for k, world in enumerate(WORLDS):
        if options.only and world.func.__name__ != options.only:
            continue
        started = time.monotonic()
        for row in world(options.studies, np.random.default_rng([options.seed, k])):
            rows.append(row)
            lines.append(row.markdown())
            print(lines[-1], flush=True)
        print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    judged = [row for row in rows if row.rule]
    off = sum(row.is_off() == "yes" for row in judged)
    lines.append("")
    lines.append(
        f"{options.studies} studies a line, seed {options.seed}. Of {len(judged)} figures with a "
        f"value to meet, {off} are significantly off at .05; about {0.05 * len(judged):.0f} would "
        "be by chance."
    )
    print(*lines[-2:], sep="\n")
    if options.out:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
