"""The judges' figure, and names that break at a phone's width."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from areopagus.calibration import Calibration
from areopagus.calibration.figures import draw_judges
from areopagus.calibration.page import write_calibration_page


@pytest.mark.parametrize("accuracy", [0.5, 0.52, 0.47, 0.75])
def test_panel_and_chance_are_never_printed_over_each_other(
    planted_report: Calibration, accuracy: float
) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib.figure import Figure

    first = planted_report.panel.by_target[0]
    first = replace(first, accuracy=replace(first.accuracy, value=accuracy))
    panel = replace(planted_report.panel, by_target=(first,))
    figure: Any = Figure(figsize=(5.2, 3.6), layout="constrained")
    assert draw_judges(replace(planted_report, panel=panel), figure)
    figure.draw_without_rendering()
    boxes = {
        text.get_text(): text.get_window_extent()
        for text in figure.axes[0].texts
        if text.get_text() in ("panel", "chance")
    }
    assert set(boxes) == {"panel", "chance"}
    assert not boxes["panel"].overlaps(boxes["chance"])


def test_names_of_criteria_break_after_an_underscore(
    planted_report: Calibration, tmp_path: Path
) -> None:
    people = planted_report.people
    named = replace(people.criteria[0], criterion="argumentative_soundness")
    report = replace(planted_report, people=replace(people, criteria=(named,)))
    page = write_calibration_page(tmp_path / "r.html", report, tmp_path, figures=False)
    cells = [
        cell.split("</t")[0] for cell in re.split("<t[dh][ >]", page.read_text())
        if "argumentative" in cell.split("</t")[0]
    ]  # fmt: skip
    # of the counts, of agreement, and of each rater's severity
    assert len(cells) >= 2 + len(named.severity.raters)
    assert all("argumentative_<wbr>soundness" in cell for cell in cells)
