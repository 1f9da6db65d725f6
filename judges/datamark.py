"""Datamarking: a character before every word of the response, which its writer could not foresee.

A model that sees the mark on each word knows, wherever it reads, that the word was written by the
respondent (Hines et al. 2024, arXiv:2403.14720, who put a mark in the place of blanks). Here the
mark is put in and nothing is taken away, so that lines, verse and code keep their form, and
`unmarked` gives back the text. Only what is sent is marked; what is stored is the response.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

# Arrows, lines and figures: two tokens each for the tokenizers that litellm carries. Behind them
# two areas of private characters, for a text that uses up the first in order to choose its mark.
_POOLS: Final = (
    ((0x2190, 0x2200), (0x2500, 0x2580), (0x25A0, 0x2600)),
    ((0xE000, 0xF900),),
    ((0xF0000, 0xFFFFE), (0x100000, 0x10FFFE)),
)
_FEWEST: Final = 64
"""Characters of a pool that a text must have left out, so that none can be told in advance."""

# Chinese and Japanese run on without blanks: a mark every four characters.
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD: Final = re.compile(rf"[{_UNSPACED}]{{1,4}}|[^\s{_UNSPACED}]+")


# Every judge of a response asks for the same one.
@lru_cache(maxsize=64)
def mark_for(nonce: str, *texts: str) -> str:
    """A character that none of the texts contains, drawn by the nonce of the message."""
    used = set().union(*texts)
    free = next(found for found in _free(used) if len(found) >= _FEWEST)
    return free[int.from_bytes(hashlib.sha256(nonce.encode()).digest(), "big") % len(free)]


def datamarked(text: str, mark: str) -> str:
    """The text with the mark before every word."""
    return _WORD.sub(lambda word: mark + word[0], text)


def unmarked(text: str, mark: str) -> str:
    """The text that `datamarked` was given."""
    return text.replace(mark, "")


def _free(used: set[str]) -> Iterator[list[str]]:
    """The characters of each pool that are not used; a response is shorter than the last is big."""
    for pool in _POOLS:
        yield [chr(c) for low, high in pool for c in range(low, high) if chr(c) not in used]
    yield [chr(c) for c in range(0x20000, 0x2A6E0) if chr(c) not in used]
