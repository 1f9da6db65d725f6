"""A request that litellm wrote, with gaps where the texts stood that are different each time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from .passage import Sent

Writing = Literal["ascii", "utf8", "either"]
"""How a JSON writer spells what is beyond ASCII: as escapes, as UTF-8, or not known yet because
the texts seen had nothing of the kind."""

_LENGTH = b"content-length"


@dataclass(frozen=True, slots=True)
class Template:
    """The bytes of a request around its texts.

    Attributes:
        sent: the request that litellm wrote.
        frame: the body around the texts, one piece more than there are texts.
        writing: how the texts are spelled.
    """

    sent: Sent
    frame: tuple[bytes, ...] = field(repr=False)
    writing: Writing

    def fill(self, texts: Sequence[str]) -> bytes | None:
        """The body with these texts in the gaps; None where it is not known how to spell them."""
        if self.writing == "either" and not all(map(str.isascii, texts)):
            return None
        parts = [self.frame[0]]
        try:
            for text, after in zip(texts, self.frame[1:], strict=True):
                parts += (spelled(text, self.writing), after)
        except UnicodeEncodeError:  # half of a surrogate pair
            return None
        return b"".join(parts)

    def fits(self, sent: Sent, texts: Sequence[str]) -> bool:
        """Whether litellm wrote for these texts exactly what `fill` writes."""
        return self.fill(texts) == sent.body and same_head(self.sent, sent)

    def same_frame(self, other: Template) -> bool:
        """Whether all but the texts and their spelling is the same."""
        return self.frame == other.frame and same_head(self.sent, other.sent)


def template_of(sent: Sent, texts: Sequence[str]) -> Template | None:
    """The request with gaps in place of the texts; None unless each is found once, in order."""
    found: dict[Writing, tuple[bytes, ...]] = {}
    for writing in ("ascii", "utf8"):
        try:
            frame = _frame(sent.body, [spelled(text, writing) for text in texts])
        except UnicodeEncodeError:
            return None
        if frame is not None:
            found[writing] = frame
    if len(found) == 2:
        # Both spell them alike: nothing beyond ASCII is in them.
        return Template(sent, found["ascii"], "either")
    for writing, frame in found.items():
        return Template(sent, frame, writing)
    return None


def margins(text: str) -> tuple[str, str]:
    """The white space at both ends, which a translation may have reason to take away."""
    if text and not (text[0].isspace() or text[-1].isspace()):
        return "", ""  # most texts: a long one is not copied to see it
    body = text.strip()
    start = text.find(body)
    return text[:start], text[start + len(body) :]


def spelled(text: str, writing: Writing) -> bytes:
    """The text as JSON writes it between quotation marks."""
    return (_as_utf8 if writing == "utf8" else _as_ascii)(text)[1:-1].encode()


# `json.dumps` with settings makes a new writer at every call.
_as_utf8 = json.JSONEncoder(ensure_ascii=False).encode
_as_ascii = json.JSONEncoder().encode


def _frame(body: bytes, pieces: Sequence[bytes]) -> tuple[bytes, ...] | None:
    frame: list[bytes] = []
    rest = body
    for piece in pieces:
        if not piece or body.count(piece) != 1:
            return None
        before, middle, rest = rest.partition(piece)
        if not middle or not before.endswith(b'"') or not rest.startswith(b'"'):
            return None
        frame.append(before)
    return (*frame, rest)


def same_head(one: Sent, other: Sent) -> bool:
    """Whether two requests differ in nothing but their bodies, and the length of these."""
    if (one.method, one.url) != (other.method, other.url):
        return False
    return _constant(one) == _constant(other)


def _constant(sent: Sent) -> list[tuple[bytes, bytes]]:
    return [pair for pair in sent.headers if pair[0].lower() != _LENGTH]
