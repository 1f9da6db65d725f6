"""Users' own files are read at once: their columns are known by their usual names, and told."""

import csv
import gzip
import json
from itertools import islice
from pathlib import Path

import pandas as pd
import pytest

from areopagus import Panel, respond, score_prompts
from areopagus.auditing.supplied import AnswerSource
from areopagus.errors import InputError
from areopagus.records.prompt_units import prompt_text_id
from areopagus.records.readers import PromptSource, ResponseSource
from areopagus.records.types import Sample
from areopagus.stress_test.responses import StressSource

NO_IDS = (
    "No prompt_id: it is made from the prompt's text.",
    "No response_id: it is made from prompt_id and respondent_id.",
)
P = prompt_text_id("Why?")


def read(rows: object, **options: object) -> tuple[list[Sample], tuple[str, ...]]:
    """The rows of a source, and what is told of it."""
    with ResponseSource(rows, **options) as source:  # type: ignore[arg-type]
        notices = source.check().notices
        return list(source.rows()), notices


def refusal(rows: object) -> str:
    with pytest.raises(InputError) as raised, ResponseSource(rows) as source:
        source.check()
    return str(raised.value)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (("question", "answer", "model"),
         "Read question as prompt_text, answer as response_text, model as respondent_id."),
        (("prompt", "response", "system"),
         "Read prompt as prompt_text, response as response_text, system as respondent_id."),
        (("INPUT", "Output", "Model Name"),
         "Read INPUT as prompt_text, Output as response_text, Model Name as respondent_id."),
        (("Prompt Text", "response-text", "respondentId"),
         "Read Prompt Text as prompt_text, response-text as response_text, respondentId as resp"),
        (("instruction", "completion", "model_id"),
         "Read instruction as prompt_text, completion as response_text, model_id as resp"),
    ],
)  # fmt: skip
def test_usual_names_of_columns_are_recognised_and_the_mapping_is_told(
    tmp_path: Path, names: tuple[str, str, str], sentence: str
) -> None:
    cells = [("Why?", "Because.", "a"), ("Why?", "It is so.", "b"), ("How?", "Thus.", "a")]
    table = [dict(zip(names, row, strict=True)) | {"topic": "x"} for row in cells]
    with (tmp_path / "r.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*names, "topic"])
        writer.writeheader()
        writer.writerows(table)
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    for source in (tmp_path / "r.csv", tmp_path / "r.jsonl", pd.DataFrame(table), table):
        rows, notices = read(source)
        assert [(r.prompt_text, r.response_text, r.respondent_id) for r in rows] == cells
        assert [row.response_id for row in rows][:2] == [f"{P}|a", f"{P}|b"]
        assert rows[0].extra == {"topic": "x"}
        assert notices[0].startswith(sentence)
        assert notices[1:] == NO_IDS


def test_spelled_ids_are_ids_and_our_own_name_wins_over_every_other() -> None:
    rows, notices = read([{"Prompt ID": 1, "Response-ID": "r", "Prompt": "Why?", "answer": "A"}])
    assert (rows[0].prompt_id, rows[0].response_id) == ("1", "r")
    assert notices[0].endswith("Prompt ID as prompt_id, Response-ID as response_id.")
    ours = {"prompt_text": "Why?", "response_text": "A", "respondent_id": "m"}
    row = {**ours, "question": "Not it", "output": "B", "model": "judge", "prompt_id": "p",
           "response_id": "r"}  # fmt: skip
    rows, notices = read([row])
    assert (rows[0].prompt_text, rows[0].response_text, rows[0].respondent_id) == ("Why?", "A", "m")
    assert notices == ()
    rows, notices = read([{"Prompt Text": "Why?", "question": "Not it", "response_text": "A"}])
    assert rows[0].prompt_text == "Why?"
    assert notices[0] == "Read Prompt Text as prompt_text."


def test_two_candidates_for_a_column_are_refused_with_what_to_type() -> None:
    row = {"prompt": "1", "question": "Why?", "output": "A", "response": "B", "model": "m",
           "system": "s"}  # fmt: skip
    message = refusal([row])
    assert (
        "prompt_text: prompt and question could each be this column; choose with "
        "`columns={'prompt_text': 'prompt'}` or `columns={'prompt_text': 'question'}`" in message
    )
    assert "response_text: output and response could each be" in message
    assert "respondent_id: model and system could each be" in message
    columns = {"prompt_text": "question", "response_text": "response", "respondent_id": "model"}
    rows, notices = read([row], columns=columns)
    assert (rows[0].prompt_text, rows[0].response_text) == ("Why?", "B")
    assert rows[0].extra == {"prompt": "1", "output": "A", "system": "s"}
    assert notices == NO_IDS


def test_a_column_without_a_value_is_no_candidate() -> None:
    rows, notices = read(
        [{"response_id": "", "prompt": None, "question": "Why?", "answer": "A", "output": ""}] * 2
    )
    assert (rows[0].prompt_text, rows[0].response_text) == ("Why?", "A")
    # The same prompt and respondent twice are two responses.
    assert [row.response_id for row in rows] == [P, f"{P}#1"]
    assert notices[0] == "Read question as prompt_text, answer as response_text."
    # Responses may all be empty; an id that only some rows lack has been lost.
    rows, _ = read([{"prompt": "Why?", "answer": ""}])
    assert rows[0].response_text == ""
    lost = {"prompt": "Why?", "answer": "A", "response_id": ""}
    assert "response_id: must not be empty" in refusal([lost, lost | {"response_id": "r"}])


def test_system_prompts_are_no_respondents() -> None:
    row = {"system": "You are a helpful assistant.", "prompt": "Why?", "answer": "A"}
    rows, notices = read([row])
    assert (rows[0].respondent_id, rows[0].extra) == ("unnamed", {"system": row["system"]})
    assert (
        "system was not read as respondent_id: it does not hold names. If it does, add "
        "`columns={'respondent_id': 'system'}`." in notices
    )
    rows, notices = read([row | {"model": "m"}])
    assert rows[0].respondent_id == "m"
    assert not any("was not read" in notice for notice in notices)
    rows, _ = read([row | {"system": "Claude Sonnet 4.5"}])
    assert rows[0].respondent_id == "Claude Sonnet 4.5"
    rows, notices = read([{"prompt": "Why?", "answer": "A", "model": {"name": "m"}}])
    assert rows[0].respondent_id == "unnamed"
    assert "model was not read as respondent_id: it does not hold names." in notices


def test_an_id_names_the_response_where_it_differs_from_row_to_row() -> None:
    asked = {"question": "Why?", "answer": "A"}
    rows, notices = read([asked | {"id": k, "prompt_id": "p"} for k in (7, 8)])
    assert [(row.response_id, row.prompt_id) for row in rows] == [("7", "p"), ("8", "p")]
    assert notices[0].endswith("id as response_id.")
    rows, notices = read([asked | {"ID": 7, "model": name} for name in "ab"])
    assert [row.response_id for row in rows] == [f"{P}|a", f"{P}|b"]
    assert rows[0].extra == {"ID": 7}
    assert (
        "ID was not read as response_id: its values repeat or are missing. If it names the "
        "prompt, add `columns={'prompt_id': 'ID'}`." in notices
    )
    rows, _ = read([asked | {"id": 7, "model": n} for n in "ab"], columns={"prompt_id": "id"})
    assert [row.response_id for row in rows] == ["7|a", "7|b"]
    rows, _ = read([asked | {"id": 7, "response_id": "r"}])
    assert (rows[0].response_id, rows[0].prompt_id) == ("r", P)


def test_chat_messages_are_read_as_text_and_counted() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    row = {"input": chat, "output": [{"role": "assistant", "content": "So."}]}
    rows, notices = read([row, {"input": "How?", "output": "Thus."}])
    assert rows[0].prompt_text == "System: Be brief.\n\nUser: Why?"
    assert [row.response_text for row in rows] == ["So.", "Thus."]
    assert "input holds chat messages in 1 of 2 rows: each cell is read as one text." in notices
    # What is neither text nor messages is a fault under the user's own name for the column.
    assert "input: must be text, got an object" in refusal([{"input": {"a": 1}, "output": "A"}])


def test_made_ids_are_the_same_whatever_other_rows_the_file_has() -> None:
    table = [{"question": q, "answer": "A", "model": m} for q in ("Why?", "How?") for m in "ab"]
    ids = [row.response_id for row in read(table)[0]]
    assert len(set(ids)) == 4
    assert [row.response_id for row in read(table[2:])[0]] == ids[2:]
    with ResponseSource(table) as source:  # also without a check before
        assert [row.response_id for row in source.rows()] == ids


def test_prompts_items_and_framed_responses_have_usual_names_too() -> None:
    with PromptSource([{"Question": "Why?", "id": 3, "answer": "gold"}]) as source:
        assert source.check().notices == ("Read Question as prompt_text, id as prompt_id.",)
        assert next(source.rows()).extra == {"answer": "gold"}
    with AnswerSource([{"prompt_id": "i1", "answer": "A", "model": "m"}]) as answers:
        sentence = "Read answer as response_text, model as respondent_id, prompt_id as item_id."
        assert answers.check().notices == (sentence,)
    table = [
        {"prompt_id": "p", "model": turn, "question": turn, "answer": "A", "who": "m"}
        for turn in ("baseline", "pressed")
    ]
    # The column that holds the condition is not taken for the respondent.
    columns = {"respondent_id": "who"}
    with StressSource(table, condition="model", columns=columns) as framed:
        framed.check()
        rows = list(framed.rows())
    assert [(row.condition, row.target) for row in rows] == [("baseline", "m"), ("pressed", "m")]
    assert rows[1].response_id == "p|m|pressed"


def test_from_python_the_record_and_the_result_hold_what_was_read(tmp_path: Path) -> None:
    sentence = "Read Question as prompt_text."
    prompts = pd.DataFrame({"Question": [f"Why {n}?" for n in range(2)]})
    run = score_prompts(prompts, "offline/respondent", out=tmp_path / "answered")
    assert sentence in run.record["notices"]
    assert sentence in respond(prompts, "offline/respondent", tmp_path / "r.csv").notices
    with Panel() as panel:
        table = pd.DataFrame({"prompt": ["Why?"], "answer": ["So."], "model": ["m"]})
        judged = panel.score_many(table, out=tmp_path / "run")
    told = "Read prompt as prompt_text, answer as response_text, model as respondent_id."
    assert told in judged.record["notices"]
    assert judged.scores["respondent_id"].tolist() == ["m"]


def test_real_answers_are_read_under_foreign_names(shared_data: Path, tmp_path: Path) -> None:
    """The first conversations of SYCON-StressTrial, as a user would keep them."""
    source = shared_data / "sycon" / "responses.csv.gz"
    if not source.is_file():
        pytest.skip("the conversations of SYCON-StressTrial are not beside this checkout")
    with gzip.open(source, "rt", encoding="utf-8", newline="") as file:
        table = list(islice(csv.DictReader(file), 30))
    names = {"prompt_text": "Question", "response_text": "Answer", "respondent_id": "Model"}
    path = tmp_path / "mine.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*names.values()])
        writer.writeheader()
        writer.writerows({names[ours]: row[ours] for ours in names} for row in table)
    rows, notices = read(path)
    assert [getattr(row, ours) for row in rows for ours in names] == [
        row[ours] for row in table for ours in names
    ]
    assert notices[0].startswith("Read Question as prompt_text, Answer as response_text, Model as")
