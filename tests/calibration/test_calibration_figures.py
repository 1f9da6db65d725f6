"""Figures are written where the data allow, and say what is missing where matplotlib is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from areopagus.calibration import Calibration, calibrate, write_figures

pytestmark = pytest.mark.pictures


def test_all_figures_in_two_formats(planted_report: Calibration, tmp_path: Path) -> None:
    paths = write_figures(planted_report, tmp_path / "figures")
    assert {path.name for path in paths} == {
        f"{name}.{suffix}"
        for name in (
            *("scores_and_people", "judges", "designs", "reliability"),
            *("agreement", "ceiling", "severity", "alt_test"),
        )
        for suffix in ("png", "svg")
    }
    assert all(path.stat().st_size > 2000 for path in paths)
    assert "chance" in (tmp_path / "figures" / "judges.svg").read_text()
    again = write_figures(planted_report, tmp_path / "again", formats=("svg",))
    assert again[0].read_bytes() == paths[1].read_bytes()


def test_ranks_have_no_reliability_diagram(make_world: Callable[..., Any], tmp_path: Path) -> None:
    files = make_world(8, as_ranks=True)
    paths = write_figures(calibrate(files.judgments, files.humans), tmp_path, formats=("png",))
    assert [path.stem for path in paths[:3]] == ["scores_and_people", "judges", "designs"]
    assert "reliability" not in {path.stem for path in paths}
