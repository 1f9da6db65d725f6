"""Judgments as other tools save them: each tool judges six answers, and its file is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tools import needs

from areopagus.records.humans import read_judgments
from areopagus.records.prompt_units import prompt_text_id

QUESTIONS = ("Is a park public?", "May it close?", "Who decides?")
ANSWERED = (
    f"QUESTIONS = {QUESTIONS}"
    """
import json, uuid
from datetime import UTC, datetime
from pathlib import Path

ANSWERS = {(q, who): f"{who}: {q}" for q in QUESTIONS for who in ("alder", "birch")}

def judged(answer):
    if answer == "birch: May it close?":
        raise RuntimeError("the judge did not answer")
    return 0.75 if answer.startswith("alder") else 0.25
"""
)

PROGRAMS = {
    "deepeval": """
from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, ErrorConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

class Clarity(BaseMetric):
    threshold, evaluation_model, async_mode, __name__ = 0.5, "lab/judge", False, "clarity"

    def measure(self, case, *_, **__):
        self.score = judged(case.actual_output)
        self.success, self.reason = self.score >= 0.5, "plain words"
        return self.score

    async def a_measure(self, case, *_, **__):
        return self.measure(case)

    def is_successful(self):
        return self.success

cases = [LLMTestCase(input=q, actual_output=text, additional_metadata={"respondent": who})
         for (q, who), text in ANSWERS.items()]
evaluate(cases, [Clarity()], error_config=ErrorConfig(ignore_errors=True),
         async_config=AsyncConfig(run_async=False))
""",
    "pydantic_evals": """
from dataclasses import dataclass
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EvaluationReason, Evaluator
from pydantic_evals.reporting import EvaluationReportAdapter

@dataclass
class Editor(Evaluator):
    model: str
    strictness: int

    def evaluate(self, ctx):
        return {"clarity": EvaluationReason(judged(ctx.output), "plain words")}

cases = [Case(name=f"{q} {who}", inputs={"question": q, "respondent": who}) for q, who in ANSWERS]
data = Dataset(name="parks", cases=cases, evaluators=[Editor("lab/judge", 1)])
report = data.evaluate_sync(lambda i: ANSWERS[i["question"], i["respondent"]], progress=False)
Path("report.json").write_bytes(EvaluationReportAdapter.dump_json(report))
""",
    "openevals": """
from types import SimpleNamespace
from openevals.llm import create_llm_as_judge

class Client:
    def __init__(self):
        self.chat = self.completions = self

    def create(self, *, messages, **_):
        said = {"reasoning": "plain words", "score": judged(messages[-1]["content"])}
        message = SimpleNamespace(content=json.dumps(said))
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])

judge = create_llm_as_judge(
    prompt="{outputs}", feedback_key="clarity", judge=Client(), model="m", continuous=True
)
rows = []
for (q, who), text in ANSWERS.items():
    try:
        result = judge(outputs=text)
    except RuntimeError as error:
        result = {"key": "clarity", "score": None, "comment": str(error)}
    outputs = {"answer": text, "model": who}
    rows.append({"inputs": {"question": q}, "outputs": outputs, "results": [result]})
Path("judged.json").write_text(json.dumps(rows))
""",
    "langsmith": """
from langsmith import Client, evaluate
from langsmith.schemas import Example

def clarity(outputs):
    return {"key": "clarity", "score": judged(outputs["answer"])}

data = [Example(id=uuid.uuid4(), dataset_id=uuid.uuid4(), created_at=datetime.now(UTC),
                inputs={"question": q, "respondent": who}, outputs={}) for q, who in ANSWERS]
nobody = Client(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)
done = evaluate(lambda inputs: {"answer": ANSWERS[inputs["question"], inputs["respondent"]]},
                data=data, evaluators=[clarity], upload_results=False, client=nobody)
done.to_pandas().to_csv("table.csv", index=False)
""",
    "inspect_ai": """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import generate

@scorer(metrics=[mean()])
def clarity():
    async def judge(state, target):
        return Score(value=judged(state.output.completion), explanation="plain words")
    return judge

for who in ("alder", "birch"):
    def answer(messages, *_, who=who):
        output = ModelOutput.from_content("mockllm/" + who, ANSWERS[messages[-1].text, who])
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    parks = Task(dataset=[Sample(input=q) for q in QUESTIONS], solver=generate(), scorer=clarity(),
                 model=get_model("mockllm/" + who, custom_outputs=answer), fail_on_error=False)
    eval(parks, log_dir="logs", display="none")
""",
    "mlflow": """
import mlflow
from mlflow.entities import AssessmentSource, Feedback

mlflow.set_tracking_uri("sqlite:///mlflow.db")
mlflow.set_experiment("parks")

@mlflow.genai.scorer
def clarity(outputs):
    judge = AssessmentSource("LLM_JUDGE", "lab/judge")
    return Feedback(value=judged(outputs), rationale="plain words", source=judge)

data = [{"inputs": {"question": q}, "outputs": text, "tags": {"respondent": who}}
        for (q, who), text in ANSWERS.items()]
table = mlflow.genai.evaluate(data=data, scorers=[clarity]).result_df
table.to_json("table.jsonl", orient="records", lines=True)
""",
}


@pytest.mark.parametrize(
    ("tool", "pattern", "layout", "judge"),
    [
        ("deepeval", "results/*.json", "deepeval", "lab/judge"),
        ("deepeval", ".deepeval/.latest_run_full.json", "deepeval", "lab/judge"),
        ("pydantic_evals", "report.json", "pydantic-evals", "lab/judge"),
        ("openevals", "judged.json", "openevals", "openevals"),
        ("langsmith", "table.csv", "langsmith", "langsmith"),
        ("inspect_ai", "logs/*.eval", "inspect", "inspect"),
        ("mlflow", "table.jsonl", "mlflow", "lab/judge"),
    ],
)
def test_a_file_that_a_tool_saved_is_read(
    tmp_path: Path, tool: str, pattern: str, layout: str, judge: str
) -> None:
    needs(tool)
    own = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    own |= {"MLFLOW_DISABLE_TELEMETRY": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
    own |= {"DEEPEVAL_RESULTS_FOLDER": "results", "LANGSMITH_TRACING": "false"}
    command = [sys.executable, "-c", ANSWERED + PROGRAMS[tool]]
    done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    scores: dict[tuple[Any, ...], float] = {}
    n_failed = 0
    for path in sorted(tmp_path.glob(pattern)):
        reading = read_judgments(path).reading.require_sound()
        assert reading.layout == layout
        assert reading.table.criterion.used() == ("clarity",)
        assert reading.table.rater_id.used() == (judge,)
        table = reading.table
        cells = (table.prompt_id.texts(), table.source.texts(), table.value, table.comment.texts())
        for prompt, respondent, value, comment in zip(*cells, strict=True):
            scores[prompt, respondent.removeprefix("mockllm/")] = value
            assert comment == (None if tool == "langsmith" else "plain words")
        n_failed += sum(one.n for one in reading.exclusions if one.reason == "failed")
    prompts = [prompt_text_id(one) for one in QUESTIONS]
    if tool == "inspect_ai":
        prompts = ["1", "2", "3"]
    wanted = {(prompt, who): score for prompt in prompts for who, score in
              (("alder", 0.75), ("birch", 0.25))}  # fmt: skip
    del wanted[prompts[1], "birch"]
    assert scores == wanted
    assert n_failed == 1
