"""Measures coverage and size of the intervals and tests of agreement by simulation.

Run: python benchmarks/simulate_agreement.py --worlds 2000 --seed 1
Prints one line a figure, with its Monte Carlo standard error. The figures stand in the docstrings
of `areopagus.aggregation`.
"""

import argparse
import math

import numpy as np
from scipy import stats

from areopagus.aggregation.equivalence import tost
from areopagus.aggregation.intervals import t_interval
from areopagus.aggregation.kendall import bootstrap_stratified_tau
from areopagus.aggregation.multiplicity import holm, max_t
from areopagus.aggregation.sign_flips import sign_flip_test

RESAMPLES = 999


def report(name: str, hits: list[bool]) -> None:
    """Prints a share and its Monte Carlo standard error."""
    share = sum(hits) / len(hits)
    error = math.sqrt(max(share * (1 - share), 1 / len(hits) ** 2) / len(hits))
    print(f"{name:70s} {share:.3f} ± {error:.3f}  ({len(hits)} worlds)")


def correlated(rng: np.random.Generator, rho: np.ndarray, size: int) -> tuple[np.ndarray, ...]:
    """Returns normal x and y, shape (prompts, size), with each prompt's own correlation."""
    x = rng.normal(size=(rho.size, size))
    y = rho[:, None] * x + np.sqrt(1 - rho[:, None] ** 2) * rng.normal(size=x.shape)
    return x, y


def coverage_of_t(rng: np.random.Generator, worlds: int) -> None:
    """t intervals of the mean of per-prompt values, normal and skewed."""
    for n in (6, 10, 26):
        for shape in ("normal", "exponential"):
            hits = []
            for _ in range(worlds):
                values = rng.normal(size=n) if shape == "normal" else rng.exponential(size=n) - 1
                interval = t_interval(values)
                hits.append(interval.low <= 0 <= interval.high)
            report(f"t interval, {n} prompts, {shape} values", hits)


def coverage_of_tau(rng: np.random.Generator, worlds: int) -> None:
    """Cluster bootstrap of the stratified tau; correlations vary between prompts."""
    # E tau over prompts, correlation uniform in [.3, .9]: the mean of (2/π) asin(ρ).
    grid = np.linspace(0.3, 0.9, 20_001)
    truth = float((2 / math.pi * np.arcsin(grid)).mean())
    for n in (11, 26, 50):
        hits, refused = [], 0
        for _ in range(worlds):
            x, y = correlated(rng, rng.uniform(0.3, 0.9, n), 6)
            groups = np.repeat(np.arange(n), 6)
            interval = bootstrap_stratified_tau(
                x.ravel(), y.ravel(), groups, resamples=RESAMPLES, rng=rng
            )
            if interval.reason is None:
                hits.append(interval.low <= truth <= interval.high)
            refused += interval.reason is not None
        report(f"stratified tau, bootstrap-t, {n} prompts of 6", hits)
        print(f"    refused: {refused}")


def size_of_tests(rng: np.random.Generator, worlds: int) -> None:
    """Rejections at .05 where there is nothing to find."""
    flips, skewed, equivalent = [], [], []
    for _ in range(worlds):
        flips.append(sign_flip_test(rng.normal(size=10)).p <= 0.05)
        skewed.append(sign_flip_test(rng.exponential(size=10) - 1).p <= 0.05)
        equivalent.append(tost(rng.normal(0.5, 0.5, size=10), 0.5).verdict == "inside")
    report("sign flip, 10 prompts, normal", flips)
    report("sign flip, 10 prompts, skewed (not symmetric about 0)", skewed)
    report("tost, 10 prompts, true difference at the margin", equivalent)


def family_wise_error(rng: np.random.Generator, worlds: int) -> None:
    """Any rejection over 4 conditions x 5 dimensions with a shared baseline, nothing to find."""
    found: dict[str, list[bool]] = {"raw": [], "holm": [], "max-t": []}
    for _ in range(worlds):
        baseline = rng.normal(size=(10, 1, 5))
        values = (baseline - rng.normal(size=(10, 4, 5))).reshape(10, 20)
        p = stats.ttest_1samp(values, 0).pvalue
        found["raw"].append(bool((p <= 0.05).any()))
        found["holm"].append(bool((holm(p) <= 0.05).any()))
        found["max-t"].append(bool((max_t(values).p_adjusted <= 0.05).any()))
    for name, mine in found.items():
        report(f"family-wise error over 20 cells, 10 prompts, {name}", mine)


def main() -> None:
    """Runs all simulations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", type=int, default=2000, help="simulated data sets a figure")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    print(f"seed {arguments.seed}, {RESAMPLES} resamples")
    coverage_of_t(rng, arguments.worlds)
    coverage_of_tau(rng, arguments.worlds)
    size_of_tests(rng, arguments.worlds)
    family_wise_error(rng, arguments.worlds)


if __name__ == "__main__":
    main()
