"""What a panel is worth in judgments: its interval, and what independent judges come out as."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from areopagus.aggregation import d_study, effective_judges
from areopagus.aggregation.effective_judges import independent_worth
from areopagus.aggregation.estimate import Estimate
from areopagus.aggregation.generalizability import panel_g_study
from areopagus.calibration import Calibration, calibrate
from areopagus.calibration.panel_worth import worth_of_components
from areopagus.calibration.text_panel import how_many_lines

PROMPTS = np.repeat(np.arange(10), 4)


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
        worth = worth_of_components(study, (4, 3, 1), 10, 0.95)
        assert null.low < null.median <= null.high <= 12
        assert null.draws == 200
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
    found = worth_of_components(study, (4, 3, 1), 10, 0.95)
    assert found.value == pytest.approx(12)
    assert found.has_interval
    assert 1 <= found.low < 12 == found.high
    assert "keep their sign" in found.method


def test_positive_components_give_the_ratio_of_the_design_study() -> None:
    study = panel_g_study(panel(shared=0.6), prompt=PROMPTS)
    assert all(study.components[name] > 0 for name in ("rM", "residual"))
    found = worth_of_components(study, (4, 3, 1), 10, 0.95)
    one = d_study(study, personas=1, models=1).relative_error
    assert found.value == pytest.approx(one / d_study(study, personas=4, models=3).relative_error)
    assert found.low <= found.value <= found.high


def test_one_model_says_nothing_of_what_judges_share() -> None:
    study = panel_g_study(panel(shared=0.6)[:, :, :1], prompt=PROMPTS)
    found = worth_of_components(study, (4, 1, 1), 10, 0.95)
    # it would be four whatever the scores are
    assert not found.is_defined
    assert "one model, or one persona" in (found.reason or "")


def test_both_nulls_are_printed_and_stand_apart_from_intervals(
    planted_report: Calibration,
) -> None:
    size = planted_report.how_many
    lines = "\n".join(how_many_lines(size))
    assert lines.count("independent judges come out as:") == 2
    assert not size.effective_of_errors.has_interval
    tree = planted_report.to_json()["how_many"]
    for name in ("effective", "effective_of_errors"):
        null = tree[f"{name}_null"]
        assert set(null) == {"null_low", "null_median", "null_high", "method", "reason"}
        assert null["null_low"] is not None
        assert (null["null_high"] is None) == (null["reason"] is not None)
    assert tree["effective_of_errors"]["low"] is None
    assert tree["effective_of_errors"]["reason"]


def test_an_infinite_upper_end_is_said(tmp_path: Path) -> None:
    """Few responses: errors of independent judges cancel out by chance."""
    rng = np.random.default_rng(2)
    judged = ["prompt_id,response_id,persona,model,score"]
    rated = ["rater_id,prompt_id,response_id,score"]
    for g in range(6):
        for r in range(3):
            truth = rng.normal(5, 1.5)
            rated += [
                f"h{k},q{g},q{g}r{r},{round(truth + rng.normal(scale=0.8))}" for k in range(3)
            ]
            judged += [
                f"q{g},q{g}r{r},p{p},m{m},{round(truth + rng.normal(scale=1.5))}"
                for p in range(4) for m in range(3)
            ]  # fmt: skip
    files = tmp_path / "judgments.csv", tmp_path / "humans.csv"
    for path, lines in zip(files, (judged, rated), strict=True):
        path.write_text("\n".join(lines) + "\n")
    found = calibrate(*files)
    null = found.how_many.effective_of_errors_null
    assert math.isnan(null.null_high)
    assert (null.reason or "").startswith("infinite")
    assert "to infinity" in "\n".join(how_many_lines(found.how_many))


def test_errors_that_do_not_vary_are_called_that() -> None:
    found = effective_judges(np.ones((8, 3)), np.zeros(8))
    assert found.reason == "a judge's errors are the same throughout: they do not vary"
    noisy = np.random.default_rng(0).normal(size=(8, 3))
    used_up = effective_judges(noisy, np.zeros(8), reference_noise=50.0)
    assert used_up.reason == "the reference noise is as large as a judge's whole error"


def test_errors_that_cancel_out_are_worth_any_number() -> None:
    one = np.array([1.0, -1, 2, -2, 0, 3, -3, 0])
    found = effective_judges(np.stack([one, -one], axis=1), np.zeros(8), draws=0)
    assert math.isinf(found.kish)
    assert "cancel out" in (found.reason or "")
    assert not Estimate(found.kish, n=8, unit="response", method="").is_defined
