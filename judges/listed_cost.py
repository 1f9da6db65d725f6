"""What an answer costs by litellm's list, without litellm's way there where the way is straight.

    cost = plain · input + cached · cache read + written · cache write + output tokens · output

litellm works a cost out in a hundred steps, most of which settle what does not arise here: sounds,
pictures, tiers of service. Whether the straight sum is what litellm works out for a model is tried
on made-up answers before it is used, and litellm is asked for every answer that is not of the kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..records.reply import Usage
from .prices import PER_MILLION, USUAL_SERVICE
from .searches import is_charged_apart
from .spec import BackendSpec

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
