"""What an embedded model reads out of chat messages, and what it counts in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..errors import InputError, InputFault
from .prompt import NONCE_DIGITS, NONCE_LINE

CHARACTERS_PER_TOKEN: Final = 4
"""Usage is an estimate: there are no tokens here, and tools that count them should see a size."""


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message, whose content may be a string or a list of typed parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(
        str(part.get("text", ""))
        for part in content
        if isinstance(part, Mapping) and part.get("type") == "text"
    )


def marked_texts(
    messages: Sequence[Mapping[str, Any]], names: Sequence[str], *, reader: str
) -> tuple[str, ...]:
    """The marked blocks of these names in the last user message that opens with the marker line.

    Args:
        messages: the conversation; a request to repair a reply may follow the marked message.
        names: of the blocks, PROMPT and RESPONSE for a judgment.
        reader: the model and what it does, for the message where there is nothing to read.

    Raises:
        InputError: for messages without the marked texts.
    """
    for message in reversed(messages):
        if message.get("role") != "user":
            continue
        text = text_of(message)
        if text.startswith(NONCE_LINE):
            nonce = text[len(NONCE_LINE) :].split("\n", 1)[0].strip()
            _check_nonce(nonce)
            return tuple(_block(text, name, nonce) for name in names)
    raise InputError(
        [InputFault("messages", f"must hold a user message that opens with {NONCE_LINE!r}")],
        hint=f"{reader} and answers nothing else.",
    )


def last_user_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """The last user message's text.

    Raises:
        InputError: where there is none, or it is blank.
    """
    texts = [text_of(message) for message in messages if message.get("role") == "user"]
    if not texts or not texts[-1].strip():
        raise InputError([InputFault("messages", "must end with a user message that has text")])
    return texts[-1]


def usage_counts(messages: Sequence[Mapping[str, Any]], reply: str) -> tuple[int, int]:
    """Estimated tokens in and out, at four characters each, rounded up."""
    characters = sum(len(text_of(message)) for message in messages)
    return -(-characters // CHARACTERS_PER_TOKEN), -(-len(reply) // CHARACTERS_PER_TOKEN)


def _check_nonce(nonce: str) -> None:
    if len(nonce) != NONCE_DIGITS or not set(nonce) <= set("0123456789abcdef"):
        rule = f"must name a nonce of {NONCE_DIGITS} hex digits, got {nonce[:40]!r}"
        raise InputError([InputFault("messages", rule)])


def _block(text: str, name: str, nonce: str) -> str:
    """The text between the markers that carry the nonce; markers with any other are just text."""
    opening, closing = f"<<<{name} {nonce}>>>\n", f"\n<<<END {name} {nonce}>>>"
    if text.count(opening) != 1 or text.count(closing) != 1:
        rule = f"must hold one block {name} marked with the nonce of the first line"
        raise InputError([InputFault("messages", rule)])
    start = text.index(opening) + len(opening)
    end = text.index(closing)
    # An empty text leaves the two markers on neighbouring lines, or with one empty line between.
    return text[start:end] if end >= start else ""
