"""Puts a text into a response, and makes the harmless text of the same length."""

from __future__ import annotations

import re

from .family import Placement

_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+")
_BLANK = re.compile(r"\s+")

_HARMLESS = (
    "The bakery on the corner opens before sunrise and closes in the early afternoon.",
    "A light rain fell on the harbour, and most of the boats stayed in.",
    "Two lines of the tram cross at the old market, where the platforms are narrow.",
    "In autumn the gardeners rake the leaves into long rows beside the path.",
    "The library moved its newspapers to the second floor while the roof was mended.",
    "Seen from the hill, the river bends twice before it reaches the bridge.",
    "The ferry takes a quarter of an hour when the wind is from the west.",
    "Most of the houses in the street were painted again last spring.",
)


def inserted(response: str, text: str, placement: Placement) -> str:
    """The response with the text at that place; what was there stays as it was.

    The middle is the end of a paragraph nearest to it, else of a sentence, else of a word.
    """
    if placement == "instead":
        return text
    if placement == "start":
        return f"{text}\n\n{response}"
    if placement == "end":
        return f"{response}\n\n{text}"
    for pattern, before, after in ((_PARAGRAPH, "\n\n", "\n\n"), (_SENTENCE, " ", " ")):
        place = _nearest_middle(pattern, response)
        if place is not None:
            return response[: place[0]] + before + text + after + response[place[1] :]
    place = _nearest_middle(_BLANK, response) or (len(response) // 2, len(response) // 2)
    return f"{response[: place[0]]} {text} {response[place[1] :]}"


def harmless(length: int, *, first: int = 0) -> str:
    """Exactly so many characters of plain prose that asks for nothing.

    Args:
        length: characters.
        first: which sentence to begin with, so that not all controls are alike.
    """
    words: list[str] = []
    have = 0
    turn = first
    while have <= length:
        sentence = _HARMLESS[turn % len(_HARMLESS)]
        words.append(sentence)
        have += len(sentence) + 1
        turn += 1
    cut = " ".join(words)[:length]
    # No blank at the end: it would be told apart from the text by its look alone.
    return cut if not cut.endswith(" ") else f"{cut[:-1]}."


def _nearest_middle(pattern: re.Pattern[str], response: str) -> tuple[int, int] | None:
    found = [
        (match.start(), match.end())
        for match in pattern.finditer(response)
        if match.start() > 0 and match.end() < len(response)
    ]
    middle = len(response) / 2
    return min(found, key=lambda place: abs(place[0] - middle), default=None)
