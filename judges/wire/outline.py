"""What tells calls apart that differ in their texts only."""

from __future__ import annotations

import json
import marshal
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from .template import margins


def texts_of(message: Mapping[str, Any]) -> list[str]:
    """The texts of a message: one, or one a block.

    Raises:
        KeyError, TypeError: it holds something else.
    """
    content = message["content"]
    return [content] if isinstance(content, str) else [block["text"] for block in content]


def outline_of(
    messages: Sequence[Mapping[str, Any]], texts: Sequence[str], parameters: Mapping[str, Any]
) -> tuple[Hashable, ...] | None:
    """All of a call but the texts of its last message; None where it is no plain question.

    Args:
        messages: of which only the last is new with every call.
        texts: those of the last message.
        parameters: whatever else the call is made with, of JSON's kinds.

    Raises:
        KeyError, TypeError, ValueError: something is of another kind.
    """
    # A repair quotes the reply that it is about: no two are of one outline.
    if len(messages) > 2 or messages[-1]["role"] != "user":
        return None
    if any(not text or text.isspace() for text in texts):
        return None  # translations have their own ways with empty texts
    return (
        *map(_told, messages[:-1]),
        _around_texts(messages[-1]),
        *map(margins, texts),
        # By value, at a quarter of what JSON takes; version 2 knows no references.
        marshal.dumps(dict(parameters), 2),
    )


def _told(message: Mapping[str, Any]) -> Hashable:
    if _is_plain(message):
        return message["role"], message["content"]
    return json.dumps(message)


def _around_texts(message: Mapping[str, Any]) -> str:
    """All of a message but its texts."""
    if _is_plain(message):
        return ""
    content = message["content"]
    blank = "" if isinstance(content, str) else [{**block, "text": ""} for block in content]
    return json.dumps({**message, "content": blank})


def _is_plain(message: Mapping[str, Any]) -> bool:
    return isinstance(message["content"], str) and len(message) == 2
