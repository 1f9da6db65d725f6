"""The two audits as jobs: an attack, and a rescoring."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InputError
from ..experiment.config import InputConfig
from ..experiment.dry_run import DryRun, estimate_scoring
from ..experiment.job import Job
from ..experiment.score import score_within
from ..graphs.panel_spec import PanelSpec
from ..graphs.screening import gate_of
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..judges.schema import ABSTAINED
from ..progress import ESTIMATING, OnProgress, doing
from ..records.estimates import Estimates
from ..records.ledger import Ledger
from ..records.readers.responses import ResponseSource
from ..records.types import Sample
from ..reports.panel_answer import panel_worth
from ..run import JobRun
from . import effects, rescoring
from .config import AttackConfig, RescoreConfig
from .families import AttackFamily
from .neutralise import Neutralised, neutralised
from .run import PANEL_FOLDER, AttackRun, RescoreRun
from .scores import read_panel_judgments
from .trials import CARRIED, Trial, fingerprint, read_dataset, response_rows, trials

Outcome = TypeVar("Outcome", bound=JobRun)


class PanelStage(Job[Outcome]):
    """A job whose one stage is a scoring job on responses that it makes."""

    stages: tuple[str, ...] = ("score",)

    def __init__(
        self,
        panel: PanelSpec,
        config: InputConfig,
        *,
        notices: tuple[str, ...],
        identity: Mapping[str, Any],
        name: str,
        on_progress: OnProgress,
    ) -> None:
        self.panel = panel
        self._notices = (*panel.notices, *notices)
        whole = {"kind": self.kind, **identity, "panel": panel.identity()}
        super().__init__(config, identity=whole, name=name, on_progress=on_progress)

    @abstractmethod
    def response_rows(self) -> Iterator[dict[str, Any]]:
        """The responses for the panel, made anew on every call."""

    @abstractmethod
    def estimate_scores(self, folder: Path | None) -> Estimates:
        """The figures, from the panel's folder; None where there was nothing to score."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        return self._notices

    @property
    def ledger(self) -> Ledger:
        """The store of calls: the panel's."""
        return self.panel.ledger

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The judges."""
        return self.panel.backends

    async def dry_run(self) -> DryRun:
        """Calls, tokens and cost of judging the responses, where there are any."""
        if next(self.response_rows(), None) is None:
            return DryRun((), ("No response has a hit of a detector: nobody would be asked.",))
        return estimate_scoring(self.panel, ResponseSource(self.response_rows()))

    async def run_stages(self, client: Client) -> Estimates:
        """Has the panel score the responses, and estimates."""
        folder = await score_within(self, "score", self.panel, self.response_rows(), PANEL_FOLDER)
        doing(ESTIMATING)
        return self.estimate_scores(folder)


class AttackJob(PanelStage[AttackRun]):
    """An injection corpus against a panel; see `attack`."""

    kind = "attack"
    run_type = AttackRun

    def __init__(
        self,
        panel: PanelSpec,
        responses: Any = None,
        config: AttackConfig | None = None,
        *,
        on_progress: OnProgress = None,
    ) -> None:
        """Checks everything that can be checked offline; the folder is opened when it is run.

        Raises:
            InputError: everything wrong with the input, before anything is spent.
        """
        self.attack_config = config = config or AttackConfig()
        notices: list[str] = []
        families = config.load_families()
        if ABSTAINED not in panel.judge_prompt.schema.keys:
            unable = [family.id for family in families if family.asks == "abstain"]
            families = tuple(family for family in families if family.asks != "abstain")
            if unable:
                told = f"judges cannot abstain in the mode {panel.judge_prompt.mode}"
                notices.append(f"{told}, left out: {', '.join(unable)}")
        self.dataset = read_dataset(responses, columns=config.columns, limit=config.limit)
        self.trials: tuple[Trial, ...] = tuple(
            trials(self.dataset.rows, families, config, panel.judge_prompt.schema, panel.wording)
        )
        tried = {trial.family for trial in self.trials if trial.kind == "attack"}
        if not tried:
            raise InputError("no family has a text for the placements chosen")
        self.families: tuple[AttackFamily, ...] = tuple(f for f in families if f.id in tried)
        left_out = [family.id for family in families if family.id not in tried]
        notices += self.dataset.notices
        if left_out:
            notices.append(f"no text for the placements chosen, left out: {', '.join(left_out)}")
        name = f"attack-{Path(self.dataset.name).stem}" if responses is not None else "attack"
        super().__init__(
            panel,
            config,
            notices=tuple(notices),
            identity={
                "responses_sha256": fingerprint(self.dataset.rows),
                "families": {family.id: family.sha256 for family in families},
                "plan": config.plan,
            },
            name=name,
            on_progress=on_progress,
        )

    def response_rows(self) -> Iterator[dict[str, Any]]:
        """Every response of the attack."""
        return response_rows(self.trials, self.dataset.rows)

    def estimate_scores(self, folder: Path | None) -> Estimates:
        """The figures of the attack."""
        panel = self.panel
        schema = panel.judge_prompt.schema
        assert folder is not None  # noqa: S101  an attack without a response is refused
        asks = {family.id: family.asks for family in self.families}
        judgments = read_panel_judgments(folder, panel.criteria)
        return effects.estimate(
            judgments, self.trials, self.dataset.rows, asks, self.attack_config,
            scale=(schema.low, schema.high), worth=panel_worth(folder),
        )  # fmt: skip

    def describe(self) -> dict[str, Any]:
        """What run.json says of an attack."""
        return {
            "demonstration": self.is_demonstration,
            "source": self.dataset.name,
            "notices": list(self.notices),
            "responses": {"bases": len(self.dataset.rows), "n": len(self.trials)},
            "families": {family.id: family.label for family in self.families},
            "provenance": {
                family.id: family.provenance for family in self.families if family.verbatim
            },
            "panel": self.panel.describe(),
            "carried": list(CARRIED),
        }


class RescoreJob(PanelStage[RescoreRun]):
    """A rescoring; see `rescore`."""

    kind = "rescore"
    run_type = RescoreRun

    def __init__(
        self,
        panel: PanelSpec,
        responses: Any,
        config: RescoreConfig | None = None,
        *,
        on_progress: OnProgress = None,
    ) -> None:
        """Reads the responses, and keeps those with a hit.

        Raises:
            InputError: every fault of the source.
        """
        config = config or RescoreConfig()
        self.threshold = config.threshold
        self.flagged: list[tuple[Sample, Neutralised]] = []
        self.n_screened = 0
        with ResponseSource(responses, columns=config.columns, limit=config.limit) as source:
            summary = source.check()
            for row in source.rows():
                if gate_of(row.response_text) is not None:
                    self.n_screened += 1
                    continue
                copy = neutralised(row.response_text, panel.wording, row.prompt_text)
                if copy.is_changed:
                    self.flagged.append((row, copy))
        self.name, self.n_responses = summary.name, summary.n_responses
        copies = json.dumps([copy.text for _, copy in self.flagged])
        super().__init__(
            panel,
            config,
            notices=tuple(summary.notices),
            identity={
                "responses_sha256": summary.fingerprint,
                "copies_sha256": hashlib.sha256(copies.encode()).hexdigest(),
                "threshold": config.threshold,
            },
            name=f"rescore-{Path(self.name).stem}",
            on_progress=on_progress,
        )

    def response_rows(self) -> Iterator[dict[str, Any]]:
        """Every flagged response as it came, and its copy."""
        for number, (row, copy) in enumerate(self.flagged):
            for kind, text in (("original", row.response_text), ("neutralised", copy.text)):
                yield {
                    "response_id": rescoring.rescored_id(number, copy=kind == "neutralised"),
                    "prompt_id": row.prompt_id,
                    "prompt_text": row.prompt_text,
                    "response_text": text,
                    "respondent_id": row.respondent_id,
                    "rescored_id": row.response_id,
                    "rescored_as": kind,
                }

    def estimate_scores(self, folder: Path | None) -> Estimates:
        """The figures of the rescoring; the passages are written beside them."""
        rows: list[rescoring.Rescored] = []
        if folder is not None:
            rows = rescoring.read_rescored(
                folder,
                self.flagged,
                self.panel.criteria,
                n_judges=len(self.panel.planned()),
            )
        rescoring.write_passages(self.path, rows, self.threshold)
        schema = self.panel.judge_prompt.schema
        return rescoring.estimate(
            rows,
            threshold=self.threshold,
            n_responses=self.n_responses,
            n_flagged=len(self.flagged),
            n_screened=self.n_screened,
            flags=Counter(flag for _, copy in self.flagged for flag in copy.flags),
            most=float(schema.high - schema.low),
            texts={row.prompt_id: row.prompt_text for row, _ in self.flagged},
        )

    def describe(self) -> dict[str, Any]:
        """What run.json says of a rescoring."""
        return {
            "demonstration": self.is_demonstration,
            "source": self.name,
            "notices": list(self.notices),
            "responses": {
                "read": self.n_responses,
                "flagged": len(self.flagged),
                "screened": self.n_screened,
            },
            "panel": self.panel.describe(),
        }
