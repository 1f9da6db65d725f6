"""A key that an endpoint echoes in a good answer, taken out before the answer is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..environment import environment_secrets
from ..records.types import Reply

REDACTED = "[redacted]"
_SHORTEST = 8
_TEXTS = ("text", "refusal", "answered_by", "request_id", "finish_reason")


def without_secrets(reply: Reply, secrets: Sequence[str] = ()) -> Reply:
    """The reply with `[redacted]` for every secret that stands in one of its texts.

    Only these very values are replaced, and nothing that merely looks like a key: the reply is
    somebody's judgment and is not edited otherwise. The same object where none stands in it.

    Args:
        reply: as it came.
        secrets: keys that were sent with the call, beside those of the environment's variables
            that hold one or are named so; a value under eight characters is taken for a word.
    """
    known = {*secrets, *(value for value, _ in environment_secrets())}
    if not known:
        return reply
    texts = {name: text for name in _TEXTS if (text := getattr(reply, name))}
    found = [
        secret
        for secret in known
        if len(secret) >= _SHORTEST and any(secret in text for text in texts.values())
    ]
    if not found:
        return reply
    for secret in sorted(found, key=len, reverse=True):  # one may be the beginning of another
        texts = {name: text.replace(secret, REDACTED) for name, text in texts.items()}
    # Log-probabilities hold the same text in pieces, in which a key cannot be told.
    return replace(reply, **texts, logprobs=None)
