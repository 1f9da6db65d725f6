"""Statistics of calibration against the plain loop over scipy that one would write.

    python benchmarks/statistics_speed.py [--rounds N]

Both on the same data in one run, in seconds (medians). A loop that would take minutes is timed on a
part of its rounds and the time of all of them is told, marked with ~.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from areopagus.aggregation import (
    bootstrap_stratified_tau,
    kendall_tau_b,
    krippendorff_alpha,
    pairwise_tau,
    ratings_of_table,
)

Floats = NDArray[np.float64]
RESAMPLES = 10_000


@dataclass(frozen=True)
class Case:
    """One statistic, ours and the plain way.

    Attributes:
        name: what is worked out, of how much.
        ours, plain: both ways.
        share: part of the whole work that `plain` does.
    """

    name: str
    ours: Callable[[], object]
    plain: Callable[[], object]
    share: float = 1.0


def ratings_of(raters: int, items: int, rng: np.random.Generator) -> Floats:
    """Whole scores from 1 to 10 of raters who agree somewhat."""
    truth = rng.normal(6, 1.5, items)
    found: Floats = np.clip(np.round(truth + rng.normal(0, 1.2, (raters, items))), 1, 10)
    return found


def plain_stratified(x: Floats, y: Floats, groups: NDArray[np.int64]) -> float:
    """tau-b of the pairs within groups, added up from scipy's tau of each group."""
    sums = np.zeros(3)
    for group in np.unique(groups):
        one, other = x[groups == group], y[groups == group]
        pairs = len(one) * (len(one) - 1) / 2
        by_x = pairs - sum(n * (n - 1) / 2 for n in np.unique(one, return_counts=True)[1])
        by_y = pairs - sum(n * (n - 1) / 2 for n in np.unique(other, return_counts=True)[1])
        if by_x and by_y:
            tau = stats.kendalltau(one, other).statistic
            sums += tau * np.sqrt(by_x * by_y), by_x, by_y
        else:
            sums += 0, by_x, by_y
    return float(sums[0] / np.sqrt(sums[1] * sums[2]))


def plain_bootstrap(x: Floats, y: Floats, groups: NDArray[np.int64], times: int) -> Floats:
    """Whole groups drawn again, one resample after the other."""
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(groups == group) for group in np.unique(groups)]
    drawn = np.empty(times)
    for index in range(times):
        picked = [rows[number] for number in rng.integers(0, len(rows), len(rows))]
        labels = np.repeat(np.arange(len(picked)), [len(each) for each in picked])
        at = np.concatenate(picked)
        drawn[index] = plain_stratified(x[at], y[at], labels)
    return drawn


def plain_alpha(ratings: Floats) -> float:
    """Krippendorff's interval alpha by its definition, unit by unit and pair by pair."""
    flat = ratings.ravel()
    within = [
        sum((one - other) ** 2 for one, other in combinations(unit, 2)) * 2 / (len(unit) - 1)
        for unit in ratings.T.tolist()
    ]
    among = 2 * (flat.size * (flat**2).sum() - flat.sum() ** 2) / 2
    return float(1 - sum(within) / flat.size / (2 * among / flat.size / (flat.size - 1)))


def plain_pairs(ratings: Floats) -> float:
    """scipy's tau of every pair of raters."""
    taus = [stats.kendalltau(one, other).statistic for one, other in combinations(ratings, 2)]
    return float(np.mean(taus))


def cases() -> list[Case]:
    """What is timed."""
    rng = np.random.default_rng(1)
    listed: list[Case] = []
    for items in (156, 5_000):
        x, y = ratings_of(2, items, rng)
        groups = np.arange(items) // 6
        times = 200 if items == 156 else 5
        listed.append(
            Case(
                f"stratified tau, {RESAMPLES:,} resamples, {items:,} responses",
                lambda x=x, y=y, g=groups: bootstrap_stratified_tau(  # type: ignore[misc]
                    x, y, g, resamples=RESAMPLES
                ),
                lambda x=x, y=y, g=groups, t=times: plain_bootstrap(x, y, g, t),  # type: ignore[misc]
                times / RESAMPLES,
            )
        )
    x, y = ratings_of(2, 5_000, rng)
    groups = np.arange(5_000) // 6
    listed.append(
        Case(
            "stratified tau itself, 5,000 responses",
            lambda: kendall_tau_b(x, y, groups),
            lambda: plain_stratified(x, y, groups),
        )
    )
    many = ratings_of(30, 1_000, rng)
    six = np.arange(1_000) // 6
    listed += [
        Case(
            "mean tau of 30 raters within prompts, 1,000 items",
            lambda: pairwise_tau(ratings_of_table(many, six)),
            lambda: [plain_stratified(a, b, six) for a, b in list(combinations(many, 2))[:20]],
            20 / 435,
        ),
        Case(
            "mean tau of 30 raters over all of 1,000 items",
            lambda: pairwise_tau(ratings_of_table(many)),
            lambda: plain_pairs(many),
        ),
        Case(
            "alpha (interval), 30 raters, 1,000 items",
            lambda: krippendorff_alpha(many, "interval"),
            lambda: plain_alpha(many),
        ),
    ]
    return listed


def seconds(work: Callable[[], object], rounds: int) -> float:
    """The median of some rounds."""
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def main() -> None:
    """Prints a line a statistic."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(f"{'':54}{'ours s':>9}{'plain s':>10}{'ratio':>9}")
    for case in cases():
        ours = seconds(case.ours, options.rounds)
        plain = seconds(case.plain, 1) / case.share
        mark = "~" if case.share < 1 else " "
        print(f"{case.name:54}{ours:9.4f}{mark}{plain:9.3f}{plain / ours:9.1f}", flush=True)


if __name__ == "__main__":
    main()
