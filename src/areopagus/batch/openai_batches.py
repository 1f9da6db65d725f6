"""Batches in OpenAI's way, through litellm: a file goes up, a batch is made of it, files come down.

Limits and forms: platform.openai.com/docs/guides/batch.
"""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..errors import ProviderError
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.litellm_setup import litellm_module
from ..judges.models.provider_errors import classify
from ..judges.models.request import Request
from ..judges.wire import Received
from .direct import CALL_S, TRANSFER_S, DirectCalls, json_object
from .providers import BatchResults, BatchState, LineResult, ProviderKind, results_of
from .wire_form import RequestWriter, arguments_of

_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_PATHS = ("/chat/completions", "/responses")
_FULL = "token_limit_exceeded"
# litellm makes a client for each of these calls and never closes it: a day of looking would leave
# a thousand connections open.
_ONE_USE = {"Connection": "close"}
# Of a batch that has ended litellm would fetch all results by itself, behind the caller's back, to
# work out a cost.
_NO_DOWNLOAD = {"batch_ignore_default_logging": True}
_A_PAGE = 100
_MOST_PAGES = 100
_CLOCKS_APART = timedelta(days=2)
JSON_HEADERS = ((b"content-type", b"application/json"),)


class OpenAIBatches:
    """Batches at OpenAI, and at servers that have its /files and /batches."""

    kind: ProviderKind = "openai"
    most_requests = 50_000
    most_bytes = 200_000_000

    def __init__(self, backend: LitellmBackend, writer: RequestWriter, sample: Request) -> None:
        self._backend = backend
        self._writer = writer
        self._sample = sample

    def line(self, custom_id: str, body: bytes) -> bytes:
        """See `BatchProvider.line`."""
        head = json.dumps({"custom_id": custom_id, "method": "POST", "url": self._path()})
        # The body as litellm wrote it, not read and written again.
        return head[:-1].encode() + b', "body": ' + body + b"}\n"

    async def upload(self, path: Path) -> str | None:
        """See `BatchProvider.upload`."""
        with path.open("rb") as file:
            made = await self._call(
                litellm_module().acreate_file,
                file=("requests.jsonl", file),
                purpose="batch",
                limit_s=TRANSFER_S,
            )
        return _id_of(made)

    async def create(self, path: Path, file_id: str | None) -> str:
        """See `BatchProvider.create`."""
        made = await self._call(
            litellm_module().acreate_batch,
            completion_window="24h",
            endpoint=self._path(),
            input_file_id=file_id,
        )
        return _id_of(made)

    async def find(self, file_id: str | None, *, since: datetime) -> tuple[bool, str | None]:
        """See `BatchProvider.find`: batches name the files that they were made of."""
        # Not through litellm, which takes no headers for a list and leaves its connection open.
        direct = DirectCalls(
            self._backend, self._writer, self._sample, chat_path=self._path().removeprefix("/v1")
        )
        after = ""
        for _ in range(_MOST_PAGES):
            page = json_object(await direct.call("GET", f"/batches?limit={_A_PAGE}{after}"))
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
        found = await self._call(
            litellm_module().aretrieve_batch, batch_id=batch_id, litellm_metadata=_NO_DOWNLOAD
        )
        status = str(getattr(found, "status", ""))
        counts = getattr(found, "request_counts", None)
        done = sum(getattr(counts, name, None) or 0 for name in ("completed", "failed"))
        errors = getattr(getattr(found, "errors", None), "data", None) or []
        said = "; ".join(str(getattr(error, "message", "")) for error in errors[:3])
        files = tuple(
            name
            for name in (
                getattr(found, "output_file_id", None),
                getattr(found, "error_file_id", None),
            )
            if name
        )
        return BatchState(
            status,
            status in _ENDED,
            done,
            (said or status) if status == "failed" else None,
            files,
            any(str(getattr(error, "code", "")) == _FULL for error in errors),
        )

    async def results(self, batch_id: str, state: BatchState) -> BatchResults:
        """See `BatchProvider.results`: answers lie in one file, refusals in another."""
        lines: list[bytes] = []
        gone: ProviderError | None = None
        for file_id in state.files:
            try:
                content = await self._call(
                    litellm_module().afile_content, file_id=file_id, limit_s=TRANSFER_S
                )
            except ProviderError as error:
                if error.fault != "not_found":
                    raise
                gone = error
                continue
            lines += content.content.splitlines()
        if gone is not None and not lines:
            raise gone
        return results_of(map(_line, lines), is_whole=gone is None)

    def _path(self) -> str:
        url = self._writer.sent.url if self._writer.sent is not None else ""
        for path in _PATHS:
            if url.partition("?")[0].endswith(path):
                return f"/v1{path}"
        raise ProviderError("bad_request", "this model is not asked at an address for batches")

    async def _call(self, function: Any, *, limit_s: float = CALL_S, **given: Any) -> Any:
        arguments = arguments_of(self._backend, self._sample)
        named = {name: arguments[name] for name in ("api_base", "api_key") if name in arguments}
        try:
            async with asyncio.timeout(limit_s):
                return await function(
                    custom_llm_provider="openai",
                    timeout=limit_s,
                    max_retries=0,
                    extra_headers=_ONE_USE,
                    **named,
                    **given,
                )
        except TimeoutError as error:
            raise ProviderError(
                "timeout", f"no answer within {limit_s:g} s", may_be_billed=True
            ) from error
        except Exception as error:
            raise classify(error, secrets=self._backend.secrets()) from error


def _id_of(made: Any) -> str:
    name = getattr(made, "id", None)
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
        return LineResult(custom_id, Received(status, JSON_HEADERS, body))
    code = error.get("code") if isinstance(error, dict) else None
    return LineResult(custom_id, None, str(code or "no response").removeprefix("batch_"))
