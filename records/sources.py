"""Whether people or models wrote responses, by what a file says of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation import pair_counting

Integers = npt.NDArray[np.int64]

Source = Literal["human", "model"]

HUMAN, MODEL, UNKNOWN = pair_counting.HUMAN, pair_counting.MODEL, -1

_PEOPLE = frozenset(
    {"human", "humans", "person", "people", "expert", "experts", "writer", "author", "participant"}
)
_MACHINES = frozenset({"model", "models", "llm", "ai", "machine", "system", "lm"})


def sources(
    source: Sequence[str | None], model: Sequence[str | None], respondent: Sequence[str | None]
) -> Integers:
    """Whether each response comes from a person or a model.

    A source or respondent called human, person, expert, … ("expert_07" too) is a person; one
    called model, llm, ai, …, or any with a model named, is a model. Where some source says
    "human", all other named sources are models. Else it is unknown.
    """
    named = {text for text in (*source, *respondent) if text}
    people_named = any(_first_word(text) in _PEOPLE for text in named)
    known: dict[tuple[str | None, str | None, str | None], int] = {}

    def one(said: str | None, machine: str | None, who: str | None) -> int:
        words = [_first_word(text) for text in (said, who) if text]
        if any(word in _PEOPLE for word in words):
            return HUMAN
        if any(word in _MACHINES for word in words):
            return MODEL
        if machine:
            return HUMAN if _first_word(machine) in _PEOPLE else MODEL
        return MODEL if people_named and (said or who) else UNKNOWN

    out = np.empty(len(source), dtype=np.int64)
    for index, key in enumerate(zip(source, model, respondent, strict=True)):
        if key not in known:
            known[key] = one(*key)
        out[index] = known[key]
    return out


def _first_word(text: str) -> str:
    return re.split(r"[^a-z]+", text.strip().lower(), maxsplit=1)[0]
