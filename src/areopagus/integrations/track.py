"""A finished run in the tracking tool that the user names.

from areopagus.integrations.track import track

print(track("runs/pilot", "mlflow:sqlite:///mlflow.db").answer)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from ..any_report import run_of
from ..errors import InputError, InputFault
from ..records.run_folder import REPORT_FILE
from ..run import JobRun, Run
from .tracking import (
    MOST_PARAMETER,
    Sent,
    TrackedRun,
    artifacts,
    own_scores,
    shown_address,
    tracked_run,
)

TOOLS: Final = ("mlflow", "wandb", "otel", "phoenix", "langfuse")


def track(
    run: JobRun | str | Path,
    to: str,
    *,
    experiment: str = "areopagus",
    tables: Sequence[str] = (),
    texts: bool = False,
    dry_run: bool = False,
) -> Sent:
    """Sends what is told of a run to a tracking tool.

    Args:
        run: the run, or its folder.
        to: `mlflow:URI` (without a URI that of MLFLOW_TRACKING_URI), `wandb:PROJECT` or
            `wandb:ENTITY/PROJECT`, `otel`, `phoenix:URL`, `langfuse:URL`.
        experiment: of MLflow.
        tables: of the estimates, for MLflow and Weights & Biases; all when left out.
        texts: whether report.html, what judges wrote and the input's other columns go along.
        dry_run: whether it is only said what would be sent; nothing is opened.

    Raises:
        InputError: no such tool, no run, nothing in it to send, or a package that is missing.
        ProviderError: the server did not take it.
    """
    tool, _, where = to.partition(":")
    if tool not in TOOLS:
        raise InputError(
            [InputFault("to", f"must begin with one of {', '.join(TOOLS)}; got {tool!r}")],
            hint="For example mlflow:sqlite:///mlflow.db, wandb:PROJECT or phoenix:URL.",
        )
    run = run if isinstance(run, JobRun) else run_of(run)
    if tool in ("mlflow", "wandb"):
        told = tracked_run(run, tables=tables, texts=texts)
        with artifacts(run, texts=texts) as files:
            if dry_run:
                return _sent_run(told, files, f"Would send {{}} to {shown_address(to)}.", None)
            if tool == "mlflow":
                from .mlflow_tracking import log_run

                place, is_new = log_run(told, files, where or None, experiment)
            else:
                from .wandb_tracking import log_run as log_wandb

                scores = own_scores(run) if isinstance(run, Run) else None
                place, is_new = log_wandb(told, files, where, scores), True
            if not is_new:
                answer = f"{told.name} is logged already, with the same figures: {place}."
                return Sent(answer, {}, place=place)
            return _sent_run(told, files, f"Logged {{}}: {place}.", place)
    if tables or texts:
        raise InputError(f"{tool} takes scores of responses alone: no tables and no texts")
    if not isinstance(run, Run):
        raise InputError(
            [InputFault(str(run.path), f"holds a run of kind {run.kind!r}")],
            hint=f"{tool} takes the scores of a panel's run; mlflow and wandb take every kind.",
        )
    send: Callable[..., Sent]
    if tool == "otel":
        from .opentelemetry_events import emit_run as send
    else:
        from .trace_annotations import annotate as send
    return send(run, to, dry_run=dry_run)


def _sent_run(told: TrackedRun, files: Mapping[str, Path], answer: str, place: str | None) -> Sent:
    counts = {
        "parameters": len(told.parameters),
        "metrics": len(told.metrics),
        "tags": len(told.tags),
        "files": len(files),
    }
    n = told.n_estimates - told.n_undefined
    said = f"{n:,} of {told.n_estimates:,} figures of {told.name}"
    remarks = [("files", ", ".join(files))]
    if told.n_undefined:
        remarks.append(("left out", f"{told.n_undefined:,} figures that are undefined"))
    if told.n_cut:
        remarks.append(("cut", f"{told.n_cut} parameters, at {MOST_PARAMETER} characters"))
    if REPORT_FILE not in files:
        remarks.append(
            ("texts", "left out: the report, what judges wrote, the input's other columns")
        )
    samples = [("parameter", name, str(value)) for name, value in told.parameters.items()]
    samples += [("metric", name, f"{value:g}") for name, value in told.metrics.items()]
    samples += [("tag", name, value) for name, value in told.tags.items()]
    return Sent(answer.replace("{}", said), counts, remarks, place, samples)
