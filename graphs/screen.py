"""What can be seen in a response before anybody judges it: deterministic, and never an edit.

A gate keeps a response from the panel because there is nothing to judge in it; a flag only says
what was noticed, and changes no score.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

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
_INVISIBLE: Final = re.compile("[\u00ad\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0]")
_BIDI: Final = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_TAGS: Final = re.compile("[\U000e0000-\U000e007f]")
_CONTROLS: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_MARKER: Final = re.compile(r"<<<\s*(END\s+)?(PROMPT|RESPONSE)\b", re.IGNORECASE)
_ROLE_TOKENS: Final = re.compile(
    r"<\|?(im_start|im_end|system|assistant|user|endoftext|eot_id|start_header_id)\b|\[/?INST\]"
    r"|<</?SYS>>|</?(response|prompt|system|instructions?)>",
    re.IGNORECASE,
)
_ADDRESSES_JUDGE: Final = re.compile(
    r"\b(ignore|disregard|forget)\b[^.\n]{0,40}\b(instructions?|rubric|criteria|prompt|above)\b"
    r"|\b(give|assign|award|rate|score|grade)\s+(this|it|me|my|us|the)\b[^.\n]{0,40}"
    r"\b(maximum|highest|top|full|perfect|10)\b"
    r"|\b(dear|note to|attention)\b[^.\n]{0,12}\b(judges?|graders?|evaluators?|reviewers?)\b",
    re.IGNORECASE,
)
_VOTE_SHAPE: Final = re.compile(r'\{\s*"[A-Za-z_]{3,40}"\s*:\s*\d{1,3}\s*[,}]')


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
    for name, pattern in (
        ("invisible_characters", _INVISIBLE),
        ("bidi_controls", _BIDI),
        ("tag_characters", _TAGS),
        ("control_characters", _CONTROLS),
        ("marker_lookalike", _MARKER),
        ("role_tokens", _ROLE_TOKENS),
        ("addresses_judge", _ADDRESSES_JUDGE),
        ("vote_lookalike", _VOTE_SHAPE),
    ):
        if pattern.search(searched):
            flags.append(name)
    return Screening(tuple(flags), gate)


def _gate(response: str, most_characters: int) -> str | None:
    if len(response) > most_characters:
        return "too_long"
    visible = _TAGS.sub("", _INVISIBLE.sub("", _BIDI.sub("", response)))
    if not visible.strip():
        return "empty"
    if not any(unicodedata.category(character)[0] in "LN" for character in visible):
        return "no_letters"
    if len(visible) <= 200 and re.sub(r"\W", "", visible.casefold()) in _OPENERS:
        return "opener_only"
    return None
