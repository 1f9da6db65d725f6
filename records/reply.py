"""What a backend answered, as it is stored: raw, before anybody has read a vote in it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


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
