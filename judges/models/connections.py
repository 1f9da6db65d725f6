"""Our own connections: one request, no redirect, no cookie, and an answer of bounded size.

Whatever calls a model sends by `post`: litellm's translations, the client that litellm's own calls
are handed, and the batches.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ipaddress
import json
import zlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]
from weakref import WeakKeyDictionary

from ...async_runner import submit
from ...environment import environment_state
from ...errors import ProviderError
from .litellm_setup import litellm_module

MOST_BYTES = 8_000_000
"""Of an answer, packed or unpacked."""
MOST_USES = 128
"""Of one connection."""
_WATCH_S = 0.2
_LOOKS = 4
"""Shortest time for which a used-up connection is watched, and how often it is looked at."""
_MOST_WATCHED = 32
"""At once; each keeps a file open."""
_CONNECT_S = 30.0
_UNPACKED = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""zlib's word for each."""


@dataclass
class Answer:
    """An answer, with as much of httpx's face as litellm's translations look at.

    Attributes:
        status_code: of HTTP.
        headers: names in small letters.
        content: the body, unpacked.
    """

    status_code: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode()

    def json(self) -> Any:
        """The body's value, read once."""
        return self._value

    @cached_property
    def _value(self) -> Any:
        return json.loads(self.content)


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

    def __str__(self) -> str:
        return f"the address redirects to {self.args[0]}, which is not followed"


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
        names = {name.lower(): value for name, value in response.headers.items()}
        if 300 <= response.status < 400 and "location" in names:
            raise RedirectedError(names["location"])
        content = bytearray()
        async for part in response.content.iter_any():
            content += part
            if len(content) > most_bytes:
                response.close()  # what is left of it is not waited for
                raise _too_long(most_bytes)
        session.connector.check(response.url)
        packed = names.get("content-encoding", "identity").strip().lower()
        whole = bytes(content)
        if packed not in ("", "identity"):
            whole = _unpacked(whole, packed, most_bytes)
        return Answer(response.status, names, whole)


def _unpacked(content: bytes, packed: str, most: int) -> bytes:
    """The content of an answer that came packed, unasked."""
    if packed not in _UNPACKED:
        raise _bad_reply(f"the answer is packed as {packed!r}, unasked")
    try:
        plain = zlib.decompressobj(_UNPACKED[packed]).decompress(content, most + 1)
    except zlib.error as error:
        raise _bad_reply(f"the packed answer is damaged: {error}") from error
    if len(plain) > most:
        raise _too_long(most)
    return plain


def refuse_stream(answer: Answer) -> None:
    """Checks that an answer is no stream of events, which nobody asks for.

    Raises:
        ProviderError: it is.
    """
    kind = answer.headers.get("content-type", "")
    if "text/event-stream" in kind.lower() or answer.content.lstrip().startswith(b"data:"):
        raise ProviderError(
            "bad_reply",
            "the endpoint streams its answers (text/event-stream), though no stream was asked for; "
            "switch forced streaming off there",
            status=answer.status_code,
            may_be_billed=True,
            closes_backend=True,
        )


def _too_long(most: int) -> ProviderError:
    return _bad_reply(f"the answer is longer than {most:,} bytes")


def _bad_reply(detail: str) -> ProviderError:
    return ProviderError("bad_reply", detail, may_be_billed=True)


# Proxies and certificates. Both are kept for as long as the environment is the same.


@lru_cache(maxsize=256)
def proxy_of(url: str, _environment: int = 0) -> str | None:
    """The proxy for an address; None for a direct call, as to this machine always.

    What counts is HTTPS_PROXY and HTTP_PROXY by the address's scheme, else ALL_PROXY, and NO_PROXY
    (each also in small letters).
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host):
        return None
    proxies = getproxies_environment()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    name = f"{host}:{parts.port}" if parts.port else host
    if not proxy or proxy_bypass_environment(name, proxies):
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


# Sessions


_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Any, Any]] = WeakKeyDictionary()


async def _session() -> Any:
    """The running loop's session, which is closed when the loop is."""
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        owner = _open_session()
        _sessions[loop] = await anext(owner), owner
        _close_at_exit()
    return _sessions[loop][0]


async def _open_session() -> AsyncGenerator[Any]:
    # A loop that ends closes its asynchronous generators, and so this session.
    import aiohttp

    async with aiohttp.ClientSession(
        connector=_connector_class()(limit=0, ttl_dns_cache=60),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
        headers={"User-Agent": "areopagus"},
        auto_decompress=False,
        trust_env=False,
    ) as session:
        yield session


@lru_cache(maxsize=1)
def _connector_class() -> Any:
    import aiohttp

    class Connector(aiohttp.TCPConnector):
        """Connections that are used again only where each request has brought one answer.

        HTTP/1.1 does not say which request an answer belongs to. After a surplus answer every
        later call on the connection gets the answer of an earlier one, and only a pause shows
        that one too many has come. So a new address gets one call a connection. A used-up
        connection stays open for a while, and where nothing more comes the next ones may be used
        twice as often, up to `MOST_USES` times. Where something comes, every further call to the
        address has a connection of its own. If the connection had carried several calls, nobody
        knows which answers were whose: the address is not asked again.
        """

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            self._mixed_up: dict[tuple[str, int | None], int] = {}
            self._uses: WeakKeyDictionary[Any, tuple[int, float]] = WeakKeyDictionary()
            self._allowed: dict[Any, int] = {}
            self._n_watched = 0

        async def connect(self, req: Any, *given: Any, **named: Any) -> Any:
            """A connection on which nothing is waiting to be read."""
            self.check(req.connection_key)
            while True:
                connection = await super().connect(req, *given, **named)
                protocol: Any = connection.protocol
                uses, since = self._uses.get(protocol, (0, self._loop.time()))
                may_be_used = uses < max(1, self._allowed.get(req.connection_key, 1))
                if not uses or (
                    may_be_used and not self._has_surplus(req.connection_key, protocol, uses)
                ):
                    self._uses[protocol] = uses + 1, since
                    return connection
                connection.close()

        def _release(self, key: Any, protocol: Any, *, should_close: bool = False) -> None:
            uses, since = self._uses[protocol]
            # A call that was given up may leave its own answer unread.
            is_used_up = uses >= self._allowed.get(key, 1)
            if should_close or self._has_surplus(key, protocol, uses) or not is_used_up:
                super()._release(key, protocol, should_close=should_close)
                return
            if self._n_watched >= _MOST_WATCHED:
                protocol.abort()
                super()._release(key, protocol, should_close=True)
                return
            self._n_watched += 1
            # A real answer that a surplus one came before takes as long as any other.
            patience = max(_WATCH_S, 2 * (self._loop.time() - since) / uses)
            self._watch(key, protocol, uses, patience / _LOOKS, _LOOKS)

        def _watch(self, key: Any, protocol: Any, uses: int, pause: float, looks: int) -> None:
            if looks and not protocol.should_close:
                # Several looks: a loop that stands still for a while has seen nothing meanwhile.
                self._loop.call_later(pause, self._watch, key, protocol, uses, pause, looks - 1)
                return
            if not self._has_surplus(key, protocol, uses) and not looks:
                # Twice what this connection bore: many that were used once show no more than one.
                allowed = self._allowed.get(key, 1)
                self._allowed[key] = min(max(allowed, 2 * uses), MOST_USES) if allowed else 0
            self._n_watched -= 1
            protocol.abort()  # a farewell by TLS may outlast the loop
            super()._release(key, protocol, should_close=True)

        def check(self, key: Any) -> None:
            """Raises a ProviderError where answers of this address were mixed up."""
            uses = self._mixed_up.get((key.host, key.port))
            if uses is not None:
                raise ProviderError(
                    "bad_reply",
                    f"an answer that nobody asked for came over a connection that {uses} calls had "
                    "used: which answers belong to which calls is not known, and nothing further "
                    "is sent to this address",
                    may_be_billed=True,
                    closes_backend=True,
                )

        def _has_surplus(self, key: Any, protocol: Any, uses: int) -> bool:
            """Whether an answer came that nobody asked for; the address is remembered then."""
            if not len(protocol):
                return False
            # Some servers say 408 before they close a connection that nobody uses.
            waiting = getattr(protocol, "_buffer", ())
            if not waiting or any(message.code != 408 for (message, _), _ in waiting):
                self._allowed[key] = 0
                if uses > 1:
                    self._mixed_up.setdefault((key.host, key.port), uses)
            return True

    return Connector


@lru_cache(maxsize=1)
def _close_at_exit() -> None:
    """The package's own loop runs until the process ends: its session is closed before."""
    atexit.register(_close)


def _close() -> None:
    async def close() -> None:
        found = _sessions.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await found[1].aclose()

    with contextlib.suppress(Exception):
        submit(close()).result(timeout=2.0)
