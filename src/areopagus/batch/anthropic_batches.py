"""Anthropic's batch endpoint: requests go up in one body, results come down as lines.

What stands in a batch is what would be sent online. Limits and forms: docs.anthropic.com, Message
Batches.
"""

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from ..errors import ProviderError
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.request import Request
from ..judges.models.transport import Answer
from .openai_batches import JSON_HEADERS
from .providers import (
    TRANSFER_S,
    BatchResults,
    BatchState,
    EndpointCalls,
    LineResult,
    ProviderKind,
    json_object,
    results_of,
)

_MESSAGES = "/v1/messages"
_BATCHES = "/v1/messages/batches"
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class AnthropicBatches:
    """Message batches at Anthropic."""

    kind: ProviderKind = "anthropic"
    most_requests = 100_000
    most_bytes = 256_000_000

    def __init__(self, backend: LitellmBackend, sample: Request) -> None:
        """See `EndpointCalls`."""
        self._calls = EndpointCalls(backend, sample, chat_path=_MESSAGES)

    def line(self, custom_id: str, body: bytes) -> bytes:
        """See `BatchProvider.line`."""
        return b'{"custom_id": "' + custom_id.encode() + b'", "params": ' + body + b"},\n"

    async def upload(self, path: Path) -> str | None:
        """Nothing: the requests go up with the batch."""
        return None

    async def create(self, path: Path, file_id: str | None) -> str:
        """See `BatchProvider.create`."""
        lines = await asyncio.to_thread(path.read_bytes)
        body = b'{"requests": [\n' + lines.rstrip(b",\n") + b"\n]}"
        made = json_object(await self._calls.call("POST", _BATCHES, body, limit_s=TRANSFER_S))
        name = made.get("id")
        if not isinstance(name, str) or not name:
            raise ProviderError("bad_reply", "the batch endpoint gave no id", may_be_billed=True)
        return name

    async def find(self, file_id: str | None, *, since: datetime) -> tuple[bool, str | None]:
        """Cannot be told: nothing in a batch says what it was made of."""
        return False, None

    async def look(self, batch_id: str) -> BatchState:
        """See `BatchProvider.look`."""
        found = json_object(await self._calls.call("GET", f"{_BATCHES}/{quote(batch_id, safe='')}"))
        status = str(found.get("processing_status"))
        counts = found.get("request_counts")
        done = sum(
            number
            for name, number in (counts if isinstance(counts, dict) else {}).items()
            if name != "processing" and isinstance(number, int)
        )
        return BatchState(status, status == "ended", done)

    async def results(self, batch_id: str, state: BatchState) -> BatchResults:
        """See `BatchProvider.results`.

        The address is made here and not taken from the answer: the key goes there.
        """
        path = f"{_BATCHES}/{quote(batch_id, safe='')}/results"
        return results_of(
            map(_line, (await self._calls.call("GET", path, limit_s=TRANSFER_S)).splitlines())
        )


def _line(line: bytes) -> LineResult | None:
    try:
        found = json.loads(line)
        custom_id, result = found["custom_id"], found["result"]
        kind = str(result["type"])
        if kind == "succeeded":
            body, status = json.dumps(result["message"]).encode(), 200
        elif kind == "errored":
            error = result["error"]
            inner = error.get("error", error)
            status = _STATUS.get(str(inner.get("type")), 500)
            body = json.dumps({"type": "error", "error": inner}).encode()
        else:
            body, status = b"", 0
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(custom_id, str):
        return None
    if status:
        return LineResult(custom_id, Answer(status, JSON_HEADERS, body))
    return LineResult(custom_id, None, kind)
