"""kill -9 in the middle of a run, again and again: nothing stored is lost or asked again."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from after_a_kill import repeated
from processes import Command, until

from areopagus import Run
from areopagus.records.tables import read_judgments
from areopagus.testing import ProviderServer, by_hash

# The same with 3,000 calls and any number of kills is a command: benchmarks/soak.py.
RESPONSES, KILLS, IN_FLIGHT = 30, 3, 16

_SETTINGS = """\
models:
  - model: openai/judge-a
    api_base: {openai}
    concurrency: {limit}
  - model: anthropic/claude-sonnet-4-5
    name: judge-b
    api_base: {anthropic}
    concurrency: {limit}
  - model: ollama_chat/judge-c
    api_base: {ollama}
    concurrency: {limit}
"""


def _write_responses(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for i in range(RESPONSES):
            row = {
                "response_id": f"r{i:03}",
                "prompt_id": f"p{i % 20}",
                "prompt_text": f"What is owed in case {i % 20}?",
                "response_text": f"In case {i} much is owed, because promises bind.",
                "respondent_id": f"writer-{i % 5}",
            }
            file.write(json.dumps(row) + "\n")


def _started(folder: Path, out: str, home: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "areopagus", "score", "responses.jsonl"),
            *("--panel", "panel.yaml", "--out", out, "--quiet"),
        ],
        cwd=folder,
        env={**os.environ, "AREOPAGUS_HOME": str(folder / home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _forked(folder: Path, out: str, home: str) -> Command:
    given = ("score", "responses.jsonl", "--panel", "panel.yaml", "--out", out, "--quiet")
    return Command(*given, folder=folder, home=folder / home)


def _tables(folder: Path) -> tuple[bytes, list[dict[str, Any]]]:
    run = Run(folder)
    # Request ids and cost aside, the tables hold votes and where they came from; all must agree.
    return (folder / "scores.csv").read_bytes(), list(read_judgments(run.path))


@pytest.mark.slow
def test_killed_again_and_again_a_run_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    _write_responses(tmp_path / "responses.jsonl")
    chance = random.Random(20260101)
    with ProviderServer(by_hash(1, 10), delay_s=0.02) as server:
        (tmp_path / "panel.yaml").write_text(
            _SETTINGS.format(
                openai=server.openai_base,
                anthropic=server.anthropic_base,
                ollama=server.ollama_base,
                limit=IN_FLIGHT,
            )
        )
        _forked(tmp_path, "calm", "calm-home").ended()
        planned = Run(tmp_path / "calm").n_planned
        assert planned == RESPONSES * 30
        assert server.counts.answered == planned
        server.reset()

        for _ in range(KILLS):
            before = server.counts.answered
            process = _forked(tmp_path, "killed", "killed-home")
            # Killed while it is at work: after it has sent a random number of calls.
            goal = before + chance.randint(20, 260)
            until(lambda goal=goal: server.counts.answered >= goal)
            process.kill()
        _forked(tmp_path, "killed", "killed-home").ended()
        paid = server.counts.total

    assert _tables(tmp_path / "killed") == _tables(tmp_path / "calm")
    run = Run(tmp_path / "killed")
    assert run.n_scored == planned
    repeats, left = repeated(tmp_path / "killed-home" / "ledger.sqlite")
    # Calls that were in flight at a kill are paid again, and counted, and no others.
    assert planned <= paid <= planned + repeats
    # Half as many may have been noted and not sent yet; they count as repeated, to be safe.
    assert 0 < repeats <= KILLS * 3 * (IN_FLIGHT + IN_FLIGHT // 2)
    assert left == 0


@pytest.mark.long
def test_a_signal_ends_the_run_by_itself_and_the_next_goes_on(tmp_path: Path) -> None:
    _write_responses(tmp_path / "responses.jsonl")
    with ProviderServer(by_hash(1, 10), delay_s=0.05) as server:
        (tmp_path / "panel.yaml").write_text(
            f"models:\n  - {{model: openai/a, api_base: {server.openai_base}, concurrency: 16}}\n"
        )
        # The first starts from nothing, as a user's does.
        for start, number, code in (
            (_started, signal.SIGINT, 130),
            (_forked, signal.SIGTERM, 143),
        ):
            before = server.counts.answered
            process = start(tmp_path, "run", "home")
            until(lambda before=before: server.counts.answered >= before + 60)
            process.send_signal(number)
            _, errors = process.communicate(timeout=180)
            assert process.returncode == code, errors
            assert "areopagus score responses.jsonl" in errors
            said = " ".join(errors.split())
            assert re.search(r"waiting for \d+ calls? in flight, 120 s at most", said), errors
            assert "Press Ctrl-C again to abandon them." in said
            run = Run(tmp_path / "run")
            assert run.state == "interrupted"
            # All that was answered is kept, and the rest is counted as not asked.
            assert run.n_scored == server.counts.answered
            assert run.counts["not_asked"] == run.n_planned - run.n_scored
        _forked(tmp_path, "run", "home").ended()
        assert server.counts.answered == run.n_planned == Run(tmp_path / "run").n_scored
        assert urllib.request.urlopen(f"{server.base}/__counts", timeout=5).status == 200
