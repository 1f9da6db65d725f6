"""How many independent judges a panel is worth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from areopagus.aggregation.decision_study import crossed_layout, d_study
from areopagus.aggregation.generalizability import RESIDUAL, panel_g_study
from areopagus.aggregation.judge_worth import (
    effective_judges_from_components,
    worth_of_components,
)

ILLUSTRATION = {"r:q": 0.64, "rP": 0.06, "rM": 0.30, RESIDUAL: 0.25}


@pytest.mark.parametrize(
    ("correlation", "worth"), [(0.1, 7.69), (0.3, 3.09), (0.6, 1.63), (0.8, 1.24)]
)
def test_thirty_judges_of_equal_correlation_are_worth_what_kish_says(
    correlation: float, worth: float
) -> None:
    components = {"r:q": 1.0, "rP": 0.0, "rM": correlation, RESIDUAL: 1 - correlation}
    found = effective_judges_from_components(components, personas=30, models=1)
    assert found == pytest.approx(worth, abs=5e-3)


def test_thirty_judges_are_worth_five_in_the_reference_example() -> None:
    found = effective_judges_from_components(ILLUSTRATION, personas=10, models=3)
    assert found == pytest.approx(5.33, abs=0.01)


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
