"""Commands run in this process, and a small file of responses."""

from __future__ import annotations

import csv
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from areopagus.cli.main import main

Outcome = tuple[Any, str, str]
Call = Callable[..., Outcome]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Call]:
    """Runs a command in this process; its exit code, output and errors."""

    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        given = [str(argument) for argument in arguments]
        monkeypatch.setattr(sys, "argv", ["areopagus", *given])
        with pytest.raises(SystemExit) as left:
            main()
        written = capsys.readouterr()
        return left.value.code, written.out, written.err

    # A command loads it in a process of its own; here an earlier test may have, as a guest does.
    if "litellm" in sys.modules:
        monkeypatch.setattr(sys.modules["litellm"], "suppress_debug_info", True)
    handler = signal.getsignal(signal.SIGTERM)
    yield run
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture
def responses(tmp_path: Path) -> Path:
    path = tmp_path / "responses.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(
            ["response_id", "prompt_id", "prompt_text", "response_text", "respondent_id"]
        )
        for i in range(4):
            text = f"In case {i} much is owed, because promises bind."
            lines.writerow([f"r{i}", f"p{i % 2}", f"What is owed, {i % 2}?", text, f"w{i // 2}"])
    return path
