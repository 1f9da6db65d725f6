"""From a study to a calibration: built, answered by invented raters, collected, calibrated."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from in_process import areopagus
from study_data import rate, read_csv, study_rows, write_csv

from areopagus.calibration import CalibrationRun
from areopagus.records.estimates import estimate_at

CRITERIA = ("conceptual_clarity", "evidential_grounding", "contextual_relevance",
            "pluralistic_engagement", "argumentative_soundness")  # fmt: skip
HARSH, CARELESS = "r05", "r06"
PROMPTS = 16


def quality(response: str) -> float:
    """Models a point above people, the weak response last; the rest is drawn for the response."""
    name = response.partition("-")[2]
    if name == "w":
        return 2.0
    return (5.0 if name.startswith("h") else 6.0) + random.Random(response).gauss(0, 1)


def opinion(code: str, number: int, row: Mapping[str, Any], place: int) -> int:
    """r05 is two points harsher than the others, r06 does not look at what it scores."""
    chance = random.Random(f"{code} {row['response_id']} {place}")
    if code == CARELESS:
        return chance.randint(1, 10)
    value = quality(row["response_id"]) + chance.gauss(0, 0.6) - 2 * (code == HARSH)
    return min(10, max(1, round(value)))


def judged(response: str, judge: str, place: int) -> int:
    """Of three judges one scores at random."""
    chance = random.Random(f"{judge} {response} {place}")
    value = chance.gauss(5.5, 1.5) if judge == "useless" else quality(response)
    return min(10, max(1, round(value + chance.gauss(0, 0.7))))


def test_known_raters_and_figures_come_out_of_a_study_that_was_built_and_collected(
    tmp_path: Path,
) -> None:
    rows = study_rows(prompts=PROMPTS, humans=3)
    write_csv(tmp_path / "responses.csv", rows)
    built = areopagus(
        "study", "build", "responses.csv", "--raters", 6, "--all-models", f"p{PROMPTS - 1}",
        "--out", "study", "--seed", 3, folder=tmp_path,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    rate(tmp_path / "study", opinion)
    # The careless one is named when the study comes home, and nobody is left out for it.
    home = areopagus("study", "collect", "study", folder=tmp_path)
    assert home.returncode == 0, home.stderr
    assert f"{6 * PROMPTS} of {6 * PROMPTS} pages scored whole" in home.stdout
    assert "rater-06" in home.stdout
    shown = read_csv(tmp_path / "study" / "organiser" / "responses.csv")
    judgments = [
        {"prompt_id": row["prompt_id"], "response_id": row["response_id"], "judge": judge,
         "criterion": name, "score": judged(row["response_id"], judge, place)}
        for row in shown for judge in ("fine", "fair", "useless")
        for place, name in enumerate(CRITERIA)
    ]  # fmt: skip
    write_csv(tmp_path / "judgments.csv", judgments)
    done = areopagus(
        "calibrate", "judgments.csv", "study/collected/ratings.csv", "--out", "calibration",
        folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "harsh: rater-05" in done.stdout
    assert "Not shown above chance: useless" in done.stdout
    found = CalibrationRun(tmp_path / "calibration").estimates
    # Two points harsher is what is found of the harsh one, and nothing of the four like others.
    deviation = {
        rater: estimate_at(found, "raters", "deviation", rater=rater,
                           criterion="conceptual_clarity", detail="score")
        for rater in (f"rater-{number:02}" for number in range(1, 6))
    }  # fmt: skip
    for rater, one in deviation.items():
        assert one is not None
        assert one.low is not None
        assert one.high is not None
        assert one.low <= (-2 if rater == "rater-05" else 0) <= one.high, (rater, one)
    # Items: the panel of two who can judge and one who guesses agrees with people more than they
    # do among themselves, and the weak response came last for all but the careless one.
    panel = estimate_at(found, "panel", "tau", criterion="composite", detail="score")
    people = estimate_at(found, "people", "tau", criterion="overall", detail="rank")
    last = estimate_at(found, "calibration items", "floor_last", criterion="overall", detail="rank")
    assert panel is not None
    assert people is not None
    assert last is not None
    assert (panel.n, people.n) == (PROMPTS - 2, PROMPTS - 2)
    assert people.value is not None
    assert panel.value is not None
    assert panel.value > people.value > 0.4
    assert last.value == pytest.approx(5 / 6)
