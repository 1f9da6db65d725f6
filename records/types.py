"""The records of a run: `Sample`, `Usage`, `Reply`, `Judgment`, `Verdict`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from operator import attrgetter
from typing import Any, Final, Literal, get_args

from ..shown import Shown


@dataclass(frozen=True, slots=True)
class Sample:
    """One prompt with one response to be judged; no graph state holds its texts.

    Attributes:
        response_id: unique in its source.
        prompt_id, prompt_text: what was asked; one prompt_id has one text.
        response_text: may be empty, and is never altered.
        respondent_id: who wrote it.
        extra: what else its row of the input holds.
        line: where it stands in the input (see `readers.rows.Row`).
    """

    response_id: str
    prompt_id: str
    respondent_id: str
    prompt_text: str
    response_text: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    line: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; None means that the endpoint did not say.

    `input_tokens` counts every input token, cached ones included; `output_tokens` counts every
    output token, reasoning included.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One paid answer of a backend.

    Attributes:
        text: the content, or None where the endpoint sent none.
        finish_reason: as the endpoint gave it ("stop", "length", …), or None.
        refusal: the endpoint's own refusal text, where it has a field for that.
        answered_by: the model name in the answer, which may differ from the one asked.
        request_id: the endpoint's id of this answer.
        usage: tokens.
        cost_usd: what the call cost, or None where no price is known.
        attempts: HTTP attempts that this answer took (1 = the first).
        latency_s: seconds from the last send to the answer.
        logprobs: OpenAI-style `logprobs.content`, where log-probabilities were asked for.
        created_at: seconds since the epoch when the answer arrived.
    """

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None
    answered_by: str | None = None
    request_id: str | None = None
    usage: Usage = Usage()
    cost_usd: float | None = None
    attempts: int = 1
    latency_s: float | None = None
    logprobs: list[dict[str, Any]] | None = None
    created_at: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Reply:
        """The reverse of `to_json`; fields of a later version are ignored."""
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in stored.items() if name in known}
        usage_names = {field.name for field in fields(Usage)}
        usage = {
            name: value
            for name, value in (values.get("usage") or {}).items()
            if name in usage_names
        }
        values["usage"] = Usage(**usage)
        return cls(**values)


Status = Literal["scored", "abstained", "refused", "unreadable", "failed", "not_asked"]
"""What became of a planned judgment.

`scored`: numbers that count. `abstained`: the response declined to answer; the reply's numbers are
kept and never averaged. `refused`: the judge declined. `unreadable`: a reply came and no vote could
be read in it. `failed`: no reply came (the reason names the class of fault). `not_asked`: the
reason is one of `NotAskedReason`.
"""

STATUSES: tuple[Status, ...] = get_args(Status)

NotAskedReason = Literal["budget", "precision", "interrupted", "screened", "absent"]
"""`absent`: imported judgments have no row of this judge for this response."""

NOT_WANTED: Final = ("precision", "absent")
"""Reasons that count neither for nor against a quorum: nobody wanted these judgments."""

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


VerdictStatus = Literal["scored", "inconclusive", "screened"]
"""`inconclusive`: fewer judgments were scored than the quorum demands, so there is no headline
number. `screened`: there was nothing to judge, and nobody was asked."""


@dataclass(frozen=True, slots=True)
class Verdict(Shown):
    """What the panel says about one response, and how much of the panel says it.

    Means are over the scored judgments; the unit behind the interval is the panel's two facets
    (personas and models), not thirty independent raters. None = undefined; `reason` or
    `interval_reason` says why.

    Attributes:
        response_id, prompt_id, respondent_id: what was judged.
        status, reason: see `VerdictStatus`.
        composite: unweighted mean over criteria of the panel means.
        dimensions: criterion to panel mean.
        interval: (low, high) of the composite, or None.
        interval_method, interval_reason: how it was made, or why there is none.
        dimension_intervals: criterion to (low, high) or None.
        median, trimmed_mean, sd: of the judges' composites.
        by_persona, by_model, by_axis: mean composite of the scored judgments of each.
        disagreement: "low", "moderate", "high", "split" or "undefined".
        share_abstained: abstained judgments over planned ones, without those that a stopping rule
            did not want.
        n_scored, n_planned: judgments.
        counts: status to number of judgments; sums to n_planned.
        flags: what the screen noticed; a flag never changes a score.
        unbalanced: models of which fewer judgments were scored than the quorum demands, though the
            panel as a whole has enough: the composite is one of other judges than elsewhere.
        cost_usd: cost of the replies when they were paid; None where a price is unknown.
        judgments: every planned judgment.
    """

    response_id: str
    prompt_id: str
    respondent_id: str
    status: VerdictStatus
    reason: str | None
    composite: float | None
    dimensions: Mapping[str, float | None]
    interval: tuple[float, float] | None
    interval_method: str | None
    interval_reason: str | None
    dimension_intervals: Mapping[str, tuple[float, float] | None]
    median: float | None
    trimmed_mean: float | None
    sd: float | None
    by_persona: Mapping[str, float | None]
    by_model: Mapping[str, float | None]
    by_axis: Mapping[str, float | None]
    disagreement: str
    share_abstained: float | None
    n_scored: int
    n_planned: int
    counts: Mapping[str, int]
    flags: tuple[str, ...] = ()
    unbalanced: tuple[str, ...] = ()
    cost_usd: float | None = None
    judgments: tuple[Judgment, ...] = field(default=(), repr=False)

    def to_json(self) -> dict[str, Any]:
        """The fields as JSON-like values, judgments included."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        plain["judgments"] = [judgment.to_json() for judgment in self.judgments]
        plain["flags"] = list(self.flags)
        plain["unbalanced"] = list(self.unbalanced)
        plain["interval"] = _listed(self.interval)
        plain["dimension_intervals"] = {
            name: _listed(pair) for name, pair in self.dimension_intervals.items()
        }
        return plain

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Verdict:
        """The reverse of `to_json`."""
        known = {item.name for item in fields(cls)}
        values = {name: value for name, value in stored.items() if name in known}
        values["judgments"] = tuple(Judgment.from_json(j) for j in values.get("judgments", ()))
        values["flags"] = tuple(values.get("flags", ()))
        values["unbalanced"] = tuple(values.get("unbalanced", ()))
        values["interval"] = _pair(values.get("interval"))
        values["dimension_intervals"] = {
            name: _pair(pair) for name, pair in values.get("dimension_intervals", {}).items()
        }
        return cls(**values)

    def summary(self) -> str:
        """One line for people."""
        count = f"{self.n_scored} scored of {self.n_planned} planned"
        spared = sum(judgment.reason in NOT_WANTED for judgment in self.judgments)
        if spared:
            count += f", {spared} not needed"
        if self.composite is None:
            return f"{self.status}: {self.reason} ({count})"
        span = (
            f" [{self.interval[0]:.2f}, {self.interval[1]:.2f}]"
            if self.interval is not None
            else ""
        )
        if self.unbalanced:
            count += f"; unbalanced: too little of {', '.join(self.unbalanced)}"
        return f"{self.composite:.2f}{span}, disagreement {self.disagreement} ({count})"

    def __repr__(self) -> str:
        return f"Verdict({self.response_id!r}: {self.summary()})"


def count_statuses(judgments: tuple[Judgment, ...]) -> dict[str, int]:
    """Status to number of judgments, every status named."""
    counts: dict[str, int] = dict.fromkeys(STATUSES, 0)
    for judgment in judgments:
        counts[judgment.status] += 1
    return counts


def _listed(pair: tuple[float, float] | None) -> list[float] | None:
    return None if pair is None else list(pair)


def _pair(value: Any) -> tuple[float, float] | None:
    return None if value is None else (value[0], value[1])
