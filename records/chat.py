"""Texts of chat messages, as other tools hand them over: what was asked, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PROMPT_NAMES = (
    "prompt_text",
    "prompt",
    "question",
    "input",
    "query",
    "instruction",
    "messages",
    "inputs",
)
"""Names under which a mapping may hold what was asked, the first that it has counting."""

RESPONSE_NAMES = (
    "response_text",
    "response",
    "answer",
    "output",
    "completion",
    "text",
    "content",
    "messages",
    "outputs",
)
"""Names under which a mapping may hold what was answered, the first that it has counting."""

TRUNCATED_ENDINGS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
"""What endpoints call it, in lower case, that a text was cut off."""

COMPLETE_ENDINGS = frozenset(
    {"", "stop", "stop_sequence", "eos", "eos_token", "end_turn", "endoftext", "complete"}
    | {"completed", "finish", "finished", "done", "finish_reason_stop"}
)
"""The same where the model had said all that it wanted to."""

FILTERED_ENDINGS = frozenset(
    {"content_filter", "content_filtered", "safety", "recitation", "blocklist", "spii"}
    | {"prohibited_content", "guardrail_intervened", "refusal"}
)
"""The same where a filter stopped it."""


def content_text(content: Any) -> str | None:
    """The text of a message's content: text, or the text parts of a list, joined by blank lines.

    Parts of other kinds (pictures, tool calls, a model's reasoning) are no part of it. None where
    there is no text at all.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        parts = [part if isinstance(part, str) else _part_text(part) for part in content]
        texts = [part for part in parts if isinstance(part, str)]
        return "\n\n".join(texts) if texts else None
    return None


def _part_text(part: Any) -> Any:
    # Inspect's objects give their reasoning as text as well.
    is_reasoning = _field(part, "type") in ("reasoning", "thinking")
    return None if is_reasoning else _field(part, "text")


def prompt_text(value: Any) -> str | None:
    """What was asked, as one text; None where there is none.

    Args:
        value: a text; one chat message, or a list of them, as mappings or objects with `role` and
            `content`; or a mapping that holds one of these under one of `PROMPT_NAMES`.

    One user message is its text. Of a conversation every message is taken, each headed by its
    role: what was said before belongs to what was asked.
    """
    if isinstance(value, str):
        return value
    if _is_messages(value):
        turns = [(_role(one), content_text(_field(one, "content"))) for one in value]
        told = [(role, text) for role, text in turns if text]
        if len(told) == 1 and told[0][0] == "user":
            return told[0][1]
        return "\n\n".join(f"{role.capitalize()}: {text}" for role, text in told) or None
    if _role(value):
        return prompt_text([value])
    return _held(value, PROMPT_NAMES, prompt_text)


def response_text(value: Any) -> str | None:
    """What was answered, as one text; None where there is none.

    Args:
        value: as of `prompt_text`; of a list of messages the last one of the assistant counts.
    """
    if isinstance(value, str):
        return value
    if _is_messages(value):
        said = [one for one in value if _role(one) in ("assistant", "model", "ai")]
        return content_text(_field(said[-1], "content")) if said else None
    if _role(value):
        return content_text(_field(value, "content"))
    return _held(value, RESPONSE_NAMES, response_text)


def _held(value: Any, names: Sequence[str], text_of: Any) -> str | None:
    if not isinstance(value, Mapping):
        return None
    found = next((value[name] for name in names if value.get(name) is not None), None)
    text: str | None = text_of(found)
    return text


def _is_messages(value: Any) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return is_list and len(value) > 0 and all(_role(one) for one in value)


def _role(message: Any) -> str:
    # langchain's messages call it `type`, and a person's `human`.
    role = _field(message, "role")
    role = role if isinstance(role, str) else _field(message, "type")
    has_content = _field(message, "content") is not None
    if not isinstance(role, str) or not has_content:
        return ""
    return {"human": "user", "ai": "assistant"}.get(role, role)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
