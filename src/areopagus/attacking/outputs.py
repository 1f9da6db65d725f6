"""What an attack leaves in its folder beside the panel's tables: numbers, a table, the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..records.run_folder import FIGURES_FOLDER, REPORT_FILE, read_run_file, replaced
from ..text_lines import units
from .figures import AttackFigures
from .lines import attack_lines
from .measure import measure
from .page import AttackPage, write_attack_page
from .pictures import draw_attack
from .scores import read_scores_matrix
from .table import write_table

if TYPE_CHECKING:
    from ..panel import Panel
    from .job import AttackJob


def write_attack(job: AttackJob, panel_folder: Path) -> AttackFigures:
    """Measures, and writes attack.json, attack.csv, attack.txt, the pictures and report.html.

    Raises:
        StoreError: the folder cannot be written.
    """
    panel = job.panel
    contract = panel.brief.contract
    matrix = read_scores_matrix(
        panel_folder, [trial.response_id for trial in job.trials], panel.criteria
    )
    figures = measure(
        job.trials,
        job.bases.rows,
        job.families,
        matrix,
        job.plan,
        scale=(contract.low, contract.high),
        quorum=panel.settings.quorum,
    )
    judges = judges_line(panel)
    head: dict[str, Any] = {
        "demonstration": job.is_demonstration,
        "plan": job.plan.to_json(),
        "judges": judges,
        "source": job.bases.name,
    }
    write_json(job.path / "attack.json", head | figures.to_json())
    write_table(job.path / "attack.csv", figures)
    lines = attack_lines(
        figures,
        job.plan,
        bases=job.bases.rows,
        source=job.bases.name,
        judges=judges,
        demonstration=job.is_demonstration,
    )
    figures_folder = job.path / FIGURES_FOLDER
    draw_attack(figures_folder, figures)
    write_text(job.path / "attack.txt", "\n".join(lines))
    page = AttackPage(
        figures=figures,
        plan=job.plan,
        judges=judges,
        source=job.bases.name,
        notices=tuple(job.notices),
        is_demonstration=job.is_demonstration,
        figures_folder=figures_folder,
        record=read_run_file(job.path, kind=job.kind),
    )
    write_attack_page(job.path / REPORT_FILE, page)
    return figures


def judges_line(panel: Panel) -> str:
    """Who judged, in one line."""
    names = ", ".join(backend.spec.name for backend in panel.backends)
    return (
        f"{units(len(panel.personas), 'persona')} × {units(len(panel.backends), 'model')} "
        f"({names}), rubric {panel.rubric.id}"
    )


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Writes the numbers at once or not at all."""
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False))


def write_text(path: Path, text: str) -> None:
    """Writes the text at once or not at all."""
    with replaced(path) as part:
        part.write_text(text + "\n", encoding="utf-8")
