"""Detectors: what in a response looks like an attempt on a judge, and where.

One mechanism: the readings of a text (`views`) are searched for forms (`marks`), for demands in
several languages (`phrases`) and for the panel's own wording (`wording`). A hit changes no score,
can be missed, and can be wrong about a text that quotes an instruction to discuss it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from .marks import CHARACTERS, find_marks
from .phrases import Found, find_phrases
from .views import AS_IT_STANDS, View, folded, views_of
from .wording import PanelWording

DETECTORS: Final[dict[str, str]] = {
    "invisible_characters": "characters of no width inside the text",
    "bidi_controls": "characters that turn the reading direction",
    "tag_characters": "Unicode tag characters, which spell hidden text",
    "control_characters": "control characters",
    "marker_lookalike": "something like the markers around judged texts",
    "role_tokens": "chat-template tokens, role markers, tags such as </response>, or headings in "
    "bracketed capitals",
    "panel_wording": "words that only the judges of this panel are shown",
    "addresses_judge": "a phrase that talks to a judge or asks for a score or verdict",
    "score_claim": "a sentence that says which score or verdict the text deserves or got",
    "vote_lookalike": "something like a judge's JSON reply",
    "encoded_payload": "readable text in a code, or a demand hidden by its way of writing",
    "hidden_markup": "an HTML comment or a style that hides text from a reader",
    "lookalike_letters": "letters of another alphabet or width inside Latin words",
    "blank_flood": "a long run of blank lines or blanks",
}
"""Flag to what it says."""

SENTENCES: Final = frozenset({"addresses_judge", "score_claim"})
"""Flags whose hit is one phrase of a sentence that makes sense only as a whole."""

# What looks the same whatever it says is noticed in the text alone, and not in what it hides.
_OF_THE_TEXT: Final = frozenset({"blank_flood", "hidden_markup"})


class Hit(NamedTuple):
    """What was noticed and where.

    Attributes:
        start, end: its place, `text[start:end]` of the text as it came.
        flag: one of `DETECTORS`.
        about: what it is, such as `German: asks for a score`.
        written: how it is written: `as it stands`, or the code or way of writing that hid it.
    """

    start: int
    end: int
    flag: str
    about: str
    written: str = AS_IT_STANDS


def find_hits(text: str, wording: PanelWording | None = None, prompt: str = "") -> tuple[Hit, ...]:
    """Every place that a flag is about, in the order of the text; they may overlap.

    Args:
        text: the response.
        wording: what the judges of the panel are shown.
        prompt: what was asked: what a response takes over from it is no hit.
    """
    seen = [
        Hit(match.start(), match.end(), flag, DETECTORS[flag])
        for flag, pattern in (CHARACTERS[:2] if text.isascii() else CHARACTERS)
        for match in pattern.finditer(text)
    ]
    # The first of several at one place: what stands there in plain sight is not hidden as well.
    read: dict[tuple[int, int, str], Hit] = {}
    asked = folded(prompt)
    for view in views_of(text):
        is_hidden = view.written != AS_IT_STANDS
        if view.is_code:
            hit = Hit(*view.place(0, 1), "encoded_payload", "readable text", view.written)
            read.setdefault(hit[:3], hit)
        for found in _search(view, wording, prompt):
            is_quoted = asked and view.text[found.start : found.end] in asked
            if is_quoted or (is_hidden and found.flag in _OF_THE_TEXT):
                continue
            hit = Hit(*view.place(found.start, found.end), found.flag, found.about, view.written)
            if is_hidden and hit[:3] not in read:
                code = Hit(hit.start, hit.end, "encoded_payload", found.about, view.written)
                read.setdefault(code[:3], code)
            read.setdefault(hit[:3], hit)
    return tuple(sorted([*seen, *read.values()]))


def flags_of(text: str, wording: PanelWording | None = None, prompt: str = "") -> tuple[str, ...]:
    """The flags that a text gets, in the order of `DETECTORS`."""
    found = {hit.flag for hit in find_hits(text, wording, prompt)}
    return tuple(name for name in DETECTORS if name in found)


def _search(view: View, wording: PanelWording | None, prompt: str) -> Iterator[Found]:
    if not view.is_joined:
        yield from find_marks(view.text)
        if wording is not None:
            yield from wording.find(view, prompt)
    yield from find_phrases(view)
