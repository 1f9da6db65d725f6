"""`areopagus.attack`, `areopagus.rescore` and their asynchronous twins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..async_runner import run_async
from ..experiment.job import Progress, run_job
from ..panel import Panel
from .job import AttackJob
from .plan import AttackPlan
from .rescore import RescoreJob
from .run import AttackRun, RescoreRun


def attack(
    responses: Any = None,
    *,
    panel: Panel | None = None,
    families: Sequence[str] | None = None,
    corpus: Sequence[str | Path] | str | Path = (),
    plan: AttackPlan | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    max_cost: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> AttackRun:
    """Runs an injection corpus against a panel and measures how far it moves scores.

    Every base response is scored clean, with each attack text at each place, and with harmless
    prose of the same length there. Shifts are paired by judge and response; prompts are the units.

    Args:
        responses: what to attack: a file, a DataFrame or an iterable as for `Panel.score_many`;
            eight built-in responses when left out.
        panel: who judges; the embedded baseline when left out.
        families: only these families; all of the corpus when left out.
        corpus: YAML files of families, or folders of them, in the place of the built-in corpus.
        plan: threshold, placements, controls; decided before looking.
        columns: our column name to theirs.
        limit: only the first so many responses.
        out: the folder; `runs/attack-…` when left out. The same call goes on where an earlier one
            stopped.
        resume: demand that the folder exists.
        max_cost: US dollars that are not passed.
        on_progress: called on every change, on the package's loop: keep it short.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored; the same call
            goes on.
    """
    whole = panel or Panel()
    try:
        job = AttackJob(
            whole.spec, responses, families=families, corpus=corpus, plan=plan, columns=columns,
            limit=limit, out=out, resume=resume, max_cost=max_cost, on_progress=on_progress,
        )  # fmt: skip
        return run_job(job)
    finally:
        if panel is None:
            whole.close()


async def aattack(responses: Any = None, *, panel: Panel, **options: Any) -> AttackRun:
    """The asynchronous twin of `attack`; the panel is the caller's."""
    return await run_async(AttackJob(panel.spec, responses, **options).run())


def rescore(
    responses: Any,
    *,
    panel: Panel | None = None,
    threshold: float = 2.0,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    max_cost: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> RescoreRun:
    """Scores flagged responses once more with the flagged passages taken out, and compares.

    An audit: no score of any other run is changed. Responses without a flag would have an equal
    copy; they are counted and not asked about.

    Args:
        responses: a file, a DataFrame or an iterable as for `Panel.score_many`.
        panel: who judges; the embedded baseline when left out.
        threshold: points of difference from which a response is marked.
        columns, limit, out, resume, max_cost, on_progress: as in `attack`.

    Raises:
        InputError, StoreError, RunInterrupted: as in `attack`.
    """
    whole = panel or Panel()
    try:
        job = RescoreJob(
            whole.spec, responses, threshold=threshold, columns=columns, limit=limit, out=out,
            resume=resume, max_cost=max_cost, on_progress=on_progress,
        )  # fmt: skip
        return run_job(job)
    finally:
        if panel is None:
            whole.close()


async def arescore(responses: Any, *, panel: Panel, **options: Any) -> RescoreRun:
    """The asynchronous twin of `rescore`; the panel is the caller's."""
    return await run_async(RescoreJob(panel.spec, responses, **options).run())
