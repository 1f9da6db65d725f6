"""A long run's report reads every so many responses, and says so."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from areopagus import Panel
from areopagus.any_report import write_any_report as write_report
from areopagus.records.judgments import read_judgment_table
from areopagus.records.run_folder import read_run_file
from areopagus.reports import excerpt
from areopagus.testing import ScriptedBackend


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    names = ("conceptual_clarity", "evidential_grounding", "contextual_relevance")
    names += ("pluralistic_engagement", "argumentative_soundness")
    rows = [
        {
            "response_id": f'r{i}, "odd"',
            "prompt_id": f"p{i % 8}",
            "prompt_text": f"Why {i % 8}?",
            "response_text": f"Because of {i}.",
            "respondent_id": f"writer-{i % 3}",
        }
        for i in range(31)
    ]
    backend = ScriptedBackend({**dict.fromkeys(names, 6), "abstained": False})
    with Panel([backend], personas=["historian", "ethicist"], ledger=folder / "l.sqlite") as panel:
        panel.score_many(rows, folder / "run")
    return folder / "run"


def test_the_tables_of_every_third_response_are_those_of_the_run(
    long_run: Path, tmp_path: Path
) -> None:
    excerpt.write_excerpt(long_run, tmp_path, step=3)
    with (
        (long_run / "scores.csv").open(newline="") as whole,
        (tmp_path / "scores.csv").open(newline="") as part,
    ):
        assert list(csv.DictReader(part)) == list(csv.DictReader(whole))[::3]
    criteria = read_run_file(long_run)["identity"]["criteria"]
    whole_table = read_judgment_table(long_run, criteria)
    table = read_judgment_table(tmp_path, criteria)
    assert table.response_ids == whole_table.response_ids[::3]
    assert table.n_judgments == 2 * len(table.response_ids) == 22


def test_the_page_says_what_it_is_of_and_counts_the_whole_run(
    long_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excerpt, "MOST_RESPONSES", 10)
    text = write_report(long_run, out=tmp_path / "r.html", figures=False).read_text()
    assert "one response in 4, 8 of 31" in text
    assert "62 scored of 62 planned" in text
    assert "different runs" not in text
    assert "31 of 31" in text


def test_a_run_of_usual_size_is_read_whole(long_run: Path) -> None:
    record = read_run_file(long_run)
    assert excerpt.excerpt_step(record) == 1
    many = {**record, "responses": {"n": 1_000_000}, "n_planned": 30_000_000}
    assert excerpt.excerpt_step(many) == 20
    assert excerpt.excerpt_step({**many, "n_planned": 300_000_000}) == 200
