"""How many judges: variance components, what a panel is worth, and the designs that are needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calibration_worlds import figure

from areopagus.aggregation import (
    d_study,
    effective_judges_from_components,
    panel_g_study,
    smallest_designs,
)
from areopagus.aggregation.effective_judges import independent_worth, worth_of_components
from areopagus.calibration import Calibration, calibrate

COMPONENTS = {"r:q": 0.64, "rP": 0.06, "rM": 0.30, "residual": 0.25, "P": 0.2, "M": 0.4}
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


def test_the_cheapest_design_is_found_among_all() -> None:
    most = (6, 4, 2)
    for criterion, field in (("relative", "relative_error"), ("absolute", "absolute_error")):
        for wanted in (0.7, 0.5, 0.4):
            (found,) = smallest_designs(COMPONENTS, [wanted], most=most, criterion=criterion)  # type: ignore[arg-type]
            calls = [
                p * m * r
                for p in range(1, 7)
                for m in range(1, 5)
                for r in range(1, 3)
                if math.sqrt(getattr(d_study(COMPONENTS, personas=p, models=m, repeats=r), field))
                <= wanted
            ]
            assert (found.design.calls if found.design else None) == min(calls, default=None)


def test_a_design_by_hand_and_one_out_of_reach() -> None:
    # One persona and two models: (.06 + .15 + .125) = .335, its root .579.
    reached, not_reached = smallest_designs(COMPONENTS, [0.58, 0.01], most=(5, 5, 1))
    assert reached.design is not None
    assert (reached.design.personas, reached.design.models) == (1, 2)
    assert not_reached.design is None
    with pytest.raises(ValueError, match="above 0"):
        smallest_designs(COMPONENTS, [0.0])


def test_the_worth_of_the_panel_has_a_jackknife_interval(planted_report: Calibration) -> None:
    worth = figure(planted_report, "size", "worth")
    assert worth.has_interval
    assert 1 <= worth.low < worth.value < worth.high <= 6
    assert "jackknife" in worth.method


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


def test_few_prompts_give_the_worth_without_an_interval(make_world: Callable[..., Any]) -> None:
    few = calibrate(*make_world(4))
    worth = figure(few, "size", "worth")
    assert not worth.has_interval
    assert worth.reason is not None
    apart = figure(few, "judges", "severity_apart", group="historian")
    assert "at least 6" in (apart.reason or "")


def test_needed_designs_are_there_for_order_and_level(planted_report: Calibration) -> None:
    rows = planted_report.estimates
    needed = rows[(rows["table"] == "designs needed") & (rows["measure"] == "calls")]
    assert needed["detail"].tolist() == ["order"] * 5 + ["level"] * 5
    order = needed["value"][:5].tolist()
    assert order == sorted(order)
    assert "Fewest calls a response for a standard error" in planted_report.text


def test_severity_is_taken_apart(planted_report: Calibration) -> None:
    rows = planted_report.estimates
    apart = rows[rows["measure"] == "severity_apart"]
    assert apart["factor"].tolist() == ["persona"] * 3 + ["model"] * 2
    for name in apart["group"]:
        # Every judge scored every response: the fit is then the difference of means.
        fitted, plain = (
            figure(planted_report, "judges", measure, group=name)
            for measure in ("severity_apart", "severity")
        )
        assert fitted.value == pytest.approx(plain.value)
        assert fitted.has_interval


def test_a_single_judge_has_nothing_to_take_apart(planted: Any, tmp_path: Any) -> None:
    lines = planted.judgments.read_text().splitlines()
    kept = [lines[0], *(line for line in lines[1:] if "sociologist,openai" in line)]
    one = tmp_path / "one.csv"
    one.write_text("\n".join(kept) + "\n")
    apart = figure(calibrate(one, planted.humans), "judges", "severity_apart")
    assert apart.reason == "one persona and one model: there is nothing to take apart"


def test_what_independent_judges_come_out_as_is_no_interval_of_the_panel(
    planted_report: Calibration,
) -> None:
    for name in ("worth", "worth_by_errors"):
        null = figure(planted_report, "size", f"{name}_if_independent")
        assert null.low < null.value
        assert null.has_interval == (null.reason is None)
        assert null.unit == "simulation"
    errors = figure(planted_report, "size", "worth_by_errors")
    assert not errors.has_interval
    assert errors.reason


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
    null = figure(found, "size", "worth_by_errors_if_independent")
    assert math.isnan(null.high)
    assert (null.reason or "").startswith("infinite")
    assert "errors of so few responses can cancel out by chance" in " ".join(found.text.split())
