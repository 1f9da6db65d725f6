"""A call by `litellm.acompletion` itself, over our own connections.

It is made where litellm's client does more than translate (it signs, or fetches tokens), and where
somebody in this process listens to litellm. litellm is handed a client of the kind that it wants
from this provider, which sends by `post`, and once. A provider that is asked by another client all
the same is refused: nothing keeps such a client from following redirects, or from reading without
end. In such a call litellm sets names in the module `openai`, and keeps Azure's clients, for the
whole process; both are left as they were.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import lru_cache
from threading import Lock
from typing import Any, ClassVar, Literal

from ...environment import environment_state
from ...errors import ProviderError
from .backend import BackendSpec
from .connections import HttpError, post, refuse_stream
from .litellm_setup import litellm_module, load_encodings
from .reply import misfit
from .transport import NOT_MAPPED, mapped_parameters, uses_responses_api

NO_KEY = "no-key-needed"
"""What is sent as a key to servers of one's own that take none."""
ALWAYS_TRANSLATED = frozenset(
    {"aiohttp_openai", "cloudflare", "cohere", "cohere_chat", "ollama", "ollama_chat"}
)
"""litellm's own call of these takes no client of ours, or looks an Ollama on this machine up."""
BY_HANDLER = frozenset(
    {
        "anthropic",
        "azure_ai",
        "bedrock",
        "bedrock_mantle",
        "cometapi",
        "compactifai",
        "databricks",
        "datarobot",
        "deepseek",
        "edenai",
        "fireworks_ai",
        "gemini",
        "groq",
        "heroku",
        "hosted_vllm",
        "huggingface",
        "minimax",
        "mistral",
        "nadir",
        "ollama",
        "ollama_chat",
        "opencode_go",
        "openrouter",
        "ovhcloud",
        "sagemaker_chat",
        "snowflake",
        "together_ai",
        "vertex_ai",
        "watsonx",
        "watsonx_text",
        "xai",
    }
)
"""Providers that litellm asks by its HTTP handler, and that take one of ours; a test asks each."""
_BY_OPENAI = frozenset({"custom_openai", "litellm_proxy", "openai", "text-completion-openai"})
"""Beside those that litellm lists as compatible."""
_LISTENERS = (
    "callbacks",
    "input_callback",
    "success_callback",
    "failure_callback",
    "_async_input_callback",
    "_async_success_callback",
    "_async_failure_callback",
)
"""Where litellm keeps whom it tells of its calls."""
_NOT_SENT_ON = frozenset({"accept-encoding", "connection", "content-length", "cookie", "host"})
_OPENAIS_OWN = frozenset({"openai-organization", "openai-project"})
"""Of a customer of OpenAI; nobody else is told."""
_HEADERS = {"User-Agent": "areopagus"}
"""In place of those that this process has told litellm to send with every call of its own."""
ClientKind = Literal["azure", "handler", "openai"]


def client_kind(spec: BackendSpec) -> ClientKind | None:
    """The kind of client that litellm takes for this model; None where it takes none of ours."""
    provider, litellm = spec.provider, litellm_module()
    if provider in ("azure", "azure_text"):
        return "azure"
    if provider in BY_HANDLER or uses_responses_api(spec):
        return "handler"
    is_compatible = provider in _BY_OPENAI or provider in litellm.openai_compatible_providers
    return "openai" if is_compatible and provider not in ALWAYS_TRANSLATED else None


def is_answered_here(spec: BackendSpec) -> bool:
    """Whether a handler of this process answers: nothing is sent."""
    return spec.provider in {one["provider"] for one in litellm_module().custom_provider_map}


def somebody_listens() -> bool:
    """Whether somebody in this process has litellm tell them of calls, or count their cost."""
    litellm = litellm_module()
    # litellm enters "cache" by itself, for its own cache.
    return bool(getattr(litellm, "max_budget", None)) or any(
        one != "cache" for name in _LISTENERS for one in getattr(litellm, name, None) or ()
    )


async def complete(
    spec: BackendSpec, arguments: Mapping[str, Any], *, embeds: bool = False
) -> tuple[Any, Any]:
    """litellm's answer object, and the value of the provider's own answer; None where none came.

    One request at most is sent.

    Args:
        spec: the backend.
        arguments: of `litellm.acompletion`.
        embeds: those of `litellm.aembedding` instead, which takes no client for some providers
            (Ollama's): their requests are litellm's own.

    Raises:
        HttpError, ProviderError, RedirectedError: as for a translated call.
        Exception: whatever else litellm raises.
    """
    litellm, key = litellm_module(), arguments.get("api_key")
    load_encodings()  # litellm counts the tokens of answers that do not say
    if litellm.drop_params is True and not embeds:
        name, provider, _, _ = litellm.get_llm_provider(
            spec.model, api_base=spec.api_base, api_key=key
        )
        asked = {k: v for k, v in arguments.items() if k not in NOT_MAPPED}
        mapped_parameters(name, provider, asked)
    is_sent = not is_answered_here(spec)
    sender = _OneSend(is_own_address=spec.api_base is None)
    try:
        answer = await (litellm.aembedding if embeds else litellm.acompletion)(
            **{"headers": dict(_HEADERS), **arguments},
            **({"client": _client(spec, key, sender)} if is_sent else {}),
            drop_params=False,
            caching=False,
            cache={"no-cache": True, "no-store": True},
        )
    except Exception as error:
        if sender.failure is None:
            value = sender.value
            if value is None or (isinstance(value, dict) and "error" in value):
                raise
            raise ProviderError(
                "bad_reply", misfit(value, spec.provider), may_be_billed=True
            ) from error
    finally:
        sender.openai.put_back()
    if sender.failure is not None:
        raise sender.failure  # not litellm's retelling of it
    if is_sent and not sender.has_sent and not embeds:
        raise ProviderError(
            "bad_request",
            f"litellm asks {spec.provider} by a client of its own, which may follow redirects; "
            "nothing further is sent",
            may_be_billed=True,
        )
    return answer, sender.value


class _OneSend:
    """What httpx's clients call a transport: it sends by `post`, for one call, once.

    Attributes:
        has_sent: whether it was asked to.
        failure: what came of it, unless that is a success.
        value: of the answer's JSON; None for any other.
        openai: what is to be put back in that module, once litellm has come to send.
    """

    def __init__(self, *, is_own_address: bool) -> None:
        self.has_sent = False
        self.failure: Exception | None = None
        self.value: Any = None
        self.openai = _OpenaiModule()
        self._dropped = _NOT_SENT_ON if is_own_address else _NOT_SENT_ON | _OPENAIS_OWN

    async def handle_async_request(self, request: Any) -> Any:
        """The answer, as httpx's."""
        import httpx

        self.openai.put_back()
        if self.has_sent:
            raise httpx.RemoteProtocolError("a second request of one call is not sent")
        self.has_sent = True
        body = await request.aread()
        headers = {n: v for n, v in request.headers.items() if n not in self._dropped}
        try:
            answer = await post(str(request.url), headers, body or None, method=request.method)
            if answer.status_code < 400:
                refuse_stream(answer)
        except Exception as error:
            self.failure = error
            raise httpx.ReadError(str(error)) from error
        if answer.status_code >= 400:
            self.failure = HttpError(answer)
        else:
            with contextlib.suppress(ValueError, RecursionError):
                self.value = answer.json()
        kept = {
            name: value
            for name, value in answer.headers.items()
            if name not in ("content-encoding", "content-length", "transfer-encoding")
        }
        return httpx.Response(
            answer.status_code, headers=kept, content=answer.content, request=request
        )

    async def aclose(self) -> None:
        """Nothing: the connections are the loop's."""


class _OpenaiModule:
    """Puts back what litellm sets in the module `openai` before it asks by that library.

    Calls that begin at once share what stood there before the first of them.
    """

    _NAMES = ("organization", "api_type", "api_version")
    _lock: ClassVar = Lock()
    _begun: ClassVar[int] = 0
    _before: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        import openai

        shared = _OpenaiModule
        with shared._lock:
            if not shared._begun:
                shared._before = {name: getattr(openai, name) for name in self._NAMES}
            shared._begun += 1
        self._is_kept = True

    def put_back(self) -> None:
        """As it was before; a second time does nothing."""
        import openai

        shared = _OpenaiModule
        with shared._lock:
            if self._is_kept:
                self._is_kept = False
                shared._begun -= 1
                for name, value in shared._before.items():
                    setattr(openai, name, value)


def _client(spec: BackendSpec, key: str | None, sender: _OneSend) -> Any:
    """What litellm takes as a client for this model: one that sends by `sender`."""
    import httpx
    import openai

    litellm, kind = litellm_module(), client_kind(spec)
    transport: Any = sender
    if kind not in ("azure", "openai"):
        from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

        return AsyncHTTPHandler(transport=transport, follow_redirects=False)
    # Which may be of another library than the types say.
    http: Any = httpx.AsyncClient(transport=transport, trust_env=False)
    if kind == "azure":
        version = spec.extra.get("api_version") or os.environ.get("AZURE_API_VERSION")
        given = _azure_settings(spec.model, spec.api_base, version, key, environment_state())
        return _azure_client()(**{**given, "http_client": http})
    _, _, found_key, base = litellm.get_llm_provider(
        spec.model, api_base=spec.api_base, api_key=key
    )
    return openai.AsyncOpenAI(
        api_key=found_key or key or os.environ.get("OPENAI_API_KEY") or NO_KEY,
        base_url=base or "https://api.openai.com/v1",
        max_retries=0,
        http_client=http,
    )


@lru_cache(maxsize=1)
def _azure_client() -> Any:
    import openai

    class Client(openai.AsyncAzureOpenAI):
        """litellm keeps a client that it is handed for Azure, unless it is as large as this."""

        def __sizeof__(self) -> int:
            return 1 << 40

    return Client


@lru_cache(maxsize=16)
def _azure_settings(
    model: str, base: str | None, version: str | None, key: str | None, _environment: int
) -> dict[str, Any]:
    """What Azure's client is made with; kept, since it may hold whoever fetches the tokens."""
    from litellm.llms.azure.common_utils import BaseAzureLLM

    found: dict[str, Any] = BaseAzureLLM().initialize_azure_sdk_client(
        litellm_params={"max_retries": 0},
        api_key=key or os.environ.get("AZURE_OPENAI_API_KEY") or os.environ.get("AZURE_API_KEY"),
        api_base=base,
        model_name=model.partition("/")[2],
        api_version=version,
        is_async=True,
    )
    return found
