"""A model's entry in a list of prices: litellm's, or that of `genai-prices`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from .backend import BackendSpec
from .litellm_setup import litellm_module

_PER_MILLION = 1e6
LOCAL = frozenset({"ollama", "ollama_chat"})
"""Ollama runs on a machine of one's own: its tokens have no price."""
_NOTHING = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
_LISTED_AS = {"bedrock_converse": "bedrock", "ai21": "ai21_chat"}
"""Sellers whose name in litellm's list is not the one that calls begin with."""
_ROUTES = {"bedrock": ("converse/", "invoke/")}
"""What may stand between provider and model to choose an endpoint, at the same price."""
_GENAI_NAMES = {
    "bedrock": "aws",
    "cohere_chat": "cohere",
    "fireworks_ai": "fireworks",
    "gemini": "google",
    "moonshot": "moonshotai",
    "together_ai": "together",
    "vertex_ai": "google",
    "xai": "x-ai",
}
"""litellm's names of providers that genai-prices calls otherwise."""


def litellms_entry(spec: BackendSpec) -> Mapping[str, Any] | None:
    """The model's entry in the installed litellm's price list; None where it has none.

    Looked up in the list itself: litellm's own function asks a server about models that are not in
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


def genai_entry(spec: BackendSpec) -> Mapping[str, Any] | None:
    """The model's prices in the installed `genai-prices`, under litellm's names for them.

    None where the package is not installed or does not list the model, where the model stands
    behind an address of the user's own, whose prices nobody lists, and where more than text is
    priced. Nothing is asked over the network.
    """
    if spec.api_base is not None or find_spec("genai_prices") is None:
        return None
    from datetime import UTC, datetime

    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import TieredPrices

    provider = _GENAI_NAMES.get(spec.provider, spec.provider)
    try:
        _, model = get_snapshot().find_provider_model(
            spec.model.partition("/")[2], None, provider, None
        )
    except LookupError:
        return None
    listed = {
        name: price
        for name, price in vars(model.get_prices(datetime.now(UTC))).items()
        if price is not None
    }
    if listed.keys() & {"requests_kcount", "input_mchars", "input_text_messages_kcount"}:
        return None
    entry: dict[str, Any] = {"mode": "chat"}
    for theirs, ours in (
        ("input_mtok", "input_cost_per_token"),
        ("output_mtok", "output_cost_per_token"),
        ("cache_read_mtok", "cache_read_input_token_cost"),
        ("cache_write_mtok", "cache_creation_input_token_cost"),
    ):
        price = listed.get(theirs)
        if isinstance(price, TieredPrices):
            for tier in price.tiers:
                entry[f"{ours}_above_{tier.start}_tokens"] = float(tier.price) / _PER_MILLION
            price = price.base
        if price is not None:
            entry[ours] = float(price) / _PER_MILLION
    return entry


def _sells(provider: str, entry: Mapping[str, Any]) -> bool:
    seller = str(entry.get("litellm_provider", ""))
    seller = _LISTED_AS.get(seller, seller).partition("-")[0]
    return seller == provider.partition("-")[0]
