"""Incomplete rankings and preferences between two."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np
from scipy import stats
from simulation import covers, simulation

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
)
from areopagus.aggregation.ranking import plackett_luce

SEEN = ("four of six", "three in rotation", "two to six", "sorted company")
BLOCKS = ("012", "013", "024", "035", "045", "125", "134", "145", "234", "235")


def seen_by(rng: np.random.Generator, seen: str, quality: np.ndarray, rater: int) -> list[int]:
    """Which of six responses a rater sees."""
    if seen == "three in rotation":  # with ten raters each pair meets in two of them
        return [int(place) for place in BLOCKS[rater % 10]]
    if seen == "sorted company":  # half see the better, half the worse ones, and one of the others
        order = np.argsort(quality + 0.5 * rng.normal(size=6))
        own, rest = (order[:3], order[3:]) if rater % 2 else (order[3:], order[:3])
        return [*own, rng.choice(rest)]
    return list(rng.permutation(6)[: 4 if seen == "four of six" else 2 + rater % 5])


def scores_by_rule(ranks: np.ndarray) -> dict[str, np.ndarray]:
    """What each rule makes of the ranks of a prompt, shape (raters, 6), nan where not seen."""
    is_there = ~np.isnan(ranks)
    k = is_there.sum(axis=1, keepdims=True)
    shares = stats.rankdata(ranks, axis=1, nan_policy="omit") / (k + 1)
    n = is_there.sum(axis=0)
    with np.errstate(invalid="ignore"):
        by_share = -np.nansum(shares, axis=0) / n
        raw = -np.nansum(ranks, axis=0) / n
    inside = is_there.T @ (is_there / k)
    sums = np.where(is_there, 0.5 - shares, 0).sum(axis=0)
    additive = np.where(n > 0, np.linalg.pinv(np.diag(n) - inside) @ sums, np.nan)
    fit = plackett_luce(ranks)
    has_maximum = fit.connected and fit.converged
    return {
        "raw ranks": raw,
        "rank / (k + 1)": by_share,
        "response + rater": additive,
        "Plackett-Luce": np.asarray(fit.log_worth) if has_maximum else by_share,
        "no maximum": np.array(not has_maximum),
    }


@simulation(worlds=60, seen=SEEN, raters=(5, 10), ties=(False, True))
def incomplete_rankings(
    rng: np.random.Generator, seen: str, raters: int, ties: bool
) -> Mapping[str, float]:
    """Agreement (Somers' d) with the true order of six responses, of which each rater ranks some,
    in ten prompts, by what is made of the ranks. A Plackett-Luce fit without a maximum gives way to
    rank / (k + 1); the last column is the share of such prompts. Ties: ranks of whole points."""
    outcomes: dict[str, list[float]] = {}
    first, second = np.triu_indices(6, k=1)
    for _ in range(10):
        quality = rng.normal(size=6)
        points = np.full((raters, 6), np.nan)
        for rater in range(raters):
            places = seen_by(rng, seen, quality, rater)
            points[rater, places] = quality[places] + rng.normal(size=len(places))
        points = np.round(points) if ties else points
        ranks = stats.rankdata(-points, method="min", axis=1, nan_policy="omit")
        rules = scores_by_rule(ranks)
        outcomes.setdefault("no maximum", []).append(float(rules.pop("no maximum")))
        order = np.sign(quality[first] - quality[second])
        for name, values in rules.items():
            mine = np.nan_to_num(np.sign(np.round(values[first] - values[second], 9)))
            outcomes.setdefault(name, []).append(float((mine * order).mean()))
    outcomes["no maximum"] = outcomes.pop("no maximum")  # the last column
    return {name: float(np.mean(values)) for name, values in outcomes.items()}


def compared(
    rng: np.random.Generator, prompts: int, noise: float
) -> tuple[Preferences, np.ndarray]:
    """Every pair of four responses by three raters, noise 1, and the scores of a judge."""
    quality = rng.normal(size=(prompts, 4))
    points = quality + rng.normal(size=(3, prompts, 4))
    rater, prompt, pair = (axis.ravel() for axis in np.indices((3, prompts, 6)))
    a, b = (places[pair] for places in np.triu_indices(4, k=1))
    won = (points[rater, prompt, a] > points[rater, prompt, b]).astype(float)
    preferences = make_preferences("overall", rater, prompt, 4 * prompt + a, 4 * prompt + b, won)
    return preferences[0], (quality + noise * rng.normal(size=quality.shape)).ravel()


@functools.cache
def large_sample(noise: float) -> tuple[float, float]:
    """Kappa of raters and accuracy of a judge in a very large sample."""
    preferences, scores = compared(np.random.default_rng(1), 30_000, noise)
    kappa = preference_agreement(preferences).kappa.value
    return kappa, preference_accuracy(preferences, scores).accuracy.value


JUDGES = {"error-free": 0.0, "like one rater": 1.0, "a third": 3.95}


@simulation(worlds=200, judge=JUDGES, prompts=(9, 26, 100))
def preferences(rng: np.random.Generator, judge: float, prompts: int) -> Mapping[str, float]:
    """Three raters compare every pair of four responses, with noise as large as the spread of
    quality. A judge is error-free, has a rater's noise, or a third of a rater's accuracy above
    chance. Coverage of the raters' kappa, of the judge's accuracy, and of its difference from one
    more rater where it is 0; verdicts; how often it exceeds the raters' ceiling."""
    kappa, accuracy = large_sample(judge)
    answers, scores = compared(rng, prompts, judge)
    agreed = preference_agreement(answers)
    of_judge = preference_accuracy(answers, scores).accuracy
    difference = choices_beside_one_person(answers, scores).difference
    outcomes = {"kappa": covers(agreed.kappa, kappa), "accuracy": covers(of_judge, accuracy)}
    if judge == 1.0:
        outcomes["difference"] = covers(difference, 0.0)
    outcomes |= {word: float(difference.verdict == word) for word in (BETTER, AT_LEAST_HALF, WORSE)}
    return outcomes | {"above ceiling": float(of_judge.value > agreed.ceiling.value)}
