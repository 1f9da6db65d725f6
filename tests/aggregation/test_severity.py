"""Severities of judges, and of personas and models fitted together."""

from __future__ import annotations

import numpy as np
import pytest

from areopagus.aggregation import severity_parts
from areopagus.aggregation.rater_severity import severity

NAN = float("nan")


def test_severity_of_six_judgments_by_least_squares() -> None:
    # checked against numpy.linalg.lstsq with dummies below
    y, r, j = [7, 5, 6, 8, 6, 4], [0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 2, 1]
    found = severity(y, r, j, shrink=False)
    assert found.adjusted == pytest.approx([6.6667, 6.3333, 5.0], abs=1e-4)
    assert found.severity == pytest.approx([0, -1.3333, 1.3333], abs=1e-4)
    assert found.raw.tolist() == [6, 7, 5]
    dummies = np.hstack([np.eye(3)[r], np.eye(3)[j]])
    fitted = dummies @ np.linalg.lstsq(dummies, np.array(y, float), rcond=None)[0]
    assert found.adjusted[r] + found.severity[j] == pytest.approx(fitted)


def test_in_a_complete_design_severity_does_not_change_the_order() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(8, 5)) + rng.normal(0, 2, 5)
    r, j = (index.ravel() for index in np.indices(scores.shape))
    for shrink in (True, False):
        found = severity(scores.ravel(), r, j, shrink=shrink)
        assert found.adjusted == pytest.approx(found.raw)


def test_shrunk_severities_solve_the_mixed_model_equations() -> None:
    rng = np.random.default_rng(2)
    r, j = rng.integers(0, 12, 90), rng.integers(0, 6, 90)
    y = rng.normal(size=12)[r] + rng.normal(0, 1, 6)[j] + rng.normal(0, 0.5, 90)
    found = severity(y, r, j)
    z, x = np.eye(6)[j], np.eye(12)[r]
    system = np.block([[x.T @ x, x.T @ z], [z.T @ x, z.T @ z + found.shrinkage * np.eye(6)]])
    expected = np.linalg.solve(system, np.concatenate([x.T @ y, z.T @ y]))
    assert found.severity == pytest.approx(expected[12:])
    assert found.adjusted == pytest.approx(expected[:12])
    assert 0 < found.shrinkage < 1


def test_judges_without_common_responses_are_not_compared() -> None:
    found = severity(
        [5, 6, 4, 7, 3, 8], list("aabbcc"), ["x", "y", "x", "y", "u", "v"], shrink=False
    )
    assert found.n_components == 2
    assert found.reason is not None
    component = dict(zip(found.judges, found.judge_component.tolist(), strict=True))
    assert component["x"] == component["y"] != component["u"]


def test_one_judge_a_response_separates_nothing() -> None:
    found = severity([5, 6, 7], ["a", "b", "c"], ["x", "x", "y"])
    assert np.isnan(found.severity).all()
    assert np.isnan(found.adjusted).all()
    assert (
        found.reason == "every response was judged by one judge only: severity cannot be separated"
    )


def test_in_a_complete_panel_they_are_differences_of_means() -> None:
    # Personas score 2 apart, models 4 apart, on two responses.
    scores = np.array([[[4.0, 8.0], [6.0, 10.0]], [[1.0, 5.0], [3.0, 7.0]]])
    found = severity_parts(scores)
    assert found.persona == pytest.approx([-1, 1])
    assert found.model == pytest.approx([-2, 2])
    assert (found.n, found.n_prompts, found.reason) == (8, 0, None)
    assert found.persona_left_out.shape == (0, 2)


def test_a_persona_is_not_harsh_because_harsh_models_spoke_for_it() -> None:
    # Model 1 gives 4 less; persona 1 was mostly asked of model 1. No persona is harsh.
    quality = np.array([5.0, 7.0, 6.0, 8.0])
    scores = quality[:, None, None] + np.array([[0.0, -4.0], [0.0, -4.0]])
    scores[1:, 1, 0] = NAN
    raw = np.nanmean(scores[:, 0]) - np.nanmean(scores[:, 1])
    assert raw > 1
    found = severity_parts(scores)
    assert found.persona == pytest.approx([0, 0], abs=1e-9)
    assert found.model == pytest.approx([2, -2])


def test_the_fit_is_that_of_ordinary_least_squares() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(12, 4, 3, 2))
    scores[rng.random(scores.shape) < 0.5] = NAN
    r, p, m, _ = np.nonzero(np.isfinite(scores))
    design = np.zeros((len(r), 12 + 4 + 3))
    rows = np.arange(len(r))
    design[rows, r] = design[rows, 12 + p] = design[rows, 16 + m] = 1
    fitted = np.linalg.lstsq(design, scores[np.isfinite(scores)], rcond=None)[0]
    found = severity_parts(scores)
    assert found.persona == pytest.approx(fitted[12:16] - fitted[12:16].mean())
    assert found.model == pytest.approx(fitted[16:] - fitted[16:].mean())


def test_each_prompt_is_left_out_once() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(9, 3, 2))
    prompt = np.repeat(["a", "b", "c"], 3)
    found = severity_parts(scores, prompt=prompt)
    assert found.n_prompts == 3
    for place, name in enumerate("abc"):
        rest = severity_parts(scores[prompt != name])
        assert found.persona_left_out[place] == pytest.approx(rest.persona)
        assert found.model_left_out[place] == pytest.approx(rest.model)


def test_what_does_not_cross_cannot_be_told_apart() -> None:
    own_model = np.full((5, 2, 2), NAN)
    own_model[:, 0, 0], own_model[:, 1, 1] = 3.0, 5.0
    for scores in (own_model, np.full((4, 2, 2), NAN), np.empty((0, 2, 2))):
        found = severity_parts(scores, prompt=np.arange(len(scores)))
        assert np.isnan(found.persona).all()
        assert found.reason is not None


def test_a_persona_that_scored_nothing_stays_unmeasured() -> None:
    scores = np.random.default_rng(4).normal(size=(6, 3, 2))
    scores[:, 1] = NAN
    found = severity_parts(scores)
    assert np.isnan(found.persona[1])
    assert found.persona[[0, 2]].sum() == pytest.approx(0)
    with pytest.raises(ValueError, match="responses, personas, models"):
        severity_parts(scores, prompt=["a"])
