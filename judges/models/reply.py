"""Makes a Reply of an OpenAI-shaped answer object, assuming nothing about what is in it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from ...records.chat import COMPLETE_ENDINGS
from ...records.types import Reply, Usage
from .usage import usage_from

NO_CHOICES = "no_choices"
TOOL_CALLS = "tool_calls"
_ENDINGS = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason")
_CHOICES = ("choices", "candidates", "results", "outputs")
_OWN_TOOL = '"name": "json_tool_call"'
"""The tool by which litellm asks some models for JSON; its call is handed over as text."""


def reply_of(
    answer: Any,
    raw: Any = None,
    *,
    latency_s: float | None = None,
    cost_of: Callable[[Usage], float | None] | None = None,
) -> Reply:
    """What stands in the answer; a missing piece is None, never an error.

    Args:
        answer: the object.
        raw: the value of the provider's own answer, where there is one. litellm says "stop" for
            every ending that it does not know, such as "error" or "cancelled".
        latency_s: seconds that somebody waited for it; left out where nobody did.
        cost_of: what its tokens cost; left out where nobody knows.
    """
    usage = usage_from(getattr(answer, "usage", None))
    choices = getattr(answer, "choices", None) or []
    first = choices[0] if choices else None
    message = getattr(first, "message", None)
    text = getattr(message, "content", None)
    finish = NO_CHOICES if first is None else _ending(first, raw)
    refusal = getattr(message, "refusal", None)
    if refusal is None:
        refusal = (getattr(message, "provider_specific_fields", None) or {}).get("refusal")
    return Reply(
        text=text if isinstance(text, str) else None,
        finish_reason=finish,
        refusal=refusal if isinstance(refusal, str) else None,
        answered_by=_text(getattr(answer, "model", None)),
        request_id=_text(getattr(answer, "id", None)),
        usage=usage,
        cost_usd=None if cost_of is None else cost_of(usage),
        latency_s=None if latency_s is None else round(latency_s, 4),
        logprobs=_logprobs(first),
        created_at=time.time(),
    )


def ending_of(raw: Any) -> str | None:
    """Why the model stopped, in the provider's own word; None where it does not say.

    Args:
        raw: the value of an answer, or what a chat model keeps of it.
    """
    if not isinstance(raw, dict):
        return None
    if raw.get("done") is False:  # Ollama
        return "incomplete"
    if raw.get("status") in ("incomplete", "failed", "cancelled"):  # OpenAI's /responses
        details = raw.get("incomplete_details")
        return str((details.get("reason") if isinstance(details, dict) else "") or raw["status"])
    listed = (raw.get(name) for name in _CHOICES)
    firsts = (choices[0] for choices in listed if isinstance(choices, list) and choices)
    for holder in (*firsts, raw):
        for name in _ENDINGS if isinstance(holder, dict) else ():
            if holder.get(name) is not None:
                return str(holder[name])
    return None


def _ending(choice: Any, raw: Any) -> str | None:
    """Why the model stopped: litellm's word for it, unless that hides an incomplete answer."""
    message = getattr(choice, "message", None)
    finish = getattr(choice, "finish_reason", None)
    finish = None if finish is None else str(finish)
    if getattr(message, "tool_calls", None) or getattr(message, "function_call", None):
        return TOOL_CALLS if is_complete(finish) else finish
    own = ending_of(raw) or _part(
        getattr(choice, "provider_specific_fields", None), "native_finish_reason"
    )
    if not own or is_complete(own) or not is_complete(finish):
        return finish
    is_own_tool = own in (TOOL_CALLS, "tool_use") and _OWN_TOOL in json.dumps(raw)
    return finish if is_own_tool else str(own)


_FORMS: dict[str, tuple[str, type]] = {
    "anthropic": ("content", list),
    "cohere": ("message", dict),
    "cohere_chat": ("message", dict),
    "gemini": ("candidates", list),
    "ollama": ("response", str),
    "ollama_chat": ("message", dict),
}
"""Where the text of an answer stands, by provider; the others answer in OpenAI's form."""
_WORDS = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}


def misfit(value: Any, provider: str) -> str:
    """What was received in the place of an answer in the provider's form, as a sentence.

    Args:
        value: of the answer's JSON.
        provider: litellm's name.
    """
    name, kind = _FORMS.get(provider, ("choices", list))
    if not isinstance(value, dict):
        return f"the answer is {_kind_of(value)} where an object was expected"
    if name not in value:
        return f"the answer is an object without `{name}`"
    if not isinstance(value[name], kind):
        received = _kind_of(value[name])
        return f"`{name}` in the answer is {received} where {_WORDS[kind]} was expected"
    first = value[name][0] if kind is list and value[name] else {}
    if not isinstance(first, dict):
        return f"`{name}` in the answer holds {_kind_of(first)} where an object was expected"
    inner = {"choices": "message", "candidates": "content"}.get(name)
    if inner is not None and first and not isinstance(first.get(inner), dict):
        received = _kind_of(first.get(inner))
        return f"`{name}[0].{inner}` in the answer is {received} where an object was expected"
    return f"the answer has `{name}`, and another field of it is not in the provider's form"


def _kind_of(value: Any) -> str:
    return "nothing" if value is None else _WORDS.get(type(value), "a number")


def is_complete(ending: Any) -> bool:
    """Whether a model that stopped for this reason had said all that it wanted to."""
    return str(ending or "").strip().lower() in COMPLETE_ENDINGS


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
