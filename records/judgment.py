"""One judge's typed vote on one response: exactly one for every planned judgment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal, get_args

Status = Literal["scored", "abstained", "refused", "unreadable", "failed", "not_asked"]
"""What became of a planned judgment.

`scored`: numbers that count. `abstained`: the response declined to answer; the reply's numbers are
kept and never averaged. `refused`: the judge declined. `unreadable`: a reply came and no vote could
be read in it. `failed`: no reply came (the reason names the class of fault). `not_asked`: the
reason is one of `NotAskedReason`.
"""

STATUSES: tuple[Status, ...] = get_args(Status)

NotAskedReason = Literal["budget", "precision", "interrupted", "screened"]

Mode = Literal["dimensions", "holistic", "no_rubric"]
MODES: tuple[Mode, ...] = get_args(Mode)

ScoreMode = Literal["integer", "expected"]
SCORE_MODES: tuple[ScoreMode, ...] = get_args(ScoreMode)

OVERALL = "overall"
"""The one criterion of the single-integer modes."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """A vote and how it came about.

    Attributes:
        response_id, prompt_id, respondent_id: what was judged, and who wrote it.
        persona, axis: the persona's id and its axis.
        model: the backend's name; judge = persona x model.
        repeat: 0 for the first asking.
        status, reason, detail: see `Status`; `reason` is a short code, `detail` a sentence.
        scores: criterion to value, on the rubric's scale; empty unless a vote was read.
        rationale: the judge's words, where the run asked for them.
        mode, score_mode: what was asked for and how the number was formed.
        structured: how structured output was asked for (json_schema, json_object, prompt).
        answered_by: the model name in the answer.
        repaired: whether a second ask was needed to read a vote.
        calls: replies this vote rests on (0, 1, or 2 with a repair).
        attempts: HTTP attempts made for it, in the session that paid; those in vain included.
        from_ledger: whether every reply came from the ledger, so that nothing was paid now.
        input_tokens, cached_input_tokens, output_tokens, reasoning_tokens: sums over its replies.
        cost_usd: what its replies cost when they were paid; None where a price is unknown.
        ledger_key: key of its first call, "" where none was made.
    """

    response_id: str
    prompt_id: str
    respondent_id: str
    persona: str
    axis: str
    model: str
    repeat: int
    status: Status
    reason: str | None = None
    detail: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    rationale: str | None = None
    mode: Mode = "dimensions"
    score_mode: ScoreMode = "integer"
    structured: str | None = None
    answered_by: str | None = None
    repaired: bool = False
    calls: int = 0
    attempts: int = 0
    from_ledger: bool = False
    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: float | None = None
    ledger_key: str = ""

    @property
    def composite(self) -> float | None:
        """Unweighted mean of this judge's criteria; None unless the status is `scored`."""
        if self.status != "scored" or not self.scores:
            return None
        return sum(self.scores.values()) / len(self.scores)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values."""
        # Not dataclasses.asdict: its deep copies cost more than the rest of a judgment.
        plain = dict(zip(_FIELDS, _values_of(self), strict=True))
        plain["scores"] = dict(self.scores)
        return plain

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Judgment:
        """The reverse of `to_json`."""
        return cls(**{name: value for name, value in stored.items() if name in _KNOWN})


_FIELDS = tuple(item.name for item in fields(Judgment))
_KNOWN = frozenset(_FIELDS)
_values_of = attrgetter(*_FIELDS)
