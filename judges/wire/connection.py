"""One POST over litellm's own pool of connections, without litellm's road to it."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Any

from ...environment import environment_state
from .exchange import Exchanges
from .passage import Received, Sent


class Connection:
    """Sends bodies to the address of a request that litellm has sent before.

    The pool, its certificates and the environment's proxies are those of litellm's transport;
    redirects are not followed. Requests go straight over the pool's connections (`exchange`) where
    aiohttp's client would add nothing to them, and through that client everywhere else: by way of
    a proxy, in a session that somebody has given cookies, headers or listeners, and once an answer
    came that only another parser may be able to read.
    """

    def __init__(self, sent: Sent) -> None:
        import litellm
        from aiohttp import ClientTimeout
        from httpx import Request
        from multidict import CIMultiDict
        from yarl import URL

        self._litellm = litellm
        self._transport = sent.transport
        self._method = sent.method
        self._url = URL(sent.url, encoded=True)
        self._headers = CIMultiDict(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in sent.headers
            if name.lower() != b"content-length"  # counted anew for every body
        )
        # The whole answer has a time limit, and a timer for each part of it costs more than it.
        self._no_timers = ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)
        self._options: dict[str, Any] = {}
        if self._transport._ssl_verify is not None:
            self._options["ssl"] = self._transport._ssl_verify
        self._request = Request(sent.method, sent.url)
        self._without_proxy: Hashable = None
        self._straight: tuple[Any, Exchanges | None] = None, None

    async def post(self, body: bytes) -> Received:
        """What came back, whole or broken off."""
        session = self._transport.get_valid_client_session()
        proxy = await self._proxy()
        exchanges = self._exchanges(session) if proxy is None else None
        try:
            if exchanges is not None:
                return await exchanges.post(body, self._no_timers)
            return await self._by_client(session, body, proxy)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # A connector that is closed cancels what waits for it, which nobody here had cancelled.
            return Received(0, (), b"", error)
        except Exception as error:
            return Received(0, (), b"", error)

    async def _by_client(self, session: Any, body: bytes, proxy: str | None) -> Received:
        """By aiohttp's client."""
        async with session.request(
            self._method,
            self._url,
            data=body,
            headers=self._headers,
            allow_redirects=False,
            auto_decompress=False,
            timeout=self._no_timers,
            proxy=proxy,
            **self._options,
        ) as response:
            status, headers = response.status, response.raw_headers
            try:
                return Received(status, headers, await response.read())
            except Exception as error:
                return Received(status, headers, b"", error)

    async def _proxy(self) -> str | None:
        """The proxy that litellm's transport would take now.

        That there is none is kept until the environment changes, or the switch for it: litellm
        looks both up at every request.
        """
        state = environment_state(), getattr(self._litellm, "disable_aiohttp_trust_env", None)
        if state == self._without_proxy:
            return None
        proxy: str | None = await self._transport._get_proxy_settings(self._request)
        self._without_proxy = state if proxy is None else None
        return proxy

    def _exchanges(self, session: Any) -> Exchanges | None:
        """The straight way over the session's connections; None where there is none."""
        known, exchanges = self._straight
        if known is not session:
            try:
                exchanges = self._new_exchanges(session)
            except (ImportError, AttributeError, TypeError, ValueError):
                exchanges = None  # aiohttp's client knows what to do, or what is wrong
            self._straight = session, exchanges
        return exchanges if exchanges is not None and exchanges.is_trusted else None

    def _new_exchanges(self, session: Any) -> Exchanges | None:
        from aiohttp import ClientRequest

        if not _is_plain(session):
            return None
        loop = asyncio.get_running_loop()
        request = ClientRequest(
            self._method,
            self._url,
            headers=self._headers,
            data=b"{}",
            loop=loop,
            session=session,
            **self._options,
        )
        return Exchanges(session, request)


def _is_plain(session: Any) -> bool:
    """Whether aiohttp's client would add nothing to a request, and tells nobody but litellm of it.

    litellm has itself told how long requests wait for the pool, for its log.
    """
    from aiohttp import ClientSession, DummyCookieJar

    return (
        type(session) is ClientSession
        and isinstance(session.cookie_jar, DummyCookieJar)
        and not (session.headers or session.auth or session.trust_env or session.skip_auto_headers)
        and not any(getattr(session, name, None) for name in ("_middlewares", "_default_proxy"))
        and all(
            type(config.trace_config_ctx()).__module__.startswith("litellm.")
            for config in session.trace_configs
        )
    )
