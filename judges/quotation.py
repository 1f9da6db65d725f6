"""Whether an object in a judge's reply may be a quotation from what it judged, and no vote.

A judge that names what a text tries to dictate writes it down, and tidies it: other quotes, another
order of keys, no escapes. So it is not asked only whether the object stands in the text, but also
whether the text gives one of its values to the same key. Where it does, only a reply that is the
object and nothing else is a vote; the others are asked for once more.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping, Sequence

REASONING_END = "</think>"

_COMPARED = 60
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*[A-Za-z0-9]{0,16}")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def may_quote(
    outside: str, written: str, value: Mapping[str, object], judged: Sequence[str]
) -> bool:
    """Whether an object may be quoted from a judged text.

    Args:
        outside: the reply without the object and without reasoning that stands apart.
        written: the object as it is written.
        value: the same, read; of the keys that were asked for, those that decide something.
        judged: the texts that the judge read.
    """
    if not any(character.isalnum() for character in _FENCE.sub("", outside)):
        return False
    packed = "".join(written.split())
    given = [_gives(key, item) for key, item in value.items() if str(item).strip()]
    for source in judged:
        seen = _seen(source)
        if packed in "".join(source.split()) or any(one.search(seen) for one in given):
            return True
    return False


def _gives(key: str, item: object) -> re.Pattern[str]:
    """Finds a text that gives this very value to a key, in whatever words and marks."""
    named = r"[\W_]{0,3}".join(re.escape(word) for word in re.split(r"[\W_]+", key) if word)
    shown = re.escape(" ".join(str(item)[:_COMPARED].split())).replace(r"\ ", r"\s+")
    return re.compile(rf"{named}[^\n]{{0,24}}?(?<![\w.]){shown}(?!\w)", re.IGNORECASE)


def _seen(source: str) -> str:
    """The text as a reader takes it: entities and escapes resolved, nothing invisible in words."""
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), html.unescape(source))
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
