"""How likely a good judge is to pass the rank alt-test on data of this size."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import stats

from .alt_test import FALSE_DISCOVERY_RATE, FEWEST_PROMPTS, PASSING_RATE
from .alt_test_scores import RankBlocks, winning_rates

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

BATCH: Final = 250
"""Worlds simulated at once."""
PAIRS_AT_ONCE: Final = 2_000_000
MOST_PAIRS: Final = 40_000_000
FEWEST_WORLDS: Final = 50


def simulate_power(
    table: Floats,
    judged: npt.NDArray[np.bool_],
    groups: Integers,
    *,
    epsilon: float,
    worlds: int = 500,
    seed: int = 0,
) -> tuple[float, float]:
    """Returns the probability of passing for a judge equal to a human, and for one who knows.

    Raters see quality plus noise, both normal, with correlation r = sin(pi t / 2) between raters,
    t their mean pairwise within-prompt tau; scores have no ties. Monte Carlo error of 500 worlds
    is at most .022. nan where t is undefined, or not positive: raters who have nothing in common
    cannot be represented.

    Args:
        table: shape (raters, items); which cells are missing is carried over.
        judged: shape (items,), items that the judge has.
        groups: shape (items,), prompt codes from 0.
        epsilon: as in `alt_test`.
        worlds: simulated worlds.
        seed: of the simulation.
    """
    from .kendall import mean_pairwise_tau

    nan = float("nan")
    tau = mean_pairwise_tau(table, groups).value
    if not tau > 0:
        return nan, nan
    correlation = np.sin(np.pi * min(tau, 0.999) / 2)
    noise = np.sqrt(1 / correlation - 1)
    rng = np.random.default_rng(seed)
    there = np.isfinite(table)
    blocks = RankBlocks(there, judged, groups)
    _, item = np.nonzero(there)
    size = max(blocks.n_pairs, len(item), 1)
    worlds = min(worlds, max(FEWEST_WORLDS, MOST_PAIRS // size))
    at_once = max(1, min(BATCH, PAIRS_AT_ONCE // size))
    passed = np.zeros(2)
    for start in range(0, worlds, at_once):
        batch = min(at_once, worlds - start)
        quality = rng.normal(size=(batch, table.shape[1]))
        ratings = quality[:, item] + noise * rng.normal(size=(batch, len(item)))
        human = quality + noise * rng.normal(size=quality.shape)
        for which, judge in enumerate((human, quality)):
            d, _ = blocks.differences(judge, ratings)
            passed[which] += (_rates(d, epsilon) >= PASSING_RATE).sum()
    return float(passed[0] / worlds), float(passed[1] / worlds)


def _rates(d: Floats, epsilon: float) -> Floats:
    """Returns the winning rate of every world from differences (worlds, raters, prompts)."""
    n = np.isfinite(d[0]).sum(axis=1)
    d = d[:, n >= FEWEST_PROMPTS]
    n = n[n >= FEWEST_PROMPTS].astype(np.float64)
    if d.shape[1] == 0:
        return np.zeros(len(d))
    mean = np.nansum(d, axis=2) / n
    spread = np.sqrt(np.nansum((d - mean[:, :, None]) ** 2, axis=2) / (n - 1))
    varies = spread > 1e-12
    t = (mean - epsilon) / np.where(varies, spread / np.sqrt(n), 1.0)
    flat = np.where(mean >= epsilon, 1.0, 0.5**n)
    return winning_rates(np.where(varies, stats.t.cdf(t, n - 1), flat), FALSE_DISCOVERY_RATE)
