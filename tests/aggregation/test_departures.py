"""Departures of one group of judges from people, against hand calculation and by construction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import rankdata

from areopagus.aggregation.departures import (
    ALONE,
    GapDeparture,
    departs,
    gap_departure,
    order_departure,
    places,
)
from areopagus.aggregation.intervals import t_interval
from areopagus.aggregation.rules import decided

PROMPT = np.repeat(np.arange(2), 3)
HUMAN = np.array([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])


def test_the_order_of_a_group_is_held_against_the_others_one_by_one_and_not_their_mean() -> None:
    # Group 0 turns both prompts around. Groups 1 and 2 are right on 2 of 3 pairs of each prompt,
    # on different ones: their mean (4.5, 5, 5.5; …) would be right on all.
    scores = np.array(
        [[3, 2, 1], [2, 3, 1.9], [1, 2.5, 9], [1, 3, 9], [2, 3.5, 1.9], [3, 2, 1]], dtype=float
    )
    found = order_departure(scores, 0, HUMAN, PROMPT, n_prompts=2, level=0.95)
    assert found.own.value == 0.0
    # 1: pairs (3,3.5),(3,2),(3.5,2): prompt 0 (2,3,2.5): right on 2 of 3; prompt 1: right on 2 of 3
    # 2: prompt 0 (1,1.9,9): 3 of 3; prompt 1 (9,1.9,1): 3 of 3. Together (4 + 6) / 12.
    assert found.others.value == pytest.approx(10 / 12)
    assert found.difference.value == pytest.approx(-10 / 12)
    assert found.difference.n == 2
    assert "2 prompts" in (found.difference.reason or "")


def test_the_difference_in_order_is_the_mean_of_values_of_prompts_with_the_jackknifes_error() -> (
    None
):
    rng = np.random.default_rng(1)
    prompt = np.repeat(np.arange(12), 4)
    human = rng.normal(size=48)
    scores = human[:, None] + rng.normal(size=(48, 3)) * [2.0, 0.3, 0.3]
    found = order_departure(scores, 0, human, prompt, n_prompts=12, level=0.95)
    mean = t_interval(found.by_prompt)
    plain = found.difference
    assert (mean.value, mean.se, mean.low) == pytest.approx((plain.value, plain.se, plain.low))


def test_a_persona_that_is_turned_around_is_lower_and_one_like_the_others_is_not() -> None:
    rng = np.random.default_rng(3)
    prompt = np.repeat(np.arange(12), 4)
    human = rng.normal(size=48)
    scores = human[:, None] * [-1, 1, 1, 1] + 0.8 * rng.normal(size=(48, 4))
    values = [
        order_departure(scores, k, human, prompt, n_prompts=12, level=0.95).by_prompt
        for k in range(4)
    ]
    verdicts = [one.verdict for one in decided(np.stack(values, axis=1))]
    assert verdicts[0] == "lower"
    # The others are above the mean of the rest, of whom one is turned around; none is below.
    assert "lower" not in verdicts[1:]


def test_a_group_alone_has_an_accuracy_and_no_difference() -> None:
    found = order_departure(HUMAN[:, None], 0, HUMAN, PROMPT, n_prompts=2, level=0.95)
    assert found.own.value == 1.0
    assert math.isnan(found.difference.value)
    assert found.difference.reason == ALONE
    assert np.isnan(found.by_prompt).all()


def world(n_prompts: int = 12, seed: int = 2) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    prompt = np.repeat(np.arange(n_prompts), 4)
    human = rng.normal(size=len(prompt))
    return prompt, human, human + 0.1 * rng.normal(size=len(prompt))


def side(gap: GapDeparture) -> int:
    """What one gap shows, decided by itself."""
    own, others, difference = (
        decided(values[:, None])[0] for values in (gap.own, gap.others, gap.difference)
    )
    return departs(own, others, difference)


def test_gaps_are_differences_of_means_by_prompt() -> None:
    prompt, human, others = world()
    mine = human + 1.0 + 0.2 * np.random.default_rng(5).normal(size=len(human))
    found = gap_departure(mine, others, human, prompt, n_prompts=12)
    assert found.own == pytest.approx((mine - human).reshape(12, 4).mean(axis=1))
    assert found.difference == pytest.approx((mine - others).reshape(12, 4).mean(axis=1))
    assert side(found) == 1
    none = np.full(len(human), np.nan)
    assert gap_departure(mine, none, human, prompt, n_prompts=12).reason == ALONE


def test_a_level_that_all_share_is_nobodys_and_neither_is_one_nearer_to_people() -> None:
    prompt, human, others = world()
    noise = 0.1 * np.random.default_rng(6).normal(size=len(human))
    assert side(gap_departure(human + 1 + noise, others + 1, human, prompt, n_prompts=12)) == 0
    # The others are two points from people, this one half a point: it departs from them, not these.
    nearer = gap_departure(human + 0.5 + noise, others + 2, human, prompt, n_prompts=12)
    assert nearer.difference.mean() == pytest.approx(-1.5, abs=0.2)
    assert side(nearer) == 0
    assert side(gap_departure(human - 2 + noise, others, human, prompt, n_prompts=12)) == -1


def test_what_a_respondent_gets_is_free_of_severity() -> None:
    prompt, human, others = world()
    part = np.tile([True, False, False, False], 12)
    noise = 0.1 * np.random.default_rng(7).normal(size=len(human))
    harsh = human - 3 + noise
    found = gap_departure(harsh, others, human, prompt, n_prompts=12, part=part)
    assert abs(found.difference.mean()) < 0.1
    preferring = harsh + 0.8 * part
    found = gap_departure(preferring, others, human, prompt, n_prompts=12, part=part)
    assert found.difference.mean() == pytest.approx(0.8, abs=0.15)
    assert side(found) == 1


def test_places_within_prompts_are_those_of_scipy_and_missing_ones_take_none() -> None:
    values = np.array([3.0, 1.0, 1.0, np.nan, 7.0, 5.0, 7.0])
    prompt = np.array([1, 1, 1, 1, 0, 0, 0])
    found = places(values, prompt)
    assert found[:3].tolist() == rankdata(values[:3]).tolist()
    assert math.isnan(found[3])
    assert found[4:].tolist() == rankdata(values[4:]).tolist()
