"""How a reply and the description of a request stand in a ledger, and how they are read again."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from ..types import Reply, Usage

DEFLATE_ABOVE_BYTES = 2048

_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_REPLY_FIELDS = tuple(field.name for field in fields(Reply) if field.name not in ("text", "usage"))
_USAGE_FIELDS = tuple(field.name for field in fields(Usage))


def encode_reply(reply: Reply) -> bytes:
    """The reply as UTF-8 JSON without its empty fields, deflated when above 2 kB.

    A lone surrogate, which a hostile endpoint can send, goes through unchanged.
    """
    values: dict[str, Any] = {"text": reply.text}
    for name in _REPLY_FIELDS:
        value = getattr(reply, name)
        if value is not None:
            values[name] = value
    usage = reply.usage
    values["usage"] = {
        name: value for name in _USAGE_FIELDS if (value := getattr(usage, name)) is not None
    }
    packed = _encode_json(values).encode("utf-8", "surrogatepass")
    return zlib.compress(packed, 6) if len(packed) > DEFLATE_ABOVE_BYTES else packed


def checksum(key: str, stored: bytes) -> int:
    """CRC-32 of a call's key and its stored reply, from 0 to 2**32 - 1."""
    return zlib.crc32(stored, zlib.crc32(key.encode()))


def decode_reply(key: str, stored: bytes, expected: int | None) -> Reply:
    """The reverse of `encode_reply`.

    Args:
        key: the call's key.
        stored: what the ledger holds.
        expected: its checksum; None where it was stored before there were any.

    Raises:
        ValueError: it is not what was once stored.
    """
    try:
        if expected is not None and checksum(key, stored) != expected:
            raise ValueError("its checksum is wrong")
        packed = stored if stored[:1] == b"{" else zlib.decompress(stored)
        reply = Reply.from_json(json.loads(packed))
    except (zlib.error, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("it is no stored reply") from error
    if not isinstance(reply.text, str | None) or not isinstance(reply.cost_usd, float | int | None):
        raise ValueError("it is no stored reply")
    return reply


def encode_request(request: Mapping[str, Any]) -> tuple[str, str]:
    """A name for the request's metadata, and these as compact JSON text that a database takes."""
    text = plain_text(_encode_json(dict(request)))
    return _name_of(text), text


@lru_cache(maxsize=1024)
def _name_of(text: str) -> str:
    """Half of a SHA-256 in hex digits: no JSON object begins so, and none is named like another."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def plain_text(text: str) -> str:
    r"""The text as a database takes it: lone surrogates written out as \udXXX, NUL as \x00."""
    if not text.isascii():
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\x00", "\\x00")
