"""Runs that are interrupted or killed while batches are under way."""

from __future__ import annotations

import json
from pathlib import Path

import batch_child
import pytest
from batch_material import (
    ANTHROPIC,
    CANARY,
    FAST,
    OPENAI,
    PERSONAS,
    batched,
    book,
    models,
    rows,
    run_batch,
)
from batch_server import BatchServer
from processes import forked, killed, until

from areopagus import InputError, Panel, Run
from areopagus.batch import open_batches
from areopagus.experiment.job import run_job


def test_a_creation_that_nobody_can_find_again_is_counted_and_asked_online(
    server: BatchServer, tmp_path: Path
) -> None:
    server.create_then_break = True
    run = batched(server, tmp_path / "run", of=ANTHROPIC)
    assert len(server.batches) == 1
    assert len(server.online) == 12
    assert book(tmp_path / "run")[0]["status"] == "lost"
    session = json.loads((tmp_path / "run" / "run.json").read_text())["sessions"][-1]
    assert session["possibly_spent_usd"] > 0
    assert run.state == "complete"


def test_an_interrupt_leaves_the_batches_running_and_the_same_command_goes_on(
    server: BatchServer, tmp_path: Path
) -> None:
    said: list[str] = []
    server.hold.clear()
    with Panel(models(server), personas=PERSONAS) as panel:
        job = panel.job(
            rows(),
            out=tmp_path / "run",
            batch=FAST,
            on_notice=said.append,
            on_batch=lambda progress: job.stop() if progress.phase == "waiting" else None,
        )
        run = run_job(job)
    assert run.state == "interrupted"
    assert any("2 submitted batches with 24 requests go on" in sentence for sentence in said)
    assert len(open_batches(tmp_path / "run")) == 2
    server.hold.set()
    again = batched(server, tmp_path / "run")
    assert len(server.batches) == 2
    assert server.online == []
    assert again.n_scored == 24
    assert open_batches(tmp_path / "run") == ()


def test_a_batch_that_the_provider_knows_no_more_is_asked_online(
    server: BatchServer, tmp_path: Path
) -> None:
    said: list[str] = []
    server.hold.clear()
    with Panel(models(server)[:1], personas=PERSONAS) as panel:
        job = panel.job(
            rows(),
            out=tmp_path / "run",
            batch=FAST,
            on_batch=lambda progress: job.stop() if progress.phase == "waiting" else None,
        )
        run_job(job)
    server.batches.clear()
    run = batched(server, tmp_path / "run", said=said, of=OPENAI)
    assert run.n_scored == 12
    assert len(server.online) == 12
    assert any("knows no batch" in sentence for sentence in said)


def test_a_damaged_book_is_refused_before_anything_is_asked(
    server: BatchServer, tmp_path: Path
) -> None:
    batched(server, tmp_path / "run")
    (tmp_path / "run" / "batches.json").write_text('{"format": 1, "batches": [{}]}')
    with Panel(models(server), personas=PERSONAS) as panel:
        with pytest.raises(InputError, match=r"batches\.json"):
            run_batch(panel, tmp_path / "run", source=rows())
    assert len(server.batches) == 2


def _set_up(folder: Path, server: BatchServer, which: slice) -> None:
    (folder / "responses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    settings = {"models": models(server)[which], "personas": PERSONAS}
    (folder / "panel.yaml").write_text(json.dumps(settings))


@pytest.mark.slow
def test_killed_while_it_waits_a_run_polls_the_same_batches_and_submits_nothing(
    server: BatchServer, tmp_path: Path
) -> None:
    _set_up(tmp_path, server, slice(None))
    server.hold.clear()
    process = forked(batch_child.score, tmp_path, CANARY)
    until(lambda: sum(server.looks.values()) >= 3)
    killed(process)
    assert [batch.id for batch in server.batches] == ["batch_0", "msgbatch_1"]
    server.hold.set()
    again = forked(batch_child.score, tmp_path, CANARY)
    again.join(180)
    assert again.exitcode == 0
    assert len(server.batches) == 2
    assert server.online == []
    run = Run(tmp_path / "run")
    assert run.n_scored == 24
    session = json.loads((tmp_path / "run" / "run.json").read_text())["sessions"][-1]
    assert session["calls"]["repeated"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("which", "submissions"), [(slice(0, 1), 1), (slice(1, 2), 2)])
def test_killed_while_it_submits_a_run_repeats_at_most_that_batch_and_counts_it(
    server: BatchServer, which: slice, submissions: int, tmp_path: Path
) -> None:
    # An OpenAI-style batch is found again by the file that it was made of; in an Anthropic-style
    # one nothing says what it was made of, so it is submitted again.
    _set_up(tmp_path, server, which)
    server.slow_creation.set()
    process = forked(batch_child.score, tmp_path, CANARY)
    until(lambda: len(server.batches) == 1)
    killed(process)
    server.slow_creation.clear()
    again = forked(batch_child.score, tmp_path, CANARY)
    again.join(180)
    assert again.exitcode == 0
    assert len(server.batches) == submissions
    assert server.online == []
    assert Run(tmp_path / "run").n_scored == 12
    assert not list((tmp_path / "run").glob(".batch*"))
    session = json.loads((tmp_path / "run" / "run.json").read_text())["sessions"][-1]
    assert session["calls"]["repeated"] == (12 if submissions == 2 else 0)
