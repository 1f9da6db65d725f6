"""Words that tell groups apart: the formula, a second implementation, exchanges of labels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.log_odds import log_odds_with_prior, word_contrasts


def test_log_odds_by_hand_and_rare_words_do_not_lead() -> None:
    # Counts of "steady", "rise", "zeal"; the prior is the words of both, 81 in all. steady:
    # ln((30 + 40)/(41 + 81 − 70)) − ln((10 + 40)/(40 + 81 − 50))
    a, b = np.array([30, 10, 1]), np.array([10, 30, 0])
    delta, error = log_odds_with_prior(a, b, a + b)
    steady = math.log(70 / 52) - math.log(50 / 71)
    assert delta[0] == pytest.approx(steady)
    assert error[0] == pytest.approx(math.sqrt(1 / 70 + 1 / 50))
    # Raw counts give "zeal" an infinite ratio; the prior puts it last.
    z = np.abs(delta / error)
    assert z[2] < z[1]
    mirrored, _ = log_odds_with_prior(b, a, a + b)
    assert mirrored == pytest.approx(-delta)
    alone, _ = log_odds_with_prior([3], [4], [1])
    assert math.isnan(alone[0]), "the only word there is: nothing to be told apart from"
    for counts, prior in (([-1, 1], [1, 1]), ([1, 1], [0, 1])):
        with pytest.raises(ValueError, match="must be"):
            log_odds_with_prior(counts, counts, prior)


def test_log_odds_are_those_of_fightin_words() -> None:
    # z of the package fightin-words 1.0.5, which computes in 32 bits, with a prior of 50 words.
    words = ("garden", "market", "rain", "street", "sun")
    a, b = np.array([10, 20, 10, 15, 5]), np.array([8, 0, 16, 4, 16])
    delta, error = log_odds_with_prior(a, b, 50 * (a + b) / (a + b).sum())
    theirs = [-0.15707496, 3.16161292, -1.86507256, 1.59938106, -2.72797753]
    assert dict(zip(words, delta / error, strict=True)) == pytest.approx(
        dict(zip(words, theirs, strict=True)), abs=1e-6
    )


def relabelled(groups: np.ndarray, times: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.permutation(groups) for _ in range(times)]


def test_a_word_of_one_group_is_found_and_the_order_of_units_and_words_plays_no_part() -> None:
    rng = np.random.default_rng(1)
    groups = np.repeat([0, 1, 2], 20)
    used = rng.random((60, 40)) < 0.3
    used[:, 0] = (groups == 1) & (rng.random(60) < 0.9)
    found = word_contrasts(used, groups, relabelled(groups, 199))
    z = found.log_odds / found.se
    assert np.unravel_index(np.argmax(z), z.shape) == (1, 0)
    assert found.p[1, 0] == 1 / 200
    assert (found.here + found.there == used.sum(axis=0)).all()
    # Limits decide as p does, and are never narrower than normal ones of one word.
    is_shown = (found.low > 0) | (found.high < 0)
    assert (is_shown == (found.p <= 0.05)).all()
    assert is_shown[1, 0]
    assert not is_shown[:, 1:].any()
    assert (found.high - found.log_odds >= 1.95 * found.se).all()
    units, words = rng.permutation(60), rng.permutation(40)
    other = word_contrasts(used[units][:, words], groups[units], relabelled(groups, 9))
    assert other.log_odds == pytest.approx(found.log_odds[:, words])


def test_no_more_than_a_twentieth_of_worlds_without_a_difference_find_a_word() -> None:
    found = 0
    for world in range(200):
        rng = np.random.default_rng(world)
        groups = np.repeat([0, 1], 12)
        # Words that go together in a unit: what a count of words takes for much evidence.
        used = (rng.random((24, 1)) < 0.5) ^ (rng.random((24, 30)) < 0.1)
        used[0] = True
        result = word_contrasts(used, groups, relabelled(groups, 19, world))
        found += bool((result.p <= 0.05).any())
    assert found <= 20  # of 200 at .05: P(more) = .002


def test_what_cannot_be_compared_is_refused() -> None:
    used = np.ones((4, 2))
    for groups, again, message in (
        ([0, 0, 0, 0], [[0, 0, 0, 0]], "two groups"),
        ([0, 1], [[0, 1]], "one group a unit"),
        ([0, 0, 1, 1], [], "no relabelling"),
    ):
        with pytest.raises(ValueError, match=message):
            word_contrasts(used, groups, again)
    with pytest.raises(ValueError, match="nobody uses"):
        word_contrasts([[1, 0], [1, 0]], [0, 1], [[1, 0]])
    with pytest.raises(ValueError, match="prior_size"):
        word_contrasts(used, [0, 0, 1, 1], [[0, 1, 0, 1]], prior_size=0)
