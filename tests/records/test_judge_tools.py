"""Judgments as other tools save them; the files are written here, without the tools."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from areopagus.errors import InputError
from areopagus.records.humans import JudgmentReading, read_humans, read_judgments
from areopagus.records.humans.layouts import open_human_file
from areopagus.records.prompt_units import prompt_text_id
from areopagus.records.readers.rows import Excluded

ASKED = "Should the park close at night?"
ANSWERS = {"alder": "It depends on who uses it.", "birch": "Yes."}


def write(path: Path, content: Any) -> Path:
    """As JSON lines, as CSV with Python's notation in its cells, or as JSON."""
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(one) + "\n" for one in content))
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(content[0]))
            table.writeheader()
            table.writerows(content)
    else:
        path.write_text(json.dumps(content))
    return path


def deepeval(metrics: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """A test run with a case a respondent."""
    cases = [
        {"name": f"test_case_{n}", "input": ASKED, "actualOutput": ANSWERS[who],
         "metadata": {"respondent": who}, "metricsData": metrics[who]}
        for n, who in enumerate(ANSWERS)
    ]  # fmt: skip
    return {"testCases": cases, "conversationalTestCases": [], "hyperparameters": {"model": "x"}}


def metric(score: float | None, error: str | None = None, **more: Any) -> dict[str, Any]:
    about = {"name": "Clarity", "evaluationModel": "lab/judge", "reason": "plain words"}
    kept = {"score": score, "error": error}
    return about | {name: value for name, value in kept.items() if value is not None} | more


DEEPEVAL = deepeval({"alder": [metric(0.8)], "birch": [metric(0.0, "timeout")]})


def source(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments or None}


def result(value: Any, by: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"name": "n", "value": value, "reason": reason, "source": by}


def report(judge: dict[str, Any]) -> dict[str, Any]:
    """A report of pydantic-evals in which the second case's evaluator failed."""
    cases = [
        {"name": who, "inputs": {"question": ASKED}, "metadata": {"respondent": who},
         "output": answer, "scores": {}, "labels": {}, "assertions": {}, "evaluator_failures": []}
        for who, answer in ANSWERS.items()
    ]  # fmt: skip
    cases[0] |= {
        "scores": {"Clarity": result(0.8, judge, "plain words")},
        "assertions": {"is_fair": result(True, judge)},
        "labels": {"tone": result("calm", judge)},
    }
    failure = {"name": judge["name"], "error_message": "timeout", "source": judge}
    cases[1]["evaluator_failures"] = [failure]
    failed = {"name": "cedar", "inputs": {"question": ASKED}, "error_message": "down"}
    return {"name": "task", "cases": cases, "failures": [failed], "analyses": []}


OPENEVALS = [
    {"inputs": {"question": ASKED}, "outputs": {"answer": answer, "model": who},
     "results": [{"key": "Clarity", "score": score, "comment": reason, "metadata": None}]}
    for (who, answer), score, reason in zip(
        ANSWERS.items(), (0.8, None), ("plain words", "timeout"), strict=True
    )
]  # fmt: skip
LANGSMITH = [
    {"inputs.question": ASKED, "outputs.answer": answer, "outputs.model": who, "error": error,
     "reference.answer": "x", "feedback.Clarity": score, "feedback.judge": None, "id": f"run-{n}"}
    for n, (who, answer, score, error) in enumerate(
        [("alder", ANSWERS["alder"], 0.8, None), ("birch", ANSWERS["birch"], None, None),
         ("cedar", None, 0.0, "it is down")]
    )
]  # fmt: skip


def assessment(value: Any, kind: str = "LLM_JUDGE", by: str = "lab/judge", **more: Any) -> Any:
    feedback = {"value": value, **({"error": more.pop("error")} if "error" in more else {})}
    return {"assessment_name": "Clarity", "source": {"source_type": kind, "source_id": by},
            "feedback": feedback, "rationale": "plain words", "valid": True, **more}  # fmt: skip


def traces(*assessments: list[Any]) -> list[dict[str, Any]]:
    return [
        {"trace_id": f"tr-{n}", "state": "OK", "request": {"question": ASKED}, "response": answer,
         "tags": {"respondent": who}, "assessments": of_trace}
        for n, ((who, answer), of_trace) in enumerate(
            zip(ANSWERS.items(), assessments, strict=True)
        )
    ]  # fmt: skip


TIMEOUT = {"error_code": "SCORER_ERROR", "error_message": "timeout"}
MLFLOW = traces([assessment(0.8)], [assessment(0.0, "CODE", "Clarity", error=TIMEOUT)])


def inspect_log(
    *scores: dict[str, Any], scorers: list[Any] | None = None, **of_last: Any
) -> dict[str, Any]:
    samples = [
        {"id": n, "epoch": 1, "input": ASKED, "target": "", "scores": of_sample,
         "output": {"choices": [{"message": {"role": "assistant", "content": "Yes."}}]}}
        for n, of_sample in enumerate(scores, start=1)
    ]  # fmt: skip
    samples[-1] |= of_last
    head = {"task": "parks", "model": "lab/birch", "config": {}, "dataset": {}}
    evaluation = {**head, "scorers": scorers or []}
    return {"version": 2, "status": "success", "eval": evaluation, "plan": {}, "samples": samples}


def ratings(judgments: JudgmentReading) -> list[tuple[Any, ...]]:
    table = judgments.reading.require_sound().table
    columns = ("rater_id", "response_id", "criterion", "value", "source", "comment")
    return [*table.to_pandas()[[*columns]].itertuples(index=False, name=None)]


def left_out(judgments: JudgmentReading) -> dict[str, int]:
    return {one.reason: one.n for one in judgments.reading.exclusions}


@pytest.mark.parametrize(
    ("tool", "file", "content", "judge", "response"),
    [
        ("deepeval", "a.json", DEEPEVAL, "lab/judge", "test_case_0"),
        ("deepeval", "a.json", {"testRunData": DEEPEVAL}, "lab/judge", "test_case_0"),
        ("openevals", "a.json", OPENEVALS, "openevals", "1"),
        ("openevals", "a.csv", OPENEVALS, "openevals", "2"),
        ("langsmith", "a.jsonl", LANGSMITH, "langsmith", "run-0"),
        ("langsmith", "a.csv", LANGSMITH, "langsmith", "run-0"),
        ("mlflow", "a.jsonl", MLFLOW, "lab/judge", "tr-0"),
        ("mlflow", "a.csv", MLFLOW, "lab/judge", "tr-0"),
    ],
)
def test_a_file_of_each_tool_is_read_and_what_failed_has_no_score(
    tmp_path: Path, tool: str, file: str, content: Any, judge: str, response: str
) -> None:
    judgments = read_judgments(write(tmp_path / file, content))
    ((who, name, criterion, value, respondent, comment),) = ratings(judgments)
    assert judgments.reading.layout == tool
    assert (who, name, criterion, value, respondent) == (judge, response, "Clarity", 0.8, "alder")
    assert comment == (None if tool == "langsmith" else "plain words")
    assert left_out(judgments)["failed"] == 1
    assert judgments.reading.table.prompt_id.used() == (prompt_text_id(ASKED),)
    assert judgments.model_of == ({judge: judge} if judge == "lab/judge" else {})


def test_rows_hold_the_texts_and_say_of_what_failed_who_and_what(tmp_path: Path) -> None:
    path = write(tmp_path / "run.json", DEEPEVAL)
    _, opened = open_human_file(path, faults=[], for_judges=True)
    scored, failed = (row.values for row in opened.rows if not isinstance(row, Excluded))
    assert scored == {
        "response_id": "test_case_0",
        "prompt_id": prompt_text_id(ASKED),
        "prompt_text": ASKED,
        "response_text": ANSWERS["alder"],
        "respondent_id": "alder",
        "judge": "lab/judge",
        "model": "lab/judge",
        "criterion": "Clarity",
        "value": 0.8,
        "status": "scored",
        "comment": "plain words",
    }
    told = {name: failed[name] for name in ("respondent_id", "value", "status", "comment")}
    assert told == {
        "respondent_id": "birch", "value": None, "status": "failed", "comment": "timeout"
    }  # fmt: skip


def test_an_evaluator_that_failed_failed_for_each_of_its_criteria(tmp_path: Path) -> None:
    judgments = read_judgments(write(tmp_path / "r.json", report(source("Editor", model="lab/m"))))
    assert [row[:4] for row in ratings(judgments)] == [
        ("lab/m", "alder", "Clarity", 0.8), ("lab/m", "alder", "is_fair", 1)
    ]  # fmt: skip
    assert left_out(judgments) == {
        "tone: a word, and no score": 1, "failed": 2, "no response: the task failed": 1
    }  # fmt: skip
    assert judgments.model_of == {"lab/m": "lab/m"}
    (notice,) = judgments.reading.notices
    assert notice == "true and false, yes and no are read as 1 and 0: is_fair"


def test_an_evaluator_named_as_its_criterion_is_no_judge(tmp_path: Path) -> None:
    judgments = read_judgments(write(tmp_path / "r.json", report(source("Clarity"))))
    assert {row[2]: row[0] for row in ratings(judgments)} == {
        "Clarity": "pydantic-evals", "is_fair": "Clarity"
    }  # fmt: skip
    assert left_out(judgments)["failed"] == 2, "of is_fair as well"


def test_a_criterion_without_any_score_is_none(tmp_path: Path) -> None:
    # LangSmith makes such a column where an evaluator failed before it could say its criterion.
    judgments = read_judgments(write(tmp_path / "table.jsonl", LANGSMITH))
    assert left_out(judgments) == {
        "failed": 1,
        "failed: judge has no score in the file": 2,
        "no response: it ended in an error": 1,
    }


def test_feedback_of_persons_and_what_was_replaced_are_left_out(tmp_path: Path) -> None:
    mine = assessment(0.1, "HUMAN", "ann")
    expected = {"assessment_name": "answer", "source": mine["source"], "expectation": {"value": 1}}
    content = traces(
        [assessment("yes"), mine, expected], [assessment("no"), assessment(0.9, valid=False)]
    )
    judgments = read_judgments(write(tmp_path / "traces.jsonl", content))
    assert [row[3] for row in ratings(judgments)] == [1, 0]
    assert left_out(judgments) == {
        "Clarity: a person's feedback": 1, "Clarity: replaced by a later one": 1
    }  # fmt: skip


def test_a_trace_of_mlflow_is_read_with_the_texts_of_its_root(tmp_path: Path) -> None:
    attributes = {
        "mlflow.spanInputs": json.dumps({"question": ASKED}),
        "mlflow.spanOutputs": json.dumps(ANSWERS["birch"]),
    }
    info = {"trace_id": "tr-1", "state": "OK", "assessments": [assessment(2)]}
    spans = [{"parent_span_id": "r", "attributes": {}}, {"attributes": attributes}]
    trace = {"info": info, "data": {"spans": spans}}
    _, opened = open_human_file(write(tmp_path / "t.jsonl", [trace]), faults=[], for_judges=True)
    (row,) = opened.rows
    assert not isinstance(row, Excluded)
    assert row.values["prompt_text"] == ASKED
    assert row.values["response_text"] == ANSWERS["birch"]


@pytest.mark.parametrize("orient", ["split", "columns"])
def test_tables_that_pandas_writes_as_one_object_are_read(tmp_path: Path, orient: str) -> None:
    names = ("inputs", "respondent", "outputs", "clarity/v1/score", "clarity/v1/justification")
    cells = [[ASKED, who, text, 3 + n, "ok"] for n, (who, text) in enumerate(ANSWERS.items())]
    by_column = {
        name: {str(n): row[place] for n, row in enumerate(cells)}
        for place, name in enumerate(names)
    }
    content = {"columns": names, "data": cells} if orient == "split" else by_column
    judgments = read_judgments(write(tmp_path / "eval_results_table.json", content))
    assert ratings(judgments) == [
        ("mlflow", "1", "clarity", 3, "alder", "ok"), ("mlflow", "2", "clarity", 4, "birch", "ok")
    ]  # fmt: skip


def test_scorers_of_inspect_are_judges_by_their_models(tmp_path: Path) -> None:
    named = [{"name": "model_graded_qa", "options": {"model": one}} for one in ("m/1", "m/2")]
    first = {
        "model_graded_qa": {"value": "C", "explanation": "GRADE: C"},
        "model_graded_qa1": {"value": "P"},
        "rubric": {"value": {"depth": 3, "wit": 0.5}, "explanation": "by rule"},
        "words": {"value": "long"},
    }
    second = {
        "model_graded_qa": {"value": "I", "explanation": "Grade not found in model output: hm"},
        "model_graded_qa1": {"value": float("nan"), "explanation": "Grade not found in model"},
    }
    scorers = [*named, {"name": "rubric", "options": {}}]
    path = write(tmp_path / "log.json", inspect_log(first, second, scorers=scorers))
    judgments = read_judgments(path)
    assert [row[:4] for row in ratings(judgments)] == [
        ("m/1", "1_epoch_1", "model_graded_qa", 1),
        ("m/2", "1_epoch_1", "model_graded_qa", 0.5),
        ("rubric", "1_epoch_1", "depth", 3),
        ("rubric", "1_epoch_1", "wit", 0.5),
    ]
    assert left_out(judgments) == {"words: a word, and no score": 1, "failed": 4}
    assert judgments.reading.table.source.used() == ("lab/birch",)
    (notice,) = judgments.reading.notices
    assert "grades as C = 1, P = 0.5, I and N = 0: model_graded_qa" in notice


def test_a_scorer_of_inspect_without_a_model_grades_with_the_role_or_with_the_model_itself(
    tmp_path: Path,
) -> None:
    log = inspect_log(
        {"model_graded_fact": {"value": "C"}}, scorers=[{"name": "model_graded_fact"}]
    )
    assert read_judgments(write(tmp_path / "a.json", log)).model_of == {"lab/birch": "lab/birch"}
    log["eval"]["model_roles"] = {"grader": {"model": "lab/grader"}}
    assert read_judgments(write(tmp_path / "b.json", log)).model_of == {"lab/grader": "lab/grader"}


def test_a_sample_of_inspect_that_a_scorer_ended_keeps_its_response(tmp_path: Path) -> None:
    scorers = [{"name": "wit"}, {"name": "depth"}]
    both = {"wit": {"value": 1}, "depth": {"value": 2}}
    log = inspect_log(both, {"wit": {"value": 3}}, scorers=scorers, error={"message": "timeout"})
    judgments = read_judgments(write(tmp_path / "log.json", log))
    assert [row[1:4] for row in ratings(judgments)] == [
        ("1_epoch_1", "wit", 1), ("1_epoch_1", "depth", 2), ("2_epoch_1", "wit", 3)
    ]  # fmt: skip
    assert left_out(judgments) == {"failed": 1}
    log = inspect_log(both, {}, scorers=scorers, error={"message": "down"}, output={})
    judgments = read_judgments(write(tmp_path / "log.json", log))
    assert left_out(judgments) == {"no response: it has no output": 1}


def test_results_in_rows_of_their_own_are_of_one_response(tmp_path: Path) -> None:
    rows = [
        {"inputs": ASKED, "outputs": text, "respondent": who, "key": key, "score": score,
         "comment": None}
        for who, text in ANSWERS.items()
        for key, score in (("clarity", 0.5), ("is_fair", who == "alder"))
    ]  # fmt: skip
    judgments = read_judgments(write(tmp_path / "results.jsonl", rows))
    assert [row[1:5] for row in ratings(judgments)] == [
        ("1", "clarity", 0.5, "alder"), ("1", "is_fair", 1, "alder"),
        ("3", "clarity", 0.5, "birch"), ("3", "is_fair", 0, "birch"),
    ]  # fmt: skip


def test_a_name_that_several_responses_have_is_one_only_of_the_first(tmp_path: Path) -> None:
    run = deepeval({"alder": [metric(0.8)], "birch": [metric(0.4)]})
    for case in run["testCases"]:
        case["name"] = "park"
    assert [row[1] for row in ratings(read_judgments(write(tmp_path / "r.json", run)))] == [
        "park", "park-2"
    ]  # fmt: skip


def test_a_response_that_is_json_is_kept_as_it_is(tmp_path: Path) -> None:
    run = deepeval({"alder": [metric(0.8)], "birch": []})
    run["testCases"][0]["actualOutput"] = '{"answer": "no"}'
    _, opened = open_human_file(write(tmp_path / "r.json", run), faults=[], for_judges=True)
    assert [
        row.values["response_text"] for row in opened.rows if not isinstance(row, Excluded)
    ] == ['{"answer": "no"}']


def test_a_prompt_without_a_known_name_is_its_whole_content(tmp_path: Path) -> None:
    rows = [
        {**one, "inputs": {"park": "north", "respondent": one["outputs"]["model"]}}
        for one in OPENEVALS
    ]
    _, opened = open_human_file(write(tmp_path / "r.json", rows), faults=[], for_judges=True)
    assert {row.values["prompt_text"] for row in opened.rows if not isinstance(row, Excluded)} == {
        '{"park": "north"}'
    }


def test_turns_of_a_conversation_are_its_prompt_and_the_last_one_is_judged(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "Yes."}]
    case = {"name": "talk", "turns": turns, "metricsData": [metric(1)]}
    path = write(tmp_path / "r.json", {"testCases": [], "conversationalTestCases": [case]})
    _, opened = open_human_file(path, faults=[], for_judges=True)
    (row,) = opened.rows
    assert not isinstance(row, Excluded)
    assert (row.values["prompt_text"], row.values["response_text"]) == (ASKED, "Yes.")


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        (
            traces("none", [{"feedback": {"value": 1}}]),
            ["1: not readable as a record of mlflow", "2: not readable as"],
        ),  # type: ignore[arg-type]
        (
            {"testCases": [{"name": "a", "metricsData": [{}]}, {"name": "b", "metricsData": 3}]},
            ["1: not readable as a record of deepeval: it has no 'name'", "2: not readable as a"],
        ),
        (
            deepeval({"alder": [metric(1, name=[1])], "birch": [metric(1, evaluationModel=3)]}),
            ["1: not readable as a record of deepeval: a criterion, judge or model is no", "2: "],
        ),
        (inspect_log({"a": {"value": 1}}, scores=3), ["not readable as an Inspect log: sample 1"]),
        ({"columns": ["a/v1/score", "outputs"], "data": [[1, "x"], [1]]}, ["not readable as a"]),
    ],
)
def test_records_of_another_form_are_faults_with_their_places(
    tmp_path: Path, content: Any, faults: list[str]
) -> None:
    path = write(tmp_path / "saved.json", content)
    with pytest.raises(InputError) as caught:
        read_judgments(path).reading.require_sound()
    for fault in faults:
        assert fault in str(caught.value)


def test_a_plain_table_and_a_file_of_people_are_read_as_before(tmp_path: Path) -> None:
    rows = [{"response_id": "r1", "prompt_id": "p", "judge": "j", "key": "x", "score": 3}]
    assert read_judgments(write(tmp_path / "a.jsonl", rows)).reading.layout == "rows"
    path = write(tmp_path / "b.csv", LANGSMITH)
    with pytest.raises(InputError, match="no column names the rater"):
        read_humans(path)
    # The user may have a file of a tool read as a table.
    columns = {
        "layout": "rows",
        "columns": {"response_id": "id", "score": "feedback.Clarity"},
        "constants": {"rater_id": "panel"},
    }
    assert read_judgments(path, columns=columns).reading.layout == "rows"
