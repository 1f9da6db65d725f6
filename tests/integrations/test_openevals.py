"""openevals and LangSmith: their runner with the panel as its evaluator, without a network."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tools import needs

needs("openevals")

from langsmith import Client, aevaluate, evaluate
from langsmith.schemas import Example
from openevals.types import SimpleAsyncEvaluator, SimpleEvaluator

from areopagus import Panel
from areopagus.errors import InputError, ProviderError
from areopagus.integrations.evaluator import PanelEvaluator
from areopagus.integrations.openevals import create_async_panel_evaluator, create_panel_evaluator
from areopagus.run import Run
from areopagus.testing import ScriptedBackend

ANSWERS = {"Should voting be compulsory?": "Perhaps.", "What is fair?": "UNREAD", "Why?": ""}


@pytest.fixture
def evaluator(tmp_path: Path) -> Iterator[PanelEvaluator]:
    def answer(request: Any) -> Any:
        is_unread = "UNREAD" in str(request.messages)
        return ProviderError("bad_request", "no") if is_unread else {"overall": 7}

    panel = Panel(ScriptedBackend(answer), mode="holistic", ledger=tmp_path / "ledger.sqlite")
    with PanelEvaluator(panel, out=tmp_path / "run") as opened:
        yield opened


def examples() -> list[Example]:
    data_set = uuid.uuid4()
    return [
        Example(
            id=uuid.uuid4(),
            dataset_id=data_set,
            inputs={"question": question},
            outputs={"answer": "no right one"},
            created_at=datetime.now(UTC),
        )
        for question in ANSWERS
    ]


def nobody() -> Client:
    """A client of a LangSmith at which nobody answers."""
    return Client(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)


def target(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": ANSWERS[inputs["question"]]}


async def async_target(inputs: dict[str, Any]) -> dict[str, Any]:
    return target(inputs)


def check(rows: list[Any], table: Any) -> None:
    found = {
        row["example"].inputs["question"]: {
            one.key: (one.score, one.comment) for one in row["evaluation_results"]["results"]
        }
        for row in rows
    }
    scored, inconclusive, screened = (found[question] for question in ANSWERS)
    assert {key: score for key, (score, _) in scored.items()} == {"composite": 7, "overall": 7}
    assert "10 scored of 10 planned judgments" in scored["composite"][1]
    assert [score for score, _ in inconclusive.values()] == [None, None]
    assert "no score: inconclusive: no judgment was scored" in inconclusive["composite"][1]
    assert [score for score, _ in screened.values()] == [None, None]
    assert "no score: screened: empty" in screened["composite"][1]
    # LangSmith's own table: what has no score is missing there, and no part of its mean.
    assert table["feedback.composite"].count() == 1
    assert table["feedback.composite"].mean() == 7


def test_langsmith_evaluates_with_it(evaluator: PanelEvaluator) -> None:
    judge = create_panel_evaluator(evaluator)
    done = evaluate(
        target, data=examples(), evaluators=[judge], upload_results=False, client=nobody()
    )
    check(list(done), done.to_pandas())
    evaluator.save()
    assert len(Run(evaluator.out).scores) == 3


def test_langsmith_evaluates_with_its_asynchronous_twin(evaluator: PanelEvaluator) -> None:
    async def evaluated() -> tuple[list[Any], Any]:
        judge = create_async_panel_evaluator(evaluator)
        done = await aevaluate(
            async_target, data=examples(), evaluators=[judge], upload_results=False, client=nobody()
        )
        return [row async for row in done], done.to_pandas()

    check(*asyncio.run(evaluated()))


def test_it_is_called_as_openevals_calls_its_own(evaluator: PanelEvaluator) -> None:
    judge: SimpleEvaluator = create_panel_evaluator(evaluator, prefix="panel_")
    twin: SimpleAsyncEvaluator = create_async_panel_evaluator(evaluator, prefix="panel_")
    asked = [{"role": "user", "content": "What is fair?"}]
    answered = {"messages": [*asked, {"role": "assistant", "content": "Each their due."}]}
    found = judge(inputs=asked, outputs=answered, reference_outputs="x", other=1)
    assert [(one["key"], one["score"]) for one in found] == [
        ("panel_composite", 7), ("panel_overall", 7)
    ]  # fmt: skip
    assert found[0]["metadata"]["n_scored"] == 10
    assert found == asyncio.run(twin(inputs=asked, outputs=answered))


def test_a_text_that_is_not_found_is_an_error_and_no_score(evaluator: PanelEvaluator) -> None:
    judge = create_panel_evaluator(evaluator)
    with pytest.raises(InputError, match="outputs: must be text"):
        judge(inputs="Why?", outputs={"verdict": 3})
    done = evaluate(
        lambda inputs: {"verdict": 3},
        data=examples()[:1],
        evaluators=[judge],
        upload_results=False,
        client=nobody(),
    )
    (row,) = done
    (result,) = row["evaluation_results"]["results"]
    assert result.score is None
    assert "outputs: must be text" in result.comment


def test_a_test_of_langsmith_runs_with_it_and_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "from areopagus.integrations.openevals import create_panel_evaluator\n"
        "@pytest.mark.langsmith\n"
        "def test_it():\n"
        "    found = create_panel_evaluator()(inputs='Why?', outputs='Because it is so.')\n"
        "    assert found[0]['score'] is not None\n"
    )
    monkeypatch.setenv("LANGSMITH_TEST_TRACKING", "false")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
