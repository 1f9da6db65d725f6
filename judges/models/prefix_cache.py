"""Prefix caches of providers: which calls share a prefix, and when to send one of them first.

A provider with such a cache serves a prefix to later calls at a fraction of the price, but only
once a first call has been read to its end. Ten judges of a response that are asked at once pay ten
times for the text that they share; asked one before the other nine, they pay for it once.
"""

from __future__ import annotations

import re
from typing import Any

from .backend import Backend, BackendSpec
from .prices import TokenPrices

USUAL_MINIMUM = 1024
"""Tokens of the shortest prefix that most providers keep."""

_MINIMUM = {"deepseek": 64}
_MINIMUM_OF = (
    (re.compile(r"claude.*(?:(?:opus|haiku)-4[-.]5|opus-4[-.]6)"), 4096),
    (re.compile(r"claude.*(?:haiku-3|3[-.]5-haiku|3-haiku|opus-4[-.]7)"), 2048),
    (re.compile(r"gemini"), 2048),
)
"""Models that keep no shorter prefix, by what stands in their names; of several the first counts.

They are the vendors' figures, and change: one that is too low costs a little time where a call goes
first for nothing, one that is too high the saving on short prompts.
"""
_HANDS_MARKS_ON = frozenset({"azure_ai", "bedrock", "openrouter", "vertex_ai"})
"""Other sellers of Claude to whom litellm passes the marks on."""

_CHARACTERS_A_TOKEN = 4
_MARK = {"type": "ephemeral"}


def prefix_minimum(spec: BackendSpec, prices: TokenPrices | None) -> int | None:
    """Tokens from which a shared beginning is cheaper; None where nothing says that it ever is.

    Claude and what Bedrock sells is kept only where it is marked; where litellm passes no marks on,
    it is not kept, whatever a list of prices says.

    Args:
        spec: the settings.
        prices: the usual prices; None where they are unknown.
    """
    if prices is None or prices.cache_read >= prices.input:
        return None
    model = spec.model.lower()
    needs_marks = "claude" in model or spec.provider == "bedrock"
    if needs_marks and spec.prices is None and not _may_be_marked(spec):
        return None
    for pattern, minimum in _MINIMUM_OF:
        if pattern.search(model):
            return minimum
    return _MINIMUM.get(spec.provider, USUAL_MINIMUM)


def takes_marks(spec: BackendSpec, minimum: int | None) -> bool:
    """Whether what calls share is marked for this backend.

    Args:
        spec: the settings.
        minimum: what `prefix_minimum` says; a model that keeps nothing may refuse the marks.
    """
    return spec.provider == "anthropic" or (minimum is not None and _may_be_marked(spec))


def one_goes_first_from(backend: Backend) -> int | None:
    """Characters from which one of the calls that share them is answered before the others go.

    None where all calls to this backend go at once.
    """
    wish = backend.spec.prefix_first
    if wish == "on":
        return 0
    minimum = backend.prefix_minimum if wish == "auto" else None
    return None if minimum is None else _CHARACTERS_A_TOKEN * minimum


def with_marks(messages: list[dict[str, Any]], shared: int) -> list[dict[str, Any]]:
    """The messages with what is to be kept marked, for a provider that wants to be told.

    Args:
        messages: system and user message, and those of a repair.
        shared: characters of the user message that other calls begin with too; 0 for none.
    """
    if not shared:
        return messages
    marked: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        text = message["content"]
        if number == 0 and message["role"] == "system":
            marked.append({**message, "content": [_kept(text)]})
        elif number == 1 and 0 < shared < len(text):
            rest = {"type": "text", "text": text[shared:]}
            marked.append({**message, "content": [_kept(text[:shared]), rest]})
        else:
            marked.append(message)
    return marked


def _may_be_marked(spec: BackendSpec) -> bool:
    is_claude = "claude" in spec.model.lower()
    return spec.provider == "anthropic" or (is_claude and spec.provider in _HANDS_MARKS_ON)


def _kept(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": _MARK}
