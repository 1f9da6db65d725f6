"""What is shown of a calibration: answer first, in 25 lines; page, text, charts and JSON alike."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from calibration_worlds import Files, figure, summary

from areopagus import InputError, Panel
from areopagus.any_report import write_any_report
from areopagus.calibration import (
    Calibration,
    CalibrationRun,
    agreement,
    calibrate,
)
from areopagus.calibration.dataset import is_stand_in
from areopagus.calibration.reading import read_kept_texts
from areopagus.reports.document import Table
from areopagus.reports.document_json import to_json


def rows() -> list[dict[str, Any]]:
    """Seven prompts; the second response is the longer one, and people prefer it."""
    return [
        {
            "response_id": f"p{g}r{k}",
            "prompt_id": f"p{g}",
            "prompt_text": f"What is owed in case {g}?",
            "response_text": "Promises bind because others rely on them. " * (1 + g + 9 * k),
            "respondent_id": "person",
        }
        for g in range(7)
        for k in range(2)
    ]


def test_a_criterion_has_one_verdict_and_differences_have_their_sign(
    planted_report: Calibration,
) -> None:
    """The table beside one more person had a verdict of its own, without the other conditions."""
    sections = {one.name: one for one in planted_report.document().sections}
    tables = [part for part in sections["one-person"].parts if isinstance(part, Table)]
    assert tables
    assert not any(column.title == "verdict" for table in tables for column in table.columns)
    (raters, *_) = (part for part in sections["raters"].parts if isinstance(part, Table))
    signed = {one.title for one in raters.columns if one.is_signed}
    assert signed == {"deviation"}


def test_a_panel_that_orders_nothing_is_not_shown_to_agree(make_world: Callable[..., Any]) -> None:
    """Its tau-b is undefined: that was told beside a tau of 0 and a difference of −1."""
    files = make_world(8)
    judgments = pd.read_csv(files.judgments).assign(score=5)
    judgments.to_csv(files.judgments, index=False)
    shown = summary(calibrate(files.judgments, files.humans, scale=(1, 10)))
    assert shown.startswith("Always the same score on overall.")
    assert "overall 0.00" in shown
    assert "No agreement on" not in shown


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the embedded judge alone."""
    folder = tmp_path_factory.mktemp("offline") / "run"
    with Panel("offline/lexical", ledger=folder.with_suffix(".sqlite")) as panel:
        panel.score_many(rows(), folder)
    return folder


@pytest.fixture(scope="module")
def humans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = ["rater_id,prompt_id,response_id,score"]
    for row in rows():
        k = int(row["response_id"][-1])
        lines += [f"{who},{row['prompt_id']},{row['response_id']},{3 + 3 * k + n}"
                  for n, who in enumerate("abc")]  # fmt: skip
    path = tmp_path_factory.mktemp("people") / "humans.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def found(run: Path, humans: Path) -> Calibration:
    return calibrate(run, humans)


@pytest.mark.report
def test_text_page_and_record_say_so(found: Calibration, tmp_path: Path) -> None:
    assert found.record["stand_ins"] == ["offline/lexical"]
    for text in (found.text, str(found)):
        assert text.startswith("DEMONSTRATION: An embedded stand-in took part")
        assert "None" not in text  # settings are told in words
        assert "[]" not in text
        assert "offline/lexical" in " ".join(text.split()[:12])
    found.write(tmp_path, figures=False)
    assert "DEMONSTRATION" in (tmp_path / "report.html").read_text()
    # and the page that is made anew of the estimates
    again = write_any_report(tmp_path, out=tmp_path / "again.html", figures=False)
    assert again.read_bytes() == (tmp_path / "report.html").read_bytes()
    assert is_stand_in("ethicist x offline/lexical")
    assert is_stand_in("historian-offline/lexical")
    assert not is_stand_in("hosted/offline/model")
    assert not is_stand_in("offline")


def test_the_folders_texts_give_lengths_and_hashes(found: Calibration) -> None:
    # the longer response is the better one in every prompt; the panel ties all: one half less one
    assert figure(found, "panel", "beyond_length").value == pytest.approx(-0.5)
    scores = found.judge_scores
    hashes = scores.loc[scores["response_id"] == "p0r0", "text_sha256"]
    text = rows()[0]["response_text"]
    assert set(hashes) == {hashlib.sha256(text.encode()).hexdigest()}


def test_a_folder_without_texts_has_no_lengths(tmp_path: Path) -> None:
    assert read_kept_texts(tmp_path).length == {}
    (tmp_path / "texts.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(InputError, match="cannot be read"):
        read_kept_texts(tmp_path)


def test_the_summary_is_the_answer_in_25_lines_of_80_columns(
    planted_report: Calibration,
    few_report: Calibration,
    ranks_report: Calibration,
    make_world: Callable[..., Any],
) -> None:
    people_only = agreement(make_world(3).humans)
    for report in (planted_report, few_report, ranks_report, people_only):
        lines = str(report).splitlines()
        assert len(lines) <= 25
        for line in (*lines, *report.text.splitlines()):
            assert len(line) <= 80
            assert "nan" not in line.split()
    first = str(planted_report).splitlines()[0]
    assert first == "Compared with these 5 raters, the panel is better than one more person at"
    assert repr(planted_report) == f"Calibration({first} ranking responses.)"
    assert f"{first} ranking responses." in planted_report._repr_html_()


def test_the_head_has_its_grounds_in_order_and_the_picture_stands_first(
    planted_report: Calibration, few_report: Calibration
) -> None:
    document = planted_report.document()
    assert [word for word, _ in document.trust] == [
        "design", "people", "corrected", "cautions"
    ]  # fmt: skip
    told = dict(document.trust)
    assert told["design"] == (
        "5 raters x 24 prompts x 6 responses. Every rater rated every response."
    )
    alpha, worth = (
        figure(planted_report, "people", name) for name in ("alpha_interval", "mean_worth")
    )
    # Spearman and Brown: 5 a / (1 + 4 a)
    assert worth.value == pytest.approx(5 * alpha.value / (1 + 4 * alpha.value))
    assert told["people"].endswith(f"reliability of the mean of 5 raters {worth.value:.2f}")
    first = document.sections[0]
    assert (first.audience, first.parts[0].__class__.__name__) == ("summary", "Chart")
    for report in (planted_report, few_report):
        for section in report.document().sections:
            notes = [note for part in section.parts for note in getattr(part, "notes", ())]
            assert len(notes) == len(set(notes)), section.name


def test_what_is_computed_is_told_stage_by_stage(make_world: Callable[..., Any]) -> None:
    told: list[str] = []
    calibrate(*make_world(3), on_progress=lambda progress: told.append(progress.doing))
    assert "comparing people with people" in told
    assert len(set(told)) >= 8


def test_what_people_do_not_agree_on_cannot_be_told(tmp_path: Path) -> None:
    """Three raters who draw lots on one criterion, and a good panel."""
    import numpy as np

    rng = np.random.default_rng(1)
    judged = ["prompt_id,response_id,judge,clarity,lots"]
    rated = ["rater_id,prompt_id,response_id,clarity,lots"]
    for g in range(20):
        for r in range(4):
            truth = rng.normal(5, 1.5)
            for k in range(3):
                own = round(truth + rng.normal(scale=0.7))
                rated.append(f"h{k},q{g},q{g}r{r},{own},{rng.integers(1, 10)}")
                judged.append(f"q{g},q{g}r{r},j{k},{own},{own}")
    for name, lines in (("j.csv", judged), ("h.csv", rated)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    text = summary(calibrate(tmp_path / "j.csv", tmp_path / "h.csv"))
    first, second, rest = text.split(". ", 2)
    assert first.endswith("it is undecided how the panel compares with one more person at ranking "
                          "responses on the composite")  # fmt: skip
    assert second == "By criterion, it is better than one more person on clarity; undecided on lots"
    assert "People are not shown to agree better than chance on composite (tau" in rest
    assert "nothing can be calibrated against that" in rest


def test_the_json_has_what_is_shown_and_the_folder_every_figure(
    planted_report: Calibration, planted_folder: Path
) -> None:
    plain = to_json(planted_report.document())
    assert plain["kind"] == "calibration"
    assert plain["sections"][0]["name"] == "criteria"
    run = CalibrationRun(planted_folder)
    assert run.estimates.equals(planted_report.estimates)
    assert run.text == planted_report.text
    assert (planted_folder / "report.txt").read_text() == planted_report.text + "\n"
    for name in ("run.json", "estimates.parquet", "judge_scores.parquet", "report.html"):
        assert (planted_folder / name).stat().st_mode & 0o077 == 0


def test_a_calibration_does_not_wait_for_scipy_stats(make_world: Callable[..., Files]) -> None:
    files = make_world(6)
    program = (
        "import sys\nfrom areopagus import calibrate\n"
        f"calibrate({str(files.judgments)!r}, {str(files.humans)!r}, scale=(1, 10))\n"
        "sys.exit('scipy.stats' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.report
def test_charts_are_drawn_where_the_data_allow(
    planted_report: Calibration, ranks_report: Calibration, tmp_path: Path
) -> None:
    folder = planted_report.write(tmp_path / "one").path / "figures"
    names = ("ceiling", "severity", "judges", "designs")
    assert {path.name for path in folder.iterdir()} == {f"{name}.svg" for name in names}
    assert all(path.stat().st_size > 2000 for path in folder.iterdir())
    ranks = ranks_report.write(tmp_path / "two").path / "figures"
    assert {path.stem for path in ranks.iterdir()} == set(names) - {"severity"}
