"""MLflow: `mlflow.genai.evaluate` with the panel as a scorer, and its store read back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tools import needs, programs_of

needs("mlflow")

import mlflow  # noqa: E402

from areopagus import Panel  # noqa: E402
from areopagus.errors import ProviderError  # noqa: E402
from areopagus.integrations.evaluator import PanelEvaluator  # noqa: E402
from areopagus.integrations.mlflow_scorer import panel_scorer  # noqa: E402
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


@pytest.fixture(autouse=True, scope="module")
def _store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("mlflow")  # it takes seconds to make one
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.chdir(folder)
        mlflow.set_tracking_uri(f"sqlite:///{folder / 'mlflow.db'}")
        mlflow.set_experiment("panel")
        yield


def kept(run_id: str) -> dict[str, dict[str, Any]]:
    """Prompt to name of feedback to feedback, as the store has them."""
    traces = mlflow.search_traces(run_id=run_id, return_type="list")
    return {
        json.loads(trace.data.request)["question"]: {
            one.name: one for one in trace.info.assessments
        }
        for trace in traces
    }


def test_an_evaluation_has_its_feedback_in_the_store(evaluator: PanelEvaluator) -> None:
    done = mlflow.genai.evaluate(
        data=[{"inputs": {"question": question}} for question in ANSWERS],
        predict_fn=lambda question: ANSWERS[question],
        scorers=[panel_scorer(evaluator)],
    )
    scored, inconclusive, screened = (kept(done.run_id)[question] for question in ANSWERS)
    composite = scored["composite"]
    assert (composite.value, composite.error, scored["overall"].value) == (7, None, 7)
    assert (composite.source.source_type, composite.source.source_id) == (
        "LLM_JUDGE", "areopagus: scripted/judge"
    )  # fmt: skip
    assert "10 scored of 10 planned judgments" in composite.rationale
    assert composite.metadata["n_planned"] == "10"
    assert composite.metadata["run"] == "run"  # and not the path on this machine
    for found, code in ((inconclusive, "INCONCLUSIVE"), (screened, "SCREENED")):
        assert {one.value for one in found.values()} == {None}
        assert {one.error.error_code for one in found.values()} == {code}
    assert "no judgment was scored" in inconclusive["composite"].error.error_message
    # Its own summary is over what has a value.
    assert done.metrics == {"composite/mean": 7, "overall/mean": 7}
    assert mlflow.get_run(done.run_id).data.metrics == {"composite/mean": 7, "overall/mean": 7}


def test_an_evaluation_without_a_single_score_has_no_mean(evaluator: PanelEvaluator) -> None:
    done = mlflow.genai.evaluate(
        data=[{"inputs": {"question": "Why?"}, "outputs": ""}, {"inputs": {"question": "What?"}}],
        scorers=[panel_scorer(evaluator, name="judges", prefix="panel_")],
    )
    assert done.metrics == {}
    found = kept(done.run_id)
    assert found["Why?"]["panel_composite"].error.error_code == "SCREENED"
    assert "outputs: must be text" in found["What?"]["judges"].error.error_message


@pytest.mark.parametrize("program", programs_of("evaluators", "mlflow"))
def test_the_programs_of_the_page_run(program: str, tmp_path: Path) -> None:
    # MLflow tells processes that it starts of its store and experiment.
    own = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_")}
    own["MLFLOW_DISABLE_TELEMETRY"] = "true"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert list((tmp_path / "runs").glob("*/report.html"))
