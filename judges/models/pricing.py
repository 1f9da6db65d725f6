"""Prices of a backend's model, and what its answers cost.

Prices are those in the settings, else those listed by the installed litellm, else those listed by
the installed `genai-prices` (the extra `areopagus[prices]`). Unknown is None, never 0. A cost is

    cost = plain · input + cached · cache read + written · cache write + output tokens · output

where that is all there is to it. For other answers (sounds, tiers of service, searches, very long
texts) litellm is asked, which takes a hundred times as long.

Models that search the web charge for it on top of their tokens. How often they search, and how much
they read then, is not ours to bound: such a call has no worst price, and what it cost is known only
where its answer says what was searched for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from ...records.types import Usage
from .backend import BackendSpec, PriceSource
from .litellm_setup import litellm_module
from .price_list import genai_entry, litellms_entry
from .prices import FREE, TokenPrices
from .usage import fields_of

MOST_TOKENS = 100_000
"""Longer inputs and outputs may have listed prices of their own."""


class ModelPricing:
    """What one backend charges.

    Attributes:
        source: where the prices come from; None where none are known.
        usual: the usual prices; None where they are unknown.
        has_fees: whether more than tokens is charged, by what is known.
    """

    def __init__(self, spec: BackendSpec) -> None:
        """Looks the prices up."""
        self._spec = spec
        self._entry: Mapping[str, Any] | None = None
        self.source: PriceSource | None = "settings"
        self.usual = spec.prices.per_token() if spec.prices is not None else None
        if self.usual is None:
            self.source, self._entry = "litellm", litellms_entry(spec)
            if self._entry is None:
                self.source, self._entry = "genai-prices", genai_entry(spec)
            self.usual = _entry_prices(self._entry)
        self._always_searches = self._entry is not None and always_searches(spec, self._entry)
        self.has_fees = False
        if self.usual is None:
            self.source = None
        elif self._entry is not None:
            self.has_fees = self._always_searches or _is_told_to_search(spec)
        asked = _tier_of(spec.further().get("service_tier"))
        self._tiers = set() if asked is None else {asked}
        self._worst = self._highest_prices()

    @cached_property
    def unit_prices(self) -> TokenPrices | None:
        """The prices, where the cost of a usual answer is its tokens times them; else None."""
        if self._entry is None or self.usual is None:
            return self.usual
        if self._is_free:
            return FREE
        asked = _tier_of(self._spec.further().get("service_tier"))
        if self._always_searches or asked is not None:
            return None
        if self.source == "genai-prices":
            return self.usual
        return checked_prices(self._spec.model, self._entry)

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """The most that so many tokens cost in US dollars; None where nobody knows.

        The highest price that may apply counts: long inputs, written caches, reasoning, tiers of
        service. A tier counts once it is asked for, or once an answer says that it was billed at
        it. It does not before: a project's default tier may be a dear one, but few are, and to set
        twice as much aside for every call of everybody (six times, where a model has an
        "ultrafast" tier) would make a dry run's "at most", and a cap, say little.
        """
        if self._worst is None or self.has_fees:
            return None
        worst_input, worst_output = self._worst
        return input_tokens * worst_input + output_tokens * worst_output

    def likely_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """What so many tokens usually cost in US dollars, nothing cached; None = unknown."""
        if self.usual is None or self.has_fees:
            return None
        return input_tokens * self.usual.input + output_tokens * self.usual.output

    def cost(self, answer: Any, usage: Usage) -> float | None:
        """What an answer cost in US dollars; None where nobody knows.

        Args:
            answer: in litellm's form: it may say that more than tokens was charged.
            usage: its tokens.
        """
        if self.usual is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        if self._entry is None:
            return self.usual.cost(usage)
        if self._is_free:
            return 0.0
        if self.unit_prices is not None and is_usual(answer):
            cost = self.unit_prices.cost(usage)
            if cost is not None:
                return cost
        if self.source != "litellm":
            return None
        self._learn_tier(answer)
        if self._always_searches and not _tells_of_searches(answer, self._spec.provider):
            return None  # its searches were charged, and nothing says how many there were
        return _litellms_cost(self._spec, answer)

    def in_batches(self, discount: float | None) -> TokenPrices | None:
        """The prices of a batch; None where nobody says what they are.

        Args:
            discount: share taken off the usual price, as the user states it; goes before a list.
        """
        if self.usual is None or self.has_fees:
            return None  # fees for searches come on top of tokens
        if discount is not None:
            return self.usual.times(1.0 - discount)
        if self._entry is None:
            return FREE if self.usual == FREE else None
        return _entry_prices(self._entry, "_batches")

    @property
    def _is_free(self) -> bool:
        return self._worst == (0.0, 0.0) and not self.has_fees

    def _highest_prices(self) -> tuple[float, float] | None:
        """The highest prices of an input and an output token; None where prices are unknown."""
        usual, entry = self.usual, self._entry
        if usual is None:
            return None
        if entry is None:
            return max(usual.input, usual.cache_read, usual.cache_write), usual.output
        dearest = [
            max(_highest(entry, name, self._tiers) for name in names)
            for names in (
                ("input_cost_per_token", "cache_creation_input_token_cost"),
                ("output_cost_per_token", "output_cost_per_reasoning_token"),
            )
        ]
        factor = _most_times(self._spec, entry)
        return factor * dearest[0], factor * dearest[1]

    def _learn_tier(self, answer: Any) -> None:
        """From the first answer that was billed at a dearer tier on, its prices count."""
        served = _tier_of(_served_as(answer))
        if served in _TIERS and served not in self._tiers:
            self._tiers.add(served)
            self._worst = self._highest_prices()


# What a list says of a model


def _entry_prices(entry: Mapping[str, Any] | None, ending: str = "") -> TokenPrices | None:
    """The usual prices in an entry, or with an ending those of batches."""
    if entry is None:
        return None
    usual = entry.get(f"input_cost_per_token{ending}")
    output = entry.get(f"output_cost_per_token{ending}")
    if not isinstance(usual, int | float) or not isinstance(output, int | float):
        return None
    read = entry.get(f"cache_read_input_token_cost{ending}")
    write = entry.get(f"cache_creation_input_token_cost{ending}")
    by_length = any("_above_" in name and "token" in name for name in entry)
    return TokenPrices(
        float(usual),
        float(output),
        float(read) if isinstance(read, int | float) else float(usual),
        float(write) if isinstance(write, int | float) else float(usual),
        most_tokens=MOST_TOKENS if by_length else None,
    )


_USUAL_SERVICE = (None, "default", "standard", "standard_only")
_ANY_TIER = "any"
_TIERS = frozenset({"flex", "balanced", "priority", "ultrafast"})
_OTHER_NAMES = {"fast": "priority"}
# What else stands at the end of a price's name, and what no single call is billed at.
_NO_TIERS = frozenset({"batches", "decisions"})
# input_cost_per_token_above_272k_tokens_priority: a price from so many tokens on, of a tier.
_ENDING = re.compile(r"(?:_above_[0-9a-z]+(?:_tokens)?)*(?:_([a-z]+))?")


def _tier_of(service: Any) -> str | None:
    """The tier, in the price list's words, at which a call of this service may be billed.

    None where that is the usual one. "auto" leaves it to the project, and what is not known here
    may be any.
    """
    name = service.lower() if isinstance(service, str) else service
    if name in _USUAL_SERVICE:
        return None
    name = _OTHER_NAMES.get(name, name) if isinstance(name, str) else _ANY_TIER
    return name if name in _TIERS else _ANY_TIER


def _highest(entry: Mapping[str, Any], name: str, tiers: Collection[str]) -> float:
    """The highest of the prices of one kind of token, of those that these tiers may be billed."""
    found = 0.0
    for key, price in entry.items():
        if not isinstance(price, int | float) or not key.startswith(name):
            continue
        ending = _ENDING.fullmatch(key, len(name))
        tier = ending[1] if ending else None
        is_usual_or_asked = tier is None or tier in tiers or _ANY_TIER in tiers
        if ending and is_usual_or_asked and tier not in _NO_TIERS:
            found = max(found, float(price))
    return found


def _most_times(spec: BackendSpec, entry: Mapping[str, Any]) -> float:
    """By how much a place or a speed that is asked for raises all prices at most."""
    asked = spec.further()
    times = entry.get("provider_specific_entry")
    if not isinstance(times, Mapping) or not (asked.get("speed") or asked.get("inference_geo")):
        return 1.0
    return math.prod(
        float(one) for one in times.values() if isinstance(one, int | float) and one > 1
    )


# What the price list says of some models that search, and of no other. A fee for searches
# (search_context_cost_per_query) is no such sign: it is listed for every model that can be asked
# to search.
_LISTED_FEES = frozenset(
    {"citation_cost_per_token", "input_cost_per_request", "search_queries_cost_per_query"}
)
_SEARCH_PROVIDERS = frozenset({"perplexity"})
"""All that they sell to talk to searches."""
_SEARCH_NAME = re.compile(
    r"(?<![a-z])(?:sonar|search|online|deep-?research)(?![a-z])", re.IGNORECASE
)
"""gpt-4o-search-preview, gpt-5-search-api, o3-deep-research, and Perplexity's at other sellers."""
_TALKS = frozenset({"chat", "completion", "responses"})


def always_searches(spec: BackendSpec, entry: Mapping[str, Any]) -> bool:
    """Whether the model searches unasked, by its name and its entry in the price list."""
    if entry.get("mode") not in _TALKS:
        return False
    if not _LISTED_FEES.isdisjoint(entry) or entry.get("litellm_provider") in _SEARCH_PROVIDERS:
        return True
    is_free = not entry.get("input_cost_per_token") and not entry.get("output_cost_per_token")
    return not is_free and _SEARCH_NAME.search(spec.model) is not None


def _is_told_to_search(spec: BackendSpec) -> bool:
    """Whether a parameter has a model search: web_search_options, search_parameters, plugins."""
    return any(
        value and (name == "plugins" or "search" in name.lower())
        for name, value in spec.further().items()
    )


# What an answer says of its cost

_TRAFFIC = {"ON_DEMAND": "default", "ON_DEMAND_PRIORITY": "priority"}
# Fields of an answer's `usage` and of its details that tell of something which is priced apart:
# the first where they are there at all, the others where they are neither 0 nor empty.
_COSTS_APART = ("cost", "citation_tokens", "num_search_queries", "server_side_tool_usage_details")
_USED_APART = ("server_tool_use", "speed", "inference_geo")
_TOKENS_APART = (
    "audio_tokens",
    "image_tokens",
    "video_tokens",
    "web_search_requests",
    "google_maps_grounding_requests",
)


def is_usual(answer: Any) -> bool:
    """Whether nothing in the answer is priced apart: sounds, pictures, tiers, tools, searches."""
    told = fields_of(answer)
    usage = fields_of(told.get("usage"))
    return not (
        any(usage.get(name) is not None for name in _COSTS_APART)
        or any(map(usage.get, _USED_APART))
        or any(map(fields_of(usage.get("prompt_tokens_details")).get, _TOKENS_APART))
        or any(map(fields_of(usage.get("completion_tokens_details")).get, _TOKENS_APART))
        or told.get("citations")
        or told.get("search_results")
        or _has_notes(answer)
        or _served_as(answer) is not None
    )


def _served_as(answer: Any) -> str | None:
    """The tier of service that an answer says it was billed at; None where that is the usual."""
    told = fields_of(answer)
    hidden = getattr(answer, "_hidden_params", None)
    # Where litellm puts what Google calls traffic.
    own = hidden.get("provider_specific_fields") if isinstance(hidden, dict) else None
    traffic = own.get("traffic_type") if isinstance(own, dict) else None
    for named in (
        told.get("service_tier"),
        fields_of(told.get("usage")).get("service_tier"),
        traffic and _TRAFFIC.get(str(traffic).upper(), "flex"),
    ):
        if named is not None and str(named).lower() not in _USUAL_SERVICE:
            return str(named).lower()
    return None


def _tells_of_searches(answer: Any, provider: str) -> bool:
    """Whether the answer says how often was searched, or what all of it cost.

    Args:
        answer: litellm's object.
        provider: litellm's name; the sources that Perplexity cites do not tell its fee.
    """
    usage = fields_of(fields_of(answer).get("usage"))
    if fields_of(usage.get("prompt_tokens_details")).get("web_search_requests") is not None or any(
        usage.get(name) is not None
        for name in ("cost", "server_tool_use", "server_side_tool_usage_details")
    ):
        return True
    return provider not in _SEARCH_PROVIDERS and _has_notes(answer)


def _has_notes(answer: Any) -> bool:
    """Whether a text has annotations: they name what was searched and read for it."""
    return any(
        fields_of(fields_of(choice).get("message")).get("annotations")
        for choice in fields_of(answer).get("choices") or ()
    )


# litellm's own way

# Input, output, read from the cache, written to it.
_TRIED = (
    (1_000, 50, 0, 0),
    (90_001, 701, 0, 0),
    (2_048, 17, 1_024, 0),
    (4_099, 23, 0, 2_048),
    (8_192, 31, 4_096, 1_031),
)


def checked_prices(model: str, entry: Mapping[str, Any]) -> TokenPrices | None:
    """The prices of a listed model, where tokens times prices is what litellm works out.

    It is tried on made-up answers; None where litellm prices the model in another way.

    Args:
        model: litellm's name.
        entry: what its price list says about the model.
    """
    prices = _entry_prices(entry)
    if prices is None:
        return None
    prices = replace(prices, most_tokens=MOST_TOKENS)
    return prices if all(_agrees(model, prices, tokens) for tokens in _TRIED) else None


def _agrees(model: str, prices: TokenPrices, tokens: tuple[int, int, int, int]) -> bool:
    sent, said, read, written = tokens
    litellm = litellm_module()
    answer = litellm.ModelResponse(model=model.partition("/")[2])
    answer.usage = litellm.Usage(
        prompt_tokens=sent,
        completion_tokens=said,
        total_tokens=sent + said,
        prompt_tokens_details={"cached_tokens": read},
        completion_tokens_details={"reasoning_tokens": said // 2},
        cache_creation_input_tokens=written,
        cache_read_input_tokens=read,
    )
    try:
        theirs = float(litellm.completion_cost(completion_response=answer, model=model))
    except Exception:
        return False
    ours = prices.cost(Usage(sent, said, read, written))
    return ours is not None and math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-15)


def _litellms_cost(spec: BackendSpec, answer: Any) -> float | None:
    """What litellm works out for an answer, in US dollars; None where it cannot.

    Raises:
        TypeError: the answer is none of litellm's own: it would work out $0.
    """
    litellm = litellm_module()
    if not isinstance(answer, litellm.ModelResponse):
        raise TypeError("not litellm's answer")
    asked = spec.further()
    try:
        if isinstance(answer.usage, dict):
            answer.usage = litellm.Usage(**answer.usage)
        cost = float(
            litellm.completion_cost(
                completion_response=answer,
                model=spec.model,
                # Where an answer does not name its tier, the one that was asked for counts.
                optional_params={"service_tier": asked.get("service_tier")},
                standard_built_in_tools_params={
                    "web_search_options": asked.get("web_search_options")
                },
            )
        )
    except Exception:
        return None  # unknown, never 0
    return cost if math.isfinite(cost) and cost >= 0 else None
