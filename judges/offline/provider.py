"""Registers the embedded stand-ins with litellm, for those who ask them through litellm.

The package's own calls to them go by `EmbeddedBackend`, which needs no litellm. litellm hands the
keyword `offline` of `litellm.completion` to a custom provider in `optional_params["offline"]`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ...errors import InputError
from .models import PROVIDER, STAND_INS, offline_reply, usage_counts


def register_offline() -> None:
    """Makes `offline/…` known to litellm; a second call changes nothing, others' providers stay."""
    import litellm

    handler_class = _handler_class()
    others = [entry for entry in litellm.custom_provider_map if entry["provider"] != PROVIDER]
    ours = [entry for entry in litellm.custom_provider_map if entry["provider"] == PROVIDER]
    if len(ours) == 1 and isinstance(ours[0]["custom_handler"], handler_class):
        return
    litellm.custom_provider_map = [
        *others,
        {"provider": PROVIDER, "custom_handler": handler_class()},
    ]
    if PROVIDER not in litellm.provider_list:
        # litellm would add it at the end, and look through all of the list at every call.
        litellm.provider_list.insert(0, PROVIDER)
    # A price of nothing, so that the cost of a call is 0.0 and not unknown.
    # The cache prices are there because litellm warns of their absence.
    prices = ("input_cost_per_token", "output_cost_per_token")
    cache_prices = ("cache_creation_input_token_cost", "cache_read_input_token_cost")
    free = dict.fromkeys(prices + cache_prices, 0.0)
    litellm.register_model(
        {name: {"litellm_provider": PROVIDER, "mode": "chat", **free} for name in STAND_INS}
    )


@cache
def _handler_class() -> type[Any]:
    """The handler's class; made on first use, because its base lives in litellm."""
    from litellm.llms.custom_llm import CustomLLM, CustomLLMError
    from litellm.types.utils import Usage

    class OfflineHandler(CustomLLM):
        """Answers `offline/…` calls in this process."""

        def completion(self, *_: Any, **call: Any) -> Any:
            model, messages = call["model"], call["messages"]
            try:
                told = (call.get("optional_params") or {}).get("offline")
                reply = offline_reply(model, messages, told)
            except InputError as error:
                # Any other exception would come out as a connection error, and be retried.
                raise CustomLLMError(400, str(error)) from error  # type: ignore[no-untyped-call]
            incoming, outgoing = usage_counts(messages, reply)
            answer = call["model_response"]
            answer.model = f"{model}-{STAND_INS[f'{PROVIDER}/{model}'].version}"
            answer.choices[0].message.content = reply
            answer.choices[0].finish_reason = "stop"
            answer.usage = Usage(
                prompt_tokens=incoming,
                completion_tokens=outgoing,
                total_tokens=incoming + outgoing,
            )
            return answer

        async def acompletion(self, *_: Any, **call: Any) -> Any:
            # A millisecond of arithmetic: a thread would cost more than it frees.
            return self.completion(**call)

    return OfflineHandler
