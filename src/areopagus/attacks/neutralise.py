"""A copy of a text without what looks like an attempt on its judge; the text itself stays.

The copy serves an audit only: the panel scores both, and the difference is what the passages did
to the score of this one response.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..graphs.detectors import AS_IT_STANDS, SENTENCES, Hit, PanelWording, find_hits

REMOVED = "[…]"
"""Stands for a passage taken out; characters of no width leave nothing behind."""

_UNSEEN = frozenset(
    {"invisible_characters", "bidi_controls", "tag_characters", "control_characters"}
)
_SENTENCE_END = re.compile(r"[.!?。！？](?=\s|$)|\n")
_LONGEST_SENTENCE = 600


@dataclass(frozen=True, slots=True)
class Neutralised:
    """A neutralised copy.

    Attributes:
        text: the copy; the text itself where nothing was noticed.
        flags: what was taken out, in the order of the text.
        removed: the passages taken out, as they stood.
        found: what each hit is, each once, with how it was written where that hid it.
    """

    text: str
    flags: tuple[str, ...]
    removed: tuple[str, ...]
    found: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """Whether anything was taken out."""
        return bool(self.flags)


def neutralised(text: str, wording: PanelWording | None = None, prompt: str = "") -> Neutralised:
    """The copy of a text in which every hit of a detector is taken out.

    A phrase that talks to a judge or claims a score goes with its whole sentence, a flood of blanks
    becomes a paragraph's end, everything else goes as far as the pattern reaches.

    Args:
        text: the text.
        wording: what the judges of the panel are shown.
        prompt: what was asked: what a text takes over from it stays.
    """
    flags: list[str] = []
    removed: list[str] = []
    pieces: list[str] = []
    done = 0
    hits = find_hits(text, wording, prompt)
    for start, end, names in _merged(_widened(text, hit) for hit in hits):
        flags += [name for name in names if name not in flags]
        removed.append(text[start:end])
        pieces.append(text[done:start])
        if names == {"blank_flood"}:
            pieces.append("\n\n" if "\n" in text[start:end] else " ")
        elif not names <= _UNSEEN:
            pieces.append(REMOVED)
        done = end
    pieces.append(text[done:])
    found = dict.fromkeys(
        hit.about if hit.written == AS_IT_STANDS else f"{hit.about} ({hit.written})" for hit in hits
    )
    return Neutralised("".join(pieces), tuple(flags), tuple(removed), tuple(found))


def _widened(text: str, hit: Hit) -> tuple[int, int, str]:
    if hit.flag == "lookalike_letters":
        return *_word(text, hit), hit.flag
    if hit.flag not in SENTENCES:
        return hit.start, hit.end, hit.flag
    before = text[max(0, hit.start - _LONGEST_SENTENCE) : hit.start]
    ends = [match.end() for match in _SENTENCE_END.finditer(before)]
    start = hit.start - len(before) + (ends[-1] if ends else 0)
    while start < hit.start and text[start].isspace():
        start += 1
    behind = _SENTENCE_END.search(text, hit.end - 1, min(len(text), hit.end + _LONGEST_SENTENCE))
    end = hit.end if behind is None else max(hit.end, behind.end())
    while end > hit.end and text[end - 1].isspace():
        end -= 1
    return start, end, hit.flag


def _word(text: str, hit: Hit) -> tuple[int, int]:
    start, end = hit.start, hit.end
    while start > 0 and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return start, end


def _merged(spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, set[str]]]:
    """Spans in order, those that overlap as one."""
    merged: list[tuple[int, int, set[str]]] = []
    for start, end, name in sorted(spans):
        if merged and (start < merged[-1][1] or (start == merged[-1][1] and name in merged[-1][2])):
            last = merged.pop()
            merged.append((last[0], max(last[1], end), last[2] | {name}))
        else:
            merged.append((start, end, {name}))
    return merged
