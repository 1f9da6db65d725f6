"""--json and --quiet of every command; errors name options here, and arguments in Python."""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from in_process import areopagus

from areopagus import AuditRun, InputError, Panel, stress
from areopagus.cli.display import in_options
from areopagus.cli.main import cli
from areopagus.reports.document_json import Result

ROOT = Path(__file__).parents[2]
LEDGER = ("--ledger", "l.sqlite")
RESPONSE = ["response_id", "prompt_id", "prompt_text", "response_text", "respondent_id"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with prompts, responses, a run and people's ratings of it."""
    folder = tmp_path_factory.mktemp("output")
    prompts = [[f"p{k}", f"What do we owe to people far away, case {k}?"] for k in range(8)]
    _write(folder / "prompts.csv", ["prompt_id", "prompt_text"], prompts)
    rows = []
    for k, (prompt, text) in enumerate(prompts):
        for n in range(3):
            claims = " However, critics argue the claim is weak because evidence differs." * (
                n + k % 2
            )
            response = f"In case {k} much is owed, because promises bind.{claims}"
            rows.append([f"r{k}{n}", prompt, text, response, f"w{n}"])
    _write(folder / "responses.csv", RESPONSE, rows)
    ratings = [
        [rater, row[1], row[0], 1 + (place * 3 + len(rater)) % 9]
        for place, row in enumerate(rows)
        for rater in ("ann", "bert")
    ]
    _write(folder / "ratings.csv", ["rater_id", "prompt_id", "response_id", "overall"], ratings)
    said = [[*row, f"Because of {row[2]}."] for row in ratings]
    heads = ["rater_id", "prompt_id", "response_id", "overall", "comment"]
    _write(folder / "said.csv", heads, said)
    done = areopagus("score", "responses.csv", "--out", "run", "--quiet", *LEDGER, folder=folder)
    assert (done.returncode, done.stdout) == (0, "run\n")
    done = areopagus(*BUILD, "study", "-q", folder=folder)
    assert (done.returncode, done.stdout) == (0, "study\n"), done.stderr
    return folder


def _write(path: Path, heads: list[str], rows: list[Any]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([heads, *rows])


BUILD = ("study", "build", str(ROOT / "examples/study/responses.csv"), "--raters", "2",
         "--per-packet", "2", "--humans", "0", "--out")  # fmt: skip
JOBS: dict[str, tuple[str, ...]] = {
    "score": ("score", "responses.csv", "--out", "run", *LEDGER),
    "respond": ("respond", "prompts.csv", "-t", "offline/respondent", "--out", "a.csv", *LEDGER),
    "stress": ("stress", "prompts.csv", "--limit", "2", "--out", "stressed", *LEDGER),
    "attack": ("attack", "--responses", "responses.csv", "--limit", "1", "--families", "authority",
               "--out", "attacked", *LEDGER),
    "rescore": ("rescore", "responses.csv", "--out", "rescored", *LEDGER),
    "audit": ("audit", "socioeval", "--sample", "2", "--out", "audited", *LEDGER),
}  # fmt: skip
RESULTS: dict[str, tuple[str, ...]] = {
    **JOBS,
    "calibrate": ("calibrate", "run", "ratings.csv", "--out", "calibrated"),
    "agreement": ("agreement", "ratings.csv"),
    "report": ("report", "run", "--no-figures"),
    "export": ("export", "run", "--as", "csv"),
    "spss": ("export", "run", "--as", "sav"),
    "codebook": ("export", "run", "--as", "codebook"),
    "methods": ("methods", "run"),
    "inspect": ("humans", "inspect", "ratings.csv"),
    "plan": ("study", "plan", "--half-width", "0.5", "--sd", "1.4", "--icc", "0.4"),
    "personas": ("personas", "list"),
    "check": ("personas", "check", str(ROOT / "examples/personas/urban_planner.yaml")),
    "rubrics": ("rubrics", "list"),
    "rubric": ("rubrics", "check", str(ROOT / "rubrics/critical_thinking.yaml")),
    "ledger": ("ledger", "stats", *LEDGER),
    "calls": ("ledger", "show", *LEDGER),
    "explain": ("explain", "responses.csv", "r00"),
    "compare": ("compare", "run"),
    "persona": ("personas", "show", "historian"),
    "wording": ("rubrics", "show", "critical_thinking"),
    "prune": ("ledger", "prune", "--failures", "--yes", *LEDGER),
    "comments": ("humans", "comments", "said.csv", "--out", "comments.csv"),
    "study": (*BUILD, "built"),
    "packets": ("study", "export", "study", "--as", "csv"),
    "links": ("study", "links", "study"),
    "families": ("attack", "--list"),
    "audits": ("audit", "--list"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_json_on_stdout_is_one_result_of_the_schema_and_nothing_else(
    name: str, place: Path
) -> None:
    done = areopagus(*RESULTS[name], "--json", "-", folder=place)
    assert done.returncode == 0, done.stderr
    found = Result.model_validate_json(done.stdout, strict=True)
    assert found.headline
    assert done.stdout.isascii()
    if name in (*JOBS, "calibrate", "agreement"):
        assert found.estimates
        assert {"table", "measure", "value"} <= found.estimates[0].keys()
    if name in JOBS:
        assert found.cost is not None


def test_texts_for_judges_are_in_json_letter_for_letter(place: Path) -> None:
    plain = areopagus(*RESULTS["persona"], folder=place).stdout
    found = Result.model_validate_json(
        areopagus(*RESULTS["persona"], "--json", "-", folder=place).stdout
    )
    (table,) = found.sections[0].parts
    assert table.kind == "table"
    assert plain == "".join(f"--- {role} ---\n{text}\n" for role, text in table.rows)
    plain = areopagus("ledger", "show", "--limit", "1", *LEDGER, folder=place).stdout
    key = next(word for word in plain.split() if re.fullmatch("[0-9a-f]{8}", word))
    done = areopagus("ledger", "show", key, *LEDGER, "--json", "-", folder=place)
    assert Result.model_validate_json(done.stdout).headline[0].startswith(f"Call {key}")


def test_a_file_of_json_holds_the_same_and_the_text_stays(place: Path) -> None:
    done = areopagus(*JOBS["score"], "--json", "found.json", folder=place)
    found = json.loads((place / "found.json").read_text(encoding="utf-8"))
    (on_stdout,) = (areopagus(*JOBS["score"], "--json", "-", folder=place).stdout,)
    other = json.loads(on_stdout)
    for one in (found, other):
        one.pop("cost")
        one["sections"] = [s for s in one["sections"] if s["name"] != "cost"]
    assert found == other
    assert found["headline"][0][:30] in done.stdout
    assert done.stderr.endswith("Wrote found.json\n")


@pytest.mark.parametrize("name", JOBS)
def test_quiet_prints_the_place_of_the_result_alone(name: str, place: Path) -> None:
    done = areopagus(*JOBS[name], "--quiet", folder=place)
    out = JOBS[name][JOBS[name].index("--out") + 1]
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{out}\n", "")


def test_quiet_holds_for_what_is_no_job_too(place: Path) -> None:
    for command, told in (
        (RESULTS["calibrate"], "calibrated\n"),
        (RESULTS["report"], "run/report.html\n"),
        (RESULTS["export"], "run/judgments.csv\n"),
    ):
        assert areopagus(*command, "-q", folder=place).stdout == told


def test_a_dry_run_is_json_too(place: Path) -> None:
    done = areopagus(*JOBS["stress"][:-2], "--dry-run", "--json", "-", folder=place)
    found = Result.model_validate_json(done.stdout)
    (table,) = found.sections[0].parts
    assert found.kind == "dry_run"
    assert table.kind == "table"
    assert table.columns[:5] == ["stage", "backend", "planned", "stored", "calls"]


WITHOUT_JSON = {
    "view": "serves until it is interrupted",
    "mcp": "serves until its client goes",
    "study serve": "serves until it is interrupted",
    "humans map": "writes a file to correct",
    "personas new": "writes a file to fill in, and finds nothing",
    "rubrics new": "writes a file to fill in, and finds nothing",
    "init": "writes a file to fill in, and finds nothing",
}


def commands_of(group: click.Group, *before: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands_of(command, *before, name)
        else:
            yield " ".join((*before, name)), command


def test_every_command_that_finds_something_writes_it_as_json() -> None:
    flags = {
        name: {flag for param in command.params for flag in param.opts}
        for name, command in commands_of(cli)
    }
    assert {"score", "audit socioeval", "study plan", "ledger prune"} <= flags.keys()
    assert {name for name, given in flags.items() if "--json" not in given} == set(WITHOUT_JSON)
    assert [
        n for n, given in flags.items() if "--dry-run" in given and "--quiet" not in given
    ] == []


def test_an_error_names_the_argument_in_python_and_the_option_here(
    place: Path, tmp_path: Path
) -> None:
    with Panel(ledger=tmp_path / "l.sqlite") as panel:
        rows = place / "responses.csv"
        with pytest.raises(InputError, match=r"(?s)`max_cost`: .*`limit`: "):
            panel.score_many(rows, max_cost=-1, limit=0)
        with pytest.raises(InputError, match="Leave `resume` out"):
            panel.score_many(rows, tmp_path / "none", resume=True)
        with pytest.raises(InputError, match=r"`columns=\{'prompt_text': 'question'\}`"):
            panel.score_many([{"response_id": "r", "response_text": "text"}], tmp_path / "b")
        with pytest.raises(InputError, match=r"`condition='\['`: is neither"):
            stress(responses=rows, condition="[", panel=panel)
    done = areopagus("score", "responses.csv", "--out", "none", "--resume", folder=place)
    assert done.stderr.endswith("Leave --resume out to start one.")
    (place / "bare.csv").write_text("response_id,response_text\nr,text\n", encoding="utf-8")
    done = areopagus("score", "bare.csv", folder=place)
    assert "as in --column prompt_text=question" in done.stderr
    done = areopagus("stress", "--responses", "responses.csv", "--condition", "[", folder=place)
    assert "--condition '[': is neither a column" in done.stderr
    for told in (done.stderr,):
        assert "`" not in told


def test_a_notice_names_the_argument_in_python_and_the_option_here(place: Path) -> None:
    done = areopagus(*JOBS["audit"], folder=place)
    assert "stay unclassified; --judge names one" in " ".join(done.stderr.split())
    told = AuditRun(place / "audited").record["result"]["notices"]
    assert any("stay unclassified; `judges` names one" in one for one in told)
    done = areopagus(*RESULTS["plan"], folder=place)
    assert "Note: the true difference is taken to be the same on all prompts (--between-sd)" in (
        " ".join(done.stdout.split())
    )


def test_an_argument_of_another_name_is_found_and_foreign_words_stay() -> None:
    score = cli.get_command(click.Context(cli), "score")
    assert score is not None
    for text, wanted in (
        ("give `models` or `personas`", "give --models or --persona"),
        ("`standard_error` or `calls`", "--plan-error or --plan-calls"),
        ("`template='areopagus v1'`", "--template 'areopagus v1'"),
        ("a `column` of theirs", "a `column` of theirs"),
        ("`nothing=[`", "`nothing=[`"),
    ):
        assert in_options(text, score) == wanted


def test_library_code_speaks_of_arguments() -> None:
    """Texts outside command lines (pytest's too) hold no option, unless in a command to give."""
    found = []
    folders = (
        "aggregation", "audits", "graphs", "judges", "personas", "records", "reports", "rubrics",
        "src/areopagus",
    )  # fmt: skip
    for path in [path for folder in folders for path in (ROOT / folder).rglob("*.py")]:
        if not (path.is_symlink() or {"cli", "testing", "pytest_plugin.py"} & set(path.parts)):
            written = path.read_text(encoding="utf-8")
            if _OPTION.search(written):  # the slow part is to parse
                tree = ast.parse(written)
                found += [(path.name, text) for text in _texts_with_options(tree)]
    assert found == []


def test_texts_with_options_are_found() -> None:
    tree = ast.parse(
        """
        def f(n, x=Field(description="See --agree.")):
            'Reads what --json wrote.'
            say(f"{n} more with --full", "areopagus score --plan takes it")
        """.replace("\n        ", "\n")
    )
    assert list(_texts_with_options(tree)) == ["{} more with --full"]


_OPTION = re.compile(r"(?<![\w(;-])--[a-z][a-z-]+")
_OF_OPTIONS = ("Field", "Option")  # what an option of the command line is made of


def _texts_with_options(node: ast.AST) -> Iterator[str]:
    """Texts in which an option stands; f-strings whole, docstrings left out."""
    text = ""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in _OF_OPTIONS:
            return
        case ast.Expr(value=ast.Constant()):
            return
        case ast.JoinedStr(values=values):
            text = "".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in values)
        case ast.Constant(value=str(value)):
            text = value
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _texts_with_options(child)
    if _OPTION.search(text) and not re.search(
        "areopagus |pip |createdb |hf upload |langgraph dev ", text
    ):
        yield text
