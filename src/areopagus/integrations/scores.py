"""What a verdict says in other tools: its numbers by name, or why there are none, and a comment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..formats import interval
from ..records.types import Verdict

COMPOSITE = "composite"
DEMONSTRATION = "offline/lexical counts text features; its scores are no judgments of quality"


@dataclass(frozen=True, slots=True)
class CriterionScore:
    """One number of a verdict, or why there is none.

    Attributes:
        name: "composite", or a criterion of the rubric.
        value: the panel's mean on the rubric's scale, or None.
        interval: (low, high) at 95%, over such personas on such models, or None.
        reason: why there is no value; None where there is one.
    """

    name: str
    value: float | None
    interval: tuple[float, float] | None
    reason: str | None


def scores_of(verdict: Verdict) -> tuple[CriterionScore, ...]:
    """The numbers of a verdict: the composite first, then the criteria.

    An inconclusive verdict (fewer judgments scored than the quorum) and a screened one (nothing to
    judge) have none: every value is None, with the reason.
    """
    has = verdict.status == "scored"
    reason = None if has else f"{verdict.status}: {verdict.reason}{_not_asked(verdict)}"
    found = [(COMPOSITE, verdict.composite, verdict.interval)]
    for name, value in verdict.dimensions.items():
        found.append((name, value, verdict.dimension_intervals.get(name)))
    return tuple(
        CriterionScore(name, value, interval, None)
        if has and value is not None
        else CriterionScore(name, None, None, reason or "no judgment scored it")
        for name, value, interval in found
    )


def _not_asked(verdict: Verdict) -> str:
    """Why judgments were not asked for, where that is what is missing."""
    left = {one.reason for one in verdict.judgments if one.status == "not_asked" and one.reason}
    if verdict.status == "screened" or not left:
        return ""
    return f"; not asked because of: {', '.join(sorted(left))}"


def verdict_metadata(verdict: Verdict, *, is_demonstration: bool) -> dict[str, Any]:
    """What stands beside the numbers in another tool: counts, spread, flags, cost; JSON-like.

    Args:
        verdict: the panel's.
        is_demonstration: whether an embedded stand-in judged; see `PanelEvaluator`.
    """
    told: dict[str, Any] = {
        "status": verdict.status,
        "reason": verdict.reason,
        "n_scored": verdict.n_scored,
        "n_planned": verdict.n_planned,
        "counts": {name: n for name, n in verdict.counts.items() if n},
        "interval": None if verdict.interval is None else list(verdict.interval),
        "interval_reason": verdict.interval_reason,
        "disagreement": verdict.disagreement,
        "by_persona": dict(verdict.by_persona),
        "by_model": dict(verdict.by_model),
        "flags": list(verdict.flags),
        "unbalanced": list(verdict.unbalanced),
        "cost_usd": verdict.cost_usd,
    }
    if is_demonstration:
        told["demonstration"] = DEMONSTRATION
    return told


def counted(verdict: Verdict) -> str:
    """How much of the panel a verdict rests on, and the models of which too little."""
    told = f"{verdict.n_scored} scored of {verdict.n_planned} planned judgments"
    if verdict.unbalanced:
        told += f" (unbalanced: below the quorum for {', '.join(verdict.unbalanced)})"
    return told


def evaluation_name(identity: Mapping[str, Any]) -> str:
    """What names of a panel's scores begin with elsewhere: its rubric, or the mode without one."""
    mode = str(identity["mode"])
    return mode if mode == "no_rubric" else str(identity["rubric"]["id"])


def comment_on(score: CriterionScore, verdict: Verdict, *, is_demonstration: bool) -> str:
    """What stands beside one number where people read it, or in its place: interval and counts.

    Args:
        score: one of `scores_of(verdict)`.
        verdict: the panel's.
        is_demonstration: whether an embedded stand-in judged; see `PanelEvaluator`.
    """
    told = [f"no score: {score.reason}"]
    if score.reason is None:
        limits = "no interval" if score.interval is None else f"95% {interval(*score.interval)}"
        told = [limits, counted(verdict)]
    if is_demonstration:
        told.append(f"DEMONSTRATION: {DEMONSTRATION}")
    return "; ".join(told)
