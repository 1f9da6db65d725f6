"""Whether a model tells responses apart: by hand, by scipy, and how often it errs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation.telling_apart import (
    HARDLY_VARIES,
    LIKE_CHANCE,
    between_responses,
    most_frequent_score,
)


def grid(responses: int, personas: int, repeats: int = 1) -> tuple[np.ndarray, np.ndarray]:
    r, p, _ = np.indices((responses, personas, repeats))
    return r.ravel(), p.ravel()


def test_the_most_frequent_score_is_a_share_that_names_it() -> None:
    # 19 of 20 scores are 5: .95. Of 18 it is .9.
    response, _ = grid(10, 2)
    found = most_frequent_score([5.0] * 19 + [7.0], response)
    assert (found.value, found.n, found.method) == (0.95, 20, "share of 5")
    assert found.verdict == HARDLY_VARIES
    assert most_frequent_score([5.0] * 18 + [7.0] * 2, response).verdict is None


def test_scores_asked_once_are_tested_against_what_personas_disagree_in() -> None:
    # Two-way layout without interaction; its F by the textbook: MS_responses / MS_residual.
    rng = np.random.default_rng(1)
    table = rng.normal(0, 1, (8, 1)) + rng.normal(0, 2, (1, 4)) + rng.normal(0, 1, (8, 4))
    response, persona = grid(8, 4)
    rows, columns, whole = table.mean(axis=1), table.mean(axis=0), table.mean()
    between = 4 * ((rows - whole) ** 2).sum() / 7
    residual = ((table - rows[:, None] - columns + whole) ** 2).sum() / 21
    found = between_responses(table.ravel(), response, persona)
    assert found.value == pytest.approx(between / residual)
    assert found.p == pytest.approx(stats.f.sf(between / residual, 7, 21))
    assert (found.method, found.n) == ("personas", 8)


def test_scores_of_one_persona_asked_again_are_a_one_way_analysis() -> None:
    rng = np.random.default_rng(2)
    table = rng.normal(0, 1, (7, 1)) + rng.normal(0, 1, (7, 3))
    response, persona = grid(7, 1, 3)
    expected = stats.f_oneway(*table)
    found = between_responses(table.ravel(), response, persona)
    assert (found.value, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.method == "repeats"


@pytest.mark.parametrize(("personas", "repeats"), [(1, 3), (5, 1), (5, 2)])
def test_noise_is_called_so_in_nearly_all_worlds_and_a_signal_in_few(
    personas: int, repeats: int
) -> None:
    rng = np.random.default_rng(3)
    response, persona = grid(20, personas, repeats)
    like_chance = [0, 0]
    for _ in range(200):
        noise = rng.integers(1, 11, len(response)) + 2.0 * persona
        signal = np.round(rng.normal(0, 1.5, 20)[response] + rng.normal(5, 1, len(response)))
        for k, scores in enumerate((noise, signal)):
            found = between_responses(scores, response, persona)
            like_chance[k] += found.verdict == LIKE_CHANCE
    assert 180 <= like_chance[0] <= 199  # .95 of 200, five standard errors below
    assert like_chance[1] <= 2


def test_what_cannot_be_tested_is_undefined_with_the_reason() -> None:
    response, persona = grid(8, 1)
    assert between_responses(np.arange(8.0), response, persona).reason == (
        "every response was scored once"
    )
    few, who = grid(5, 3)
    assert between_responses(np.arange(15.0), few, who).reason == "fewer than 6 responses"
    assert most_frequent_score(np.ones(15), few).reason == "fewer than 6 responses"
    many, who = grid(8, 3)
    assert between_responses(np.ones(24), many, who).reason == "the scores do not vary"
    exact = between_responses(np.repeat(np.arange(8.0), 3), many, who)
    assert exact.verdict == "more than chance", "personas agree, and responses differ"
    assert exact.p == 0.0


def test_a_model_that_repeats_its_noise_word_for_word_is_not_taken_for_a_judge() -> None:
    # Temperature 0: every repeat equals the first, and what personas say of a response is noise.
    rng = np.random.default_rng(4)
    response, persona = grid(20, 3, 2)
    like_chance = 0
    for _ in range(200):
        scores = np.repeat(rng.integers(1, 11, 60), 2)
        estimate = between_responses(scores, response, persona)
        like_chance += estimate.verdict == LIKE_CHANCE
        once = between_responses(scores[::2], response[::2], persona[::2])
        assert (estimate.value, estimate.p) == pytest.approx((once.value, once.p))
    assert 180 <= like_chance <= 199  # .95 of 200, five standard errors below
    sure, who = grid(20, 1, 2)
    assert between_responses(np.repeat(rng.integers(1, 11, 20), 2), sure, who).reason == (
        "one persona gave the same score each time"
    )
