"""Respondent and run scores with prompts as the unit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.respondents import (
    NO_VALUES,
    NO_VARIATION,
    TOO_FEW_PROMPTS,
    by_prompt_unit,
)

NAN = float("nan")


def test_responses_to_a_prompt_are_averaged_before_prompts_are() -> None:
    # prompt a: 1, 3 -> 2; prompt b: 8 -> 8; mean of prompts 5 (mean of responses is 4)
    ((found,), _) = by_prompt_unit([[1, NAN], [3, 4], [8, NAN]], ["a", "a", "b"], ["m"] * 3)
    first, second = found.means
    assert (first.value, first.n, first.reason) == (5, 2, TOO_FEW_PROMPTS)
    assert not first.has_interval
    # what is missing is counted column by column
    assert (second.value, second.n, found.n_responses, found.n_scored) == (4, 1, 3, (3, 1))


def test_the_interval_is_the_t_interval_over_prompt_means_whatever_the_order() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(6, 1, (60, 3))
    prompt = np.tile(np.repeat(np.arange(10), 3), 2)
    respondent = np.repeat(["gpt", "person"], 30)
    order = rng.permutation(60)
    for rows in (np.arange(60), order):
        (gpt, person), _ = by_prompt_unit(values[rows], prompt[rows], respondent[rows], level=0.9)
        assert (gpt.label, person.label) == ("gpt", "person")
        means = values[30:, 2].reshape(10, 3).mean(axis=1)
        low, high = stats.t.interval(0.9, 9, means.mean(), stats.sem(means))
        found = person.means[2]
        assert (found.low, found.high, found.se) == pytest.approx((low, high, stats.sem(means)))


def test_what_cannot_be_told_has_its_reason() -> None:
    (m, n), _ = by_prompt_unit([NAN, 5], ["a", "a"], ["m", "n"])
    assert (m.means[0].is_defined, m.means[0].reason, n.means[0].value) == (False, NO_VALUES, 5)
    ((same,), _) = by_prompt_unit([0.1] * 7, list("abcdefg"), ["m"] * 7)
    assert same.means[0].reason == NO_VARIATION
    nobody, run = by_prompt_unit(np.empty((0, 2)), [], [])
    assert (nobody, run.means[0].reason) == ((), NO_VALUES)


def test_the_run_is_one_row_over_all_respondents() -> None:
    # prompt a: 2 (m), 4 (n) -> 3; prompt b: 9 (m) -> 9; run mean 6
    _, run = by_prompt_unit([2, 4, 9], ["a", "a", "b"], ["m", "n", "m"])
    assert (run.label, run.means[0].value) == ("run", 6)
