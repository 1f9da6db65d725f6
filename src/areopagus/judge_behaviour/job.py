"""`areopagus.examine_judges`: how the judges of a run behave, as a job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..async_runner import run_async
from ..errors import InputError, InputFault
from ..experiment.config import takes_options
from ..experiment.dry_run import DryRun, StageCost, estimate_scoring
from ..experiment.job import Job, run_job
from ..experiment.score import score_within
from ..formats import listed, units
from ..graphs.panel_spec import PanelSpec, drawn_personas
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..panel import Panel
from ..progress import ESTIMATING, OnProgress, doing
from ..records.estimates import Estimates
from ..records.ledger import Ledger
from ..records.readers.responses import ResponseSource
from ..records.run_folder import identity_differences, panel_of, run_identity_hash
from ..run import Run
from ..yaml_files import shown
from .arms import BASE, Probe, drawn, of_some_personas, probe_of, probed
from .config import JudgesConfig
from .earlier import earlier_of, told_of
from .estimates import Earlier, Probed, estimate
from .run import PROBE_FOLDER, JudgesRun
from .scores import JudgeScores, read_judge_scores, stated_lengths, texts_of
from .texts import form_of


@takes_options(JudgesConfig)
def examine_judges(
    run: Run | str | Path,
    *,
    panel: Panel | None = None,
    on_progress: OnProgress = None,
    **options: Any,
) -> JudgesRun:
    """Returns how the judges of a run behave: each of their biases as an estimate.

    From the stored scores, without a call: length, formatting, own family, halo, consistency over
    repeats, and drift since an earlier run. With `probe`, of new calls about a few of the run's
    responses: the order of criteria, one call a criterion, the position of the persona, length and
    formatting with the same content, repeats.

    Args:
        run: a panel's run, or its folder.
        panel: who is asked anew, the judges of the run; as its run.json describes them when left
            out (with the key of the environment, and the run's ledger where that is a file here).
        on_progress: as of `Panel.score_many`.
        options: as in `JudgesConfig`.

    Raises:
        InputError: no run, another panel than the run's, or no texts to ask about; nothing was
            spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored; the same call
            goes on.
    """
    config = JudgesConfig.checked(**options)
    with judges_job(run, config, panel=panel, on_progress=on_progress) as job:
        return run_job(job)


async def aexamine_judges(
    run: Run | str | Path,
    *,
    panel: Panel | None = None,
    on_progress: OnProgress = None,
    **options: Any,
) -> JudgesRun:
    """The asynchronous twin of `examine_judges`."""
    config = JudgesConfig.checked(**options)
    with judges_job(run, config, panel=panel, on_progress=on_progress) as job:
        return await run_async(job.run())


@contextmanager
def judges_job(
    run: Run | str | Path,
    config: JudgesConfig,
    *,
    panel: Panel | None = None,
    on_progress: OnProgress = None,
) -> Iterator[JudgesJob]:
    """The checked job, with the run's own panel where none is given; that one is closed."""
    given = run if isinstance(run, Run) else Run(run)
    own = Panel.of_run(given) if panel is None and config.probe is not None else None
    try:
        whole = panel or own
        spec = whole.spec if whole is not None and config.probe is not None else None
        yield JudgesJob(given, config, panel=spec, on_progress=on_progress)
    finally:
        if own is not None:
            own.close()


class JudgesJob(Job[JudgesRun]):
    """An examination of judges; see `examine_judges`."""

    kind = "judges"
    stages: tuple[str, ...] = ()
    run_type = JudgesRun

    def __init__(
        self,
        run: Run,
        config: JudgesConfig | None = None,
        *,
        panel: PanelSpec | None = None,
        on_progress: OnProgress = None,
    ) -> None:
        """Reads the run and checks what can be checked offline.

        Args:
            run: whose judges are examined.
            config: what was chosen.
            panel: who is asked anew; needed for a probe.
            on_progress: called on every change.

        Raises:
            InputError: tables that cannot be read, another panel than the run's, or no texts.
        """
        self.judges_config = config = config or JudgesConfig()
        self.judged = run
        before = None if config.before is None else Run(config.before)
        if before is not None and before.path.resolve() == run.path.resolve():
            raise InputError([InputFault(str(run.path), "is the run itself", "before")])
        runs = [run] if before is None else [run, before]
        self.scores, *others = read_judge_scores(runs, seed=config.seed)
        self._refuse_unknown(config.families or {})
        self._texts = texts_of(run, self.scores.ids)
        self.earlier: Earlier | None = None
        self._told: dict[str, Any] = {}
        if before is not None:
            self.earlier = earlier_of(run, self.scores, before, others[0])
            self._told = {"earlier": told_of(before), "later": told_of(run)}
        self.probe: Probe | None = None
        self._panel = panel
        if config.probe is not None:
            self.probe = self._probe(panel, config.probe)
            self.stages = tuple(arm.name for arm in self.probe.arms)
        identity: dict[str, Any] = {
            "kind": self.kind,
            "run": run_identity_hash(run.record["identity"]),
            "plan": config.plan,
        }
        if before is not None:
            identity["before"] = run_identity_hash(before.record["identity"])
        if self.probe is not None:
            identity["panel"] = self.probe.arms[0].panel.identity()
        super().__init__(
            config, identity=identity, name=f"judges-{run.path.resolve().name}",
            on_progress=on_progress,
        )  # fmt: skip

    def _refuse_unknown(self, families: Mapping[str, str]) -> None:
        """Families are given to names of the run, or to words of them."""
        names = list(dict.fromkeys((*self.scores.models, *self.scores.respondents)))
        words = {word for name in names for word in re.split(r"[^a-z0-9]+", name.lower())}
        unknown = [name for name in families if name not in {*names, *words}]
        if unknown:
            told = "is no model or respondent of the run, and no word of their names"
            raise InputError(
                [InputFault("", f"{told}, got {shown(name)}", "families") for name in unknown],
                hint=f"There are {listed(names)}.",
            )

    def _probe(self, panel: PanelSpec | None, n: int) -> Probe:
        if panel is None:
            raise InputError("a probe needs a panel: the judges of the run")
        path = str(self.judged.path)
        now, then = panel_of(panel.identity()), panel_of(self.judged.record["identity"])
        faults = [
            InputFault(path, f"was judged with {old}, the panel has {new}", name)
            for name, old, new in identity_differences(then, now)
        ]
        if faults:
            raise InputError(
                faults,
                hint="A probe asks the judges of the run. Give their panel.yaml, and the folders "
                "of personas and the rubric that it was scored with.",
            )
        config = self.judges_config
        rows = drawn(self.scores, self._texts, n, config.seed)
        if not rows:
            told = "keeps no text of a scored response: there is nothing to ask about"
            raise InputError([InputFault(path, told)])
        if config.probe_personas is not None and config.probe_personas < len(panel.personas):
            chosen = drawn_personas(panel.personas, config.probe_personas, config.seed)
            panel = of_some_personas(panel, [persona.id for persona in chosen])
        return probe_of(panel, rows, config)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before anything is spent."""
        found = []
        if self.scores.n_left_out:
            found.append(
                f"the run is long: {units(len(self.scores.ids), 'response')} are read, whole "
                "prompts drawn by the seed"
            )
        wanted = self.judges_config.probe or 0
        if self.probe is not None and (n := len(self.probe.arms[0].rows)) < wanted:
            found.append(f"all {units(n, 'scored response')} of the run are probed")
        return tuple(found)

    @property
    def is_demonstration(self) -> bool:
        """Whether an embedded stand-in judged, now or in the run."""
        return bool(self.judged.record.get("demonstration")) or super().is_demonstration

    @property
    def ledger(self) -> Ledger:
        """The store of calls: the panel's, where one is asked."""
        return super().ledger if self.probe is None else self.probe.arms[0].panel.ledger

    @property
    def backends(self) -> tuple[Backend, ...]:
        """The judges that are asked anew."""
        return () if self.probe is None else self.probe.arms[0].panel.backends

    async def dry_run(self) -> DryRun:
        """Calls, tokens and cost of every arm."""
        if self.probe is None:
            return DryRun((), ("Everything is estimated from stored scores.",))
        stages: dict[tuple[str, str], StageCost] = {}
        assumptions: tuple[str, ...] = ()
        for arm in self.probe.arms:
            one = estimate_scoring(arm.panel, ResponseSource(arm.rows))
            assumptions = one.assumptions
            for stage in one.stages:
                at = (arm.stage, stage.backend)
                stages[at] = stages.get(at, StageCost(*at, input_tokens=0)).plus(stage)
        n = len(self.probe.arms[0].rows)
        return DryRun(tuple(stages.values()), assumptions, n_responses=n)

    async def run_stages(self, client: Client) -> Estimates:
        """Asks arm by arm, and estimates."""
        found = None if self.probe is None else await self._asked(self.probe)
        doing(ESTIMATING)
        forms = [form_of(self._texts[name][1]) for name in self.scores.ids if name in self._texts]
        has_texts = len(forms) == len(self.scores.ids)
        return estimate(
            self.scores,
            forms if has_texts else None,
            self.judges_config,
            lengths=None if has_texts else stated_lengths(self.judged, self.scores.ids),
            probed=found,
            earlier=self.earlier,
        )

    async def _asked(self, probe: Probe) -> Probed:
        scores: dict[str, JudgeScores] = {}
        for arm in probe.arms:
            folder = await score_within(
                self, arm.name, arm.panel, arm.rows, f"{PROBE_FOLDER}/{arm.name}",
                with_results=False,
            )  # fmt: skip
            assert folder is not None  # noqa: S101  an arm has responses
            (scores[arm.name],) = read_judge_scores([Run(folder)])
        base = scores.pop(BASE)
        prompt = dict(zip(self.scores.ids, self.scores.prompt.tolist(), strict=True))
        codes = np.array([prompt[name] for name in base.ids], dtype=np.int64)
        return probed(probe, replace(base, prompt=codes, prompts=self.scores.prompts), scores)

    def describe(self) -> dict[str, Any]:
        """What run.json says of an examination."""
        record = self.judged.record
        return {
            "demonstration": self.is_demonstration,
            "source": self.judged.path.resolve().name,
            "notices": list(self.notices),
            "is_imported": "imported" in record["identity"],
            "scale": list(record["identity"]["scale"]),
            "criteria": list(self.scores.criteria),
            "models": list(dict.fromkeys(self.scores.models)),
            "personas": list(dict.fromkeys(self.scores.personas)),
            **self._told,
            **({} if self.probe is None else {"panel": self.probe.arms[0].panel.describe()}),
        }
