"""What a batch has been paid for is neither lost nor bought twice, and counts where it may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from batch_material import (
    CANARY,
    FAST,
    GOOD,
    OPENAI,
    PERSONAS,
    batched,
    book,
    models,
    rows,
    run_batch,
)
from batch_server import BatchServer

from areopagus import InputError, Panel
from areopagus.experiment.job import run_job
from areopagus.testing import constant


def _session(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "run.json").read_text())["sessions"][-1]
    return found


def test_a_batch_that_is_listed_late_is_not_submitted_again(
    server: BatchServer, tmp_path: Path
) -> None:
    server.create_then_break = True
    server.unlisted = 3
    run = batched(server, tmp_path / "run", of=OPENAI)
    assert len(server.batches) == 1
    assert server.online == []
    assert run.state == "complete"
    assert _session(tmp_path / "run")["possibly_spent_usd"] == 0


def test_a_batch_that_is_never_listed_was_not_made(server: BatchServer, tmp_path: Path) -> None:
    server.create_then_break = True
    server.unlisted = 1000
    batched(server, tmp_path / "run", of=OPENAI)
    assert len(server.online) == 12
    assert book(tmp_path / "run")[0]["status"] == "dropped"


@pytest.mark.parametrize(("gone", "online"), [("errors", 3), ("output", 12)])
def test_a_result_file_that_is_gone_takes_nothing_with_it(
    server: BatchServer, gone: str, online: int, tmp_path: Path
) -> None:
    server.gone_files = (gone,)
    server.line_fault = lambda name, n: "error" if n % 4 == 0 else None
    with Panel(models(server)[:1], personas=PERSONAS) as panel:
        worst = panel.estimate(rows()).most_usd
        run = run_batch(panel, tmp_path / "run")
    assert len(server.online) == online
    assert run.state == "complete"
    assert book(tmp_path / "run")[0]["status"] == "collected"
    # What nobody could fetch may have been paid.
    assert worst is not None
    assert 0 < _session(tmp_path / "run")["possibly_spent_usd"] <= worst
    # It was looked for once more before anything was given up.
    assert server.downloads[f"batch_0-{gone}"] == 2


def test_results_that_are_all_gone_count_as_paid(server: BatchServer, tmp_path: Path) -> None:
    said: list[str] = []
    server.gone_files = ("output", "errors")
    batched(server, tmp_path / "run", said=said, of=OPENAI)
    assert len(server.online) == 12
    assert book(tmp_path / "run")[0]["status"] == "lost"
    assert _session(tmp_path / "run")["possibly_spent_usd"] > 0
    assert any("may have been paid" in sentence for sentence in said)


def test_results_that_come_late_are_not_bought_again(server: BatchServer, tmp_path: Path) -> None:
    server.gone_files = ("output", "errors")

    def mend(progress: Any) -> None:
        if progress.trouble is not None:
            server.gone_files = ()

    with Panel(models(server)[:1], personas=PERSONAS) as panel:
        job = panel.job(rows(), out=tmp_path / "run", batch=FAST, on_batch=mend)
        run = run_job(job)
    assert server.online == []
    assert run.n_scored == 12


@pytest.mark.parametrize("status", [401, 302])
def test_trouble_with_one_backend_leaves_the_results_of_another(
    server: BatchServer, status: int, tmp_path: Path
) -> None:
    server.look_status = {"openai": status} if status == 401 else {"anthropic": status}
    with Panel(models(server), personas=PERSONAS) as panel:
        with pytest.raises(InputError, match="cannot be looked at"):
            run_batch(panel, tmp_path / "run")
    assert sorted(item["status"] for item in book(tmp_path / "run")) == ["collected", "open"]
    server.look_status = {}
    run = batched(server, tmp_path / "run")
    assert len(server.batches) == 2
    assert server.online == []
    assert run.n_scored == 24


def test_what_is_with_a_provider_is_on_record_while_it_is_waited_for(
    server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.experiment.run_record.AUTOSAVE_S", 0.0)
    seen: list[int] = []

    def look(progress: Any) -> None:
        if progress.phase == "waiting":
            seen.append(_session(tmp_path / "run")["calls"]["in_batches"])

    server.polls_until_done = 3
    with Panel(models(server), personas=PERSONAS) as panel:
        run_job(panel.job(rows(), out=tmp_path / "run", batch=FAST, on_batch=look))
    assert seen[-1] == 24


def test_a_batch_is_waited_for_where_nothing_further_is_asked_of_its_backend(
    server: BatchServer, tmp_path: Path
) -> None:
    server.hold.clear()
    with Panel(models(server), personas=PERSONAS) as panel:
        job = panel.job(
            rows(1),
            out=tmp_path / "run",
            batch=FAST,
            on_batch=lambda progress: job.stop() if progress.phase == "waiting" else None,
        )
        run_job(job)
    assert len(server.batches) == 2
    server.hold.set()
    run = batched(server, tmp_path / "run", source=rows(1), judges_per_response=1)
    assert [item["status"] for item in book(tmp_path / "run")] == ["collected"] * 2
    assert server.online == []
    assert run.n_scored == 1


def test_a_key_that_a_batch_echoes_is_stored_nowhere(tmp_path: Path) -> None:
    said = json.dumps({**GOOD, "note": f"my key is {CANARY}"})
    with BatchServer(constant(said)) as server:
        asked = models(server, structured="prompt")
        with Panel(asked, personas=PERSONAS, ledger=tmp_path / "ledger.sqlite") as panel:
            run_batch(panel, tmp_path / "run")
    assert len(server.asked_in_batches) == 24
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or CANARY.encode() not in path.read_bytes(), path
