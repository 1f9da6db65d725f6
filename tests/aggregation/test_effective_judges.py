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
# Brennan (2001), Generalizability Theory: synthetic data set 1, persons x items
PERSONS_BY_ITEMS = [
    "101000000000", "111001000000", "111110000000", "110110010000", "111110100000",
    "111011100000", "111111100000", "111101111100", "111111111110", "111111111111",
]  # fmt: skip


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
    assert found.kish == pytest.approx(worth, abs=5e-3)


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
    assert found.kish == pytest.approx(10 / 5.5, abs=0.07)
    assert found.variance_ratio == pytest.approx(found.kish, abs=0.02)


def test_reference_noise_is_not_held_against_the_judges() -> None:
    rng = np.random.default_rng(2)
    truth = rng.normal(0, 1, 4000)
    scores = truth[:, None] + rng.normal(0, 1, (4000, 10))
    noisy = truth + rng.normal(0, 1, 4000)
    assert effective_judges(scores, noisy, draws=0).kish < 2
    corrected = effective_judges(scores, noisy, reference_noise=1.0, draws=0)
    assert corrected.kish == pytest.approx(10, rel=0.3)


def test_independent_judges_lie_inside_the_null_and_redundant_ones_outside() -> None:
    rng = np.random.default_rng(3)
    truth, prompt = rng.normal(0, 1, 44), np.repeat(np.arange(11), 4)
    scores = truth[:, None] + rng.normal(0, 1, (44, 30))
    scores[rng.random(scores.shape) < 0.05] = NAN
    alone = effective_judges(scores, truth, groups=prompt, draws=300)
    assert alone.null_low < alone.kish < alone.null_high
    together = effective_judges(
        scores + 1.5 * rng.normal(size=(44, 1)), truth, groups=prompt, draws=300
    )
    assert together.kish < together.null_low


def test_severity_and_prompt_levels_do_not_change_the_effective_number() -> None:
    rng = np.random.default_rng(4)
    truth, prompt = rng.normal(size=40), np.repeat(np.arange(8), 5)
    scores = truth[:, None] + rng.normal(size=(40, 5))
    base = effective_judges(scores, truth, groups=prompt, draws=0)
    moved = effective_judges(
        scores + rng.normal(size=5) + rng.normal(size=(8, 5))[prompt],
        truth, groups=prompt, draws=0,
    )  # fmt: skip
    assert moved.kish == pytest.approx(base.kish)


def test_too_little_data_or_too_much_noise_is_undefined_with_the_reason() -> None:
    assert effective_judges(np.ones((5, 1)), np.ones(5)).reason == "fewer than two judges"
    few = effective_judges(np.arange(6.0).reshape(3, 2), np.zeros(3))
    assert few.reason is not None
    rng = np.random.default_rng(5)
    noisy = effective_judges(rng.normal(size=(20, 3)), np.zeros(20), reference_noise=50)
    assert np.isnan(noisy.kish)
    assert noisy.reason is not None
