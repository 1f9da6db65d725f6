"""Who hears how far the work is, and what is shown in a terminal, a notebook and a log."""

from __future__ import annotations

import inspect
import io
import sys
import time
import types
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from areopagus import Panel, calibrate
from areopagus import progress as shown_progress
from areopagus.progress import Progress, ProgressLine, doing, heard, shows_progress

ROWS = [
    {"response_id": f"r{n}", "prompt_id": "p", "prompt_text": "Why?", "response_text": "Because."}
    for n in range(3)
]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines in a log, without the half minute between them."""
    monkeypatch.setattr(shown_progress._Log, "least_s", 0.0)


@pytest.mark.report
def test_nothing_is_shown_where_nobody_looks(
    tmp_path: Path, log: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with Panel(ledger=tmp_path / "l.sqlite") as panel:
        panel.score_many(ROWS, tmp_path / "run")
        assert capsys.readouterr().err == ""
        panel.score_many(ROWS, tmp_path / "again", on_progress=True)
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == "reading the input"
    assert any(line.startswith("3/3 responses · 30 scored, 0 not · ") for line in shown)
    assert shown[-2:] == ["computing the estimates", "writing the report"]


def test_a_log_gets_a_line_every_half_minute_at_the_most(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [1000.0]
    monkeypatch.setattr(shown_progress, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    with ProgressLine() as line:
        for second in range(100):
            now[0] = 1000.0 + second
            line.update(Progress(done=second, total=100, unit="responses", elapsed_s=second))
    shown = capsys.readouterr().err.splitlines()
    assert [one.split(" ")[0] for one in shown] == ["30/100", "60/100", "90/100"]


def test_quiet_shows_nothing(log: None, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine(quiet=True):
        doing("writing the report")
    assert capsys.readouterr().err == ""


@pytest.mark.report
def test_a_listener_hears_the_counts_and_what_has_none(tmp_path: Path) -> None:
    heard_of: list[tuple[int, str]] = []
    with Panel(ledger=tmp_path / "l.sqlite") as panel:
        panel.score_many(
            ROWS, tmp_path / "run", on_progress=lambda now: heard_of.append((now.done, now.doing))
        )
    assert (3, "") in heard_of
    assert heard_of[-1] == (3, "writing the report")


def test_false_silences_a_job_inside_what_is_heard() -> None:
    told: list[str] = []
    with heard(lambda now: told.append(now.doing)):
        doing("one")
        with heard(False):
            doing("two")
        with heard():  # whoever listens already goes on to
            doing("three")
    doing("four")
    assert told == ["one", "three"]


def test_false_is_silent_where_somebody_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[shown_progress._Terminal] = []

    def terminal() -> shown_progress._Terminal:
        made.append(shown_progress._Terminal(Console(file=io.StringIO(), force_terminal=True)))
        return made[-1]

    monkeypatch.setattr(shown_progress, "_terminal", terminal)
    with Panel(ledger=tmp_path / "l.sqlite") as panel:
        panel.score_many(ROWS, tmp_path / "run", on_progress=False)
        assert made == []
        panel.score_many(ROWS, tmp_path / "run")
    assert len(made) == 1  # the call and its job have one between them


def test_of_two_lines_at_once_one_is_shown(log: None, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine(quiet=True), heard(True):
        doing("reading the input")
    assert capsys.readouterr().err == ""


def test_a_function_gets_the_argument_and_keeps_its_own() -> None:
    @shows_progress
    def reads(name: str, *, often: int = 1, **rest: Any) -> tuple[str, int, dict[str, Any]]:
        doing(f"reading {name}")
        return name, often, rest

    told: list[str] = []
    found = reads("a", often=2, on_progress=lambda now: told.append(now.doing), more=3)
    assert (found, told) == (("a", 2, {"more": 3}), ["reading a"])
    assert list(inspect.signature(reads).parameters) == ["name", "often", "on_progress", "rest"]
    assert "on_progress" in inspect.signature(calibrate).parameters


def test_a_terminal_shows_counts_and_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    place = shown_progress._Terminal(screen)
    monkeypatch.setattr(shown_progress, "_terminal", lambda: place)
    with ProgressLine() as line:
        line.update(Progress(done=1, total=2, unit="responses", elapsed_s=1.0, stage_sent=20))
        (task,) = place.bar.tasks
        assert (task.completed, task.total) == (1, 2)
        assert task.fields["stage"] == "1/2 responses"
        assert task.fields["said"].startswith("20 calls/s")
        doing("writing [red] the report")
        (task,) = place.bar.tasks
        assert (task.total, task.fields["stage"]) == (None, "writing [red] the report")


def test_a_program_s_own_output_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """rich would put itself in the place of the host's stdout while the bar is there."""
    # another test of this process may have run the command line
    monkeypatch.setattr(shown_progress, "is_own_process", lambda: False)
    place = shown_progress._Terminal(Console(file=io.StringIO(), force_terminal=True))
    before = sys.stdout, sys.stderr
    place.start()
    assert (sys.stdout, sys.stderr) == before
    place.stop()


def test_a_notebook_shows_one_output_that_is_empty_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs: list[dict[str, str]] = []

    class Handle:
        def update(self, data: dict[str, str], *, raw: bool) -> None:
            outputs.append(data)

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        outputs.append(data)
        return Handle()

    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell  # type: ignore[attr-defined]
    there = types.ModuleType("IPython.display")
    there.display = display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", there)
    with heard():
        doing("short")
    assert outputs == []  # a call that is over at once shows nothing
    monkeypatch.setattr(shown_progress, "_AFTER_S", 0.0)
    with heard():
        doing("reading <b>")
    shown = [one["text/html"] for one in outputs]
    assert shown[1] == "<div>reading &lt;b&gt; <progress></progress> </div>"
    assert outputs[-1] == {"text/plain": "", "text/html": ""}


def test_a_line_that_waits_appears_while_the_work_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = shown_progress._Terminal(Console(file=io.StringIO(), force_terminal=True))
    monkeypatch.setattr(shown_progress, "_terminal", lambda: place)
    with ProgressLine(after_s=0.05):
        doing("writing the report")
        assert not place.bar.live.is_started
        until = time.monotonic() + 30
        while not place.bar.live.is_started and time.monotonic() < until:
            time.sleep(0.01)
        assert place.bar.live.is_started
    assert not place.bar.live.is_started
