"""What the tests of batch runs start from."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from batch_server import BatchServer

from areopagus import Panel, Run
from areopagus.batch import BatchSettings
from areopagus.experiment.job import run_job
from areopagus.records.tables import read_judgments

FAST = BatchSettings(poll_s=0.005)
GOOD = {
    "conceptual_clarity": 7,
    "evidential_grounding": 6,
    "contextual_relevance": 8,
    "pluralistic_engagement": 5,
    "argumentative_soundness": 6,
    "abstained": False,
}
PERSONAS = ["sociologist", "moral_philosopher"]
ALL, OPENAI, ANTHROPIC = slice(None), slice(0, 1), slice(1, 2)
CANARY = "sk-canary-0123456789abcdef"


def rows(n: int = 6) -> list[dict[str, Any]]:
    return [
        {
            "response_id": f"r{i}",
            "prompt_id": f"p{i % 3}",
            "prompt_text": f"What is owed in case {i % 3}?",
            "response_text": f"In case {i} müch is owed, because promises bind.",
            "respondent_id": f"writer-{i // 3}",
        }
        for i in range(n)
    ]


def models(server: BatchServer, **settings: Any) -> list[dict[str, Any]]:
    common = {"structured": "json_schema", "api_key_env": "BATCH_TEST_KEY", **settings}
    return [
        {"model": "openai/gpt-4o-mini", "api_base": server.openai_base, **common},
        {"model": "anthropic/claude-sonnet-4-5", "api_base": server.anthropic_base, **common},
    ]


def run_batch(
    panel: Panel,
    out: Path,
    *,
    batch: BatchSettings = FAST,
    said: list[str] | None = None,
    source: Any = None,
    **options: Any,
) -> Run:
    job = panel.job(
        rows() if source is None else source,
        out=out,
        batch=batch,
        on_notice=(said if said is not None else []).append,
        **options,
    )
    return run_job(job)


def batched(server: BatchServer, out: Path, *, of: slice = ALL, **options: Any) -> Run:
    """The run of a panel of the server's models, or of some, asked in batches."""
    with Panel(models(server)[of], personas=PERSONAS) as panel:
        return run_batch(panel, out, **options)


def book(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "batches.json").read_text())["batches"]
    return found


def scores(run: Run) -> list[dict[str, str]]:
    with (run.path / "scores.csv").open(encoding="utf-8", newline="") as file:
        return [{k: v for k, v in row.items() if k != "cost_usd"} for row in csv.DictReader(file)]


def votes(run: Run) -> list[tuple[Any, ...]]:
    names = ("response_id", "persona", "model", "status", "reason", "scores", "ledger_key")
    return [tuple(str(vote.get(name)) for name in names) for vote in read_judgments(run.path)]


def batch_values(**values: Any) -> dict[str, Any]:
    """What a store is told of a batch."""
    given: dict[str, Any] = {
        "backend": "openai/gpt-4o-mini",
        "provider": "openai",
        "structured": "prompt",
        "status": "uploading",
        "first_row": 0,
        "last_row": 0,
    }
    return {**given, **values}
