"""A calibration of stored judgments, applied to a later table of the same judges."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError
from areopagus.calibration import apply, calibrate, load, save
from areopagus.cli.main import cli


def run(*arguments: str) -> Any:
    return cli.main([*arguments], standalone_mode=False)


@pytest.fixture
def saved(make_world: Callable[..., Any]) -> tuple[Path, Path]:
    files = make_world(24)
    path = files.judgments.with_name("calibration.json")
    save(calibrate(files.judgments, files.humans, scale=(1, 10)), path)
    return path, files.judgments


def without(path: Path, judge: str) -> Path:
    """The judgments without those of one persona."""
    kept = [line for line in path.read_text().splitlines() if judge not in line]
    other = path.with_name("other.csv")
    other.write_text("\n".join(kept) + "\n")
    return other


def test_the_same_judges_are_calibrated(saved: tuple[Path, Path], tmp_path: Path) -> None:
    path, judgments = saved
    line = {"name": "line", "x": [1.0, 10.0], "y": [2.0, 9.2]}
    path.write_text(json.dumps(load(path) | {"weights": {}, "severities": {}, "map": line}))
    found = apply(path, judgments)
    assert found.moved == ()
    assert len(found.drift) == 6
    assert all(row.change.value == 0 for row in found.drift)
    assert (found.corrections, found.withheld) == (("line",), ())
    for one in found.scores:
        assert one.calibrated == pytest.approx(2 + 0.8 * (one.score - 1))
    run("apply", str(path), str(judgments), "--out", str(tmp_path / "out.csv"))
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24 * 6
    assert float(rows[0]["calibrated"]) == pytest.approx(found.scores[0].calibrated)


def test_other_judges_are_refused_by_name_in_lines_of_80_columns(
    saved: tuple[Path, Path],
) -> None:
    path, judgments = saved
    other = without(judgments, "historian")
    with pytest.raises(InputError) as refused:
        run("apply", str(path), str(other))
    text = f"Error: {refused.value}"
    assert "calibrated and missing now: historian x" in " ".join(text.split())
    # a path alone may be longer than a line
    assert all(len(line) <= 80 or " " not in line.strip() for line in text.splitlines()[1:])


def test_despite_differences_says_what_was_earned_and_withheld(
    saved: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path, judgments = saved
    content = load(path) | {"map": {"name": "line", "x": [1.0, 10.0], "y": [2.0, 9.0]}}
    path.write_text(json.dumps(content))
    run("apply", str(path), str(without(judgments, "historian")), "--despite-differences")
    printed = capsys.readouterr().out
    assert "corrections applied: none\n" in printed
    assert "earned and not applied: line: it was earned for another panel" in printed
    assert "none were earned" not in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_a_table_is_no_run_and_says_so(saved: tuple[Path, Path]) -> None:
    path, judgments = saved
    content = load(path)
    content["panel"] = {"personas": {"a": "1"}, "models": {"m": "1"}, "rubric": "r"}
    with pytest.raises(InputError, match="and this is a table of stored judgments"):
        apply(content, judgments)


def test_a_criterion_that_was_not_judged_is_bad_input(saved: tuple[Path, Path]) -> None:
    path, judgments = saved
    content = load(path) | {"criterion": "clarity"}
    with pytest.raises(InputError, match="has no criterion 'clarity'"):
        apply(content, judgments)
