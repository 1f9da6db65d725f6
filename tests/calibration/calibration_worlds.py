"""A small planted world as files: who is harsh, at random or fooled by the source is known."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from areopagus.aggregation.estimate import Estimate
from areopagus.calibration import Agreement
from areopagus.records.estimates import Estimates, estimate_at
from areopagus.reports.text import render_text

PERSONAS = ("historian", "ethicist", "sociologist")
MODELS = ("openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5")
RANDOM, SOURCE_ONLY = "historian x openai/gpt-4o-mini", "ethicist x openai/gpt-4o-mini"


class Files(NamedTuple):
    """The two tables of a world."""

    judgments: Path
    humans: Path


def write_world(
    folder: Path,
    n_prompts: int = 24,
    *,
    seed: int = 1,
    as_ranks: bool = False,
    source_only_panel: bool = False,
) -> Files:
    """Writes a world: rater h0 is harsh by 2, h4 gives 5 throughout, one judge scores at random,
    one knows only whether a person or a model wrote."""
    rng = np.random.default_rng(seed)
    judged, rated = [], []
    for g in range(n_prompts):
        quality = np.concatenate([rng.normal(size=3), rng.normal(size=3) + 1.2])
        writers = ["", "", "", "gpt-5", "claude-4", "gemini-3"]
        names = [f"p{g}r{k}" for k in range(6)]
        for i in range(5):
            score = 5.5 + quality + rng.normal(scale=0.7, size=6) - 2 * (i == 0)
            score = np.clip(np.round(score), 1, 10) if i < 4 else np.full(6, 5.0)
            if as_ranks:
                score = 1 + (score[None, :] > score[:, None]).sum(axis=1)
            for k in range(6):
                source = "human" if k < 3 else "model"
                rated.append([f"h{i}", f"p{g}", names[k], source, writers[k], "AB"[g % 2],
                              int(score[k])])  # fmt: skip
        for p, persona in enumerate(PERSONAS):
            for m, model in enumerate(MODELS):
                score = 6 + quality + rng.normal(scale=0.6, size=6)
                if (p, m) == (0, 0):
                    score = 6 + rng.normal(size=6)
                if (p, m) == (1, 0) or source_only_panel:
                    score = np.repeat([5.0, 7.5], 3) + rng.normal(scale=0.6, size=6)
                for k in range(6):
                    points = int(np.clip(round(score[k]), 1, 10))
                    judged.append([f"p{g}", names[k], persona, model, points])
    folder.mkdir(parents=True, exist_ok=True)
    files = Files(folder / "judgments.csv", folder / "humans.csv")
    kind = "rank" if as_ranks else "score"
    write_table(files.judgments, ["prompt_id", "response_id", "persona", "model", "score"], judged)
    header = ["rater_id", "prompt_id", "response_id", "source", "model", "domain", kind]
    write_table(files.humans, header, rated)
    return files


def write_table(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    """Writes a CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(rows)
    return path


def summary(found: Agreement) -> str:
    """What a terminal shows of it first, without its line breaks."""
    return " ".join(" ".join(render_text(found.document())).split())


def figure(found: Agreement | Estimates, table: str, measure: str, **keys: str | None) -> Estimate:
    """One estimate, which has to be there."""
    frame = found.frame() if isinstance(found, Estimates) else found.estimates
    one = estimate_at(frame, table, measure, **keys)
    assert one is not None, (table, measure, keys)
    return one


def called(found: Agreement | Estimates, table: str, measure: str, key: str) -> dict[str, str]:
    """Who or what of a table has a verdict, and which."""
    frame = found.frame() if isinstance(found, Estimates) else found.estimates
    rows = frame[
        (frame["table"] == table) & (frame["measure"] == measure) & frame["verdict"].notna()
    ]
    return dict(zip(rows[key], rows["verdict"], strict=True))
