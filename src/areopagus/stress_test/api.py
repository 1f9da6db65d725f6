"""`areopagus.stress` and its asynchronous twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..async_runner import run_async
from ..experiment.config import takes_options
from ..experiment.job import Progress, run_job
from ..panel import Panel
from .config import StressConfig
from .job import StressJob
from .run import StressRun


@takes_options(StressConfig)
def stress(
    prompts: Any = None,
    *,
    panel: Panel | None = None,
    target: Any = None,
    rewriters: Any = None,
    responses: Any = None,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> StressRun:
    """Measures how a model's critical thinking moves when its prompts are reframed.

    Each prompt is rewritten into conversational framings, the target answers baseline and
    variants, the panel scores all answers, and the degradation (baseline minus variant) is
    reported with the prompt as the unit. The same call goes on where an earlier one stopped.

    Args:
        prompts: a file, a DataFrame or an iterable with prompt_text and optional prompt_id.
        panel: who judges; the embedded baseline when left out.
        target: the models under test: model strings, settings, chat models or backends; the
            embedded stand-in when left out.
        rewriters: models that rewrite the prompts, dealt out by the seed; the panel's models when
            left out.
        responses: responses that are there already, instead of prompts and target: response_id,
            prompt_id, condition, prompt_text, response_text, respondent_id; and repeat, from 0,
            where there are several to a prompt and condition.
        on_progress: called on every change, on the package's loop: keep it short.
        options: the fields of `StressConfig`, which the command takes as well.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored; the same call
            goes on.
    """
    config = StressConfig.checked(**options)
    whole = panel or Panel()
    try:
        return run_job(
            StressJob(
                whole.spec,
                prompts,
                config,
                targets=target,
                rewriters=rewriters,
                responses=responses,
                on_progress=on_progress,
            )
        )
    finally:
        if panel is None:
            whole.close()


@takes_options(StressConfig)
async def astress(
    prompts: Any = None,
    *,
    panel: Panel,
    target: Any = None,
    rewriters: Any = None,
    responses: Any = None,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> StressRun:
    """The asynchronous twin of `stress`; the panel is the caller's."""
    job = StressJob(
        panel.spec,
        prompts,
        StressConfig.checked(**options),
        targets=target,
        rewriters=rewriters,
        responses=responses,
        on_progress=on_progress,
    )
    return await run_async(job.run())
