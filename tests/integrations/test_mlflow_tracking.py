"""A run logged in a local store of MLflow, read back by its own client."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from processes import areopagus
from tools import needs
from tracked_run import SECRET_TEXT, made_run

needs("mlflow")

from mlflow.tracking import MlflowClient  # noqa: E402

from areopagus.errors import ProviderError  # noqa: E402
from areopagus.integrations.track import track  # noqa: E402
from areopagus.integrations.tracking import tracked_run  # noqa: E402
from areopagus.run import Run  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return made_run(folder)


@pytest.fixture(scope="module")
def store(folder: Path) -> str:
    return f"sqlite:///{folder / 'mlflow.db'}"


def test_a_run_is_read_back_as_it_was_told(run: Run, store: str) -> None:
    sent = track(run, f"mlflow:{store}", experiment="pilots")
    assert sent.answer.startswith("Logged ")
    client = MlflowClient(store)
    experiment = client.get_experiment_by_name("pilots")
    assert experiment is not None
    (logged,) = client.search_runs([experiment.experiment_id])
    told = tracked_run(run)
    assert logged.info.status == "FINISHED"
    assert logged.info.run_name == "pilot"
    assert logged.data.metrics == pytest.approx(dict(told.metrics))
    assert not any(math.isnan(value) for value in logged.data.metrics.values())
    assert logged.data.params == {name: str(value) for name, value in told.parameters.items()}
    assert logged.data.tags.items() >= told.tags.items()
    assert logged.data.tags["mlflow.note.content"] == told.description
    assert not {"mlflow.user", "mlflow.source.name"} & set(logged.data.tags)
    files = {one.path for one in client.list_artifacts(logged.info.run_id)}
    assert files == {"estimates.csv", "scores.csv", "judgments.parquet"}
    path = client.download_artifacts(logged.info.run_id, "estimates.csv")
    assert len(pd.read_csv(path)) == told.n_estimates


def test_the_same_figures_are_logged_once_and_later_ones_take_their_place(
    run: Run, store: str
) -> None:
    track(run, f"mlflow:{store}", experiment="twice")
    again = track(run, f"mlflow:{store}", experiment="twice")
    assert "is logged already, with the same figures" in again.answer
    client = MlflowClient(store)
    experiment = client.get_experiment_by_name("twice")
    assert experiment is not None
    (first,) = client.search_runs([experiment.experiment_id])
    before = run.record["state"]
    run.record["state"] = "budget"  # as if it had gone on
    track(run, f"mlflow:{store}", experiment="twice", texts=True)
    run.record["state"] = before
    newer, older = client.search_runs([experiment.experiment_id], order_by=["start_time DESC"])
    assert older.info.run_id == first.info.run_id
    assert older.data.tags["areopagus.superseded_by"] == newer.info.run_id
    assert "areopagus.superseded_by" not in newer.data.tags
    page = client.download_artifacts(newer.info.run_id, "report.html")
    assert SECRET_TEXT in Path(page).read_text("utf-8")


def test_what_breaks_off_is_marked_and_logged_anew(
    run: Run, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_artifact", full)
        with pytest.raises(ProviderError, match="no space left"):
            track(run, f"mlflow:{store}", experiment="broken")
    client = MlflowClient(store)
    experiment = client.get_experiment_by_name("broken")
    assert experiment is not None
    (broken,) = client.search_runs([experiment.experiment_id])
    assert broken.info.status == "FAILED"
    assert track(run, f"mlflow:{store}", experiment="broken").answer.startswith("Logged ")


def test_what_mlflow_refuses_is_an_error(run: Run) -> None:
    with pytest.raises(ProviderError, match="MLflow"):
        track(run, "mlflow:nonsense://x")


def test_the_command_logs_it(run: Run, folder: Path, store: str) -> None:
    done = areopagus(
        "track", str(run.path), "--to", f"mlflow:{store}", "--json", "-", folder=folder
    )
    content = json.loads(done.stdout)
    assert content["headline"][0].startswith("Logged ")
    assert content["place"].startswith("experiment areopagus, run ")
