"""`areopagus.stress` and its asynchronous twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..async_runner import run_async
from ..experiment.config import Track
from ..experiment.job import Progress, run_job
from ..graphs.framings import Framing
from ..panel import Panel
from .job import StressJob
from .plan import StressPlan
from .run import StressRun


def stress(
    prompts: Any = None,
    *,
    panel: Panel | None = None,
    target: Any = None,
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
    on_progress: Callable[[Progress], None] | None = None,
) -> StressRun:
    """Measures how a model's critical thinking moves when its prompts are reframed.

    Each prompt is rewritten into conversational framings, the target answers baseline and
    variants, the panel scores all answers, and the degradation (baseline minus variant) is
    reported with the prompt as the unit.

    Args:
        prompts: a file, a DataFrame or an iterable with prompt_text and optional prompt_id.
        panel: who judges; the embedded baseline when left out.
        target: the models under test: model strings, settings, chat models or backends; the
            embedded stand-in when left out.
        rewriters: models that rewrite the prompts, dealt out by the plan's seed; the panel's
            models when left out.
        framings: names, files or objects; the four built-in ones when left out.
        framing_folders: folders whose framings join them.
        variants: a table of variants to use as they stand (variants.csv, edited or not), so that
            nothing is rewritten.
        responses: responses that are there already, instead of prompts and target: response_id,
            prompt_id, condition, prompt_text, response_text, respondent_id; and repeat, from 0,
            where there are several to a prompt and condition.
        condition: where supplied responses carry their condition otherwise: a column, or a
            regular expression; see `StressSource`.
        plan: margin, level, repeats, seed; decided before looking.
        track, effort, words: how targets are asked; see `respond`.
        columns: our column name to theirs.
        limit: only the first so many prompts, or supplied responses.
        rewrite_only: stop when the variants are written.
        bold_at: points from which a cell of the heat map has a bold border; 1.2 as in the paper.
        out: the folder; `runs/stress-NAME-xxxxxxxx` when left out. The same call goes on where an
            earlier one stopped.
        resume: demand that the folder exists.
        max_cost: US dollars that are not passed, over all stages.
        on_progress: called on every change, on the package's loop: keep it short.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored; the same call
            goes on.
    """
    whole = panel or Panel()
    try:
        return run_job(
            StressJob(
                whole.spec, prompts, targets=target, rewriters=rewriters, framings=framings,
                framing_folders=framing_folders, variants=variants, responses=responses,
                condition=condition, plan=plan, track=track, effort=effort, words=words,
                columns=columns, limit=limit, rewrite_only=rewrite_only, bold_at=bold_at,
                out=out, resume=resume, max_cost=max_cost, on_progress=on_progress,
            )
        )  # fmt: skip
    finally:
        if panel is None:
            whole.close()


async def astress(prompts: Any = None, *, panel: Panel, **options: Any) -> StressRun:
    """The asynchronous twin of `stress`; the panel is the caller's."""
    if "target" in options:
        options["targets"] = options.pop("target")
    return await run_async(StressJob(panel.spec, prompts, **options).run())
