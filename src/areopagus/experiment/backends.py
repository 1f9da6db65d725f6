"""Makes a job's backends of what the user named, and checks them before anything is spent."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from ..errors import InputError, InputFault
from ..judges.models.backend import OFFLINE_MODEL, Backend, BackendSpec
from ..judges.models.request import RESPONSE_FORMATS, ResponseFormat
from .config import faults_of

if TYPE_CHECKING:
    from ..graphs.panel_spec import PanelSpec
    from ..records.ledger import Ledger
    from ..records.types import Sample


CONNECT_SECONDS = 5.0


def prepare_all(backends: tuple[Backend, ...]) -> None:
    """Checks every backend's settings, and raises all that is wrong together.

    Raises:
        InputError: unknown providers, and parameters that a model does not take.
    """
    faults, hint = _setting_faults(backends)
    if faults:
        raise InputError(faults, hint=hint)


async def require_access(
    backends: tuple[Backend, ...], is_paid: Callable[[Backend], bool], *, capped: bool = False
) -> None:
    """Raises everything that keeps the backends from being asked, settings included.

    Args:
        backends: whom to ask.
        is_paid: whether the ledger holds every reply that is wanted of a backend, so that its key,
            its address and its price do not matter.
        capped: whether there is a cost cap, which needs prices.

    Raises:
        InputError: unknown providers, parameters that a model does not take, missing keys,
            unreachable addresses, and a cost cap without a price, all together.
    """
    faults, hint = _setting_faults(backends)
    for backend in backends:
        found = await access_faults(backend)
        if capped and backend.worst_cost(1, 1) is None:
            found.append(price_fault(backend))
        if found and not is_paid(backend):
            faults.extend(found)
    if faults:
        nothing = "Nothing was sent and nothing was spent."
        raise InputError(faults, hint=f"{hint}\n{nothing}" if hint else nothing)


async def access_faults(backend: Backend) -> list[InputFault]:
    """A missing key, and an address of the settings at which nobody answers."""
    found = list(backend.access_faults())
    unreachable = await _unreachable(backend.spec.api_base)
    if unreachable is not None:
        found.append(InputFault(backend.spec.name, unreachable))
    return found


def _setting_faults(backends: tuple[Backend, ...]) -> tuple[list[InputFault], str | None]:
    faults: list[InputFault] = []
    hint: str | None = None
    for backend in backends:
        try:
            backend.prepare()
        except InputError as error:
            faults.extend(error.faults)
            hint = hint or error.hint
    return faults, hint


def price_fault(backend: Backend) -> InputFault:
    """That a cost cap needs a price."""
    if backend.has_fees:
        return InputFault(
            backend.spec.name,
            "has no known worst price: it charges for searches on top of its tokens, so a cost cap "
            "cannot be kept; give prices that cover both (input and output, US dollars per million "
            "tokens) or leave `max_cost` out",
        )
    return InputFault(
        backend.spec.name,
        "has no known worst price, so a cost cap cannot be kept; give one under prices (input and "
        "output, US dollars per million tokens; a chat model's replies have no bound of ours) or "
        "leave `max_cost` out",
    )


async def _unreachable(api_base: str | None) -> str | None:
    if api_base is None:
        return None
    parts = urlsplit(api_base)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except TimeoutError:
        return f"{api_base} did not answer within {CONNECT_SECONDS:g} s"
    except OSError as error:
        return f"{api_base} cannot be reached ({error.strerror or error})"
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return None


def all_paid(panel: PanelSpec, samples: Iterable[Sample], backend: Backend) -> bool:
    """Whether the ledger holds this backend's first reply to every planned judgment."""
    response_format = known_response_format(panel.ledger, backend)
    if response_format is None:
        return False
    for sample in samples:
        if panel.gate(sample):
            continue
        assignments = [panel.assignment(key) for key in panel.most_calls(sample.response_id)]
        keys = [
            question.request(backend, response_format).key()
            for judge, repeat in assignments
            if judge.backend is backend
            for question in judge.questions(sample, secret=panel.ledger.secret, repeat=repeat)
        ]
        if len(panel.ledger.lookup(keys)) < len(set(keys)):
            return False
    return True


def known_response_format(ledger: Ledger, backend: Backend) -> ResponseFormat | None:
    """How the backend takes structured output, as set or as an earlier run learned it."""
    if backend.spec.structured != "auto":
        return backend.spec.structured
    learned = ledger.capability(backend.spec.identity)
    return learned if learned in RESPONSE_FORMATS else None


Model = Any
"""A model string, a mapping or BackendSpec of settings, a langchain-core chat model (alone or as
(name, chat model)), or any object that is a `Backend`."""


def checked_models(models: Any) -> tuple[BackendSpec | Backend, ...]:
    """The settings of the models that a user named, and the backends given as objects.

    Raises:
        InputError: with everything that is neither, and where nothing is named.
    """
    if models is None:
        models = [OFFLINE_MODEL]
    elif isinstance(models, str | Mapping | BackendSpec) or not isinstance(models, Iterable):
        models = [models]
    found: list[BackendSpec | Backend] = []
    faults: list[InputFault] = []
    for index, model in enumerate(models):
        try:
            if isinstance(model, str | Mapping):
                found.append(BackendSpec.model_validate(model))
            else:
                found.append(model if isinstance(model, BackendSpec) else _backend_object(model))
        except ValidationError as error:
            faults.extend(faults_of(error, f"models[{index}]"))
        except InputError as error:
            faults.extend(error.faults)
    if not found and not faults:
        faults.append(InputFault("models", "must name at least one model"))
    if faults:
        raise InputError(faults)
    return tuple(found)


def backends_from(models: Any, make: Callable[[BackendSpec], Backend]) -> tuple[Backend, ...]:
    """The backends that a user named: made of settings, or the objects that were given.

    Raises:
        InputError: see `checked_models`.
    """
    return tuple(
        make(model) if isinstance(model, BackendSpec) else model for model in checked_models(models)
    )


def repeated_names(backends: Iterable[Backend]) -> list[InputFault]:
    """The names that stand for several of the backends: results could not be told apart."""
    names = Counter(backend.spec.name for backend in backends)
    return [
        InputFault(name, "is named twice; give one of the two a name")
        for name, number in names.items()
        if number > 1
    ]


def _backend_object(model: Any) -> Backend:
    if isinstance(model, Backend):
        return model
    from ..judges.models.langchain_backend import ChatModelBackend, is_chat_model

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
