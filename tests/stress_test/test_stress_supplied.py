"""Several responses to one prompt in a file of a user: none counts unsaid, none is lost."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import InputError
from areopagus.stress_test.responses import read_supplied


def rows_of(repeats: dict[tuple[str, str], list[Any]]) -> list[dict[str, Any]]:
    return [
        {
            "response_id": f"{prompt}-{condition}-{place}",
            "prompt_id": prompt,
            "condition": condition,
            "prompt_text": f"{prompt} as {condition}?",
            "response_text": f"Answer {place} to {prompt} as {condition}.",
            "respondent_id": "writer",
            "repeat": repeat,
        }
        for (prompt, condition), numbers in repeats.items()
        for place, repeat in enumerate(numbers)
    ]


def everywhere(numbers: list[Any], prompts: int = 12) -> dict[tuple[str, str], list[Any]]:
    names = [f"p{place}" for place in range(prompts)]
    return {(name, arm): numbers for name in names for arm in ("baseline", "pressed")}


def test_two_responses_of_which_one_would_count_are_refused_with_their_lines(
    tmp_path: Path,
) -> None:
    rows = rows_of({("a", "baseline"): [""], ("a", "pressed"): ["", ""]})
    path = tmp_path / "twice.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(InputError) as caught:
        read_supplied(path)
    (fault,) = caught.value.faults
    assert fault.where == f"{path}:4"
    assert f"{path}:3" in str(fault)
    assert "numbered from 0" in str(caught.value)


def test_every_double_is_named_and_without_a_column_repeat_as_well() -> None:
    rows = rows_of({("a", "baseline"): [0, 0], ("a", "pressed"): [0, 0, 0]})
    for row in rows:
        del row["repeat"]
    with pytest.raises(InputError) as caught:
        read_supplied(rows)
    assert [fault.where for fault in caught.value.faults] == ["row 2", "row 4", "row 5"]


def test_the_repeats_of_the_file_are_those_of_the_study() -> None:
    found = read_supplied(rows_of(everywhere([0, 1, 2])))
    assert found.repeats == 3
    assert "3 responses to a prompt" in " ".join(found.notices)
    assert read_supplied(rows_of(everywhere(["0", "1.0"]))).repeats == 2
    assert read_supplied(rows_of(everywhere([""]))).repeats == 1


def test_a_few_lost_responses_do_not_undo_the_repeats_and_are_said() -> None:
    found = read_supplied(rows_of(everywhere([0, 1]) | {("p0", "pressed"): [0]}))
    assert found.repeats == 2
    assert "1 time a prompt has fewer than 2" in " ".join(found.notices)


def test_responses_generated_once_more_and_those_of_no_use_are_said() -> None:
    again = read_supplied(rows_of(everywhere([0]) | {("p0", "pressed"): [0, 1, 2]}))
    assert again.repeats == 1
    said = " ".join(again.notices)
    assert "1 response with repeat 1" in said
    assert "1 response with a repeat beyond" in said
    assert read_supplied(rows_of(everywhere([0]))).notices == ()


def test_a_plan_of_other_repeats_than_the_file_is_refused() -> None:
    with pytest.raises(InputError, match="the plan says 3"):
        read_supplied(rows_of(everywhere([0, 1])), planned_repeats=3)
    both = read_supplied(rows_of(everywhere([0, 1])), planned_repeats=2)
    assert both.repeats == 2


@pytest.mark.parametrize("value", ["first", "-1", "0.5", "nan", "inf"])
def test_a_repeat_that_is_no_number_from_nought_is_refused(value: str) -> None:
    with pytest.raises(InputError, match="whole number from 0"):
        read_supplied(rows_of(everywhere([value])))


def test_repeats_counted_from_one_are_refused() -> None:
    with pytest.raises(InputError, match="there is no repeat 0"):
        read_supplied(rows_of(everywhere([1, 2])))
