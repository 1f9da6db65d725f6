"""The backend for litellm's models: how a request is translated, sent once and read.

Nothing but that one HTTP attempt leaves the machine. litellm would also ask a local Ollama or the
Hugging Face hub about a model's price, and stack retries until one call became five. Prices are
those of the installed litellm.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from time import perf_counter
from typing import Any

from pydantic import ValidationError

from ...environment import environment_state
from ...errors import InputError, InputFault, ProviderError
from ...records.types import Reply, Usage
from .backend import Backend, BackendSpec, PriceSource
from .connections import Answer
from .credentials import address_variables, key_variables, without_secrets
from .litellm_calls import (
    ALWAYS_TRANSLATED,
    NO_KEY,
    client_kind,
    complete,
    is_answered_here,
    somebody_listens,
)
from .litellm_setup import count_tokens, litellm_module
from .prefix_cache import prefix_minimum, takes_marks, with_marks
from .price_list import LOCAL
from .prices import TokenPrices
from .pricing import ModelPricing
from .provider_errors import classify, one_attempt
from .reply import reply_of
from .request import Request
from .transport import TranslatedRequest, Translation, is_translatable, mapped_parameters

# What a model's name begins with: litellm's handler of these asks until the work is done.
_ASKED_REPEATEDLY = ("replicate/", "azure_ai/agents/")


def one_request_fault(spec: BackendSpec) -> list[InputFault]:
    """The fault of a model that cannot be asked in one request, or none."""
    if not spec.model.lower().startswith(_ASKED_REPEATEDLY):
        return []
    return [
        InputFault(
            spec.model,
            "cannot be asked: its answer is fetched by a second request, and a call here is one",
        )
    ]


# Servers of one's own that speak OpenAI's protocol: without an address litellm would send the
# texts to OpenAI.
_NEED_ADDRESS = frozenset(
    {
        "aiohttp_openai",
        "custom_openai",
        "hosted_vllm",
        "litellm_proxy",
        "llamafile",
        "lm_studio",
        "openai_like",
        "text-completion-openai",
        "vllm",
        "xinference",
    }
)


def with_endpoint(spec: BackendSpec) -> BackendSpec:
    """The settings with the address that litellm would take from the environment written in.

    An address that comes from a variable is as much part of the request as one in `panel.yaml`:
    it belongs in the record and in the key of the ledger.

    Raises:
        InputError: what stands in the variable is no address, or carries a password.
    """
    if spec.api_base is not None:
        return spec
    for name in address_variables(spec.provider):
        if address := os.environ.get(name):
            keys = filter(os.environ.get, key_variables(spec.provider))
            key_env = spec.api_key_env or next(keys, None)
            given = spec.model_dump(exclude_unset=True)
            try:
                return BackendSpec(**{**given, "api_base": address, "api_key_env": key_env})
            except ValidationError as error:
                raise InputError(
                    [
                        InputFault(
                            f"environment variable {name}",
                            "must be an http(s) address without user name, password or query",
                        )
                    ]
                ) from error
    if spec.provider in LOCAL:
        return spec.model_copy(update={"api_base": "http://localhost:11434"})
    return spec


class LitellmBackend(Backend):
    """A backend called through `litellm.acompletion`."""

    def __init__(self, spec: BackendSpec) -> None:
        self.spec = with_endpoint(spec)
        self._translations: dict[tuple[str | None, int], Translation | None] = {}

    @cached_property
    def pricing(self) -> ModelPricing:
        """What it charges; looked up when it is first needed."""
        return ModelPricing(self.spec)

    async def send(self, request: Request) -> Reply:
        """The reply to one HTTP attempt; see `Backend.send`."""
        arguments = self.arguments(request)
        attempt = self._attempt(request, arguments)
        reply = await one_attempt(attempt, self.spec.timeout_s, self.secrets)
        return without_secrets(reply, self.secrets())

    async def _attempt(self, request: Request, arguments: Mapping[str, Any]) -> Reply:
        started = perf_counter()
        translation = self.translation(arguments.get("api_key"))
        if translation is None:
            answer, raw = await complete(self.spec, arguments)
        else:
            answer, raw = await translation.complete(arguments, request.form)
        return reply_of(
            answer,
            raw,
            latency_s=perf_counter() - started,
            cost_of=lambda usage: self.pricing.cost(answer, usage),
        )

    def translation(self, key: str | None) -> Translation | None:
        """litellm's translation for calls with this key; None where litellm is to call itself."""
        always = self.spec.provider in ALWAYS_TRANSLATED
        if not always and (self.spec.lane == "litellm" or somebody_listens()):
            return None
        return self._translation_for(key)

    def _translation_for(self, key: str | None) -> Translation | None:
        about = key, environment_state()
        if about not in self._translations:
            self._translations.clear()
            found = Translation(self.spec, key) if is_translatable(self.spec) else None
            self._translations[about] = found
        return self._translations[about]

    def translate_request(self, request: Request) -> TranslatedRequest:
        """The request as it would be sent, for who sends it otherwise: in a batch.

        Raises:
            ProviderError: litellm refuses it, or has no translation for the model.
        """
        arguments = self.arguments(request)
        translation = self._whole_translation(arguments)
        try:
            return translation.request(arguments, request.form)
        except Exception as error:
            raise classify(error, secrets=self.secrets()) from error

    def translate_reply(
        self, request: Request, answer: Answer, cost_of: Callable[[Usage], float | None]
    ) -> Reply:
        """The reply in an answer that came otherwise than by `send`.

        Raises:
            ProviderError: the answer is an error, or none in the provider's form.
        """
        arguments = self.arguments(request)
        translation = self._whole_translation(arguments)
        try:
            found = translation.read(answer, translation.request(arguments, request.form))
        except Exception as error:
            raise classify(error, secrets=self.secrets()) from error
        return without_secrets(reply_of(found, answer.json(), cost_of=cost_of), self.secrets())

    def _whole_translation(self, arguments: Mapping[str, Any]) -> Translation:
        found = self._translation_for(arguments.get("api_key"))
        if found is None:
            raise ProviderError("bad_request", "this model is not asked at an address for batches")
        return found

    def prepare(self) -> None:
        """Checks provider and parameters offline; see `Backend.prepare`."""
        litellm = litellm_module()
        spec = self.spec
        faults = one_request_fault(spec)
        try:
            litellm.get_llm_provider(spec.model)
        except Exception as error:
            raise InputError(
                [InputFault(spec.model, f"unknown provider {spec.provider!r}")],
                hint="Name a model as provider/model, in litellm's words: openai/…, anthropic/…, "
                "gemini/…, ollama_chat/…, hosted_vllm/….",
            ) from error
        if not (is_translatable(spec) or client_kind(spec) or is_answered_here(spec)):
            faults.append(
                InputFault(
                    spec.model,
                    "cannot be asked: litellm asks this provider by a client of its own, which "
                    "nothing keeps from following redirects or from reading without end",
                )
            )
        if spec.provider in _NEED_ADDRESS and spec.api_base is None:
            faults.append(InputFault(spec.model, "needs the address of its server: set api_base"))
        try:
            faults += _thinking_fault(spec, self.effective_parameters())
        except Exception as error:
            faults.append(InputFault(spec.model, f"parameters: {_without_advice(error)}"))
        if spec.score_mode == "expected" and not self._gives_logprobs():
            faults.append(
                InputFault(spec.model, "gives no log-probabilities; use score_mode: integer")
            )
        if faults:
            raise InputError(faults)

    def access_faults(self) -> list[InputFault]:
        """A key that is named, or that the provider needs, and that the environment lacks."""
        spec = self.spec
        if spec.api_key_env is not None:
            if os.environ.get(spec.api_key_env):
                return []
            return [
                InputFault(
                    spec.model, f"the environment variable {spec.api_key_env} is not set or empty"
                )
            ]
        if spec.api_base is not None:
            return []
        found = litellm_module().validate_environment(spec.model)
        missing = [name for name in found.get("missing_keys") or [] if "KEY" in name]
        if found.get("keys_in_environment") or not missing:
            return []
        return [
            InputFault(spec.model, f"the environment variable {' or '.join(missing)} is not set")
        ]

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """See `Backend.worst_cost`."""
        return self.pricing.worst_cost(input_tokens, output_tokens)

    def likely_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """See `Backend.likely_cost`."""
        return self.pricing.likely_cost(input_tokens, output_tokens)

    @property
    def price_source(self) -> PriceSource | None:
        """Where its prices come from: `settings`, `litellm`, `genai-prices`; None = unknown."""
        return self.pricing.source

    @property
    def unit_prices(self) -> TokenPrices | None:
        """What a token of each kind costs; None where it is unknown, or the cost is no sum."""
        return self.pricing.unit_prices

    @property
    def prefix_minimum(self) -> int | None:
        """Tokens from which what calls begin with alike is cheaper; None where it never is."""
        return self._prefix_minimum

    @cached_property
    def _prefix_minimum(self) -> int | None:
        return prefix_minimum(self.spec, self.pricing.usual)

    @cached_property
    def _takes_marks(self) -> bool:
        return takes_marks(self.spec, self.prefix_minimum)

    def likely_tokens(self, text: str) -> int:
        """About how many tokens the text has; see `count_tokens`."""
        return count_tokens(text)

    def effective_parameters(self) -> dict[str, Any]:
        """The provider's own names and values for our parameters, as litellm maps them.

        Raises:
            litellm's UnsupportedParamsError: the model does not take one of them.
        """
        litellm = litellm_module()
        name, provider, _, _ = litellm.get_llm_provider(self.spec.model)
        extra = set(self.spec.extra)
        asked = {k: v for k, v in self.spec.parameters().items() if k not in extra}
        mapped = mapped_parameters(name, provider, asked)
        kept = {k: v for k, v in mapped.items() if v not in (None, {}, False)}
        return {**kept, **self.spec.extra}

    def arguments(self, request: Request) -> dict[str, Any]:
        """What `litellm.acompletion` is called with for this request, key included.

        Raises:
            ProviderError: the variable that holds the key is not set.
        """
        arguments: dict[str, Any] = {
            "model": self.spec.model,
            "messages": with_marks(
                [dict(message) for message in request.messages],
                request.shared if self._takes_marks else 0,
            ),
            "timeout": self.spec.timeout_s,
            "max_retries": 0,
            **request.params,
        }
        if self.spec.api_base is not None:
            arguments["api_base"] = self.spec.api_base
        arguments |= self._key_argument()
        if request.schema is not None and request.structured == "json_schema":
            arguments["response_format"] = {
                "type": "json_schema",
                "json_schema": {
                    "name": "judgment",
                    "strict": True,
                    "schema": dict(request.schema),
                },
            }
        elif request.schema is not None and request.structured == "json_object_schema":
            arguments["response_format"] = {"type": "json_object", "schema": dict(request.schema)}
        elif request.schema is not None and request.structured == "json_object":
            arguments["response_format"] = {"type": "json_object"}
        return arguments

    def _key_argument(self) -> dict[str, str]:
        name = self.spec.api_key_env
        if name is not None:
            if not os.environ.get(name):
                # litellm would take another key from the environment, that of another server.
                raise ProviderError(
                    "authentication", f"the environment variable {name} is not set or empty"
                )
            return {"api_key": os.environ[name]}
        if self.spec.api_base is not None:
            # Without this litellm would send the provider's own key, found in the environment,
            # to whatever server stands at this address.
            return {"api_key": NO_KEY}
        return {}

    def secrets(self) -> tuple[str, ...]:
        """Keys that go out with its calls and must not be shown."""
        value = os.environ.get(self.spec.api_key_env or "")
        return (value,) if value else ()

    def _gives_logprobs(self) -> bool:
        litellm = litellm_module()
        name, provider, _, _ = litellm.get_llm_provider(self.spec.model)
        supported = litellm.get_supported_openai_params(model=name, custom_llm_provider=provider)
        return "logprobs" in (supported or [])

    @property
    def has_fees(self) -> bool:
        """Whether more than tokens is charged, by what is known."""
        return self.pricing.has_fees


def _thinking_fault(spec: BackendSpec, effective: dict[str, Any]) -> list[InputFault]:
    """A reasoning effort that may use up every token before the answer begins."""
    thinking = effective.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if not isinstance(budget, int) or budget < spec.max_tokens:
        return []
    return [
        InputFault(
            spec.model,
            f"reasoning_effort {spec.reasoning_effort} thinks with up to {budget} tokens: "
            f"max_tokens must be more than that, got {spec.max_tokens}",
        )
    ]


def _without_advice(error: Exception) -> str:
    """What litellm objects to, without its names and its advice to drop parameters silently."""
    detail = classify(error).detail.replace("UnsupportedParamsError: ", "").replace("litellm.", "")
    for advice in ("To drop", "If you want to use these params", ". Set `"):
        detail = detail.partition(advice)[0]
    return detail.strip(" .,")
