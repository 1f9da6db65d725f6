"""Models that search the web: they charge for it on top of their tokens.

How often a model searches, and how much it reads then, is not ours to bound. Such a call has no
worst price, and what it cost is known only where its answer tells what was searched for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .spec import BackendSpec

# What the price list says of some of these models, and of no other. A fee for searches
# (search_context_cost_per_query) is no such sign: it is listed for every model that can be asked
# to search.
_LISTED_FEES = frozenset(
    {"citation_cost_per_token", "input_cost_per_request", "search_queries_cost_per_query"}
)
_PROVIDERS = frozenset({"perplexity"})
"""All that they sell to talk to searches."""
_NAME = re.compile(r"(?<![a-z])(?:sonar|search|online|deep-?research)(?![a-z])", re.IGNORECASE)
"""gpt-4o-search-preview, gpt-5-search-api, o3-deep-research, and Perplexity's at other sellers."""
_TALKS = frozenset({"chat", "completion", "responses"})


def always_searches(spec: BackendSpec, listed: Mapping[str, Any]) -> bool:
    """Whether the model searches unasked.

    Args:
        spec: the settings.
        listed: litellm's entry for the model.
    """
    if listed.get("mode") not in _TALKS:
        return False
    if not _LISTED_FEES.isdisjoint(listed) or listed.get("litellm_provider") in _PROVIDERS:
        return True
    is_free = not listed.get("input_cost_per_token") and not listed.get("output_cost_per_token")
    return not is_free and _NAME.search(spec.model) is not None


def is_told_to_search(spec: BackendSpec) -> bool:
    """Whether a parameter has a model search: web_search_options, search_parameters, plugins."""
    return any(
        value and (name == "plugins" or "search" in name.lower())
        for name, value in spec.further().items()
    )


def tells_of_searches(answer: Any, provider: str) -> bool:
    """Whether the answer says how often was searched, or what all of it cost.

    Args:
        answer: litellm's object.
        provider: litellm's name; the sources that Perplexity cites do not tell its fee.
    """
    usage = getattr(answer, "usage", None)
    if _details(usage, "web_search_requests") is not None or any(
        getattr(usage, name, None) is not None
        for name in ("cost", "server_tool_use", "server_side_tool_usage_details")
    ):
        return True
    return provider not in _PROVIDERS and has_notes(answer)


def is_charged_apart(answer: Any) -> bool:
    """Whether the answer tells of anything that searches, or of a cost worked out elsewhere."""
    usage = getattr(answer, "usage", None)
    named = ("cost", "citation_tokens", "num_search_queries", "server_side_tool_usage_details")
    return (
        any(getattr(usage, name, None) is not None for name in named)
        or any(
            _details(usage, name)
            for name in ("web_search_requests", "google_maps_grounding_requests")
        )
        or bool(getattr(answer, "citations", None) or getattr(answer, "search_results", None))
        or has_notes(answer)
    )


def has_notes(answer: Any) -> bool:
    """Whether a text has annotations: they name what was searched and read for it."""
    return any(
        getattr(getattr(choice, "message", None), "annotations", None)
        for choice in getattr(answer, "choices", None) or ()
    )


def _details(usage: Any, name: str) -> Any:
    return getattr(getattr(usage, "prompt_tokens_details", None), name, None)
