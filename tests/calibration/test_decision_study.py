"""How many judges: what a calibrated panel is worth, and the designs that are needed."""

from __future__ import annotations

from calibration_worlds import figure

from areopagus.calibration import Calibration


def test_the_worth_of_the_panel_has_an_interval(planted_report: Calibration) -> None:
    worth = figure(planted_report, "size", "worth")
    assert worth.has_interval
    assert 1 <= worth.low < worth.value < worth.high <= 6
    assert "jackknife" in worth.method


def test_needed_designs_are_there_for_order_and_level(planted_report: Calibration) -> None:
    rows = planted_report.estimates
    needed = rows[(rows["table"] == "designs needed") & (rows["measure"] == "calls")]
    assert needed["detail"].tolist() == ["order"] * 5 + ["level"] * 5
    order = needed["value"][:5].tolist()
    assert order == sorted(order)
    assert "Fewest calls a response for a standard error" in planted_report.text
