"""`JobOptions`, the options of `Panel.score_many`, and the checked scoring job made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from ..errors import InputError
from ..graphs.stopping import StoppingRule

if TYPE_CHECKING:
    from ..batch import BatchEngine, BatchProgress, BatchSettings
    from ..graphs.panel_spec import PanelSpec
    from ..precision import PrecisionTally
    from ..records.readers.responses import ResponseSource
    from .engine import Engine
    from .score import Progress, ScoreJob


class JobOptions(TypedDict, total=False):
    """The options; each is described at `Panel.score_many`."""

    columns: Mapping[str, str] | None
    limit: int | None
    resume: bool
    max_cost: float | None
    precision: float | None
    judges_per_response: int | None
    order_seed: int
    batch: bool | BatchSettings
    on_progress: Callable[[Progress], None] | None
    on_batch: Callable[[BatchProgress], None] | None
    on_notice: Callable[[str], None] | None
    engine: Engine | None


def rule_of(
    precision: float | None, judges_per_response: int | None, order_seed: int
) -> StoppingRule | None:
    """The rule that these options make; None where neither of the first two is given.

    Raises:
        InputError: values that make no sense.
    """
    if precision is None and judges_per_response is None:
        return None
    return StoppingRule(precision, judges_per_response, order_seed)


@dataclass(frozen=True, slots=True)
class Seated:
    """A panel with the options of a job applied to it, checked before there is anything to score.

    Attributes:
        panel: with the rule, where there is one.
        engine: what does the work, the rule's tally apart.
        options: as given.
    """

    panel: PanelSpec
    engine: Engine
    options: JobOptions
    _tally: PrecisionTally | None
    _batches: BatchEngine | None

    def job(self, source: ResponseSource, out: str | Path | None, **more: Any) -> ScoreJob:
        """The checked job over a source; `more` takes the place of options of `ScoreJob`."""
        from .score import ScoreJob

        engine, options = self.engine, self.options
        if self._tally is not None:
            from ..precision import PrecisionEngine

            engine = PrecisionEngine(self._tally, inner=engine, rows=source.rows)
        settings: dict[str, Any] = {
            "resume": options.get("resume", False),
            "max_cost": options.get("max_cost"),
            "on_progress": options.get("on_progress"),
        }
        job = ScoreJob(self.panel, source, out=out, engine=engine, **{**settings, **more})
        if self._batches is not None:
            self._batches.bind(job.source, job.folder.path)
        return job


def seated(panel: PanelSpec, options: JobOptions) -> Seated:
    """The panel with these options applied to it.

    Raises:
        InputError: options that make no sense.
    """
    from .engine import LocalEngine

    rule = rule_of(
        options.get("precision"), options.get("judges_per_response"), options.get("order_seed", 0)
    )
    engine: Engine = options.get("engine") or LocalEngine()
    batches = _batch_engine(options, engine, rule)
    tally = None
    if rule is not None:
        from ..precision import panel_with_rule

        panel, tally = panel_with_rule(panel, rule)
    return Seated(panel, batches or engine, options, tally, batches)


def job_of(
    panel: PanelSpec, source: Any, out: str | Path | None, **options: Unpack[JobOptions]
) -> ScoreJob:
    """A checked job; nothing is asked before it runs.

    Raises:
        InputError: everything wrong with the input.
        StoreError: the folder cannot be written.
    """
    from ..records.readers.responses import ResponseSource

    ready = seated(panel, options)
    responses = ResponseSource(source, columns=options.get("columns"), limit=options.get("limit"))
    return ready.job(responses, out)


def _batch_engine(
    options: JobOptions, inner: Engine, rule: StoppingRule | None
) -> BatchEngine | None:
    batch = options.get("batch", False)
    if batch is False:
        return None
    from ..batch import BatchEngine, BatchSettings

    settings = BatchSettings() if batch is True else batch
    if settings.only and rule is not None and rule.half_width is not None:
        raise InputError(
            "--batch-only and --precision do not go together: whom the rule asks next depends on "
            "the answers. Give --batch, which has the first judges asked in batches, or "
            "--judges-per-response."
        )
    return BatchEngine(
        settings,
        inner=inner,
        on_progress=options.get("on_batch"),
        on_notice=options.get("on_notice"),
    )
