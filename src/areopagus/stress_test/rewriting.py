"""The first stage: every prompt rewritten into the framings, checked, and put into a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..async_runner import ordered_map
from ..errors import InputError, InputFault
from ..experiment.ask import Protocol, targets_from
from ..formats import listed
from ..graphs.framings import Framing
from ..graphs.reframing import (
    REFRAMED_STATUSES,
    Assignment,
    Reframed,
    assign_rewriters,
    reframe,
    variant_rows,
)
from ..judges.models.backend import OFFLINE_REWRITER, Backend
from ..judges.models.client import Client
from ..records.readers.responses import PromptRow
from ..records.variants import VariantRow, VariantSet, read_variants, text_sha256, write_variants
from .run import VARIANTS_FILE

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec

REWRITER_TOKENS = 4_000


def rewriters_from(
    models: Any, panel: PanelSpec
) -> tuple[tuple[Backend, ...], tuple[Backend, ...]]:
    """Who rewrites the prompts, and who may review beside them.

    Without a name the panel's models rewrite: they are not the models under test. An embedded
    panel takes the embedded rewriter.

    Raises:
        InputError: settings that are none, two backends of one name, a judge as a rewriter.
    """
    judges = tuple(backend for backend in panel.backends if not backend.spec.is_offline)
    if not models and judges:
        return _as_writers(judges), ()
    protocol = Protocol(max_tokens=REWRITER_TOKENS)
    backends = targets_from(models or [OFFLINE_REWRITER], protocol, "rewriter")
    return backends, _as_writers(judges) if len(backends) == 1 else ()


def _as_writers(judges: Sequence[Backend]) -> tuple[Backend, ...]:
    """The judges' models with room for four variants; objects of a user's own as they are."""
    from ..judges.factory import backend_of, is_made_of_settings

    return tuple(
        backend_of(
            backend.spec.model_copy(
                update={
                    "max_tokens": max(backend.spec.max_tokens, REWRITER_TOKENS),
                    "score_mode": None,
                }
            )
        )
        if is_made_of_settings(backend)
        else backend
        for backend in judges
    )


def require_stand_ins(framings: Sequence[Framing], rewriters: Sequence[Backend]) -> None:
    """Refuses framings that the embedded rewriter has no text for, before it is asked for any.

    Raises:
        InputError: with every one of them.
    """
    if not any(backend.spec.is_offline for backend in rewriters):
        return
    faults = [
        InputFault(
            f"framing {framing.id}",
            "has none, so offline/rewriter cannot write it; add one, or name a model that rewrites",
            "stand_in",
        )
        for framing in framings
        if not framing.stand_in
    ]
    if faults:
        raise InputError(faults)


def assignments(
    prompts: Sequence[PromptRow],
    rewriters: Sequence[Backend],
    reviewers: Sequence[Backend],
    seed: int,
) -> dict[str, Assignment]:
    """Who rewrites and who reviews each prompt."""
    names = [row.prompt_id for row in prompts]
    return assign_rewriters(names, rewriters, seed=seed, reviewers=reviewers)


async def reframe_each(
    prompts: Sequence[PromptRow],
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

    async with aclosing(ordered_map(prompts, one, at_once=at_once)) as each:
        async for pair in each:
            yield pair


async def rewrite_all(
    folder: Path,
    prompts: Sequence[PromptRow],
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
    baselines = {row.prompt_id: row.prompt_text for row in prompts}
    refuse_edited(path, baselines)
    assigned = assignments(prompts, rewriters, reviewers, seed)
    at_once = sum(backend.spec.concurrency for backend in rewriters) + 4
    found: list[Reframed] = []
    each = reframe_each(prompts, assigned, framings, client, at_once=at_once)
    async with aclosing(each) as outcomes:
        async for _, outcome in outcomes:
            found.append(outcome)
            step(outcome.status != "accepted")
    variants = variants_of(found, framings, baselines)
    refuse_edited(path, baselines, variants.rows)
    write_variants(path, variants.rows)
    return variants, counted(found)


def variants_of(
    outcomes: Iterable[Reframed], framings: Sequence[Framing], baselines: Mapping[str, str]
) -> VariantSet:
    """The variants of all prompts, whatever became of them.

    Args:
        outcomes: one a prompt, in the order of the prompts.
        framings: those that were asked for.
        baselines: prompt id to text.
    """
    rows = [row for one in outcomes for row in variant_rows(one, baselines[one.prompt_id])]
    return VariantSet(tuple(rows), tuple(framing.id for framing in framings), baselines)


def counted(outcomes: Sequence[Reframed]) -> dict[str, Any]:
    """What became of the rewriting, for run.json."""
    variants: Counter[str] = Counter()
    sets: Counter[str] = Counter(dict.fromkeys(REFRAMED_STATUSES, 0))
    reviews: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    writers: Counter[str] = Counter()
    repaired = for_budget = 0
    for outcome in outcomes:
        variants.update(outcome.statuses.values())
        sets[outcome.status] += 1
        checks = outcome.checks
        why = f" ({checks.review_why})" if checks.review_why else ""
        reviews[f"{checks.review.replace('_', ' ')}{why}"] += 1
        reasons.update(f"{f.part or 'all'}: {f.code}" for f in outcome.reasons)
        writers[outcome.rewriter] += 1
        repaired += outcome.repaired
        for_budget += any(fault.code == "budget" for fault in outcome.reasons)
    return {
        "planned": variants.total(),
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


def refuse_edited(
    path: Path, prompts: Mapping[str, str], new: Sequence[VariantRow] | None = None
) -> None:
    """Refuses to go on where the table that stands there is not as a model wrote it.

    A text is compared with the hash of the generated one that stands beside it; a row set to failed
    by hand gives no reasons; a row set to accepted by hand has a text that has just been found
    wanting again. A table that cannot be read any more has been changed as well.

    Args:
        path: the table; nothing is refused where there is none.
        prompts: prompt id to text.
        new: the rows that would take its place, once they are known.

    Raises:
        InputError: it has been edited.
    """
    if not path.is_file():
        return
    try:
        rows = read_variants(path, prompts).rows
    except InputError as error:
        first = error.faults[0] if error.faults else error
        raise _refusal(path, f"is no longer as it was written ({first})") from error
    failed = {(row.prompt_id, row.condition): row for row in new or () if row.status == "failed"}
    edited = [
        f"{row.prompt_id} {row.condition} (line {row.line})"
        for row in rows
        if row.edited == "edited by hand"
        or (row.status == "failed" and not row.reasons)
        or (row.status == "accepted" and _is_same(row, failed.get((row.prompt_id, row.condition))))
    ]
    if edited:
        raise _refusal(path, f"has been edited by hand: {listed(edited)}")


def _is_same(row: VariantRow, other: VariantRow | None) -> bool:
    return other is not None and text_sha256(row.prompt_text) == text_sha256(other.prompt_text)


def _refusal(path: Path, what: str) -> InputError:
    return InputError(
        [InputFault(str(path), f"{what}; writing it anew would destroy that")],
        hint=f"To use it as it stands: `variants={str(path)!r}` and another folder (`out`). To "
        "have it written anew, move it away.",
    )
