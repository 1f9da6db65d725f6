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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from ...records.types import Usage
from .backend import BackendSpec
from .litellm_setup import litellm_module
from .price_list import genai_entry, litellms_entry

PriceSource = Literal["settings", "litellm", "genai-prices"]
MOST_TOKENS = 100_000
"""Longer inputs and outputs may have listed prices of their own."""

_PER_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """US dollars a token, by kind.

    Attributes:
        input, output: what is neither read from a cache nor written to it.
        cache_read, cache_write: that of `input` where no other is known.
        most_tokens: inputs and outputs longer than this may cost otherwise; None = none do.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    most_tokens: int | None = None

    def cost(self, usage: Usage) -> float | None:
        """US dollars; None where the tokens, or the price of so many, are unknown."""
        sent, said = usage.input_tokens, usage.output_tokens
        if sent is None or said is None:
            return None
        if self.most_tokens is not None and max(sent, said) > self.most_tokens:
            return None
        if (usage.cached_input_tokens or 0) + (usage.cache_write_tokens or 0) > sent:
            return None
        return sum(self.parts(usage))

    def parts(self, usage: Usage) -> tuple[float, float, float, float]:
        """US dollars for the three kinds of input (see `input_parts`) and for output."""
        plain, cached, written = input_parts(usage)
        return (
            plain * self.input,
            cached * self.cache_read,
            written * self.cache_write,
            (usage.output_tokens or 0) * self.output,
        )

    def times(self, factor: float) -> TokenPrices:
        """The same prices, all multiplied."""
        return TokenPrices(
            self.input * factor,
            self.output * factor,
            self.cache_read * factor,
            self.cache_write * factor,
            self.most_tokens,
        )


FREE = TokenPrices(0.0, 0.0, 0.0, 0.0)


def input_parts(usage: Usage) -> tuple[int, int, int]:
    """Input tokens read anew, read from a cache, and written to one; unknown counts as 0."""
    cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
    return max(0, (usage.input_tokens or 0) - cached - written), cached, written


class ModelPricing:
    """What one backend charges; looked up when it is first needed."""

    def __init__(self, spec: BackendSpec) -> None:
        self._spec = spec
        self._tiers_served: frozenset[str] = frozenset()

    @cached_property
    def source(self) -> PriceSource | None:
        """Where the prices come from; None where none are known."""
        if self._spec.prices is not None:
            return "settings"
        return self._listed[0] if self.usual is not None else None

    @cached_property
    def usual(self) -> TokenPrices | None:
        """The usual prices; None where they are unknown."""
        return stated_prices(self._spec) or _entry_prices(self._entry)

    @cached_property
    def has_fees(self) -> bool:
        """Whether more than tokens is charged, by what is known."""
        entry = self._entry
        if entry is None or self.usual is None:
            return False
        return is_told_to_search(self._spec) or always_searches(self._spec, entry)

    @cached_property
    def unit_prices(self) -> TokenPrices | None:
        """The prices, where the cost of a usual answer is its tokens times them; else None."""
        spec, entry = self._spec, self._entry
        if entry is None or self.usual is None:
            return self.usual
        if self._is_free:
            return FREE
        if always_searches(spec, entry) or tiers_of(spec.further().get("service_tier")):
            return None
        return self.usual if self.source == "genai-prices" else checked_prices(spec.model, entry)

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """The most that so many tokens cost in US dollars; None where nobody knows.

        The highest price that may apply counts: long inputs, written caches, reasoning, tiers of
        service. A tier counts once it is asked for, or once an answer says that it was billed at
        it. It does not before: a project's default tier may be a dear one, but few are, and to set
        twice as much aside for every call of everybody (six times, where a model has an
        "ultrafast" tier) would make a dry run's "at most", and a cap, say little.
        """
        if self.usual is None or self.has_fees:
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
        cost = litellms_cost(self._spec, answer)
        self._learn_tier(answer)
        if always_searches(self._spec, self._entry) and not tells_of_searches(
            answer, self._spec.provider
        ):
            return None  # its searches were charged, and nothing says how many there were
        return cost

    def in_batches(self, discount: float | None) -> TokenPrices | None:
        """The prices of a batch; None where nobody says what they are.

        Args:
            discount: share taken off the usual price, as the user states it; goes before a list.
        """
        if self._entry is None:
            if self.usual is None or self.usual == FREE:
                return self.usual
            return None if discount is None else self.usual.times(1.0 - discount)
        if self.has_fees:
            return None  # fees for searches come on top of tokens
        found = _entry_prices(self._entry, "_batches" if discount is None else "")
        return found if found is None or discount is None else found.times(1.0 - discount)

    @property
    def _entry(self) -> Mapping[str, Any] | None:
        return self._listed[1]

    @cached_property
    def _listed(self) -> tuple[PriceSource | None, Mapping[str, Any] | None]:
        """The model's entry in a list of prices and whose; none where the settings have prices."""
        if self._spec.prices is not None:
            return None, None
        entry = litellms_entry(self._spec)
        if entry is not None:
            return "litellm", entry
        return "genai-prices", genai_entry(self._spec)

    @cached_property
    def _is_free(self) -> bool:
        return not self.has_fees and self._worst == (0.0, 0.0)

    @cached_property
    def _worst(self) -> tuple[float, float]:
        """The highest prices of an input and an output token."""
        entry, usual = self._entry, self.usual
        if usual is None:
            raise ValueError("the prices are unknown")
        if entry is None:
            return max(usual.input, usual.cache_read, usual.cache_write), usual.output
        tiers = {*self._tiers_served, *tiers_of(self._spec.further().get("service_tier"))}
        factor = _most_times(self._spec, entry)
        return (
            factor
            * _highest(entry, tiers, "input_cost_per_token", "cache_creation_input_token_cost"),
            factor
            * _highest(entry, tiers, "output_cost_per_token", "output_cost_per_reasoning_token"),
        )

    def _learn_tier(self, answer: Any) -> None:
        """From the first answer that was billed at a dearer tier on, its prices count."""
        served = tiers_of(served_as(answer)) & TIERS
        if not served <= self._tiers_served:
            self._tiers_served |= served
            self.__dict__.pop("_worst", None)


def stated_prices(spec: BackendSpec) -> TokenPrices | None:
    """The prices in the settings; None where there are none."""
    own = spec.prices
    if own is None:
        return None
    return TokenPrices(
        own.input / _PER_MILLION,
        own.output / _PER_MILLION,
        (own.input if own.cached_input is None else own.cached_input) / _PER_MILLION,
        (own.input if own.cache_write is None else own.cache_write) / _PER_MILLION,
    )


def stated_cost(usage: Usage, spec: BackendSpec) -> float | None:
    """US dollars by the prices in the settings; None where tokens or prices are unknown."""
    prices = stated_prices(spec)
    return None if prices is None else prices.cost(usage)


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


# The highest price that may apply

_USUAL_SERVICE = (None, "default", "standard", "standard_only")
_ANY_TIER = "any"
TIERS = frozenset({"flex", "balanced", "priority", "ultrafast"})
_OTHER_NAMES = {"fast": "priority"}
# What else stands at the end of a price's name, and what no single call is billed at.
_NO_TIERS = frozenset({"batches", "decisions"})
# input_cost_per_token_above_272k_tokens_priority: a price from so many tokens on, of a tier.
_ENDING = re.compile(r"(?:_above_[0-9a-z]+(?:_tokens)?)*(?:_([a-z]+))?")
_TRAFFIC = {"ON_DEMAND": "default", "ON_DEMAND_PRIORITY": "priority"}


def tiers_of(service: Any) -> frozenset[str]:
    """The tiers, in the price list's words, at which a call of this service may be billed.

    "auto" leaves it to the project, and what is not known here may be any.
    """
    name = service.lower() if isinstance(service, str) else service
    if name in _USUAL_SERVICE:
        return frozenset()
    name = _OTHER_NAMES.get(name, name) if isinstance(name, str) else _ANY_TIER
    return frozenset({name if name in TIERS else _ANY_TIER})


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
        if named is not None and str(named).lower() not in _USUAL_SERVICE:
            return str(named).lower()
    return None


def _highest(entry: Mapping[str, Any], tiers: Collection[str], *names: str) -> float:
    return max(
        float(value)
        for key, value in entry.items()
        if isinstance(value, int | float) and any(_counts(key, name, tiers) for name in names)
    )


def _counts(key: str, name: str, tiers: Collection[str]) -> bool:
    ending = _ENDING.fullmatch(key, len(name)) if key.startswith(name) else None
    if ending is None:
        return False
    tier = ending[1]
    return tier is None or (tier not in _NO_TIERS and (tier in tiers or _ANY_TIER in tiers))


def _most_times(spec: BackendSpec, entry: Mapping[str, Any]) -> float:
    """By how much a place or a speed that is asked for raises all prices at most."""
    asked = spec.further()
    times = entry.get("provider_specific_entry")
    if not isinstance(times, Mapping) or not (asked.get("speed") or asked.get("inference_geo")):
        return 1.0
    return math.prod(
        float(one) for one in times.values() if isinstance(one, int | float) and one > 1
    )


# Searches

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
    if _prompt_detail(usage, "web_search_requests") is not None or any(
        getattr(usage, name, None) is not None
        for name in ("cost", "server_tool_use", "server_side_tool_usage_details")
    ):
        return True
    return provider not in _SEARCH_PROVIDERS and _has_notes(answer)


def _is_charged_apart(answer: Any) -> bool:
    """Whether the answer tells of anything that searches, or of a cost worked out elsewhere."""
    usage = getattr(answer, "usage", None)
    named = ("cost", "citation_tokens", "num_search_queries", "server_side_tool_usage_details")
    return (
        any(getattr(usage, name, None) is not None for name in named)
        or any(
            _prompt_detail(usage, name)
            for name in ("web_search_requests", "google_maps_grounding_requests")
        )
        or bool(getattr(answer, "citations", None) or getattr(answer, "search_results", None))
        or _has_notes(answer)
    )


def _has_notes(answer: Any) -> bool:
    """Whether a text has annotations: they name what was searched and read for it."""
    return any(
        getattr(getattr(choice, "message", None), "annotations", None)
        for choice in getattr(answer, "choices", None) or ()
    )


def _prompt_detail(usage: Any, name: str) -> Any:
    return getattr(getattr(usage, "prompt_tokens_details", None), name, None)


# litellm's own way

# Input, output, read from the cache, written to it.
_TRIED = (
    (1_000, 50, 0, 0),
    (90_001, 701, 0, 0),
    (2_048, 17, 1_024, 0),
    (4_099, 23, 0, 2_048),
    (8_192, 31, 4_096, 1_031),
)
_OTHER_TOKENS = ("audio_tokens", "image_tokens", "video_tokens")


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
    return not _is_charged_apart(answer)


def litellms_cost(spec: BackendSpec, answer: Any) -> float | None:
    """What litellm works out for an answer, in US dollars; None where it cannot.

    Raises:
        TypeError: the answer is none of litellm's own: it would work out $0.
    """
    litellm = litellm_module()
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
