"""What is known of responses: prompt, respondent, source, domain, length; families of models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..aggregation import pair_counting

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Source = Literal["human", "model"]

HUMAN, MODEL, UNKNOWN = pair_counting.HUMAN, pair_counting.MODEL, -1

_PEOPLE = frozenset(
    {"human", "humans", "person", "people", "expert", "experts", "writer", "author", "participant"}
)
_MACHINES = frozenset({"model", "models", "llm", "ai", "machine", "system", "lm"})


@dataclass(frozen=True, slots=True)
class Responses:
    """The responses, one an entry.

    Attributes:
        ids: shape (R,).
        prompt: shape (R,), codes into prompt_ids.
        prompt_ids: the prompts.
        respondent: who wrote each, or None.
        source: shape (R,), HUMAN, MODEL or UNKNOWN.
        domain: the domain of each, or None.
        length: shape (R,), characters; nan where unknown.
    """

    ids: tuple[str, ...]
    prompt: Integers
    prompt_ids: tuple[str, ...]
    respondent: tuple[str | None, ...]
    source: Integers
    domain: tuple[str | None, ...]
    length: Floats

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def has_both_sources(self) -> bool:
        """Whether people and models answered."""
        return bool((self.source == HUMAN).any() and (self.source == MODEL).any())


def make_responses(
    ids: Sequence[str],
    prompts: Sequence[str],
    *,
    respondent: Sequence[str | None],
    source: Sequence[str | None],
    model: Sequence[str | None],
    domain: Sequence[str | None],
    length: Sequence[float | None] | Floats | None = None,
) -> Responses:
    """Returns responses from texts in parallel.

    Args:
        ids, prompts: of each response.
        respondent, source, model, domain: what files say, None where they do not.
        length: characters of each.
    """
    codes: dict[str, int] = {}
    prompt = np.array([codes.setdefault(name, len(codes)) for name in prompts], dtype=np.int64)
    lengths = np.full(len(ids), np.nan)
    if length is not None:
        lengths = np.array([np.nan if x is None else float(x) for x in length], dtype=np.float64)
    who = tuple(a or b or c for a, b, c in zip(respondent, model, source, strict=True))
    return Responses(
        tuple(ids),
        prompt,
        tuple(codes),
        who,
        sources(source, model, respondent),
        tuple(domain),
        lengths,
    )


def sources(
    source: Sequence[str | None], model: Sequence[str | None], respondent: Sequence[str | None]
) -> Integers:
    """Returns whether each response comes from a person or a model.

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


def merged(
    first: Sequence[str | None], second: Mapping[str, str], ids: Sequence[str]
) -> list[str | None]:
    """Returns the first's texts, and where it has none the second's, by response id."""
    return [
        text if text is not None else second.get(name)
        for text, name in zip(first, ids, strict=True)
    ]


_FAMILY_OF_WORD = {
    "openai": "openai", "gpt": "openai", "chatgpt": "openai", "o1": "openai", "o3": "openai",
    "o4": "openai", "davinci": "openai",
    "anthropic": "anthropic", "claude": "anthropic",
    "google": "google", "gemini": "google", "gemma": "google", "palm": "google", "bard": "google",
    "meta": "meta", "llama": "meta",
    "mistral": "mistral", "mixtral": "mistral", "magistral": "mistral", "ministral": "mistral",
    "qwen": "qwen", "qwq": "qwen", "alibaba": "qwen",
    "deepseek": "deepseek",
    "kimi": "moonshot", "moonshot": "moonshot", "moonshotai": "moonshot",
    "grok": "xai", "xai": "xai",
    "command": "cohere", "cohere": "cohere",
    "phi": "microsoft",
    "offline": "offline",
}  # fmt: skip


def family_of(name: str, families: Mapping[str, str] | None = None) -> str:
    """Returns the family of a model or respondent.

    The last word of the name that is known decides ("openrouter/meta-llama/llama-3.1-8b" is
    meta); a name without a known word is its own family, by its first word.

    Args:
        name: a backend's name ("openai/gpt-4o-mini") or a respondent ("GPT-5.4").
        families: name, or first word, to family; it comes before everything else.
    """
    words = [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]
    if families:
        for key in (name, *words):
            if key in families:
                return families[key]
    for word in reversed(words):
        letters = re.match(r"[a-z]+", word)
        for candidate in (word, letters.group() if letters else ""):
            if candidate in _FAMILY_OF_WORD:
                return _FAMILY_OF_WORD[candidate]
    return words[0] if words else name
