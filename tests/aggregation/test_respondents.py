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
    found = by_prompt_unit([1, 3, 8], ["a", "a", "b"], ["m", "m", "m"]).respondents
    assert found.mean[0, 0] == 5
    assert found.n_prompts[0, 0] == 2
    assert found.n_responses[0] == 3
    assert found.reason[0, 0] == TOO_FEW_PROMPTS
    assert np.isnan(found.low[0, 0])


def test_the_interval_is_the_t_interval_over_prompt_means() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(6, 1, (60, 3))
    prompt = np.tile(np.repeat(np.arange(10), 3), 2)
    respondent = np.repeat(["gpt", "person"], 30)
    found = by_prompt_unit(values, prompt, respondent, level=0.9).respondents
    assert found.labels == ("gpt", "person")
    means = values[30:, 2].reshape(10, 3).mean(axis=1)
    low, high = stats.t.interval(0.9, 9, means.mean(), stats.sem(means))
    assert (found.low[1, 2], found.high[1, 2]) == pytest.approx((low, high))
    assert found.sd[1, 2] == pytest.approx(means.std(ddof=1))


def test_missing_values_are_counted_column_by_column() -> None:
    values = [[1, NAN], [3, 4], [NAN, NAN]]
    found = by_prompt_unit(values, ["a", "a", "b"], ["m", "m", "m"]).respondents
    assert found.n_responses[0] == 3
    assert found.n_scored[0].tolist() == [2, 1]
    assert found.n_prompts[0].tolist() == [1, 1]
    assert found.mean[0].tolist() == [2, 4]


def test_a_respondent_without_any_score_is_undefined_with_the_reason() -> None:
    found = by_prompt_unit([NAN, 5], ["a", "a"], ["m", "n"]).respondents
    assert np.isnan(found.mean[0, 0])
    assert found.reason[0, 0] == NO_VALUES


def test_prompt_means_that_do_not_vary_have_no_interval() -> None:
    found = by_prompt_unit([0.1] * 7, list("abcdefg"), ["m"] * 7).respondents
    assert found.reason[0, 0] == NO_VARIATION
    assert found.mean[0, 0] == pytest.approx(0.1)


def test_the_run_is_one_row_over_all_respondents() -> None:
    # prompt a: 2 (m), 4 (n) -> 3; prompt b: 9 (m) -> 9; run mean 6
    found = by_prompt_unit([2, 4, 9], ["a", "a", "b"], ["m", "n", "m"]).run
    assert found.labels == ("run",)
    assert found.mean[0, 0] == 6


def test_order_and_names_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(40, 2))
    prompt, respondent = rng.integers(0, 9, 40), rng.integers(0, 3, 40)
    order = rng.permutation(40)
    one = by_prompt_unit(values, prompt, respondent)
    two = by_prompt_unit(values[order], prompt[order] + 100, respondent[order])
    np.testing.assert_allclose(one.respondents.low, two.respondents.low)
    np.testing.assert_allclose(one.run.high, two.run.high)


def test_nothing_handed_in_gives_an_empty_table() -> None:
    found = by_prompt_unit(np.empty((0, 2)), [], [])
    assert found.respondents.mean.shape == (0, 2)
    assert found.run.reason[0, 0] == NO_VALUES


def test_infinite_values_and_wrong_levels_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        by_prompt_unit([float("inf")], ["a"], ["m"])
    with pytest.raises(ValueError, match="level"):
        by_prompt_unit([1.0], ["a"], ["m"], level=0)
