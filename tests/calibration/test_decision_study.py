"""How many judges: what a calibrated panel is worth, the designs that are needed, severity."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from calibration_worlds import Files, figure

from areopagus.calibration import Calibration, calibrate


def test_the_worth_of_the_panel_and_what_independent_judges_come_out_as(
    planted_report: Calibration,
) -> None:
    worth = figure(planted_report, "size", "worth")
    assert worth.has_interval
    assert 1 <= worth.low < worth.value < worth.high <= 6
    assert "jackknife" in worth.method
    for name in ("worth", "worth_by_errors"):
        null = figure(planted_report, "size", f"{name}_if_independent")
        assert null.low < null.value
        assert null.has_interval == (null.reason is None)
        assert null.unit == "simulation"
    errors = figure(planted_report, "size", "worth_by_errors")
    assert not errors.has_interval
    assert errors.reason


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


def test_a_single_judge_has_nothing_to_take_apart(planted: Files, tmp_path: Path) -> None:
    lines = planted.judgments.read_text().splitlines()
    kept = [lines[0], *(line for line in lines[1:] if "sociologist,openai" in line)]
    one = tmp_path / "one.csv"
    one.write_text("\n".join(kept) + "\n")
    apart = figure(calibrate(one, planted.humans), "judges", "severity_apart")
    assert apart.reason == "one persona and one model: there is nothing to take apart"


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
