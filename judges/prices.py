"""What a call costs: by the prices in the settings, else by those of the installed litellm."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..records.reply import Usage
from .searches import always_searches, is_told_to_search
from .spec import BackendSpec

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
