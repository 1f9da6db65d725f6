"""Files whose rows hold several responses: what they are taken for, and what cannot be read."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from planted_study import write

from areopagus.errors import InputError
from areopagus.records.humans import HumanColumns, HumanReading, read_column_map, read_humans
from areopagus.records.humans.answers import read_order, read_winner
from areopagus.records.humans.respondents import ids_by_respondent, with_ids


def entries(reading: HumanReading) -> list[tuple[Any, ...]]:
    """(rater, response, criterion, kind, value) of every rating."""
    table = reading.table
    names = ("rater_id", "response_id", "criterion")
    columns = [getattr(table, name).texts().tolist() for name in names]
    kinds = ["rank" if is_rank else "score" for is_rank in table.is_rank]
    return list(zip(*columns, kinds, table.value.tolist(), strict=True))


def labels(reading: HumanReading) -> list[tuple[Any, ...]]:
    names = ("rater_id", "response_id", "criterion", "label")
    columns = [getattr(reading.labels, name).texts().tolist() for name in names]
    return list(zip(*columns, strict=True))


def preferences(reading: HumanReading) -> list[tuple[Any, ...]]:
    names = ("rater_id", "response_a", "response_b", "criterion")
    columns = [getattr(reading.preferences, name).texts().tolist() for name in names]
    return list(zip(*columns, reading.preferences.won_a.tolist(), strict=True))


def told(reading: HumanReading) -> list[str]:
    return [f"{fault.where.rpartition(':')[2]}: {fault.message}" for fault in reading.faults]


DOCS = Path(__file__).parents[2] / "docs" / "guides" / "human-files.md"


def test_the_docs_name_every_key_of_a_column_map() -> None:
    text = DOCS.read_text(encoding="utf-8").partition("A map has these keys, and no others: ")[2]
    assert set(re.findall(r"`(\w+)`", text.partition(".\n")[0])) == set(HumanColumns.model_fields)


def test_the_maps_of_the_docs_are_valid() -> None:
    text = DOCS.read_text(encoding="utf-8")
    maps = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    assert len(maps) >= 9
    for one in maps:
        read_column_map(one)


# -- columns named for responses


@pytest.mark.parametrize(
    "header",
    [
        ["A_clarity", "A_depth", "B_clarity", "B_depth"],
        ["clarity_A", "depth_A", "clarity_B", "depth_B"],
        [
            "Response A [clarity]",
            "Response A [depth]",
            "Response B [clarity]",
            "Response B [depth]",
        ],
        ["clarity (B1)", "depth (B1)", "clarity (B2)", "depth (B2)"],
    ],
)
def test_labels_and_criteria_are_told_apart_on_either_side(
    header: list[str], tmp_path: Path
) -> None:
    path = write(tmp_path / "h.csv", ["rater", "prompt", *header], ["a", "p1", 1, 2, 3, 4])
    key = {"A": "gpt", "B": "human"}
    given: dict[str, Any] = {"key": key}
    if "B1" in header[0]:  # no label by its look: the map says how the columns are named
        given = {"key": {"B1": "gpt", "B2": "human"}, "columns_pattern": "{criterion} ({label})"}
    assert entries(read_humans(path, columns=given).require_sound()) == [
        ("a", "p1/gpt", "clarity", "score", 1.0),
        ("a", "p1/gpt", "depth", "score", 2.0),
        ("a", "p1/human", "clarity", "score", 3.0),
        ("a", "p1/human", "depth", "score", 4.0),
    ]


def test_a_key_may_hold_response_ids_made_of_the_prompt(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", ["rater", "prompt", "A", "B"], ["a", "p1", 5, 7])
    reading = read_humans(path, columns={"key": {"A": "{prompt_id}-x", "B": "{prompt_id}-y"}})
    assert [entry[1] for entry in entries(reading)] == ["p1-x", "p1-y"]


def test_a_key_is_a_file_beside_the_map(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", ["rater", "prompt", "A", "B"], ["a", "p1", 5, 7])
    write(tmp_path / "key.csv", ["prompt_id", "blinded_label", "source"],
          ["p1", "A", "gpt"], ["p1", "B", "human"])  # fmt: skip
    (tmp_path / "map.yaml").write_text("key: key.csv\n")
    reading = read_humans(path, columns=tmp_path / "map.yaml")
    assert [entry[1] for entry in entries(reading)] == ["p1/gpt", "p1/human"]
    assert reading.table.source.texts().tolist() == ["gpt", "human"]


def test_labels_without_a_key_are_faults_and_not_responses(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", ["rater", "prompt", "A", "B"], ["a", "p1", 5, 7])
    reading = read_humans(path)
    assert told(reading) == [
        "2: label 'A' names no response without a source map (or a map's key)",
        "2: label 'B' names no response without a source map (or a map's key)",
    ]
    unknown = read_humans(path, columns={"key": {"A": "gpt"}})
    assert "does not know label 'B'" in told(unknown)[0]


def test_rows_that_order_their_columns_are_ranks_and_others_scores(tmp_path: Path) -> None:
    header = ["rater", "prompt", "gpt", "llama", "human"]
    path = write(tmp_path / "r.csv", header, ["a", "p1", 1, 3, 2], ["b", "p1", 1, 1, 3])
    ranked = read_humans(path)
    assert {entry[3] for entry in entries(ranked)} == {"rank"}
    assert any("taken for ranks" in notice for notice in ranked.notices)
    assert {e[3] for e in entries(read_humans(path, columns={"kind": "score"}))} == {"score"}
    path = write(tmp_path / "s.csv", header, ["a", "p1", 1, 3, 2], ["b", "p1", 4, 4, 5])
    assert {entry[3] for entry in entries(read_humans(path))} == {"score"}


def test_criteria_without_a_response_are_not_taken_for_respondents(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", ["rater", "prompt", "clarity", "depth"], ["a", "p1", 5, 7])
    with pytest.raises(InputError, match="no column names the response"):
        read_humans(path)


def test_a_name_that_can_be_cut_in_two_ways_is_cut_by_the_whole_table(tmp_path: Path) -> None:
    header = ["rater", "prompt"]
    header += [f"{who}_{c}" for who in ("gpt_4", "llama") for c in ("clarity", "depth")]
    path = write(tmp_path / "h.csv", header, ["a", "p1", 1, 2, 3, 4])
    pattern = {"columns_pattern": "{respondent}_{criterion}"}
    assert [entry[1:3] for entry in entries(read_humans(path, columns=pattern))] == [
        ("p1/gpt_4", "clarity"), ("p1/gpt_4", "depth"), ("p1/llama", "clarity"),
        ("p1/llama", "depth"),
    ]  # fmt: skip
    header[-1] = "llama_conceptual_depth"
    path = write(tmp_path / "u.csv", header, ["a", "p1", 1, 2, 3, 4])
    with pytest.raises(InputError, match="in several places"):
        read_humans(path, columns=pattern)
    named = {**pattern, "criteria": {"clarity": "clarity", "depth": "depth",
                                     "conceptual_depth": "depth"}}  # fmt: skip
    assert [entry[2] for entry in entries(read_humans(path, columns=named))] == [
        "clarity", "depth", "clarity", "depth",
    ]  # fmt: skip


def test_a_pattern_that_no_column_fits_is_a_fault(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", ["rater", "prompt", "gpt-clarity"], ["a", "p1", 1])
    with pytest.raises(InputError, match="no column fits the pattern"):
        read_humans(path, columns={"columns_pattern": "{respondent}_{criterion}"})
    for wrong, message in (
        ("clarity", "must hold a name in braces"),
        ("{label}{criterion}", "nothing between them"),
        ("{label}_{label}", "one name twice"),
        ("{item}_{criterion}", "need a table of items"),
    ):
        with pytest.raises(InputError, match=message):
            read_column_map({"columns_pattern": wrong})


# -- ranking sheets


def test_a_sheet_with_ties_gives_the_place_to_each_and_leaves_the_next_open(
    tmp_path: Path,
) -> None:
    path = write(
        tmp_path / "h.csv",
        ["rater", "prompt", "1st", "2nd", "3rd"],
        ["a", "p1", "gpt=llama", "", "human"],
        ["a", "p2", "human", "gpt; llama", ""],
        ["b", "p1", "gpt", "", "NA"],
    )
    reading = read_humans(path).require_sound()
    assert [entry[1:] for entry in entries(reading)][:3] == [
        ("p1/gpt", "overall", "rank", 1.0),
        ("p1/llama", "overall", "rank", 1.0),
        ("p1/human", "overall", "rank", 3.0),
    ]
    # An empty place is a tie above it, or an order that ends there.
    assert [(one.code, one.n, one.lines) for one in reading.missing] == [("NA", 1, (4,))]


def test_a_response_at_two_places_is_a_repeat(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv", ["rater", "prompt", "1st", "2nd"],
        ["a", "p1", "gpt", "gpt"], ["a", "p2", "gpt", "human"],
    )  # fmt: skip
    (repeated,) = read_humans(path).misfits()
    assert "p1/gpt" in repeated.places[0]


def test_numbered_columns_are_places_only_where_their_cells_are_no_numbers(
    tmp_path: Path,
) -> None:
    header = ["rater", "prompt", "rank_1", "rank_2"]
    path = write(tmp_path / "p.csv", header, ["a", "p1", "gpt", "human"], ["a", "p2", "gpt", "o3"])
    assert read_humans(path).shape == "places"
    path = write(tmp_path / "n.csv", header, ["a", "p1", 1, 2])
    with pytest.raises(InputError, match="no column names the response"):
        read_humans(path, columns={"kind": "rank", "criteria": {"rank_1": "x", "rank_2": "y"}})


def test_orders_are_read_with_their_ties() -> None:
    assert read_order("B > A = C") == [("B",), ("A", "C")]
    assert read_order(["x", ["y", "z"]]) == [("x",), ("y", "z")]
    for wrong in ("B > ", "> A", ""):
        with pytest.raises(ValueError, match="must name responses"):
            read_order(wrong)


# -- pairs


@pytest.mark.parametrize(
    ("said", "won"),
    [("a", 1), ("A", 1), ("model_a", 1), ("Response A", 1), ("left", 1), ("1", 1), ("x", 1),
     ("A is better", 1), ("b", 0), ("model_b", 0), ("2", 0), ("y", 0), ("right", 0),
     ("tie", 0.5), ("tie (bothbad)", 0.5), ("Both bad", 0.5), ("neither", 0.5)],
)  # fmt: skip
def test_the_winner_is_a_side_a_name_or_a_tie(said: str, won: float) -> None:
    assert read_winner(said, ["x"], ["y"]) == won


def test_a_name_goes_before_a_side() -> None:
    assert read_winner("A", ["B"], ["A"]) == 0.0


def test_self_pairs_and_unknown_winners_are_faults_and_repeats_are_left_out(
    tmp_path: Path,
) -> None:
    path = write(
        tmp_path / "h.csv",
        ["rater_id", "prompt_id", "response_a", "response_b", "winner"],
        ["a", "p1", "r1", "r2", "r1"],
        ["a", "p1", "r1", "r1", "a"],
        ["a", "p1", "r1", "r3", "r2"],
        ["a", "p1", "r2", "r1", "tie"],
        ["a", "p1", "r2", "r3", ""],
        ["", "p1", "r2", "r3", "b"],
        ["b", "p1", "r2", "", "b"],
    )
    reading = read_humans(path)
    assert reading.shape == "pairs"
    assert preferences(reading) == [("a", "r1", "r2", "overall", 1.0)]
    assert told(reading) == [
        "3: compares 'r1' with itself",
        "4: must be one of the two responses, a, b or tie, got the text 'r2'",
        "7: must not be empty",
        "8: must not be empty",
    ]
    assert [(gone.reason, gone.lines) for gone in reading.exclusions] == [
        ("preference: repeats an earlier one of the same rater", (5,))
    ]
    assert reading.n_missing == 1


def test_preferences_on_several_criteria_and_through_a_map(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["who", "task", "x", "y", "better one", "aspect"],
        ["a", "p1", "gpt", "llama", "llama", "clarity"],
        ["a", "p1", "gpt", "llama", "gpt", "depth"],
        ["a", "p2", "gpt", "llama", "gpt", "depth"],
    )
    columns = {"rater_id": "who", "prompt_id": "task", "response_a": "x", "response_b": "y",
               "winner": "better one"}  # fmt: skip
    reading = read_humans(path, columns={"columns": columns}).require_sound()
    assert preferences(reading) == [
        ("a", "p1/gpt", "p1/llama", "clarity", 0.0),
        ("a", "p1/gpt", "p1/llama", "depth", 1.0),
        ("a", "p2/gpt", "p2/llama", "depth", 1.0),
    ]


def test_arena_rows_need_exactly_one_winner(tmp_path: Path) -> None:
    header = ["rater", "prompt_id", "model_a", "model_b", "winner_model_a", "winner_model_b",
              "winner_tie"]  # fmt: skip
    rows = [["a", "p1", "x", "y", 1, 0, 0], ["a", "p2", "x", "y", 1, 1, 0]]
    reading = read_humans(write(tmp_path / "h.csv", header, *rows))
    assert reading.layout == "arena"
    assert len(reading.preferences) == 1
    assert "got the text '2 winners'" in told(reading)[0]


# -- labels


def test_the_column_label_is_a_judgment_or_a_blinded_label_by_what_it_holds(
    tmp_path: Path,
) -> None:
    header = ["rater_id", "prompt_id", "response_id", "label"]
    path = write(tmp_path / "j.csv", header, ["a", "p1", "r1", "fair"], ["a", "p1", "r2", "poor"])
    reading = read_humans(path)
    assert labels(reading) == [("a", "r1", "overall", "fair"), ("a", "r2", "overall", "poor")]
    assert any("taken for a judgment: fair, poor" in notice for notice in reading.notices)
    path = write(tmp_path / "b.csv", [*header, "score"], ["a", "p1", "r1", "A", 4])
    reading = read_humans(path)
    assert len(reading.labels) == 0
    assert any("label is taken for the blinded label" in notice for notice in reading.notices)
    path = write(
        tmp_path / "m.csv",
        [*header, "score"],
        ["a", "p1", "r1", "yes", 4],
        ["a", "p1", "r2", "no", 3],
    )
    reading = read_humans(path)
    assert [label[3] for label in labels(reading)] == ["yes", "no"]
    assert len(reading.table) == 2


def test_categories_in_a_wide_table_need_to_be_named(tmp_path: Path) -> None:
    header = ["rater_id", "prompt_id", "response_id", "stance", "ok"]
    rows = [["a", "p1", f"r{n}", ("left", "right", "none at all")[n % 3], ("yes", "no")[n % 2]]
            for n in range(9)]  # fmt: skip
    path = write(tmp_path / "h.csv", header, *rows)
    assert {label[2] for label in labels(read_humans(path))} == {"ok"}
    assert {label[2] for label in labels(read_humans(path, criteria=["stance"]))} == {"stance"}
    given = {"criteria": {"stance": {"criterion": "position", "kind": "label"}}}
    assert {label[2] for label in labels(read_humans(path, columns=given))} == {"position"}


def test_a_label_given_twice_is_left_out_with_its_row(tmp_path: Path) -> None:
    header = ["rater_id", "prompt_id", "response_id", "verdict"]
    rows = [["a", "p1", "r1", "yes"], ["a", "p1", "r2", "no"], ["a", "p1", "r1", "no"]]
    reading = read_humans(write(tmp_path / "h.csv", header, *rows))
    assert [label[3] for label in labels(reading)] == ["yes", "no"]
    (gone,) = reading.exclusions
    assert (gone.n, gone.lines) == (1, (4,))


def test_numbers_are_labels_where_the_map_says_so(tmp_path: Path) -> None:
    header = ["rater_id", "prompt_id", "response_id", "toxic"]
    path = write(tmp_path / "h.csv", header, ["a", "p1", "r1", 1], ["a", "p1", "r2", 0])
    assert len(read_humans(path).table) == 2
    reading = read_humans(path, columns={"kind": "label"})
    assert [label[3] for label in labels(reading)] == ["1", "0"]
    assert len(reading.table) == 0


# -- surveys and tools


def survey(tmp_path: Path, *header: str) -> Path:
    return write(
        tmp_path / "q.csv",
        ["StartDate", "Finished", "RecordedDate", "ResponseId", *header],
        ["2026", "True", "2026", "R_1", *[4] * len(header)],
    )


def test_a_survey_suggests_the_pattern_of_its_questions(tmp_path: Path) -> None:
    path = survey(tmp_path, "Q1_clarity", "Q1_depth", "Q2_clarity", "Q2_depth", "age")
    with pytest.raises(InputError, match=r"pattern: 'Q\{item\}_\{criterion\}'"):
        read_humans(path)


def test_an_item_without_a_question_is_a_fault_and_a_remark_is_no_rating(tmp_path: Path) -> None:
    path = survey(tmp_path, "Q1_clarity", "Q1_clarity_TEXT", "Q2_clarity")
    items = write(tmp_path / "items.csv", ["item", "prompt_id", "response_id"],
                  [1, "p1", "r1"], [2, "p1", "r2"])  # fmt: skip
    given = {"items": {"pattern": "Q{item}_{criterion}", "table": str(items)}}
    reading = read_humans(path, columns=given).require_sound()
    assert [entry[1:3] for entry in entries(reading)] == [("r1", "clarity"), ("r2", "clarity")]
    assert "Q1_clarity_TEXT" in [one.column for one in reading.columns_unread]
    write(items, ["item", "prompt_id", "response_id"], [1, "p1", "r1"], [3, "p1", "r3"])
    with pytest.raises(InputError, match=r"no column of the file fits .* for item 3"):
        read_humans(path, columns=given)
    write(items, ["number", "prompt_id", "response_id"], [1, "p1", "r1"])
    with pytest.raises(InputError, match="must have a column item; columns found: number"):
        read_humans(path, columns=given)
    write(items, ["item", "response_id"], [1, "r1"], [1, "r2"])
    with pytest.raises(InputError, match="repeats an earlier item: item 1"):
        read_humans(path, columns=given)


def test_a_table_of_items_may_name_the_columns_themselves(tmp_path: Path) -> None:
    path = survey(tmp_path, "How clear is the first?", "Where does it stand?")
    items = write(
        tmp_path / "items.csv",
        ["column", "prompt_id", "response_id", "criterion", "kind"],
        ["How clear is the first?", "p1", "r1", "clarity", ""],
        ["Where does it stand?", "p1", "r1", "", "rank"],
    )
    reading = read_humans(path, columns={"items": {"table": str(items)}}).require_sound()
    assert entries(reading) == [
        ("R_1", "r1", "clarity", "score", 4.0), ("R_1", "r1", "overall", "rank", 4.0),
    ]  # fmt: skip


def test_a_form_that_asks_for_no_name_has_a_rater_a_row(tmp_path: Path) -> None:
    path = write(
        tmp_path / "f.csv", ["Timestamp", "Response 1 [Clarity]", "Response 2 [Clarity]"],
        ["1/2/2026", 4, 5], ["1/3/2026", 3, 2],
    )  # fmt: skip
    items = write(tmp_path / "items.csv", ["item", "prompt_id", "source"],
                  [1, "p1", "gpt"], [2, "p1", "human"])  # fmt: skip
    given = {"items": {"pattern": "Response {item} [{criterion}]", "table": str(items)}}
    reading = read_humans(path, columns=given).require_sound()
    assert reading.layout == "google-forms"
    assert reading.table.rater_id.used() == ("row 2", "row 3")
    assert reading.table.response_id.used() == ("p1/gpt", "p1/human")


@pytest.mark.parametrize(
    ("inputs", "answers"),
    [
        (["response_id_1", "response_id_2"], ["q1_clarity", "q2_clarity"]),
        (["response_id1", "response_id2"], ["clarity_1", "clarity_2"]),
        (["response1_id", "response2_id"], ["clarity1", "clarity2"]),
        (["model_1", "model_2"], ["1.clarity", "2.clarity"]),
    ],
)
def test_a_hit_with_several_items_knows_each_by_its_number(
    inputs: list[str], answers: list[str], tmp_path: Path
) -> None:
    header = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "Input.prompt_id",
              *(f"Input.{name}" for name in inputs)]  # fmt: skip
    cells = ["h", "x", "w1", "Approved", "p1", "r1", "r2"]
    path = write(tmp_path / "h.csv", [*header, *(f"Answer.{n}" for n in answers)], [*cells, 4, 5])
    expected = ["p1/r1", "p1/r2"] if "model" in inputs[0] else ["r1", "r2"]
    assert [(e[1], e[2], e[4]) for e in entries(read_humans(path).require_sound())] == [
        (expected[0], "clarity", 4.0), (expected[1], "clarity", 5.0),
    ]  # fmt: skip
    said = json.dumps([{answers[0]: {"4": True, "5": False}, answers[1]: {"5": True}}])
    path = write(tmp_path / "t.csv", [*header, "Answer.taskAnswers"], [*cells, said])
    assert [e[4] for e in entries(read_humans(path).require_sound())] == [4.0, 5.0]


def test_prolific_tasks_are_joined_to_the_data_set_that_was_uploaded(tmp_path: Path) -> None:
    def record(who: str, task: str, value: str) -> dict[str, Any]:
        answer = {"instruction_id": "i1", "description": "clarity", "answer": [{"value": value}]}
        return {"id": f"{who}{task}", "participant_id": who, "task_id": task, "response": answer}

    path = tmp_path / "r.jsonl"
    records = [record("w1", "t1", "4"), record("w2", "t2", "5"), record("w2", "t9", "5")]
    path.write_text("\n".join(map(json.dumps, records)))
    write(tmp_path / "tasks.csv", ["task_id", "prompt_id", "response_id"],
          ["t1", "p1", "r1"], ["t2", "p1", "r2"])  # fmt: skip
    (tmp_path / "map.yaml").write_text("join: {table: tasks.csv, by: task_id}\n")
    reading = read_humans(path, columns=tmp_path / "map.yaml")
    assert reading.layout == "prolific"
    assert entries(reading) == [
        ("w1", "r1", "clarity", "score", 4.0),
        ("w2", "r2", "clarity", "score", 5.0),
    ]
    assert told(reading) == ["3: 't9' is not in tasks.csv"]


def test_label_studio_pairs_rankings_and_buckets(tmp_path: Path) -> None:
    def task(data: dict[str, Any], kind: str, value: dict[str, Any]) -> dict[str, Any]:
        result = [{"from_name": "c", "to_name": "x", "type": kind, "value": value}]
        return {"id": 1, "data": data, "annotations": [{"completed_by": 7, "result": result}]}

    def read(*tasks: dict[str, Any]) -> HumanReading:
        path = tmp_path / "t.json"
        path.write_text(json.dumps(tasks))
        return read_humans(path).require_sound()

    sides = {"prompt_id": "p1", "response_a": "r1", "response_b": "r2"}
    assert preferences(read(task(sides, "pairwise", {"selected": "right"}))) == [
        ("7", "r1", "r2", "overall", 0.0)
    ]
    order = {"ranker": ["r2", "r1", "r3"]}
    assert [entry[1:] for entry in entries(read(task({"prompt_id": "p1"}, "ranker", order)))] == [
        ("r2", "overall", "rank", 1.0),
        ("r1", "overall", "rank", 2.0),
        ("r3", "overall", "rank", 3.0),
    ]
    buckets = {"ranker": {"good": ["r1", "r3"], "poor": ["r2"], "_": []}}
    assert [label[1:] for label in labels(read(task({"prompt_id": "p1"}, "ranker", buckets)))] == [
        ("r1", "c", "good"), ("r3", "c", "good"), ("r2", "c", "poor"),
    ]  # fmt: skip


def test_argilla_labels_are_told_from_comments(tmp_path: Path) -> None:
    records = [
        {
            "id": f"r{n}",
            "fields": {"text": "…"},
            "metadata": {"prompt_id": "p1"},
            "responses": {
                "stance": [{"value": ("for", "against")[n % 2], "user_id": "a"}],
                "why": [{"value": f"Because of reason {n}.", "user_id": "a"}],
            },
        }
        for n in range(6)
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(records))
    reading = read_humans(path)
    assert {label[2] for label in labels(reading)} == {"stance"}
    assert "why" in [one.column for one in reading.columns_unread]


# -- respondents of a run


def test_ratings_by_respondent_take_the_ids_of_a_run(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv", ["rater", "prompt_id", "gpt", "human", "o3"], ["a", "p1", 5, 7, 7]
    )
    table = read_humans(path, columns={"columns_pattern": "{respondent}"}).table
    run = [
        {"response_id": "r1", "prompt_id": "p1", "respondent_id": "gpt"},
        {"response_id": "r2", "prompt_id": "p1", "respondent_id": "human"},
        {"response_id": "r3", "prompt_id": "p1", "respondent_id": "o3"},
        {"response_id": "r4", "prompt_id": "p1", "respondent_id": "o3"},
    ]
    named = with_ids(table, ids_by_respondent(run), [row["response_id"] for row in run], {})
    # o3 answered twice: which of the two was rated, nobody knows.
    assert named.response_id.texts().tolist() == ["r1", "r2", "p1/o3"]
