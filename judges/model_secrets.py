"""The keys that a chat model of langchain-core carries in its own fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

SECRET_FIELD = re.compile(r"key|token$|secret|password|credential|authorization", re.IGNORECASE)
_DEEPEST = 6
"""A model in a binding in a fallback in a binding, with its headers."""


def secrets_of(model: Any) -> tuple[str, ...]:
    """Every value of it that is held as a secret, and every text under the name of one.

    Looked for in its fields, in the mappings and lists of them, in the models that it binds or
    falls back to, and in the clients it was given. Read anew at every call, since a key may be
    changed in between. A key that a function makes for each request is not seen.
    """
    return tuple(dict.fromkeys(_secrets_in(model, "", set(), 0)))


def _secrets_in(value: Any, name: str, seen: set[int], depth: int) -> Iterator[str]:
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        if value and SECRET_FIELD.search(name):
            yield value
            # Of "Bearer KEY" an endpoint knows the key alone as well.
            yield value.split()[-1] if value.split() else value
        return
    if value is None or isinstance(value, int | float) or depth > _DEEPEST or id(value) in seen:
        return
    seen.add(id(value))
    kind = type(value)
    if hasattr(kind, "get_secret_value"):
        yield from _secrets_in(value.get_secret_value(), "secret", seen, depth)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _secrets_in(inner, str(key), seen, depth + 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _secrets_in(inner, name, seen, depth + 1)
    elif hasattr(kind, "model_fields"):
        for held in (value.__dict__, value.__pydantic_private__, value.__pydantic_extra__):
            for key, inner in (held or {}).items():
                yield from _secrets_in(inner, key, seen, depth + 1)
    elif not isinstance(value, type):
        # A client: its own texts, and nothing of what it is made of in turn.
        for key, inner in getattr(value, "__dict__", {}).items():
            if isinstance(inner, str) or hasattr(type(inner), "get_secret_value"):
                yield from _secrets_in(inner, key, seen, depth + 1)
