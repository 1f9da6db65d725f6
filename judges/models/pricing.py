"""Prices of models, and what an answer costs.

Prices are those in the settings, else those of the installed litellm. The cost of an answer by
litellm's list is

    cost = plain · input + cached · cache read + written · cache write + output tokens · output

where that is the whole of it. litellm works a cost out in a hundred steps, most of which settle
what does not arise here: sounds, pictures, tiers of service. Whether the sum is what litellm works
out for a model is tried on made-up answers before it is used, and litellm is asked for every answer
that is not of the kind.

Models that search the web charge for it on top of their tokens. How often a model searches, and how
much it reads then, is not ours to bound: such a call has no worst price, and what it cost is known
only where its answer tells what was searched for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ...records.types import Usage
from .backend import BackendSpec
from .litellm_setup import litellm_module

# Ollama runs on a machine of one's own: its tokens have no price.
LOCAL = frozenset({"ollama", "ollama_chat"})
_NOTHING = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
_LISTED_AS = {"bedrock_converse": "bedrock", "ai21": "ai21_chat"}
"""Sellers whose name in the map is not the one that calls begin with."""
_ROUTES = {"bedrock": ("converse/", "invoke/")}
"""What may stand between provider and model to choose an endpoint, at the same price."""


def make_known(spec: BackendSpec) -> None:
    """Enters an Ollama model in litellm's price map.

    At every call litellm asks an Ollama on this machine about a model that is not in it, wherever
    the model is served, and holds up all other calls while it waits.
    """
    if spec.provider in LOCAL:
        entry = {**_NOTHING, "litellm_provider": spec.provider, "mode": "chat"}
        litellm_module().model_cost.setdefault(spec.model, entry)


def listed_prices(spec: BackendSpec) -> Mapping[str, Any] | None:
    """The model's entry in the installed price map; None where it has none.

    Looked up in the map itself: litellm's own function asks a server about models that are not in
    it, an Ollama on this machine or the Hugging Face hub.
    """
    if spec.provider in LOCAL:
        return _NOTHING
    prices: Mapping[str, Mapping[str, Any]] = litellm_module().model_cost
    name = spec.model.partition("/")[2]
    bare = [name.removeprefix(route) for route in _ROUTES.get(spec.provider, ())]
    for key in (spec.model, name, *bare):
        entry = prices.get(key)
        if entry is not None and (key == spec.model or _sells(spec.provider, entry)):
            return entry
    return None


def _sells(provider: str, entry: Mapping[str, Any]) -> bool:
    seller = str(entry.get("litellm_provider", ""))
    seller = _LISTED_AS.get(seller, seller).partition("-")[0]
    return seller == provider.partition("-")[0]


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


PER_MILLION = 1e6
USUAL_SERVICE = (None, "default", "standard", "standard_only")
ANY_TIER = "any"
TIERS = frozenset({"flex", "balanced", "priority", "ultrafast"})
_OTHER_NAMES = {"fast": "priority"}
# What else stands at the end of a price's name, and what no single call is billed at.
_NO_TIERS = frozenset({"batches", "decisions"})
# input_cost_per_token_above_272k_tokens_priority: a price from so many tokens on, of a tier.
_ENDING = re.compile(r"(?:_above_[0-9a-z]+(?:_tokens)?)*(?:_([a-z]+))?")


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """US dollars a token.

    Attributes:
        input, output: the usual prices, nothing cached.
        worst_input, worst_output: the highest that may apply: long inputs, written caches,
            reasoning, tiers of service.
        is_whole: whether nothing is charged beside tokens; where something is, nobody knows what
            a call will cost, nor what it can cost at most.
    """

    input: float
    output: float
    worst_input: float
    worst_output: float
    is_whole: bool = True


FREE = TokenPrices(0.0, 0.0, 0.0, 0.0)


def prices_of(
    spec: BackendSpec, listed: Mapping[str, Any] | None, *, served: Collection[str] = ()
) -> TokenPrices | None:
    """The prices of a backend; None where none is known: unknown is not 0.

    A tier of service counts among the highest prices once it is asked for, or once an answer says
    that it was billed at it. It does not before: a project's default tier may be a dear one, but
    few are, and to set twice as much aside for every call of everybody (six times, where a model
    has an "ultrafast" tier) would make a dry run's "at most", and a cap, say little.

    Args:
        spec: the settings, whose own prices win.
        listed: litellm's entry for the model, or None where it has none.
        served: tiers that answers of this backend have named.
    """
    own = spec.prices
    if own is not None:
        worst = max(own.input, own.cached_input or 0.0, own.cache_write or 0.0)
        return TokenPrices(
            own.input / PER_MILLION,
            own.output / PER_MILLION,
            worst / PER_MILLION,
            own.output / PER_MILLION,
        )
    if listed is None:
        return None
    usual = (listed.get("input_cost_per_token"), listed.get("output_cost_per_token"))
    if usual[0] is None or usual[1] is None:
        return None
    tiers = {*served, *tiers_of(spec.further().get("service_tier"))}
    factor = _most_times(spec, listed)
    return TokenPrices(
        float(usual[0]),
        float(usual[1]),
        factor * _highest(listed, tiers, "input_cost_per_token", "cache_creation_input_token_cost"),
        factor
        * _highest(listed, tiers, "output_cost_per_token", "output_cost_per_reasoning_token"),
        is_whole=not (is_told_to_search(spec) or always_searches(spec, listed)),
    )


def tiers_of(service: Any) -> frozenset[str]:
    """The tiers, in the price list's words, at which a call of this service may be billed.

    "auto" leaves it to the project, and what is not known here may be any.
    """
    name = service.lower() if isinstance(service, str) else service
    if name in USUAL_SERVICE:
        return frozenset()
    name = _OTHER_NAMES.get(name, name) if isinstance(name, str) else ANY_TIER
    return frozenset({name if name in TIERS else ANY_TIER})


def cost_of(usage: Usage, spec: BackendSpec) -> float | None:
    """US dollars by the prices in the settings; None where tokens or prices are unknown."""
    prices = spec.prices
    if prices is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = usage.cached_input_tokens or 0
    written = usage.cache_write_tokens or 0
    plain = max(0, usage.input_tokens - cached - written)
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    write_price = prices.input if prices.cache_write is None else prices.cache_write
    total = plain * prices.input + cached * cached_price + written * write_price
    return (total + usage.output_tokens * prices.output) / PER_MILLION


def _highest(listed: Mapping[str, Any], tiers: Collection[str], *names: str) -> float:
    return max(
        float(value)
        for key, value in listed.items()
        if isinstance(value, int | float) and any(_counts(key, name, tiers) for name in names)
    )


def _counts(key: str, name: str, tiers: Collection[str]) -> bool:
    ending = _ENDING.fullmatch(key, len(name)) if key.startswith(name) else None
    if ending is None:
        return False
    tier = ending[1]
    return tier is None or (tier not in _NO_TIERS and (tier in tiers or ANY_TIER in tiers))


def _most_times(spec: BackendSpec, listed: Mapping[str, Any]) -> float:
    """By how much a place or a speed that is asked for raises all prices at most."""
    asked = spec.further()
    times = listed.get("provider_specific_entry")
    if not isinstance(times, Mapping) or not (asked.get("speed") or asked.get("inference_geo")):
        return 1.0
    return math.prod(
        float(one) for one in times.values() if isinstance(one, int | float) and one > 1
    )


MOST_TOKENS = 100_000
"""Longer inputs and outputs may have prices of their own."""

# Input, output, read from the cache, written to it.
_TRIED = (
    (1_000, 50, 0, 0),
    (90_001, 701, 0, 0),
    (2_048, 17, 1_024, 0),
    (4_099, 23, 0, 2_048),
    (8_192, 31, 4_096, 1_031),
)
_TRAFFIC = {"ON_DEMAND": "default", "ON_DEMAND_PRIORITY": "priority"}
_OTHER_TOKENS = ("audio_tokens", "image_tokens", "video_tokens")


@dataclass(frozen=True, slots=True)
class StraightPrice:
    """US dollars a token, where litellm's price is their sum."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def cost(self, usage: Usage) -> float | None:
        """The cost of an answer; None where the sum may not be the whole of it."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        if max(usage.input_tokens, usage.output_tokens) > MOST_TOKENS:
            return None
        cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
        plain = usage.input_tokens - cached - written
        if plain < 0:
            return None
        return (
            plain * self.input
            + cached * self.cache_read
            + written * self.cache_write
            + usage.output_tokens * self.output
        )


NO_PRICE = StraightPrice(0.0, 0.0, 0.0, 0.0)
"""Of what runs on one's own machine."""


def stated_price(spec: BackendSpec) -> StraightPrice | None:
    """The prices in the settings; None where there are none. See `prices.cost_of`."""
    own = spec.prices
    if own is None:
        return None
    return StraightPrice(
        own.input / PER_MILLION,
        own.output / PER_MILLION,
        (own.input if own.cached_input is None else own.cached_input) / PER_MILLION,
        (own.input if own.cache_write is None else own.cache_write) / PER_MILLION,
    )


def straight_price(
    litellm: Any, model: str, entry: Mapping[str, Any] | None
) -> StraightPrice | None:
    """The prices of a model where their sum is what litellm works out; None where it is not.

    Args:
        litellm: the module.
        model: litellm's name.
        entry: what the price list says about it.
    """
    if entry is None:
        return None
    usual = entry.get("input_cost_per_token")
    output = entry.get("output_cost_per_token")
    read = entry.get("cache_read_input_token_cost", usual)
    write = entry.get("cache_creation_input_token_cost", usual)
    found = [price for price in (usual, output, read, write) if isinstance(price, int | float)]
    if len(found) != 4:
        return None
    price = StraightPrice(*map(float, found))
    return price if all(_agrees(litellm, model, price, tokens) for tokens in _TRIED) else None


def is_usual(answer: Any) -> bool:
    """Whether nothing in the answer is priced apart: sounds, pictures, tiers, tools, searches."""
    usage = getattr(answer, "usage", None)
    if served_as(answer) is not None:
        return False
    if any(getattr(usage, name, None) for name in ("server_tool_use", "speed", "inference_geo")):
        return False
    for part in ("prompt_tokens_details", "completion_tokens_details"):
        details = getattr(usage, part, None)
        if details is not None and any(getattr(details, name, None) for name in _OTHER_TOKENS):
            return False
    return not is_charged_apart(answer)


def served_as(answer: Any) -> str | None:
    """The tier of service that an answer says it was billed at; None where that is the usual."""
    usage = getattr(answer, "usage", None)
    hidden = getattr(answer, "_hidden_params", None)
    # Where litellm puts what Google calls traffic.
    own = hidden.get("provider_specific_fields") if isinstance(hidden, dict) else None
    traffic = own.get("traffic_type") if isinstance(own, dict) else None
    for named in (
        getattr(answer, "service_tier", None),
        getattr(usage, "service_tier", None),
        traffic and _TRAFFIC.get(str(traffic).upper(), "flex"),
    ):
        if named is not None and str(named).lower() not in USUAL_SERVICE:
            return str(named).lower()
    return None


def litellms_cost(litellm: Any, spec: BackendSpec, answer: Any) -> float | None:
    """What litellm works out for an answer, in US dollars; None where it cannot.

    Raises:
        TypeError: the answer is none of litellm's own: it would work out $0.
    """
    if not isinstance(answer, litellm.ModelResponse):
        raise TypeError("not litellm's answer")
    asked = spec.further()
    try:
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


def _agrees(
    litellm: Any, model: str, price: StraightPrice, tokens: tuple[int, int, int, int]
) -> bool:
    sent, said, read, written = tokens
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
    ours = price.cost(Usage(sent, said, read, written))
    return ours is not None and math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-15)
