"""The HTTP transport: one POST a call, over connections of our own.

A `Translation` is what litellm knows of a provider, without its clients: which address and headers
a call has, how the body is written and how the answer is read. Around it stands one POST. Where
litellm's client does more than translate (it signs, fetches tokens, or is not known here), and
where somebody in this process listens to litellm's calls, `litellm.acompletion` makes the call, and
is handed a client that sends over the same connections.

Either way `post` is what sends. It sends once, follows no redirect, keeps no cookie, invites no
compressed answer, and reads no more than `MOST_BYTES` of one, packed or not.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ipaddress
import json
import os
import zlib
from collections.abc import AsyncGenerator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]
from weakref import WeakKeyDictionary

from ...async_runner import submit
from ...environment import environment_state
from ...errors import ProviderError
from .backend import BackendSpec
from .credentials import key_variables
from .litellm_setup import litellm_module, load_encodings

MOST_BYTES = 8_000_000
"""Of an answer, packed or unpacked."""
NO_KEY = "no-key-needed"
"""What is sent as a key to servers of one's own that take none."""
TRANSLATED = frozenset(
    {
        "aiohttp_openai",
        "anthropic",
        "cerebras",
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
_BY_OPENAI = frozenset(
    {
        "cerebras",
        "custom_openai",
        "deepinfra",
        "litellm_proxy",
        "llamafile",
        "lm_studio",
        "moonshot",
        "nebius",
        "nvidia_nim",
        "openai",
        "perplexity",
        "sambanova",
        "text-completion-openai",
    }
)
"""Providers that litellm asks through OpenAI's library."""
_BY_HANDLER = (TRANSLATED - _BY_OPENAI) | {
    "azure_ai",
    "bedrock",
    "cohere",
    "cohere_chat",
    "databricks",
    "huggingface",
    "vertex_ai",
    "watsonx",
    "watsonx_text",
}
"""Providers that litellm asks through its own HTTP handler, and that take one of ours."""
ALWAYS_TRANSLATED = frozenset({"aiohttp_openai", "ollama", "ollama_chat"})
"""litellm's own call of these takes no client of ours, or looks an Ollama on this machine up."""
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
_NOT_MAPPED = frozenset({"model", "messages", "timeout", "max_retries", "api_base", "api_key"})
_ANTHROPIC = "https://api.anthropic.com"
_COUNT_NAMES = frozenset({"usage", "usageMetadata", "prompt_eval_count", "eval_count"})
_COUNTS = (b'"usage"', b'"usageMetadata"', b'"prompt_eval_count"')
"""Where an answer says how many tokens it was asked in."""
_MOST_KEPT = 256
_UNPACKED = {"gzip": 31, "x-gzip": 31, "deflate": 47}
_CONNECT_S = 30.0


class HttpError(Exception):
    """An answer that is no success.

    Attributes:
        status_code: of the answer.
        litellm_response_headers: its headers, names in small letters.
        text: the whole body.
        body: the fault in it as an object, empty where there is none.
    """

    def __init__(self, answer: Answer) -> None:
        self.status_code = answer.status_code
        self.litellm_response_headers = answer.headers
        self.text = answer.content.decode(errors="replace")
        try:
            said = json.loads(answer.content)
        except (ValueError, RecursionError):
            said = None
        if isinstance(said, list) and said:
            said = said[0]  # Google's form where a stream was asked for
        inner = said.get("error", said) if isinstance(said, dict) else said
        self.body = inner if isinstance(inner, dict) else {}
        sentence = inner if isinstance(inner, str) else self.body.get("message")
        super().__init__(str(sentence or self.text or "no further word"))

    def __str__(self) -> str:
        return f"HTTP {self.status_code}: {self.args[0]}"


class RedirectedError(Exception):
    """The address sends callers elsewhere; whoever stands there is given neither key nor text."""


@dataclass(slots=True)
class Answer:
    """An answer, with as much of httpx's face as litellm's translations look at."""

    status_code: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode()

    def json(self) -> Any:
        """The body's value."""
        return json.loads(self.content)


def _without_usage(said: Any) -> Any:
    """The value of an answer's body without its counts of tokens; None where it has none."""
    if not isinstance(said, dict):
        return None
    bare = {name: value for name, value in said.items() if name not in _COUNT_NAMES}
    return bare if len(bare) < len(said) else None


async def post(
    url: str,
    headers: Mapping[str, str],
    body: Any,
    *,
    method: str = "POST",
    most_bytes: int = MOST_BYTES,
) -> Answer:
    """The answer to one request, whatever its status but a redirect.

    Args:
        url: where to.
        headers: with the key; what the connection needs is added.
        body: bytes, or a form of aiohttp's; None for no body.
        method: of the request.
        most_bytes: of an answer.

    Raises:
        RedirectedError: the address redirects.
        ProviderError: the answer is longer than that, or packed in an unknown way.
        aiohttp.ClientError, OSError: there is no answer, or no whole one.
    """
    session = await _session()
    state = environment_state()
    async with session.request(
        method,
        url,
        data=body,
        headers={**headers, "Accept-Encoding": "identity"},
        allow_redirects=False,
        proxy=proxy_of(url, state),
        ssl=_tls(state),
    ) as response:
        location = response.headers.get("location")
        if location is not None and 300 <= response.status < 400:
            raise RedirectedError(location)
        content = await _bounded(response, most_bytes)
        packed = response.headers.get("content-encoding", "")
        names = {name.lower(): value for name, value in response.headers.items()}
        if packed:
            content = _unpacked(content, packed, most_bytes)
        return Answer(response.status, names, content)


async def _bounded(response: Any, most: int) -> bytes:
    length = response.content_length
    if length is not None and length <= most:
        content: bytes = await response.read()
        return content
    parts, size = [], 0
    if length is None:
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > most:
                break
    if (length or size) > most:
        response.close()
        raise _too_long(most)
    return b"".join(parts)


def _unpacked(content: bytes, packed: str, most: int) -> bytes:
    """The content, unpacked as often as it was packed."""
    for name in reversed([part.strip().lower() for part in packed.split(",")]):
        if name in ("", "identity"):
            continue
        if name not in _UNPACKED:
            raise ProviderError(
                "bad_reply", f"the answer is packed as {name!r}, unasked", may_be_billed=True
            )
        unpacker = zlib.decompressobj(_UNPACKED[name])
        try:
            content = unpacker.decompress(content, most + 1)
        except zlib.error as error:
            raise ProviderError(
                "bad_reply", f"the packed answer is damaged: {error}", may_be_billed=True
            ) from error
        if len(content) > most:
            raise _too_long(most)
    return content


def _too_long(most: int) -> ProviderError:
    return ProviderError(
        "bad_reply", f"the answer is longer than {most:,} bytes", may_be_billed=True
    )


def proxy_of(url: str, _environment: int = 0) -> str | None:
    """The proxy for an address; None for a direct call, as to this machine always.

    What counts is HTTPS_PROXY and HTTP_PROXY by the address's scheme, else ALL_PROXY, and NO_PROXY
    (each also in small letters).
    """
    parts = urlsplit(url)
    return _proxy(parts.scheme, parts.hostname or "", parts.port, _environment)


@lru_cache(maxsize=_MOST_KEPT)
def _proxy(scheme: str, host: str, port: int | None, _environment: int) -> str | None:
    if is_loopback(host):
        return None
    proxies = getproxies_environment()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or proxy_bypass_environment(f"{host}:{port}" if port else host, proxies):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def is_loopback(host: str) -> bool:
    """Whether a host is this very machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=4)
def _tls(_environment: int) -> Any:
    """Whom to trust: SSL_CERT_FILE, SSL_VERIFY and litellm's settings, as litellm reads them."""
    litellm_module()
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

    found = get_ssl_configuration()
    return found if found is not None else True


_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[int, Any, Any]] = WeakKeyDictionary()


async def _session() -> Any:
    """The session of the running loop; it is closed when the loop is."""
    loop = asyncio.get_running_loop()
    found = _sessions.get(loop)
    if found is None or found[0] != os.getpid():
        owner = _open_session()
        found = os.getpid(), await anext(owner), owner
        _sessions[loop] = found
        _close_at_exit()
    return found[1]


async def _open_session() -> AsyncGenerator[Any]:
    # A loop that ends closes its asynchronous generators, and so this session.
    import aiohttp

    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
        headers={"User-Agent": "areopagus"},
        auto_decompress=False,
        trust_env=False,
    ) as session:
        yield session


@lru_cache(maxsize=1)
def _close_at_exit() -> None:
    """The package's own loop runs until the process ends: its session is closed before."""
    atexit.register(_close, os.getpid())


def _close(owner: int) -> None:
    async def close() -> None:
        found = _sessions.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await found[2].aclose()

    if os.getpid() == owner and _sessions:
        with contextlib.suppress(Exception):
            submit(close()).result(timeout=2.0)


class Translation:
    """litellm's translation for one model at one address, with one key.

    What does not depend on the texts (parameters in the provider's words, headers, address) is
    worked out once for each set of parameters.
    """

    def __init__(self, spec: BackendSpec, key: str | None) -> None:
        """Looks it up.

        Raises:
            LookupError: litellm has none.
        """
        litellm = litellm_module()
        from litellm.utils import ProviderConfigManager

        self._litellm = litellm
        if key is None:
            names = map(os.environ.get, key_variables(spec.provider))
            key = next(filter(None, names), getattr(litellm, f"{spec.provider}_key", None))
        self._name, self.provider, self._key, self._base = litellm.get_llm_provider(
            spec.model, api_base=spec.api_base, api_key=key
        )
        # The same words, which litellm sends by another client.
        self._words = "openai" if self.provider == "aiohttp_openai" else self.provider
        self._config: Any = ProviderConfigManager.get_provider_chat_config(
            model=self._name, provider=litellm.LlmProviders(self._words)
        )
        if self._config is None or self.provider not in TRANSLATED:
            raise LookupError(f"no translation for {self.provider}")
        self._own_address = spec.api_base is None
        self._parameters: dict[Any, dict[str, Any]] = {}
        self._heads: dict[Any, tuple[dict[str, str], str]] = {}

    async def complete(self, arguments: Mapping[str, Any], about: Any) -> Any:
        """litellm's answer object.

        Args:
            arguments: what `litellm.acompletion` would be called with.
            about: tells sets of parameters apart; hashable.

        Raises:
            HttpError: the answer is no success.
            ProviderError: the answer cannot be read.
            Exception: see `post`.
        """
        url, headers, data = self.request(arguments, about)
        answer = await post(url, headers, body_of(data))
        return self.read(answer, arguments, about, data)

    def request(
        self, arguments: Mapping[str, Any], about: Any
    ) -> tuple[str, dict[str, str], dict[str, Any]]:
        """Address, headers and body of a call, the texts among it.

        Raises:
            Exception: litellm's, for a parameter that the model does not take.
        """
        messages = arguments["messages"]
        optional, extra, _ = self._mapped(arguments, about)
        url, headers = self._head(messages, optional, arguments, about)
        if self.provider == "gemini":
            data = self._gemini_body(messages, optional)
        else:
            data = self._config.transform_request(
                model=self._name,
                messages=messages,
                optional_params=optional,
                litellm_params={},
                headers=headers,
            )
        return url, headers, {**data, **extra} if extra else data

    def read(
        self, answer: Answer, arguments: Mapping[str, Any], about: Any, data: Any = None
    ) -> Any:
        """litellm's answer object for a received answer.

        Args:
            answer: as it came.
            arguments, about: as for `complete`.
            data: the body that was sent, where it is known.

        Raises:
            HttpError: it is no success.
            ProviderError: it cannot be read.
        """
        if answer.status_code >= 300:
            raise HttpError(answer)
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
        counts = any(name in answer.content for name in _COUNTS)
        if not counts:
            load_encodings()  # litellm counts the tokens itself, of what it is given below
        optional, _, json_mode = self._mapped(arguments, about)
        answer_object = self._litellm.ModelResponse()
        if self.provider in _BY_OPENAI and self.provider != "openai":
            answer_object.model = f"{self.provider}/{self._name}"
        try:
            return self._config.transform_response(
                model=self._name,
                raw_response=answer,
                model_response=answer_object,
                logging_obj=_NoLog(),
                request_data={} if counts or data is None else data,
                messages=[] if counts else arguments["messages"],
                optional_params=optional,
                litellm_params={},
                encoding=None,
                api_key=self._key,
                json_mode=json_mode,
            )
        except Exception as error:
            bare = _without_usage(said)
            if bare is not None:
                # litellm falls over counts that cannot be: the answer may be good all the same.
                content = json.dumps(bare).encode()
                with contextlib.suppress(ProviderError):
                    good = self.read(
                        Answer(answer.status_code, answer.headers, content), arguments, about, data
                    )
                    good.usage = None
                    return good
            raise ProviderError(
                "bad_reply",
                f"the answer is not in the provider's form ({type(error).__name__})",
                status=answer.status_code,
                may_be_billed=True,
            ) from error

    def _mapped(self, arguments: Mapping[str, Any], about: Any) -> tuple[dict[str, Any], Any, bool]:
        """Parameters in the provider's words, what is added to the body, whether JSON is asked."""
        kept = self._parameters.get(about)
        if kept is None:
            asked = {k: v for k, v in arguments.items() if k not in _NOT_MAPPED}
            asked.pop("extra_headers", None)
            mapped = mapped_parameters(self._name, self._words, asked)
            for flag in ("stream", "fake_stream"):
                mapped.pop(flag, None)
            kept = {
                "json_mode": bool(mapped.pop("json_mode", False)),
                "extra_body": mapped.pop("extra_body", None),
                "mapped": mapped,
            }
            if len(self._parameters) >= _MOST_KEPT:
                self._parameters.clear()
                self._heads.clear()
            self._parameters[about] = kept
        return dict(kept["mapped"]), kept["extra_body"], kept["json_mode"]

    def _head(
        self, messages: Any, optional: dict[str, Any], arguments: Mapping[str, Any], about: Any
    ) -> tuple[str, dict[str, str]]:
        kinds = tuple(isinstance(message["content"], str) for message in messages)
        kept = self._heads.get((about, kinds))
        if kept is None:
            kept = self._heads[about, kinds] = self._new_head(messages, optional, arguments)
        return kept[1], dict(kept[0])

    def _new_head(
        self, messages: Any, optional: dict[str, Any], arguments: Mapping[str, Any]
    ) -> tuple[dict[str, str], str]:
        key: Any = self._key
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
        else:
            is_anthropic = self.provider == "anthropic"
            base = self._base or (_ANTHROPIC if is_anthropic else None)
            url = self._config.get_complete_url(
                api_base=base,
                api_key=self._key,
                model=self._name,
                optional_params=optional,
                litellm_params={},
                stream=False,
            )
            if is_anthropic and not url.endswith("/v1/messages"):
                # litellm adds it beside its class.
                url = f"{url.rstrip('/')}/v1/messages"
        headers = self._config.validate_environment(
            headers={**self._config.get_attribution_headers(), **_given_headers(arguments)},
            api_key=key,
            api_base=self._base,
            model=self._name,
            messages=messages,
            optional_params=optional,
            litellm_params={},
        )
        if self.provider.startswith("ollama") and self._key:
            headers.setdefault("Authorization", f"Bearer {self._key}")
        if self.provider == "openai" and self._own_address:
            for name, variable in _OPENAI_HEADERS:
                if value := os.environ.get(variable):
                    headers.setdefault(name, value)
        return {"Content-Type": "application/json", **headers}, url

    def _gemini_body(self, messages: Any, optional: dict[str, Any]) -> Any:
        """Google's translation stands beside its class, not in it."""
        from litellm.llms.vertex_ai.gemini import transformation

        return transformation.transform_request_body(
            messages=messages,
            model=self._name,
            optional_params=optional,
            custom_llm_provider="gemini",
            litellm_params={},
            cached_content=None,
        )


_NOT_SENT_ON = frozenset({"accept-encoding", "connection", "content-length", "cookie", "host"})
_OPENAIS_OWN = frozenset({"openai-organization", "openai-project"})
"""Of a customer of OpenAI; nobody else is told."""
_OPENAI_HEADERS = (
    ("OpenAI-Organization", "OPENAI_ORGANIZATION"),
    ("OpenAI-Organization", "OPENAI_ORG_ID"),
    ("OpenAI-Project", "OPENAI_PROJECT_ID"),
)


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


def is_translatable(spec: BackendSpec) -> bool:
    """Whether calls of this backend are no more than litellm's translation."""
    litellm = litellm_module()
    if spec.provider not in TRANSLATED:
        return False
    if _has_other_address(litellm, spec):
        return False
    from litellm.types.utils import all_litellm_params

    own = {*all_litellm_params} - {"extra_headers", "extra_body"}
    return own.isdisjoint(spec.extra)


def _has_other_address(litellm: Any, spec: BackendSpec) -> bool:
    """Whether litellm asks this model through OpenAI's newer API, /responses."""
    name = spec.model.partition("/")[2]
    entry = litellm.model_cost.get(name) or litellm.model_cost.get(spec.model) or {}
    return name.startswith("responses/") or entry.get("mode") == "responses"


def somebody_listens() -> bool:
    """Whether somebody in this process has litellm tell them of calls, or count their cost."""
    litellm = litellm_module()
    if getattr(litellm, "max_budget", None):
        return True
    for name in _LISTENERS:
        # litellm enters "cache" by itself, for its own cache.
        if any(one != "cache" for one in getattr(litellm, name, None) or ()):
            return True
    return False


@dataclass(slots=True)
class _Call:
    """One call through `litellm.acompletion`, as our transport saw it."""

    is_own_address: bool = True
    sent: bool = False
    failure: Exception | None = None


_call: ContextVar[_Call | None] = ContextVar("areopagus_call", default=None)


class LitellmCalls:
    """Calls of one backend through `litellm.acompletion`, over our connections."""

    def __init__(self, spec: BackendSpec) -> None:
        self._spec = spec
        self._clients: dict[Any, Any] = {}

    async def complete(self, arguments: Mapping[str, Any], *, embeds: bool = False) -> Any:
        """litellm's answer object; one request at most is sent.

        Args:
            arguments: of `litellm.acompletion`.
            embeds: those of `litellm.aembedding` instead, which takes no client for some providers
                (Ollama's): their requests are litellm's own.

        Raises:
            HttpError, ProviderError, RedirectedError: as for a translated call.
            Exception: whatever else litellm raises.
        """
        litellm = litellm_module()
        call = _Call(self._spec.api_base is None)
        token = _call.set(call)
        try:
            if litellm.drop_params is True and not embeds:
                self._refuse_what_is_dropped(litellm, arguments)
            client = self._client(litellm, arguments)
            function = litellm.aembedding if embeds else litellm.acompletion
            answer = await function(
                **arguments,
                drop_params=False,
                caching=False,
                cache={"no-cache": True, "no-store": True},
                **({} if client is None else {"client": client}),
            )
        except Exception:
            if call.failure is None:
                raise
        finally:
            _call.reset(token)
        if call.failure is not None:
            raise call.failure  # not litellm's retelling of it
        is_unseen = client is not None and not call.sent and self._spec.api_base is not None
        if is_unseen and not embeds:
            # Whatever sent it does not keep our promises.
            raise ProviderError(
                "bad_request",
                f"litellm asks {self._spec.provider} by a client that may follow redirects",
                may_be_billed=True,
            )
        return answer

    def _refuse_what_is_dropped(self, litellm: Any, arguments: Mapping[str, Any]) -> None:
        name, provider, _, _ = litellm.get_llm_provider(
            self._spec.model, api_base=self._spec.api_base, api_key=arguments.get("api_key")
        )
        asked = {k: v for k, v in arguments.items() if k not in _NOT_MAPPED}
        mapped_parameters(name, provider, asked)

    def _client(self, litellm: Any, arguments: Mapping[str, Any]) -> Any:
        provider = self._spec.provider
        if provider in {entry["provider"] for entry in litellm.custom_provider_map}:
            return None  # answered in this process
        key = arguments.get("api_key")
        about = asyncio.get_running_loop(), key, environment_state()
        if about not in self._clients:
            self._clients.clear()
            load_encodings()  # litellm counts the tokens of answers that do not say
            self._clients[about] = _new_client(litellm, self._spec, key)
        return self._clients[about]


def may_follow_redirects(spec: BackendSpec) -> bool:
    """Whether litellm asks at a user's address by a client that nothing keeps from redirects."""
    guarded = spec.provider in _BY_OPENAI or spec.provider in _BY_HANDLER
    return spec.api_base is not None and not guarded and spec.provider != "azure"


def _new_client(litellm: Any, spec: BackendSpec, key: str | None) -> Any:
    """What litellm takes as a client for this provider, over our connections."""
    import httpx

    http = httpx.AsyncClient(transport=_transport(httpx), trust_env=False)
    _, provider, found_key, base = litellm.get_llm_provider(
        spec.model, api_base=spec.api_base, api_key=key
    )
    if provider == "azure":
        return _azure_client(spec, key, http)
    if provider in _BY_OPENAI and not _has_other_address(litellm, spec):
        import openai

        return openai.AsyncOpenAI(
            api_key=found_key or key or os.environ.get("OPENAI_API_KEY") or NO_KEY,
            base_url=base or "https://api.openai.com/v1",
            max_retries=0,
            http_client=cast("Any", http),  # which may be of another library than the types say
        )
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    return AsyncHTTPHandler(transport=_transport(httpx), follow_redirects=False)


def _azure_client(spec: BackendSpec, key: str | None, http: Any) -> Any:
    import openai
    from litellm.llms.azure.common_utils import BaseAzureLLM

    given = BaseAzureLLM().initialize_azure_sdk_client(
        litellm_params={},
        api_key=key or os.environ.get("AZURE_OPENAI_API_KEY") or os.environ.get("AZURE_API_KEY"),
        api_base=spec.api_base,
        model_name=spec.model.partition("/")[2],
        api_version=spec.extra.get("api_version") or os.environ.get("AZURE_API_VERSION"),
        is_async=True,
    )
    return openai.AsyncAzureOpenAI(**{**given, "http_client": http, "max_retries": 0})


def _transport(httpx: Any) -> Any:
    """A transport for httpx's clients that sends by `post`, at most once a call."""

    class Transport(httpx.AsyncBaseTransport):  # type: ignore[misc]
        async def handle_async_request(self, request: Any) -> Any:
            call = _call.get() or _Call()
            if call.sent:
                raise httpx.RemoteProtocolError("a second request of one call is not sent")
            call.sent = True
            body = await request.aread()
            dropped = _NOT_SENT_ON if call.is_own_address else _NOT_SENT_ON | _OPENAIS_OWN
            headers = {n: v for n, v in request.headers.items() if n not in dropped}
            try:
                answer = await post(str(request.url), headers, body or None, method=request.method)
            except Exception as error:
                call.failure = error
                raise httpx.ReadError(str(error)) from error
            if answer.status_code >= 400:
                call.failure = HttpError(answer)
            kept = {
                name: value
                for name, value in answer.headers.items()
                if name not in ("content-encoding", "content-length", "transfer-encoding")
            }
            return httpx.Response(
                answer.status_code, headers=kept, content=answer.content, request=request
            )

    return Transport()


class _NoLog:
    """In place of litellm's log of a call: takes everything, keeps nothing."""

    def __init__(self) -> None:
        self.model_call_details: dict[str, Any] = {}
        self.optional_params: dict[str, Any] = {}
        self.litellm_params: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return lambda *given, **named: None


_written_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def body_of(data: Any) -> bytes:
    """A body as it is sent."""
    return _written_json(data).encode()


def _given_headers(arguments: Mapping[str, Any]) -> dict[str, str]:
    given = arguments.get("extra_headers")
    return dict(given) if isinstance(given, Mapping) else {}
