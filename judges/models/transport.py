"""A call as litellm's translation around one POST.

litellm knows, for each provider, which address and headers a call has, how its body is written and
how the answer is read. A `Translation` takes that much of it, for one model and one key, and none
of litellm's clients: the POST goes over our own connections. What litellm must do itself stands in
`litellm_calls`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic_core import to_json

from ...errors import ProviderError
from .backend import BackendSpec
from .connections import Answer, HttpError, post, refuse_stream
from .credentials import key_variables
from .litellm_setup import litellm_module, load_encodings
from .reply import misfit

TRANSLATED = frozenset(
    {
        "aiohttp_openai",
        "anthropic",
        "cerebras",
        "cloudflare",
        "cohere",
        "cohere_chat",
        "deepinfra",
        "deepseek",
        "fireworks_ai",
        "gemini",
        "groq",
        "hosted_vllm",
        "litellm_proxy",
        "llamafile",
        "lm_studio",
        "mistral",
        "moonshot",
        "nebius",
        "nvidia_nim",
        "ollama",
        "ollama_chat",
        "openai",
        "openrouter",
        "perplexity",
        "sambanova",
        "together_ai",
        "xai",
    }
)
"""Providers whose calls are no more than litellm's translation; a test compares each."""
_NAMED_IN_ANSWERS = frozenset(
    {
        "cerebras",
        "deepinfra",
        "litellm_proxy",
        "llamafile",
        "lm_studio",
        "moonshot",
        "nebius",
        "nvidia_nim",
        "perplexity",
        "sambanova",
    }
)
"""Providers whose name litellm writes before the model in the answer, where that names none."""
_ADDRESSES = {
    "anthropic": "https://api.anthropic.com",
    "cohere": "https://api.cohere.com/v2/chat",
    "cohere_chat": "https://api.cohere.com/v2/chat",
}
"""What stands in litellm beside its translations, and not in them."""
_OPENAI_HEADERS = (
    ("OpenAI-Organization", "OPENAI_ORGANIZATION"),
    ("OpenAI-Organization", "OPENAI_ORG_ID"),
    ("OpenAI-Project", "OPENAI_PROJECT_ID"),
)
NOT_MAPPED = frozenset({"model", "messages", "timeout", "max_retries", "api_base", "api_key"})
"""Arguments of a call that are no parameters of the model."""
_COUNTS = ("usage", "usageMetadata", "prompt_eval_count", "eval_count")
"""Where an answer says how many tokens it was asked in."""
_MOST_KEPT = 256


class _Form(NamedTuple):
    """What calls that differ in their texts only have in common.

    Attributes:
        url, headers: where they go.
        parameters: in the provider's names and values.
        extra_body: what is added to the body as it is.
        json_mode: whether litellm has the answer in a tool's call.
    """

    url: str
    headers: dict[str, str]
    parameters: dict[str, Any]
    extra_body: dict[str, Any] | None
    json_mode: bool


class TranslatedRequest(NamedTuple):
    """A call in the provider's form.

    Attributes:
        url, headers: where it goes, and the headers with the key.
        data: the body's value.
        messages: what is said, in OpenAI's form.
        form: what it has in common with others.
    """

    url: str
    headers: dict[str, str]
    data: Any
    messages: Any
    form: _Form

    @property
    def body(self) -> bytes:
        """The body as it is sent."""
        try:
            return to_json(self.data)
        except ValueError:  # half a character, which a text from outside may hold
            return json.dumps(self.data, separators=(",", ":")).encode()


class Translation:
    """litellm's translation for one model at one address, with one key."""

    def __init__(self, spec: BackendSpec, key: str | None) -> None:
        litellm = litellm_module()
        from litellm.utils import ProviderConfigManager

        self._litellm = litellm
        if key is None:
            names = map(os.environ.get, key_variables(spec.provider))
            key = next(filter(None, names), getattr(litellm, f"{spec.provider}_key", None))
        self._name, self.provider, self._key, base = litellm.get_llm_provider(
            spec.model, api_base=spec.api_base, api_key=key
        )
        self._base = base or _ADDRESSES.get(self.provider)
        self._about = {"custom_llm_provider": self.provider, "api_base": base}
        # The same words, which litellm sends by another client.
        self._words = "openai" if self.provider == "aiohttp_openai" else self.provider
        self._config: Any = ProviderConfigManager.get_provider_chat_config(
            model=self._name, provider=litellm.LlmProviders(self._words)
        )
        self._is_openais_own = self.provider == "openai" and spec.api_base is None
        kind: Any = type(self._config)
        openais = litellm.OpenAIGPTConfig.transform_response
        self._is_openais_form = kind.transform_response is openais
        self._forms: dict[Any, _Form] = {}

    async def complete(self, arguments: Mapping[str, Any], about: Any) -> tuple[Any, Any]:
        """litellm's answer object, and the value of the provider's own answer.

        Args:
            arguments: what `litellm.acompletion` would be called with.
            about: tells sets of parameters apart; hashable.

        Raises:
            HttpError: the answer is no success.
            ProviderError: the answer cannot be read.
            Exception: see `post`.
        """
        asked = self.request(arguments, about)
        answer = await post(asked.url, asked.headers, asked.body)
        return self.read(answer, asked), answer.json()

    def request(self, arguments: Mapping[str, Any], about: Any) -> TranslatedRequest:
        """The call as it is sent.

        Raises:
            Exception: litellm's, for a parameter that the model does not take.
        """
        form = self._form(arguments, about)
        messages = arguments["messages"]
        given = {
            "model": self._name,
            "messages": messages,
            "optional_params": dict(form.parameters),
            "litellm_params": dict(self._about),
        }
        headers = dict(form.headers)
        if self.provider == "gemini":  # its translation stands beside its class, not in it
            from litellm.llms.vertex_ai.gemini.transformation import transform_request_body

            data: Any = transform_request_body(
                **given, custom_llm_provider="gemini", cached_content=None
            )
        else:
            data = self._config.transform_request(**given, headers=headers)
        data = {**data, **(form.extra_body or {})}
        return TranslatedRequest(form.url, headers, data, messages, form)

    def read(self, answer: Answer, asked: TranslatedRequest) -> Any:
        """litellm's answer object for a received answer.

        Raises:
            HttpError: it is no success.
            ProviderError: it cannot be read.
        """
        if answer.status_code >= 300:
            raise HttpError(answer)
        refuse_stream(answer)
        try:
            said = answer.json()
        except (ValueError, RecursionError) as error:
            raise ProviderError(
                "server", "the answer is no JSON", status=answer.status_code, may_be_billed=True
            ) from error
        told = said.get("error") if isinstance(said, dict) else None
        if isinstance(told, dict) and told and not said.get("choices"):
            code = told.get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 500
            raise HttpError(Answer(status, answer.headers, answer.content))
        try:
            return self._read(answer, asked)
        except Exception as error:
            if isinstance(said, dict) and not said.keys().isdisjoint(_COUNTS):
                # litellm falls over counts that cannot be: the answer may be good all the same.
                bare = {name: value for name, value in said.items() if name not in _COUNTS}
                content = json.dumps(bare).encode()
                found = self.read(Answer(answer.status_code, answer.headers, content), asked)
                found.usage = None
                return found
            raise ProviderError(
                "bad_reply",
                misfit(said, self.provider),
                status=answer.status_code,
                may_be_billed=True,
            ) from error

    def _read(self, answer: Answer, asked: TranslatedRequest) -> Any:
        # Where an answer has no counts, litellm counts the tokens of what it is given here, and
        # takes its time for that.
        said = answer.json()
        counts = not said.keys().isdisjoint(_COUNTS[:3])
        if not counts:
            load_encodings()
        # In OpenAI's form counts are read as they come: litellm's objects of them take as long as
        # all else. The answer's choices take the place of these.
        usage = said.pop("usage", None) if self._is_openais_form else None
        empty = self._litellm.ModelResponse(choices=[] if self._is_openais_form else None)
        if self.provider in _NAMED_IN_ANSWERS:
            empty.model = f"{self.provider}/{self._name}"
        found = self._config.transform_response(
            model=self._name,
            raw_response=answer,
            model_response=empty,
            logging_obj=_NoLog(),
            request_data={} if counts else asked.data,
            messages=[] if counts else asked.messages,
            optional_params=dict(asked.form.parameters),
            litellm_params={},
            encoding=None,
            api_key=self._key,
            json_mode=asked.form.json_mode,
        )
        if self._is_openais_form:
            found.usage = usage
        return found

    def _form(self, arguments: Mapping[str, Any], about: Any) -> _Form:
        kinds = tuple(isinstance(message["content"], str) for message in arguments["messages"])
        form = self._forms.get((about, kinds))
        if form is None:
            if len(self._forms) >= _MOST_KEPT:
                self._forms.clear()
            form = self._forms[about, kinds] = self._new_form(arguments)
        return form

    def _new_form(self, arguments: Mapping[str, Any]) -> _Form:
        given = arguments.get("extra_headers")
        asked = {k: v for k, v in arguments.items() if k not in NOT_MAPPED | {"extra_headers"}}
        mapped = mapped_parameters(self._name, self._words, asked)
        json_mode = bool(mapped.pop("json_mode", False))
        extra_body = mapped.pop("extra_body", None)
        for flag in ("stream", "fake_stream"):
            mapped.pop(flag, None)
        optional = dict(mapped)
        key, url = self._key_and_url(optional)
        headers = self._config.validate_environment(
            headers={
                **self._config.get_attribution_headers(),
                **(given if isinstance(given, Mapping) else {}),
            },
            api_key=key,
            api_base=self._base,
            model=self._name,
            messages=arguments["messages"],
            optional_params=optional,
            litellm_params={},
        )
        if self.provider.startswith("ollama") and self._key:
            headers.setdefault("Authorization", f"Bearer {self._key}")
        if self._is_openais_own:
            for name, variable in _OPENAI_HEADERS:
                if value := os.environ.get(variable):
                    headers.setdefault(name, value)
        headers = {"Content-Type": "application/json", **headers}
        return _Form(url, headers, mapped, extra_body, json_mode)

    def _key_and_url(self, optional: dict[str, Any]) -> tuple[Any, str]:
        if self.provider == "gemini":
            from litellm.llms.vertex_ai.vertex_llm_base import VertexBase

            key, url = VertexBase().get_token_and_url(
                model=self._name,
                auth_header=None,
                gemini_api_key=self._key,
                vertex_project=None,
                vertex_location=None,
                vertex_credentials=None,
                stream=False,
                custom_llm_provider="gemini",
                api_base=self._base,
                should_use_v1beta1_features=False,
            )
            return key, url
        url = self._config.get_complete_url(
            api_base=self._base,
            api_key=self._key,
            model=self._name,
            optional_params=optional,
            litellm_params={},
            stream=False,
        )
        if self.provider == "anthropic" and not url.endswith("/v1/messages"):
            url = f"{url.rstrip('/')}/v1/messages"  # litellm adds it beside its class
        return self._key, url


def is_translatable(spec: BackendSpec) -> bool:
    """Whether calls of this backend are no more than litellm's translation."""
    if spec.provider not in TRANSLATED or uses_responses_api(spec):
        return False
    if spec.provider.startswith("cohere") and spec.model.split("/")[1] in ("v1", "v2"):
        return False  # another of its interfaces, at another address
    litellm_module()
    from litellm.types.utils import all_litellm_params

    own = {*all_litellm_params} - {"extra_headers", "extra_body"}
    return own.isdisjoint(spec.extra)


def uses_responses_api(spec: BackendSpec) -> bool:
    """Whether litellm asks this model through OpenAI's newer API, /responses."""
    prices = litellm_module().model_cost
    name = spec.model.partition("/")[2]
    entry = prices.get(name) or prices.get(spec.model) or {}
    return name.startswith("responses/") or entry.get("mode") == "responses"


def mapped_parameters(name: str, provider: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters in the provider's own names and values.

    Raises:
        Exception: litellm's UnsupportedParamsError, for one that the model does not take; also
            where this process has told litellm to drop such parameters.
    """
    litellm = litellm_module()

    def mapped(given: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = litellm.utils.get_optional_params(
            model=name, custom_llm_provider=provider, drop_params=False, **given
        )
        return found

    whole = mapped(asked)
    if litellm.drop_params is True:
        for one in asked:
            if mapped({k: v for k, v in asked.items() if k != one}) == whole:
                raise litellm.UnsupportedParamsError(
                    message=f"{provider} does not support parameters: {[one]}, for model={name}",
                    llm_provider=provider,
                    model=name,
                )
    return whole


class _NoLog:
    """In place of litellm's log of a call: takes everything, keeps nothing."""

    def __init__(self) -> None:
        self.model_call_details: dict[str, Any] = {}
        self.optional_params: dict[str, Any] = {}
        self.litellm_params: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: None
