"""Which lines of a persona's file are about what it departs on: words in common, and no more.

That a line shares words with a criterion or a prompt does not show that it causes anything. It says
where somebody who rewrites the persona may begin to read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..judges.english import FUNCTION_WORDS, QUESTION_WORDS, key_of
from ..personas import Persona

MOST_LINES = 3
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_OF_PERSONAS = frozenset(map(key_of, (
    "answer", "answers", "claim", "claims", "credit", "look", "read", "wary", "judge", "response",
    "question", "concept",
)))  # fmt: skip
"""Words that nearly every persona and criterion has: they tell no line from another."""


@dataclass(frozen=True, slots=True)
class NamedBy:
    """A line of a persona that names something.

    Attributes:
        part: where it stands: "label", "description" or "lexicon".
        text: the line.
        words: what it has in common, as the line has them.
    """

    part: str
    text: str
    words: tuple[str, ...]


def lines_of(persona: Persona, *, with_lexicon: bool) -> list[tuple[str, str]]:
    """Returns the persona's own lines with the part in which each stands.

    Args:
        persona: the file.
        with_lexicon: whether its terms are read: by the offline judge alone.
    """
    found = [("label", persona.label)]
    found += [
        ("description", one) for one in _SENTENCE.split(" ".join(persona.description.split()))
    ]
    if with_lexicon:
        found += [("lexicon", term) for term in persona.lexicon]
    return found


def named_by(persona: Persona, subject: str, *, with_lexicon: bool = False) -> list[NamedBy]:
    """Returns the lines with most words of a subject in common; those of one term for the lexicon.

    Args:
        persona: the file.
        subject: the text of a criterion, or of a prompt.
        with_lexicon: see `lines_of`.
    """
    wanted = set(_keys(subject))
    found = []
    for part, text in lines_of(persona, with_lexicon=with_lexicon):
        common = {key: word for key, word in _keys(text).items() if key in wanted}
        if common:
            found.append(NamedBy(part, text, tuple(common.values())))
    found.sort(key=lambda one: -len(one.words))
    return found[:MOST_LINES]


def _keys(text: str) -> Mapping[str, str]:
    """Key to word of the words that have a subject of their own."""
    found: dict[str, str] = {}
    for word in _WORD.findall(text):
        key = key_of(word)
        if word.lower() in FUNCTION_WORDS or word.lower() in QUESTION_WORDS or len(key) < 3:
            continue
        if key not in _OF_PERSONAS:
            found.setdefault(key, word.lower())
    return found


def wording_of(
    persona: Persona, subjects: Sequence[tuple[str, str]], *, with_lexicon: bool
) -> list[dict[str, object]]:
    """Returns, for each subject, the lines that name it, as run.json holds them.

    Args:
        persona: the file.
        subjects: what it is called, and its text.
        with_lexicon: see `lines_of`.
    """
    return [
        {
            "about": about,
            "lines": [
                {"part": one.part, "text": one.text, "words": list(one.words)}
                for one in named_by(persona, text, with_lexicon=with_lexicon)
            ],
        }
        for about, text in subjects
    ]
