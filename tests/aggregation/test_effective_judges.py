"""How many independent judges a panel is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.effective_judges import (
    effective_judges,
    effective_judges_from_components,
)
from areopagus.aggregation.generalizability import (
    RESIDUAL,
)

NAN = math.nan
ILLUSTRATION = {"r:q": 0.64, "rP": 0.06, "rM": 0.30, RESIDUAL: 0.25}


@pytest.mark.parametrize(
    ("correlation", "worth"), [(0.1, 7.69), (0.3, 3.09), (0.6, 1.63), (0.8, 1.24)]
)
def test_thirty_judges_of_equal_correlation_are_worth_what_kish_says(
    correlation: float, worth: float
) -> None:
    # Errors with exactly that correlation: a shared column and thirty own ones, orthogonal to
    # each other and to the constant.
    rng = np.random.default_rng(0)
    columns = np.linalg.qr(np.column_stack([np.ones(60), rng.normal(size=(60, 31))]))[0][:, 1:]
    errors = math.sqrt(correlation) * columns[:, :1] + math.sqrt(1 - correlation) * columns[:, 1:]
    found = effective_judges(errors, np.zeros(60), draws=0)
    assert found.mean_correlation == pytest.approx(correlation)
    assert found.kish.value == pytest.approx(worth, abs=5e-3)


def test_thirty_judges_are_worth_five_in_the_reference_example() -> None:
    found = effective_judges_from_components(ILLUSTRATION, personas=10, models=3)
    assert found == pytest.approx(5.33, abs=0.01)


def test_errors_not_scores_make_the_effective_number() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(0, 2, 4000)
    shared = rng.normal(0, 1, (4000, 1))
    # rho of errors .5: 10 judges are worth 10 / (1 + 9 / 2) = 1.82
    scores = truth[:, None] + shared + rng.normal(0, 1, (4000, 10))
    found = effective_judges(scores, truth, draws=0)
    assert found.kish.value == pytest.approx(10 / 5.5, abs=0.07)
    assert found.variance_ratio == pytest.approx(found.kish.value, abs=0.02)


def test_reference_noise_is_not_held_against_the_judges() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(0, 1, 4000)
    scores = truth[:, None] + rng.normal(0, 1, (4000, 10))
    noisy = truth + rng.normal(0, 1, 4000)
    assert effective_judges(scores, noisy, draws=0).kish.value < 2
    corrected = effective_judges(scores, noisy, reference_noise=1.0, draws=0)
    assert corrected.kish.value == pytest.approx(10, rel=0.3)


def test_independent_judges_lie_inside_the_null_and_redundant_ones_outside() -> None:
    rng = np.random.default_rng(3)
    truth, prompt = rng.normal(0, 1, 44), np.repeat(np.arange(11), 4)
    scores = truth[:, None] + rng.normal(0, 1, (44, 30))
    scores[rng.random(scores.shape) < 0.05] = NAN
    alone = effective_judges(scores, truth, groups=prompt, draws=300)
    assert alone.null.covers(alone.kish.value)
    assert alone.null.verdict == "inside: no shared errors shown"
    together = effective_judges(
        scores + 1.5 * rng.normal(size=(44, 1)), truth, groups=prompt, draws=300
    )
    assert together.null.verdict == "below: errors are shared"


def test_too_little_data_or_too_much_noise_is_undefined_with_the_reason() -> None:
    rng = np.random.default_rng(5)
    for found in (
        effective_judges(np.ones((5, 1)), np.ones(5)),
        effective_judges(np.arange(6.0).reshape(3, 2), np.zeros(3)),
        effective_judges(rng.normal(size=(20, 3)), np.zeros(20), reference_noise=50),
    ):
        assert (found.kish.is_defined, bool(found.kish.reason)) == (False, True)
