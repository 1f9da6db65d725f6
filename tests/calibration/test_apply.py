"""A calibration applied later: to the same panel, refused for another, and who moved."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from calibration_worlds import Files, called, figure

from areopagus import InputError, Panel, Run
from areopagus.calibration import Calibration, apply, calibrate, load
from areopagus.cli.main import cli
from areopagus.judges.models.request import Request
from areopagus.records.tables import read_scores
from areopagus.testing import ScriptedBackend

CRITERIA = (
    "conceptual_clarity",
    "evidential_grounding",
    "contextual_relevance",
    "pluralistic_engagement",
    "argumentative_soundness",
)
N_PROMPTS = 10
PERSONAS = ["historian", "ethicist", "conservative_historian", "libertarian_ethicist"]


def rows(text: str = "") -> list[dict[str, Any]]:
    """Three responses to each of ten prompts; the k-th is of quality k."""
    return [
        {
            "response_id": f"p{g}r{k}",
            "prompt_id": f"p{g}",
            "prompt_text": f"What is owed in case {g}?",
            "response_text": f"Grade <{2 * k + g % 2}> in case {g}: promises bind.{text}",
            "respondent_id": "person" if k < 2 else "gpt-5",
            "source": "human" if k < 2 else "model",
        }
        for g in range(N_PROMPTS)
        for k in range(3)
    ]


def answering(shift: int) -> Callable[[Request], dict[str, Any]]:
    """A backend that reads the grade out of the response and adds to it."""

    def answer(request: Request) -> dict[str, Any]:
        text = json.dumps([str(message) for message in request.messages])
        grade = int(text.split("Grade <")[1].split(">")[0])
        score = int(np.clip(grade + 1 + shift, 1, 10))
        return dict.fromkeys(CRITERIA, score) | {"abstained": False}

    return answer


def run_of(
    folder: Path, *, n: int = 30, shift: int = 0, text: str = "", name: str = "scripted/second"
) -> Run:
    """A run of four personas on two backends; the second scores higher by a shift."""
    backends = [
        ScriptedBackend(answering(0), name="scripted/first"),
        ScriptedBackend(answering(shift), name=name),
    ]
    ledger = folder.with_suffix(".sqlite")
    with (
        pytest.MonkeyPatch.context() as patch,
        Panel(backends, personas=PERSONAS, ledger=ledger) as panel,
    ):
        patch.setattr(Run, "write_results", lambda run, **_: run)
        return panel.score_many(rows(text)[:n], folder)


def humans(path: Path) -> Path:
    rng = np.random.default_rng(3)
    lines = ["rater_id,prompt_id,response_id,criterion,score"]
    for row in rows():
        g, k = row["response_id"][1:].split("r")
        for rater in ("a", "b", "c"):
            score = int(np.clip(2 * int(k) + 3 + rng.integers(-1, 2), 1, 10))
            lines.append(f"{rater},p{g},{row['response_id']},overall,{score}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run, Calibration]:
    folder = tmp_path_factory.mktemp("saved")
    run = run_of(folder / "run")
    report = calibrate(run.path, humans(folder / "humans.csv"), responses=rows(), level=0.8)
    return report.write(folder / "calibration", figures=False).path, run, report


def test_where_no_judgment_was_scored_there_is_nothing_to_compare_or_correct(
    made: tuple[Path, Run, Calibration], tmp_path: Path
) -> None:
    """Compared all the same, the empty array stopped `calibrate` with a defect."""
    folder, run, _ = made
    empty = Path(shutil.copytree(run.path, tmp_path / "run"))
    path = empty / "judgments.parquet"
    judgments = pd.read_parquet(path)
    judgments["status"] = "abstained"
    judgments.to_parquet(path, index=False)
    with pytest.raises(InputError, match="run: no judgment was scored: nothing to compare"):
        calibrate(empty, humans(tmp_path / "humans.csv"))
    with pytest.raises(InputError, match="run: no judgment was scored: nothing to correct"):
        apply(folder, empty)


def test_a_run_folder_is_read_with_its_panel(made: tuple[Path, Run, Calibration]) -> None:
    _, run, report = made
    sizes = [figure(report, "matched", f"n_{n}").value for n in ("personas", "models", "repeats")]
    assert sizes == [4, 2, 1]
    scored = figure(report, "matched", "n_judgments", group="scored").value
    assert scored == run.n_scored == 30 * 8
    axes = report.estimates.loc[report.estimates["factor"] == "axis", "group"]
    assert set(axes) == {"disciplinary", "ideological"}
    assert figure(report, "panel", "beyond_source").is_defined
    assert figure(report, "panel", "beyond_length").is_defined
    assert figure(report, "panel", "tau").value > 0.8


def test_the_same_panel_is_calibrated(made: tuple[Path, Run, Calibration]) -> None:
    path, run, report = made
    found = apply(path, run, responses=rows())
    assert found.moved == ()
    assert (found.drift.loc[found.drift["measure"] == "change", "p_adjusted"] == 1).all()
    assert found.notices == ()
    # the ensemble is that of the run's own table
    composites = [float(row["composite"]) for row in read_scores(run.path)]
    assert np.allclose(found.scores["score"], composites, atol=1e-4)
    saved = load(report)
    first = found.scores.iloc[0]
    if saved.map_x:
        mapped = float(np.interp(first["score"], saved.map_x, saved.map_y))
        assert first["calibrated"] == pytest.approx(mapped)
    assert first["high"] - first["low"] == pytest.approx(2 * saved.half_width)


def test_folder_and_object_say_the_same(made: tuple[Path, Run, Calibration]) -> None:
    folder, file, itself = (load(one) for one in (made[0], made[0] / "run.json", made[2]))
    for one in (file, itself):
        assert one.judge_scores.equals(folder.judge_scores)
        assert repr(replace(one, judge_scores=None)) == repr(replace(folder, judge_scores=None))


def test_another_panel_is_refused_with_what_differs(
    made: tuple[Path, Run, Calibration], tmp_path: Path
) -> None:
    other = run_of(tmp_path / "other", n=2, name="scripted/third")
    with pytest.raises(InputError) as refused:
        apply(made[0], other)
    text = str(refused.value)
    assert "models.scripted/second: calibrated with" in text
    assert "models.scripted/third" in text
    assert apply(made[0], other, despite_differences=True).differences


def test_a_judge_that_moved_is_named(made: tuple[Path, Run, Calibration], tmp_path: Path) -> None:
    found = apply(made[0], run_of(tmp_path / "later", shift=-1), responses=rows())
    assert len(found.moved) == 4
    assert all("scripted/second" in name for name in found.moved)
    assert any("the judge moved, not the respondents" in text for text in found.notices)
    # one point lower except where 1 is the floor
    moved = found.drift[found.drift["verdict"] == "moved"].iloc[0]
    assert -1 <= moved["value"] < -0.5


def test_responses_with_another_text_do_not_count_as_drift(
    made: tuple[Path, Run, Calibration], tmp_path: Path
) -> None:
    run = run_of(tmp_path / "changed", shift=-1, text=" Now longer.")
    found = apply(made[0], run, responses=rows(" Now longer."))
    assert not len(found.drift)
    assert found.notices[0] == "another text now, left out of the test: 30 responses"


def test_texts_that_are_not_known_are_said_to_be_unchecked(
    made: tuple[Path, Run, Calibration],
) -> None:
    saved = load(made[0])
    unknown = saved.judge_scores.assign(text_sha256=None)
    found = apply(replace(saved, judge_scores=unknown), made[1])
    assert found.notices == ("texts not compared, only their ids: 30 responses",)
    # the run's folder keeps its texts: nobody has to hand them in
    assert apply(made[0], made[1]).notices == ()


def test_a_rating_off_the_runs_scale_is_refused_until_the_scale_is_stated(
    made: tuple[Path, Run, Calibration], tmp_path: Path
) -> None:
    path = humans(tmp_path / "humans.csv")
    path.write_text(path.read_text() + "d,p0,p0r0,overall,77\n")
    with pytest.raises(InputError, match="must be from 1 to 10 as the panel's scores, got 77"):
        calibrate(made[1], path)
    found = calibrate(made[1], path, scale=(1, 10))
    assert figure(found, "matched", "n_out_of_range").value == 1
    assert "row 92" in found.text


def test_what_holds_no_calibration_is_refused(
    made: tuple[Path, Run, Calibration], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="is not a run folder"):
        load(tmp_path)
    with pytest.raises(InputError, match="holds a run of kind 'panel'"):
        load(made[1].path)


@pytest.fixture(scope="module")
def others(planted: Files, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The judgments of the planted world without those of one persona."""
    lines = planted.judgments.read_text().splitlines()
    path = tmp_path_factory.mktemp("others") / "other.csv"
    path.write_text("\n".join(line for line in lines if "historian" not in line) + "\n")
    return path


def test_a_map_is_applied_where_no_weights_are_earned(
    planted: Files, planted_report: Calibration
) -> None:
    saved = replace(
        load(planted_report), weights={}, severities={}, map_name="line", map_x=(1.0, 10.0),
        map_y=(2.0, 9.2),
    )  # fmt: skip
    found = apply(saved, planted.judgments)
    assert found.moved == ()
    change = found.drift[found.drift["measure"] == "change"]
    assert len(change) == 6
    assert (change["value"] == 0).all()
    assert (found.corrections, found.withheld) == (("line",), ())
    assert np.allclose(found.scores["calibrated"], 2 + 0.8 * (found.scores["score"] - 1))


def test_earned_weights_stand_before_the_map(
    planted: Files, planted_report: Calibration, planted_folder: Path, tmp_path: Path
) -> None:
    assert called(planted_report, "weights", "agreement", "group") == {"shrunk": "adopted"}
    out = tmp_path / "out.csv"
    cli.main(["apply", str(planted_folder), str(planted.judgments), "--out", str(out)],
             standalone_mode=False)  # fmt: skip
    found = apply(planted_report, planted.judgments)
    assert found.corrections == ("weights",)
    assert ("line", "fitted weights stand instead") in found.withheld
    with out.open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 24 * 6
    written = [float(line["calibrated"]) for line in lines]
    assert np.allclose(written, found.scores["calibrated"])


def test_other_judges_are_refused_by_name_in_lines_of_80_columns(
    planted_folder: Path, others: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["apply", str(planted_folder), str(others)]
    with pytest.raises(InputError) as refused:
        cli.main(command, standalone_mode=False)
    text = f"Error: {refused.value}"
    assert "calibrated and missing now: historian x" in " ".join(text.split())
    # a path alone may be longer than a line
    assert all(len(line) <= 80 or " " not in line.strip() for line in text.splitlines()[1:])
    cli.main([*command, "--despite-differences"], standalone_mode=False)
    printed = capsys.readouterr().out
    assert "Corrections applied: none.\n" in printed
    assert "earned and not applied: line: it was earned for another panel" in printed
    assert "none were earned" not in printed
    assert max(map(len, printed.splitlines())) <= 80


def test_what_a_table_of_judgments_is_not_or_lacks_is_bad_input(
    planted: Files, planted_report: Calibration
) -> None:
    saved = load(planted_report)
    panel = {"personas": {"a": "1"}, "models": {"m": "1"}, "rubric": "r"}
    with pytest.raises(InputError, match="and this is a table of stored judgments"):
        apply(replace(saved, panel=panel), planted.judgments)
    with pytest.raises(InputError, match="has no criterion 'clarity'"):
        apply(replace(saved, criterion="clarity"), planted.judgments)
