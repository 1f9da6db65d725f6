"""The model's entry in the price map that litellm is installed with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .quiet_litellm import litellm_module
from .spec import BackendSpec

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
