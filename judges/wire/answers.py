"""The lane's reading of an answer: litellm's own translation, without what stands around it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .passage import Received

# Where an answer counts what it was asked. litellm counts before it looks whether it has to, which
# takes longer than all the rest.
_COUNTS = (b'"usage"', b'"usageMetadata"', b'"prompt_eval_count"')


class Asked(NamedTuple):
    """What an answer is an answer to; looked at where it does not say enough itself.

    Attributes:
        messages: of the call.
        body: as it was sent.
    """

    messages: Sequence[Mapping[str, Any]] = ()
    body: bytes = b"{}"


UNTOLD = Asked()
"""Nothing known of what was asked."""


class _Silence:
    """In place of litellm's log of a call: takes everything, keeps nothing."""

    def __init__(self) -> None:
        self.model_call_details: dict[str, Any] = {}
        self.optional_params: dict[str, Any] = {}
        self.litellm_params: dict[str, Any] = {}

    def post_call(self, *given: Any, **named: Any) -> None:
        """Nothing."""

    def __getattr__(self, name: str) -> Any:
        return self.post_call


class _Raw:
    """An answer with the face of an HTTP client's, as far as translations look at it."""

    def __init__(self, received: Received) -> None:
        self.status_code = received.status
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in received.headers
        }
        self.content = received.content

    @property
    def text(self) -> str:
        """The body; JSON is UTF-8, whatever the head says."""
        return self.content.decode()

    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.content)


class AnswerReader:
    """Reads answers of one shape of request, as litellm's translation for the provider does.

    Attributes:
        names_provider: whether the model that answered is told as provider/model. litellm does so
            for some providers and not for others; `Shape` learns it from the first answer.
    """

    def __init__(
        self, litellm: Any, model: str, api_base: str | None, parameters: Mapping[str, Any]
    ) -> None:
        """Looks the translation up.

        Args:
            litellm: the module.
            model: litellm's name.
            api_base: the address in the settings.
            parameters: what the call is made with, `response_format` among it.

        Raises:
            Exception: whatever litellm raises where it has none for the provider.
        """
        from litellm.utils import ProviderConfigManager

        name, provider, _, _ = litellm.get_llm_provider(model, api_base=api_base)
        self.names_provider = False
        self._model, self._provider = name, provider
        self._translation: Any = ProviderConfigManager.get_provider_chat_config(
            model=name, provider=litellm.LlmProviders(provider)
        )
        mapped: dict[str, Any] = litellm.utils.get_optional_params(
            model=name, custom_llm_provider=provider, **parameters
        )
        self._json_mode = bool(mapped.pop("json_mode", False))
        self._parameters = mapped
        self._new_answer: Any = litellm.ModelResponse

    @property
    def prefix(self) -> str | None:
        """The provider's word before the model that answered; None where litellm puts none."""
        return self._provider if self.names_provider else None

    def read(self, received: Received, asked: Asked) -> Any:
        """The answer object.

        Raises:
            Exception: whatever litellm's translation raises over an answer it cannot read.
        """
        raw = _Raw(received)
        answer = self._new_answer()
        counts = any(name in raw.content for name in _COUNTS)
        if self.names_provider:
            answer.model = f"{self._provider}/{self._model}"
        return self._translation.transform_response(
            model=self._model,
            raw_response=raw,
            model_response=answer,
            logging_obj=_Silence(),
            request_data={} if counts else json.loads(asked.body),
            messages=[] if counts else [dict(message) for message in asked.messages],
            optional_params=dict(self._parameters),
            litellm_params={},
            encoding=None,
            api_key=None,
            json_mode=self._json_mode,
        )
