"""Measures the intervals of a prompt set's statistics over simulated sets.

Run: python benchmarks/simulate_prompt_statistics.py [--worlds 4000] [--seed 1] [--out FILE]
Prints a Markdown table: coverage of the 95% intervals of functional diversity (mean over scenarios,
and across three generators) and of the pass rate, each with its Monte Carlo error, and the mean
standard error against the standard deviation of the estimates. Beside the interval that is used
stands the plain one (mean ± t SE), which the paper's "± SE" suggests.

A world: each scenario has its own tendency to give equivalent pairs (a Beta draw), and a bundle of
five prompts falls into groups that demand the same work, so that its ten pairs are as dependent as
equivalence makes them: with a tendency t, each prompt joins an earlier one with probability t.
Quality is alike: each scenario has its own chance that a prompt passes. Some bundles are refused.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from areopagus.aggregation.clustered import bounded_mean, clustered_rate
from areopagus.aggregation.estimate import Estimate

PROMPTS = 5
PAIRS = PROMPTS * (PROMPTS - 1) / 2
REFUSED = 0.1
LARGE = 400_000


@dataclass(frozen=True)
class Row:
    """One figure of the table: the world, its scenarios, and what was measured over the worlds."""

    statistic: str
    world: str
    scenarios: int
    truth: float
    coverage: float
    error: float
    defined: float
    plain: float
    ratio: float

    def is_off(self) -> str:
        """Returns whether coverage is significantly below .95 (at .05, by itself)."""
        return "below" if (self.coverage - 0.95) / self.error < -1.645 else "no"

    def markdown(self) -> str:
        """Returns the table's line."""
        return (
            f"| {self.statistic} | {self.world} | {self.scenarios} | {self.truth:.3f} | "
            f"{self.coverage:.3f} ± {self.error:.3f} | {self.is_off()} | {self.defined:.3f} | "
            f"{self.plain:.3f} | {self.ratio:.3f} |"
        )


def grouped(rng: np.random.Generator, tendency: np.ndarray) -> np.ndarray:
    """Returns the number of equivalent pairs in a bundle of five, one for each tendency."""
    shape = (*tendency.shape, PROMPTS)
    groups = np.zeros(shape, dtype=np.int64)
    joins = rng.random(shape) < tendency[..., None]
    earlier = rng.random(shape)
    for place in range(1, PROMPTS):
        chosen = (earlier[..., place] * place).astype(np.int64)
        joined = np.take_along_axis(groups, chosen[..., None], axis=-1)[..., 0]
        groups[..., place] = np.where(joins[..., place], joined, place)
    same = groups[..., :, None] == groups[..., None, :]
    return (same.sum(axis=(-1, -2)) - PROMPTS) / 2


def diversity(rng: np.random.Generator, a: float, b: float, n: int) -> np.ndarray:
    """Returns one FD a scenario."""
    return 1 - grouped(rng, rng.beta(a, b, size=n)) / PAIRS


def across(rng: np.random.Generator, a: float, b: float, n: int) -> np.ndarray:
    """Returns one FD a scenario, the mean over three pairs of generators with 25 pairs each.

    The three share the scenario's tendency, and each has a part of its own.
    """
    tendency = rng.beta(a, b, size=n)
    own = np.clip(tendency[:, None] + rng.normal(0, 0.05, size=(n, 3)), 0, 1)
    return 1 - (rng.binomial(25, own) / 25).mean(axis=1)


def world_rows(
    name: str,
    statistic: str,
    draw: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]],
    truth: float,
    sizes: tuple[int, ...],
    worlds: int,
    rng: np.random.Generator,
) -> list[Row]:
    """Returns one row a number of scenarios; `draw` gives successes and trials of that many."""
    rows = []
    for n in sizes:
        hits = plain = defined = 0
        values, errors = np.empty(worlds), np.empty(worlds)
        for world in range(worlds):
            y, m = draw(rng, n)
            found: Estimate = (
                bounded_mean(y) if statistic.startswith("FD") else clustered_rate(y, m)
            )
            low, high = found.low, found.high
            values[world], errors[world] = found.value, found.se
            if math.isnan(low):
                continue
            defined += 1
            hits += low <= truth <= high
            reach = float(stats.t.ppf(0.975, found.n - 1)) * found.se
            plain += bool(abs(found.value - truth) <= reach)
        coverage = hits / defined
        rows.append(
            Row(
                statistic, name, n, truth, coverage,
                math.sqrt(max(coverage * (1 - coverage), 0.95 * 0.05) / defined),
                defined / worlds, plain / defined,
                float(np.nanmean(errors) / np.nanstd(values)) if np.nanstd(values) else math.nan,
            )
        )  # fmt: skip
    return rows


def passes(rng: np.random.Generator, n: int, a: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    """Returns passed prompts and decided prompts, one a scenario; a refused bundle has none."""
    trials = np.where(rng.random(n) < REFUSED, 0, PROMPTS)
    return rng.binomial(trials, rng.beta(a, b, size=n)).astype(float), trials.astype(float)


def main(arguments: list[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    started = time.monotonic()
    rng = np.random.default_rng(options.seed)
    sizes = (12, 33, 343)
    rows: list[Row] = []
    for name, (a, b) in {
        "much overlap": (2.0, 3.0),
        "some overlap": (1.0, 6.0),
        "near the ceiling": (0.3, 12.0),
        "one in twelve departs": (0.1, 3.0),
    }.items():
        truth = float(diversity(rng, a, b, LARGE).mean())
        rows += world_rows(
            name, "FD within",
            lambda r, n, a=a, b=b: (diversity(r, a, b, n), np.ones(n)),
            truth, sizes, options.worlds, rng,
        )  # fmt: skip
        truth = float(across(rng, a, b, LARGE).mean())
        rows += world_rows(
            name, "FD across",
            lambda r, n, a=a, b=b: (across(r, a, b, n), np.ones(n)),
            truth, sizes, options.worlds, rng,
        )  # fmt: skip
    for name, (a, b) in {"86% pass": (6.0, 1.0), "98% pass": (12.0, 0.25)}.items():
        truth = a / (a + b)
        rows += world_rows(
            name, "pass rate",
            lambda r, n, a=a, b=b: passes(r, n, a, b),
            truth, sizes, options.worlds, rng,
        )  # fmt: skip
    lines = [
        (
            "| statistic | world | scenarios | truth | coverage of .95 | off | defined | ± t SE | "
            "mean SE / SD |"
        ),
        "|---|---|---:|---:|---:|---|---:|---:|---:|",
        *(row.markdown() for row in rows),
    ]
    text = "\n".join(lines)
    print(text)
    print(f"\n{options.worlds:,} worlds a row, {time.monotonic() - started:.0f} s", file=sys.stderr)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
