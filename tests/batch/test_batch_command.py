"""`areopagus score --batch`: options, dry run, warning, and the same from Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from batch_material import FAST, PERSONAS, book, models, rows
from batch_server import BatchServer

from areopagus import Panel
from areopagus.batch import BatchProgress, BatchSettings
from areopagus.cli.main import main
from areopagus.experiment.job import run_job
from areopagus.progress import ProgressLine

Outcome = tuple[object, str, str]
Call = Callable[..., Outcome]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["areopagus", *map(str, arguments)])
        monkeypatch.setattr("signal.signal", lambda *given: None)
        with pytest.raises(SystemExit) as left:
            main()
        written = capsys.readouterr()
        return left.value.code, " ".join(written.out.split()), " ".join(written.err.split())

    return run


def material(folder: Path, server: BatchServer) -> list[object]:
    (folder / "responses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    (folder / "panel.yaml").write_text(json.dumps({"models": models(server), "personas": PERSONAS}))
    return ["score", folder / "responses.jsonl", "--panel", folder / "panel.yaml"]


def test_the_command_asks_in_batches_and_says_before_what_they_cost(
    server: BatchServer, tmp_path: Path, call: Call
) -> None:
    command = material(tmp_path, server)
    code, out, _ = call(*command, "--batch", "--dry-run")
    assert code == 0
    assert "In a batch, openai/gpt-4o-mini: $0.00" in out
    code, out, _ = call(*command, "--batch", "--dry-run", "--batch-discount", "1e-9")
    assert "In a batch, openai/gpt-4o-mini: $0.00" in out
    assert (server.batches, server.online) == ([], [])
    code, out, _ = call(*command, "--batch-only", "--batch-poll", "0.01", "--out", tmp_path / "run")
    assert (code, server.online) == (0, [])
    assert "24 scored of 24 planned" in out
    assert len(server.asked_in_batches) == 24


def test_options_of_batches_without_batches_are_refused(
    server: BatchServer, tmp_path: Path, call: Call
) -> None:
    command = material(tmp_path, server)
    code, _, err = call(*command, "--batch-discount", "0.5")
    assert (code, "give --batch too" in err) == (2, True)
    assert call(*command, "--batch", "--batch-discount", "1")[0] == 2
    assert call(*command, "--batch", "--batch-poll", "0")[0] == 2


def test_without_batches_the_command_warns_of_those_that_are_open(
    server: BatchServer, tmp_path: Path, call: Call
) -> None:
    command = material(tmp_path, server)
    server.hold.clear()
    with Panel.from_file(tmp_path / "panel.yaml") as panel:
        job = panel.job(
            tmp_path / "responses.jsonl",
            out=tmp_path / "run",
            batch=FAST,
            on_batch=lambda progress: job.stop() if progress.phase == "waiting" else None,
        )
        run_job(job)
    code, _, err = call(*command, "--out", tmp_path / "run")
    assert code == 0
    assert "2 batches with 24 requests of an earlier run in this folder are with" in err


def test_the_panel_takes_batches_when_it_scores_many(server: BatchServer, tmp_path: Path) -> None:
    seen: list[BatchProgress] = []
    said: list[str] = []
    with Panel(models(server), personas=PERSONAS) as panel:
        run = panel.score_many(
            rows(),
            tmp_path / "two",
            batch=BatchSettings(poll_s=0.01, discount=0.5),
            on_batch=seen.append,
            on_notice=said.append,
        )
        assert (run.n_scored, server.online) == (24, [])
    assert seen
    assert said == []
    with Panel("offline/lexical", personas=PERSONAS) as panel:
        run = panel.score_many(rows(), tmp_path / "one", batch=True, on_notice=said.append)
    assert run.n_scored == 12
    assert said == [
        "offline/lexical: has no batch endpoint that is known here; it is asked online."
    ]


def test_the_progress_line_says_what_it_is_told_without_obeying_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("areopagus.progress._Log.least_s", 0.0)
    with ProgressLine() as line:
        line.say("waiting [red]\x1b[2J")
    assert capsys.readouterr().err == "preparing · waiting [red]�[2J\n"


def test_a_call_budget_holds_for_batches(server: BatchServer, tmp_path: Path) -> None:
    with Panel(models(server), personas=PERSONAS) as panel:
        run = panel.score_many(rows(), tmp_path / "run", batch=FAST, judges_per_response=2)
        assert len(server.asked_in_batches) == run.n_scored == 12
        whole = panel.score_many(rows(), tmp_path / "run", batch=FAST)
        assert len(set(server.asked_in_batches)) == whole.n_scored == 24
    assert server.online == []


def test_what_a_batch_brings_is_kept_whatever_the_rule_is_by_then(
    server: BatchServer, tmp_path: Path
) -> None:
    with Panel(models(server), personas=PERSONAS) as panel:
        server.hold.clear()
        job = panel.job(
            rows(),
            tmp_path / "run",
            batch=FAST,
            on_batch=lambda progress: job.stop() if progress.phase == "waiting" else None,
        )
        run_job(job)
        server.hold.set()
        run = panel.score_many(rows(), tmp_path / "run", batch=FAST, judges_per_response=1)
        assert run.n_scored == 6
        assert [item["answered"] for item in book(tmp_path / "run")] == [12, 12]
        whole = panel.score_many(rows(), tmp_path / "run")
    assert whole.n_scored == 24
    assert (len(server.batches), server.online) == (2, [])
