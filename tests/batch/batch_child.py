"""A run in a process of its own, to be killed."""

from __future__ import annotations

import os
from pathlib import Path

from areopagus import Panel, reports
from areopagus.batch import BatchSettings
from areopagus.experiment.job import run_job


def score(folder: Path, key: str) -> None:
    """Scores `responses.jsonl` with the panel of `panel.yaml` into `run`."""
    os.chdir(folder)
    os.environ |= {"AREOPAGUS_HOME": str(folder / "home"), "BATCH_TEST_KEY": key}
    reports.write_report = lambda *_, **__: None  # type: ignore[assignment]
    with Panel.from_file("panel.yaml") as panel:
        run_job(panel.job("responses.jsonl", out="run", batch=BatchSettings(poll_s=0.005)))
