"""`construct_prompts` and its asynchronous twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import run_async
from ..experiment.job import Progress, run_job
from .job import PromptJob
from .plan import PromptPlan
from .run import PromptRun

if TYPE_CHECKING:
    from ..records.ledger import Ledger


def construct_prompts(
    scenarios: Any,
    *,
    models: Any = None,
    judges: Any = None,
    embedding: Any = None,
    plan: PromptPlan | None = None,
    effort: str | None = None,
    ledger: str | Path | Ledger | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    max_cost: float | None = None,
    technology: str | Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> PromptRun:
    """Turns scenarios into a filtered set of open-ended prompts, and measures it.

    Each model writes prompts for each scenario; the others vote on their quality; two that wrote
    neither say of each pair whether it is one prompt in two wordings.

    Args:
        scenarios: a table with scenario_id and scenario_text, as `prompts bbq`, `hle` and
            `concepts` write it, or a `ScenarioSet`.
        models: who writes, and judges what the others wrote; an embedded stand-in when left out.
        judges: further models that judge and do not write.
        embedding: an embedding model for the map of the prompts; no map when left out.
        plan: prompts wanted, rules, seed; decided before looking.
        effort: reasoning effort of the writers.
        ledger: a file, `postgresql://…` or an open Ledger; the user's shared one if left out.
        columns: our column name to theirs.
        limit: only the first so many scenarios.
        out: the folder; `runs/prompts-NAME-xxxxxxxx` when left out. The same call goes on where an
            earlier one stopped.
        resume: demand that the folder exists.
        max_cost: US dollars that are not passed, over all stages.
        technology: a YAML file of words by which a prompt is taken to be about technology.
        on_progress: called on every change, on the package's loop: keep it short.

    Raises:
        InputError: everything wrong with the input, before anything is spent.
        StoreError: the ledger or the folder cannot be written.
        RunInterrupted: after a KeyboardInterrupt, when what is paid for is stored; the same call
            goes on.
    """
    job = PromptJob(
        scenarios, models=models, judges=judges, embedding=embedding, plan=plan, effort=effort,
        ledger=ledger, columns=columns, limit=limit, out=out, resume=resume, max_cost=max_cost,
        technology=technology, on_progress=on_progress,
    )  # fmt: skip
    return run_job(job)


async def aconstruct_prompts(scenarios: Any, **options: Any) -> PromptRun:
    """The asynchronous twin of `construct_prompts`."""
    return await run_async(PromptJob(scenarios, **options).run())
