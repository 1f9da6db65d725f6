"""An evaluation of lm-evaluation-harness, run by its own command, is scored from its samples."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tools import needs

from areopagus.records.readers import ResponseSource

needs("lm_eval")

OPEN = """
task: open_civics
dataset_path: json
dataset_kwargs: {data_files: DOCS}
test_split: train
output_type: generate_until
doc_to_text: "Question: {{question}}"
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["END"]}
repeats: 2
filter_list:
- {name: first, filter: [{function: take_first}]}
- {name: letters, filter: [{function: regex, regex_pattern: "([a-z])"}, {function: take_first}]}
metric_list: [{metric: exact_match}]
"""
CHOICE = """
task: choice_civics
dataset_path: json
dataset_kwargs: {data_files: DOCS}
test_split: train
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: ["yes", "no"]
doc_to_target: 0
metric_list: [{metric: acc}]
"""


def test_samples_that_it_saved_are_responses_or_are_counted(tmp_path: Path) -> None:
    docs = tmp_path / "docs.jsonl"
    rows = [{"question": f"What of {at}?", "answer": "It depends."} for at in range(3)]
    docs.write_text("".join(json.dumps(one) + "\n" for one in rows))
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    for name, task in (("open", OPEN), ("choice", CHOICE)):
        (tasks / f"{name}.yaml").write_text(task.replace("DOCS", str(docs)))
    place = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "1"}
    subprocess.run(
        [sys.executable, "-m", "lm_eval", "run", "--model", "dummy",
         "--tasks", "open_civics,choice_civics", "--include_path", str(tasks),
         "--output_path", str(tmp_path / "out"), "--log_samples"],
        env={**os.environ, **place}, cwd=tmp_path, check=True, capture_output=True, timeout=300,
    )  # fmt: skip
    (path,) = (tmp_path / "out").glob("*/samples_open_civics_*.jsonl")
    (results,) = path.parent.glob("results_*.json")
    with ResponseSource(path) as source:
        source.check()
        found = list(source.rows())
    assert [one.response_id for one in found] == ["0_0", "0_1", "1_0", "1_1", "2_0", "2_1"]
    assert {one.response_text for one in found} == {"lol"}  # what its dummy model says
    assert found[2].prompt_text == "Question: What of 1?"
    assert found[2].respondent_id == json.loads(results.read_text())["model_name"]
    assert found[2].extra["task"] == "open_civics"
    assert found[2].extra["score_exact_match"] == 0

    (path,) = (tmp_path / "out").glob("*/samples_choice_civics_*.jsonl")
    rows_left_out = [json.loads(line) for line in path.read_text().splitlines()]
    answered = path.with_name("mixed.jsonl")
    (open_path,) = path.parent.glob("samples_open_civics_*.jsonl")
    first = open_path.read_text().splitlines()[0]
    others = [json.dumps({**one, "doc_id": 10 + one["doc_id"]}) for one in rows_left_out]
    answered.write_text("\n".join([first, *others]))
    with ResponseSource(answered) as source:
        summary = source.check()
    assert any(
        one.startswith("3 samples without a response left out (3: a log-likelihood was asked for")
        for one in summary.notices
    )
