"""An attack as a job: make the responses, let the panel score them, measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..job import default_folder
from ..staged import StageProgress
from .bases import read_bases
from .design import CARRIED, Trial, fingerprint, response_rows, trials
from .load import load_families
from .plan import AttackPlan
from .run import AttackRun
from .stage import PanelStage

if TYPE_CHECKING:
    from ..panel import Panel


class AttackJob(PanelStage):
    """An injection corpus against a panel; see `attack`."""

    kind = "attack"

    def __init__(
        self,
        panel: Panel,
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
        on_progress: Callable[[StageProgress], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline; the folder is opened when it is run.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        self.panel = panel
        self.plan = plan or AttackPlan()
        places = [corpus] if isinstance(corpus, str | Path) else list(corpus)
        self.families = load_families(families, places)
        self.bases = read_bases(responses, columns=columns, limit=limit)
        self.trials: tuple[Trial, ...] = tuple(
            trials(self.bases.rows, self.families, self.plan, panel.brief.contract)
        )
        if all(trial.kind == "clean" for trial in self.trials):
            raise InputError("no family has a text for the placements chosen")
        self.notices = (*panel.notices, *self.bases.notices)
        identity: dict[str, Any] = {
            "kind": self.kind,
            "responses_sha256": fingerprint(self.bases.rows),
            "families": {family.id: family.sha256 for family in self.families},
            "plan": self.plan.to_json(),
            "panel": panel.identity(),
        }
        name = f"attack-{Path(self.bases.name).stem}" if responses is not None else "attack"
        super().__init__(
            out=out or default_folder(name, identity),
            identity=identity,
            resume=resume,
            max_cost=max_cost,
            on_progress=on_progress,
        )

    def response_rows(self) -> Iterator[dict[str, Any]]:
        """Every response of the attack."""
        return response_rows(self.trials, self.bases.rows)

    def finished(self, result: Path | None) -> AttackRun:
        """Writes the figures and returns the run."""
        if result is not None:
            from .outputs import write_attack

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
