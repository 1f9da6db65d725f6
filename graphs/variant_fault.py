"""What can be wrong with a variant, as a code that is stored and a sentence that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

WHOLE_SET = ""
"""The framing of a fault that concerns the whole reply, not one variant."""

CheckCode = Literal[
    "missing_key",
    "extra_key",
    "wrong_type",
    "empty",
    "too_short",
    "too_long",
    "copy_of_baseline",
    "near_copy_of_baseline",
    "copy_of_variant",
    "no_question",
    "points_elsewhere",
    "off_topic",
    "other_language",
    "essay_prompt",
    "markdown",
    "marker_missing",
    "refusal",
]
"""What the deterministic checks find."""

ReviewCode = Literal[
    "not_self_contained", "other_question", "not_natural", "not_faithful", "not_in_tension"
]
"""What a second model may find."""

CallCode = Literal["refused", "unreadable", "no_reply", "repair_failed", "budget", "interrupted"]
"""What became of the rewriting itself; always of the whole set."""

FaultCode = CheckCode | ReviewCode | CallCode

CHECK_CODES: tuple[str, ...] = get_args(CheckCode)
REVIEW_CODES: tuple[str, ...] = get_args(ReviewCode)
CALL_CODES: tuple[str, ...] = get_args(CallCode)


@dataclass(frozen=True, slots=True)
class VariantFault:
    """One thing wrong.

    Attributes:
        framing: whose variant, `WHOLE_SET` for the reply as a whole.
        code: one of `FaultCode`.
        detail: the same as a sentence; may quote the variant or a model's words.
    """

    framing: str
    code: str
    detail: str = ""

    def __str__(self) -> str:
        place = f"{self.framing}: " if self.framing else ""
        return f"{place}{self.code}" + (f" ({self.detail})" if self.detail else "")

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> VariantFault:
        """What `to_json` gave."""
        return cls(plain["framing"], plain["code"], plain.get("detail", ""))
