"""Backends through litellm: the only module that imports it, late, with its surprises switched off.

On import litellm would otherwise fetch its price map, read `.env` files, and on later calls fetch
headers and tokenizers; one call could become five by stacked retries. Here one `send` is one HTTP
attempt, and nothing but that attempt leaves the machine. Prices are those of the installed litellm.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import Any

from ..errors import InputError, InputFault, ProviderError
from ..records.reply import Reply, Usage
from .faults import classify
from .reply_parts import reply_of, usage_of
from .request import Request
from .spec import BackendSpec

_SWITCHES = {
    "LITELLM_MODE": "PRODUCTION",  # no .env file is read into the environment
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}
_NO_KEY = "no-key-needed"


def litellm_module() -> Any:
    """The litellm module, with everything off that talks to anybody by itself."""
    if "litellm" not in sys.modules:
        os.environ.update(_SWITCHES)
    import litellm

    litellm.suppress_debug_info = True
    litellm.disable_hf_tokenizer_download = True
    litellm.drop_params = False
    litellm.telemetry = False
    logging.getLogger("LiteLLM").setLevel(logging.ERROR)
    return litellm


def with_endpoint(spec: BackendSpec) -> BackendSpec:
    """The settings with the address that litellm would take from the environment written in.

    An address that comes from a variable is as much part of the request as one in `panel.yaml`:
    it belongs in the record and in the key of the ledger.
    """
    if spec.api_base is not None or spec.is_offline:
        return spec
    prefix = spec.provider.upper().removesuffix("_CHAT")
    for name in (f"{prefix}_API_BASE", f"{prefix}_BASE_URL"):
        if os.environ.get(name):
            key_env = spec.api_key_env
            if key_env is None and os.environ.get(f"{prefix}_API_KEY"):
                key_env = f"{prefix}_API_KEY"
            return spec.model_copy(
                update={"api_base": os.environ[name].rstrip("/"), "api_key_env": key_env}
            )
    if prefix == "OLLAMA":
        return spec.model_copy(update={"api_base": "http://localhost:11434"})
    return spec


class LitellmBackend:
    """A backend called through `litellm.acompletion`."""

    def __init__(self, spec: BackendSpec) -> None:
        self.spec = with_endpoint(spec)
        self._prices: tuple[float, float] | None | bool = False  # False: not looked up yet

    async def send(self, request: Request) -> Reply:
        """The reply to one HTTP attempt; see `Backend.send`."""
        litellm = litellm_module()
        started = asyncio.get_running_loop().time()
        try:
            # litellm's own time-out is per read: a server that drips a byte a second passes it.
            async with asyncio.timeout(self.spec.timeout_s):
                answer = await litellm.acompletion(**self._arguments(request))
        except asyncio.CancelledError:
            raise
        except TimeoutError as error:
            raise ProviderError(
                "timeout", f"no answer within {self.spec.timeout_s:g} s", may_be_billed=True
            ) from error
        except Exception as error:
            raise classify(error) from error
        latency = asyncio.get_running_loop().time() - started
        return reply_of(answer, cost_usd=self._cost(answer), latency_s=latency)

    def prepare(self) -> None:
        """Checks provider and parameters offline; see `Backend.prepare`."""
        litellm = litellm_module()
        spec = self.spec
        if spec.is_offline:
            from .offline import OFFLINE_MODELS, register_offline

            register_offline()
            if spec.model not in OFFLINE_MODELS:
                known = ", ".join(OFFLINE_MODELS)
                raise InputError(
                    [InputFault(spec.model, f"no such embedded model; there is {known}")]
                )
            return
        faults: list[InputFault] = []
        try:
            litellm.get_llm_provider(spec.model)
        except Exception as error:
            raise InputError(
                [InputFault(spec.model, f"unknown provider {spec.provider!r}")],
                hint="Name a model as provider/model, in litellm's words: openai/…, anthropic/…, "
                "gemini/…, ollama_chat/…, hosted_vllm/….",
            ) from error
        try:
            self.effective_parameters()
        except Exception as error:
            faults.append(InputFault(spec.model, f"parameters: {classify(error).detail}"))
        if spec.score_mode == "expected" and not self._gives_logprobs():
            faults.append(
                InputFault(spec.model, "gives no log-probabilities; use score_mode: integer")
            )
        if faults:
            raise InputError(faults)

    def access_faults(self) -> list[InputFault]:
        """A key that is named, or that the provider needs, and that the environment lacks."""
        spec = self.spec
        if spec.is_offline:
            return []
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
        prices = self._price_per_token()
        if prices is None:
            return None
        return input_tokens * prices[0] + output_tokens * prices[1]

    def likely_tokens(self, text: str) -> int:
        """Tokens by the tokenizer that litellm has for the model, or one for four characters."""
        if self.spec.is_offline:
            return -(-len(text) // 4)
        try:
            return int(litellm_module().token_counter(model=self.spec.model, text=text))
        except Exception:
            return -(-len(text) // 4)

    def effective_parameters(self) -> dict[str, Any]:
        """The provider's own names and values for our parameters, as litellm maps them.

        Raises:
            litellm's UnsupportedParamsError: the model does not take one of them.
        """
        litellm = litellm_module()
        if self.spec.is_offline:
            return dict(self.spec.parameters())
        name, provider, _, _ = litellm.get_llm_provider(self.spec.model)
        extra = set(self.spec.extra)
        asked = {k: v for k, v in self.spec.parameters().items() if k not in extra}
        mapped = litellm.utils.get_optional_params(
            model=name, custom_llm_provider=provider, drop_params=False, **asked
        )
        kept = {k: v for k, v in mapped.items() if v not in (None, {}, False)}
        return {**kept, **self.spec.extra}

    async def close(self) -> None:
        """Closes litellm's pooled connections."""
        if "litellm" in sys.modules:
            await litellm_module().close_litellm_async_clients()

    def _arguments(self, request: Request) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self.spec.model,
            "messages": [dict(message) for message in request.messages],
            "timeout": self.spec.timeout_s,
            "max_retries": 0,
            **request.params,
        }
        if self.spec.api_base is not None:
            arguments["api_base"] = self.spec.api_base
        if not self.spec.is_offline:
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
        elif request.schema is not None and request.structured == "json_object":
            arguments["response_format"] = {"type": "json_object"}
        return arguments

    def _key_argument(self) -> dict[str, str]:
        if self.spec.api_key_env is not None:
            return {"api_key": os.environ.get(self.spec.api_key_env, "")}
        if self.spec.api_base is not None:
            # Without this litellm would send the provider's own key, found in the environment,
            # to whatever server stands at this address.
            return {"api_key": _NO_KEY}
        return {}

    def _gives_logprobs(self) -> bool:
        litellm = litellm_module()
        name, provider, _, _ = litellm.get_llm_provider(self.spec.model)
        supported = litellm.get_supported_openai_params(model=name, custom_llm_provider=provider)
        return "logprobs" in (supported or [])

    def _price_per_token(self) -> tuple[float, float] | None:
        if self._prices is False:
            self._prices = self._look_up_prices()
        return self._prices if isinstance(self._prices, tuple) else None

    def _look_up_prices(self) -> tuple[float, float] | None:
        if self.spec.is_offline:
            return (0.0, 0.0)
        own = self.spec.prices
        if own is not None:
            return (max(own.input, own.cache_write or 0.0) / 1e6, own.output / 1e6)
        try:
            info = litellm_module().get_model_info(self.spec.model)
        except Exception:
            return None
        # Some models charge more for long inputs or for writing the cache: the worst counts here.
        incoming = _highest(info, "input_cost_per_token", "cache_creation_input_token_cost")
        outgoing = _highest(info, "output_cost_per_token", "output_cost_per_reasoning_token")
        if incoming is None or outgoing is None:
            return None
        return (incoming, outgoing)

    def _cost(self, answer: Any) -> float | None:
        if self.spec.is_offline:
            return 0.0
        if self.spec.prices is not None:
            return cost_of(usage_of(answer), self.spec)
        if self._price_per_token() is None:
            return None
        try:
            cost = litellm_module().completion_cost(
                completion_response=answer, model=self.spec.model
            )
        except Exception:
            return None  # unknown, never 0
        return float(cost)


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
    return (total + usage.output_tokens * prices.output) / 1e6


def _highest(info: Any, *names: str) -> float | None:
    base = info.get(names[0])
    if base is None:
        return None
    found = [
        float(value)
        for key, value in info.items()
        if any(key == name or key.startswith(f"{name}_above") for name in names)
        and isinstance(value, int | float)
    ]
    return max(found)
