"""Answers that say what they say in plain sight, read without litellm's translation.

litellm builds a dozen objects of an answer from which a text and five counts are taken. Answers of
one outline (the same keys, in the same order, with values of the same kinds) are read by litellm's
translation until some of them have been read here alike. From then on they are read here alone.
Every answer of an outline that is new, and everything that litellm treats by its content (thinking
in tags, errors in place of answers), goes the long way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from types import SimpleNamespace
from typing import Any

from ...records.types import Reply
from ..models.reply import MOST_TOKENS
from .passage import Received

PROOFS = 2
"""Answers of an outline that must be read alike before it is read here alone."""
_MOST_OUTLINES = 64
_MOST_BYTES = 100_000
_MOST_DEPTH = 6
_MOST_ENTRIES = 64
# JSON can spell half a character, which litellm's objects refuse.
_HALF, _OTHER_HALF = b"\\ud", b"\\uD"

ReadAnswer = Callable[[Any], Reply]


class PlainAnswers:
    """Outlines of answers to one shape of request, and how often litellm read them alike."""

    def __init__(self) -> None:
        self._alike: dict[Hashable, int] = {}

    def read(self, received: Received, provider: str | None, read: ReadAnswer) -> _Reading | None:
        """A reading of the answer; None where it is no plain one.

        Args:
            received: the answer as it came.
            provider: the word before the model that answered, where litellm puts one.
            read: makes the Reply of an answer object.
        """
        try:
            said, outline = outlined(received)
            if self._alike.get(outline, 0) < 0:
                return None
            return _Reading(self, outline, read(_answer(said, provider)))
        except Exception:
            return None  # whatever is odd about it, litellm's translation is asked


class _Reading:
    """A reading of one answer, and whether it is known to be litellm's."""

    def __init__(self, answers: PlainAnswers, outline: Hashable, reply: Reply) -> None:
        self._answers = answers
        self._outline = outline
        self.reply = reply

    @property
    def is_proven(self) -> bool:
        """Whether answers of this outline were read alike often enough."""
        return self._answers._alike.get(self._outline, 0) >= PROOFS

    def learn(self, *, alike: bool) -> None:
        """Takes in whether litellm's translation read the answer alike; once unlike is for good."""
        known = self._answers._alike
        if len(known) >= _MOST_OUTLINES and self._outline not in known:
            return
        known[self._outline] = known.get(self._outline, 0) + 1 if alike else -1


def outlined(received: Received) -> tuple[Any, Hashable]:
    """What an answer says, and its outline.

    Raises:
        Exception: it is no JSON, or longer, larger or deeper than a plain answer.
    """
    content = received.content if len(received.body) <= _MOST_BYTES else b""
    if not content or len(content) > _MOST_BYTES or _HALF in content or _OTHER_HALF in content:
        raise ValueError("not plain")
    said = json.loads(content)
    return said, _outline(said, 0)


def _answer(said: Any, provider: str | None) -> SimpleNamespace:
    """The answer as an object with the face of litellm's."""
    [choice] = said["choices"]
    message = choice["message"]
    text = message["content"]
    if choice["finish_reason"] != "stop":  # litellm puts other words in place of some
        raise ValueError("not a plain end")
    if not isinstance(text, str) or not text.startswith("{") or "<" in text:
        raise ValueError("not a plain text")
    answer = SimpleNamespace(**said)
    answer.choices = [SimpleNamespace(**{**choice, "message": SimpleNamespace(**message)})]
    if provider is not None:
        answer.model = f"{provider}/{said['model']}"
    usage = said.get("usage")
    if isinstance(usage, dict):
        answer.usage = SimpleNamespace(
            **{
                name: SimpleNamespace(**value) if isinstance(value, dict) else value
                for name, value in usage.items()
            }
        )
    return answer


def _outline(value: Any, depth: int) -> Hashable:
    """What the value is made of: keys, and of each value its kind.

    Raises:
        ValueError: it is larger or deeper than a plain answer.
    """
    if isinstance(value, dict | list) and (depth >= _MOST_DEPTH or len(value) > _MOST_ENTRIES):
        raise ValueError("not plain")
    if isinstance(value, list):
        # Marked by what is no name of an object.
        return (list, *[_outline(entry, depth + 1) for entry in value])
    if not isinstance(value, dict):
        return (_kind(value),)
    parts: list[Hashable] = []
    for name, entry in value.items():
        parts.append(name)
        # Most are texts: a call for each would take longer than all else here.
        if type(entry) is str:
            parts.append("text" if entry else "empty")
        elif type(entry) is dict or type(entry) is list:
            parts.append(_outline(entry, depth + 1))
        else:
            parts.append(_kind(entry))
    return tuple(parts)


def _kind(value: Any) -> Hashable:
    """The kind of a value that holds no others: one of the very types that JSON gives."""
    if type(value) is str:
        return "text" if value else "empty"
    if type(value) is int:
        if not 0 <= value < MOST_TOKENS:
            raise ValueError("no count")
        return "count" if value else "zero"
    if type(value) is float:
        return "number"
    itself: Hashable = value  # null, true and false
    return itself
