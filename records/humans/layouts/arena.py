"""Arenas that write the winner of a pair in columns of their own: winner_model_a, _b, _tie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...readers.rows import Row
from .layout import HumanFile, Layout, Opened

_WORDS = {"winner_model_a": "a", "winner_model_b": "b", "winner_tie": "tie"}
_ON = frozenset({"1", "1.0", "true", "yes"})


def _battles(file: HumanFile) -> Iterator[Row]:
    for line, values in file.rows():
        on = [word for name, word in _WORDS.items() if str(values.get(name)).lower() in _ON]
        rest: dict[str, Any] = {k: cell for k, cell in values.items() if k not in _WORDS}
        # Anything but one winner is said as it is, and is a fault when it is read.
        yield Row(line, {**rest, "winner": on[0] if len(on) == 1 else f"{len(on)} winners"})


ARENA = Layout(
    "arena",
    lambda file: file.has("winner_model_a", "winner_model_b"),
    lambda file: Opened(_battles(file)),
    "columns winner_model_a and winner_model_b",
)
