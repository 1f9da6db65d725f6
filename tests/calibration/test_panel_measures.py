"""Panel scores, pair sums and one-person comparisons by hand, and against the estimators."""

from __future__ import annotations

import math

import numpy as np
import pytest
from calibration_worlds import figure

from areopagus.aggregation.rater_effects import (
    length_slope,
    own_family_preference,
    score_spread,
)
from areopagus.aggregation.ratings import make_ratings
from areopagus.calibration.dataset import Dataset, targets_of
from areopagus.calibration.panel_people import add_one_person
from areopagus.calibration.panel_scores import PanelScores
from areopagus.calibration.responses import make_responses
from areopagus.records.estimates import Estimates


def panel(scores: np.ndarray, planned: int) -> PanelScores:
    """A panel of one criterion from (responses, personas, models)."""
    return PanelScores(
        scores[:, :, :, None, None],
        tuple(f"p{k}" for k in range(scores.shape[1])),
        tuple(f"m{k}" for k in range(scores.shape[2])),
        ("overall",),
        ("",) * scores.shape[1],
        {"scored": np.isfinite(scores).sum(axis=0)},
        np.full(len(scores), planned),
        2 / 3,
    )


def test_a_response_below_the_quorum_has_no_score() -> None:
    scores = np.array([[[4.0, 6.0, 8.0]], [[4.0, 6.0, np.nan]], [[4.0, np.nan, np.nan]]])
    found = panel(scores, 3).ensemble()
    assert found[:2].tolist() == [6, 5]
    assert math.isnan(found[2])


def world() -> Dataset:
    """Six prompts of three responses; raters a and b agree, c is turned round; panel as a."""
    n = 18
    responses = make_responses(
        [f"r{k}" for k in range(n)], [f"p{k // 3}" for k in range(n)],
        respondent=[None] * n, source=[None] * n, model=[None] * n, domain=[None] * n,
    )  # fmt: skip
    base = np.tile([1.0, 2.0, 3.0], 6)
    values = np.concatenate([base, base * 2, 4 - base])
    rater, response = np.repeat([0, 1, 2], n), np.tile(np.arange(n), 3)
    ratings, _ = make_ratings(
        "overall", "score", rater, response, responses.prompt[response], values
    )
    return Dataset(
        responses, (ratings,), ("a", "b", "c"), None, panel(base[:, None, None], 1), None,
        None, 0, 0, (),
    )  # fmt: skip


def test_one_person_by_hand() -> None:
    dataset, found = world(), Estimates()
    add_one_person(found, dataset, targets_of(dataset)[0])

    def value(measure: str, rater: str | None = None) -> float:
        return figure(found, "one person", measure, rater=rater).value

    # a against mean of (2b, c) = (5/2, 6/2, 7/2): agrees, 1. b against (a + c)/2 = 2, 2, 2: tied,
    # no pair. c against (3/2, 6/2, 9/2): reversed, 0. The panel is as a: 1 and 1.
    assert value("accuracy_of_one") == pytest.approx(0.5)
    assert value("accuracy_of_panel") == 1
    assert value("accuracy_difference") == pytest.approx(0.5)
    assert (value("tau_of_one"), value("tau_of_panel")) == (0, 1)
    assert value("n_comparisons") == 12
    difference = figure(found, "one person", "accuracy_difference", rater=None)
    assert difference.reason == "the statistic does not vary over prompts"
    n = [figure(found, "one person", "accuracy_of_one", rater=who).n for who in "abc"]
    assert n == [6, 0, 6]


def test_a_length_slope_is_found_and_quality_is_not_mistaken_for_it() -> None:
    rng = np.random.default_rng(2)
    prompt = np.repeat(np.arange(30), 5)
    quality = rng.normal(size=150)
    length = 500 * 2 ** (0.8 * quality + rng.normal(scale=0.5, size=150))  # better ones are longer
    fair = quality + rng.normal(scale=0.1, size=150)
    biased = fair + 0.7 * np.log2(length)
    for judge, slope in ((fair, 0.0), (biased, 0.7)):
        found = length_slope(judge, quality, length, prompt, 30, 0.95)
        assert found.value == pytest.approx(slope, abs=0.1)
        assert found.covers(slope)


def test_own_family_preference_by_hand() -> None:
    prompt = np.repeat(np.arange(6), 3)
    own, other = np.tile([True, False, False], 6), np.tile([False, True, False], 6)
    judge, others = np.tile([8.0, 5.0, 1.0], 6), np.tile([6.0, 5.5, 9.0], 6)
    found = own_family_preference(judge, others, prompt, own, other, 6, 0.95)
    # (8 − 6) − (5 − 5.5) = 2.5 in every prompt; people's responses do not count
    assert found.value == pytest.approx(2.5)
    none = own_family_preference(judge, others, prompt, own & False, other, 6, 0.95)
    assert none.reason == "its family wrote none of these responses"


def test_spread_is_within_prompts() -> None:
    values = np.array([1.0, 3.0, 101.0, 103.0])
    # deviations ±1 in each of two prompts: sqrt(4 / (4 − 2))
    assert score_spread(values, np.array([0, 0, 1, 1]), 2).value == pytest.approx(math.sqrt(2))
