"""One more person: by hand, and the same for the same people, whether they rated or chose."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.one_more_person import (
    BesideOnePerson,
    choices_beside_one_person,
    ratings_beside_one_person,
    verdict_against_people,
    verdict_on,
)
from areopagus.aggregation.preferences import Preferences, make_preferences
from areopagus.aggregation.ratings import Ratings, make_ratings


def choices(rows: list[tuple[int, int, int, int, float]]) -> Preferences:
    """Rows are rater, prompt, two responses, and 1, 0.5 or 0 for the first of them."""
    rater, prompt, a, b = np.array([row[:4] for row in rows]).T
    return make_preferences("overall", rater, prompt, a, b, np.array([row[4] for row in rows]))[0]


def both_ways(values: np.ndarray) -> tuple[Ratings, Preferences]:
    """Ratings of (raters, prompts, responses), nan where not rated, and the choices they imply."""
    n_raters, n_prompts, n = values.shape
    rater, prompt, _ = (part.ravel() for part in np.indices(values.shape))
    response = np.tile(np.arange(n_prompts * n), n_raters)
    kept = np.isfinite(values).ravel()
    ratings, _ = make_ratings(
        "overall", "score", rater[kept], response[kept], prompt[kept], values.ravel()[kept]
    )
    rows = [
        (r, p, n * p + i, n * p + j, (1 + np.sign(values[r, p, i] - values[r, p, j])) / 2)
        for r, p in itertools.product(range(n_raters), range(n_prompts))
        for i, j in itertools.combinations(range(n), 2)
        if np.isfinite(values[r, p, [i, j]]).all()
    ]
    return ratings, choices(rows)


def test_one_pair_of_four_people_by_hand() -> None:
    # A A B tie, the panel for A. Against the three decided ones: A gets +1 (A), -1 (B), 0 of three
    # others, and so for the second A; B gets -1 -1 0: (0 + 0 - 2)/3 of 3. The panel: +1 +1 -1 of 3.
    rows = [(0, 0, 0, 1, 1.0), (1, 0, 0, 1, 1.0), (2, 0, 1, 0, 1.0), (3, 0, 1, 0, 0.5)]
    beside = choices_beside_one_person(choices(rows), np.array([2.0, 1.0]))
    assert beside.of_one.value == pytest.approx(-2 / 9)
    assert beside.of_scores.value == pytest.approx(1 / 3)
    assert beside.difference.value == pytest.approx(1 / 3 + 2 / 9)
    tied = choices_beside_one_person(choices(rows), np.array([1.0, 1.0]))
    assert tied.of_scores.value == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_same_people_get_the_same_verdict_whether_they_rated_or_chose(seed: int) -> None:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(20, 4))
    values = np.round(quality + rng.normal(size=(4, 20, 4)), 0)
    values[rng.random(values.shape) < 0.1] = np.nan
    scores = (quality + 1.5 * rng.normal(size=(20, 4))).ravel()
    scores[3] = np.nan
    ratings, chosen = both_ways(values)
    rated, cells = ratings_beside_one_person(ratings, scores)
    chose = choices_beside_one_person(chosen, scores)
    for name in ("of_one", "of_scores", "difference"):
        one, other = getattr(rated, name), getattr(chose, name)
        assert (one.value, one.low, one.high, one.n, one.verdict) == (
            pytest.approx(other.value), pytest.approx(other.low), pytest.approx(other.high),
            other.n, other.verdict,
        )  # fmt: skip
    # what single people add is what all of them have: each comparison has its other direction
    assert len(cells.person) == len(set(zip(cells.person, cells.prompt, strict=True)))
    assert (np.abs(cells.of_one) <= cells.decided).all()


def test_a_judge_like_a_person_has_a_persons_agreement() -> None:
    rng = np.random.default_rng(5)
    quality = rng.normal(size=(400, 5))
    seen = quality + rng.normal(size=(4, 400, 5))
    ratings, _ = both_ways(seen[:3])
    beside, _ = ratings_beside_one_person(ratings, seen[3].ravel())
    assert beside.difference.covers(0)
    assert beside.difference.verdict == "at least half"
    truth, _ = ratings_beside_one_person(ratings, quality.ravel())
    assert truth.difference.verdict == "better"


def test_people_who_share_no_pair_are_compared_with_nobody() -> None:
    alone = choices([(p, p, 2 * p, 2 * p + 1, 1.0) for p in range(8)])
    beside = choices_beside_one_person(alone, np.tile([1.0, 0.0], 8))
    assert beside == BesideOnePerson(*[beside.difference] * 3)
    assert beside.difference.verdict is None
    assert "decided by one person and seen by another" in (beside.difference.reason or "")


def estimate(value: float, low: float, high: float, n: int = 20) -> Estimate:
    return Estimate(value, low, high, n)


@pytest.mark.parametrize(
    ("difference", "beyond_half", "verdict"),
    [
        (estimate(0.2, 0.1, 0.3), estimate(0.4, 0.3, 0.5), "better"),
        (estimate(-0.2, -0.3, -0.1), estimate(0.1, 0.05, 0.2), "worse"),
        (estimate(-0.1, -0.3, 0.1), estimate(0.1, 0.05, 0.2), "at least half"),
        (estimate(-0.1, -0.3, 0.1), estimate(0.1, -0.05, 0.2), "undecided"),
        (Estimate(-0.1, n=5, reason="few"), Estimate(0.1, n=5, reason="few"), None),
        (Estimate(0.0, n=20, reason="none"), Estimate(0.3, n=20, reason="none"), "at least half"),
    ],
)
def test_the_verdict_is_of_the_interval(
    difference: Estimate, beyond_half: Estimate, verdict: str | None
) -> None:
    assert verdict_on(difference, beyond_half) == verdict


def test_why_nothing_can_be_said_comes_before_the_verdict() -> None:
    shown, none = estimate(0.5, 0.3, 0.7), Estimate(math.nan, reason="nobody")
    chance, few = estimate(0.1, -0.1, 0.3), Estimate(0.5, n=4, reason="few")
    better = Estimate(0.2, 0.1, 0.3, 20, verdict="better")
    assert verdict_against_people(none, shown, better) == "undefined"
    assert verdict_against_people(few, shown, better) == "few"
    assert verdict_against_people(shown, chance, better) == "noise"
    assert verdict_against_people(chance, shown, better) == "unconfirmed"
    assert verdict_against_people(estimate(-0.5, -0.7, -0.3), shown, better) == "disagrees"
    assert verdict_against_people(estimate(0.3, 0.2, 0.4), None, None, chance=0.5) == "disagrees"
    assert verdict_against_people(none, shown, better, is_constant=True) == "constant"
    assert verdict_against_people(shown, shown, better) == "better"
    assert verdict_against_people(shown, none, None) == "above chance"
    assert verdict_against_people(shown, None, None, chance=0.5) == "unconfirmed"
