"""Which family a model belongs to, by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping

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
