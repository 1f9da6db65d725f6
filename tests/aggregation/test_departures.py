"""Departures of one group of judges from people, against hand calculation and by construction."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import rankdata, ttest_1samp

from areopagus.aggregation.departures import (
    ALONE,
    adjusted,
    gap_departure,
    order_departure,
    places,
)

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


def test_a_difference_that_is_the_same_in_every_prompt_has_the_p_of_flipped_signs() -> None:
    prompt = np.repeat(np.arange(8), 3)
    human = np.tile([1.0, 2.0, 3.0], 8)
    scores = np.stack([-human, human, human], axis=1)
    found = order_departure(scores, 0, human, prompt, n_prompts=8, level=0.95)
    assert found.difference.value == -1.0
    assert found.difference.p == pytest.approx(2 / 2**8)
    own = order_departure(scores, 1, human, prompt, n_prompts=8, level=0.95).difference
    assert own.value == pytest.approx(0.5)  # the others are right on 0 and on all


def test_a_group_alone_has_an_accuracy_and_no_difference() -> None:
    found = order_departure(HUMAN[:, None], 0, HUMAN, PROMPT, n_prompts=2, level=0.95)
    assert found.own.value == 1.0
    assert math.isnan(found.difference.value)
    assert found.difference.reason == ALONE


def world(n_prompts: int = 12, seed: int = 2) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    prompt = np.repeat(np.arange(n_prompts), 4)
    human = rng.normal(size=len(prompt))
    return prompt, human, human + 0.1 * rng.normal(size=len(prompt))


def test_the_gap_to_people_is_that_of_scipy_over_prompts() -> None:
    prompt, human, others = world()
    mine = human + 1.0 + 0.2 * np.random.default_rng(5).normal(size=len(human))
    found = gap_departure(mine, others, human, prompt, n_prompts=12, level=0.95)
    means = (mine - human).reshape(12, 4).mean(axis=1)
    referee = ttest_1samp(means, 0.0)
    limits = referee.confidence_interval(0.95)
    assert (found.own.value, found.own.low, found.own.high) == pytest.approx(
        (means.mean(), limits.low, limits.high)
    )
    assert found.own.p == pytest.approx(referee.pvalue, rel=1e-6)
    apart = (mine - others).reshape(12, 4).mean(axis=1)
    assert found.difference.p == pytest.approx(
        max(referee.pvalue, ttest_1samp(apart, 0.0).pvalue), rel=1e-6
    )


def test_a_level_that_all_share_is_nobodys_and_neither_is_one_nearer_to_people() -> None:
    prompt, human, others = world()
    noise = 0.1 * np.random.default_rng(6).normal(size=len(human))
    shared = gap_departure(human + 1 + noise, others + 1, human, prompt, n_prompts=12, level=0.95)
    assert shared.own.p < 0.001
    assert shared.difference.p > 0.05
    # The others are two points from people, this one half a point: it departs from them, not these.
    nearer = gap_departure(human + 0.5 + noise, others + 2, human, prompt, n_prompts=12, level=0.95)
    assert nearer.difference.value == pytest.approx(-1.5, abs=0.2)
    assert nearer.difference.p == 1.0


def test_what_a_respondent_gets_is_free_of_severity() -> None:
    prompt, human, others = world()
    part = np.tile([True, False, False, False], 12)
    noise = 0.1 * np.random.default_rng(7).normal(size=len(human))
    harsh = human - 3 + noise
    found = gap_departure(harsh, others, human, prompt, n_prompts=12, level=0.95, part=part)
    assert abs(found.difference.value) < 0.1
    preferring = harsh + 0.8 * part
    found = gap_departure(preferring, others, human, prompt, n_prompts=12, level=0.95, part=part)
    assert found.difference.value == pytest.approx(0.8, abs=0.15)
    assert found.difference.p < 0.001


def test_places_within_prompts_are_those_of_scipy_and_missing_ones_take_none() -> None:
    values = np.array([3.0, 1.0, 1.0, np.nan, 7.0, 5.0, 7.0])
    prompt = np.array([1, 1, 1, 1, 0, 0, 0])
    found = places(values, prompt)
    assert found[:3].tolist() == rankdata(values[:3]).tolist()
    assert math.isnan(found[3])
    assert found[4:].tolist() == rankdata(values[4:]).tolist()


def test_the_verdict_is_holms_and_looks_to_one_side_where_only_that_is_named() -> None:
    prompt = np.repeat(np.arange(10), 3)
    human = np.tile([1.0, 2.0, 3.0], 10)
    scores = np.stack([-human, human, human], axis=1)
    found = [
        order_departure(scores, k, human, prompt, n_prompts=10, level=0.95).difference
        for k in range(3)
    ]
    made = adjusted(found, "all", "less", "")
    assert [one.verdict for one in made] == ["less", None, None]
    assert made[0].p_adjusted == pytest.approx(3 * found[0].p)
