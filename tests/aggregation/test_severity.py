"""Severities of judges, and of personas and models fitted together."""

from __future__ import annotations

import numpy as np
import pytest

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
