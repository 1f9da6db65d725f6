"""The first stage: every prompt rewritten into the framings, checked, and put into a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import ordered_map, run_async
from ..experiment.backends import require_access
from ..graphs.framings import Framing, load_framings
from ..graphs.reframing import (
    REFRAMED_STATUSES,
    Assignment,
    Reframed,
    assign_rewriters,
    reframe,
    variant_rows,
)
from ..judges.models.backend import Backend
from ..judges.models.client import Client
from ..records.readers.responses import PromptRow
from ..records.variants import VariantSet, write_variants
from .hand_edits import refuse_edited
from .material import Prompts, rewriters_from
from .run import VARIANTS_FILE

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec


def assignments(
    prompts: Prompts, rewriters: Sequence[Backend], reviewers: Sequence[Backend], seed: int
) -> dict[str, Assignment]:
    """Who rewrites and who reviews each prompt."""
    names = [row.prompt_id for row in prompts.rows]
    return assign_rewriters(names, rewriters, seed=seed, reviewers=reviewers)


async def reframe_each(
    prompts: Prompts,
    assigned: dict[str, Assignment],
    framings: Sequence[Framing],
    client: Client,
    *,
    at_once: int,
) -> AsyncGenerator[tuple[PromptRow, Reframed], None]:
    """What became of each prompt, in their order.

    Raises:
        StoreError: the ledger cannot be written.
    """

    async def one(row: PromptRow) -> Reframed:
        who = assigned[row.prompt_id]
        return await reframe(
            client,
            row.prompt_id,
            row.prompt_text,
            framings=framings,
            rewriter=who.rewriter,
            reviewer=who.reviewer,
        )

    async with aclosing(ordered_map(prompts.rows, one, at_once=at_once)) as each:
        async for pair in each:
            yield pair


async def reframe_one(panel: PanelSpec, prompt_id: str, prompt_text: str) -> Reframed:
    """One prompt in the built-in framings, by the panel's models (see `rewriters_from`).

    Raises:
        InputError: a rewriter cannot be asked at all.
        StoreError: the ledger cannot be written.
    """
    rewriters, reviewers = rewriters_from(None, panel)
    who = assign_rewriters([prompt_id], rewriters, reviewers=reviewers)[prompt_id]

    async def work() -> Reframed:
        await require_access((*rewriters, *reviewers), lambda _: False)
        return await reframe(
            Client(panel.ledger),
            prompt_id,
            prompt_text,
            framings=load_framings(),
            rewriter=who.rewriter,
            reviewer=who.reviewer,
        )

    return await run_async(work())


async def rewrite_all(
    folder: Path,
    prompts: Prompts,
    *,
    framings: Sequence[Framing],
    rewriters: Sequence[Backend],
    reviewers: Sequence[Backend],
    seed: int,
    client: Client,
    step: Callable[[bool], None],
) -> tuple[VariantSet, dict[str, Any]]:
    """Rewrites everything, writes variants.csv, and counts what became of it.

    Returns:
        The variants, and the stage's outcome for run.json: `planned` variants and their statuses,
        `prompts` by status, `reviewed` sets by outcome, the `reasons` of those that failed.

    Raises:
        InputError: the table in the folder has been edited; nothing is asked then.
        StoreError: the ledger or the folder cannot be written.
    """
    path = folder / VARIANTS_FILE
    refuse_edited(path, prompts.texts)
    assigned = assignments(prompts, rewriters, reviewers, seed)
    at_once = sum(backend.spec.concurrency for backend in rewriters) + 4
    rows = []
    variants: Counter[str] = Counter()
    sets: Counter[str] = Counter(dict.fromkeys(REFRAMED_STATUSES, 0))
    reviews: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    writers: Counter[str] = Counter()
    repaired = for_budget = 0
    each = reframe_each(prompts, assigned, framings, client, at_once=at_once)
    async with aclosing(each) as outcomes:
        async for row, outcome in outcomes:
            rows += variant_rows(outcome, row.prompt_text)
            variants.update(outcome.statuses.values())
            sets[outcome.status] += 1
            checks = outcome.checks
            why = f" ({checks.review_why})" if checks.review_why else ""
            reviews[f"{checks.review.replace('_', ' ')}{why}"] += 1
            reasons.update(f"{f.part or 'all'}: {f.code}" for f in outcome.reasons)
            writers[outcome.rewriter] += 1
            repaired += outcome.repaired
            for_budget += any(fault.code == "budget" for fault in outcome.reasons)
            step(outcome.status != "accepted")
    refuse_edited(path, prompts.texts, rows)
    write_variants(path, rows)
    names = tuple(framing.id for framing in framings)
    found = VariantSet(tuple(rows), names, prompts.texts)
    return found, {
        "planned": len(prompts.rows) * len(framings),
        "accepted": variants["accepted"],
        "failed": variants["failed"],
        "not_asked": variants["not_asked"],
        "not_asked_for_budget": for_budget,
        "prompts": dict(sets),
        "repaired": repaired,
        "reviewed": dict(reviews),
        "reasons": dict(reasons.most_common(30)),
        "rewriters": dict(sorted(writers.items())),
    }
