"""People check an audit's readings: what is drawn for them, and how far they agree."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from areopagus import InputError
from areopagus.auditing import audit
from areopagus.audits.people import people_estimates
from areopagus.records.estimates import select


def run_of(tmp_path: Path, **more: Any) -> Any:
    return audit(
        "samaritan", limit=60, options={"resamples": 99}, out=tmp_path / "run",
        ledger=tmp_path / "l.sqlite", **more,
    )  # fmt: skip


def test_answers_are_drawn_blind_and_what_people_read_is_compared(tmp_path: Path) -> None:
    run = run_of(tmp_path, for_people=20)
    assert "no reading was checked by people" in " ".join(run.text.split())
    with (run.path / "for_people.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["answer_id", "prompt_text", "response_text", "rating"]
    assert len(rows) == len({row["answer_id"] for row in rows}) == 20
    assert {row["rating"] for row in rows} == {""}
    assert "offline" not in str(rows), "nobody sees who answered"
    # One person reads all as they are but five, a second agrees with the first on all but two.
    filled = []
    for at, row in enumerate(rows):
        right = float(row["response_text"])
        first = right + 1 if at < 5 else right
        second = first + 3 if at in (0, 9) else first
        for rater, value in (("a", f"{first:g}"), ("b", f"{second:.1f}")):
            filled.append({"answer_id": row["answer_id"], "rating": value, "rater": rater})
    back = tmp_path / "back.csv"
    with back.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["answer_id", "rating", "rater"])
        writer.writeheader()
        writer.writerows(filled)
    checked = run_of(tmp_path, readings=back)
    assert checked.record["sessions"][-1]["calls"]["sent"] == 0
    same = select(checked.estimates, "people").query("measure == 'same'").set_index("factor")
    assert (same.loc["audit", "value"], same.loc["audit", "n"]) == (0.75, 20)
    assert (same.loc["people", "value"], same.loc["people", "n"]) == (0.9, 20)
    said = "people read the same in 75% of 20 answers; two people in 90% of 20"
    assert said in " ".join(checked.text.split())

    for text, message in (
        ("answer_id,mark\nx,3\n", "has no column rating"),
        ("answer_id,rating\nx,3\n", "holds no reading of an answer that this run has read"),
        ("answer_id,rating\nx,3\nx,4\n", "is read twice by one person"),
    ):
        back.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            people_estimates(run.definition, run.answers, back)
    with pytest.raises(InputError, match="is not a file"):
        run_of(tmp_path, readings=tmp_path / "none.csv")
