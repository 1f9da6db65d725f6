"""What a call costs in a batch: by what the user states, else by the installed litellm's list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.pricing import PER_MILLION, listed_prices
from ..records.types import Usage
from .providers import provider_kind

if TYPE_CHECKING:
    from ..estimate import Estimate
    from ..judges.models.backend import Backend
    from ..panel import Panel

MOST_TOKENS = 100_000
"""Longer inputs may have batch prices of their own."""


@dataclass(frozen=True, slots=True)
class BatchPrices:
    """US dollars a token in a batch.

    Attributes:
        input, output: what is neither read from a cache nor written to it.
        cache_read, cache_write: where no price is listed, that of `input`.
        has_tiers: whether inputs above `MOST_TOKENS` may cost otherwise.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    has_tiers: bool = False

    def cost(self, usage: Usage) -> float | None:
        """The cost of a call; None where its tokens, or the price of so many, are unknown."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        if self.has_tiers and usage.input_tokens > MOST_TOKENS:
            return None
        cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, usage.input_tokens - cached - written)
        return (
            plain * self.input
            + cached * self.cache_read
            + written * self.cache_write
            + usage.output_tokens * self.output
        )


def batch_prices(backend: Backend, *, discount: float | None) -> BatchPrices | None:
    """The batch prices of a backend; None where nobody says what they are: unknown is not 0.

    Args:
        backend: whose.
        discount: share taken off the usual price, as the user states it; goes before the list.
    """
    if not isinstance(backend, LitellmBackend):
        return None
    own = backend.spec.prices
    if own is not None:
        usual = BatchPrices(
            own.input / PER_MILLION,
            own.output / PER_MILLION,
            (own.input if own.cached_input is None else own.cached_input) / PER_MILLION,
            (own.input if own.cache_write is None else own.cache_write) / PER_MILLION,
        )
        is_free = own.input == own.output == usual.cache_read == usual.cache_write == 0
        return usual if is_free else _cheaper(usual, discount)
    listed = listed_prices(backend.spec)
    if listed is None or backend.has_fees:
        return None  # fees for searches come on top of tokens
    if discount is not None:
        return _cheaper(_from_list(listed, ""), discount)
    return _from_list(listed, "_batches")


def batch_costs(
    panel: Panel, found: Estimate, *, discount: float | None = None
) -> dict[str, float | None]:
    """Backend to the likely cost of its calls in a batch, in US dollars; None = price unknown.

    Backends without a batch endpoint are left out.

    Args:
        panel: whose backends.
        found: what `Panel.estimate` says of the job.
        discount: see `BatchSettings`.
    """
    tokens = {item.name: (item.input_tokens, item.output_tokens) for item in found.backends}
    costs: dict[str, float | None] = {}
    for backend in panel.backends:
        name = backend.spec.name
        if provider_kind(backend) is None or name not in tokens:
            continue
        prices = batch_prices(backend, discount=discount)
        costs[name] = None if prices is None else prices.cost(Usage(*tokens[name]))
    return costs


def _from_list(listed: Mapping[str, Any], ending: str) -> BatchPrices | None:
    usual = listed.get(f"input_cost_per_token{ending}")
    output = listed.get(f"output_cost_per_token{ending}")
    if not isinstance(usual, int | float) or not isinstance(output, int | float):
        return None
    read = listed.get(f"cache_read_input_token_cost{ending}")
    write = listed.get(f"cache_creation_input_token_cost{ending}")
    return BatchPrices(
        float(usual),
        float(output),
        float(read) if isinstance(read, int | float) else float(usual),
        float(write) if isinstance(write, int | float) else float(usual),
        has_tiers=any("_above_" in name and "token" in name for name in listed),
    )


def _cheaper(usual: BatchPrices | None, discount: float | None) -> BatchPrices | None:
    if usual is None or discount is None:
        return None
    share = 1.0 - discount
    return BatchPrices(
        usual.input * share,
        usual.output * share,
        usual.cache_read * share,
        usual.cache_write * share,
        has_tiers=usual.has_tiers,
    )
