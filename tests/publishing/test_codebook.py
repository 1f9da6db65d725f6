"""The codebook: what it counts is in the tables, its codes are those of the files."""

from __future__ import annotations

import csv
import json
import math
import shutil
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest
from scored_run import CRITERIA

from areopagus import Run
from areopagus.errors import InputError
from areopagus.personas import load_persona
from areopagus.records.export import export_run
from areopagus.records.tables import judgment_frame, score_frame
from areopagus.rubrics import load_rubric

Rows = dict[tuple[str, str], dict[str, str]]


@pytest.fixture(scope="module")
def page(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export_run(run.path, "codebook", tmp_path_factory.mktemp("book") / "book.html").path


@pytest.fixture(scope="module")
def rows(page: Path) -> Rows:
    with page.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return {(row["table"], row["variable"]): row for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", ["scores.html", "estimates.txt", "report.csv"])
def test_neither_of_its_two_files_replaces_one_of_the_run(run: Run, name: str) -> None:
    before = {path.name: path.read_bytes() for path in run.path.iterdir() if path.is_file()}
    with pytest.raises(InputError, match="is a file of the run itself"):
        export_run(run.path, "codebook", run.path / name)
    assert before == {path.name: path.read_bytes() for path in run.path.iterdir() if path.is_file()}


def test_every_column_of_both_tables_is_in_it_once_and_in_order(run: Run, rows: Rows) -> None:
    ours = {"scores": score_frame(run.path), "judgments": judgment_frame(run.path)}
    for table, frame in ours.items():
        wanted = [name for name in frame.columns if name not in ("detail", "rationale")]
        assert [name for of, name in rows if of == table] == wanted
    assert all(row["label"] and row["description"] and row["type"] for row in rows.values())


def test_numbers_are_counted_as_they_stand_in_the_tables(run: Run, rows: Rows) -> None:
    scores = score_frame(run.path)
    n_numbers = 0
    for name in scores.columns:
        row = rows["scores", name]
        assert int(row["n"]) == int(row["n_valid"]) + int(row["n_missing"]) == len(scores)
        if row["type"] in ("number", "whole number"):
            column = pd.to_numeric(scores[name])
            assert int(row["n_valid"]) == column.notna().sum()
            found = [float(row[one] or math.nan) for one in ("minimum", "mean", "maximum")]
            wanted = [column.min(), column.mean(), column.max()]
            assert found == pytest.approx(wanted, rel=1e-5, nan_ok=True)
            n_numbers += 1
    assert n_numbers > 30
    judgments = judgment_frame(run.path)
    counts = judgments["status"].value_counts()
    votes = judgments[judgments["status"] == "scored"]
    for name in CRITERIA:
        row = rows["judgments", name]
        assert int(row["n_valid"]) == counts["scored"]
        for status in ("abstained", "refused", "unreadable", "failed", "not_asked"):
            assert int(row[f"n_{status}"]) == counts.get(status, 0)
        assert float(row["mean"]) == pytest.approx(votes[name].mean(), rel=1e-5)


def test_its_names_and_codes_are_those_of_the_files(run: Run, rows: Rows, tmp_path: Path) -> None:
    for table in ("scores", "judgments"):
        sav = export_run(run.path, "sav", tmp_path / f"{table}.sav", table=table).path
        dta = export_run(run.path, "dta", tmp_path / f"{table}.dta", table=table).path
        _, spss = pyreadstat.read_sav(str(sav), user_missing=True)
        _, stata = pyreadstat.read_dta(str(dta), user_missing=True)
        its = [row for (of, _), row in rows.items() if of == table]
        assert [row["spss_name"] for row in its] == spss.column_names
        assert [row["stata_name"] for row in its] == stata.column_names
        for row in its:
            labels = spss.variable_value_labels.get(row["spss_name"], {})
            letters = stata.variable_value_labels.get(row["stata_name"], {})
            for told in filter(None, row["missing_codes"].split(" | ")):
                reason, codes = told.split(" = ")
                number, letter = codes.split(" or .")
                assert labels[float(number)] == letters[letter] == reason
            if row["type"] == "category":
                numbers = [one.split(" = ")[0] for one in row["values"].split(" | ")]
                assert [float(one) for one in numbers] == sorted(labels)


def test_it_says_what_judges_were_told(page: Path) -> None:
    text = " ".join(page.read_text(encoding="utf-8").split())
    for one in load_rubric().dimensions:
        assert one.question.split(", ")[0].replace("'", "&#39;") in text
    assert load_persona("historian").description.split(". ")[0] in text
    assert "DEMONSTRATION" not in text


def test_a_file_that_has_changed_since_is_not_taken_for_the_run_s(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run.path, folder)
    record = json.loads((folder / "run.json").read_text())
    record["identity"]["rubric"]["sha256"] = "0" * 64
    record["identity"]["personas"]["historian"] = "0" * 64
    (folder / "run.json").write_text(json.dumps(record))
    done = export_run(folder, "codebook")
    assert done.path == folder / "codebook.html"
    text = done.path.read_text(encoding="utf-8")
    assert "not as the run had it" in text
    assert load_rubric().dimensions[0].question[:40] not in text
    assert load_persona("historian").description[:40] not in text
    assert load_persona("ethicist").description[:40] in text
