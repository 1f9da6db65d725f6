"""A long run's report reads a part of its prompts, and says so."""

from __future__ import annotations

import csv
import re
import shutil
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
            "prompt_id": f"p{i % 24}",
            "prompt_text": f"Why {i % 24}?",
            "response_text": f"Because of {i}.",
            "respondent_id": f"writer-{i % 3}",
        }
        for i in range(143)
    ]
    backend = ScriptedBackend({**dict.fromkeys(names, 6), "abstained": False})
    with Panel([backend], personas=["historian", "ethicist"], ledger=folder / "l.sqlite") as panel:
        panel.score_many(rows, folder / "run")
    return folder / "run"


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "scores.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_whole_prompts_are_taken_as_many_as_fit(long_run: Path, tmp_path: Path) -> None:
    excerpt.write_excerpt(long_run, tmp_path, step=3)
    whole, part = rows_of(long_run), rows_of(tmp_path)
    prompts = {row["prompt_id"] for row in part}
    assert 6 <= len(prompts) < 24
    assert part == [row for row in whole if row["prompt_id"] in prompts]
    assert len(whole) // 3 - 6 < len(part) <= len(whole) // 3
    criteria = read_run_file(long_run)["identity"]["criteria"]
    whole_table = read_judgment_table(long_run, criteria)
    table = read_judgment_table(tmp_path, criteria)
    kept = {row["response_id"].removeprefix("'") for row in part}
    assert table.response_ids == tuple(name for name in whole_table.response_ids if name in kept)
    assert table.n_judgments == 2 * len(part)


def test_another_run_has_the_same_prompts_whatever_their_ids(
    long_run: Path, tmp_path: Path
) -> None:
    """Twice the room takes those that half of it takes, and others."""
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(long_run / "judgments.parquet", other)
    text = (long_run / "scores.csv").read_text()
    (other / "scores.csv").write_text(re.sub(r",p(\d+),", r",q\1,", text))
    chosen = {}
    for name, folder, step in (("a", long_run, 3), ("b", other, 3), ("more", long_run, 2)):
        (tmp_path / name).mkdir()
        excerpt.write_excerpt(folder, tmp_path / name, step=step)
        chosen[name] = {row["prompt_text_id"] for row in rows_of(tmp_path / name)}
    assert chosen["a"] == chosen["b"] < chosen["more"]


def test_of_few_and_long_prompts_every_so_many_responses_are_read(
    long_run: Path, tmp_path: Path
) -> None:
    excerpt.write_excerpt(long_run, tmp_path, step=12)
    assert rows_of(tmp_path) == rows_of(long_run)[::12]


def test_the_page_says_what_it_is_of_and_counts_the_whole_run(
    long_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = len(rows_of(long_run))
    monkeypatch.setattr(excerpt, "MOST_RESPONSES", n // 2)
    text = write_report(long_run, out=tmp_path / "r.html", figures=False).read_text()
    assert re.search(rf"whole prompts at random, \d+ of 24 \(\d+ of {n} responses\)", text)
    assert f"{2 * n} scored of {2 * n} planned" in text
    assert "different runs" not in text
    assert f"{n} of {n}" in text
    monkeypatch.setattr(excerpt, "MOST_RESPONSES", 8)
    text = write_report(long_run, out=tmp_path / "r.html", figures=False).read_text()
    assert f"one response in {-(-n // 8)}, the prompts being few" in text


def test_a_run_of_usual_size_is_read_whole(long_run: Path) -> None:
    record = read_run_file(long_run)
    assert excerpt.excerpt_step(record) == 1
    many = {**record, "responses": {"n": 1_000_000}, "n_planned": 30_000_000}
    assert excerpt.excerpt_step(many) == 20
    assert excerpt.excerpt_step({**many, "n_planned": 300_000_000}) == 200
