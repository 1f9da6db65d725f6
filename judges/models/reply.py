"""A Reply made from an OpenAI-shaped answer object, assuming nothing about what is in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ...records.types import Reply, Usage

NO_CHOICES = "no_choices"
TOOL_CALLS = "tool_calls"
MOST_TOKENS = 2**53


def reply_of(
    answer: Any,
    *,
    latency_s: float | None = None,
    cost_of: Callable[[Usage], float | None] | None = None,
) -> Reply:
    """What stands in the answer; a missing piece is None, never an error.

    Args:
        answer: the object.
        latency_s: seconds that somebody waited for it; left out where nobody did.
        cost_of: what its tokens cost; left out where nobody knows.
    """
    usage = usage_of(answer)
    choices = getattr(answer, "choices", None) or []
    first = choices[0] if choices else None
    message = getattr(first, "message", None)
    text = getattr(message, "content", None)
    finish = getattr(first, "finish_reason", None) if first is not None else NO_CHOICES
    if not text and getattr(message, "tool_calls", None):
        finish = TOOL_CALLS
    refusal = getattr(message, "refusal", None)
    if refusal is None:
        refusal = (getattr(message, "provider_specific_fields", None) or {}).get("refusal")
    return Reply(
        text=text if isinstance(text, str) else None,
        finish_reason=str(finish) if finish is not None else None,
        refusal=refusal if isinstance(refusal, str) else None,
        answered_by=_text(getattr(answer, "model", None)),
        request_id=_text(getattr(answer, "id", None)),
        usage=usage,
        cost_usd=None if cost_of is None else cost_of(usage),
        latency_s=None if latency_s is None else round(latency_s, 4),
        logprobs=_logprobs(first),
        created_at=time.time(),
    )


def usage_of(answer: Any) -> Usage:
    """Token counts; None where the endpoint did not say."""
    usage = getattr(answer, "usage", None)
    prompt_details = getattr(usage, "prompt_tokens_details", None)
    completion_details = getattr(usage, "completion_tokens_details", None)
    input_tokens, output_tokens = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if not input_tokens:
        # litellm writes zeros where the endpoint said nothing; no question is of no tokens.
        input_tokens, output_tokens = None, output_tokens or None
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_input_tokens=_count(prompt_details, "cached_tokens"),
        cache_write_tokens=_count(usage, "cache_creation_input_tokens"),
        reasoning_tokens=_count(completion_details, "reasoning_tokens"),
    )


def _count(holder: Any, name: str) -> int | None:
    value = getattr(holder, name, None)
    # An endpoint may claim anything: infinity, or more tokens than there are atoms.
    if isinstance(value, int | float) and 0 <= value < MOST_TOKENS:
        return int(value)
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _logprobs(choice: Any) -> list[dict[str, Any]] | None:
    content = _part(getattr(choice, "logprobs", None), "content")
    if not isinstance(content, list) or not content:
        return None
    return [_token(item) for item in content]


def _token(item: Any) -> dict[str, Any]:
    return {
        "token": _part(item, "token"),
        "logprob": _part(item, "logprob"),
        "bytes": _part(item, "bytes"),
        "top_logprobs": [
            {name: _part(other, name) for name in ("token", "logprob", "bytes")}
            for other in _part(item, "top_logprobs") or []
        ],
    }


def _part(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)
