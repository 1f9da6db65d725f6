"""`areopagus stress` from the outside: output, exit codes, files."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from areopagus.testing import ProviderServer
from areopagus.testing.stress_world import StressWorld

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


def areopagus(
    folder: Path, *arguments: str, home: str = "home"
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "areopagus", *arguments],
        cwd=folder,
        env={**os.environ, "AREOPAGUS_HOME": str(folder / home), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_command_prints_a_report_of_80_columns_and_writes_every_number(tmp_path: Path) -> None:
    write_prompts(tmp_path, WORLD)
    with ProviderServer(WORLD.provider()) as server:
        write_models(tmp_path, server.openai_base)
        dry = areopagus(tmp_path, *COMMAND, "--out", "run", "--dry-run")
        assert dry.returncode == 0, dry.stderr
        assert server.counts.total == 0
        done = areopagus(tmp_path, *COMMAND, "--out", "run", "--json", "numbers.json")
    assert done.returncode == 0, done.stderr
    assert "Stress test: 6 prompts, 4 framings, 1 target" in done.stdout
    assert max(map(len, (dry.stdout + done.stdout).splitlines())) <= 80
    numbers = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers == json.loads((tmp_path / "run" / "stress.json").read_text())
    assert "DEMONSTRATION" not in done.stdout
    assert "12" in dry.stdout, "six prompts are rewritten and reviewed"


def test_variants_alone_are_announced_for_review(tmp_path: Path) -> None:
    write_prompts(tmp_path, WORLD)
    with ProviderServer(WORLD.provider()) as server:
        write_models(tmp_path, server.openai_base)
        done = areopagus(tmp_path, *COMMAND, "--out", "run", "--rewrite-only")
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
    done = areopagus(tmp_path, "stress", *arguments, "--out", "run")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
