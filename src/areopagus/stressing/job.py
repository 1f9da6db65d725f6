"""The stress test as a job: rewrite, respond, score, score some again, and measure."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..access import require_access
from ..asking import Wording
from ..errors import InputError
from ..graphs.framings import Framing
from ..job import ScoreJob, default_folder
from ..judges.backend import Backend
from ..judges.desk import Desk
from ..records.responses import open_responses
from ..respond_protocol import Track, protocol_from
from ..staged import StagedJob, StageProgress
from .answers import RESPONSES_FILE, Asking, cell_name, questions, write_answers
from .material import (
    Prompts,
    Supplied,
    framings_from,
    read_plan_variants,
    read_prompts,
    read_supplied,
    require_one_source,
    rewriters_from,
    settings_of,
    targets_from,
)
from .missing import count_missing, count_supplied
from .panel_rows import CARRIED, NO_RESPONSE, chosen, panel_rows, repeat_of
from .plan import StressPlan
from .run import StressRun
from .source import StressResponse, StressSource
from .table import ConditionCounts, StressScores, read_retest, read_stress_scores

if TYPE_CHECKING:
    from ..panel import Panel
    from ..records.ledger import Ledger
    from ..records.variants import VariantSet

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
        require_one_source(prompts, responses, targets, rewriters, variants)
        self.panel = panel
        self.plan = plan or StressPlan()
        self.wording = Wording(
            protocol_from(track, effort=effort, words=words),
            labels={"track": track or "none", "job": "stress"},
        )
        self.prompts: Prompts | None = None
        self.supplied: Supplied | None = None
        self.variants: VariantSet | None = None
        self.framings: tuple[Framing, ...] = ()
        self.targets: tuple[Backend, ...] = ()
        self.rewriters: tuple[Backend, ...] = ()
        self.reviewers: tuple[Backend, ...] = ()
        self.rewrite_only = rewrite_only
        self.bold_at = bold_at
        identity: dict[str, Any] = {"kind": self.kind}
        if responses is not None:
            self.supplied = read_supplied(
                responses, self.plan, condition=condition, columns=columns, limit=limit
            )
            identity["responses_sha256"] = self.supplied.fingerprint
        else:
            self.prompts = read_prompts(prompts, columns=columns, limit=limit)
            self.targets = targets_from(targets, self.wording.protocol)
            identity["prompts_sha256"] = self.prompts.fingerprint
            identity["targets"] = settings_of(self.targets)
            identity["asked"] = {
                "words": self.wording.protocol.words,
                "most_words": self.wording.protocol.most_words,
            }
            if variants is not None:
                self.variants = read_plan_variants(variants, self.prompts, self.plan)
                identity["variants_sha256"] = self.variants.fingerprint()
            else:
                self.framings = framings_from(framings, framing_folders, self.plan.baseline)
                self.rewriters, self.reviewers = rewriters_from(rewriters, panel)
                identity["framings"] = {item.id: item.sha256 for item in self.framings}
                identity["rewriters"] = settings_of(self.rewriters)
        identity["plan"] = self.plan.to_json()
        identity["panel"] = panel.identity()
        self.stages = self._stages()
        super().__init__(
            out=out or default_folder(self._name(), identity),
            identity=identity,
            resume=resume,
            max_cost=max_cost,
            on_progress=on_progress,
        )
        self._source: StressSource | None = self.supplied.source if self.supplied else None
        self.counts: dict[tuple[str, str], ConditionCounts] = {
            (target, name): ConditionCounts()
            for target in self.target_names
            for name in self.conditions
        }
        self._over_budget = False

    def _stages(self) -> tuple[str, ...]:
        first = [] if self.supplied or self.variants else ["rewrite"]
        if self.rewrite_only:
            return tuple(first)
        second = [] if self.supplied else ["respond"]
        last = ["retest"] if self.plan.retest_share else []
        return (*first, *second, "score", *last)

    def _name(self) -> str:
        given = self.prompts or self.supplied
        return f"stress-{Path(given.name).stem if given else ''}"

    @property
    def conditions(self) -> tuple[str, ...]:
        """The baseline first, then the others."""
        if self.supplied is not None:
            return self.supplied.conditions
        if self.variants is not None:
            return (self.plan.baseline, *self.variants.conditions)
        return (self.plan.baseline, *(framing.id for framing in self.framings))

    @property
    def target_names(self) -> tuple[str, ...]:
        """The models under test, or the respondents of supplied responses."""
        if self.supplied is not None:
            return self.supplied.targets
        return tuple(backend.spec.name for backend in self.targets)

    @property
    def prompt_ids(self) -> tuple[str, ...]:
        """The prompts, which are the units of every figure."""
        if self.supplied is not None:
            return self.supplied.prompts
        assert self.prompts is not None  # noqa: S101 - one of the two is there
        return tuple(row.prompt_id for row in self.prompts.rows)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        given = self.prompts or self.supplied
        return (*self.panel.notices, *(given.notices if given else ()))

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in takes part."""
        others = (*self.targets, *self.rewriters)
        return self.panel.is_demonstration or any(b.spec.is_offline for b in others)

    @property
    def ledger(self) -> Ledger:
        """The store of calls: the panel's."""
        return self.panel.ledger

    async def require_access(self, desk: Desk) -> None:
        """Raises what keeps any backend from being asked, unless nothing is wanted of it."""
        from .estimate import calls_left

        backends = (*self.rewriters, *self.reviewers, *self.targets)
        if not self.rewrite_only:
            backends += self.panel.backends
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
        if self.supplied is not None:
            refused = count_supplied(self._responses(), self.counts)
        else:
            if self.variants is None:
                await self._rewrite(desk)
            if self.rewrite_only:
                return None
            refused = await self._respond(desk)
        await self._score(desk)
        if "retest" in self.stages:
            await self._retest(desk)
        return self._read(refused)

    def finished(self, result: StressScores | None) -> StressRun:
        """Writes the figures and returns the run."""
        if result is not None:
            from .outputs import write_outputs

            write_outputs(self, result)
        return StressRun(self.path)

    async def _rewrite(self, desk: Desk) -> None:
        from .rewriting import rewrite_all

        assert self.prompts is not None  # noqa: S101 - supplied responses are not rewritten
        self.begin("rewrite", total=len(self.prompts.rows), unit="prompts")
        self.variants, outcome = await rewrite_all(
            self.path,
            self.prompts,
            framings=self.framings,
            rewriters=self.rewriters,
            reviewers=self.reviewers,
            seed=self.plan.seed,
            desk=desk,
            step=lambda troubled: self.step(is_troubled=troubled),
        )
        self.outcome["rewrite"] = outcome
        self._over_budget |= outcome["not_asked_for_budget"] > 0

    async def _respond(self, desk: Desk) -> set[str]:
        askings = self.askings()
        asked = list(questions(askings, self.targets, self.plan, self.asked_again(askings)))
        self.begin("respond", total=len(asked), unit="responses")
        count_missing(askings, self.prompt_ids, self.counts, self.plan.response_repeats)
        faults: dict[str, int] = {}
        refused = await write_answers(
            self.path / RESPONSES_FILE,
            asked,
            desk,
            self.wording,
            self.targets,
            self.counts,
            faults=faults,
            step=lambda troubled: self.step(is_troubled=troubled),
        )
        totals = {
            name: sum(getattr(tally, name) for tally in self.counts.values())
            for name in ("planned", "answered", "empty", "refused", "failed", "not_asked")
        }
        self.outcome["respond"] = totals | {"faults": faults}
        self._over_budget |= totals["not_asked"] > 0 and not desk.stopped
        if totals["answered"] or totals["empty"] or totals["refused"]:
            self._source = StressSource(self.path / RESPONSES_FILE)
            self._source.check()
        return refused

    def askings(self) -> list[Asking]:
        """The baseline of every prompt and its usable variants, prompt by prompt."""
        assert self.prompts is not None  # noqa: S101 - only asked for where there are prompts
        assert self.variants is not None  # noqa: S101 - read or written before
        texts = self.variants.usable()
        found: list[Asking] = []
        for row in self.prompts.rows:
            found.append(Asking(row.prompt_id, self.plan.baseline, row.prompt_text))
            for name in self.conditions[1:]:
                text = texts[row.prompt_id].get(name)
                if text is not None:
                    found.append(Asking(row.prompt_id, name, text))
        return found

    def asked_again(self, askings: Sequence[Asking]) -> frozenset[str]:
        """The cells whose response is generated once more."""
        if self.plan.response_repeats > 1 or not self.plan.regenerate_share:
            return frozenset()
        cells = [cell_name(asking, name) for asking in askings for name in self.target_names]
        share = self.plan.regenerate_share
        return chosen(cells, share, self.plan.seed, "regenerate", at_least=FEWEST_RETESTED)

    def _responses(self) -> Iterator[StressResponse]:
        return self._source.rows() if self._source is not None else iter(())

    def baseline_prompts(self) -> dict[str, str]:
        """Prompt id to the text of its baseline."""
        if self.prompts is not None:
            return self.prompts.texts
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

    async def _score(self, desk: Desk) -> None:
        await self._panel_stage("score", PANEL_FOLDER, self.panel, desk, None)

    async def _retest(self, desk: Desk) -> None:
        only = self.retested(self._responses())
        await self._panel_stage("retest", RETEST_FOLDER, self.twice(), desk, only)

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
        if self._source is None:
            self.outcome[stage] = {"responses": 0, "counts": {}}
            return
        rows = panel_rows(self._responses(), self.plan, self.baseline_prompts(), only=only)
        job = ScoreJob(
            panel, open_responses(rows), out=self.path / folder, is_stage=True,
            on_progress=lambda progress: self._tell_scored(progress.done),
        )  # fmt: skip
        self.begin(stage, total=job.progress.total, unit="responses")
        run = await job.run(desk)
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

    def _read(self, refused: set[str]) -> StressScores | None:
        if self._source is None:
            return None
        contract = self.panel.brief.contract
        return read_stress_scores(
            self.path / PANEL_FOLDER,
            self.counts,
            targets=self.target_names,
            conditions=self.conditions,
            prompts=self.prompt_ids,
            dimensions=self.panel.criteria,
            repeats=self.plan.response_repeats,
            refused=refused,
            scale=(contract.low, contract.high),
        )

    def retest_pairs(self) -> Any:
        """Panel means of both askings, (responses, 2, dimensions)."""
        folder = self.path / RETEST_FOLDER
        return read_retest(folder, self.panel.criteria, self.panel.settings.repeats)

    def stopped_by_budget(self) -> bool:
        """Whether the cost cap left something out, in any stage."""
        return self._over_budget

    def describe(self) -> dict[str, Any]:
        """What run.json says of a stress test."""
        given = self.prompts or self.supplied
        return {
            "demonstration": self.is_demonstration,
            "source": given.name if given else "",
            "notices": list(self.notices),
            "prompts": {"n": len(self.prompt_ids)},
            "targets": list(self.target_names),
            "conditions": list(self.conditions),
            "rewriters": [backend.spec.name for backend in self.rewriters],
            "panel": self.panel.describe(),
            "carried": list(CARRIED),
        }

    async def close(self) -> None:
        """Closes the models under test and the rewriters; the panel is the caller's."""
        if self._source is not None:
            self._source.close()
        for backend in (*self.targets, *self.rewriters, *self.reviewers):
            if backend not in self.panel.backends:
                await backend.close()
