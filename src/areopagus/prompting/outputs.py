"""What a construction leaves in its folder: tables, figures, and the report as text and page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..graphs.prompt_construction import Constructed
from ..records.run_folder import replaced
from .run import FIGURES_FILE, TEXT_FILE
from .scenarios import write_scenarios
from .statistics import Placed, measure
from .tables import write_tables
from .text import prompt_lines

SCENARIOS_FILE = "scenarios.csv"

if TYPE_CHECKING:
    from .job import PromptJob
    from .map import PromptMap


def write_set(job: PromptJob, outcomes: list[Constructed]) -> int:
    """Writes the prompt set and the tables of all votes; how many prompts are in the set.

    Raises:
        StoreError: the folder cannot be written.
    """
    # Beside the prompts stand the texts that they were made of.
    write_scenarios(job.path / SCENARIOS_FILE, job.scenarios.rows)
    return write_tables(
        job.path,
        job.scenarios.rows[: len(outcomes)],
        outcomes,
        job.generator_names,
        models=job.model_strings,
        wanted=job.plan.per_scenario,
        rule=job.plan.equivalence,
    )


def write_report(
    job: PromptJob, outcomes: list[Constructed], n_prompts: int, drawn: PromptMap | None = None
) -> None:
    """Writes prompts.json and prompts.txt.

    Args:
        job: the job.
        outcomes: what became of the scenarios.
        n_prompts: how many prompts are in the set.
        drawn: the map's figures, once there is one.

    Raises:
        StoreError: the folder cannot be written.
    """
    rows = job.scenarios.rows[: len(outcomes)]
    placed = [
        Placed(row.source, row.stratum, outcome)
        for row, outcome in zip(rows, outcomes, strict=True)
    ]
    figures = measure(placed, job.generator_names, job.plan)
    judges = [backend.spec.name for backend in job.models.asked_judges]
    plain = {
        "demonstration": job.is_demonstration,
        "plan": job.plan.to_json(),
        "generators_named": list(job.generator_names),
        "judges_named": judges,
        "notices": list(job.notices),
        "cost_cap": None if job.cap_stop is None else job.cap_stop.to_json(),
        "prompts_in_set": n_prompts,
        **figures.to_json(),
        "map": None if drawn is None else drawn.to_json(),
    }
    text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False)
    _write(job.path / FIGURES_FILE, text)
    lines = prompt_lines(
        figures,
        job.plan,
        generators=job.generator_names,
        judges=judges,
        n_scenarios=len(job.scenarios.rows),
        n_prompts=n_prompts,
        demonstration=job.is_demonstration,
        notices=job.notices,
        embedding=None if job.embedding is None else job.embedding.spec.model,
        drawn=drawn,
        stop=job.cap_stop,
    )
    _write(job.path / TEXT_FILE, "\n".join(lines))


def _write(path: Path, text: str) -> None:
    with replaced(path) as part:
        part.write_text(text + "\n", encoding="utf-8")
