"""What a call costs: by the prices in the settings, else by those of the installed litellm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..records.reply import Usage
from .searches import always_searches, is_told_to_search
from .spec import BackendSpec

PER_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """US dollars a token.

    Attributes:
        input, output: the usual prices, nothing cached.
        worst_input, worst_output: the highest that may apply: long inputs, written caches,
            reasoning.
        is_whole: whether nothing is charged beside tokens; where something is, nobody knows what
            a call will cost, nor what it can cost at most.
    """

    input: float
    output: float
    worst_input: float
    worst_output: float
    is_whole: bool = True


FREE = TokenPrices(0.0, 0.0, 0.0, 0.0)


def prices_of(spec: BackendSpec, listed: Mapping[str, Any] | None) -> TokenPrices | None:
    """The prices of a backend; None where none is known: unknown is not 0.

    Args:
        spec: the settings, whose own prices win.
        listed: litellm's entry for the model, or None where it has none.
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
    return TokenPrices(
        float(usual[0]),
        float(usual[1]),
        _highest(listed, "input_cost_per_token", "cache_creation_input_token_cost"),
        _highest(listed, "output_cost_per_token", "output_cost_per_reasoning_token"),
        is_whole=not (is_told_to_search(spec) or always_searches(spec, listed)),
    )


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


def _highest(listed: Mapping[str, Any], *names: str) -> float:
    return max(
        float(value)
        for key, value in listed.items()
        if any(key == name or key.startswith(f"{name}_above") for name in names)
        and isinstance(value, int | float)
    )
