"""The methods paragraphs: every figure is an estimate's, and no text becomes markup."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from in_process import areopagus
from scored_run import CRITERIA, score

from areopagus import InputError, Run
from areopagus.formats import number
from areopagus.publishing.markup import latex, markdown, to_latex, to_markdown
from areopagus.publishing.methods import _aggregation, methods
from areopagus.records.estimates import read_estimates
from areopagus.reports.document import Column, Document, Points, Section, Table

EXAMPLES = Path(__file__).parents[2] / "examples"
HOSTILE = "a_b & 50% #1 {x} \\input{/etc/x} ~^$ <i>--|`*"


def paragraphs(document: Document) -> dict[str, str]:
    (points,) = document.sections[0].parts
    assert isinstance(points, Points)
    return {first.rstrip("."): rest for first, rest in points.items}


def tables(document: Document) -> list[Table]:
    return [p for one in document.sections for p in one.parts if isinstance(p, Table)]


def shown(frame: pd.DataFrame) -> set[str]:
    """Every figure of the estimates as it is written, without its sign."""
    columns = [frame[name] for name in ("value", "low", "high")]
    values = {abs(v) for one in columns for v in one if math.isfinite(v)}
    return {number(v) for v in values}


def test_every_figure_of_the_results_is_an_estimate(run: Run) -> None:
    told = paragraphs(methods(run.path))
    found = re.findall(r"\d+\.\d\d", told["Results"])
    frame = read_estimates(run.path)
    assert len(found) == 3 * 4  # the whole and three respondents, each with its interval
    assert set(found) <= shown(frame[frame["measure"] == "mean"])
    mean = frame[(frame["table"] == "run") & (frame["criterion"] == "composite")].iloc[0]
    assert (
        f"{number(mean['value'])} [{number(mean['low'])}, {number(mean['high'])}]"
        in told["Results"]
    )


def test_counts_are_those_of_the_run(run: Run) -> None:
    told = paragraphs(methods(run.path))["Material"]
    counts = run.counts
    assert told.startswith("24 responses by 3 respondents to 8 prompts. Of 240 planned judgments "
                           f"{counts['scored']} were scored")  # fmt: skip
    for status in ("abstained", "unreadable", "failed", "not_asked"):
        assert f"{counts[status]} {status.replace('_', ' ')}" in told
    assert "22 scored, 1 inconclusive, 1 screened" in told


def test_it_says_who_judged_and_how(run: Run) -> None:
    told = paragraphs(methods(run.path))
    judges = told["Judges"]
    for words in (
        "10 personas (disciplinary: Academic Sociologist,", "10 judgments a response",
        "temperature not sent", "No rationale was asked for", "with descriptions of score levels",
        "the persona stood after the response", "arXiv:2605.06444", "from 1 (worst) to 10 (best)",
    ):  # fmt: skip
        assert words in judges
    assert "No agreement with human judgments was measured" in told["Agreement with people"]
    assert "hold simultaneously over the family of 3 pairs" in told["Aggregation"]
    assert "DEMONSTRATION" not in " ".join(told.values())


def test_its_tables_are_the_estimates(run: Run) -> None:
    frame = read_estimates(run.path)
    means, differences = tables(methods(run.path))
    rows = frame[
        (frame["table"] == "respondent") & (frame["criterion"] == "composite")
        & (frame["measure"] == "mean") & (frame["universe"] == "this panel")
    ].set_index("respondent")  # fmt: skip
    assert {row[0] for row in means.rows} == {"ann", "bert", "Zoë & co"}
    for name, n, mean, *_ in means.rows:
        assert (n, mean.value, mean.low, mean.high) == (
            rows["n"][name], rows["value"][name], rows["low"][name], rows["high"][name]
        )  # fmt: skip
    pairs = frame[
        (frame["table"] == "comparison") & (frame["criterion"] == "composite")
        & (frame["measure"] == "difference")
    ]  # fmt: skip
    assert len(differences.rows) == 2
    for name, _, ours, such in differences.rows:
        for one, universe in ((ours, "this panel"), (such, "judges like these")):
            (row,) = pairs[
                (pairs["respondent"] == name) & (pairs["universe"] == universe)
                & differences.caption.startswith("Difference to")
                & (pairs["baseline"] == differences.caption.split(" within ")[0][14:])
            ].to_dict("records")  # fmt: skip
            assert one.value == row["value"]
            # The limits that decide.
            assert one.low == pytest.approx(row["low_family"], nan_ok=True)


def test_latex_is_whole_and_every_row_has_its_cells(run: Run) -> None:
    text = to_latex(methods(run.path))
    begun = re.findall(r"\\begin\{(\w+)\}", text)
    assert begun == ["table", "tabular"] * 2
    assert sorted(begun) == sorted(re.findall(r"\\end\{(\w+)\}", text))
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")
    for body, marks in re.findall(
        r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, flags=re.DOTALL
    ):
        lines = [one for one in marks.splitlines() if one.endswith(r"\\")]
        assert len(lines) >= 3
        for line in lines:
            assert len(re.split(r"(?<!\\)&", line)) == len(body)
    assert r"Zoë \& co" in text
    assert "−" not in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 2


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX on this machine")
def test_latex_compiles_what_anybody_wrote(run: Run, tmp_path: Path) -> None:
    table = Table(HOSTILE, "t", [Column(HOSTILE, "id"), Column("n", "count")], [["[1]", 1]])
    hostile = Document(
        "t", "methods",
        [Section("one", HOSTILE, [Points([(HOSTILE, HOSTILE)]), table], "summary")],
    )  # fmt: skip
    head = r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs}\begin{document}"
    body = to_latex(methods(run.path)) + to_latex(hostile)
    (tmp_path / "m.tex").write_text(f"{head}\n{body}\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "m.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stdout[-2000:]


def test_no_text_becomes_markup() -> None:
    table = Table(HOSTILE, "t", [Column("who", "id"), Column("n", "count")], [[HOSTILE, 1]])
    document = Document(
        "t", "methods",
        [Section("one", HOSTILE, [Points([(HOSTILE, HOSTILE)]), table], "summary")],
    )  # fmt: skip
    escaped = (
        r"a\_b \& 50\% \#1 \{x\} \textbackslash{}input\{/\allowbreak{}etc/\allowbreak{}x\} "
        r"\textasciitilde{}\textasciicircum{}\$ \textless{}i\textgreater{}-{}-\textbar{}"
        r"\textasciigrave{}*"
    )
    assert latex(HOSTILE) == escaped
    assert escaped in to_latex(document)
    assert r"\input{" not in to_latex(document).replace("\\\\", "")
    assert markdown(HOSTILE) in to_markdown(document)
    (row,) = [one for one in to_markdown(document).splitlines() if one.endswith("| 1 |")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    assert "<i>" not in to_markdown(document).replace("\\<i\\>", "")
    assert latex("\u202eab\x1b[0m") == latex("�ab�[0m")


@pytest.mark.slow
def test_a_calibration_of_this_run_is_stated_and_has_its_own(tmp_path: Path) -> None:
    folder = tmp_path
    done = areopagus("score", EXAMPLES / "responses.csv", "--out", "run", "-q", folder=folder)
    assert done.returncode == 0
    assert "DEMONSTRATION" in paragraphs(methods(folder / "run"))["Judges"]
    ratings = EXAMPLES / "humans" / "ratings.csv"
    assert (
        areopagus("calibrate", "run", ratings, "--out", "cal", "-q", folder=folder).returncode == 0
    )
    told = paragraphs(methods(folder / "run"))["Agreement with people"]
    assert told.startswith("In this demonstration, compared with these 5 raters, ")
    document = methods(folder / "cal")
    its = paragraphs(document)
    assert its["Design"].startswith("DEMONSTRATION")
    assert "799 ratings by 5 raters of 32 responses to 8 prompts" in its["Design"]
    headline = json.loads((folder / "cal" / "run.json").read_text())["headline"]
    assert its["Results"] == " ".join(headline)
    assert [row[0] for row in tables(document)[0].rows][1:] == [
        one.replace("_", " ") for one in CRITERIA
    ]
    to_latex(document)


@pytest.mark.slow
def test_a_stress_test_and_an_audit_have_theirs(tmp_path: Path) -> None:
    stress = EXAMPLES / "stress_prompts.csv"
    for words in (
        ("stress", stress, "--limit", "3", "--out", "stressed", "-q"),
        ("audit", "socioeval", "--sample", "2", "--out", "audited", "-q"),
    ):
        assert areopagus(*words, folder=tmp_path).returncode == 0
    told = paragraphs(methods(tmp_path / "stressed"))
    assert "3 prompts were put to 1 model" in told["Design"]
    assert "10 personas" in told["Judges"]
    assert told["Results"]
    told = paragraphs(methods(tmp_path / "audited"))
    assert told["Design"].startswith("DEMONSTRATION")
    assert told["Results"]


def test_the_command_writes_a_file_prints_or_refuses(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "run")
    done = areopagus("methods", "run", folder=tmp_path)
    assert done.stdout.startswith("A methods section for a paper: 7 paragraphs and 2 tables")
    assert max(map(len, done.stdout.splitlines())) <= 80
    done = areopagus("methods", "run", "--as", "tex", "--out", "m.tex", "-q", folder=tmp_path)
    assert done.stdout == "m.tex\n"
    assert (tmp_path / "m.tex").read_text() == to_latex(methods(tmp_path / "run"))
    found = json.loads(areopagus("methods", "run", "--json", "-", folder=tmp_path).stdout)
    assert found["kind"] == "methods"
    assert found["estimates"]


def test_a_kind_without_a_paragraph_is_named_with_those_that_have_one(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "kind": "concepts"}))
    with pytest.raises(InputError, match=r"kind 'concepts'.*\n.*panel, stress, calibration, audit"):
        methods(tmp_path)


def test_a_temperature_that_was_sent_is_said(tmp_path: Path) -> None:
    run = score(tmp_path / "run")
    record = json.loads((run.path / "run.json").read_text())
    record["panel"]["models"][0]["effective"] = {"temperature": 0.3, "top_p": 0.9}
    record["identity"]["rationale"] = "before"
    (run.path / "run.json").write_text(json.dumps(record))
    Run(run.path).require_estimates()
    told = paragraphs(methods(run.path))["Judges"]
    assert "temperature 0.3; top p 0.9" in told
    assert "A rationale was asked for before the scores" in told


def test_a_method_is_named_once_where_some_intervals_end_with_the_scale(run: Run) -> None:
    """It was printed twice: with the end of the scale, and without."""
    frame = read_estimates(run.path)
    mean = (frame["table"] == "respondent") & (frame["measure"] == "mean")
    wide = frame[mean & (frame["universe"] == "judges like these")]
    first = wide.index[0]
    frame.loc[first, "method"] += "; cut at 1, where the range of the figure ends"
    told = _aggregation(run.record, frame)
    (method,) = set(wide["method"])
    assert told.count(method) == 1
    assert f"({method}; cut at the ends of the scale)" in told
