"""How replies and requests lie in a ledger: bytes and text that every store takes."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from ..kept_writer import kept_writer
from .types import Reply, Usage

DEFLATE_ABOVE_BYTES = 2048

_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_request_text = kept_writer(_encode_json, most=1024)
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


def decode_reply(stored: bytes) -> Reply:
    """The reverse of `encode_reply`. Raises ValueError for bytes it did not write."""
    try:
        packed = stored if stored[:1] == b"{" else zlib.decompress(stored)
        return Reply.from_json(json.loads(packed))
    except (zlib.error, TypeError, AttributeError) as error:
        raise ValueError("not a stored reply") from error


def encode_request(request: Mapping[str, Any]) -> tuple[str, str]:
    """A name for the request's metadata, and these as compact JSON text that a database takes."""
    text = plain_text(_request_text(request))
    return _name_of(text), text


@lru_cache(maxsize=1024)
def _name_of(text: str) -> str:
    """Half of a SHA-256 in hex digits: no JSON object begins so, and none is named like another."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def plain_text(text: str) -> str:
    r"""The text as a database takes it: lone surrogates written out as \udXXX."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")
