"""What is known of responses: prompt, respondent, source, domain, length; families of models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..records.sources import HUMAN, MODEL, UNKNOWN, Integers, sources

Floats = npt.NDArray[np.float64]

__all__ = [
    "HUMAN",
    "MODEL",
    "UNKNOWN",
    "Responses",
    "make_responses",
    "merged",
    "sources",
]


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
