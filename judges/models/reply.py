"""Makes a Reply of an OpenAI-shaped answer object, assuming nothing about what is in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ...records.types import Reply, Usage
from .usage import usage_from

NO_CHOICES = "no_choices"
TOOL_CALLS = "tool_calls"


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
    usage = usage_from(getattr(answer, "usage", None))
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
