"""How target models are asked: the paper's two tracks, or settings of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Track = Literal["matched", "maximum"]
TRACKS: tuple[Track, ...] = get_args(Track)


@dataclass(frozen=True, slots=True)
class Protocol:
    """How targets are asked.

    Attributes:
        effort: reasoning effort, or None to leave it to the model.
        words, most_words: length instruction added to the prompt, or None for none.
        max_tokens: room for the visible answer and the reasoning before it.
    """

    effort: str | None = None
    words: int | None = None
    most_words: int | None = None
    max_tokens: int = 16_000


PRESETS: dict[Track, Protocol] = {
    "matched": Protocol(effort="medium", words=400, most_words=440),
    "maximum": Protocol(effort="high"),
}
"""The paper's two tracks: effort and length bounded as people were, and unbounded capability."""


def asked(prompt: str, protocol: Protocol) -> str:
    """The user turn: the prompt, with the length instruction where there is one."""
    if protocol.words is None:
        return prompt
    return (
        f"{prompt}\n\nWrite about {protocol.words} words, and no more than "
        f"{protocol.most_words or round(protocol.words * 1.1)}."
    )
