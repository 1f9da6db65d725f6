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


def test_pairs_that_judges_call_alike_are_compared_by_people(tmp_path: Path) -> None:
    """Every judge finds every pair of a model alike; for people one pair of ten is."""
    world = PromptWorld(n=8, lenient={"alpha", "beta", "gamma"})
    with ProviderServer(world, record=False) as server:
        run = construct_prompts(
            world.scenarios(), models=[model(server, name) for name in ("alpha", "beta", "gamma")],
            out=tmp_path / "run", ledger=tmp_path / "l.sqlite", for_people=300,
        )  # fmt: skip
    with (run.path / "for_people_pairs.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 300
    assert list(rows[0])[1:3] == ["first_prompt_text", "second_prompt_text"]
    assert "alike" not in rows[0]["categories"]
    n_turned = 0
    for row in rows:
        one, other = (row[f"{place}_prompt_text"].split() for place in ("first", "second"))
        n_turned += one[3] > other[3]
        is_same = one[1] == other[1] and {one[3], other[3]} == {"1", "2"}
        row["label"] = "equivalent" if is_same else "different"
    assert n_turned > 50, "either may stand first"
    back = tmp_path / "ada.csv"
    with back.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    found = check_readings(run.path, back)
    assert isinstance(found, PromptRun)
    for keys, printed, truth in (
        ({"respondent": "alpha", "baseline": None}, figure(found, "alpha", "diversity"), 0.9),
        ({"respondent": "alpha", "baseline": "beta"}, None, 1.0),
    ):
        as_read, corrected = (
            estimate_at(
                found.estimates, "checks", name, factor="rate", detail="functional diversity",
                criterion="equivalence", **keys,
            )
            for name in ("raw", "corrected")
        )  # fmt: skip
        assert as_read is not None
        assert corrected is not None
        assert as_read.value == 0
        assert printed is None or printed.value == 0
        assert corrected.low <= truth <= corrected.high
    told = dict(found.document().trust)["readings"]
    assert told.startswith("equivalence checked by 1 person on 300 pairs: accuracy 0.")
    assert "; quality not checked by people: 120 texts, drawn at random" in told
