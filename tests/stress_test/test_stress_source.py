"""Responses that a user brings, with their conditions."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import InputError
from areopagus.stress_test import StressConfig, StressSource
from areopagus.stress_test.responses import chosen, panel_rows, read_supplied

ROWS: list[dict[str, Any]] = [
    {
        "response_id": f"{prompt}-{condition}",
        "prompt_id": prompt,
        "condition": condition,
        "prompt_text": f"{prompt} as {condition}?",
        "response_text": f"An answer to {prompt} as {condition}.",
        "respondent_id": "writer",
    }
    for prompt in ("a", "b")
    for condition in ("baseline", "pressed")
]


def _rows(**changes: Any) -> list[dict[str, Any]]:
    return [{**row, **{k: f(row) for k, f in changes.items()}} for row in ROWS]


def _without(name: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != name} for row in ROWS]


def _bare() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Rows without their condition, each beside the whole one."""
    return list(zip(_without("condition"), ROWS, strict=True))


def test_the_condition_stands_in_a_column_of_its_own() -> None:
    with StressSource(ROWS) as source:
        source.check()
        found = [(row.prompt_id, row.condition, row.target) for row in source.rows()]
    assert found[:2] == [("a", "baseline", "writer"), ("a", "pressed", "writer")]


def test_one_prompt_has_another_text_under_another_condition_and_one_under_each() -> None:
    with StressSource(ROWS) as source:
        assert source.check().n_responses == 4
    torn = [*ROWS, {**ROWS[1], "response_id": "again", "prompt_text": "quite another?"}]
    with StressSource(torn) as source, pytest.raises(InputError, match="has another text"):
        source.check()


def test_another_column_can_hold_the_condition() -> None:
    rows = [{**bare, "turn": row["condition"]} for bare, row in _bare()]
    with StressSource(rows, condition="turn") as source:
        source.check()
        assert [row.condition for row in source.rows()] == ["baseline", "pressed"] * 2


def test_a_pattern_finds_the_condition_in_the_respondent_and_takes_it_out_of_the_name() -> None:
    rows = [{**bare, "respondent_id": f"gpt@{row['condition']}"} for bare, row in _bare()]
    with StressSource(rows, condition=r"@(\w+)") as source:
        source.check()
        found = {(row.condition, row.target) for row in source.rows()}
    assert found == {("baseline", "gpt"), ("pressed", "gpt")}


def test_a_pattern_finds_the_condition_in_the_response_id_and_leaves_the_respondent() -> None:
    with StressSource(_without("condition"), condition=r"-(?P<condition>\w+)$") as source:
        source.check()
        found = {(row.condition, row.target) for row in source.rows()}
    assert found == {("baseline", "writer"), ("pressed", "writer")}


def test_rows_in_which_a_pattern_finds_nothing_are_named_all_of_them(tmp_path: Path) -> None:
    rows = [{**bare, "respondent_id": f"gpt@{row['condition']}"} for bare, row in _bare()]
    rows[1]["respondent_id"] = rows[3]["respondent_id"] = "gpt"
    path = tmp_path / "responses.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with StressSource(path, condition=r"@(\w+)") as source, pytest.raises(InputError) as caught:
        source.check()
    assert [fault.where for fault in caught.value.faults] == [f"{path}:3", f"{path}:5"]


@pytest.mark.parametrize("condition", ["(", "nowhere", r"@(\w+)"])
def test_a_condition_that_is_neither_column_nor_found_pattern_is_refused(condition: str) -> None:
    rows = _without("condition")
    with StressSource(rows, condition=condition) as source, pytest.raises(InputError) as caught:
        source.check()
    assert "--condition" in str(caught.value)
    assert "prompt_text" in str(caught.value), "the columns that are there are named"


def test_a_file_without_its_baseline_is_refused_with_what_it_holds() -> None:
    with pytest.raises(InputError, match="found: baseline, pressed"):
        read_supplied(ROWS, baseline="turn1")
    with pytest.raises(InputError, match="nothing to compare"):
        read_supplied(ROWS[:1])


def test_responses_of_which_no_two_can_be_compared_are_refused_before_anything_is_judged() -> None:
    each_its_own = _rows(respondent_id=lambda row: f"writer@{row['condition']}")
    with pytest.raises(InputError, match="no respondent answered a prompt both") as caught:
        read_supplied(each_its_own)
    assert "writer@baseline, writer@pressed" in str(caught.value)
    assert "--condition" in str(caught.value)
    # One prompt that a respondent answered under both is something to compare.
    mixed = [*ROWS[:2], *each_its_own[2:]]
    assert len(read_supplied(mixed).targets) == 3


def test_the_baseline_comes_first_whatever_the_order_of_the_rows() -> None:
    found = read_supplied(list(reversed(ROWS)))
    assert found.conditions == ("baseline", "pressed")
    assert found.targets == ("writer",)


def test_the_panel_reads_the_prompt_answered_or_the_baseline_as_the_plan_says() -> None:
    with StressSource(ROWS) as source:
        responses = list(source.rows())
    baselines = {"a": "a as baseline?", "b": "b as baseline?"}
    own = list(panel_rows(responses, "own", baselines))
    same = list(panel_rows(responses, "baseline", baselines))
    assert [row["prompt_text"] for row in own[:2]] == ["a as baseline?", "a as pressed?"]
    assert [row["prompt_id"] for row in own[:2]] == ["a", "a|pressed"]
    assert [row["prompt_text"] for row in same[:2]] == ["a as baseline?", "a as baseline?"]
    assert [row["prompt_id"] for row in same[:2]] == ["a", "a"]


def test_responses_that_never_came_are_not_put_before_the_panel() -> None:
    rows = _rows(status=lambda row: "failed" if row["prompt_id"] == "a" else "answered")
    with StressSource(rows) as source:
        found = list(panel_rows(source.rows(), "own", {}))
    assert {row["stress_prompt_id"] for row in found} == {"b"}


def test_what_is_asked_again_is_chosen_by_seed_and_not_by_order() -> None:
    names = [f"r{i}" for i in range(200)]
    first = chosen(names, 0.1, 0, "retest")
    assert len(first) == 20
    assert first == chosen(reversed(names), 0.1, 0, "retest")
    assert first != chosen(names, 0.1, 1, "retest")
    assert first != chosen(names, 0.1, 0, "regenerate")
    assert first < chosen(names, 0.2, 0, "retest"), "a larger share takes more, not others"
    assert len(chosen(names, 0.001, 0, "retest", at_least=10)) == 10
    assert chosen(names, 0.0, 0, "retest", at_least=10) == frozenset()
    assert chosen(names[:3], 0.1, 0, "retest", at_least=10) == frozenset(names[:3])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("margin", 0.0),
        ("margin", float("nan")),
        ("alpha", 1.0),
        ("retest_share", 1.5),
        ("response_repeats", 0),
        ("judged_prompt", "both"),
        ("family", "none"),
        ("baseline", " "),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InputError, match=field):
        StressConfig.checked(**{field: value})
