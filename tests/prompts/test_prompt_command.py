"""`areopagus prompts` from a terminal: funnels, generation, dry run, study set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from prompt_world import PromptWorld, models_yaml
from test_prompt_funnels import bbq_row, hle_row, sample, write_lines

from areopagus.cli.prompts import prompts
from areopagus.errors import InputError
from areopagus.prompts import PromptRun
from areopagus.testing import ProviderServer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str) -> tuple[Result, int]:
    """The command as `areopagus` runs it, and its exit code."""
    found = CliRunner().invoke(prompts, list(arguments), standalone_mode=False)
    if found.exception is not None:
        raise found.exception
    return found, found.return_value


def test_bbq_prints_the_funnel_and_writes_scenarios(folder: Path) -> None:
    write_lines(folder / "made.jsonl.gz", sample())
    found, code = call("bbq", "made.jsonl.gz", "--json", "funnel.json")
    assert code == 0
    lines = [" ".join(line.split()) for line in found.output.splitlines()]
    assert lines[0] == "6 scenarios of 72 items."
    assert "items 72 – 58,492" in lines
    assert "one a category and question_index 6 12 343" in lines
    assert (folder / "bbq.csv").is_file()
    told = json.loads((folder / "funnel.json").read_text())["estimates"]
    assert [row["value"] for row in told if row["measure"] == "left"] == [72, 36, 18, 6]


def test_odd_rows_give_the_code_of_a_run_with_trouble(folder: Path) -> None:
    rows = [bbq_row("Height", 1, 0, ambiguous=True, negative=True), {"category": "Height"}]
    write_lines(folder / "made.jsonl", rows)
    found, code = call("bbq", "made.jsonl")
    assert code == 3
    assert "made.jsonl:2" in found.output


def test_without_a_scenario_left_it_is_bad_input(folder: Path) -> None:
    write_lines(folder / "made.jsonl", [hle_row(1, "Which colours are there?")])
    with pytest.raises(InputError, match="no scenario is left"):
        call("hle", "made.jsonl")


def test_from_the_funnel_to_the_study_set_in_two_commands(folder: Path) -> None:
    write_lines(folder / "made.jsonl", sample())
    with ProviderServer(PromptWorld(count=2)) as server:
        # The world writes about "case sN": the material says so, another N for each scenario.
        rows = [
            row | {"context": f"case s{len(row['category'])}{row['question_index']}"}
            for row in sample(n_surface=1)
        ]
        write_lines(folder / "made.jsonl", rows)
        (folder / "models.yaml").write_text(models_yaml(server))
        common = ("--models-file", "models.yaml", "--per-scenario", "2", "--ledger", "l.sqlite")
        (folder / "bbq.csv").write_text("a table of mine")
        dry, code = call("bbq", "made.jsonl", *common, "--out", "run", "--dry-run")
        assert code == 0
        assert "bbq.csv (a dry run: not written)" in dry.output
        assert (folder / "bbq.csv").read_text() == "a table of mine"
        assert server.counts.total == 0
        found, code = call("bbq", "made.jsonl", *common, "--out", "run", "--json", "figures.json")
        # 6 scenarios x (3 + 6 x 2 + 3 x 1 x 2 + 3 x 4 x 1) = 6 x 33 = 198.
        assert "198 calls" in dry.output
        assert server.counts.total == 198
    assert code == 0
    assert "36 of 36 prompts wanted are in the set" in found.output
    run = PromptRun(folder / "run")
    told = json.loads((folder / "figures.json").read_text())
    assert told["cost"] == run.record["cost"]
    assert len(told["estimates"]) == len(run.estimates)
    # What was left out on the way to the scenarios stands beside what was made of them.
    assert [r["value"] for r in told["estimates"] if r["measure"] == "left"] == [24, 12, 6, 6]
    drawn, code = call("sample", "run", "--per-source", "4", "--seed", "42")
    assert code == 0
    assert "bbq 4 of 36 prompts, from 2 of 2 strata" in " ".join(drawn.output.split())
    assert len((folder / "study_set.csv").read_text().splitlines()) == 5


def test_a_capped_construction_says_so_and_leaves_with_4(folder: Path) -> None:
    PromptWorld(n=2).write_scenarios(folder / "own.jsonl")
    with ProviderServer(PromptWorld(n=2)) as server:
        (folder / "models.yaml").write_text(
            models_yaml(server, prices={"input": 1000, "output": 1000}, max_tokens=900)
        )
        found, code = call(
            "generate", "own.jsonl", "--models-file", "models.yaml", "--ledger", "l.sqlite",
            "--out", "run", "--max-cost", "3",
        )  # fmt: skip
    assert code == 4
    assert "Stopped by the cost cap: the rest was not asked." in found.stdout
    assert "stopped by the cost cap of $3.00: " in " ".join(found.stdout.lower().split())


def test_generate_without_a_model_is_headed_as_a_demonstration(folder: Path) -> None:
    world = PromptWorld(n=2, source="mine")
    world.write_scenarios(folder / "own.jsonl")
    found, code = call("generate", "own.jsonl", "--ledger", "l.sqlite", "--out", "run")
    assert code == 0
    assert found.stdout.startswith("DEMONSTRATION")
    assert "offline/generator" in found.stderr
    run = PromptRun(folder / "run")
    assert run.record["demonstration"] is True
    assert "10 of 10 prompts wanted are in the set" in found.stdout
    assert "left out: no embedding model is named" in found.stdout
    assert not list(run.path.glob("map*"))


def test_resume_demands_a_folder_and_quiet_says_no_more_than_where(folder: Path) -> None:
    PromptWorld(n=1).write_scenarios(folder / "own.jsonl")
    common = ("generate", "own.jsonl", "--ledger", "l.sqlite", "--out", "run", "--quiet")
    with pytest.raises(InputError, match="no run to resume"):
        call(*common, "--resume")
    found, _ = call(*common)
    assert found.output == "run\n"
    assert call(*common, "--resume")[1] == 0
