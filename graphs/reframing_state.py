"""What the reframing graph carries between its nodes, what it needs, and what it ends with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, get_args

from ..judges.models.backend import Backend
from ..judges.models.client import Desk
from ..judges.models.request import Rung
from .framings import Framing
from .variant_fault import VariantFault

ReframedStatus = Literal["accepted", "partial", "failed", "not_asked"]
"""`accepted`: every framing has a usable variant. `partial`: some have. `failed`: none has.
`not_asked`: the budget or a stop came before the prompt was finished; nothing of it is used, and
the next run takes up where the ledger ends."""

REFRAMED_STATUSES: tuple[ReframedStatus, ...] = get_args(ReframedStatus)

VariantStatus = Literal["accepted", "failed", "not_asked"]

ReviewOutcome = Literal["passed", "failed", "not_checked"]

NO_SECOND_MODEL = "no second model"


class ReframingState(TypedDict, total=False):
    """State of one prompt. Variants are results and stand here; the prompt's own text does not.

    `variants` is what the rewriter wrote, unchecked. `reply` is its first reply, shortened, as the
    repair shows it back; `rung` how it was asked for; `problem` what was wrong with its form.
    `faults` are those of the variants as they stand, `set_faults` those of the reply as a whole,
    `repair_faults` those that the repair was asked for. `passed` names the variants that passed a
    review. `ended` is `not_asked` or `failed` where there is nothing more to do.
    """

    prompt_id: str
    variants: dict[str, Any]
    faults: list[dict[str, Any]]
    set_faults: list[dict[str, Any]]
    skipped: list[str]
    reply: str
    rung: Rung
    problem: str | None
    repaired: bool
    repair_faults: list[dict[str, Any]]
    review: dict[str, Any]
    passed: list[str]
    ended: str | None
    calls: int
    cost_usd: float | None
    ledger_keys: list[str]
    answered_by: str | None


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Runtime context of one run of the graph: one prompt, who rewrites it and who reviews."""

    prompt_id: str
    baseline: str
    framings: tuple[Framing, ...]
    rewriter: Backend
    reviewer: Backend | None
    desk: Desk
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class VariantChecks:
    """How far the variants were checked.

    Attributes:
        deterministic: whether every variant that is usable passed them; None where none came.
        skipped: checks left out, each with the reason ("marker_missing: not English").
        review: what the second model said of what it was shown, after the repair if there was one.
        review_why: for `not_checked`: `NO_SECOND_MODEL`, a class of fault, `unreadable`, `refused`
            or `no_variant`; for the others "".
    """

    deterministic: bool | None
    skipped: tuple[str, ...] = ()
    review: ReviewOutcome = "not_checked"
    review_why: str = NO_SECOND_MODEL

    def __str__(self) -> str:
        words = {True: "passed", False: "failed", None: "not_checked"}
        why = f" ({self.review_why})" if self.review_why else ""
        skipped = f"; skipped {', '.join(self.skipped)}" if self.skipped else ""
        return f"deterministic {words[self.deterministic]}; review {self.review}{why}{skipped}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "deterministic": self.deterministic,
            "skipped": list(self.skipped),
            "review": self.review,
            "review_why": self.review_why,
        }


@dataclass(frozen=True, slots=True)
class Reframed:
    """What became of rewriting one prompt.

    Attributes:
        prompt_id: which prompt.
        rewriter, reviewer: names of the backends; None where there was no second model.
        status: see `ReframedStatus`.
        variants: framing to text, for the usable ones alone, in the order of the framings.
        rejected: framing to text, where a text came and was not good enough.
        reasons: every fault that stands at the end; a repaired one is in `repaired_faults`.
        statuses: framing to `accepted`, `failed` or `not_asked`, for every framing asked for.
        repaired: whether a second ask was made.
        repaired_faults: what the second ask was made for.
        checks: how far the variants were checked.
        calls: replies this rests on, reviews included; `cost_usd` is what they cost when they were
            paid, None where a price is unknown.
        ledger_keys: keys of the calls.
        answered_by: the model that says it wrote the variants.
    """

    prompt_id: str
    rewriter: str
    reviewer: str | None
    status: ReframedStatus
    variants: Mapping[str, str] = field(default_factory=dict)
    rejected: Mapping[str, str] = field(default_factory=dict)
    reasons: tuple[VariantFault, ...] = ()
    statuses: Mapping[str, VariantStatus] = field(default_factory=dict)
    repaired: bool = False
    repaired_faults: tuple[VariantFault, ...] = ()
    checks: VariantChecks = field(default_factory=lambda: VariantChecks(None))
    calls: int = 0
    cost_usd: float | None = 0.0
    ledger_keys: tuple[str, ...] = ()
    answered_by: str | None = None

    def reasons_for(self, framing: str) -> tuple[VariantFault, ...]:
        """What is wrong with this variant, or with the whole reply."""
        return tuple(fault for fault in self.reasons if fault.framing in ("", framing))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "prompt_id": self.prompt_id,
            "rewriter": self.rewriter,
            "reviewer": self.reviewer,
            "status": self.status,
            "variants": dict(self.variants),
            "rejected": dict(self.rejected),
            "reasons": [fault.to_json() for fault in self.reasons],
            "statuses": dict(self.statuses),
            "repaired": self.repaired,
            "repaired_faults": [fault.to_json() for fault in self.repaired_faults],
            "checks": self.checks.to_json(),
            "calls": self.calls,
            "cost_usd": self.cost_usd,
            "ledger_keys": list(self.ledger_keys),
            "answered_by": self.answered_by,
        }
