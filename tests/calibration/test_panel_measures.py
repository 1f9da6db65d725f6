"""Panel scores, pair sums and one-person comparisons by hand, and against the estimators."""

from __future__ import annotations

import math

import numpy as np
import pytest
from calibration_worlds import figure

from areopagus.aggregation.ratings import make_ratings
from areopagus.calibration.dataset import Dataset, targets_of
from areopagus.calibration.judges import add_judges
from areopagus.calibration.matched import add_matched
from areopagus.calibration.panel_people import add_agreement, add_one_person
from areopagus.calibration.panel_scores import PanelScores, mean_over_judges
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
    found = panel(scores, 3).mean()
    # the third judge gives 2 points more than the panel: without it the second response stands as
    # high as the first, though the mean of who is left is 5
    assert found.score[:2] == pytest.approx([6, 6])
    assert found.plain[:2].tolist() == [6, 5]
    assert found.is_unbalanced.tolist() == [False, True, True]
    assert math.isnan(found.score[2])


def test_a_judge_who_shares_no_response_with_another_has_no_panel_score() -> None:
    table = np.array([[4.0, 6.0, np.nan], [5.0, 6.0, np.nan], [np.nan, np.nan, 7.0]])
    found = mean_over_judges(table)
    assert np.isnan(found.score).tolist() == [False, False, True]


def half_without_a_model(seed: int, *, is_whole: bool) -> Dataset:
    """40 prompts of 8 responses; the harshest of three models falls out on a random half."""
    rng = np.random.default_rng(seed)
    n = 320
    quality = rng.normal(size=n)
    scores = 6 + quality[:, None, None] + [0.0, 1.0, -1.5] + rng.normal(0, 0.5, (n, 2, 3))
    gone = rng.permutation(n) < n // 2
    if not is_whole:
        scores[gone, :, 2] = np.nan
    responses = make_responses(
        [f"r{k}" for k in range(n)], [f"p{k // 8}" for k in range(n)],
        respondent=[None] * n, source=[None] * n, model=[None] * n, domain=[None] * n,
    )  # fmt: skip
    rater, response = np.repeat([0, 1, 2], n), np.tile(np.arange(n), 3)
    values = 5 + np.tile(quality, 3) + rng.normal(0, 0.8, 3 * n)
    ratings, _ = make_ratings(
        "overall", "score", rater, response, responses.prompt[response], values
    )
    return Dataset(
        responses, (ratings,), ("a", "b", "c"), None, panel(scores, 6), None, None, 0, 0, (),
    )  # fmt: skip


def test_agreement_does_not_move_because_a_model_fell_out_on_a_random_half() -> None:
    """Ten worlds: the mean difference of tau, with and without the model, against its error."""
    found: dict[str, list[float]] = {"fitted": [], "plain": []}
    for seed in range(10):
        taus = []
        for is_whole in (True, False):
            dataset, out = half_without_a_model(seed, is_whole=is_whole), Estimates()
            (target,) = targets_of(dataset)
            add_agreement(out, dataset, target)
            taus.append(figure(out, "panel", "tau").value)
        plain = figure(out, "panel", "tau_of_plain_means").value
        found["fitted"].append(taus[1] - taus[0])
        found["plain"].append(plain - taus[0])
    error = np.std(found["fitted"], ddof=1) / math.sqrt(10)
    assert abs(float(np.mean(found["fitted"]))) < max(3 * float(error), 0.01)
    assert float(np.mean(found["plain"])) < -0.03
    counts = Estimates()
    add_matched(counts, dataset, None, target)
    unbalanced = figure(counts, "matched", "n_unbalanced")
    assert (unbalanced.n, unbalanced.n_planned) == (160, 320)
    # without a model 1.33 below the mean of the three, the mean of the others is 0.67 too high
    assert figure(counts, "matched", "moved").value == pytest.approx(0.67, abs=0.05)


def test_a_judge_that_is_missing_on_hard_responses_is_not_called_harsh() -> None:
    """Judge 2 is as lenient as the rest; on the half that it scores, a lenient one is missing."""
    rng = np.random.default_rng(1)
    quality = rng.normal(size=240)
    scores = 6 + quality[:, None, None] + [0.0, 2.0, 0.0] + rng.normal(0, 0.2, (240, 1, 3))
    scores[:120, :, 2] = np.nan
    scores[120:, :, 1] = np.nan
    responses = make_responses(
        [f"r{k}" for k in range(240)], [f"p{k // 8}" for k in range(240)],
        respondent=[None] * 240, source=[None] * 240, model=[None] * 240, domain=[None] * 240,
    )  # fmt: skip
    everyone = np.arange(240)
    ratings, _ = make_ratings(
        "overall", "score", np.zeros(240, dtype=int), everyone, responses.prompt, quality
    )
    dataset = Dataset(
        responses, (ratings,), ("a",), None, panel(scores, 2), None, None, 0, 0, (),
    )  # fmt: skip
    out = Estimates()
    add_judges(out, dataset, targets_of(dataset)[0])
    found = [
        figure(out, "judges", "severity", factor="judge", group=f"p0 x m{k}").value
        for k in range(3)
    ]
    # the levels 0, 2, 0 less their mean; plain means had said -1, 1 and 0
    assert found == pytest.approx([-2 / 3, 4 / 3, -2 / 3], abs=0.1)


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

    # a with b 1, a with c -1, b with c -1: of two others a and b get 0, c gets -1, together -1/3.
    # The panel is as a: with a 1, with b 1, with c -1.
    assert [value(name) for name in ("tau_of_one", "tau_of_panel", "tau_difference")] == (
        pytest.approx([-1 / 3, 1 / 3, 2 / 3])
    )
    assert [value("tau_of_one", who) for who in "abc"] == [0, 0, -1]
    assert [value("tau_of_panel", who) for who in "abc"] == [0, 0, 1]
    assert value("n_comparisons") == 18
    difference = figure(found, "one person", "tau_difference", rater=None)
    # the same in every prompt, six of them: it stands for its interval
    assert difference.verdict == "better"
    assert difference.reason == "the statistic does not vary over prompts"
    n = [figure(found, "one person", "tau_of_one", rater=who).n for who in "abc"]
    assert n == [6, 6, 6]
