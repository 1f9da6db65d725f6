"""How target models are asked: the paper's two tracks, or settings of one's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
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


def protocol_from(
    track: Track | None, *, effort: str | None = None, words: int | None = None
) -> Protocol:
    """A track's protocol, or the bare one, with what is set otherwise.

    Args:
        track: one of `PRESETS`; None asks the bare prompt with no effort set.
        effort: reasoning effort instead of the track's; "none" sends none.
        words: words to aim at, instead of the track's.
    """
    protocol = PRESETS[track] if track is not None else Protocol()
    if effort is not None:
        protocol = replace(protocol, effort=None if effort == "none" else effort)
    if words is not None:
        protocol = replace(protocol, words=words, most_words=round(words * 1.1))
    return protocol


def asked(prompt: str, protocol: Protocol) -> str:
    """The user turn: the prompt, with the length instruction where there is one."""
    if protocol.words is None:
        return prompt
    return (
        f"{prompt}\n\nWrite about {protocol.words} words, and no more than "
        f"{protocol.most_words or round(protocol.words * 1.1)}."
    )
