"""Tasks of an evaluation for test_inspect.py; Inspect loads this file itself."""

from __future__ import annotations

import os
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Scorer, includes
from inspect_ai.solver import generate, system_message

from areopagus.integrations.inspect_ai import areopagus_panel

TALK = [
    ChatMessageSystem(content="You are a historian."),
    ChatMessageUser(content="Was the reform of 1832 a revolution?"),
    ChatMessageAssistant(content="In part."),
    ChatMessageUser(content="Why only in part?"),
]


def answer(messages: list[Any], *_: Any) -> ModelOutput:
    """A model's reply by rule: an error, nothing, thoughts before it, or a sentence."""
    asked = messages[-1].text
    if "FAIL" in asked:
        raise RuntimeError("the endpoint is down")
    said = "" if "EMPTY" in asked else f"Because {asked.lower()} touches rights and duties; 1."
    output = ModelOutput.from_content("mockllm/model", said)
    if "THINK" in asked:
        parts = [ContentReasoning(reasoning="secret thoughts"), ContentText(text=said)]
        output.choices[0].message.content = parts
    output.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return output


def samples(n: int) -> list[Sample]:
    """Plain questions, and among them one of each kind that a reader may trip over."""
    kinds: list[Sample] = [
        Sample(id="talk", input=TALK, target="x"),
        Sample(id="choice/ü 1", input="Which?", choices=["duty", "right"], target="A"),
        Sample(id=3, input="THINK about voting", target="1", metadata={"topic": "vote", "n": 2}),
        Sample(id=4, input="EMPTY", target="1"),
        Sample(id=5, input="FAIL", target="1"),
    ]
    kinds += [Sample(id=i, input=f"Question number {i}?", target="1") for i in range(6, n + 1)]
    return kinds[:n]


def made(n: int, epochs: int, scorers: list[Scorer]) -> Task:
    return Task(
        dataset=samples(n),
        solver=[system_message("Be brief."), generate()],
        scorer=[includes(), *scorers],
        epochs=Epochs(epochs, "mean"),
        model=get_model("mockllm/model", custom_outputs=answer),
        fail_on_error=False,
        name="areopagus-test",
    )


@task
def plain(n: int = 150, epochs: int = 2) -> Task:
    return made(n, epochs, [])


@task
def embedded() -> Task:
    return made(8, 2, [areopagus_panel(out="panel")])


@task
def capped() -> Task:
    judge = {
        "model": "openai/judge",
        "api_base": os.environ["JUDGE_BASE"],
        "prices": {"input": 10.0, "output": 10.0},
        "max_tokens": 100,
    }
    return made(
        8, 1, [areopagus_panel(models=[judge], personas=["historian"], max_cost=0.3, out="panel")]
    )


@task
def by_role(n: int = 8, max_cost: float | None = None) -> Task:
    who = ["historian", "ethicist"]
    return made(n, 1, [areopagus_panel(personas=who, out="panel", max_cost=max_cost)])
