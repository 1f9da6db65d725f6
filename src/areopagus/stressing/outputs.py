"""What a stress test leaves in its folder beside the tables: numbers, text, pictures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cap_stop import cap_notices
from ..records.run_folder import REPORT_FILE, read_run_file, replaced
from ..text_lines import units
from .measure import StressFigures, measure
from .page import StressPage, write_stress_page
from .run import STRESS_FILE, TEXT_FILE
from .table import StressScores, read_top_shares
from .text import stress_lines

if TYPE_CHECKING:
    from pathlib import Path

    from .job import StressJob

FIGURES_FOLDER = "figures"


def write_outputs(job: StressJob, scores: StressScores) -> StressFigures:
    """Measures, and writes stress.json, stress.txt and the pictures.

    Raises:
        StoreError: the folder cannot be written.
    """
    top = read_top_shares(job.panel_folder, scores, repeats=job.plan.response_repeats)
    figures = measure(scores, job.plan, job.retest_pairs(), top)
    panel = job.panel
    judges = (
        f"{units(len(panel.personas), 'persona')} × {units(len(panel.backends), 'model')} "
        f"({', '.join(backend.spec.name for backend in panel.backends)}), "
        f"rubric {panel.rubric.id}, scale {scores.scale[0]} to {scores.scale[1]}, "
        f"the {'prompt answered' if job.plan.judged_prompt == 'own' else 'baseline prompt'} shown"
    )
    rewriting = job.outcome.get("rewrite")
    stop = job.cap_stop
    lines = stress_lines(
        figures, job.plan, demonstration=job.is_demonstration, judges=judges, rewriting=rewriting,
        is_supplied=job.design.supplied is not None, stop=stop,
    )  # fmt: skip
    plain = {
        "demonstration": job.is_demonstration,
        "supplied": job.design.supplied is not None,
        "cost_cap": None if stop is None else stop.to_json(),
        "plan": job.plan.to_json(),
        "judges": judges,
        "scale": list(scores.scale),
        "rewriting": rewriting,
        **figures.to_json(),
    }
    _write(job.path / STRESS_FILE, json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False))
    draw(
        job.path / FIGURES_FOLDER, figures, scores, bold_at=job.bold_at,
        is_demonstration=job.is_demonstration,
    )  # fmt: skip
    _write(job.path / TEXT_FILE, "\n".join(lines))
    write_stress_page(
        job.path / REPORT_FILE,
        StressPage(
            figures=figures,
            plan=job.plan,
            judges=judges,
            is_demonstration=job.is_demonstration,
            rewriting=rewriting,
            figures_folder=job.path / FIGURES_FOLDER,
            record=read_run_file(job.path, kind=job.kind),
            is_supplied=job.design.supplied is not None,
            notices=tuple(cap_notices(plain)),
        ),
    )
    return figures


def draw(
    folder: Path,
    figures: StressFigures,
    scores: StressScores,
    *,
    bold_at: float,
    is_demonstration: bool,
) -> None:
    """Draws scorecard and heat map as PNG and SVG."""
    from ..reports.stress_figures import draw_delta_heatmap, draw_scorecard

    found = figures.degradation
    folder.mkdir(exist_ok=True)
    levels = {(one.target, one.condition, one.dimension): one for one in found.levels}
    shape = (len(found.targets), len(found.conditions), len(found.dimensions))
    mean, error = np.full(shape, np.nan), np.full(shape, np.nan)
    for t, target in enumerate(found.targets):
        for c, condition in enumerate(found.conditions):
            for d, dimension in enumerate(found.dimensions):
                level = levels[target, condition, dimension]
                mean[t, c, d], error[t, c, d] = level.interval.value, level.standard_error
    draw_scorecard(
        folder / "scorecard", targets=found.targets, conditions=found.conditions,
        dimensions=found.dimensions, mean=mean, se=error, baseline=found.baseline,
        scale=scores.scale, is_demonstration=is_demonstration,
    )  # fmt: skip
    variants = found.variants
    delta = _cells(found, variants, found.dimensions)
    column = _cells(found, variants, (None,))[:, :, 0]
    draw_delta_heatmap(
        folder / "delta_heatmap", targets=found.targets, conditions=variants,
        dimensions=found.dimensions, delta=delta, mean_column=column, bold_at=bold_at,
        labels=[
            [
                ["*" if found.cell(t, v, d).verdict == "changed" else "" for d in found.dimensions]
                for v in variants
            ]
            for t in found.targets
        ],
        labels_say="* changed (significant after Holm's adjustment)",
        is_demonstration=is_demonstration,
    )  # fmt: skip


def _cells(found: Any, variants: Any, dimensions: Any) -> Any:
    return np.asarray(
        [
            [[found.cell(target, v, d).mean for d in dimensions] for v in variants]
            for target in found.targets
        ]
    )


def _write(path: Path, text: str) -> None:
    with replaced(path) as part:
        part.write_text(text + "\n", encoding="utf-8")
