"""Preferences between two responses: agreement, accuracy and worths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.preferences import (
    Preferences,
    make_preferences,
    pairs_of,
    preference_accuracy,
    preference_agreement,
    worths,
)
from areopagus.aggregation.ranking import plackett_luce


def preferences(rows: list[tuple[int, int, int, int, float]]) -> Preferences:
    """Of rows (rater, prompt, a, b, won by a)."""
    columns = np.array(rows).T
    whole = [column.astype(np.int64) for column in columns[:4]]
    return make_preferences("overall", *whole, columns[4])[0]


def drawn(
    rng: np.random.Generator, quality: np.ndarray, raters: int, tie: float = 0.0
) -> Preferences:
    """All pairs of each prompt (prompts, responses) by raters with logistic noise."""
    prompts, n = quality.shape
    rows = []
    for prompt in range(prompts):
        for a in range(n):
            for b in range(a + 1, n):
                apart = quality[prompt, a] - quality[prompt, b]
                for rater, seen in enumerate(apart + rng.logistic(size=raters)):
                    won = 0.5 if abs(seen) < tie else float(seen > 0)
                    rows.append((rater, prompt, n * prompt + a, n * prompt + b, won))
    return preferences(rows)


def test_a_pair_is_one_pair_whichever_response_stands_first_and_a_repeat_is_counted() -> None:
    rater, prompt = np.array([0, 1, 0]), np.zeros(3, dtype=np.int64)
    made, n_repeated = make_preferences(
        "overall", rater, prompt, np.array([3, 7, 7]), np.array([7, 3, 3]), np.array([1.0, 1, 0.5])
    )
    assert n_repeated == 1
    assert made.won.tolist() == [1.0, 0.0]
    pairs = pairs_of(made)
    assert (pairs.first.tolist(), pairs.second.tolist()) == ([3], [7])
    assert (pairs.up.tolist(), pairs.down.tolist(), pairs.tied.tolist()) == ([1], [1], [0])


def test_agreement_and_accuracy_by_hand() -> None:
    # One pair, four raters: A A B tie. Equal: 2 of 12 ordered pairs of raters. Chance: ties 1/4,
    # (3/4)²/2 + 1/16 = .34375.
    given = preferences([(0, 0, 0, 1, 1), (1, 0, 0, 1, 1), (2, 0, 1, 0, 1), (3, 0, 1, 0, 0.5)])
    found = preference_agreement(given)
    assert (found.n_pairs, found.n_shared, found.n_ties) == (1, 1, 1)
    assert found.equal.value == pytest.approx(1 / 6)
    assert found.kappa.value == pytest.approx((1 / 6 - 0.34375) / (1 - 0.34375))
    assert not found.ceiling.is_defined  # two decided agree in 1 of 3: below one half
    # A judge for the first: right on two of three; one that ties them: one half.
    for scores, expected, n_ties in (([2.0, 1.0], 2 / 3, 0), ([1.0, 1.0], 0.5, 3)):
        accuracy = preference_accuracy(given, np.array(scores))
        assert accuracy.accuracy.value == pytest.approx(expected)
        assert (accuracy.n_decided, accuracy.n_ties) == (3, n_ties)


def test_kappa_without_ties_is_scotts_pi_of_both_ways_of_naming_each_pair() -> None:
    # An independent way: every pair named from both sides, two raters, plain Scott's pi.
    rng = np.random.default_rng(0)
    given = drawn(rng, rng.normal(size=(30, 3)), 2)
    pairs = pairs_of(given)
    agree = float(((pairs.up == 2) | (pairs.down == 2)).mean())
    assert preference_agreement(given).kappa.value == pytest.approx((agree - 0.5) / 0.5)


def test_what_cannot_be_said_has_its_reason() -> None:
    alone = preferences([(0, p, 2 * p, 2 * p + 1, 1) for p in range(8)])
    found = preference_agreement(alone)
    assert found.kappa.reason == found.equal.reason == "no pair was compared by two raters"
    accuracy = preference_accuracy(alone, np.tile([1.0, 0.0], 8))
    assert accuracy.accuracy.value == 1
    tied = preferences([(r, p, 2 * p, 2 * p + 1, 0.5) for p in range(8) for r in range(2)])
    assert preference_agreement(tied).kappa.reason == "every preference is a tie"
    assert not preference_accuracy(tied, np.tile([1.0, 0.0], 8)).accuracy.is_defined
    unscored = preference_accuracy(alone, np.full(16, math.nan))
    assert not unscored.accuracy.is_defined


def test_the_truth_is_no_more_accurate_than_the_ceiling() -> None:
    rng = np.random.default_rng(1)
    over = []
    for _ in range(60):
        quality = rng.normal(size=(40, 4))
        given = drawn(rng, quality, 3)
        found = preference_accuracy(given, quality.ravel())
        agreed = preference_agreement(given)
        over.append(found.accuracy.value - agreed.ceiling.value)
    assert np.mean(over) < 0


def test_worths_are_those_of_davidsons_pudding_and_errors_are_over_clusters() -> None:
    # Davidson (1970): six chocolate puddings; wins of the first, wins of the second, ties.
    pudding = {
        (0, 1): (19, 22, 16), (0, 2): (16, 19, 12), (1, 2): (19, 19, 10), (0, 3): (18, 23, 13),
        (1, 3): (23, 19, 9), (2, 3): (19, 20, 15), (0, 4): (13, 19, 18), (1, 4): (16, 20, 12),
        (2, 4): (16, 15, 17), (3, 4): (17, 14, 16), (0, 5): (18, 21, 12), (1, 5): (22, 20, 12),
        (2, 5): (13, 18, 10), (3, 5): (14, 19, 18), (4, 5): (11, 21, 12),
    }  # fmt: skip
    first, second, won = [], [], []
    for (i, j), (left, right, tied) in pudding.items():
        for value, n in ((1.0, left), (0.0, right), (0.5, tied)):
            first += [i] * n
            second += [j] * n
            won += [value] * n
    clusters = np.random.default_rng(2).permutation(len(won)) % 40
    found = worths(
        np.array(first), np.array(second), np.array(won), 6, clusters.tolist(), unit="rater"
    )
    worth = np.exp([one.value for one in found.log_worth])
    published = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    assert worth / worth.sum() == pytest.approx(published, abs=1e-4)
    assert found.tie_prevalence == pytest.approx(0.7468147, abs=1e-4)
    assert all(one.has_interval and one.unit == "rater" for one in found.log_worth)
    # clusters drawn at random: the error of independent preferences, about
    ranks = np.full((len(won), 6), np.nan)
    ranks[np.arange(len(won)), first] = np.where(np.array(won) == 0, 2, 1)
    ranks[np.arange(len(won)), second] = np.where(np.array(won) == 1, 2, 1)
    plain = plackett_luce(ranks)
    assert [one.value for one in found.log_worth] == pytest.approx(plain.log_worth.tolist())
    ratio = np.array([one.se for one in found.log_worth]) / plain.standard_errors
    assert ratio == pytest.approx(1, abs=0.35)


def test_worths_without_a_maximum_say_why_and_shares_stand() -> None:
    # the first always wins: its worth has no finite estimate
    found = worths(
        np.zeros(8, dtype=np.int64), np.ones(8, dtype=np.int64), np.ones(8), 2, list(range(8))
    )
    assert [one.value for one in found.win_share] == [1.0, 0.0]
    assert not found.log_worth[0].is_defined
    assert "wins do not connect the items" in str(found.log_worth[0].reason)
