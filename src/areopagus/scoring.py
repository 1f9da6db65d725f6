"""Makes the scoring job of a panel out of the options of a Python call.

What the options may hold is said by `ScoreConfig` and `RespondConfig`; what stands beside them here
are objects that no command line takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from .errors import InputError
from .experiment.config import RespondConfig, ScoreConfig, Track
from .progress import OnProgress

if TYPE_CHECKING:
    from .batch import BatchProgress, BatchSettings
    from .experiment.engine import Engine
    from .experiment.score import ScoreJob
    from .graphs.panel_spec import PanelSpec


class ScoreOptions(TypedDict, total=False):
    """The options of scoring; each is described at `Panel.score_many`."""

    columns: Mapping[str, str] | None
    prompts_from: str | Path | None
    format: str | None
    limit: int | None
    resume: bool
    max_cost: float | None
    precision: float | None
    judges_per_response: int | None
    order_seed: int
    batch: bool | BatchSettings
    on_progress: OnProgress
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

    listen = options.pop("on_progress", None)
    config, engine = _config_and_engine(out=out, **options)
    responses = ResponseSource(
        source,
        prompts_from=config.prompts_from,
        columns=config.columns,
        limit=config.limit,
        format=config.format,
    )
    return ScoreJob(panel, responses, config, engine=engine, on_progress=listen)


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

    listen = options.pop("on_progress", None)
    asked = {
        "track": options.pop("track", None),
        "effort": options.pop("effort", None),
        "words": options.pop("words", None),
        "repeats": options.pop("response_repeats", 1),
    }
    config, engine = _config_and_engine(out=out, **options)
    if config.prompts_from is not None or config.format is not None:
        raise InputError("`prompts_from` and `format` are for responses that are there already")
    asking = RespondConfig.checked(columns=config.columns, limit=config.limit, **asked)
    answering = RespondJob(prompts, targets, asking, ledger=panel.ledger)
    return ScoreJob(panel, answering, config, engine=engine, on_progress=listen)


def _config_and_engine(
    *,
    batch: bool | BatchSettings = False,
    engine: Engine | None = None,
    on_batch: Callable[[BatchProgress], None] | None = None,
    on_notice: Callable[[str], None] | None = None,
    **options: Any,
) -> tuple[ScoreConfig, Engine | None]:
    """What was chosen, and what does the work: through batches first where they are wanted."""
    config = ScoreConfig.checked(**options)
    if batch is False:
        return config, engine
    from .batch import BatchEngine, BatchSettings

    settings = BatchSettings() if batch is True else batch
    if settings.only and config.precision is not None:
        raise InputError(
            "`only` (of batches) and `precision` do not go together: whom the rule asks next "
            "depends on the answers. Give `batch`, which has the first judges asked in batches, or "
            "`judges_per_response`."
        )
    return config, BatchEngine(settings, inner=engine, on_progress=on_batch, on_notice=on_notice)
