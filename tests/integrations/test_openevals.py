"""openevals and LangSmith: their runner with the panel as its evaluator, without a network."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tools import needs, programs_of

needs("openevals")

from langsmith import Client, aevaluate, evaluate  # noqa: E402
from langsmith.schemas import Example  # noqa: E402
from openevals.types import SimpleAsyncEvaluator, SimpleEvaluator  # noqa: E402

from areopagus import Panel  # noqa: E402
from areopagus.errors import InputError, ProviderError  # noqa: E402
from areopagus.integrations.evaluator import PanelEvaluator  # noqa: E402
from areopagus.integrations.openevals import create_async_panel_evaluator, create_panel_evaluator  # noqa: E402
from areopagus.run import Run  # noqa: E402
from areopagus.testing import ScriptedBackend  # noqa: E402

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
    assert found[0]["metadata"]["run"] == "run"  # and not the path on this machine
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


TRACKED = """
import json, uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest
from langsmith import Client
from langsmith.schemas import Dataset, TracerSession

from areopagus.integrations.openevals import create_panel_evaluator


class Recording(Client):
    # Keeps feedback in a file in place of sending it.

    def has_dataset(self, **_):
        return False

    def create_dataset(self, dataset_name, **_):
        return Dataset(id=uuid.uuid4(), name=dataset_name, created_at=datetime.now(UTC))

    def create_project(self, project_name, *, reference_dataset_id=None, **_):
        now, of = datetime.now(UTC), reference_dataset_id
        made = {"id": uuid.uuid4(), "tenant_id": uuid.uuid4(), "name": project_name}
        return TracerSession(**made, start_time=now, reference_dataset_id=of)

    def create_feedback(self, run_id=None, key="unnamed", **told):
        row = {"key": key, "score": told.get("score"), "comment": told.get("comment")}
        with Path("feedback.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\\n")

    def update_project(self, *_, **__):
        pass


client = Recording(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False)


@pytest.mark.langsmith(client=client, test_suite_name="panel")
@pytest.mark.parametrize("answer", ["Because it is so.", ""])
def test_it(answer):
    create_panel_evaluator()(inputs="Why?", outputs=answer)
"""


@pytest.mark.parametrize("is_tracked", [False, True])
def test_a_test_of_langsmith_logs_the_scores_as_its_feedback(
    is_tracked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_it.py").write_text(TRACKED)
    monkeypatch.setenv("LANGSMITH_TEST_TRACKING", str(is_tracked).lower())
    monkeypatch.setenv("LANGSMITH_TRACING", str(is_tracked).lower())
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")  # nobody answers there
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "2 passed" in done.stdout, done.stdout + done.stderr
    kept = tmp_path / "feedback.jsonl"
    assert kept.exists() == is_tracked
    if is_tracked:
        rows = [json.loads(line) for line in kept.read_text().splitlines()]
        found = [row for row in rows if row["key"] == "composite"]  # in any order
        scored, empty = sorted(found, key=lambda row: row["score"] is None)
        assert scored["score"] >= 1
        assert empty["score"] is None
        assert empty["comment"].startswith("no score: screened: empty")
        assert len(rows) == 2 * (6 + 1), "six scores a test, and LangSmith's own"


@pytest.mark.parametrize("program", programs_of("evaluators", "openevals"))
def test_the_programs_of_the_page_run(program: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert b"composite 1." in done.stdout
    assert list((tmp_path / "runs").glob("*/report.html"))
