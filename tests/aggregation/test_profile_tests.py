"""Tests of several families adjusted together, for what is said of a target as a whole."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from areopagus.aggregation import degradation, noise_floor
from areopagus.aggregation.vulnerability import holm_over_families, profile_tests
from areopagus.stress_test.profile import sentence


def test_two_families_by_hand() -> None:
    # Weights 1/2 each for the two cells, 1 for the single test; p/w: .01/.5 = .02, .04/.5 = .08,
    # .03/1 = .03. In this order the weight that is left is 2, 1.5, .5, so that the adjusted p are
    # .02 x 2 = .04, .03 x 1.5 = .045, max(.045, .08 x .5) = .045.
    cells, single = holm_over_families([[0.01, 0.04], [0.03]])
    assert cells == pytest.approx([0.04, 0.045])
    assert single == pytest.approx([0.045])


def test_what_has_no_p_value_takes_no_weight_and_keeps_none() -> None:
    with_nan, single = holm_over_families([[0.01, math.nan], [0.03]])
    assert with_nan[0] == pytest.approx(0.02)
    assert math.isnan(with_nan[1])
    assert single == pytest.approx([0.03])
    empty, nothing = holm_over_families([[], [math.nan]])
    assert empty.size == 0
    assert np.isnan(nothing).all()
    assert holm_over_families([]) == []


def test_over_noise_all_families_together_err_in_at_most_alpha() -> None:
    worlds = 4000
    # Twenty cells, their four means and one more test: correlated, as those of a study are.
    z = np.random.default_rng(3).normal(size=(worlds, 4, 5))
    tests = (z.reshape(worlds, 20), z.sum(axis=2) / 5**0.5, (z[:, 2, 3:4] - z[:, 3, 3:4]) / 2**0.5)
    p_values = [2 * stats.norm.sf(abs(one)) for one in tests]
    errors = by_family = 0
    for families in zip(*p_values, strict=True):
        found = holm_over_families(families)
        errors += min(float(one.min()) for one in found) <= 0.05
        by_family += any(float(one.min()) * one.size <= 0.05 for one in families)
    # Monte Carlo error .0034; each family by itself at .05 errs in more than twice as many.
    assert errors / worlds <= 0.05 + 2 * 0.0034
    assert by_family / worlds > 0.09


def test_a_sentence_must_hold_over_all_tests_together() -> None:
    rng = np.random.default_rng(5)
    framings = ["empirical_i", "empirical_friend", "emotion_agree", "emotion_disagree"]
    dimensions = ["clarity", "grounding", "pluralistic_engagement"]
    for seed in range(40):
        scores = 6 + 0.8 * rng.normal(size=(1, 5, 14, 3))
        scores[:, 3] -= 0.75
        found = degradation(
            scores, targets=["t"], conditions=["baseline", *framings], dimensions=dimensions,
            noise=noise_floor(*(0.1 * rng.normal(size=(2, 12, 3))), dimensions=dimensions),
            seed=seed, flips=499,
        )  # fmt: skip
        tests = profile_tests(
            ["t"], cells=found.cells, contrasts=found.contrasts, asymmetries=found.asymmetries,
            abstentions=(),
        )  # fmt: skip
        assert tests.n_families == 4
        changed = [cell for cell in found.cells if cell.verdict == "changed"]
        alone = [cell for cell in changed if tests.p_of(cell) > 0.05]
        said = {
            id(c) for f in found.findings if f.kind in ("degrades", "improves") for c in f.cells
        }
        assert not said & {id(cell) for cell in alone}
        assert all(tests.p_of(cell) >= cell.delta.p_adjusted for cell in changed)
        if alone and len(alone) == len(changed):
            (nothing,) = [f for f in found.findings if f.kind == "none"] or [None]
            if nothing is not None:
                assert "within their own family" in sentence(nothing)
                return
    raise AssertionError("no study of forty had a cell that is changed in its own family alone")
