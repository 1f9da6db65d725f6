"""What a run's page says of people: the calibration of it, of its panel, or why neither counts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from areopagus import Panel
from areopagus.calibration import calibrate, people_sentence
from areopagus.records.humans import read_humans


def rows(*names: str) -> list[dict[str, str]]:
    return [
        {
            "response_id": f"{name}/{k}",
            "prompt_id": name,
            "prompt_text": f"What is owed in case {name}?",
            "response_text": "Promises bind, because others rely on them. " * (1 + 5 * k),
            "respondent_id": f"r{k}",
        }
        for name in names
        for k in range(3)
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a calibration in it, one of the same panel, and one of another panel."""
    folder = tmp_path_factory.mktemp("runs")
    prompts = [f"q{k}" for k in range(8)]
    with Panel("offline/lexical", ledger=folder / "ledger.sqlite") as panel:
        panel.score_many(rows(*prompts), folder / "pilot")
        panel.score_many(rows("other", "another"), folder / "later")
    with Panel("offline/lexical", personas=["historian"], ledger=folder / "ledger.sqlite") as panel:
        panel.score_many(rows(*prompts), folder / "alone")
    lines = ["rater_id,prompt_id,response_id,score"]
    lines += [
        f"{who},{name},{name}/{k},{2 + 2 * k + (who == 'b') + (k == n % 3)}"
        for who in "abc" for n, name in enumerate(prompts) for k in range(3)
    ]  # fmt: skip
    (folder / "humans.csv").write_text("\n".join(lines) + "\n")
    calibrate(folder / "pilot", folder / "humans.csv").write(
        folder / "pilot" / "calibration", figures=False
    )
    return folder


def test_the_calibration_in_a_run_is_told_with_its_answer_and_its_place(runs: Path) -> None:
    told = people_sentence(runs / "pilot") or ""
    told_once = "In this demonstration: Always the same score on overall (calibration)"
    assert told == told_once


def test_one_beside_the_run_that_names_it_is_found(runs: Path, tmp_path: Path) -> None:
    for name in ("pilot", "later"):
        shutil.copytree(runs / name, tmp_path / name)
    shutil.move(tmp_path / "pilot" / "calibration", tmp_path / "study")
    assert (people_sentence(tmp_path / "pilot") or "").endswith(" (../study)")


def test_one_of_the_same_panel_says_that_it_was_on_other_responses(runs: Path) -> None:
    told = people_sentence(runs / "later") or ""
    cited = "In this demonstration: Always the same score on overall"
    assert told == f"on other responses: {cited} (../pilot/calibration)"


def test_one_of_another_panel_is_not_taken_for_this_one(runs: Path, tmp_path: Path) -> None:
    assert people_sentence(runs / "alone") is None
    shutil.copytree(runs / "alone", tmp_path / "alone")
    shutil.copytree(runs / "pilot" / "calibration", tmp_path / "alone" / "calibration")
    told = people_sentence(tmp_path / "alone")
    assert told == "not calibrated: calibration is of another panel, so make it anew"


def test_a_run_that_has_gone_on_says_that_its_calibration_is_old(
    runs: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "pilot"
    shutil.copytree(runs / "pilot", folder)
    record = json.loads((folder / "run.json").read_text())
    record["counts"]["scored"] += 10
    (folder / "run.json").write_text(json.dumps(record))
    told = people_sentence(folder) or ""
    assert told.endswith("(calibration); the run has gone on since: calibrate it anew")


def test_a_folder_that_cannot_be_read_stops_no_page(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "alone"
    shutil.copytree(runs / "alone", folder)
    (folder / "calibration").mkdir()
    (folder / "calibration" / "run.json").write_text("{")
    assert people_sentence(folder) is None


def test_prompts_of_one_text_are_one_unit_of_a_calibration(tmp_path: Path) -> None:
    """Two ids a prompt give what one id gives, and ratings that name either id fit."""
    found = []
    for kind in ("merged", "apart"):
        made = rows(*(f"q{k}" for k in range(7)))
        name = dict[str, str]()
        for k, row in enumerate(made):
            name[row["response_id"]] = row["prompt_id"]
            if kind == "apart" and k % 3 == 2:
                name[row["response_id"]] = row["prompt_id"] = f"{row['prompt_id']}-again"
        with Panel("offline/lexical", ledger=tmp_path / "ledger.sqlite") as panel:
            panel.score_many(made, tmp_path / kind)
        lines = ["rater_id,prompt_id,response_id,score"]
        lines += [
            f"{who},{prompt},{response},{2 + (n * 7 + ord(who)) % 5}"
            for who in "abc" for n, (response, prompt) in enumerate(name.items())
        ]  # fmt: skip
        (tmp_path / "humans.csv").write_text("\n".join(lines) + "\n")
        found.append(calibrate(tmp_path / kind, tmp_path / "humans.csv"))
    merged, apart = (one.estimates.drop(columns=["item"]) for one in found)
    assert merged.equals(apart)
    assert merged["low"].notna().any()
    told = "14 prompt ids, of which 14 share a text with another: they are analysed as 7 prompts."
    assert [told in " ".join(one.text.split()) for one in found] == [False, True]


def test_a_file_with_a_column_a_respondent_says_the_same_as_one_with_response_ids(
    runs: Path, tmp_path: Path
) -> None:
    lines = ["rater,prompt_id,r0,r1,r2"]
    for line in range(24):
        who, name = "abc"[line // 8], line % 8
        given = [2 + 2 * k + (who == "b") + (k == name % 3) for k in range(3)]
        lines.append(f"{who},q{name},{','.join(map(str, given))}")
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(lines) + "\n")
    reading = read_humans(path)
    assert reading.table.response_id.used()[0] == "q0/r0"  # which the run calls q0/0
    by_respondent, by_id = (
        calibrate(runs / "pilot", human).estimates for human in (reading, runs / "humans.csv")
    )
    for measure in ("n_responses", "tau", "alpha_interval"):
        values = [f[f.measure == measure].value.to_numpy() for f in (by_respondent, by_id)]
        assert len(values[0]) > 0
        np.testing.assert_array_equal(*values)
