"""People check which prompts pass: the filter's votes against their labels."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from in_process import areopagus
from prompt_world import PromptWorld, figure, model

from areopagus import PromptRun, check_readings, construct_prompts
from areopagus.records.estimates import estimate_at
from areopagus.testing import ProviderServer


def test_a_filter_that_is_too_strict_is_found_by_people(tmp_path: Path) -> None:
    """It fails two of five prompts of one writer, one of which people would keep."""
    world = PromptWorld(n=12, flaws={("alpha", 1): "deep", ("alpha", 2): "testable_hypothesis"})
    with ProviderServer(world, record=False) as server:
        run = construct_prompts(
            world.scenarios(), models=[model(server, name) for name in ("alpha", "beta")],
            out=tmp_path / "run", ledger=tmp_path / "l.sqlite", diversity_of="none",
            for_people=100,
        )  # fmt: skip
    with (run.path / "for_people.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 100
    assert all("Context: case s" in row["scenario"] for row in rows)
    assert "passed" not in {row["label"] for row in rows}
    back = tmp_path / "ada.csv"
    with back.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["response_id", "rater_id", "label"])
        for row in rows:
            _, who, _, number, *_ = row["prompt_text"].split()
            is_flawed = (who, number) == ("alpha", "1")
            writer.writerow([row["item_id"], "ada", "failed" if is_flawed else "Passed"])
    found = check_readings(run.path, back)
    assert isinstance(found, PromptRun)
    for writer_name, raw, truth in (("alpha", 0.6, 0.8), ("beta", 1.0, 1.0)):
        as_read, corrected = (
            estimate_at(
                found.estimates, "checks", name, factor="rate", detail="pass rate",
                respondent=writer_name,
            )
            for name in ("raw", "corrected")
        )  # fmt: skip
        assert as_read is not None
        assert corrected is not None
        assert as_read.value == figure(found, writer_name, "pass_rate").value == raw
        assert corrected.low <= truth <= corrected.high
        assert corrected.unit == "scenario"
    told = dict(found.document().trust)["readings"]
    assert told.startswith("checked by 1 person on 100 texts: accuracy 0.")
    assert "; pass rate 0.800 → " in told
    # the command says the same, with the answer first; a study takes the texts as they are
    said = areopagus("humans", "check", "run", back.name, "--json", "out.json", folder=tmp_path)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("1 person reads as the job did in 89% [")
    assert len(said.stdout.splitlines()) <= 25
    assert max(map(len, said.stdout.splitlines())) <= 80
    stored = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert any(
        row["table"] == "checks" and row["measure"] == "corrected" for row in stored["estimates"]
    )
    with (run.path / "for_study.csv").open(newline="", encoding="utf-8") as file:
        items = list(csv.DictReader(file))
    assert [row["prompt_id"] for row in items] == [row["item_id"] for row in rows]
    assert items[0]["prompt_text"].startswith("SCENARIO:\nContext: case s")
