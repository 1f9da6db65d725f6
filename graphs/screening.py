"""Screening of a response before the panel is asked: gates, flags, and echoes in details.

A gate keeps a response from the panel because there is nothing to judge in it. A flag only says
what looks like an attempt on a judge; see `detectors`. The text itself is never altered.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from .detectors import BIDI, INVISIBLE, TAGS, PanelWording, flags_of

_PIECE = 24
"""Characters in a row that are no chance agreement."""


def without_echo(detail: str, *texts: str) -> str:
    """The message up to the place where it begins to repeat one of the texts.

    Any run of `2 * _PIECE - 1` characters of a text is found, and a shorter text that stands there
    whole. Messages have their line ends and other controls replaced by blanks; so have the texts
    before they are compared.
    """
    first = len(detail)
    for text in texts:
        plain = "".join(c if c.isprintable() else " " for c in text).strip()
        pieces = [plain[i : i + _PIECE] for i in range(0, len(plain) - _PIECE + 1, _PIECE)]
        if len(plain) < _PIECE:
            pieces = [plain] if len(plain) >= _PIECE // 2 else []
        for piece in pieces:
            place = detail.find(piece)
            if 0 <= place < first:
                first = place
    if first == len(detail):
        return detail
    # The echo may have begun up to a piece before the one that was found.
    return f"{detail[: max(0, first - _PIECE)].rstrip()} [the judged text, left out]".lstrip()


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
    response: str,
    *,
    repeated: bool = False,
    most_characters: int = MAX_RESPONSE_CHARACTERS,
    wording: PanelWording | None = None,
    prompt: str = "",
) -> Screening:
    """The flags of a response text, and the gate that closes on it, if one does.

    Args:
        response: the text, as it came.
        repeated: whether its respondent gives this very text to several prompts.
        most_characters: longer texts are not sent.
        wording: what the judges of the panel are shown.
        prompt: what was asked: what a response takes over from it raises no flag.
    """
    gate = gate_of(response, most_characters)
    flags = [gate] if gate else []
    if repeated:
        flags.append("repeated_text")
    # A text far over the limit is not searched: the answer is known, and the time is not.
    searched = response[:most_characters]
    flags += flags_of(searched, wording, prompt)
    return Screening(tuple(flags), gate)


def gate_of(response: str, most_characters: int = MAX_RESPONSE_CHARACTERS) -> str | None:
    """The gate that closes on a response, if one does; quicker than `screen`."""
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
