"""The words of a variant and of its baseline, in the forms in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from ..judges.english import FUNCTION_WORDS, QUESTION_WORDS, WORD, key_of

ENGLISH_SHARE = 0.25
"""Share of English function words from which on a text counts as English; prose has 0.4 to 0.6."""

FOREIGN_SHARE = 0.12
"""Below it a text of some length is surely not English; German and Spanish have under 0.1."""

_RUN = 3
_STEM_LETTERS = 5


def normalised(text: str) -> str:
    """The text in lower case, letters and digits of any script alone, single spaces.

    Accents and width count (résumé is not resume), compatibility forms do not.
    """
    folded = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("'", "")
    return " ".join(re.findall(r"\w+", folded))


def spoken(text: str) -> str:
    """The text in lower case with plain apostrophes and single spaces, as marker lists have it."""
    return " ".join(unicodedata.normalize("NFKC", text).replace("’", "'").lower().split())


def holds_phrase(text: str, phrase: str) -> bool:
    """Whether a `spoken` text holds the phrase, not within a longer word."""
    before = r"(?<![\w'])" if phrase[0].isalnum() else ""
    # "friend" is there in "friend's", and so is "i" in "i've"
    after = r"(?!\w)" if phrase[-1].isalnum() else ""
    return re.search(before + re.escape(phrase) + after, text) is not None


@lru_cache(maxsize=4_096)
def english_share(text: str) -> float:
    """Share of English function words among the words; 0.0 without words."""
    words = [word.lower().replace("’", "'") for word in WORD.findall(text)]
    if not words:
        return 0.0
    # "i've" and "it's" are function words with an ending
    known = sum(word in FUNCTION_WORDS or word.split("'")[0] in FUNCTION_WORDS for word in words)
    return known / len(words)


def is_english(text: str) -> bool:
    """Whether checks that know English only may speak about the text."""
    return english_share(text) >= ENGLISH_SHARE


def is_foreign(text: str) -> bool:
    """Whether the text is long enough to tell, and not English."""
    size = len(normalised(text))
    return size >= 60 and english_share(text) < FOREIGN_SHARE


def subject_stems(text: str) -> frozenset[str]:
    """Stems of the English words that carry the subject, cut at five letters."""
    stems = set()
    for word in WORD.findall(text):
        lowered = word.lower().replace("’", "'")
        key = key_of(word)
        plain = lowered.split("'")[0]
        if len(key) < 3 or {lowered, plain} & FUNCTION_WORDS or {plain, key} & QUESTION_WORDS:
            continue
        if not key[0].isdigit():
            stems.add(key[:_STEM_LETTERS])
    return frozenset(stems)


def runs(text: str) -> Counter[tuple[str, ...]]:
    """Counts of the runs of three words; of characters where words are not set apart.

    Texts of Chinese, Japanese or Thai come out as a few very long words, whose runs say nothing.
    """
    words = normalised(text).split()
    if words and sum(map(len, words)) / len(words) > 12:
        words = list("".join(words))
    if len(words) < _RUN:
        return Counter([tuple(words)] if words else [])
    return Counter(zip(*(words[start:] for start in range(_RUN)), strict=False))


def likeness(one: str, other: str) -> float:
    """How much two texts share, in [0, 1]: Dice coefficient of their runs of three words.

    2 |A ∩ B| / (|A| + |B|) over multisets; 1.0 for equal texts, 0.0 where either has no word.
    """
    first, second = runs(one), runs(other)
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if first and second else 0.0


def taken_over(baseline: str, variant: str) -> float:
    """Share of the baseline's runs of three words that stand in the variant, in [0, 1]."""
    first, second = runs(baseline), runs(variant)
    return (first & second).total() / first.total() if first else 0.0
