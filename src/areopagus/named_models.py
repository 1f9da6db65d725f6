"""What may be handed over as models: names, settings, chat models, and backends of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from .errors import InputError, InputFault
from .judges.models.backend import OFFLINE_MODEL, Backend, BackendSpec

Model = Any
"""A model string, a mapping or BackendSpec of settings, a langchain-core chat model (alone or as
(name, chat model)), or any object that is a `Backend`."""


def sorted_models(models: Any) -> tuple[list[BackendSpec], dict[int, Backend]]:
    """The settings of all backends, and those that came as objects, by their place."""
    if models is None:
        models = [OFFLINE_MODEL]
    elif isinstance(models, str | Mapping | BackendSpec) or not isinstance(models, Iterable):
        models = [models]
    specs: list[BackendSpec] = []
    given: dict[int, Backend] = {}
    faults: list[InputFault] = []
    for index, model in enumerate(models):
        try:
            if isinstance(model, BackendSpec):
                specs.append(model)
            elif isinstance(model, str | Mapping):
                specs.append(BackendSpec.model_validate(model))
            else:
                backend = _backend_object(model)
                given[index] = backend
                specs.append(backend.spec)
        except ValidationError as error:
            faults.extend(faults_of(error, f"models[{index}]"))
        except InputError as error:
            faults.extend(error.faults)
    if not specs and not faults:
        faults.append(InputFault("models", "must name at least one model"))
    if faults:
        raise InputError(faults)
    return specs, given


def _backend_object(model: Any) -> Backend:
    if isinstance(model, Backend):
        return model
    from .judges.models.langchain_backend import ChatModelBackend, is_chat_model

    if is_chat_model(model):
        return ChatModelBackend(model)
    if isinstance(model, tuple) and len(model) == 2 and is_chat_model(model[1]):
        return ChatModelBackend(model[1], name=str(model[0]))
    raise InputError(
        [
            InputFault(
                "models",
                "must be model strings, settings, langchain-core chat models or backends, "
                f"got {type(model).__name__}",
            )
        ]
    )


def faults_of(error: ValidationError, where: str = "panel") -> list[InputFault]:
    return [
        InputFault(
            where,
            item["msg"].removeprefix("Value error, "),
            ".".join(str(part) for part in item["loc"]) or None,
        )
        for item in error.errors(include_url=False, include_input=False)
    ]


def settings_of(backends: Sequence[Backend]) -> dict[str, Any]:
    """What of the backends decides what is asked, for a run's identity."""
    return {
        backend.spec.name: {
            "model": backend.spec.model,
            "api_base": backend.spec.api_base,
            "parameters": backend.spec.parameters(),
        }
        for backend in backends
    }
