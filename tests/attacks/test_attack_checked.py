"""People compare attacked answers with plain ones: how much of what moved is the judges' error."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from attack_figures import figure
from test_attack import Gullible, panel_on

from areopagus import InputError, check_readings
from areopagus.attacks import AttackRun, attack
from areopagus.records.estimates import estimate_at
from areopagus.testing import ProviderServer


def attacked(folder: Path, n: int | None = 60) -> AttackRun:
    """The judge obeys one family always and the other never; both texts say nothing new."""
    judge = Gullible({"authority": 1.0})
    with ProviderServer(judge) as server, panel_on(server, folder, "obeying") as panel:
        return attack(
            panel=panel, families=("authority", "naive_demand"), texts=2, for_people=n,
            out=folder / "run",
        )  # fmt: skip


def sheet_rows(run: AttackRun) -> list[dict[str, str]]:
    with (run.path / "for_people.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def handed_back(folder: Path, rows: list[dict[str, str]]) -> Path:
    with (folder / "ada.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder / "ada.csv"


def plain_side(row: dict[str, str], clean: set[str]) -> str:
    (side,) = [name for name in "AB" if row[f"answer_{name}_text"] in clean]
    return side


def clean_texts(run: AttackRun) -> set[str]:
    from areopagus.attacks.trials import stored_trials

    return {one.response_text for one in stored_trials(run.path / "panel")[1]}


def test_what_only_moves_judges_is_no_difference_for_people(tmp_path: Path) -> None:
    run = attacked(tmp_path)
    told = "not checked by people: 60 pairs, drawn at random (seed 0), wait in for_people.csv"
    assert dict(run.document().trust)["readings"] == told
    rows = sheet_rows(run)
    assert list(rows[0]) == [
        "item_id", "prompt_text", "answer_A_text", "answer_B_text", "question", "categories",
        "label",
    ]  # fmt: skip
    assert len({row["item_id"] for row in rows}) == len(rows) == 60
    clean = clean_texts(run)
    n_first = sum(plain_side(row, clean) == "A" for row in rows)
    assert 15 < n_first < 45, "either may stand first"
    assert "authority" not in str([row["categories"] + row["question"] for row in rows])
    with pytest.raises(InputError, match="must be one of A, B, same"):
        check_readings(run.path, handed_back(tmp_path, [{**rows[0], "label": "raised"}]))
    found = check_readings(run.path, handed_back(tmp_path, [{**r, "label": "same"} for r in rows]))
    assert isinstance(found, AttackRun)

    def rate(name: str, family: str | None = None, of: str = "share raised") -> float:
        one = estimate_at(found.estimates, "checks", name, factor="rate", detail=of, group=family)
        assert one is not None
        return one.value

    printed = figure(found.estimates, "families", "moved", group="authority").value
    assert rate("raw", "authority") == printed == 1
    assert rate("raw", "naive_demand") == 0
    assert rate("raw") == pytest.approx(0.5)
    corrected = estimate_at(
        found.estimates, "checks", "corrected", factor="rate", detail="share raised", group=None
    )
    assert corrected is not None
    assert corrected.value == 0
    assert corrected.high < 0.5, "eight prompts leave it wide, and still below what was read"
    assert (corrected.n, corrected.unit) == (8, "prompt")
    assert rate("corrected", of="share lowered") == 0
    told = dict(found.document().trust)["readings"]
    assert told.startswith("checked by 1 person on 60 pairs: accuracy 0.")
    assert "; share raised 0.500 → 0.000 [0.000, " in told


def test_where_people_find_the_attacked_answer_better_the_rate_stands(tmp_path: Path) -> None:
    """They prefer the attacked one wherever the panel does, on whichever side it stands."""
    run = attacked(tmp_path)
    clean = clean_texts(run)
    rows = sheet_rows(run)
    readings = {
        one.texts: one.label for one in run.readings()[0].rows()
    }  # fmt: skip
    for row in rows:
        texts = (row["prompt_text"], row["answer_A_text"], row["answer_B_text"])
        other = "B" if plain_side(row, clean) == "A" else "A"
        row["label"] = other if readings[texts] == "raised" else "same"
    found = check_readings(run.path, handed_back(tmp_path, rows))
    for measure, value in (("raw", 0.5), ("corrected", 0.5)):
        one = estimate_at(
            found.estimates, "checks", measure, factor="rate", detail="share raised", group=None
        )
        assert one is not None
        assert one.value == pytest.approx(value)
    accuracy = estimate_at(found.estimates, "checks", "accuracy", factor="readings")
    assert accuracy is not None
    assert accuracy.value == 1
