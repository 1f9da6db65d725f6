"""A saved calibration: applied to the same panel, refused for another, and who moved."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus import InputError, Panel, Run
from areopagus.calibration import Calibration, apply, calibrate, load, save
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


def run_of(folder: Path, *, shift: int = 0, text: str = "", name: str = "scripted/second") -> Run:
    """A run of two backends; the second scores higher by a shift."""
    backends = [
        ScriptedBackend(answering(0), name="scripted/first"),
        ScriptedBackend(answering(shift), name=name),
    ]
    with Panel(backends, ledger=folder.with_suffix(".sqlite")) as panel:
        return panel.score_many(rows(text), folder)


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
    report = calibrate(run.path, humans(folder / "humans.csv"), responses=rows())
    save(report, folder / "calibration.json")
    return folder / "calibration.json", run, report


def test_a_run_folder_is_read_with_its_panel(made: tuple[Path, Run, Calibration]) -> None:
    _, run, report = made
    panel = report.matched.panel
    assert panel is not None
    assert (panel.personas, panel.models, panel.repeats) == (10, 2, 1)
    assert panel.by_status["scored"] == run.n_scored == 30 * 20
    assert {row.name for row in report.judges.of("axis")} == {"disciplinary", "ideological"}
    # the ensemble is that of the run's own table
    target = report.target
    assert target is not None
    composites = [float(row["composite"]) for row in read_scores(run.path)]
    assert np.allclose(target.panel, composites, atol=1e-4)
    assert report.material.responses.has_both_sources
    assert np.isfinite(report.material.responses.length).all()
    assert report.panel.by_target[0].accuracy.value > 0.9


def test_the_same_panel_is_calibrated(made: tuple[Path, Run, Calibration]) -> None:
    path, run, report = made
    found = apply(path, run, responses=rows())
    assert found.moved == ()
    assert all(row.p == 1 for row in found.drift)
    assert found.notices == ()
    score_map = report.corrections.score_map
    if score_map.x:
        first = found.scores[0]
        assert first.calibrated == pytest.approx(
            float(np.interp(first.score, score_map.x, score_map.y))
        )
    width = report.corrections.conformal
    assert found.scores[0].high - found.scores[0].low == pytest.approx(2 * width.value)


def test_another_panel_is_refused_with_what_differs(
    made: tuple[Path, Run, Calibration], tmp_path: Path
) -> None:
    other = run_of(tmp_path / "other", name="scripted/third")
    with pytest.raises(InputError) as refused:
        apply(made[0], other)
    text = str(refused.value)
    assert "models.scripted/second: calibrated with" in text
    assert "models.scripted/third" in text
    assert apply(made[0], other, despite_differences=True).differences


def test_a_judge_that_moved_is_named(made: tuple[Path, Run, Calibration], tmp_path: Path) -> None:
    found = apply(made[0], run_of(tmp_path / "later", shift=-1), responses=rows())
    assert len(found.moved) == 10
    assert all("scripted/second" in name for name in found.moved)
    assert any("the judge moved, not the respondents" in text for text in found.notices)
    # one point lower except where 1 is the floor
    moved = next(row for row in found.drift if row.moved)
    assert -1 <= moved.change.value < -0.5


def test_responses_with_another_text_do_not_count_as_drift(
    made: tuple[Path, Run, Calibration], tmp_path: Path
) -> None:
    run = run_of(tmp_path / "changed", shift=-1, text=" Now longer.")
    found = apply(made[0], run, responses=rows(" Now longer."))
    assert found.drift == ()
    assert found.notices[0] == "another text now, left out of the test: 30 responses"


def test_texts_that_are_not_known_are_said_to_be_unchecked(
    made: tuple[Path, Run, Calibration],
) -> None:
    content = load(made[0]) | {"texts_sha256": {}}
    found = apply(content, made[1])
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
    assert calibrate(made[1], path, scale=(1, 10)).matched.out_of_range[0][-1] == 92


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("{}", "is not a saved calibration"),
        ('{"kind": "saved calibration", "format": 99}', "has format 99"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        load(path)
