"""The command line: help, exit codes, tables of 80 columns, and words made harmless."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click
import pytest

from areopagus import Run
from areopagus.cli.main import COMMANDS, cli
from areopagus.testing import Fault, ProviderServer, by_hash, constant

Outcome = tuple[Any, str, str]
Call = Callable[..., Outcome]


def too_wide(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) > 80]


def every_command() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    context = click.Context(cli)
    for name in COMMANDS:
        found.append((name,))
        command = cli.get_command(context, name)
        if isinstance(command, click.Group):
            found += [(name, sub) for sub in command.list_commands(context)]
    return found


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_every_command_explains_itself_in_80_columns(call: Call, command: tuple[str, ...]) -> None:
    code, out, err = call(*command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith("Usage: ")
    assert too_wide(out) == []


def test_the_module_runs_and_tells_its_version(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "areopagus", "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.startswith("areopagus ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_first_command_scores_the_examples_into_a_table_of_80_columns(
    call: Call, examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call("score", examples / "responses.csv", "--out", "run")
    assert code == 0
    assert too_wide(out) == []
    assert "DEMONSTRATION" in out
    assert "is embedded and no language model" in err
    assert "alder scores higher" in out
    assert len(out.splitlines()) <= 25
    assert "birch" in out.splitlines()[2]
    run = Run(tmp_path / "run")
    assert f"{run.n_scored} scored of {run.n_planned} planned" in out
    code, out, _ = call("score", examples / "responses.csv", "--out", tmp_path / "run")
    assert code == 0
    assert "0 calls sent" in out


def test_a_job_outlives_the_readers_of_its_output(responses: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "areopagus", "score", responses, "--out", run]
    with os.fdopen(writer, "wb") as unread:
        done = subprocess.run(command, stdout=unread, stderr=unread, check=False, timeout=300)
    assert done.returncode == 0
    assert json.loads((run / "run.json").read_text())["state"] == "complete"


def test_a_dry_run_sends_nothing_and_makes_no_folder(
    call: Call, responses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ProviderServer(constant(7)) as server:
        (tmp_path / "panel.yaml").write_text(
            "models:\n"
            f"  - {{model: openai/a, api_base: {server.openai_base}, "
            "prices: {input: 1, output: 2}}\n"
            f"  - {{model: openai/b, api_base: {server.openai_base}}}\n"
        )
        code, out, _ = call(
            "score", responses, "--panel", "panel.yaml", "--dry-run", "--out", "run"
        )
        assert server.counts.total == 0
    assert code == 0
    assert out.startswith("Dry run: nothing is sent. Cost: unknown\n")
    assert "80 calls to send" in out
    assert "Price unknown: openai/b" in out
    assert too_wide(out) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["panel.yaml", "responses.csv"]


def test_other_column_names_a_limit_and_a_run_to_resume(call: Call, tmp_path: Path) -> None:
    (tmp_path / "theirs.jsonl").write_text(
        "".join(
            json.dumps({"id": f"r{i}", "question": f"Why {i}?", "answer": f"It binds, {i}."}) + "\n"
            for i in range(5)
        )
    )
    columns = [f"--column={c}" for c in ("response_id=id", "prompt_text=question")]
    columns.append("--column=response_text=answer")
    given = ("score", tmp_path / "theirs.jsonl", *columns, "--limit", 2, "--out", tmp_path / "run")
    code, out, err = call(*given, "--resume")
    assert code == 2
    assert "no run to resume" in err
    code, out, err = call(*given)
    assert code == 0
    assert err.count("Note: No respondent_id") == err.count("Note: No prompt_id") == 1
    assert Run(tmp_path / "run").n_planned == 20
    code, out, err = call(*given, "--resume", "--quiet")
    assert (code, out, err) == (0, f"{tmp_path / 'run'}\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--column", "prompt_text"], "must be OURS=THEIRS"),
        (["--column", "prompt_text=a", "--column", "prompt_text=b"], "named twice"),
        (["--column", "nothing=a"], "must name one of"),
        (["--models", "gpt-4o"], "must be provider/model"),
        (["--models", "openai/a,openai/a"], "two backends are called"),
        (["--models", "nosuch/model"], "unknown provider 'nosuch'"),
        (["--models", "openai/gpt-4o-mini"], "OPENAI_API_KEY is not set"),
        (["--models", "hosted_vllm/x"], "needs the address"),
        (["--persona", "nobody"], "nobody"),
        (["--rubric", "nothing"], "nothing"),
        (["--personas", "nowhere"], "is not a folder"),
        (["--panel", "nowhere.yaml"], "nowhere.yaml"),
        (["--mode", "other"], "--mode"),
        (["--quorum", "2"], "--quorum"),
        (["--repeats", "0"], "--repeats"),
        (["--limit", "0"], "--limit"),
        (["--max-cost", "nan"], "--max-cost: Input"),
        (["--score-mode", "expected"], "log-probabilities"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_a_bad_option_is_exit_code_2_and_nothing_is_written(
    call: Call,
    responses: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _out, err = call("score", responses, "--out", "run", *arguments)
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["responses.csv"]


@pytest.mark.parametrize(
    ("arguments", "is_of_prompts"),
    [
        (("score",), False),
        (("attack", "--responses"), False),
        (("score", "--target", "offline/respondent"), True),
        (("respond", "--target", "offline/respondent", "--out", "answers.csv"), True),
        (("stress", "--target", "offline/respondent"), True),
    ],
)
def test_every_command_that_reads_prompts_or_responses_notes_what_it_read(
    call: Call, tmp_path: Path, arguments: tuple[str, ...], is_of_prompts: bool
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("Question\nWhy?\n" if is_of_prompts else "Question,Answer\nWhy?,So.\n")
    code, _, err = call(*arguments, path, "--dry-run")
    assert code == 0, err
    answer = "" if is_of_prompts else ", Answer as response_text"
    assert f"Note: Read Question as prompt_text{answer}." in " ".join(err.split())


def test_what_a_command_says_before_it_works_is_not_said_again_below_its_answer(
    call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("Question,Answer\nWhy?,So it is.\n")
    code, out, err = call("score", path, "--out", tmp_path / "run")
    assert code == 0, err
    assert "Note: Read Question as prompt_text" in err
    assert "Read Question" not in out


def test_two_candidates_for_a_column_are_refused_with_the_option_that_chooses(
    call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("Prompt Field,Prompt,question,answer\nx,y,Why?,A\n")
    code, _, err = call("score", path)
    assert code == 2
    assert f"{path}: prompt_text: Prompt and question could each be this column;" in err
    assert "choose with --column prompt_text=Prompt or --column prompt_text=question" in err
    code, _, err = call("score", path, "--column", "prompt_text=question", "--dry-run")
    assert code == 0
    assert "Note: Read answer as response_text." in err


def test_bad_input_is_exit_code_2_with_every_fault(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("response_id,prompt_text,response_text\na,Why?,So.\na,Why?,So.\n,Why?,So.\n")
    code, _, err = call("score", path, "--out", tmp_path / "run")
    assert code == 2
    assert err.count("bad.csv:") >= 2
    code, _, err = call("score", tmp_path / "none.csv")
    assert code == 2
    assert "none.csv" in err


def test_failures_are_exit_code_3_and_say_how_to_go_on(
    call: Call, responses: Path, tmp_path: Path
) -> None:
    with ProviderServer(constant(Fault.CONTEXT_LENGTH)) as server:
        (tmp_path / "panel.yaml").write_text(
            f"models: [{{model: openai/a, api_base: {server.openai_base}}}]\n"
        )
        given = ("score", responses, "--panel", tmp_path / "panel.yaml", "--out", tmp_path / "a b")
        code, out, _ = call(*given)
        assert code == 3
        assert "40 × failed: context_length" in out
        flat = " ".join(out.split())
        assert "40 failed (asked again by the same command)" in flat
        assert flat.endswith("Exit code 3: some replies were refused, unreadable or failed.")
        # the endpoint's own sentence, once, and what to try
        assert flat.count("maximum context length") == 1
        assert "To try (context_length): the text is too long for this model" in flat
        (told,) = Run(tmp_path / "a b").record["sessions"][-1]["faults"]
        assert (told["fault"], told["calls"]) == ("context_length", 40)
        server.judge = by_hash(1, 10)
        code, out, _ = call(*given)
    assert code == 0
    assert "asked again" not in out


def test_screened_responses_are_not_asked_again_and_nothing_says_so(
    call: Call, tmp_path: Path
) -> None:
    path = tmp_path / "r.csv"
    path.write_text("prompt,answer\nWhy?,Because promises bind.\nHow?,\n")
    with ProviderServer(constant(Fault.CONTEXT_LENGTH)) as server:
        (tmp_path / "panel.yaml").write_text(
            f"models: [{{model: openai/a, api_base: {server.openai_base}}}]\n"
        )
        _, out, _ = call("score", path, "--panel", tmp_path / "panel.yaml", "--out", tmp_path / "a")
    assert (
        "0 scored of 20 planned judgments; 10 failed (asked again by the same command), 10 not "
        "asked (screened responses)" in " ".join(out.split())
    )
    _, out, _ = call("score", path, "--out", tmp_path / "b")
    assert "10 not asked (screened responses)" in " ".join(out.split())
    assert "asked again" not in out


def test_a_cap_is_exit_code_4(call: Call, responses: Path, tmp_path: Path) -> None:
    with ProviderServer(by_hash(1, 10)) as server:
        (tmp_path / "panel.yaml").write_text(
            f"models: [{{model: openai/a, api_base: {server.openai_base}, "
            "prices: {input: 100, output: 100}}]\n"
        )
        given = ("score", responses, "--panel", tmp_path / "panel.yaml", "--out", tmp_path / "run")
        code, out, _ = call(*given, "--max-cost", "3")
    assert code == 4
    assert "A higher --max-cost goes on" in out
    assert " at most, which the cap must cover." in out
    assert Run(tmp_path / "run").record["sessions"][-1]["spent_usd"] <= 3


def test_a_defect_is_exit_code_1_and_says_how_to_go_on(
    call: Call, responses: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("sk-abcdefghijklmnop")

    monkeypatch.setattr("areopagus.cli.score.panel_from", broken)
    code, _, err = call("score", responses)
    assert code == 1
    assert "a defect of areopagus: ZeroDivisionError" in err
    assert "the same command goes on" in err
    assert "sk-abcdefghijklmnop" not in err
    assert "Traceback" not in err


def test_escapes_in_ids_are_made_visible(call: Call, tmp_path: Path) -> None:
    evil = "\u202e[bold red]evil[/]\u2066"
    path = tmp_path / "evil.jsonl"
    row = {"response_id": evil, "prompt_text": "Why?", "response_text": "It binds."}
    path.write_text(json.dumps({**row, "respondent_id": evil}) + "\n")
    code, out, err = call("score", path, "--out", tmp_path / "run")
    assert code == 0
    assert "\u202e" not in out
    assert "�[bold red]evil[/]�" in out
    path.write_text(json.dumps({**row, "response_id": "\x1b[2J\x07"}) + "\n")
    code, out, err = call("score", path, "--out", tmp_path / "other")
    assert code == 2
    assert "\x1b" not in err
    assert "\x07" not in err


def test_a_persona_file_that_hides_a_built_in_one_is_told_once(
    call: Call, responses: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "personas"
    folder.mkdir()
    source = Path(__file__).parents[2] / "personas" / "historian.yaml"
    (folder / "historian.yaml").write_bytes(source.read_bytes())
    given = ("score", responses, "--personas", folder, "--out", tmp_path / "run", "--limit", 1)
    code, _, err = call(*given)
    assert code == 0
    assert err.count("hides the built-in one") == 1
    assert f"persona historian: {folder / 'historian.yaml'} hides" in " ".join(err.split())
    code, _, err = call(*given[:-2], "--limit", 1, "--quiet")
    assert (code, err) == (0, "")
    # One that does not sit hides nothing.
    code, _, err = call(*given, "--persona", "ethicist", "--out", tmp_path / "two")
    assert code == 0
    assert "hides" not in err


def test_personas_are_listed_and_shown_as_the_request_holds_them(call: Call) -> None:
    from areopagus import Panel
    from areopagus.testing import ScriptedBackend

    code, out, _ = call("personas", "list")
    assert code == 0
    assert too_wide(out) == []
    assert sum("disciplinary" in line for line in out.splitlines()) == 5
    code, out, _ = call("personas", "show", "historian", "--prompt", "Why?", "--response", "So.")
    assert code == 0
    backend = ScriptedBackend("7")
    with Panel(backend, personas=["historian"]) as panel:
        panel.score("Why?", "So.")
    request = backend.requests[0]
    for message in request.messages:
        assert message["content"].replace(request.nonce, "0" * 16) in out
    code, _, err = call("personas", "show", "nobody")
    assert code == 2
    assert "nobody" in err


def test_a_new_persona_is_refused_until_it_is_written(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("personas", "new", "urban_planner", "--dir", tmp_path)
    path = tmp_path / "urban_planner.yaml"
    assert code == 0
    assert str(path) in out
    code, _, err = call("personas", "check", path)
    assert code == 2
    assert "scaffold" in err
    text = path.read_text()
    begin, end = text.index("REPLACE THIS TEXT"), text.index("\n\n# Raise it")
    path.write_text(
        f"{text[:begin]}Looks for what a plan does to those who live with it.{text[end:]}"
    )
    before = path.read_bytes()
    assert call("personas", "check", path)[0] == 0
    code, _, err = call("personas", "new", "urban_planner", "--dir", tmp_path)
    assert code == 2
    assert "nothing was overwritten" in err
    assert path.read_bytes() == before
    assert call("personas", "new", "No Name", "--dir", tmp_path)[0] == 2
    code, out, _ = call("personas", "list", "--personas", tmp_path)
    assert "urban_planner" in out


def test_rubrics_are_listed_shown_and_checked(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("rubrics", "list")
    assert code == 0
    assert "critical_thinking" in out
    code, out, _ = call("rubrics", "show", "critical_thinking")
    assert code == 0
    assert "luralistic" in out
    path = tmp_path / "bad.yaml"
    path.write_text("id: bad\nid: worse\n")
    code, _, err = call("rubrics", "check", path)
    assert code == 2
    assert "bad.yaml" in err
    good = Path(__file__).parents[2] / "rubrics" / "critical_thinking.yaml"
    assert call("rubrics", "check", good)[0] == 0


def test_explain_shows_what_the_embedded_judge_counts(call: Call, responses: Path) -> None:
    code, out, _ = call("explain", responses, "r1")
    assert code == 0
    assert "not a reading of the text" in out
    assert too_wide(out) == []
    code, _, err = call("explain", responses, "none")
    assert code == 2
    assert "has no response 'none'" in err


def test_every_export_and_the_report_are_written(
    call: Call, responses: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    assert call("score", responses, "--out", run, "--quiet")[0] == 0
    for kind, name in {
        "csv": "judgments.csv",
        "jsonl": "judgments.jsonl",
        "scrub": "scrub.csv",
        "xlsx": "judgments.xlsx",
    }.items():
        code, out, _ = call("export", run, "--as", kind)
        assert code == 0
        assert "40 of 40 judgments" in out
        assert out.endswith(f"Wrote {run / name}\n")
        assert (run / name).stat().st_size > 0
    code, out, _ = call("export", run, "--as", "parquet", "--out", tmp_path / "copy.parquet")
    assert code == 0
    assert call("export", run, "--as", "parquet")[0] == 2
    assert call("export", tmp_path / "none", "--as", "csv")[0] == 2
    assert call("export", run, "--as", "docx")[0] == 2
    code, out, _ = call("report", run)
    assert code == 0
    assert "report.html" in out
    # A run with exports beside its tables goes on all the same.
    assert call("score", responses, "--out", run, "--resume", "--quiet")[0] == 0


def test_respond_writes_what_score_reads(call: Call, tmp_path: Path) -> None:
    (tmp_path / "prompts.csv").write_text("prompt_id,prompt_text\na,What is duty?\nb,Why work?\n")
    with ProviderServer(constant("Duty binds, because others rely on it.")) as server:
        (tmp_path / "targets.yaml").write_text(
            f"models: [{{model: openai/target, api_base: {server.openai_base}}}]\n"
        )
        given = ("respond", tmp_path / "prompts.csv", "--targets-file", tmp_path / "targets.yaml")
        out_file = tmp_path / "answers.csv"
        code, out, _ = call(*given, "--out", out_file, "--dry-run")
        assert code == 0
        assert server.counts.total == 0
        assert not out_file.exists()
        code, out, _ = call(*given, "--out", out_file)
        assert code == 0
        assert "2 answered of 2 planned" in out
        server.judge = constant(Fault.CONTEXT_LENGTH)
        code, out, _ = call(*given, "--out", tmp_path / "more.csv", "--repeats", 2)
    assert code == 3
    assert "made again by the same command" in out
    code, _, _ = call("score", out_file, "--out", tmp_path / "run", "--quiet")
    assert code == 0
    assert Run(tmp_path / "run").n_scored == 20
    assert call("respond", tmp_path / "prompts.csv", "--out", out_file)[0] == 2


def test_the_ledger_is_shown_and_counted(call: Call, responses: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    given = ("score", responses, "--out", tmp_path / "run", "--ledger", ledger, "--quiet")
    assert call(*given)[0] == 0
    code, out, _ = call("ledger", "stats", "--ledger", ledger)
    assert code == 0
    assert "40" in out
    assert too_wide(out.replace(str(ledger), "LEDGER")) == []  # a path stays whole


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_outside_of_a_run_has_its_exit_code(number: int, code: int) -> None:
    program = (
        "import click, os, sys, time\n"
        "from areopagus.cli.main import cli, main\n"
        "def linger():\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "    time.sleep(60)\n"
        "command = click.Command('linger', callback=linger)\n"
        "cli.get_command = lambda context, name: command\n"
        "sys.argv = ['areopagus', 'linger']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (code, b"Aborted.")


def test_an_interrupted_run_says_how_to_go_on(
    call: Call, responses: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    run_folder = tmp_path / "run"
    assert call("score", responses, "--out", run_folder, "--quiet")[0] == 0

    def interrupted(work: Coroutine[Any, Any, Run], _: Callable[[], None]) -> tuple[Run, bool]:
        work.close()
        return Run(run_folder), True

    monkeypatch.setattr("areopagus.async_runner.run_stoppable", interrupted)
    code, _, err = call("score", responses, "--out", run_folder, "--quiet")
    assert code == 130
    assert f"give the same command again: areopagus score {responses}" in err


OWN_RUBRIC = """\
id: courtesy
label: Courtesy
version: "1"
provenance: Written for a test.
purpose: The scores say how courteous a response is.
scale: {low: 1, high: 5}
dimensions:
  - {id: warmth, label: Warmth, definition: Warm words., question: Is it warm}
  - {id: sources, label: Sources, definition: Named sources., question: Sourced, offline: evidence}
  - {id: kindness, label: Kindness, definition: Kind words., question: Is it kind}
"""


@pytest.mark.report
def test_criteria_that_the_embedded_judge_cannot_tell_apart_are_named_and_recorded(
    call: Call, responses: Path, tmp_path: Path
) -> None:
    rubric, out = tmp_path / "courtesy.yaml", tmp_path / "run"
    rubric.write_text(OWN_RUBRIC, encoding="utf-8")
    told = "offline/lexical cannot tell apart warmth and kindness:"
    for arguments in (("--dry-run",), ("--out", out)):
        code, _, said = call("score", responses, "--rubric", rubric, *arguments)
        assert (code, told in " ".join(said.split())) == (0, True)
    run = Run(out)
    assert [notice for notice in run.record["notices"] if told in notice]
    assert told in (out / "report.html").read_text(encoding="utf-8")
    assert (run.scores["warmth"] == run.scores["kindness"]).all()
    _, explained, _ = call("explain", responses, "r1", "--rubric", rubric)
    assert told in " ".join(explained.split())


def test_no_such_notice_where_all_criteria_differ_or_none_is_asked_for(
    call: Call, responses: Path, tmp_path: Path
) -> None:
    rubric = tmp_path / "courtesy.yaml"
    rubric.write_text(OWN_RUBRIC, encoding="utf-8")
    for arguments in ((), ("--rubric", rubric, "--mode", "holistic")):
        _, said, also = call("score", responses, "--dry-run", *arguments)
        assert "tell apart" not in said + also


def test_explain_says_where_small_words_stand_out_of_order(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "responses.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["response_id", "prompt_text", "response_text", "respondent_id"])
        lines.writerow(
            ["real", "What is owed?", "Much is owed to the many, because they trust.", "w"]
        )
        lines.writerow(["heap", "What is owed?", "The of owed, they the and. To is trust.", "w"])
    _, real, _ = call("explain", path, "real")
    assert "none out of order" in real
    _, heap, _ = call("explain", path, "heap")
    assert "5 out of order: “The of”, “they the”, “the and”, “and .”, “To is”." in " ".join(
        heap.split()
    )
    assert "words out of order" in heap
    assert too_wide(real + heap) == []
