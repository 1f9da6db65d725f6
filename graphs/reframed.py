"""The outcome of rewriting a prompt, made from the state in which its graph ended."""

from __future__ import annotations

from ..records.spreadsheets import writable
from ..records.variants import VariantRow, as_generated
from .reframing_state import (
    NO_SECOND_MODEL,
    Reframed,
    ReframedStatus,
    ReframingState,
    ReviewOutcome,
    Rewriting,
    VariantChecks,
    VariantStatus,
)
from .variant_fault import WHOLE_SET, VariantFault


def reframed(state: ReframingState, work: Rewriting) -> Reframed:
    """The outcome: each framing for itself, both halves of a pair that is not in tension failed."""
    names = [framing.id for framing in work.framings]
    set_faults = _faults(state.get("set_faults", []))
    checked = _faults(state.get("faults", []))
    review = state.get("review") or {}
    reviewed = _faults(review.get("faults", []))
    ended = state.get("ended") or ("failed" if state.get("problem") else None)
    faulty = {fault.framing for fault in (*checked, *reviewed)}
    variants = state.get("variants", {})
    statuses: dict[str, VariantStatus]
    if ended is not None:
        # Unfinished or unreadable as a whole: nothing of it was found good.
        closed: VariantStatus = "not_asked" if ended == "not_asked" else "failed"
        statuses = dict.fromkeys(names, closed)
    else:
        statuses = {name: "failed" if name in faulty else "accepted" for name in names}
    usable = {name: str(variants[name]) for name in names if statuses[name] == "accepted"}
    texts = {name: variants[name] for name in names if type(variants.get(name)) is str}
    return Reframed(
        prompt_id=work.prompt_id,
        rewriter=work.rewriter.spec.name,
        reviewer=None if work.reviewer is None else work.reviewer.spec.name,
        status=_status(statuses, usable),
        variants=usable,
        rejected={name: text for name, text in texts.items() if statuses[name] == "failed"},
        reasons=(*set_faults, *checked, *reviewed),
        statuses=statuses,
        repaired=state.get("repaired", False),
        repaired_faults=_faults(state.get("repair_faults", [])),
        checks=_checks(state, work, any_text=bool(texts), any_fault=bool(checked), ended=ended),
        calls=state.get("calls", 0),
        cost_usd=state.get("cost_usd", 0.0),
        ledger_keys=tuple(state.get("ledger_keys", [])),
        answered_by=state.get("answered_by"),
    )


def variant_rows(outcome: Reframed, baseline: str) -> list[VariantRow]:
    """The outcome as rows of the table of variants, one a framing, in order."""
    texts = {**outcome.rejected, **outcome.variants}
    return [
        as_generated(
            VariantRow(
                prompt_id=outcome.prompt_id,
                condition=name,
                # A reply may hold what no CSV file can, and a table must read back as written.
                prompt_text=writable(texts.get(name, "")).replace("\0", "\ufffd"),
                baseline_text=baseline,
                rewriter=outcome.rewriter,
                reviewer=outcome.reviewer or "",
                status=status,
                reasons="; ".join(
                    f"{fault.code}: {fault.detail}" if fault.detail else fault.code
                    for fault in outcome.reasons_for(name)
                ),
                checks=str(outcome.checks),
            )
        )
        for name, status in outcome.statuses.items()
    ]


def failed_by_defect(work: Rewriting, detail: str) -> Reframed:
    """The outcome where this program fell over; the other prompts stand."""
    names = [framing.id for framing in work.framings]
    return Reframed(
        prompt_id=work.prompt_id,
        rewriter=work.rewriter.spec.name,
        reviewer=None if work.reviewer is None else work.reviewer.spec.name,
        status="failed",
        reasons=(VariantFault(WHOLE_SET, "no_reply", f"internal: {detail}"),),
        statuses=dict.fromkeys(names, "failed"),
        checks=VariantChecks(None, review_why="no_variant"),
        cost_usd=None,
    )


def _status(statuses: dict[str, VariantStatus], usable: dict[str, str]) -> ReframedStatus:
    if "not_asked" in statuses.values():
        return "not_asked"
    if len(usable) == len(statuses):
        return "accepted"
    return "partial" if usable else "failed"


def _checks(
    state: ReframingState, work: Rewriting, *, any_text: bool, any_fault: bool, ended: str | None
) -> VariantChecks:
    review = state.get("review") or {}
    outcome: ReviewOutcome = review.get("outcome", "not_checked")
    why: str = review.get("why", "")
    if not review:
        if work.reviewer is None:
            why = NO_SECOND_MODEL
        else:
            why = "not_asked" if ended == "not_asked" else "no_variant"
    return VariantChecks(
        deterministic=not any_fault if any_text and ended is None else None,
        skipped=tuple(state.get("skipped", [])),
        review=outcome,
        review_why=why,
    )


def _faults(plain: list[dict[str, str]]) -> tuple[VariantFault, ...]:
    return tuple(VariantFault.from_json(fault) for fault in plain)
