"""The commands around calibration, on small planted worlds."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest
from calibration_worlds import figure

from areopagus import InputError
from areopagus.calibration import CalibrationRun, agreement, calibrate
from areopagus.cli.main import cli
from areopagus.records.humans import read_humans

CRITERIA = ("overall",)


def world(folder: Path, *, prompts: int = 12, responses: int = 4, seed: int = 0) -> None:
    """Four people, one of them harsh; three judges, one of them useless."""
    chance = random.Random(seed)
    with (
        (folder / "humans.csv").open("w", newline="") as people,
        (folder / "judgments.csv").open("w", newline="") as panel,
    ):
        rate, judge = csv.writer(people), csv.writer(panel)
        rate.writerow(["rater_id", "prompt_id", "response_id", "criterion", "score"])
        judge.writerow(["prompt_id", "response_id", "judge", "score"])
        for p in range(prompts):
            for r in range(responses):
                truth = chance.gauss(5.5, 1.5)
                for n in range(4):
                    value = truth + chance.gauss(0, 0.6) - (2.0 if n == 3 else 0.0)
                    rated = min(10, max(1, round(value)))
                    rate.writerow([f"rater{n}", f"p{p}", f"p{p}r{r}", "overall", rated])
                for name, noise in (("fine", 0.5), ("fair", 0.8), ("useless", None)):
                    value = chance.gauss(5.5, 1.5) if noise is None else truth
                    score = min(10, max(1, round(value + chance.gauss(0, noise or 0.1))))
                    judge.writerow([f"p{p}", f"p{p}r{r}", name, score])


def run(*arguments: str) -> None:
    cli.main([*arguments], standalone_mode=False)


def test_the_harsh_rater_and_the_useless_judge_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world(tmp_path, prompts=30)
    run(
        "calibrate", str(tmp_path / "judgments.csv"), str(tmp_path / "humans.csv"),
        "--out", str(tmp_path / "out"), "--json", str(tmp_path / "all.json"),
    )  # fmt: skip
    printed = capsys.readouterr().out
    assert "harsh: rater3" in printed
    assert "Useless: useless" in printed
    assert all(len(line) <= 80 for line in printed.splitlines() if str(tmp_path) not in line)
    found = json.loads((tmp_path / "all.json").read_text())
    assert found["kind"] == "calibration"
    accuracy = {
        row["group"]: row["value"]
        for row in found["estimates"]
        if (row["table"], row["measure"]) == ("judges", "accuracy")
    }
    assert accuracy["useless"] < 0.65 < 0.8 < accuracy["fine"]
    written = CalibrationRun(tmp_path / "out")
    assert len(written.estimates) == len(found["estimates"])
    run("report", str(tmp_path / "out"), "--full", "--no-figures")
    assert written.text in capsys.readouterr().out


def test_with_three_prompts_intervals_are_refused_and_it_says_why(tmp_path: Path) -> None:
    world(tmp_path, prompts=3)
    text = calibrate(tmp_path / "judgments.csv", tmp_path / "humans.csv").text
    assert "3 prompts: an interval needs at least 6" in " ".join(text.split())


def test_a_constant_rater_is_undefined_not_zero(tmp_path: Path) -> None:
    path = tmp_path / "humans.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["rater_id", "prompt_id", "response_id", "criterion", "score"])
        for p in range(8):
            for r in range(3):
                writer.writerow(["a", f"p{p}", f"p{p}r{r}", "overall", 5])
                writer.writerow(["b", f"p{p}", f"p{p}r{r}", "overall", 5])
    found = agreement(read_humans(path))
    for measure in ("tau", "w", "alpha_ordinal", "icc_one"):
        assert figure(found, "people", measure).reason
    assert "undefined" in found.text


def test_people_who_rated_nothing_that_was_judged_are_bad_input(tmp_path: Path) -> None:
    world(tmp_path)
    text = (tmp_path / "humans.csv").read_text()
    (tmp_path / "others.csv").write_text(text.replace("p", "q").replace("qromqt", "prompt"))
    with pytest.raises(InputError):
        calibrate(tmp_path / "judgments.csv", tmp_path / "others.csv")


def test_agreement_alone_reads_a_file_and_filters_raters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world(tmp_path)
    run("agreement", str(tmp_path / "humans.csv"), "--raters", "rater[012]", "--scale", "1:10")
    printed = capsys.readouterr().out
    assert "3 raters, 12 prompts" in printed
    assert "harsh" not in printed
