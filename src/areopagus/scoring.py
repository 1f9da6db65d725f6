"""The scoring job of a panel: its options in Python, and the engines that do its work.

The options themselves are those of `ScoreConfig`; what stands beside them here are objects that no
command line takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from .errors import InputError
from .experiment.config import RespondConfig, ScoreConfig, Track
from .graphs.stopping import StoppingRule

if TYPE_CHECKING:
    from .batch import BatchProgress, BatchSettings
    from .experiment.dry_run import Estimate
    from .experiment.engine import Engine
    from .experiment.job import Progress
    from .experiment.score import ScoreJob
    from .graphs.panel_spec import PanelSpec


class ScoreOptions(TypedDict, total=False):
    """The options of scoring; each is described at `Panel.score_many`."""

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


class PromptScoreOptions(ScoreOptions, total=False):
    """The same where targets answer prompts first; see `areopagus.score_prompts`."""

    track: Track | None
    effort: str | None
    words: int | None
    response_repeats: int


def score_job(
    panel: PanelSpec, source: Any, out: str | Path | None = None, **options: Unpack[ScoreOptions]
) -> ScoreJob:
    """A checked job; nothing is asked before it runs.

    Raises:
        InputError: everything wrong with the input.
    """
    from .experiment.score import ScoreJob
    from .records.readers.responses import ResponseSource

    given, config = _taken(options), ScoreConfig.checked(out=out, **options)
    panel, engine = _engine_of(panel, config, **given)
    responses = ResponseSource(source, columns=config.columns, limit=config.limit)
    return ScoreJob(panel, responses, config, engine=engine, on_progress=given["on_progress"])


def prompt_score_job(
    panel: PanelSpec,
    prompts: Any,
    targets: Any,
    out: str | Path | None = None,
    **options: Unpack[PromptScoreOptions],
) -> ScoreJob:
    """A checked job in which targets answer prompts, and the panel scores the answers.

    Raises:
        InputError: everything wrong with the input.
    """
    from .experiment.respond import RespondJob
    from .experiment.score import ScoreJob

    asked: dict[str, Any] = {
        name: options.pop(name) for name in ("track", "effort", "words") if name in options
    }
    repeats = options.pop("response_repeats", 1)
    given, config = _taken(options), ScoreConfig.checked(out=out, **options)
    asking = RespondConfig.checked(
        repeats=repeats, columns=config.columns, limit=config.limit, **asked
    )
    panel, engine = _engine_of(panel, config, **given)
    answering = RespondJob(prompts, targets, asking, ledger=panel.ledger)
    return ScoreJob(panel, answering, config, engine=engine, on_progress=given["on_progress"])


def score_estimate(panel: PanelSpec, source: Any, **options: Any) -> Estimate:
    """Calls, tokens and cost of scoring a source, without sending anything.

    Raises:
        InputError: everything wrong with the input.
    """
    from .experiment.dry_run import estimate_scoring
    from .records.readers.responses import ResponseSource

    config = ScoreConfig.checked(**options)
    responses = ResponseSource(source, columns=config.columns, limit=config.limit)
    return estimate_scoring(panel, responses, rule=rule_of(config))


def rule_of(config: ScoreConfig) -> StoppingRule | None:
    """The rule that the options make; None where every judge is asked."""
    if config.precision is None and config.judges_per_response is None:
        return None
    return StoppingRule(config.precision, config.judges_per_response, config.order_seed)


def _taken(options: Any) -> dict[str, Any]:
    """What of the options is no value of the configuration; it is taken out of them."""
    absent = {"batch": False, "engine": None}
    listeners = dict.fromkeys(("on_progress", "on_batch", "on_notice"))
    return {name: options.pop(name, value) for name, value in (absent | listeners).items()}


def _engine_of(
    panel: PanelSpec,
    config: ScoreConfig,
    *,
    batch: bool | BatchSettings,
    engine: Engine | None,
    on_batch: Callable[[BatchProgress], None] | None,
    on_notice: Callable[[str], None] | None,
    on_progress: object,
) -> tuple[PanelSpec, Engine]:
    """The panel with the rule that the options make, and what does the work."""
    from .experiment.engine import LocalEngine

    rule = rule_of(config)
    engine = engine or LocalEngine()
    if batch is not False:
        from .batch import BatchEngine, BatchSettings

        settings = BatchSettings() if batch is True else batch
        if settings.only and rule is not None and rule.half_width is not None:
            raise InputError(
                "--batch-only and --precision do not go together: whom the rule asks next depends "
                "on the answers. Give --batch, which has the first judges asked in batches, or "
                "--judges-per-response."
            )
        engine = BatchEngine(settings, inner=engine, on_progress=on_batch, on_notice=on_notice)
    if rule is not None:
        from .precision import PrecisionEngine, panel_with_rule

        panel, tally = panel_with_rule(panel, rule)
        engine = PrecisionEngine(tally, inner=engine)
    return panel, engine
