"""`areopagus.attack` and `areopagus.rescore`, with their asynchronous twins."""

from __future__ import annotations

from typing import Any

from ..async_runner import run_async
from ..experiment.job import run_job
from ..panel import Panel, opened
from ..progress import OnProgress
from .config import AttackConfig, RescoreConfig
from .job import AttackJob, RescoreJob
from .run import AttackRun, RescoreRun


def attack(
    responses: Any = None,
    *,
    panel: Panel | None = None,
    on_progress: OnProgress = None,
    **options: Any,
) -> AttackRun:
    """Runs an injection corpus against a panel and measures how far it moves scores.

    Every base response is scored clean, with each attack text at each place, and with harmless
    prose of the same length there. Shifts are paired by judge and response; prompts are the units.

    Args:
        responses: what to attack: a file, a DataFrame or an iterable as for `Panel.score_many`;
            eight built-in responses when left out.
        panel: who judges; the embedded baseline when left out.
        on_progress: as of `Panel.score_many`.
        options: as in `AttackConfig`: families, corpus, strings, placements, texts, threshold,
            controls, neutralise, level, columns, limit, out, resume, max_cost, and others.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored; the same call
            goes on.
    """
    with opened(panel) as spec:
        config = AttackConfig.checked(**options)
        return run_job(AttackJob(spec, responses, config, on_progress=on_progress))


async def aattack(
    responses: Any = None, *, panel: Panel, on_progress: OnProgress = None, **options: Any
) -> AttackRun:
    """The asynchronous twin of `attack`; the panel is the caller's."""
    config = AttackConfig.checked(**options)
    job = AttackJob(panel.spec, responses, config, on_progress=on_progress)
    return await run_async(job.run())


def rescore(
    responses: Any,
    *,
    panel: Panel | None = None,
    on_progress: OnProgress = None,
    **options: Any,
) -> RescoreRun:
    """Scores flagged responses once more with the flagged passages taken out, and compares.

    An audit: no score of any other run is changed. Responses without a flag would have an equal
    copy; they are counted and not asked about.

    Args:
        responses: a file, a DataFrame or an iterable as for `Panel.score_many`.
        panel, on_progress: as in `attack`.
        options: as in `RescoreConfig`: threshold, columns, limit, out, resume, max_cost.

    Raises:
        InputError, StoreError, RunInterrupted: as in `attack`.
    """
    with opened(panel) as spec:
        config = RescoreConfig.checked(**options)
        return run_job(RescoreJob(spec, responses, config, on_progress=on_progress))


async def arescore(
    responses: Any, *, panel: Panel, on_progress: OnProgress = None, **options: Any
) -> RescoreRun:
    """The asynchronous twin of `rescore`; the panel is the caller's."""
    config = RescoreConfig.checked(**options)
    return await run_async(RescoreJob(panel.spec, responses, config, on_progress=on_progress).run())
