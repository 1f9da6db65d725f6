"""Whole runs through batch endpoints: what is asked and what comes back."""

from __future__ import annotations

import stat
import time
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
    scores,
    votes,
)
from batch_server import BatchServer

from areopagus import InputError, Panel
from areopagus.batch import BatchSettings
from areopagus.engines import LocalEngine
from areopagus.experiment.job import run_job
from areopagus.records.tables import read_judgments
from areopagus.testing import constant


def test_a_run_through_batches_has_the_tables_of_an_online_run(
    server: BatchServer, tmp_path: Path
) -> None:
    with Panel(models(server), personas=PERSONAS, ledger=tmp_path / "one.sqlite") as panel:
        online = panel.score_many(rows(), tmp_path / "online")
    asked_online = list(server.online)
    server.online.clear()
    with Panel(models(server), personas=PERSONAS, ledger=tmp_path / "two.sqlite") as panel:
        batched = run_batch(panel, tmp_path / "batched")
    assert scores(batched) == scores(online)
    # The keys of the ledger differ: the nonce in the wording does not stand in them, so they are
    # the same, and so are the votes.
    assert votes(batched) == votes(online)
    assert server.online == []
    assert [batch.kind for batch in server.batches] == ["openai", "anthropic"]
    assert len(asked_online) == 24 == len(server.asked_in_batches)
    assert batched.state == "complete"
    assert [item["status"] for item in book(tmp_path / "batched")] == ["collected"] * 2
    # litellm would fetch every file a second time, unasked.
    assert server.downloads == {"batch_0-output": 1, "batch_0-errors": 1}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        # Else what other judges read too is marked for Anthropic's cache.
        {"structured": "prompt", "temperature": 0.5, "prefix_first": "off"},
    ],
)
def test_every_line_is_byte_for_byte_what_is_sent_online(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    # One ledger, so that the nonces are the same; its replies are removed between the runs.
    ledger = tmp_path / "ledger.sqlite"
    with BatchServer(constant(GOOD)) as server:
        asked = models(server, **settings)
        with Panel(asked, personas=PERSONAS, ledger=ledger) as panel:
            run_batch(panel, tmp_path / "batched", source=rows(9))
            from areopagus.records.ledger.admin import prune

            prune(ledger, before=time.time() + 60, dry_run=False)
        with Panel(asked, personas=PERSONAS, ledger=ledger) as panel:
            panel.score_many(rows(9), tmp_path / "online")
    in_batches = sorted(body for batch in server.batches for body in batch.bodies.values())
    assert in_batches == sorted(body for _, body in server.online)
    assert len(in_batches) == 36
    beta = server.batches[1].headers.get("anthropic-beta", "")
    # The head of the batch is that of its messages.
    assert ("structured-outputs" in beta) == ("structured" not in settings)
    is_marked = any(b"cache_control" in body for body in in_batches)
    assert is_marked == ("prefix_first" not in settings)


def test_no_key_and_no_text_is_left_in_the_run_folder(server: BatchServer, tmp_path: Path) -> None:
    seen: list[tuple[str, int]] = []

    def look(progress: Any) -> None:
        if progress.phase == "submitting":
            seen.extend(
                (path.name, stat.S_IMODE(path.stat().st_mode))
                for path in (tmp_path / "run").glob(".batch-input-*")
            )

    with Panel(models(server), personas=PERSONAS) as panel:
        job = panel.job(rows(), out=tmp_path / "run", batch=FAST, on_batch=look)
        run_job(job)
    assert server.keys_seen == {CANARY}
    assert seen
    assert {mode for _, mode in seen} == {0o600}
    assert not list((tmp_path / "run").glob(".batch*"))
    assert not list((tmp_path / "run").glob("*.ids"))
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or CANARY.encode() not in path.read_bytes()
    written = (tmp_path / "run" / "batches.json").read_text()
    assert "promises bind" not in written
    assert "What is owed" not in written


@pytest.mark.parametrize(
    ("faults", "is_paid"),
    [(("error", "expired", "missing"), False), (("garbage", "unreadable", "garbage"), True)],
)
def test_what_a_batch_does_not_answer_is_asked_online_and_may_have_been_paid(
    server: BatchServer, faults: Any, is_paid: bool, tmp_path: Path
) -> None:
    said: list[str] = []
    server.line_fault = lambda name, n: faults[n // 4] if n % 4 == 0 else None
    run = batched(server, tmp_path / "run", said=said)
    # 12 lines in each of two batches, of which numbers 0, 4 and 8 have no answer.
    assert len(server.online) == 6
    assert run.n_scored == run.n_planned == 24
    assert [(item["answered"], item["failed"]) for item in book(tmp_path / "run")] == [(9, 3)] * 2
    assert sum("3 of the 12 requests" in sentence for sentence in said) == 2
    assert (run.record["sessions"][-1]["possibly_spent_usd"] > 0) is is_paid


def test_with_only_what_a_batch_does_not_answer_has_failed(
    server: BatchServer, tmp_path: Path
) -> None:
    faults: dict[int, Any] = {0: "error", 1: "expired", 2: "refused"}
    server.line_fault = lambda name, n: faults.get(n)
    run = batched(server, tmp_path / "run", batch=BatchSettings(poll_s=0.005, only=True))
    assert server.online == []
    # Of a refusal the server tells in OpenAI's way alone.
    assert [run.counts[name] for name in ("failed", "refused", "scored")] == [4, 1, 19]
    assert run.exit_code == 3
    reasons = sorted(
        vote["reason"] for vote in read_judgments(run.path) if vote["status"] == "failed"
    )
    assert reasons == ["bad_request"] * 2 + ["timeout"] * 2


@pytest.mark.parametrize(("final", "online"), [("expired", 7), ("failed", 12)])
def test_a_batch_that_expired_gives_what_it_has_and_one_that_failed_is_asked_online(
    server: BatchServer, final: Any, online: int, tmp_path: Path
) -> None:
    said: list[str] = []
    server.final = final
    server.line_fault = lambda name, n: "expired" if n >= 5 else None
    run = batched(server, tmp_path / "run", said=said, of=OPENAI)
    assert len(server.online) == online
    assert run.state == "complete"
    assert book(tmp_path / "run")[0]["provider_status"] == final
    assert any("bad file" in sentence for sentence in said) is (final == "failed")


def test_batches_that_find_the_queue_full_are_submitted_again(
    server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from areopagus.batch.providers import OpenAIBatches

    monkeypatch.setattr(OpenAIBatches, "most_requests", 5)
    server.most_open = 1
    server.polls_until_done = 3
    run = batched(server, tmp_path / "run", of=OPENAI)
    assert run.state == "complete"
    assert len(server.online) == 0
    # 5 + 5 + 2, of which only the first finds room; then 5 + 2, then 2.
    assert [len(batch.bodies) for batch in server.batches] == [5, 5, 2, 5, 2, 2]


def test_batches_keep_within_the_limits_of_the_provider(
    server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from areopagus.batch.providers import AnthropicBatches, OpenAIBatches

    monkeypatch.setattr(OpenAIBatches, "most_requests", 5)
    monkeypatch.setattr(AnthropicBatches, "most_bytes", 20_000)
    run = batched(server, tmp_path / "run")
    first = [len(batch.bodies) for batch in server.batches if batch.kind == "openai"]
    assert first == [5, 5, 2]
    assert all(len(content) for content in server.files.values())
    sizes = [
        sum(map(len, batch.bodies.values()))
        for batch in server.batches
        if batch.kind == "anthropic"
    ]
    assert len(sizes) > 1
    assert max(sizes) <= 20_000
    assert len(set(server.asked_in_batches)) == 24
    assert server.online == []
    assert run.state == "complete"


def test_a_provider_that_is_down_for_a_while_is_waited_for(
    server: BatchServer, tmp_path: Path
) -> None:
    troubles: list[str | None] = []
    server.failing_looks = 5
    with Panel(models(server), personas=PERSONAS) as panel:
        job = panel.job(
            rows(),
            out=tmp_path / "run",
            batch=FAST,
            on_batch=lambda progress: troubles.append(progress.trouble),
        )
        run = run_job(job)
    assert run.state == "complete"
    assert server.online == []
    assert len(server.batches) == 2
    assert any(trouble and "server" in trouble for trouble in troubles)


def test_a_provider_without_room_for_a_batch_is_asked_again(
    server: BatchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("areopagus.batch.submit._FIRST_PAUSE_S", 0.01)
    server.failing_creations = 3
    run = batched(server, tmp_path / "run")
    assert len(server.batches) == 2
    assert server.online == []
    assert run.state == "complete"


def test_an_endpoint_without_batches_is_asked_online(server: BatchServer, tmp_path: Path) -> None:
    said: list[str] = []
    server.refuses = ("files",)
    # One has no batch endpoint here, one has none at all, beside one that has.
    with Panel([*models(server), "offline/lexical"], personas=PERSONAS) as panel:
        run = run_batch(panel, tmp_path / "run", said=said)
    assert (len(server.online), len(server.batches)) == (12, 1)
    assert (run.state, run.n_scored) == ("complete", 36)
    assert any("no batch was made" in sentence for sentence in said)
    assert any(s.startswith("offline/lexical: has no batch endpoint") for s in said)


def test_with_only_a_provider_without_batches_is_refused(tmp_path: Path) -> None:
    with Panel("offline/lexical", personas=PERSONAS) as panel:
        with pytest.raises(InputError, match="has no batch endpoint"):
            run_batch(panel, tmp_path / "run", batch=BatchSettings(only=True))


def test_only_is_refused_where_other_machines_would_ask(
    server: BatchServer, tmp_path: Path
) -> None:
    class Elsewhere(LocalEngine):
        pass

    with Panel(models(server), personas=PERSONAS) as panel:
        with pytest.raises(InputError, match="only this process"):
            run_batch(panel, tmp_path / "run", batch=BatchSettings(only=True), engine=Elsewhere())
    assert server.batches == []


def test_one_call_goes_online_where_the_form_of_replies_is_not_known(
    server: BatchServer, tmp_path: Path
) -> None:
    said: list[str] = []
    with Panel(models(server, structured="auto"), personas=PERSONAS) as panel:
        run = run_batch(panel, tmp_path / "run", said=said)
    assert len(server.online) == 2
    assert len(server.asked_in_batches) == 22
    assert sum("one call went online" in sentence for sentence in said) == 2
    assert run.state == "complete"


def test_a_run_may_mix_online_and_batch(server: BatchServer, tmp_path: Path) -> None:
    with Panel(models(server), personas=PERSONAS) as panel:
        panel.score_many(rows()[:2], tmp_path / "first")
    assert len(server.online) == 8
    run = batched(server, tmp_path / "run")
    assert len(server.asked_in_batches) == 16
    assert len(server.online) == 8
    assert run.n_scored == 24


def test_responses_that_the_screen_closes_and_repeated_ones_are_not_in_a_batch_twice(
    server: BatchServer, tmp_path: Path
) -> None:
    source = rows(3)
    source.append({**source[0], "response_id": "same"})
    source.append({**source[1], "response_id": "empty", "response_text": "  "})
    run = batched(server, tmp_path / "run", source=source, of=OPENAI)
    assert len(server.asked_in_batches) == 6
    assert run.counts["scored"] == 8
