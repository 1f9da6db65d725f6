"""How many judges: the worth of a panel with its interval, needed designs, severities apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from areopagus.aggregation import (
    d_study,
    effective_judges_from_components,
    panel_g_study,
    permutation_null,  # the module
    smallest_designs,
)
from areopagus.calibration import Calibration, calibrate
from areopagus.calibration.text_panel import how_many_lines, judges_lines

COMPONENTS = {"r:q": 0.64, "rP": 0.06, "rM": 0.30, "residual": 0.25, "P": 0.2, "M": 0.4}


@pytest.fixture
def report(planted_report: Calibration) -> Calibration:
    return planted_report


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


def test_the_worth_of_the_panel_has_a_jackknife_interval(report: Calibration) -> None:
    worth = report.how_many.effective
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
    worth = few.how_many.effective
    assert not worth.has_interval
    assert worth.reason is not None
    for part in few.judges.severity_parts.parts:
        assert "at least 6" in (part.severity.reason or "")


def test_needed_designs_are_printed_for_order_and_level(report: Calibration) -> None:
    needed = report.how_many.needed
    assert [one.aim for one in needed] == ["order"] * 5 + ["level"] * 5
    order = [one.calls for one in needed[:5] if one.calls is not None]
    assert order == sorted(order)
    lines = "\n".join(how_many_lines(report.how_many))
    assert "fewest calls a response for a standard error" in lines
    tree = report.to_json()["how_many"]["needed"][0]
    assert set(tree) == {
        "standard_error", "aim", "personas", "models", "repeats", "calls", "reason",
    }  # fmt: skip


def test_severity_is_taken_apart(report: Calibration) -> None:
    parts = {part.name: part for part in report.judges.severity_parts.parts}
    assert [part.kind for part in parts.values()] == ["persona"] * 3 + ["model"] * 2
    rows = {row.name: row for row in report.judges.rows}
    for name, part in parts.items():
        # Every judge scored every response: the fit is then the difference of means.
        assert part.severity.value == pytest.approx(rows[name].severity.value)
        assert part.severity.has_interval
    assert "severity taken apart" in "\n".join(judges_lines(report.judges))


def test_a_single_judge_has_nothing_to_take_apart(planted: Any, tmp_path: Any) -> None:
    lines = planted.judgments.read_text().splitlines()
    kept = [lines[0], *(line for line in lines[1:] if "sociologist,openai" in line)]
    one = tmp_path / "one.csv"
    one.write_text("\n".join(kept) + "\n")
    apart = calibrate(one, planted.humans).judges.severity_parts
    assert apart.parts == ()
    assert apart.reason == "one persona and one model: there is nothing to take apart"


def test_blocks_do_not_change_the_null(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    groups = [(rng.permutation(5), rng.integers(0, 3, 5).astype(float)) for _ in range(60)]
    groups = [(np.asarray(x, dtype=float), y) for x, y in groups]
    whole = permutation_null.combined_null(groups)
    monkeypatch.setattr(permutation_null, "BLOCK_LENGTH", 1)
    step_by_step = permutation_null.combined_null(groups)
    assert whole.first == step_by_step.first
    assert whole.probabilities == pytest.approx(step_by_step.probabilities, rel=1e-9)
