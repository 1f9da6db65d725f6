"""People's own sheets as they come: usual names of columns, raters as columns, alike faults."""

from pathlib import Path
from typing import Any

import pytest
from planted_study import write

from areopagus.errors import InputError, InputFault
from areopagus.records.humans import look_at, read_humans, read_judgments
from areopagus.records.humans.draft import draft
from areopagus.records.prompt_units import text_key

RATED = [["a", "p1", "r1", 7], ["a", "p1", "r2", 5], ["b", "p1", "r1", 6], ["b", "p1", "r2", 4]]


@pytest.mark.parametrize(
    "names",
    [
        ("user", "question", "id"),
        ("User", "Question", "ID"),
        ("Rater ID", "Prompt ID", "Response ID"),
        ("worker-id", "PROMPT_ID", " response  id "),
    ],
)
def test_usual_names_are_understood_in_any_case_with_spaces_or_underscores(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    table = read_humans(write(tmp_path / "h.csv", [*names, "overall"], *RATED)).table
    assert table.rater_id.texts().tolist() == ["a", "a", "b", "b"]
    assert table.prompt_id.used() == ("p1",)
    assert table.response_id.texts().tolist() == ["r1", "r2", "r1", "r2"]


def test_a_column_system_names_the_respondent(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", ["User", "Question", "System", "overall"], *RATED)
    assert read_humans(path).table.response_id.used() == ("p1/r1", "p1/r2")


def test_an_id_that_numbers_the_rows_is_no_response(tmp_path: Path) -> None:
    numbered = [[n, *row] for n, row in enumerate(RATED)]
    path = write(tmp_path / "h.csv", ["id", "user", "question", "system", "overall"], *numbered)
    assert read_humans(path).table.response_id.used() == ("p1/r1", "p1/r2")
    # Nor where one person rated: another column says which response it was.
    path = write(tmp_path / "h.csv", ["id", "user", "question", "system", "o"], *numbered[:2])
    assert read_humans(path).table.response_id.used() == ("p1/r1", "p1/r2")
    path = write(tmp_path / "h.csv", ["id", "user", "overall"], [1, "a", 5], [2, "b", 4])
    with pytest.raises(InputError, match="no column names the response"):
        read_humans(path)


def test_the_user_of_a_judged_conversation_is_no_judge(tmp_path: Path) -> None:
    header = ["user", "response_id", "prompt_id", "persona", "judge_model", "score"]
    path = write(tmp_path / "j.csv", header, ["Is it fair?", "r1", "p1", "historian", "m", 5])
    assert read_judgments(path).reading.table.rater_id.used() == ("historian x m",)


WIDE = [["r1", 7, 6, 2], ["r2", 5, "", 1], ["r3", 1, 2, 3]]


@pytest.mark.parametrize("response", ["response_id", "id", "Response ID"])
def test_columns_of_numbers_are_raters_where_nothing_else_names_them(
    tmp_path: Path, response: str
) -> None:
    path = write(tmp_path / "h.csv", [response, "alice", "bob", "carol"], *WIDE)
    reading = read_humans(path)
    assert reading.shape == "raters"
    assert (len(reading.table), reading.n_missing) == (8, 1)
    assert reading.table.rater_id.used() == ("alice", "bob", "carol")
    assert reading.table.criterion.used() == ("overall",)
    assert "columns are taken for raters: alice, bob, carol" in reading.notices
    text = draft(look_at(path), reading)
    assert "rater_columns:" in text
    assert "criteria:" not in text
    (tmp_path / "map.yaml").write_text(text)
    again = read_humans(path, columns=tmp_path / "map.yaml")
    assert again.table.to_pandas().to_csv() == reading.table.to_pandas().to_csv()


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (["response_id", "clarity", "bob"], [["r1", 7, 6], ["r2", 5, 4]]),
        (["response_id", "wit", "taste"], [["r1", 7, 6], ["r1", 5, 4]]),
        (["response_id", "wit", "score"], [["r1", 7, 6], ["r2", 5, 4]]),
    ],
)
def test_columns_are_no_raters_beside_a_criterion_or_where_a_response_has_two_rows(
    tmp_path: Path, header: list[str], rows: list[list[Any]]
) -> None:
    with pytest.raises(InputError, match="no column names the rater"):
        read_humans(write(tmp_path / "h.csv", header, *rows))


def test_the_release_is_known_by_its_judges_and_true_ids_alone(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["prompt_id", "true_id", "model", "rank", "judge_id"],
        ["p1", "r1", "m", 1, "j1"], ["p1", "r2", "n", 2, "j1"],
    )  # fmt: skip
    assert look_at(path).known_by == "columns judge_id and true_id"
    reading = read_humans(path)
    assert (reading.layout, len(reading.table)) == ("scrub", 2)
    assert any("no column item_type" in notice for notice in reading.notices)


def test_faults_that_say_the_same_are_one_with_their_rows(tmp_path: Path) -> None:
    rows = [["a", "p1", "", n] for n in range(160)]
    path = write(tmp_path / "h.csv", ["rater_id", "prompt_id", "response_id", "overall"], *rows)
    reading = read_humans(path)
    assert reading.n_faults == 1
    assert str(reading.faults[0]) == (
        f"{path}:2: response_id: must not be empty, in rows 2, 3, 4, 5, 6, 7 and 154 more"
    )


def test_an_error_counts_faults_that_say_the_same_and_names_the_first_places() -> None:
    rule = "must be human or model"
    same = [InputFault(f"r.csv:{line}", rule, "source") for line in range(2, 34)]
    other = InputFault("r.csv:4", "is empty", "text")
    lines = str(InputError([*same[:3], other, *same[3:]])).splitlines()
    assert lines == [
        f"r.csv:2: source: {rule} (in 32 lines: 2, 3, 4, 5, 6, 7, …)",
        "r.csv:4: text: is empty",
    ]
    prompts = [InputFault(f"prompt {name!r}", "needs 2") for name in "abcd"]
    assert str(InputError(prompts)) == (
        "prompt 'a': needs 2 (in 4 places: prompt 'a', prompt 'b', prompt 'c', prompt 'd')"
    )
    # A few are told one by one, where they stand.
    assert str(InputError(same[:3])).count(rule) == 3


def test_texts_are_compared_without_white_space_case_quotes_and_forms() -> None:
    copied = "\u201cIs  it\nthe city\u2019s \ufb01ght?\u201d "
    assert text_key(copied) == text_key("Is it the City's fight?")
    assert text_key("Is it fair?") != text_key("Is it unfair?")


def test_a_prompt_may_be_named_by_a_text_of_several_lines(tmp_path: Path) -> None:
    text = "Is it fair?\n\n" + "Explain. " * 200
    path = write(tmp_path / "h.csv", ["user", "question", "system", "overall"], ["a", text, "s", 5])
    (prompt,) = read_humans(path).table.prompt_id.used()
    assert prompt == " ".join(text.split())
    path = write(tmp_path / "h.csv", ["user", "question", "system", "o"], ["a", "x" * 1001, "s", 5])
    with pytest.raises(InputError, match="at most 1000 characters"):
        read_humans(path).require_sound()
