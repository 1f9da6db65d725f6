"""The stress test as a job: rewrite, respond, score, score some again, and measure."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..access import require_access
from ..cap_stop import CapStop
from ..errors import InputError
from ..graphs.framings import Framing
from ..job import ScoreJob, default_folder
from ..judges.models.backend import Backend
from ..judges.models.client import Desk
from ..records.readers.responses import open_responses
from ..respond_protocol import Track
from ..staged import StagedJob, StageProgress
from ..text_lines import units
from .answers import RESPONSES_FILE, Asking, cell_name, questions, write_answers
from .design import design_of
from .missing import count_missing, count_supplied
from .panel_rows import CARRIED, NO_RESPONSE, chosen, panel_rows, repeat_of
from .plan import StressPlan
from .run import StressRun
from .source import StressResponse, StressSource
from .table import ConditionCounts, Floats, StressScores, read_retest, read_stress_scores

if TYPE_CHECKING:
    from ..panel import Panel
    from ..records.ledger import Ledger

PANEL_FOLDER = "panel"
RETEST_FOLDER = "retest"
FEWEST_RETESTED = 10
"""Responses whose judges are asked again at the least: fewer give no noise floor to speak of."""


class StressJob(StagedJob):
    """A stress test: of models that are asked, or of responses that are supplied."""

    kind = "stress"

    def __init__(
        self,
        panel: Panel,
        prompts: Any = None,
        *,
        targets: Any = None,
        rewriters: Any = None,
        framings: Sequence[str | Path | Framing] | None = None,
        framing_folders: Sequence[str | Path] = (),
        variants: str | Path | None = None,
        responses: Any = None,
        condition: str | None = None,
        plan: StressPlan | None = None,
        track: Track | None = None,
        effort: str | None = None,
        words: int | None = None,
        columns: Mapping[str, str] | None = None,
        limit: int | None = None,
        rewrite_only: bool = False,
        bold_at: float = 1.2,
        out: str | Path | None = None,
        resume: bool = False,
        max_cost: float | None = None,
        on_progress: Callable[[StageProgress], None] | None = None,
    ) -> None:
        """Checks everything that can be checked offline, and opens the folder; see `stress`.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        self.panel = panel
        self.design = design_of(
            panel, prompts, targets=targets, rewriters=rewriters, framings=framings,
            framing_folders=framing_folders, variants=variants, responses=responses,
            condition=condition, plan=plan or StressPlan(), track=track, effort=effort,
            words=words, columns=columns, limit=limit, rewrite_only=rewrite_only,
        )  # fmt: skip
        self.plan = self.design.plan
        self.variants = self.design.variants
        self.bold_at = bold_at
        self.stages = self.design.stages
        identity = {"kind": self.kind} | self.design.identity() | {"panel": panel.identity()}
        name = f"stress-{Path(self.design.given.name).stem}"
        super().__init__(
            out=out or default_folder(name, identity),
            identity=identity,
            resume=resume,
            max_cost=max_cost,
            on_progress=on_progress,
        )
        supplied = self.design.supplied
        self._source: StressSource | None = supplied.source if supplied else None
        self.counts: dict[tuple[str, str], ConditionCounts] = {
            (target, name): ConditionCounts()
            for target in self.design.target_names
            for name in self.design.conditions
        }
        self._judged: set[str] = set()
        self._over_budget = False

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return (*self.panel.notices, *self.design.given.notices)

    @property
    def backends(self) -> tuple[Backend, ...]:
        """Everybody who may be asked."""
        judges = () if self.design.rewrite_only else self.panel.backends
        return (*self.design.others, *judges)

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in takes part."""
        return any(backend.spec.is_offline for backend in self.backends)

    @property
    def ledger(self) -> Ledger:
        """The store of calls: the panel's."""
        return self.panel.ledger

    async def require_access(self, desk: Desk) -> None:
        """Raises what keeps any backend from being asked, unless nothing is wanted of it."""
        from .estimate import calls_left

        backends = self.backends
        left: dict[str, int] | None = None

        def is_paid(backend: Backend) -> bool:
            return left is not None and left.get(backend.spec.name, 0) == 0

        try:
            await require_access(backends, lambda _: False, capped=desk.budget.cap is not None)
        except InputError:
            # What the ledger holds needs no endpoint; only now is it worth while to look.
            left = await calls_left(self)
            await require_access(backends, is_paid, capped=desk.budget.cap is not None)

    async def run_stages(self, desk: Desk) -> StressScores | None:
        """All stages; a prompt that fails in one leaves the others standing, counted."""
        if self.design.supplied is not None:
            refused = count_supplied(self._responses(), self.counts, self.plan.response_repeats)
        else:
            if self.design.variants is None:
                await self._rewrite(desk)
            if self.design.rewrite_only:
                return None
            refused = await self._respond(desk)
        await self._panel_stage("score", PANEL_FOLDER, self.panel, desk, None)
        if "retest" in self.stages:
            only = self.retested(self._responses())
            await self._panel_stage("retest", RETEST_FOLDER, self.twice(), desk, only)
        return self._read(refused)

    def finished(self, result: StressScores | None) -> StressRun:
        """Writes the figures, also where no response came, and returns the run."""
        if result is not None:
            from .outputs import write_outputs

            write_outputs(self, result)
        return StressRun(self.path)

    async def _rewrite(self, desk: Desk) -> None:
        from .rewriting import rewrite_all

        design = self.design
        assert design.prompts is not None  # noqa: S101 - supplied responses are not rewritten
        self.begin("rewrite", total=len(design.prompts.rows), unit="prompts")
        self.variants, outcome = await rewrite_all(
            self.path,
            design.prompts,
            framings=design.framings,
            rewriters=design.rewriters,
            reviewers=design.reviewers,
            seed=self.plan.seed,
            desk=desk,
            step=lambda troubled: self.step(is_troubled=troubled),
        )
        self.outcome["rewrite"] = outcome
        self._over_budget |= outcome["not_asked_for_budget"] > 0

    async def _respond(self, desk: Desk) -> set[str]:
        design = self.design
        askings = self.askings()
        asked = list(questions(askings, design.targets, self.plan, self.asked_again(askings)))
        self.begin("respond", total=len(asked), unit="responses")
        # Variants that were handed in without a text are missing, whatever became of them before.
        written = self.variants.rows if self.variants and design.variants is None else ()
        unasked = {(row.prompt_id, row.condition) for row in written if row.status == "not_asked"}
        repeats = self.plan.response_repeats
        count_missing(askings, design.prompt_ids, self.counts, repeats, unasked)
        faults: dict[str, int] = {}
        refused = await write_answers(
            self.path / RESPONSES_FILE,
            asked,
            desk,
            design.wording,
            design.targets,
            self.counts,
            repeats=repeats,
            faults=faults,
            step=lambda troubled: self.step(is_troubled=troubled),
        )
        totals = {
            name: sum(getattr(tally, name) for tally in self.counts.values())
            for name in ("planned", "answered", "empty", "refused", "failed", "not_asked")
        }
        again: dict[str, int] = {}
        for tally in self.counts.values():
            for status, number in tally.regenerated.items():
                again[status] = again.get(status, 0) + number
        self.outcome["respond"] = totals | {"regenerated": again, "faults": faults}
        left = totals["not_asked"] + again.get("not_asked", 0)
        self._over_budget |= left > 0 and not desk.stopped
        if any(totals[name] + again.get(name, 0) for name in ("answered", "empty", "refused")):
            self._source = StressSource(self.path / RESPONSES_FILE)
            self._source.check()
        return refused

    def askings(self) -> list[Asking]:
        """The baseline of every prompt and its usable variants, prompt by prompt.

        A prompt without any usable variant is left out whole: its baseline has nothing to be
        compared with.
        """
        assert self.design.prompts is not None  # noqa: S101 - only asked where there are prompts
        assert self.variants is not None  # noqa: S101 - read or written before
        texts = self.variants.usable()
        found: list[Asking] = []
        for row in self.design.prompts.rows:
            mine = [
                Asking(row.prompt_id, name, text)
                for name in self.design.conditions[1:]
                if (text := texts[row.prompt_id].get(name)) is not None
            ]
            if mine:
                found += [Asking(row.prompt_id, self.plan.baseline, row.prompt_text), *mine]
        return found

    def asked_again(self, askings: Sequence[Asking]) -> frozenset[str]:
        """The cells whose response is generated once more."""
        if self.plan.response_repeats > 1 or not self.plan.regenerate_share:
            return frozenset()
        cells = [cell_name(asking, name) for asking in askings for name in self.design.target_names]
        share = self.plan.regenerate_share
        return chosen(cells, share, self.plan.seed, "regenerate", at_least=FEWEST_RETESTED)

    def _responses(self) -> Iterator[StressResponse]:
        return self._source.rows() if self._source is not None else iter(())

    def baseline_prompts(self) -> dict[str, str]:
        """Prompt id to the text of its baseline."""
        if self.design.prompts is not None:
            return self.design.prompts.texts
        return {
            row.prompt_id: row.prompt_text
            for row in self._responses()
            if row.condition == self.plan.baseline
        }

    def retested(self, responses: Iterator[StressResponse]) -> frozenset[str]:
        """The responses whose judges are asked a second time."""
        names = [
            row.response_id
            for row in responses
            if row.extra.get("status") not in NO_RESPONSE and repeat_of(row) == 0
        ]
        return chosen(
            names, self.plan.retest_share, self.plan.seed, "retest", at_least=FEWEST_RETESTED
        )

    def twice(self) -> Panel:
        """The panel whose every judge is asked as often again; the first askings are paid."""
        again = copy.copy(self.panel)
        repeats = 2 * self.panel.settings.repeats
        again.settings = self.panel.settings.model_copy(update={"repeats": repeats})
        again.bench = replace(self.panel.bench, repeats=repeats)
        return again

    async def _panel_stage(
        self, stage: str, folder: str, panel: Panel, desk: Desk, only: frozenset[str] | None
    ) -> None:
        rows = panel_rows(self._responses(), self.plan, self.baseline_prompts(), only=only)
        first = next(rows, None)
        if first is None:
            self.outcome[stage] = {"responses": 0, "n_planned": 0, "counts": {}, "faults": {}}
            return
        job = ScoreJob(
            panel, open_responses(chain((first,), rows)), out=self.path / folder, is_stage=True,
            on_progress=lambda progress: self._tell_scored(progress.done),
        )  # fmt: skip
        self.begin(stage, total=job.progress.total, unit="responses")
        run = await job.run(desk)
        self._judged.add(stage)
        self.outcome[stage] = {
            "responses": job.progress.total,
            "n_planned": run.n_planned,
            "counts": run.counts,
            "faults": run.record["faults"],
        }
        self._over_budget |= run.state == "budget"

    def _tell_scored(self, done: int) -> None:
        self.progress.done = done
        self.tell()

    def _read(self, refused: set[str]) -> StressScores:
        contract = self.panel.brief.contract
        return read_stress_scores(
            self.panel_folder,
            self.counts,
            targets=self.design.target_names,
            conditions=self.design.conditions,
            prompts=self.design.prompt_ids,
            dimensions=self.panel.criteria,
            repeats=self.plan.response_repeats,
            refused=refused,
            scale=(contract.low, contract.high),
        )

    @property
    def panel_folder(self) -> Path | None:
        """The panel's run of this session; None where there was no response to judge."""
        return self.path / PANEL_FOLDER if "score" in self._judged else None

    def retest_pairs(self) -> Floats:
        """Panel means of both askings, (responses, 2, dimensions)."""
        folder = self.path / RETEST_FOLDER if "retest" in self._judged else None
        return read_retest(folder, self.panel.criteria, self.panel.settings.repeats)

    def stopped_by_budget(self) -> bool:
        """Whether the cost cap left something out, in any stage."""
        return self._over_budget

    @property
    def cap_stop(self) -> CapStop | None:
        """What the cost cap left out; None where it left out nothing."""
        cap = self._budget.cap
        if not self._over_budget or cap is None:
            return None
        judging = [self.outcome.get(stage, {}) for stage in ("score", "retest")]
        unheard = sum(stage.get("counts", {}).get("not_asked", 0) for stage in judging)
        if self.design.supplied is not None:
            planned = sum(stage.get("n_planned", 0) for stage in judging)
            return CapStop(cap, planned, planned - unheard, "judgments")
        planned = sum(tally.planned for tally in self.counts.values())
        left = sum(tally.not_asked for tally in self.counts.values())
        rest = [f"{units(unheard, 'judgment')} not asked for"] if unheard else []
        unwritten = self.outcome.get("rewrite", {}).get("not_asked", 0)
        rest += [f"{units(unwritten, 'variant')} not written"] if unwritten else []
        return CapStop(cap, planned, planned - left, "responses", rest=", ".join(rest))

    def describe(self) -> dict[str, Any]:
        """What run.json says of a stress test."""
        return {
            "demonstration": self.is_demonstration,
            "source": self.design.given.name,
            "notices": list(self.notices),
            "prompts": {"n": len(self.design.prompt_ids)},
            "targets": list(self.design.target_names),
            "conditions": list(self.design.conditions),
            "rewriters": [backend.spec.name for backend in self.design.rewriters],
            "panel": self.panel.describe(),
            "carried": list(CARRIED),
            "effective_parameters": {
                backend.spec.name: backend.effective_parameters()
                for backend in (
                    *self.design.targets,
                    *self.design.rewriters,
                    *self.design.reviewers,
                )
            },
        }

    async def close(self) -> None:
        """Closes the models under test and the rewriters; the panel is the caller's."""
        if self._source is not None:
            self._source.close()
        design = self.design
        for backend in (*design.targets, *design.rewriters, *design.reviewers):
            if backend not in self.panel.backends:
                await backend.close()
