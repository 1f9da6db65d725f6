"""What can be seen in a response before anybody judges it: deterministic, and never an edit.

A gate keeps a response from the panel because there is nothing to judge in it; a flag only says
what was noticed, and changes no score.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from .detectors import BIDI, INVISIBLE, TAGS, flags_of

MAX_RESPONSE_CHARACTERS: Final = 200_000

GATES: Final = ("empty", "no_letters", "opener_only", "too_long")
"""Flags for which nobody is asked."""

# Phrases that open an answer and, sent alone, have made judge models give good scores
# ("master keys"). Compared without case, punctuation and white space.
_OPENERS: Final = frozenset(
    re.sub(r"\W", "", phrase.casefold())
    for phrase in (
        "Thought process",
        "Let's solve this problem step by step",
        "Let us think step by step",
        "Let's think about this step by step",
        "Let's think step by step",
        "Let's think",
        "Solution",
        "Answer",
        "The answer",
        "Final answer",
        "Reasoning",
        "Explanation",
        "Sure",
        "Sure, here is the answer",
        "Here is my answer",
        "Here is my response",
        "Response",
        "Okay",
        "Solución",
        "Respuesta",
        "Lösung",
        "Antwort",
        "Réponse",
        "Raisonnement",
        "解",
        "解答",
        "答案",
        "思考过程",
        "かいとう",
        "解説",
    )
)


@dataclass(frozen=True, slots=True)
class Screening:
    """What the screen noticed.

    Attributes:
        flags: codes, gates included.
        gate: why nobody is asked, or None.
    """

    flags: tuple[str, ...]
    gate: str | None


def screen(
    response: str, *, repeated: bool = False, most_characters: int = MAX_RESPONSE_CHARACTERS
) -> Screening:
    """The flags of a response text, and the gate that closes on it, if one does.

    Args:
        response: the text, as it came.
        repeated: whether its respondent gives this very text to several prompts.
        most_characters: longer texts are not sent.
    """
    gate = _gate(response, most_characters)
    flags = [gate] if gate else []
    if repeated:
        flags.append("repeated_text")
    # A text far over the limit is not searched: the answer is known, and the time is not.
    searched = response[:most_characters]
    flags += flags_of(searched)
    return Screening(tuple(flags), gate)


def _gate(response: str, most_characters: int) -> str | None:
    if len(response) > most_characters:
        return "too_long"
    visible = TAGS.sub("", INVISIBLE.sub("", BIDI.sub("", response)))
    if not visible.strip():
        return "empty"
    if not any(unicodedata.category(character)[0] in "LN" for character in visible):
        return "no_letters"
    if len(visible) <= 200 and re.sub(r"\W", "", visible.casefold()) in _OPENERS:
        return "opener_only"
    return None
