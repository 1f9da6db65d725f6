"""The injection audit as a job, and what it writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..experiment.config import InputConfig
from ..experiment.job import Progress
from ..formats import units
from ..records.run_folder import FIGURES_FOLDER, REPORT_FILE, read_run_file, replaced
from .bases import read_bases
from .design import CARRIED, Trial, fingerprint, response_rows, trials
from .figures import AttackFigures
from .lines import attack_lines
from .load import load_families
from .measure import measure
from .page import AttackPage, write_attack_page
from .pictures import draw_attack
from .plan import AttackPlan
from .run import AttackRun
from .scores import read_scores_matrix
from .stage import PanelStage
from .table import write_table

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


def write_attack(job: AttackJob, panel_folder: Path) -> AttackFigures:
    """Measures, and writes attack.json, attack.csv, attack.txt, the pictures and report.html.

    Raises:
        StoreError: the folder cannot be written.
    """
    panel = job.panel
    schema = panel.judge_prompt.schema
    matrix = read_scores_matrix(
        panel_folder, [trial.response_id for trial in job.trials], panel.criteria
    )
    figures = measure(
        job.trials,
        job.bases.rows,
        job.families,
        matrix,
        job.plan,
        scale=(schema.low, schema.high),
        quorum=panel.quorum,
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


def judges_line(panel: PanelSpec) -> str:
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


class AttackJob(PanelStage[AttackRun]):
    """An injection corpus against a panel; see `attack`."""

    kind = "attack"

    def __init__(
        self,
        panel: PanelSpec,
        responses: Any = None,
        *,
        families: Sequence[str] | None = None,
        corpus: Sequence[str | Path] | str | Path = (),
        plan: AttackPlan | None = None,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        out: str | Path | None = None,
        resume: bool = False,
        max_cost: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline; the folder is opened when it is run.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        config = InputConfig.checked(
            out=out, resume=resume, max_cost=max_cost, columns=columns, limit=limit
        )
        self.panel = panel
        self.plan = plan or AttackPlan()
        places = [corpus] if isinstance(corpus, str | Path) else list(corpus)
        self.families = load_families(families, places)
        self.bases = read_bases(responses, columns=columns, limit=limit)
        self.trials: tuple[Trial, ...] = tuple(
            trials(self.bases.rows, self.families, self.plan, panel.judge_prompt.schema)
        )
        if all(trial.kind == "clean" for trial in self.trials):
            raise InputError("no family has a text for the placements chosen")
        self._notices = (*panel.notices, *self.bases.notices)
        identity: dict[str, Any] = {
            "kind": self.kind,
            "responses_sha256": fingerprint(self.bases.rows),
            "families": {family.id: family.sha256 for family in self.families},
            "plan": self.plan.to_json(),
            "panel": panel.identity(),
        }
        name = f"attack-{Path(self.bases.name).stem}" if responses is not None else "attack"
        super().__init__(
            config,
            identity=identity,
            name=name,
            on_progress=on_progress,
        )

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return self._notices

    def response_rows(self) -> Iterator[dict[str, Any]]:
        """Every response of the attack."""
        return response_rows(self.trials, self.bases.rows)

    def finished(self, result: Path | None) -> AttackRun:
        """Writes the figures and returns the run."""
        if result is not None:
            write_attack(self, result)
        return AttackRun(self.path)

    def describe(self) -> dict[str, Any]:
        """What run.json says of an attack."""
        return {
            "demonstration": self.is_demonstration,
            "source": self.bases.name,
            "notices": list(self.notices),
            "responses": {"bases": len(self.bases.rows), "n": len(self.trials)},
            "families": [family.id for family in self.families],
            "panel": self.panel.describe(),
            "carried": list(CARRIED),
        }
