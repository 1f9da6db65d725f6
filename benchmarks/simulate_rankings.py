"""Measures what becomes of incomplete rankings and of preferences between two.

Run: python benchmarks/simulate_rankings.py [--worlds 1000] [--seed 1] [--only NAME …]
Every line gives a figure, its Monte Carlo error, and the worlds it rests on.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from areopagus.aggregation.one_more_person import (
    AT_LEAST_HALF,
    BETTER,
    WORSE,
    choices_beside_one_person,
)
from areopagus.aggregation.preferences import (
    Preferences,
    make_preferences,
    preference_accuracy,
    preference_agreement,
    worths,
)
from areopagus.aggregation.ranking import plackett_luce

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


RULES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "raw ranks": raw,
    "(rank - 1/2) / k": by_half,
    "rank / (k + 1)": by_one_more,
    "response + rater": additive,
}


FITTED = "Plackett-Luce, else rank / (k + 1)"


def agreement(made: np.ndarray, truth: np.ndarray) -> float:
    """Returns Somers' d within prompts: ties, and responses that nobody ranked, are no order."""
    first, second = np.triu_indices(truth.shape[1], k=1)
    mine = np.nan_to_num(np.sign(np.round(made[:, first] - made[:, second], 9)))
    return float((mine * np.sign(truth[:, first] - truth[:, second])).mean())


def orders(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the mean agreement (Somers' d) of what each rule makes with the true order."""
    for name, (shown, raters) in DESIGNS.items():
        for step in (0.0, 1.0):
            found: dict[str, list[float]] = {rule: [] for rule in (*RULES, FITTED)}
            without = 0
            for _ in range(worlds):
                truth = rng.normal(size=(PROMPTS, POOL))
                made = {rule: np.zeros((PROMPTS, POOL)) for rule in found}
                for prompt, quality in enumerate(truth):
                    seen = np.full((raters, POOL), np.nan)
                    for rater in range(raters):
                        mine = shown(rng, quality, rater)
                        seen[rater, mine] = quality[mine] + NOISE * rng.normal(size=len(mine))
                    ranks = _ranks(seen, step)
                    nobody = np.isnan(ranks).all(axis=0)
                    for rule, of in RULES.items():
                        made[rule][prompt] = np.where(nobody, np.nan, of(ranks))
                    fit = plackett_luce(ranks)
                    has_maximum = fit.connected and fit.converged
                    without += not has_maximum
                    made[FITTED][prompt] = fit.log_worth if has_maximum else by_one_more(ranks)
                for rule, values in made.items():
                    found[rule].append(agreement(values, truth))
            told = f"{name}{', with ties' if step else ''}"
            for rule, values_of in found.items():
                yield f"{told}: {rule}", float(np.mean(values_of)), float(np.std(values_of))
            share = without / worlds / PROMPTS
            yield f"{told}: prompts without a maximum", share, math.sqrt(share * (1 - share))


def _compared(
    rng: np.random.Generator, quality: np.ndarray, noise: float, raters: int
) -> Preferences:
    """Every pair of four responses by every rater, who sees quality with noise a response."""
    prompts = len(quality)
    seen = quality[None] + noise * rng.normal(size=(raters, *quality.shape))
    parts = []
    for a in range(4):
        for b in range(a + 1, 4):
            won = (seen[:, :, a] > seen[:, :, b]).astype(float)
            rater, prompt = np.divmod(np.arange(won.size), prompts)
            parts.append((rater, prompt, 4 * prompt + a, 4 * prompt + b, won.ravel()))
    columns = [np.concatenate(part) for part in zip(*parts, strict=True)]
    return make_preferences("overall", *columns)[0]


def preferences(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields coverage of the intervals, and the verdicts on known judges.

    Three raters with noise 1 as large as the spread of quality compare every pair of four
    responses. A judge like one of them has noise 1, one with a third of a person's accuracy above
    chance noise 3.95; the error-free judge has none.
    """
    judges = {"error-free": 0.0, "like one rater": 1.0, "a third": 3.95}
    quality = rng.normal(size=(100_000, 4))
    large = _compared(rng, quality, 1.0, 3)
    agreed = preference_agreement(large)
    truth = {
        name: preference_accuracy(
            large, (quality + noise * rng.normal(size=quality.shape)).ravel()
        ).accuracy.value
        for name, noise in judges.items()
    }
    yield "large sample: kappa", agreed.kappa.value, 0.0
    yield "large sample: ceiling", agreed.ceiling.value, 0.0
    for name, value in truth.items():
        yield f"large sample: accuracy, {name} judge", value, 0.0
    for prompts in (9, 26, 100):
        hits: Counter[str] = Counter()
        for _ in range(worlds):
            quality = rng.normal(size=(prompts, 4))
            given = _compared(rng, quality, 1.0, 3)
            found = preference_agreement(given)
            hits["kappa covers"] += found.kappa.covers(agreed.kappa.value)
            for name, noise in judges.items():
                scores = (quality + noise * rng.normal(size=quality.shape)).ravel()
                of = preference_accuracy(given, scores)
                hits[f"accuracy covers, {name} judge"] += of.accuracy.covers(truth[name])
                difference = choices_beside_one_person(given, scores).difference
                if noise == 1.0:
                    hits["difference covers"] += difference.covers(0.0)
                for word in (BETTER, AT_LEAST_HALF, WORSE):
                    hits[f"{name} judge: {word}"] += difference.verdict == word
                if noise == 0.0:
                    above = of.accuracy.value > found.ceiling.value
                    hits["error-free judge above the ceiling"] += above
        for name, n in hits.items():
            share = n / worlds
            yield f"{name}, {prompts} prompts", share, math.sqrt(share * (1 - share))


def worth_errors(worlds: int, rng: np.random.Generator) -> Lines:
    """Yields the coverage of the worths of four respondents, log worth .6 .2 -.2 -.6.

    Raters' answers on one prompt share how good each response came out (spread .7), so that
    preferences of one prompt are no independent draws. The worth that is covered is that of a
    large sample.
    """
    lift = np.array([0.6, 0.2, -0.2, -0.6])

    def draw(prompts: int) -> tuple[np.ndarray, ...]:
        quality = lift + 0.7 * rng.normal(size=(prompts, 4))
        parts = []
        for a in range(4):
            for b in range(a + 1, 4):
                apart = np.tile(quality[:, a] - quality[:, b], 3)
                won = np.where(rng.logistic(size=apart.size) < apart, 1.0, 0.0)
                won[rng.random(won.size) < 0.15] = 0.5
                ones = np.ones(apart.size, dtype=np.int64)
                parts.append((a * ones, b * ones, won, np.tile(np.arange(prompts), 3)))
        first, second, won, prompt = (np.concatenate(part) for part in zip(*parts, strict=True))
        return first, second, won, prompt

    first, second, won, prompt = draw(50_000)
    truth = [one.value for one in worths(first, second, won, 4, (prompt % 10).tolist()).log_worth]
    for prompts in (9, 26, 100):
        hits = naive = 0.0
        for _ in range(worlds):
            first, second, won, prompt = draw(prompts)
            found = worths(first, second, won, 4, prompt.tolist()).log_worth
            alone = worths(first, second, won, 4, list(range(len(won)))).log_worth
            hits += np.mean([one.covers(value) for one, value in zip(found, truth, strict=True)])
            naive += np.mean([one.covers(value) for one, value in zip(alone, truth, strict=True)])
        for name, n in (("over prompts", hits), ("over preferences", naive)):
            share = n / worlds
            yield f"worths, error {name}, {prompts} prompts", share, math.sqrt(share * (1 - share))


STUDIES: dict[str, Callable[[int, np.random.Generator], Lines]] = {
    "orders": orders,
    "preferences": preferences,
    "worth_errors": worth_errors,
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
