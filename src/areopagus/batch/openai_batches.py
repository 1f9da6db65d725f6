"""OpenAI's batch endpoint: a file goes up, a batch is made of it, files come down.

Limits and forms: platform.openai.com/docs/guides/batch.
"""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from ..errors import ProviderError
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.request import Request
from ..judges.models.transport import Answer
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

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_CHAT = "/chat/completions"
_FULL = "token_limit_exceeded"
_A_PAGE = 100
_MOST_PAGES = 100
_CLOCKS_APART = timedelta(days=2)
JSON_HEADERS = {"content-type": "application/json"}


class OpenAIBatches:
    """Batches at OpenAI, and at servers that have its /files and /batches."""

    kind: ProviderKind = "openai"
    most_requests = 50_000
    most_bytes = 200_000_000

    def __init__(self, backend: LitellmBackend, sample: Request) -> None:
        """See `EndpointCalls`."""
        self._calls = EndpointCalls(backend, sample, chat_path=_CHAT)

    def line(self, custom_id: str, body: bytes) -> bytes:
        """See `BatchProvider.line`."""
        head = json.dumps({"custom_id": custom_id, "method": "POST", "url": f"/v1{_CHAT}"})
        # The body as it would be sent, not read and written again.
        return head[:-1].encode() + b', "body": ' + body + b"}\n"

    async def upload(self, path: Path) -> str | None:
        """See `BatchProvider.upload`."""
        import aiohttp

        with path.open("rb") as file:
            form = aiohttp.FormData()
            form.add_field("purpose", "batch")
            form.add_field(
                "file", file, filename="requests.jsonl", content_type="application/octet-stream"
            )
            made = await self._calls.call(
                "POST", "/files", form, headers=self._calls.without_body(), limit_s=TRANSFER_S
            )
        return _id_of(made)

    async def create(self, path: Path, file_id: str | None) -> str:
        """See `BatchProvider.create`."""
        asked = {
            "completion_window": "24h",
            "endpoint": f"/v1{_CHAT}",
            "input_file_id": file_id,
        }
        return _id_of(await self._calls.call("POST", "/batches", json.dumps(asked).encode()))

    async def find(self, file_id: str | None, *, since: datetime) -> tuple[bool, str | None]:
        """See `BatchProvider.find`: batches name the files that they were made of."""
        after = ""
        for _ in range(_MOST_PAGES):
            page = json_object(await self._calls.call("GET", f"/batches?limit={_A_PAGE}{after}"))
            batches = page.get("data")
            if not isinstance(batches, list):
                return False, None
            for batch in batches:
                if isinstance(batch, dict) and batch.get("input_file_id") == file_id:
                    return True, str(batch.get("id"))
            last = batches[-1] if batches and isinstance(batches[-1], dict) else {}
            if not page.get("has_more") or _is_before(last.get("created_at"), since):
                return True, None  # the newest come first
            if not last.get("id"):
                return False, None
            after = f"&after={quote(str(last['id']), safe='')}"
        return False, None

    async def look(self, batch_id: str) -> BatchState:
        """See `BatchProvider.look`."""
        found = json_object(await self._calls.call("GET", f"/batches/{quote(batch_id, safe='')}"))
        status = str(found.get("status") or "")
        counts = found.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        done = sum(_count(counts.get(name)) for name in ("completed", "failed"))
        errors = found.get("errors")
        listed = errors.get("data") if isinstance(errors, dict) else None
        told = [error for error in listed or () if isinstance(error, dict)]
        said = "; ".join(str(error.get("message") or "") for error in told[:3])
        names = (found.get("output_file_id"), found.get("error_file_id"))
        return BatchState(
            status,
            status in _ENDED,
            done,
            (said or status) if status == "failed" else None,
            tuple(name for name in names if isinstance(name, str) and name),
            any(error.get("code") == _FULL for error in told),
        )

    async def results(self, batch_id: str, state: BatchState) -> BatchResults:
        """See `BatchProvider.results`: answers lie in one file, refusals in another."""
        lines: list[bytes] = []
        gone: ProviderError | None = None
        for file_id in state.files:
            path = f"/files/{quote(file_id, safe='')}/content"
            try:
                content = await self._calls.call("GET", path, limit_s=TRANSFER_S)
            except ProviderError as error:
                if error.fault != "not_found":
                    raise
                gone = error
                continue
            lines += content.splitlines()
        if gone is not None and not lines:
            raise gone
        return results_of(map(_line, lines), is_whole=gone is None)


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _id_of(content: bytes) -> str:
    name = json_object(content).get("id")
    if not isinstance(name, str) or not name:
        raise ProviderError("bad_reply", "the batch endpoint gave no id", may_be_billed=True)
    return name


def _is_before(created_at: object, since: datetime) -> bool:
    """Whether a batch was made well before; False where it does not say when."""
    if not isinstance(created_at, int | float) or isinstance(created_at, bool):
        return False
    return created_at < (since - _CLOCKS_APART).timestamp()


def _line(line: bytes) -> LineResult | None:
    try:
        found = json.loads(line)
        custom_id = found["custom_id"]
        response, error = found.get("response"), found.get("error")
        status = int((response or {}).get("status_code") or 0)
        body = json.dumps((response or {}).get("body")).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not isinstance(custom_id, str):
        return None
    if status and not (error and status == 200):
        return LineResult(custom_id, Answer(status, JSON_HEADERS, body))
    code = error.get("code") if isinstance(error, dict) else None
    return LineResult(custom_id, None, str(code or "no response").removeprefix("batch_"))
