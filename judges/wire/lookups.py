"""What litellm looks up anew in every call and finds unchanged, kept at hand.

Three such look-ups are a tenth of a call through it: the names of all its providers, of which it
makes a list twice a call; what its price map says about the model; and which of the two hundred
settings that only some providers know a call names, most often none, of which it makes an object
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import is_dataclass, replace
from importlib import import_module
from typing import Any

from .passage import current_passage

_MOST_KEPT = 256


def keep_lookups() -> None:
    """Makes litellm's look-ups short; to be called once a process."""
    from litellm import main, utils
    from litellm.types.utils import LlmProviders

    _value_at_hand(LlmProviders)
    _remember_models(_askers(main), utils)
    _remember_no_settings(main)


def _askers(main: Any) -> list[Any]:
    """The modules in which a call may look a model up: `main`, and from 1.109 on one beside it."""
    try:
        return [main, import_module("litellm.responses.bridge_check")]
    except ImportError:
        return [main]


def _value_at_hand(enumeration: Any) -> None:
    """Makes the value of each member a plain attribute, which `enum` computes at every look."""
    for member in enumeration:
        vars(member)["value"] = member.value
    # The property of `enum` would come before what stands in a member; this does not.
    enumeration.value = None


def _remember_models(askers: Collection[Any], utils: Any) -> None:
    """Lets calls within `passing` look a model up once for each state of the price map."""
    # litellm counts the changes that are made to its map through it.
    changes = getattr(utils, "get_model_cost_mutation_generation", None)
    for asker in askers:
        look_up = getattr(asker, "get_model_info_helper", None)
        litellm = getattr(asker, "litellm", None)
        if look_up and changes and litellm:  # else a litellm that goes another way
            asker.get_model_info_helper = _remembering(look_up, changes, litellm)


def _remembering(
    look_up: Callable[..., Any], changes: Callable[[], object], litellm: Any
) -> Callable[..., Any]:
    found: dict[tuple[str, str | None], tuple[object, Mapping[str, Any] | Exception]] = {}

    def known(model: str, custom_llm_provider: str | None = None, **named: Any) -> Any:
        if named or current_passage() is None:
            return look_up(model, custom_llm_provider, **named)
        entries = litellm.model_cost
        state = changes(), id(entries), len(entries)
        before, info = found.get((model, custom_llm_provider), (None, None))
        if info is None or before != state:
            try:
                info = dict(look_up(model, custom_llm_provider))
            except Exception as error:  # most often: a model that is not in the map
                info = copy(error)  # without the frames, which hold the call
            if len(found) >= _MOST_KEPT:
                found.clear()
            found[model, custom_llm_provider] = state, info
        if isinstance(info, Exception):
            raise copy(info)
        return dict(info)  # litellm writes into it

    return known


def _remember_no_settings(main: Any) -> None:
    """Lets calls within `passing` that set none of those settings share what is read of them."""
    parse = getattr(main, "_parse_supplemental_provider_params", None)
    names = getattr(main, "SUPPLEMENTAL_KWARGS_KEYS", None)
    if parse is None or not isinstance(names, frozenset):  # a litellm that has no such settings
        return
    unset: dict[frozenset[str], Any] = {}

    def parsed(kwargs: Mapping[str, object], *given: Any, **more: Any) -> Any:
        named = names.intersection(kwargs)
        is_set = any(kwargs[name] is not None for name in named)
        if is_set or given or more or current_passage() is None:
            return parse(kwargs, *given, **more)
        found = unset.get(named)
        if found is None:
            found = parse(kwargs)
            if not _can_be_shared(found):
                return found
            if len(unset) >= _MOST_KEPT:
                unset.clear()
            unset[named] = found
        return replace(found, params=copy(found.params))  # litellm may write into it

    main._parse_supplemental_provider_params = parsed


def _can_be_shared(read: Any) -> bool:
    """Whether a copy of these settings has nothing in common with them that can be changed."""
    settings = getattr(read, "params", None)
    return (
        is_dataclass(read)
        and hasattr(settings, "__dict__")
        and all(
            value is None or isinstance(value, bool | int | float | str)
            for value in vars(settings).values()
        )
    )
