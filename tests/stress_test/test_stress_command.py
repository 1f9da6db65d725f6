"""`areopagus stress`: output, exit codes, files; what comes to nothing stands, counted."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from in_process import areopagus
from stress_world import StressWorld, cells, counts, write_csv

from areopagus.reports.text import render_text
from areopagus.stress_test import StressRun
from areopagus.testing import ProviderServer, ServedReply, ServedRequest

WORLD = StressWorld({"emotion_agree": {"pluralistic_engagement": 2.0}}, n_prompts=2)
COMMAND = (
    *("stress", "prompts.csv", "--panel", "panel.yaml", "--out", "run"),
    *("--targets-file", "targets.yaml", "--rewriters-file", "writers.yaml"),
)
PRICED = ", max_tokens: 300, prices: {input: 1.0, output: 2.0}"


def prepare(folder: Path, base: str, *, more: str = "", world: StressWorld = WORLD) -> None:
    """Writes the prompts, and the models of a server."""

    def models(*names: str) -> str:
        lines = [f"  - {{model: openai/{name}, api_base: '{base}'{more}}}\n" for name in names]
        return "models:\n" + "".join(lines)

    write_csv(folder / "prompts.csv", world.prompts())
    (folder / "panel.yaml").write_text(models("judge") + "personas: [historian, ethicist]\n")
    (folder / "targets.yaml").write_text(models("target"))
    (folder / "writers.yaml").write_text(models("rewriter", "reviewer"))


@pytest.mark.report
def test_the_command_prints_a_report_of_80_columns_and_writes_every_number(tmp_path: Path) -> None:
    with ProviderServer(WORLD.provider()) as server:
        prepare(tmp_path, server.openai_base)
        dry = areopagus(*COMMAND, "--dry-run", folder=tmp_path)
        assert dry.returncode == 0, dry.stderr
        assert server.counts.total == 0
        done = areopagus(*COMMAND, "--json", "numbers.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("openai/target: ")
    assert len(lines) <= 25
    assert max(map(len, [*dry.stdout.splitlines(), *lines])) <= 80
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    cost = json.loads((tmp_path / "run" / "run.json").read_text())["cost"]
    assert numbers["cost"] == cost
    assert {row["table"] for row in numbers["estimates"]} >= {"degradation", "noise", "responses"}
    assert cost["paid"]["online"]["replies"] == server.counts.answered
    told = f"{server.counts.answered} calls sent, 20 from the ledger · unknown"
    assert told in " ".join(done.stdout.split())
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "paid, asked online" in page
    again = areopagus("report", "run", "--full", folder=tmp_path)
    assert (tmp_path / "run" / "report.html").read_text(encoding="utf-8") == page
    assert (tmp_path / "run" / "report.txt").read_text(encoding="utf-8") in again.stdout
    assert "DEMONSTRATION" not in done.stdout


def test_variants_alone_are_announced_for_review(tmp_path: Path) -> None:
    with ProviderServer(WORLD.provider()) as server:
        prepare(tmp_path, server.openai_base)
        done = areopagus(*COMMAND, "--rewrite-only", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "8 accepted of 8 planned variants" in done.stdout
    assert "--variants" in done.stdout
    assert not (tmp_path / "run" / "responses.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "either prompts to ask, or responses"),
        (("prompts.csv", "--margin", "0"), "margin"),
        (("prompts.csv", "--framing", "nosuch"), "nosuch"),
        (("prompts.csv", "--variants", "missing.csv"), "missing.csv"),
        (("--responses", "prompts.csv"), "condition"),
    ],
)
def test_bad_input_is_told_before_anything_is_made(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    write_csv(tmp_path / "prompts.csv", WORLD.prompts())
    done = areopagus("stress", *arguments, "--out", "run", folder=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "run").exists()


def test_an_interrupt_keeps_what_is_paid_and_the_same_command_goes_on(tmp_path: Path) -> None:
    judged: list[ServedRequest] = []

    def play(request: ServedRequest) -> ServedReply:
        if request.model == "judge" and not judged:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        judged.extend([request] if request.model == "judge" else ())
        return WORLD.provider()(request)

    with ProviderServer(play, delay_s=0.05) as server:
        prepare(tmp_path, server.openai_base, more=", concurrency: 4")
        stopped = areopagus(*COMMAND, folder=tmp_path)
        assert stopped.returncode == 130
        assert "To go on" in stopped.stderr
        before = server.counts.total
        again = areopagus(*COMMAND, folder=tmp_path)
        assert again.returncode == 0, again.stderr
        # Four calls for the variants, ten answers, twenty judgments and twenty once more.
        assert before < server.counts.total == server.counts.answered == 4 + 10 + 20 + 20


def test_the_stand_ins_run_the_whole_path_and_are_called_a_demonstration(tmp_path: Path) -> None:
    write_csv(tmp_path / "prompts.csv", StressWorld(n_prompts=6).prompts())
    command = ("stress", "prompts.csv", "--persona", "historian", "--out", "run")
    done = areopagus(*command, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    run = StressRun(tmp_path / "run")
    assert run.record["demonstration"] is True
    assert done.stdout.startswith("DEMONSTRATION")
    assert run.record["stages"]["rewrite"]["accepted"] == 24
    assert run.record["stages"]["rewrite"]["reviewed"] == {"not checked (no second model)": 6}
    whole = " ".join(" ".join(render_text(run.document(), full=True)).split())
    assert "Reviewed by a second model: not checked: no second model (6)" in whole
    # What explains columns that are not there is left out.
    assert "10 responses. shift: second minus first. The margin is" in whole
    # A judge without chance shows no noise, and can find that nothing changes.
    assert "deterministic judge" in " ".join(run.text.split())
    assert "alike" in {one["verdict"] for one in cells(run)}
    # Where a panel's run is wanted, the one inside is named.
    refused = areopagus("export", "run", "--as", "csv", "--out", "x.csv", folder=tmp_path)
    assert (refused.returncode, "run/panel" in refused.stderr) == (2, True)
    assert areopagus("report", "run/panel", folder=tmp_path).returncode == 0


def silent(request: ServedRequest) -> ServedReply:
    """A target that refuses every call."""
    target = request.model == "target"
    return ServedReply("no", status=400) if target else WORLD.provider()(request)


def unwilling(request: ServedRequest) -> ServedReply:
    """Nobody rewrites anything."""
    return ServedReply("I'm sorry, but I can't help with that request.")


@pytest.mark.parametrize(
    ("play", "more", "code", "state", "became"),
    [
        # Variants that were not asked for are no failed ones, and their baselines are not either.
        (WORLD.provider(), ("--max-cost", "0.003"), 4, "budget", "not_asked"),
        (silent, (), 3, "complete", "failed"),
        (unwilling, (), 3, "complete", "no_variant"),
    ],
    ids=["the cap in the first stage", "a target that refuses", "no variant at all"],
)
@pytest.mark.report
def test_without_any_response_the_report_stands_with_its_counts(
    tmp_path: Path,
    play: Callable[[ServedRequest], ServedReply],
    more: tuple[str, ...],
    code: int,
    state: str,
    became: str,
) -> None:
    with ProviderServer(play) as server:
        prepare(tmp_path, server.openai_base, more=PRICED)
        done = areopagus(*COMMAND, "--json", "n.json", *more, folder=tmp_path)
        asked = {request.model for request in server.requests}
    assert (done.returncode, "judge" in asked) == (code, False), done.stderr
    assert ("target" in asked) is (became == "failed")
    run = StressRun(tmp_path / "run")
    assert run.state == state
    assert {(one["n"], one["verdict"]) for one in cells(run)} == {(0, "undefined")}
    found = counts(run).values()
    assert [sum(row[name] for row in found) for name in ("planned", "scored", became)] == [
        10, 0, 10,
    ]  # fmt: skip
    numbers = json.loads((tmp_path / "n.json").read_text())
    assert numbers["headline"] == ["No response was scored: there is no figure."]
    assert len(numbers["estimates"]) == len(run.estimates)
    assert "No response was scored" in done.stdout
    assert ("Stopped by the cost cap of" in " ".join(done.stdout.split())) is (code == 4)
    assert "No response was scored" in (run.path / "report.html").read_text(encoding="utf-8")
    if became == "no_variant":
        assert "2 prompts without any usable variant" in " ".join(run.text.split())
