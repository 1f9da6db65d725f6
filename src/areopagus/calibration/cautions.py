"""What a reader must be told before the numbers of a calibration."""

from __future__ import annotations

from collections.abc import Sequence

from ..formats import listed

FEW_PROMPTS = 20
"""Below so many prompts some intervals are too short, and judges are named by mistake too often,
not to say so."""


def demonstration(stand_ins: Sequence[str]) -> str:
    """Returns the sentence that heads whatever an embedded stand-in had a part in."""
    which = listed(stand_ins, 4)
    return (
        f"An embedded stand-in took part ({which}), which is no language model. These numbers show "
        "how the tool works; they are no findings."
    )
