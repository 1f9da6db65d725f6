"""Human judgments: every layout to one table, and everything that does not fit reported."""

import csv
import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from areopagus.errors import InputError
from areopagus.records.humans import (
    HumanReading,
    HumanTable,
    match,
    read_column_map,
    read_humans,
    read_judgments,
)
from areopagus.records.humans.table import TableBuilder

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data"


def write(path: Path, *rows: list[Any]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def entries(reading: HumanReading) -> list[tuple[Any, ...]]:
    """(rater, prompt, response, criterion, kind, value) of every rating."""
    table = reading.table
    columns = [
        getattr(table, name).texts()
        for name in ("rater_id", "prompt_id", "response_id", "criterion")
    ]
    kinds = ["rank" if is_rank else "score" for is_rank in table.is_rank]
    return list(zip(*columns, kinds, table.value.tolist(), strict=True))


EXPECTED = [
    ("a", "p1", "r1", "clarity", "score", 7.0),
    ("a", "p1", "r1", "depth", "score", 5.0),
    ("b", "p1", "r1", "clarity", "score", 6.0),
]


def test_a_long_file(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["rater", "prompt_id", "response_id", "criterion", "score", "duration_s", "notes"],
        ["a", "p1", "r1", "clarity", 7, 30, "good"],
        ["a", "p1", "r1", "depth", 5, "", ""],
        ["b", "p1", "r1", "clarity", 6, "", ""],
    )
    reading = read_humans(path)
    assert entries(reading) == EXPECTED
    assert reading.shape == "long"
    assert reading.table.line.tolist() == [2, 3, 4]
    assert reading.table.duration_s[0] == 30
    assert np.isnan(reading.table.duration_s[1])
    assert reading.table.comment.texts().tolist() == ["good", None, None]
    assert reading.columns_unread == ()


def test_a_wide_file(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["rater_id", "prompt_id", "response_id", "clarity", "depth", "favourite", "remark"],
        ["a", "p1", "r1", 7, 5, "yes", "long"],
        ["b", "p1", "r1", 6, "", "no", "short"],
    )
    reading = read_humans(path)
    assert entries(reading) == EXPECTED
    assert reading.n_missing == 1
    assert reading.columns_sampled == ("clarity", "depth", "favourite")
    assert reading.labels.label.texts().tolist() == ["yes", "no"]
    (unread,) = reading.columns_unread
    assert (unread.column, unread.reason) == ("remark", "text, 2 different: 'long', 'short'")
    assert len(read_humans(path, criteria=["depth"]).table) == 1


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet", "xlsx"])
def test_other_files_hold_the_same(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"h.{suffix}"
    rows = [
        {"rater_id": "a", "prompt_id": "p1", "response_id": "r1", "clarity": 7, "depth": 5},
        {"rater_id": "b", "prompt_id": "p1", "response_id": "r1", "clarity": 6, "depth": None},
    ]
    if suffix == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows))
    elif suffix == "json":
        path.write_text(json.dumps(rows))
    else:
        import pandas as pd

        frame = pd.DataFrame(rows)
        frame.to_parquet(path) if suffix == "parquet" else frame.to_excel(path, index=False)
    reading = read_humans(path)
    assert entries(reading) == EXPECTED
    assert reading.n_missing == 1


RELEASED = [
    "prompt_id", "true_id", "blinded_label", "item_type", "true_source", "model", "rank", "score",
    "judge_id", "clarity", "depth",
]  # fmt: skip


def test_the_released_layout_keeps_calibration_items_apart(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        RELEASED,
        ["p1", "r1", "A", "standard", "model", "m1", 1, 8.5, "j1", 9, 8],
        ["p1", "r2", "B", "standard", "human", "", 2, 6, "j1", 6, 6],
        ["p2", "r3", "A", "quality_floor", "model", "m1", 6, 1, "j1", 1, 1],
    )
    reading = read_humans(path)
    assert reading.layout == "scrub"
    # Two standard rows and one calibration row, each with a rank, a score and two dimensions.
    assert (len(reading.table), len(reading.calibration)) == (8, 4)
    found = set(entries(reading))
    assert ("j1", "p1", "r1", "overall", "rank", 1.0) in found
    assert ("j1", "p1", "r1", "overall", "score", 8.5) in found
    assert ("j1", "p1", "r2", "depth", "score", 6.0) in found
    assert reading.calibration.item_type.used() == ("quality_floor",)
    assert set(reading.table.source.used()) == {"human", "model"}
    assert reading.table.blinded_label.used() == ("A", "B")


def test_blinded_labels_are_resolved_for_each_rater_and_prompt(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["judge_id", "prompt_id", "blinded_label", "rank"],
        ["j1", "p1", "A", 1],
        ["j2", "p1", "A", 2],
        ["j2", "p1", "Z", 3],
    )
    sources = write(
        tmp_path / "map.csv",
        ["judge_id", "prompt_id", "blinded_label", "true_id", "true_source"],
        ["j1", "p1", "A", "r1", "human"],
        ["j2", "p1", "A", "r2", "model"],
    )
    reading = read_humans(path, source_map=sources)
    assert entries(reading) == [
        ("j1", "p1", "r1", "overall", "rank", 1.0),
        ("j2", "p1", "r2", "overall", "rank", 2.0),
    ]
    assert reading.table.source.texts().tolist() == ["human", "model"]
    assert "h.csv:4: the source map does not know label 'Z'" in str(reading.faults[0])
    with pytest.raises(InputError, match="label 'Z'"):
        reading.require_sound()
    without = read_humans(path)
    assert (len(without.table), without.n_faults) == (0, 2)
    assert "names no response without a source map" in without.faults[0].message
    assert without.faults[0].message.endswith("in rows 2, 3")


def test_a_source_map_that_contradicts_itself_or_the_file_is_a_fault(tmp_path: Path) -> None:
    entry = {"prompt_id": "p1", "blinded_label": "A", "response_id": "r1"}
    path = write(tmp_path / "h.csv", [*RELEASED[:3], "rank", "judge_id"], ["p1", "r9", "A", 1, "j"])
    with pytest.raises(InputError, match="another response"):
        read_humans(path, source_map=[entry, {**entry, "response_id": "r2"}])
    assert (
        "is 'r1' in the source map, here 'r9'"
        in read_humans(path, source_map=[entry]).faults[0].message
    )


def test_no_header_and_one_row_a_rater_through_a_map(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", [2, 1, 3], [1, 2, 3])
    columns = tmp_path / "map.yaml"
    columns.write_text(
        "header: false\nrater_from_row: true\nitem_columns: rest\nkind: rank\n"
        "constants: {prompt_id: potatoes}\n"
    )
    reading = read_humans(path, columns=columns)
    matrix = reading.table.matrix("overall", kind="rank")
    assert matrix.values.tolist() == [[2, 1, 3], [1, 2, 3]]
    assert matrix.rater_ids == ("row 1", "row 2")
    assert matrix.response_ids == ("1", "2", "3")
    assert matrix.prompt_ids == ("potatoes",) * 3


def test_raters_as_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", ["Units", "Rater1", "Rater2"], [1, 4, ""], [2, 5, 3])
    for columns in (None, {"columns": {"response_id": "Units"}, "rater_columns": "rest"}):
        matrix = read_humans(path, columns=columns).table.matrix("overall")
        assert matrix.rater_ids == ("Rater1", "Rater2")
        assert np.array_equal(matrix.values, [[4, 5], [np.nan, 3]], equal_nan=True)


def label_studio_task() -> dict[str, Any]:
    def result(name: str, value: dict[str, Any]) -> dict[str, Any]:
        return {"from_name": name, "to_name": "text", "type": "x", "value": value}

    return {
        "id": 11,
        "data": {"prompt_id": "p1", "response_id": "r1", "text": "An answer."},
        "annotations": [
            {
                "id": 1,
                "completed_by": {"id": 3, "email": "x@example.org"},
                "lead_time": 12.5,
                "result": [
                    result("clarity", {"rating": 4}),
                    result("depth", {"number": 7}),
                    result("verdict", {"choices": ["fair"]}),
                ],
            },
            {"id": 2, "completed_by": 5, "result": [result("clarity", {"rating": 2})]},
            {"id": 3, "completed_by": 6, "was_cancelled": True, "result": []},
        ],
    }


def test_label_studio_json(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    path.write_text(json.dumps([label_studio_task(), {"id": 12, "data": {}, "annotations": []}]))
    reading = read_humans(path)
    assert reading.layout == "label-studio"
    assert entries(reading) == [
        ("3", "p1", "r1", "clarity", "score", 4.0),
        ("3", "p1", "r1", "depth", "score", 7.0),
        ("5", "p1", "r1", "clarity", "score", 2.0),
    ]
    assert reading.table.duration_s[0] == 12.5
    assert [(gone.reason, gone.n) for gone in reading.exclusions] == [
        ("the annotator skipped the task", 1),
        ("the task has no annotation", 1),
    ]


def test_label_studio_csv_and_json_min(tmp_path: Path) -> None:
    header = ["annotation_id", "annotator", "clarity", "created_at", "depth", "grade", "id",
              "lead_time", "prompt_id", "response_id", "updated_at"]  # fmt: skip
    row = [1, 3, '[{"rating":4}]', "2024-01-01T00:00:00Z", '[{"number":7}]', "3", 11, 12.5, "p1",
           "r1", "2024-01-01T00:00:00Z"]  # fmt: skip
    path = write(tmp_path / "h.csv", header, row, [2, 4, "", *row[3:]])
    reading = read_humans(path)
    assert reading.layout == "label-studio"
    assert entries(reading)[:3] == [
        ("3", "p1", "r1", "clarity", "score", 4.0),
        ("3", "p1", "r1", "depth", "score", 7.0),
        ("3", "p1", "r1", "grade", "score", 3.0),
    ]
    assert (len(reading.table), reading.n_missing) == (5, 1)
    flat = {"annotation_id": 1, "annotator": 3, "clarity": 4, "id": 11, "response_id": "r1"}
    path = tmp_path / "min.json"
    path.write_text(json.dumps([flat]))
    assert entries(read_humans(path)) == [("3", None, "r1", "clarity", "score", 4.0)]


def test_argilla_flattened(tmp_path: Path) -> None:
    header = ["id", "status", "_server_id", "text", "prompt_id", "clarity.responses",
              "clarity.responses.users", "clarity.responses.status",
              "clarity.suggestion"]  # fmt: skip
    path = write(
        tmp_path / "h.csv",
        header,
        ["r1", "completed", "s1", "…", "p1", "[7, 6, 1]", "['a', 'b', 'c']",
         "['submitted', 'submitted', 'discarded']", 3],
        ["r2", "pending", "s2", "…", "p1", "", "", "", ""],
    )  # fmt: skip
    reading = read_humans(path)
    assert reading.layout == "argilla"
    assert entries(reading) == [
        ("a", "p1", "r1", "clarity", "score", 7.0),
        ("b", "p1", "r1", "clarity", "score", 6.0),
    ]
    assert {gone.reason: gone.n for gone in reading.exclusions} == {
        "the answer is discarded, not submitted": 1,
        "the record has no answer": 1,
    }


def test_argilla_nested_with_a_ranking(tmp_path: Path) -> None:
    record = {
        "id": "x1",
        "fields": {"text": "…"},
        "metadata": {"prompt_id": "p1"},
        "responses": {
            "clarity": [{"value": 7, "user_id": "a"}, {"value": 6, "user_id": "b"}],
            "order": [
                {
                    "value": [{"value": "r1", "rank": 1}, {"value": "r2", "rank": 2}],
                    "user_id": "a",
                }
            ],
        },
    }
    path = tmp_path / "h.json"
    path.write_text(json.dumps([record]))
    assert entries(read_humans(path)) == [
        ("a", "p1", "r1", "overall", "rank", 1.0),
        ("a", "p1", "r2", "overall", "rank", 2.0),
        ("a", "p1", "x1", "clarity", "score", 7.0),
        ("b", "p1", "x1", "clarity", "score", 6.0),
    ]


SURVEY_MAP = {
    "items": [
        {"column": "Q1_1", "prompt_id": "p1", "response_id": "r1", "criterion": "clarity"},
        {"column": "Q1_2", "prompt_id": "p1", "response_id": "r2", "kind": "rank"},
    ],
    "codes": {"Very clear": 7},
}


def test_qualtrics_with_its_three_header_rows(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["StartDate", "Status", "Duration (in seconds)", "Finished", "RecordedDate", "ResponseId",
         "Q1_1", "Q1_2", "PROLIFIC_PID"],
        ["Start Date", "Response Type", "Duration", "Finished", "Recorded", "Response ID",
         "How clear\nis it?", "Place", "pid"],
        ['{"ImportId":"startDate"}', *['{"ImportId":"x"}'] * 8],
        ["2024", "IP Address", 61, "True", "2024-01-01", "R_1", "Very clear", 1, "abc"],
        ["2024", "Survey Preview", 5, "True", "2024-01-01", "R_2", "1", 2, "me"],
        ["2024", "IP Address", 5, "False", "2024-01-01", "R_3", "1", 2, "def"],
        ["2024", "IP Address", 70, "True", "2024-01-01", "R_4", "", 2, "ghi"],
    )  # fmt: skip
    reading = read_humans(path, columns=SURVEY_MAP)
    assert reading.layout == "qualtrics"
    assert entries(reading) == [
        ("abc", "p1", "r1", "clarity", "score", 7.0),
        ("abc", "p1", "r2", "overall", "rank", 1.0),
        ("ghi", "p1", "r2", "overall", "rank", 2.0),
    ]
    # The header takes lines 1 to 4 (one cell runs over two lines).
    assert reading.table.line.tolist() == [5, 5, 8]
    assert reading.table.duration_s.tolist() == [61, 61, 70]
    assert [(gone.reason, gone.lines) for gone in reading.exclusions] == [
        ("survey preview", (6,)),
        ("not finished", (7,)),
    ]
    assert ("rater_id", "PROLIFIC_PID") in reading.columns_used
    with pytest.raises(InputError, match="which question rates which response") as raised:
        read_humans(path)
    # the file's own columns, all of them, and none that is not there
    assert (raised.value.hint or "").splitlines()[0] == (
        "columns found: StartDate, Status, Duration (in seconds), Finished, RecordedDate, "
        "ResponseId, Q1_1, Q1_2, PROLIFIC_PID"
    )


def test_a_survey_without_a_panel_id_has_its_answers_ids_as_raters(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["StartDate", "ResponseId", "Q1_1", "Q1_2"],
        ["Start", "Response ID", "How clear?", "Place"],
        ['{"ImportId":"x"}'] * 4,
        ["2024", "R_1", "3", "1"],
    )
    reading = read_humans(path, columns=SURVEY_MAP)
    assert ("rater_id", "ResponseId") in reading.columns_used
    assert {row[0] for row in entries(reading)} == {"R_1"}
    named = read_humans(path, columns={**SURVEY_MAP, "columns": {"rater_id": "StartDate"}})
    assert {row[0] for row in entries(named)} == {"2024"}


@pytest.mark.parametrize("has_texts", [False, True])
def test_limesurvey(tmp_path: Path, has_texts: bool) -> None:
    header = ["id", "submitdate", "lastpage", "startlanguage", "seed", "G1Q1[SQ001]",
              "interviewtime"]  # fmt: skip
    names = [f"{name}. Some words. More" if has_texts else name for name in header]
    path = tmp_path / "h.csv"
    write(path, names, [1, "2024-01-01", 2, "en", 9, 4, 33], [2, "", 1, "en", 9, 5, 3])
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    item = {"column": "G1Q1[SQ001]", "prompt_id": "p1", "response_id": "r1"}
    reading = read_humans(path, columns={"items": [item]})
    assert reading.layout == "limesurvey"
    assert entries(reading) == [("1", "p1", "r1", "overall", "score", 4.0)]
    assert reading.table.duration_s.tolist() == [33]
    assert reading.exclusions[0].reason == "not submitted"


def test_mturk_plain_and_with_task_answers(tmp_path: Path) -> None:
    header = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "WorkTimeInSeconds",
              "Input.prompt_id", "Input.response_id", "Answer.clarity", "Approve",
              "Reject"]  # fmt: skip
    path = write(
        tmp_path / "h.csv",
        header,
        ["h", "x", "w1", "Approved", 20, "p1", "r1", 4, "x", ""],
        ["h", "y", "w2", "Rejected", 2, "p1", "r1", 1, "", ""],
        ["h", "z", "w3", "Submitted", 2, "p1", "r1", 1, "", "too fast"],
    )
    reading = read_humans(path)
    assert reading.layout == "mturk"
    assert entries(reading) == [("w1", "p1", "r1", "clarity", "score", 4.0)]
    assert reading.table.duration_s.tolist() == [20]
    assert reading.exclusions[0].n == 2
    header[7] = "Answer.taskAnswers"
    answers = json.dumps([{"clarity": {"1": False, "4": True}, "depth": "3"}])
    path = write(
        tmp_path / "t.csv", header, ["h", "x", "w1", "Approved", 20, "p1", "r1", answers, "", ""]
    )
    assert entries(read_humans(path)) == [
        ("w1", "p1", "r1", "clarity", "score", 4.0),
        ("w1", "p1", "r1", "depth", "score", 3.0),
    ]


def test_a_prolific_roster_is_joined_and_never_read_as_answers(tmp_path: Path) -> None:
    roster = write(
        tmp_path / "roster.csv",
        ["Submission id", "Participant id", "Status", "Time taken", "Age"],
        ["s1", "a", "APPROVED", 60, 30],
        ["s2", "b", "RETURNED", 60, 30],
    )
    path = write(
        tmp_path / "h.csv",
        ["PROLIFIC_PID", "prompt_id", "response_id", "score"],
        *([pid, "p1", "r1", 5] for pid in "abc"),
    )
    reading = read_humans(path, roster=roster)
    assert [entry[0] for entry in entries(reading)] == ["a", "c"]
    assert reading.exclusions[0].reason == "rating: the roster says RETURNED"
    report = reading.match(["r1"])
    assert [(place.id, place.lines) for place in report.unknown_raters] == [("c", (4,))]
    with pytest.raises(InputError, match="Prolific roster"):
        read_humans(roster)


def test_faults_of_rows_are_kept_with_their_places(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text(
        "rater_id,prompt_id,response_id,score\n"
        "a,p1,r1,good\n,p1,r1,3\na,p1,,3\na,p1,r1\na,p1,r2,\na,p1,r3,4\n"
    )
    reading = read_humans(path)
    assert [str(fault) for fault in reading.faults] == [
        f"{path}:5: must have 4 cells as the header has, got 3",
        f"{path}:2: score: must be a number, got the text 'good'",
        f"{path}:3: rater_id: must not be empty",
        f"{path}:4: response_id: must not be empty",
    ]
    # Five sound rows: three faults, one empty cell, one rating.
    assert (reading.n_rows, reading.n_missing, len(reading.table)) == (5, 1, 1)


def test_every_fault_of_a_row_is_told_under_its_own_column(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["rater_id", "response_id", "criterion", "value", "kind", "duration_s"],
        ["a", "", "x", 3, "grade", "long"],
        ["a", "r1", "x", "high", "score", "short"],
    )
    assert [str(fault).partition(": must")[0] for fault in read_humans(path).faults] == [
        f"{path}:2: duration_s",
        f"{path}:2: kind",
        f"{path}:2: response_id",
        f"{path}:3: duration_s",
        f"{path}:3: value",
    ]


def test_kinds_by_row_and_their_faults(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.csv",
        ["rater_id", "prompt_id", "response_id", "criterion", "value", "kind"],
        ["a", "p1", "r1", "overall", 1, "rank"],
        ["a", "p1", "r1", "overall", 9, "score"],
        ["a", "p1", "r1", "", 9, "grade"],
    )
    reading = read_humans(path)
    assert [entry[4] for entry in entries(reading)] == ["rank", "score"]
    assert "must be score, rank or label" in reading.faults[0].message


def test_files_in_which_nothing_can_be_understood(tmp_path: Path) -> None:
    path = write(tmp_path / "h.csv", ["name", "words"], ["x", "y"])
    with pytest.raises(InputError, match="columns found: name, words") as raised:
        read_humans(path)
    assert len(raised.value.faults) == 2
    with pytest.raises(InputError, match="no such column"):
        read_humans(path, columns={"rater_id": "worker"})
    with pytest.raises(InputError, match="no such file"):
        read_humans(tmp_path / "none.json")
    with pytest.raises(InputError, match="layout"):
        read_humans(path, layout="excel")
    (tmp_path / "bad.json").write_text("[1, {]")
    with pytest.raises(InputError, match="not valid JSON"):
        read_humans(tmp_path / "bad.json")
    (tmp_path / "empty.csv").write_text("rater_id,response_id,score\n")
    with pytest.raises(InputError, match="holds no rows"):
        read_humans(tmp_path / "empty.csv")


def test_a_column_map_names_its_own_faults(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text("columns: {rater: worker}\nkind: points\nheadr: false\n")
    with pytest.raises(InputError) as raised:
        read_column_map(path)
    text = str(raised.value)
    assert "map.yaml:1" in text
    assert "map.yaml:2" in text
    assert "map.yaml:3" in text
    with pytest.raises(InputError, match="kind"):
        read_column_map({"kind": "points"})


def test_the_examples_of_the_column_map_docstring_are_valid(tmp_path: Path) -> None:
    from areopagus.records.humans import columns as column_map

    assert column_map.__doc__ is not None
    blocks = column_map.__doc__.split("    # ")[1:]
    starts = ("a survey export", "one row a rater x", "no header", "one row an item")
    examples = [block for block in blocks if block.startswith(starts)]
    assert len(examples) == 4
    for number, block in enumerate(examples):
        path = tmp_path / f"map{number}.yaml"
        path.write_text("# " + block.replace("\n    ", "\n"))
        read_column_map(path)


def test_stored_judgments_of_a_tool(tmp_path: Path) -> None:
    path = write(
        tmp_path / "j.csv",
        ["prompt_id", "response_id", "judge_model", "perspective_id", "clarity", "abstained"],
        ["p1", "r1", "m1", "ethicist", 7, "False"],
        ["p1", "r2", "m1", "ethicist", 1, "True"],
    )
    judgments = read_judgments(path)
    assert entries(judgments.reading) == [("ethicist x m1", "p1", "r1", "clarity", "score", 7.0)]
    assert judgments.persona_of == {"ethicist x m1": "ethicist"}
    assert judgments.model_of == {"ethicist x m1": "m1"}
    assert [(gone.reason, gone.n) for gone in judgments.reading.exclusions] == [("abstained", 1)]
    path = write(
        tmp_path / "k.csv",
        ["prompt_id", "response_id", "judge", "score", "status"],
        ["p1", "r1", "k", 7, "scored"],
        ["p1", "r2", "k", -1, "failed"],
    )
    judgments = read_judgments(path)
    assert entries(judgments.reading) == [("k", "p1", "r1", "overall", "score", 7.0)]
    assert judgments.reading.exclusions[0].reason == "failed"


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data are not here")
def test_the_shared_files_are_understood() -> None:
    reading = read_humans(SHARED / "summeval" / "human_ratings_12systems.csv.gz")
    # 100 documents x 12 systems x 8 raters x 4 criteria
    assert len(reading.table) == 100 * 12 * 8 * 4
    assert reading.n_faults == 0
    assert reading.table.matrix("coherence").values.shape == (8, 1200)


def build(rows: Sequence[tuple[Any, ...]]) -> HumanTable:
    """A table of (rater, prompt, response, criterion, kind, value), the lines from 2 on."""
    builder = TableBuilder(HumanTable)
    for line, (rater, prompt, response, criterion, kind, value) in enumerate(rows, start=2):
        texts = {"rater_id": rater, "prompt_id": prompt, "response_id": response,
                 "criterion": criterion}  # fmt: skip
        builder.add(texts, line=line, value=value, is_rank=kind == "rank", duration_s=float("nan"))
    return builder.build()


TABLE = build(
    [
        ("a", "p1", "r1", "overall", "score", 5.0),
        ("a", "p1", "r2", "overall", "score", 11.0),
        ("b", "p1", "r1", "overall", "score", 6.0),
        ("b", "p1", "gone", "overall", "score", 6.0),
        ("a", "p1", "r1", "overall", "score", 4.0),
        ("a", "p1", "r1", "overall", "rank", 1.0),
        ("a", "p2", "r2", "overall", "rank", 0.0),
    ]
)


def test_everything_that_does_not_fit_comes_with_its_rows() -> None:
    report = match(TABLE, {"r1": "p1", "r2": "p1", "r3": "p1"}, scale=(1, 10), raters={"a"})
    assert (report.n_ratings, report.n_matched, report.n_raters) == (7, 6, 2)
    assert (report.n_responses, report.n_responses_rated) == (3, 2)
    assert [(place.id, place.lines) for place in report.unmatched_ratings] == [("gone", (5,))]
    assert report.unrated_responses == ("r3",)
    (repeated,) = report.repeated
    assert (repeated.rater_id, repeated.response_id, repeated.kind) == ("a", "r1", "score")
    assert (repeated.lines, repeated.values, report.n_repeated) == ((2, 6), (5.0, 4.0), 1)
    assert [(out.value, out.line) for out in report.out_of_range] == [(11.0, 3), (0.0, 8)]
    assert [(place.id, place.lines) for place in report.unknown_raters] == [("b", (4, 5))]
    (other,) = report.other_prompts
    told = (other.response_id, other.prompt_id, other.expected, other.lines)
    assert told == ("r2", "p2", "p1", (8,))
    assert not report.is_clean
    fits = build([("a", "p1", "r1", "overall", "score", 5.0)])
    assert match(fits, ["r1", "r2"], scale=(1, 10), raters=["a"]).is_clean
    report = match(build([]), ["r1"], scale=(1, 10), raters=[])
    assert (report.n_ratings, report.n_matched, report.unrated_responses) == (0, 0, ("r1",))


def test_a_scale_may_differ_by_criterion() -> None:
    table = build([("a", "p", "r", "x", "score", 6.0), ("a", "p", "r", "y", "score", 6.0)])
    report = match(table, ["r"], scale={"x": (1, 5)})
    assert [out.criterion for out in report.out_of_range] == ["x"]


def test_the_report_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(1)
    order = rng.permutation(len(TABLE))
    shuffled = TABLE.select(order)
    one, two = (match(table, ["r1", "r2"], scale=(1, 10)) for table in (TABLE, shuffled))
    for name in ("n_matched", "n_repeated", "n_out_of_range"):
        assert getattr(one, name) == getattr(two, name)


def test_a_matrix_keeps_the_first_of_repeated_ratings_and_counts_the_rest() -> None:
    matrix = TABLE.matrix("overall")
    assert matrix.rater_ids == ("a", "b")
    assert matrix.response_ids == ("r1", "r2", "gone")
    assert np.array_equal(matrix.values, [[5, 11, np.nan], [6, np.nan, 6]], equal_nan=True)
    assert matrix.n_repeated == 1
    assert TABLE.matrix("overall", kind="rank").values.tolist() == [[1, 0]]


def test_selections_and_prompts_from_a_run() -> None:
    table = build([("a", None, "r1", "x", "score", 1.0), ("b", "p9", "r2", "x", "score", 2.0)])
    assert table.where("rater_id", "a", "nobody").value.tolist() == [1.0]
    filled = table.with_prompts({"r1": "p1", "r2": "p2"})
    assert filled.prompt_id.texts().tolist() == ["p1", "p9"]
    assert table.with_prompts({}).prompt_id.texts().tolist() == [None, "p9"]
    frame = filled.to_pandas()
    assert frame["kind"].tolist() == ["score", "score"]
    assert frame["prompt_id"].tolist() == ["p1", "p9"]


@pytest.mark.slow
def test_a_hundred_thousand_ratings_are_read_and_matched(tmp_path: Path) -> None:
    path = _many(tmp_path / "h.csv", 100_000)
    reading = read_humans(path, scale=(1, 10))
    report = reading.match({f"r{k}": f"p{k // 4}" for k in range(2_000)})
    assert len(reading.table) == 100_000
    assert report.is_clean


def test_a_rating_takes_at_most_half_a_kilobyte_while_it_is_read(tmp_path: Path) -> None:
    path = _many(tmp_path / "h.csv", 5_000)
    read_humans(path)  # what is imported by the way counts for nobody
    tracemalloc.start()
    try:
        read_humans(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5_000 * 500


def _many(path: Path, n: int) -> Path:
    with path.open("w") as file:
        file.write("rater_id,prompt_id,response_id,criterion,value\n")
        file.writelines(
            f"w{i % 50},p{i // 200},r{i // 50},overall,{i % 10 + 1}\n" for i in range(n)
        )
    return path
