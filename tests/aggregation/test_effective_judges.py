"""How many independent judges a panel is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.decision_study import crossed_layout, d_study
from areopagus.aggregation.generalizability import RESIDUAL, panel_g_study
from areopagus.aggregation.judge_worth import (
    effective_judges,
    effective_judges_from_components,
    independent_worth,
    worth_of_components,
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


PROMPTS = np.repeat(np.arange(10), 4)
FOUR_BY_THREE = crossed_layout(4, 3, target="response_within_prompt", is_replicated=False)


def panel(*, shared: float, seed: int = 0) -> np.ndarray:
    """Scores of 4 personas x 3 models: responses, what models share about each, and noise."""
    rng = np.random.default_rng(seed)
    n = len(PROMPTS)
    return (
        6
        + rng.normal(size=(n, 1, 1))
        + rng.normal(scale=math.sqrt(shared), size=(n, 1, 3))
        + rng.normal(scale=math.sqrt(1 - shared), size=(n, 4, 3))
    )


def test_independent_judges_lie_inside_their_null_and_others_below() -> None:
    independent, alike = panel(shared=0.0), panel(shared=0.8)
    for scores, is_inside in ((independent, True), (alike, False)):
        study = panel_g_study(scores, prompt=PROMPTS)
        null = independent_worth(scores, prompt=PROMPTS, components=study.components, seed=1)
        worth = worth_of_components(study, FOUR_BY_THREE, 10, 0.95)
        assert null.low < null.value <= null.high <= 12
        assert null.n == 200
        assert (null.low <= worth.value <= null.high) is is_inside
    # drawn from the same components, with or without being told them
    again = independent_worth(alike, prompt=PROMPTS, seed=1)
    told = independent_worth(alike, prompt=PROMPTS, components=study.components, seed=1)
    assert again == told


def test_the_null_needs_an_error_and_a_draw() -> None:
    nothing = independent_worth(np.full((40, 4, 3), 6.0), prompt=PROMPTS)
    assert math.isnan(nothing.low)
    assert nothing.reason == "no component of error is known and positive"
    with pytest.raises(ValueError, match="draws"):
        independent_worth(panel(shared=0.0), prompt=PROMPTS, draws=0)


def test_clipped_components_do_not_make_the_worth_exact() -> None:
    # both shared components come out below 0 in this world, with every prompt left out as well
    for seed in range(40):
        study = panel_g_study(panel(shared=0.0, seed=seed), prompt=PROMPTS)
        if all(parts[name] < 0 for parts in study.left_out for name in ("rP", "rM")):
            break
    else:
        pytest.fail("no such world")
    found = worth_of_components(study, FOUR_BY_THREE, 10, 0.95)
    assert found.value == pytest.approx(12)
    assert found.has_interval
    assert 1 <= found.low < 12 == found.high
    assert "keep their sign" in found.method


def test_positive_components_give_the_ratio_of_the_design_study() -> None:
    study = panel_g_study(panel(shared=0.6), prompt=PROMPTS)
    assert all(study.components[name] > 0 for name in ("rM", "residual"))
    found = worth_of_components(study, FOUR_BY_THREE, 10, 0.95)
    one = d_study(study, personas=1, models=1).relative_error
    assert found.value == pytest.approx(one / d_study(study, personas=4, models=3).relative_error)
    assert found.low <= found.value <= found.high


def test_one_model_says_nothing_of_what_judges_share() -> None:
    study = panel_g_study(panel(shared=0.6)[:, :, :1], prompt=PROMPTS)
    found = worth_of_components(
        study,
        crossed_layout(4, 1, target="response_within_prompt", is_replicated=False),
        10,
        0.95,
    )
    # it would be four whatever the scores are
    assert not found.is_defined
    assert "one model, or one persona" in (found.reason or "")


def test_components_without_each_prompt_are_those_of_the_rest() -> None:
    scores = np.random.default_rng(0).normal(size=(24, 3, 2))
    prompt = np.repeat(np.arange(8), 3)
    study = panel_g_study(scores, prompt=prompt)
    assert len(study.left_out) == 8
    rest = panel_g_study(scores[prompt != 2], prompt=prompt[prompt != 2], jackknife=False)
    assert study.left_out[2] == pytest.approx(rest.components)
    worth = effective_judges_from_components(rest, personas=3, models=2)
    assert effective_judges_from_components(
        study.left_out[2], personas=3, models=2
    ) == pytest.approx(worth)
