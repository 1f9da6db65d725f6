"""A run in a process of its own, to be killed."""

from __future__ import annotations

import os
from pathlib import Path

from areopagus import Panel, Run
from areopagus.batch import BatchSettings
from areopagus.experiment.job import run_job


def score(folder: Path, key: str) -> None:
    """Scores `responses.jsonl` with the panel of `panel.yaml` into `run`."""
    os.chdir(folder)
    os.environ |= {"AREOPAGUS_HOME": str(folder / "home"), "BATCH_TEST_KEY": key}
    Run.write_results = lambda run, **_: run  # type: ignore[method-assign]
    with Panel.from_file("panel.yaml") as panel:
        run_job(panel.job("responses.jsonl", out="run", batch=BatchSettings(poll_s=0.005)))
