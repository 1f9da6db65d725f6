"""Fitted weights of judges, and when they are adopted."""

from __future__ import annotations

import numpy as np
import pytest

from areopagus.aggregation.stacking import stack_judges

NAN = float("nan")


def panel_world(seed: int, prompts: int = 12, useless: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    prompt = np.repeat(np.arange(prompts), 5)
    quality = rng.normal(size=len(prompt))
    scores = quality[:, None] + rng.normal(0, 1, (len(prompt), 8))
    scores[:, :useless] = rng.normal(0, 3, (len(prompt), useless))
    return scores, quality + rng.normal(0, 0.5, len(prompt)), prompt


def test_equal_weights_stay_when_judges_are_exchangeable() -> None:
    found = stack_judges(*panel_world(1))
    assert found.adopted == "equal"
    assert found.weights == pytest.approx(np.full(8, 1 / 8))
    assert min(found.p.values()) >= 0.05
    assert set(found.fold.tolist()) == set(range(10))


def test_fitted_weights_are_adopted_when_most_judges_are_noise() -> None:
    found = stack_judges(*panel_world(2, prompts=40, useless=6))
    assert found.adopted == "shrunk"
    assert found.weights[6:].sum() > 0.7
    assert found.p["shrunk"] < 0.05
    assert found.gain["shrunk"] > 0
    assert found.best_judge in {6, 7}
    assert found.weights.sum() == pytest.approx(1)


def test_prompts_are_never_split_between_folds() -> None:
    scores, target, prompt = panel_world(3, prompts=25)
    found = stack_judges(scores, target, prompt)
    for code in range(25):
        assert len(set(found.fold[prompt == code])) == 1


def test_prompt_levels_and_severities_do_not_matter_to_weights() -> None:
    scores, target, prompt = panel_world(4)
    base = stack_judges(scores, target, prompt)
    rng = np.random.default_rng(0)
    moved = stack_judges(scores + rng.normal(size=12)[prompt][:, None] + rng.normal(size=8),
                         target + rng.normal(size=12)[prompt], prompt)  # fmt: skip
    assert moved.shrunk_weights == pytest.approx(base.shrunk_weights, abs=1e-6)
    assert moved.agreement["shrunk"] == pytest.approx(base.agreement["shrunk"])


def test_the_gain_that_decides_is_the_difference_of_the_two_agreements_that_are_printed() -> None:
    for seed in range(4):
        found = stack_judges(*panel_world(seed, prompts=20, useless=seed))
        for name in ("shrunk", "best_single"):
            difference = found.agreement[name] - found.agreement["equal"]
            assert found.gain[name] == pytest.approx(difference)
            if found.adopted == name:
                assert difference > 0
                assert found.p[name] < 0.05
    # by hand: 2 of 3 pairs right, and a tie is no order: (2 - 0) / 3
    tied = np.tile([1.0, 2.0, 2.0], 8)
    truth, prompt = np.tile([1.0, 2.0, 3.0], 8), np.repeat(np.arange(8), 3)
    assert stack_judges(np.stack([tied, tied], 1), truth, prompt).agreement[
        "equal"
    ] == pytest.approx(2 / 3)


def test_few_prompts_adopt_nothing_and_say_why() -> None:
    found = stack_judges(*panel_world(6, prompts=5))
    assert (found.adopted, found.reason) == ("equal", "fewer than 6 prompts")
    assert np.isnan(found.p["shrunk"])
