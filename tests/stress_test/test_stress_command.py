"""`areopagus stress` from the outside: output, exit codes, files."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path

import pytest
from processes import Command, areopagus, until
from stress_world import StressWorld

from areopagus.testing import ProviderServer

WORLD = StressWorld({"emotion_agree": {"pluralistic_engagement": 2.0}}, n_prompts=6)


def write_prompts(folder: Path, world: StressWorld) -> None:
    with (folder / "prompts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["prompt_id", "prompt_text"])
        writer.writeheader()
        writer.writerows(world.prompts())


def write_models(folder: Path, base: str, *, concurrency: int = 8) -> None:
    def models(*names: str) -> str:
        lines = ["models:"]
        for name in names:
            lines += [
                f"  - model: openai/{name}",
                f"    api_base: {base}",
                f"    concurrency: {concurrency}",
            ]
        return "\n".join(lines) + "\n"

    (folder / "panel.yaml").write_text(models("judge") + "personas: [historian, ethicist]\n")
    (folder / "targets.yaml").write_text(models("target"))
    (folder / "writers.yaml").write_text(models("rewriter", "reviewer"))


COMMAND = (
    *("stress", "prompts.csv", "--panel", "panel.yaml"),
    *("--targets-file", "targets.yaml", "--rewriters-file", "writers.yaml"),
)


def test_the_command_prints_a_report_of_80_columns_and_writes_every_number(tmp_path: Path) -> None:
    write_prompts(tmp_path, WORLD)
    with ProviderServer(WORLD.provider()) as server:
        write_models(tmp_path, server.openai_base)
        dry = areopagus(*COMMAND, "--out", "run", "--dry-run", folder=tmp_path)
        assert dry.returncode == 0, dry.stderr
        assert server.counts.total == 0
        done = areopagus(*COMMAND, "--out", "run", "--json", "numbers.json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("openai/target ")
    assert len(lines) <= 25
    assert max(map(len, [*dry.stdout.splitlines(), *lines])) <= 80
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    cost = json.loads((tmp_path / "run" / "run.json").read_text())["cost"]
    assert numbers["cost"] == cost
    assert {row["table"] for row in numbers["estimates"]} >= {"degradation", "noise", "responses"}
    assert cost["paid"]["online"]["replies"] == server.counts.answered
    assert f"{server.counts.answered} calls sent, 20 from the ledger · unknown" in " ".join(
        done.stdout.split()
    )
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "paid, asked online" in page
    again = areopagus("report", "run", "--full", folder=tmp_path)
    assert (tmp_path / "run" / "report.html").read_text(encoding="utf-8") == page
    assert (tmp_path / "run" / "report.txt").read_text(encoding="utf-8") in again.stdout
    assert "DEMONSTRATION" not in done.stdout
    assert "12" in dry.stdout, "six prompts are rewritten and reviewed"


def test_variants_alone_are_announced_for_review(tmp_path: Path) -> None:
    write_prompts(tmp_path, WORLD)
    with ProviderServer(WORLD.provider()) as server:
        write_models(tmp_path, server.openai_base)
        done = areopagus(*COMMAND, "--out", "run", "--rewrite-only", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "24 accepted of 24 planned variants" in done.stdout
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
    write_prompts(tmp_path, WORLD)
    done = areopagus("stress", *arguments, "--out", "run", folder=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_an_interrupt_keeps_what_is_paid_and_the_same_command_goes_on(tmp_path: Path) -> None:
    write_prompts(tmp_path, WORLD)
    with ProviderServer(WORLD.provider(), delay_s=0.03) as server:
        write_models(tmp_path, server.openai_base)
        process = Command(*COMMAND, "--out", "run", folder=tmp_path)
        until(lambda: server.counts.by_model.get("judge", 0) >= 10)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
        assert process.returncode == 130, errors
        assert "To go on" in errors
        before = server.counts.total
        again = areopagus(*COMMAND, "--out", "run", folder=tmp_path)
        assert again.returncode == 0, again.stderr
        assert server.counts.answered == server.counts.total
        # Twelve calls for the variants, thirty answers, sixty judgments and twenty once more.
        assert server.counts.total == 12 + 30 + 60 + 20
        assert before < server.counts.total


def test_the_panels_own_run_inside_is_named_where_a_panel_run_is_wanted(tmp_path: Path) -> None:
    write_prompts(tmp_path, WORLD)
    done = areopagus(
        "stress", "prompts.csv", "--persona", "historian", "--out", "run", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    refused = areopagus("export", "run", "--as", "csv", "--out", "x.csv", folder=tmp_path)
    assert refused.returncode == 2
    assert "run/panel" in refused.stderr
    assert areopagus("report", "run/panel", folder=tmp_path).returncode == 0
