"""Measures what becomes of incomplete rankings: the order that is made of them, and W.

Run: python benchmarks/simulate_rankings.py [--worlds 1000] [--seed 1] [--only NAME …]
Every line gives a figure, its Monte Carlo error, and the worlds it rests on.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from areopagus.aggregation.concordance import concordance
from areopagus.aggregation.kendall import kendall_tau_b
from areopagus.aggregation.ranking import plackett_luce
from areopagus.aggregation.ratings import ratings_of_table
from areopagus.study.design import rotated_sets

Lines = Iterator[tuple[str, float, float]]
PROMPTS, POOL, NOISE = 10, 6, 1.0

Shown = Callable[[np.random.Generator, np.ndarray, int], np.ndarray]


def at_random(rng: np.random.Generator, quality: np.ndarray, rater: int) -> np.ndarray:
    """Four of six, drawn."""
    return rng.permutation(POOL)[:4]


def in_rotation(rng: np.random.Generator, quality: np.ndarray, rater: int) -> np.ndarray:
    """Three of six, so that with ten raters each pair meets in two of them."""
    blocks = ("012", "013", "024", "035", "045", "125", "134", "145", "234", "235")
    return np.array([int(one) for one in blocks[rater % 10]])


def of_many_sizes(rng: np.random.Generator, quality: np.ndarray, rater: int) -> np.ndarray:
    """Two to six of six, drawn."""
    return rng.permutation(POOL)[: 2 + rater % 5]


def in_company(rng: np.random.Generator, quality: np.ndarray, rater: int) -> np.ndarray:
    """Half of the raters see the better, half the worse ones, and one of the others."""
    order = np.argsort(quality + 0.5 * rng.normal(size=POOL))
    own = order[:3] if rater % 2 else order[3:]
    rest = order[3:] if rater % 2 else order[:3]
    return np.append(own, rng.choice(rest))


DESIGNS: dict[str, tuple[Shown, int]] = {
    "four of six at random, 5 raters": (at_random, 5),
    "four of six at random, 10 raters": (at_random, 10),
    "three of six in rotation, 10 raters": (in_rotation, 10),
    "two to six of six, 5 raters": (of_many_sizes, 5),
    "two to six of six, 10 raters": (of_many_sizes, 10),
    "sorted company, 6 raters": (in_company, 6),
    "sorted company, 12 raters": (in_company, 12),
}


def _ranks(seen: np.ndarray, step: float) -> np.ndarray:
    """Ranks of each row, 1 the best; qualities within a step are tied."""
    rounded = np.round(seen / step) if step else seen
    ranks = np.full(seen.shape, np.nan)
    for row, values in enumerate(rounded):
        there = ~np.isnan(values)
        ranks[row, there] = stats.rankdata(-values[there], method="min")
    return ranks


def _mid(row: np.ndarray) -> np.ndarray:
    found = np.full(row.shape, np.nan)
    there = ~np.isnan(row)
    found[there] = stats.rankdata(row[there])
    return found


def _mean(table: np.ndarray) -> np.ndarray:
    n = (~np.isnan(table)).sum(axis=0)
    return np.divide(np.nansum(table, axis=0), n, out=np.full(table.shape[1], np.nan), where=n > 0)


def raw(ranks: np.ndarray) -> np.ndarray:
    """Means of the ranks as given."""
    return -_mean(ranks)


def _sizes(ranks: np.ndarray) -> np.ndarray:
    return (~np.isnan(ranks)).sum(axis=1, keepdims=True)


def by_half(ranks: np.ndarray) -> np.ndarray:
    """Means of (rank - 1/2) / k."""
    return -_mean((np.apply_along_axis(_mid, 1, ranks) - 0.5) / _sizes(ranks))


def by_one_more(ranks: np.ndarray) -> np.ndarray:
    """Means of rank / (k + 1)."""
    return -_mean(np.apply_along_axis(_mid, 1, ranks) / (_sizes(ranks) + 1))


def additive(ranks: np.ndarray) -> np.ndarray:
    """Response + rater, least squares, of rank / (k + 1)."""
    k = _sizes(ranks)
    scores = np.nan_to_num(0.5 - np.apply_along_axis(_mid, 1, ranks) / (k + 1))
    there = (~np.isnan(ranks)).astype(float)
    inside = there.T @ (there / k)
    return np.linalg.pinv(np.diag(there.sum(axis=0)) - inside) @ scores.sum(axis=0)


def fitted(ranks: np.ndarray) -> np.ndarray:
    """Plackett-Luce where it has a maximum, else means of rank / (k + 1)."""
    fit = plackett_luce(ranks)
    return fit.log_worth if fit.connected and fit.converged else by_one_more(ranks)


def ridged(ranks: np.ndarray) -> np.ndarray:
    """Plackett-Luce with a normal prior of standard deviation 2."""
    return plackett_luce(ranks, ridge_sd=2.0).log_worth


RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "raw ranks": raw,
    "(rank - 1/2) / k": by_half,
    "rank / (k + 1)": by_one_more,
    "response + rater": additive,
    "Plackett-Luce, else rank / (k + 1)": fitted,
    "Plackett-Luce, ridge": ridged,
}


def orders(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the mean tau within prompts between what each rule makes and the true order."""
    for name, (shown, raters) in DESIGNS.items():
        for step in (0.0, 1.0):
            taus: dict[str, list[float]] = {rule: [] for rule in RULES}
            without = 0
            for _ in range(worlds):
                truth = rng.normal(size=(PROMPTS, POOL))
                made = {rule: np.zeros((PROMPTS, POOL)) for rule in RULES}
                for prompt, quality in enumerate(truth):
                    seen = np.full((raters, POOL), np.nan)
                    for rater in range(raters):
                        mine = shown(rng, quality, rater)
                        seen[rater, mine] = quality[mine] + NOISE * rng.normal(size=len(mine))
                    ranks = _ranks(seen, step)
                    without += not plackett_luce(ranks).connected
                    for rule, of in RULES.items():
                        made[rule][prompt] = of(ranks)
                group = np.repeat(np.arange(PROMPTS), POOL)
                for rule, values in made.items():
                    flat = np.round(values.ravel(), 9)
                    taus[rule].append(kendall_tau_b(flat, truth.ravel(), group))
            told = f"{name}{', with ties' if step else ''}"
            for rule, found in taus.items():
                yield f"{told}: {rule}", float(np.mean(found)), float(np.std(found))
            share = without / worlds / PROMPTS
            yield f"{told}: prompts without a maximum", share, math.sqrt(share * (1 - share))


def rotations(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields r̄ and how often its p is below .05, in the rotation that the study kit draws.

    Eight prompts of six responses, six raters who see four each; nobody agrees, raters share a
    quality (noise as large as its spread), and the same with every rater on all six.
    """
    names = [str(k) for k in range(POOL)]
    for label, signal in (("nobody agrees", 0.0), ("noise 1", 1.0)):
        for seen in (4, 3, POOL):
            values, rejected, pooled = [], 0, 0
            for world in range(worlds):
                quality = signal * rng.normal(size=8 * POOL)
                table = np.full((6, 8 * POOL), np.nan)
                for prompt in range(8):
                    sets = rotated_sets(names, seen, 6, seed=world, purpose=str(prompt)).sets
                    for rater, chosen in enumerate(sets):
                        mine = prompt * POOL + np.array([int(one) for one in chosen])
                        table[rater, mine] = quality[mine] + rng.normal(size=seen)
                ratings = ratings_of_table(table, prompt=np.repeat(np.arange(8), POOL))
                found = concordance(ratings, seed=world)
                values.append(found.mean_spearman.value)
                rejected += found.p.value <= 0.05
                if found.rotation is not None:
                    pooled += found.rotation.skillings_mack.p <= 0.05
            told = f"{seen} of {POOL} in rotation, {label}"
            yield f"{told}: mean r̄", float(np.mean(values)), float(np.std(values))
            for name, n in (("r̄", rejected), ("Skillings-Mack", pooled)):
                share = n / worlds
                yield f"{told}: p of {name} below .05", share, math.sqrt(share * (1 - share))


STUDIES: dict[str, Callable[[int, np.random.Generator], Lines]] = {
    "orders": orders,
    "rotations": rotations,
}


def main() -> None:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=list(STUDIES), default=list(STUDIES))
    options = parser.parse_args()
    for name in options.only:
        rng = np.random.default_rng(options.seed)
        for label, value, spread in STUDIES[name](options.worlds, rng):
            error = spread / options.worlds**0.5
            print(f"{label:75s} {value:7.4f} (se {error:.4f})", flush=True)


if __name__ == "__main__":
    main()
