"""A calibration names what was planted, and refuses what the data cannot say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from calibration_worlds import RANDOM, SOURCE_ONLY, Files, called, figure, summary

from areopagus import InputError
from areopagus.calibration import Calibration, CalibrationRun, agreement, calibrate
from areopagus.cli.main import cli


@pytest.fixture
def report(planted_report: Calibration) -> Calibration:
    return planted_report


def test_harsh_and_constant_raters_are_named_and_the_others_are_not(report: Calibration) -> None:
    assert called(report, "raters", "deviation", "rater") == {"h0": "harsh", "h4": "constant"}
    harsh = figure(report, "raters", "deviation", rater="h0")
    assert harsh.value == pytest.approx(-2, abs=0.3)
    assert harsh.high < -1.5
    assert harsh.p_adjusted < 0.001
    pairs = figure(report, "people", "n_rater_pairs")
    # h4, who orders nothing, meets four others
    assert (pairs.n, pairs.n_planned) == (6, 10)


def test_the_judge_at_random_and_the_source_only_judge_are_named(report: Calibration) -> None:
    judges = called(report, "judges", "accuracy", "group")
    assert judges == {RANDOM: "not shown above chance", SOURCE_ONLY: "source only"}
    assert figure(report, "panel", "beyond_source").verdict is None
    cross, within = (
        figure(report, "judges", name, group=SOURCE_ONLY).value for name in ("cross", "within")
    )
    assert cross > 0.7 > 0.6 > within


def test_a_panel_that_only_knows_the_source_is_named(make_world: Callable[..., Any]) -> None:
    found = calibrate(*make_world(source_only_panel=True))
    beyond = figure(found, "panel", "beyond_source")
    assert beyond.verdict == "source confound"
    assert not beyond.low > 0
    assert "Source confound" in str(found)


def test_the_panel_agrees_below_its_ceiling_and_beats_one_person(report: Calibration) -> None:
    assert report.record["target"] == {"criterion": "overall", "kind": "score", "of_panel": None}
    tau = figure(report, "panel", "tau")
    assert tau.low < tau.value < tau.high <= 1
    assert tau.value < figure(report, "panel", "ceiling").value + 0.1
    assert figure(report, "one person", "n_comparisons", rater=None).value == 5 * 24
    assert figure(report, "panel", "above_ceiling").verdict is None
    assert figure(report, "one person", "tau_difference", rater=None).verdict == "better"
    rows = report.estimates[report.estimates["table"] == "one person"]
    assert rows["rater"].dropna().unique().tolist() == ["h0", "h1", "h2", "h3", "h4"]
    # the constant rater orders nothing, and nobody gains by that
    assert figure(report, "one person", "tau_of_one", rater="h4").value == 0


def test_three_prompts_refuse_every_interval_and_say_why(few_report: Calibration) -> None:
    found = few_report
    over_prompts = found.estimates[found.estimates["unit"] == "prompt"]
    assert len(over_prompts)
    assert not over_prompts["low"].notna().any()
    for table, measure in (("panel", "tau"), ("maps", "error"), ("size", "worth")):
        assert "at least 6" in (figure(found, table, measure).reason or "")
    assert found.record["limitations"][0][0] == "intervals and tests over prompts"
    assert called(found, "judges", "accuracy", "group") == {}
    assert called(found, "weights", "agreement", "group") == {"equal": "adopted"}
    assert "it is undecided how the panel compares with one more person" in summary(found)
    assert "3 prompts rated and scored: an interval needs 6." in summary(found)
    assert "3 prompts: an interval needs at least 6" in " ".join(found.text.split())


def test_ranks_hold_no_level(ranks_report: Calibration) -> None:
    found = ranks_report
    assert found.record["target"]["kind"] == "rank"
    assert "ranks hold no level" in (figure(found, "raters", "deviation", rater=None).reason or "")
    assert figure(found, "conformal", "half_width").reason
    assert "an order holds no level" in (figure(found, "maps", "error").reason or "")
    # best is 1: models, who are better here, have the lower mean rank
    of_models, of_people = (
        figure(found, "paper", "mean", respondent=who, group=None).value
        for who in ("models", "people")
    )
    assert of_models < of_people
    assert figure(found, "paper", "model_wins").value > 0.5
    assert figure(found, "panel", "tau").value > 0.4


def test_people_who_rated_something_else_are_refused(make_world: Callable[..., Any]) -> None:
    files = make_world(6)
    header, _, rest = files.humans.read_text().partition("\n")
    files.humans.write_text(f"{header}\n{rest.replace('r', 'x')}")
    with pytest.raises(InputError, match="no rating is of a response that was judged"):
        calibrate(files.judgments, files.humans)


def test_the_order_of_rows_does_not_matter(planted: Files, tmp_path: Path) -> None:
    lines = planted.humans.read_text().splitlines()
    turned = tmp_path / "humans.csv"
    turned.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    one, other = (agreement(path) for path in (planted.humans, turned))
    for measure in ("tau", "ac2", "alpha_interval"):
        values = [figure(found, "people", measure).value for found in (one, other)]
        assert values[0] == pytest.approx(values[1], abs=1e-12)


def test_options_that_are_none_or_out_of_range_are_refused(planted: Files) -> None:
    with pytest.raises(InputError, match="`level`: Input should be less than 1"):
        agreement(planted.humans, level=95)
    with pytest.raises(InputError, match="`epsilon`: unknown argument; "):
        agreement(planted.humans, epsilon=0.1)


def test_the_command_names_them_and_writes_folder_and_json(
    planted: Files, report: Calibration, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: object) -> str:
        cli.main(list(map(str, arguments)), standalone_mode=False)
        return capsys.readouterr().out

    out, whole = tmp_path / "out", tmp_path / "all.json"
    printed = run("calibrate", planted.judgments, planted.humans, "--scale", "1:10",
                  "--out", out, "--json", whole)  # fmt: skip
    assert str(report) in printed
    assert "harsh: h0; constant: h4" in " ".join(printed.split())
    assert f"Not shown above chance: {RANDOM}" in " ".join(printed.split())
    assert all(len(line) <= 80 for line in printed.splitlines() if str(tmp_path) not in line)
    found = json.loads(whole.read_text())
    assert found["kind"] == "calibration"
    written = CalibrationRun(out)
    assert len(written.estimates) == len(found["estimates"]) == len(report.estimates)
    assert written.text in run("report", out, "--full", "--no-figures")
    printed = run("agreement", planted.humans, "--raters", "h[1-3]", "--scale", "1:10")
    assert "3 raters x 24 prompts x 6 responses. Every rater rated every response." in " ".join(
        printed.split()
    )
    assert "harsh" not in printed
