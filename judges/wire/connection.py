"""One POST over litellm's own pool of connections, without litellm's road to it."""

from __future__ import annotations

import asyncio
from typing import Any

from .passage import Received, Sent


class Connection:
    """Sends bodies to the address of a request that litellm has sent before.

    The pool, its certificates and the environment's proxies are those of litellm's transport;
    redirects are not followed.
    """

    def __init__(self, sent: Sent) -> None:
        from aiohttp import ClientTimeout
        from httpx import Request
        from multidict import CIMultiDict
        from yarl import URL

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
        # litellm's transport looks up at every request whether there is a proxy to take.
        self._request = Request(sent.method, sent.url)

    async def post(self, body: bytes) -> Received:
        """What came back, whole or broken off."""
        session = self._transport.get_valid_client_session()
        status, headers = 0, ()
        received = b""
        proxy = await self._transport._get_proxy_settings(self._request)
        try:
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
                received = await response.read()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # A connector that is closed cancels what waits for it, which nobody here had cancelled.
            return Received(status, headers, received, error)
        except Exception as error:
            return Received(status, headers, received, error)
        return Received(status, headers, received)
