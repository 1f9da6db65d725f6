"""JSON of settings that a run writes again and again."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

_MOST_BYTES = 4096


def kept_writer(write: Callable[[Any], str], *, most: int) -> Callable[[Mapping[str, Any]], str]:
    """A writer that keeps what it wrote, by value.

    Args:
        write: writes an object.
        most: texts that are kept.
    """

    @lru_cache(maxsize=most)
    def of(packed: bytes) -> str:
        return write(marshal.loads(packed))  # noqa: S302 - packed below, by this very process

    def written(settings: Mapping[str, Any]) -> str:
        values = dict(settings)
        try:
            # Tells 1, 1.0 and true apart; version 2 knows no references.
            packed = marshal.dumps(values, 2)
        except ValueError:  # something that is no plain value
            return write(values)
        return of(packed) if len(packed) <= _MOST_BYTES else write(values)

    return written
