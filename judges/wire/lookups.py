"""What litellm looks up anew in every call and finds unchanged, kept at hand.

Two such look-ups are a tenth of a call through it: the names of all its providers, of which it
makes a list twice a call, and what its price map says about the model, which it searches twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from .passage import current_passage

_MOST_MODELS = 256


def keep_lookups() -> None:
    """Makes litellm's look-ups short; to be called once a process."""
    from litellm import main, utils
    from litellm.types.utils import LlmProviders

    _value_at_hand(LlmProviders)
    _remember_models(main, utils)


def _value_at_hand(enumeration: Any) -> None:
    """Makes the value of each member a plain attribute, which `enum` computes at every look."""
    for member in enumeration:
        vars(member)["value"] = member.value
    # The property of `enum` would come before what stands in a member; this does not.
    enumeration.value = None


def _remember_models(main: Any, utils: Any) -> None:
    """Lets calls within `passing` look a model up once for each state of the price map."""
    look_up = getattr(main, "get_model_info_helper", None)
    # litellm counts the changes that are made to its map through it.
    changes = getattr(utils, "get_model_cost_mutation_generation", None)
    if look_up is None or changes is None:  # a litellm that goes another way
        return
    found: dict[tuple[str, str | None], tuple[object, Mapping[str, Any] | Exception]] = {}

    def known(model: str, custom_llm_provider: str | None = None, **named: Any) -> Any:
        if named or current_passage() is None:
            return look_up(model, custom_llm_provider, **named)
        entries = main.litellm.model_cost
        state = changes(), id(entries), len(entries)
        before, info = found.get((model, custom_llm_provider), (None, None))
        if info is None or before != state:
            try:
                info = dict(look_up(model, custom_llm_provider))
            except Exception as error:  # most often: a model that is not in the map
                info = copy(error)  # without the frames, which hold the call
            if len(found) >= _MOST_MODELS:
                found.clear()
            found[model, custom_llm_provider] = state, info
        if isinstance(info, Exception):
            raise copy(info)
        return dict(info)  # litellm writes into it

    main.get_model_info_helper = known
