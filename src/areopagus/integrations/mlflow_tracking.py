"""A run in MLflow, by its own client.

A run with the same figures is logged once. One that went on since is logged anew, as parameters of
MLflow cannot change; the earlier one gets the tag `areopagus.superseded_by`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ProviderError
from ..judges.models.credentials import redact
from .tracking import TrackedRun, missing

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient  # pyright: ignore[reportMissingImports]

_CONTENT = "areopagus.content"
_SUPERSEDED = "areopagus.superseded_by"
_MOST_METRICS, _MOST_PARAMETERS, _MOST_TAGS = 1000, 100, 100
"""Of one request, by MLflow's own rules."""


def log_run(
    told: TrackedRun, files: Mapping[str, Path], uri: str | None, experiment: str
) -> tuple[str, bool]:
    """Logs it, and returns where it stands, and whether it is new there.

    Args:
        told: of the run.
        files: name to file.
        uri: of the tracking server or store; None: what MLFLOW_TRACKING_URI says.
        experiment: by its name; made where there is none.

    Raises:
        InputError: MLflow is not installed.
        ProviderError: the store did not take it; a run that was begun is marked as failed.
    """
    try:
        from mlflow.exceptions import MlflowException  # pyright: ignore[reportMissingImports]
        from mlflow.tracking import MlflowClient  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise missing("mlflow", error) from error

    try:
        client = MlflowClient(tracking_uri=uri)
        return _logged(client, told, files, experiment)
    except (MlflowException, OSError) as error:  # files go by requests, whose errors are OSErrors
        raise ProviderError("bad_request", redact(f"MLflow: {error}")) from error


def _logged(
    client: MlflowClient, told: TrackedRun, files: Mapping[str, Path], experiment: str
) -> tuple[str, bool]:
    found = client.get_experiment_by_name(experiment)
    number = found.experiment_id if found else client.create_experiment(experiment)
    earlier = client.search_runs(
        [number], f"tags.`areopagus.identity` = '{told.identity}'", max_results=1000
    )
    for one in earlier:
        if one.data.tags.get(_CONTENT) == told.content:
            return f"experiment {experiment}, run {one.info.run_id}", False
    made = client.create_run(number, run_name=told.name).info.run_id
    try:
        _fill(client, made, told, files)
    except BaseException:
        client.set_terminated(made, "FAILED")
        raise
    for one in earlier:
        client.set_tag(one.info.run_id, _SUPERSEDED, made)
    client.set_tag(made, _CONTENT, told.content)  # last: what lacks it was not logged to its end
    client.set_terminated(made)
    return f"experiment {experiment}, run {made}", True


def _fill(client: MlflowClient, made: str, told: TrackedRun, files: Mapping[str, Path]) -> None:
    from time import time

    from mlflow.entities import Metric, Param, RunTag  # pyright: ignore[reportMissingImports]

    now = int(time() * 1000)
    metrics = iter([Metric(name, value, now, 0) for name, value in told.metrics.items()])
    parameters = iter([Param(name, str(value)) for name, value in told.parameters.items()])
    tags = iter(
        [RunTag(name, value) for name, value in told.tags.items()]
        + [RunTag("mlflow.note.content", told.description)]
    )
    while True:
        batch: dict[str, Any] = {
            "metrics": list(islice(metrics, _MOST_METRICS - _MOST_PARAMETERS - _MOST_TAGS)),
            "params": list(islice(parameters, _MOST_PARAMETERS)),
            "tags": list(islice(tags, _MOST_TAGS)),
        }
        if not any(batch.values()):
            break
        client.log_batch(made, **batch)
    for path in files.values():
        client.log_artifact(made, str(path))
