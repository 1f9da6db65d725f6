"""Calls to batch endpoints that litellm does not make: over its connections, with its headers."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

from ..errors import ProviderError
from ..judges.models.credentials import redact
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.provider_errors import classify
from ..judges.models.request import Request
from ..judges.wire.connection import Connection
from .wire_form import RequestWriter

CALL_S = 120.0
TRANSFER_S = 1800.0
"""Seconds for a call that carries requests or results."""


class _HttpError(Exception):
    """An answer that is no success, for `classify`."""

    def __init__(self, status: int, text: str, headers: dict[str, str]) -> None:
        super().__init__(text)
        self.status_code = status
        self.litellm_response_headers = headers


class DirectCalls:
    """Calls to addresses beside the one at which litellm asks a model.

    Key, headers, connections and proxies are those of litellm's own request; redirects are not
    followed, and an address in an answer is never called.
    """

    def __init__(
        self, backend: LitellmBackend, writer: RequestWriter, sample: Request, *, chat_path: str
    ) -> None:
        """Takes what it needs to know an address.

        Args:
            backend: whose.
            writer: has litellm write the request from which all is taken.
            sample: any request to the backend.
            chat_path: the end of the address at which it asks; what comes before is kept.
        """
        self._backend = backend
        self._writer = writer
        self._sample = sample
        self._chat_path = chat_path

    async def call(
        self, method: str, path: str, body: bytes = b"", *, limit_s: float = CALL_S
    ) -> bytes:
        """The body of the answer.

        Raises:
            ProviderError: there is none, or no success.
        """
        if self._writer.sent is None:
            await self._writer.body(self._sample)
        sent = self._writer.sent
        base = "" if sent is None else sent.url.partition("?")[0]
        if sent is None or not base.endswith(self._chat_path):
            raise ProviderError("bad_request", "this model is not asked at an address for batches")
        url = base.removesuffix(self._chat_path) + path
        secrets = self._backend.secrets()
        try:
            async with asyncio.timeout(limit_s):
                received = await Connection(replace(sent, method=method, url=url, body=body)).post(
                    body
                )
        except TimeoutError as error:
            raise ProviderError(
                "timeout", f"no answer within {limit_s:g} s", may_be_billed=True
            ) from error
        if received.broken is not None:
            raise classify(received.broken, secrets=secrets) from received.broken
        if 300 <= received.status < 400:
            # No "not_found": that would say that there is no such batch, and buy another one.
            raise ProviderError("bad_request", "the address redirects, which is not followed")
        try:
            content = received.content
        except Exception as error:
            raise classify(error, secrets=secrets) from error
        if received.status != 200:
            said = redact(content.decode(errors="replace"), secrets=secrets)
            headers = {
                name.decode("latin-1").lower(): value.decode("latin-1")
                for name, value in received.headers
            }
            raise classify(_HttpError(received.status, said, headers), secrets=secrets)
        return content


def json_object(content: bytes) -> dict[str, Any]:
    """The object in an answer; an empty one where it is something else.

    Raises:
        ProviderError: it is no JSON.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ProviderError(
            "bad_reply", "the batch endpoint answered no JSON", may_be_billed=True
        ) from error
    return found if isinstance(found, dict) else {}
