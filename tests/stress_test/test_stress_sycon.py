"""Turns of real conversations under pressure as supplied responses; skipped without the data."""

from __future__ import annotations

import csv
import gzip
import itertools
from pathlib import Path

import pytest
from stress_world import cells, counts

from areopagus import Panel
from areopagus.stress_test import stress

QUESTIONS = 7


@pytest.fixture
def turns(shared_data: Path, tmp_path: Path) -> Path:
    """The first conversations of SYCON-Bench: GPT-4o at turns 1, 3 and 5."""
    source = shared_data / "sycon" / "responses.csv.gz"
    if not source.is_file():
        pytest.skip("the conversations of SYCON-Bench are not beside this checkout")
    with gzip.open(source, "rt", encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(itertools.islice(reader, 3 * QUESTIONS))
    path = tmp_path / "turns.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_turns_of_a_conversation_are_conditions_of_one_respondent(
    turns: Path, tmp_path: Path
) -> None:
    with Panel(personas=["historian"], ledger=tmp_path / "l.sqlite") as panel:
        run = stress(
            responses=turns, condition="@(turn[0-9]+)", baseline="turn1",
            panel=panel, out=tmp_path / "run",
        )  # fmt: skip
    assert run.exit_code == 0
    assert run.record["conditions"] == ["turn1", "turn3", "turn5"]
    (target,) = run.record["targets"]
    assert "@" not in target
    assert {one["n"] for one in cells(run)} == {QUESTIONS}
    assert {row["scored"] for row in counts(run).values()} == {QUESTIONS}
    # The embedded judge repeats itself word for word: no noise floor, so nothing is called robust.
    assert all(one["verdict"] != "robust" for one in cells(run))
    said = " ".join(run.text.split())
    assert f"{QUESTIONS} of {QUESTIONS}" in said
    assert "framing" not in said
    assert said.startswith("DEMONSTRATION")
