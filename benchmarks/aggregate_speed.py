"""Times the aggregation of a large run against a plain Python loop.

Run: python benchmarks/aggregate_speed.py [--responses 100000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time

import numpy as np
from numpy.typing import NDArray

from areopagus.aggregation.ensemble import aggregate_panel


def plain_loop(scores: NDArray[np.float64], persona: list[int], model: list[int]) -> list[float]:
    """Returns composites, computing mean, median, SD and facet means one response at a time."""
    composites = []
    for response in scores.tolist():
        kept = [(j, row) for j, row in enumerate(response) if row[0] == row[0]]
        if not kept:
            composites.append(float("nan"))
            continue
        judge_composites = [sum(row) / len(row) for _, row in kept]
        columns = [judge_composites, *([row[k] for _, row in kept] for k in range(len(kept[0][1])))]
        for column in columns:
            statistics.median(column)
            statistics.fmean(column)
            if len(column) > 1:
                statistics.stdev(column)
            ordered = sorted(column)
            cut = len(ordered) // 10
            statistics.fmean(ordered[cut : len(ordered) - cut])
        for codes in (persona, model):
            groups: dict[int, list[float]] = {}
            for (j, _), value in zip(kept, judge_composites, strict=True):
                groups.setdefault(codes[j], []).append(value)
            for group in groups.values():
                statistics.fmean(group)
        composites.append(statistics.fmean(judge_composites))
    return composites


def main() -> None:
    """Prints the median time, the peak memory and the ratio to the loop on a subsample."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--responses", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--subsample", type=int, default=2_000)
    options = parser.parse_args()
    rng = np.random.default_rng(7)
    personas, models, criteria = 10, 3, 5
    persona, model = np.divmod(np.arange(personas * models), models)
    axis = np.where(persona < 5, "disciplinary", "ideological").tolist()
    scores = rng.integers(1, 11, (options.responses, personas * models, criteria)).astype(float)
    scores[rng.random(scores.shape[:2]) < 0.03] = np.nan

    times = []
    for _ in range(options.rounds):
        start = time.perf_counter()
        found = aggregate_panel(
            scores, persona=persona, model=model, axis=axis, scale=(1, 10), planned=30
        )
        times.append(time.perf_counter() - start)
    vectorised = statistics.median(times)
    start = time.perf_counter()
    loop = plain_loop(scores[: options.subsample], persona.tolist(), model.tolist())
    looped = (time.perf_counter() - start) / options.subsample * options.responses
    enough = ~found.inconclusive[: options.subsample]
    gap = np.abs(np.asarray(loop) - found.composite[: options.subsample])[enough].max()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.responses} responses x {personas * models} judges x {criteria} criteria")
    print(f"aggregate_panel: {vectorised:.2f} s (median of {options.rounds}), intervals included")
    print(
        f"plain loop, without intervals: {looped:.1f} s (scaled up), "
        f"ratio {looped / vectorised:.0f}"
    )
    print(f"largest difference of a composite: {gap:.1e}; peak memory {peak:.0f} MB")


if __name__ == "__main__":
    main()
