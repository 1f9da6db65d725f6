"""A folder with over twenty runs of several kinds, broken and foreign ones among them."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from areopagus import Panel, Run, attack, audit, calibrate, stress

EXAMPLES = Path(__file__).parents[2] / "examples"
HOSTILE_NAME = "<img src=x onerror=alert(1)> \u202egnp"

COPIES = 12
KINDS = {"panel", "stress", "audit", "attack", "calibration", "unknown"}
BROKEN = {
    "broken/cut": "cannot be read",
    "broken/foreign": "is not the record of a run",
    "broken/strange": "is not understood",
    "broken/later": "has format 999",
    "broken/no-figures": "has no figures yet",
    "broken/cut-figures": "cannot be read",
    "broken/reaches-out": "scores.csv is a link that leads out of the folder",
    "broken/elsewhere": "is a link that leads out of the folder",
}
"""Path of a folder that cannot be shown to a part of the reason."""


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Rewrites run.json."""
    file = folder / "run.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


def copy(source: Path, target: Path, **changes: Any) -> Path:
    """A copy of a run, with other contents of run.json."""
    shutil.copytree(source, target)
    changed(target, lambda record: record.update(changes))
    return target


def started(folder: Path, when: str) -> None:
    """Says in run.json when the run began."""
    changed(folder, lambda record: record["sessions"][0].update(started=when))


def make_world(place: Path) -> Path:
    """Runs under place/runs; what they must not reach lies beside it."""
    runs = place / "runs"
    runs.mkdir(parents=True)
    with Panel(rationale="before", ledger=place / "ledger.sqlite") as panel:
        base = panel.score_many(EXAMPLES / "responses.csv", out=runs / "pilot").path
        others = [persona.id for persona in panel.personas[:6]]
        stress(EXAMPLES / "stress_prompts.csv", panel=panel, out=str(runs / "pressed"), limit=6)
        attack(panel=panel, out=str(runs / "attacked"), texts=1, placements=("end",), limit=3)
    with Panel(personas=others, rationale="before", ledger=place / "ledger.sqlite") as panel:
        panel.score_many(EXAMPLES / "responses.csv", out=runs / "six-judges")
    for name in ("socioeval", "samaritan"):
        audit(name, out=str(runs / "audits" / name), limit=8, ledger=place / "ledger.sqlite")
    _calibrated(base, place / "people.csv")
    for k in range(COPIES):
        state = ("complete", "interrupted", "budget")[k % 3]
        started(
            copy(base, runs / "series" / f"run-{k:02d}", state=state),
            f"2026-01-{k + 1:02d}T08:00:00+00:00",
        )
        shutil.rmtree(runs / "series" / f"run-{k:02d}" / "calibration", ignore_errors=True)
    copy(base, runs / HOSTILE_NAME)
    _broken(base, runs / "broken", place / "outside")
    return runs


def _calibrated(run: Path, people: Path) -> None:
    with people.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["rater_id", "prompt_id", "response_id", "overall"])
        for k, row in enumerate(Run(run).scores.itertuples()):
            for rater in range(3):
                value = getattr(row, "composite", 5.0)
                value = 5.0 if value != value else float(value)
                score = min(10, max(1, round(value + (k * 7 + rater * 3) % 3 - 1)))
                lines.writerow([f"h{rater}", row.prompt_id, row.response_id, score])
    calibrate(run, people).write(run / "calibration")


def _broken(base: Path, broken: Path, outside: Path) -> None:
    for name in ("cut", "foreign", "strange"):
        (broken / name).mkdir(parents=True)
    (broken / "cut" / "run.json").write_text('{"format": 1, "kind"', encoding="utf-8")
    (broken / "foreign" / "run.json").write_text('["not", "ours"]', encoding="utf-8")
    (broken / "strange" / "run.json").write_text(
        json.dumps({"format": 1, "kind": "panel", "sessions": [3], "panel": "x"}), encoding="utf-8"
    )
    copy(base, broken / "later", format=999)
    (copy(base, broken / "no-figures") / "estimates.parquet").unlink()
    (copy(base, broken / "cut-figures") / "estimates.parquet").write_bytes(b"PAR1")
    shutil.copytree(base, outside / "secret")
    (outside / "scores.csv").write_text("secret", encoding="utf-8")
    scores = copy(base, broken / "reaches-out") / "scores.csv"
    scores.unlink()
    scores.symlink_to(outside / "scores.csv")
    (broken / "elsewhere").symlink_to(outside / "secret")
    (broken / "latest").symlink_to(broken / "cut")  # stays inside: listed where it lies
    for name in ("later", "no-figures", "cut-figures", "reaches-out"):
        shutil.rmtree(broken / name / "calibration", ignore_errors=True)
