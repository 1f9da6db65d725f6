"""Batch endpoints: a file of requests goes up, one of results comes down; what calls cost there.

OpenAI takes a file and makes a batch of it; Anthropic takes the requests in one body. What stands
in a batch is what would be sent online. Limits and forms: platform.openai.com/docs/guides/batch,
and Message Batches at docs.anthropic.com.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeGuard
from urllib.parse import quote

from ..errors import ProviderError
from ..judges.models.connections import Answer
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.request import Request, ResponseFormat
from ..records.types import Usage

if TYPE_CHECKING:
    from ..experiment.dry_run import DryRun
    from ..graphs.panel_spec import PanelSpec
    from ..judges.models.backend import Backend

CALL_S = 120.0
TRANSFER_S = 1800.0
"""Seconds for a call that carries requests or results."""
MOST_BYTES = 2_000_000_000
"""Of the results of a batch."""
_JSON_HEADERS = {"content-type": "application/json"}


ProviderKind = Literal["openai", "anthropic"]
"""The two ways in which providers take batches."""


@dataclass(frozen=True, slots=True)
class BatchState:
    """What the provider says about a batch.

    Attributes:
        status: in the provider's own word.
        is_ended: whether nothing further will come.
        done: requests that are through, however they ended.
        detail: why it failed as a whole; None where it did not.
        files: where results lie, in the provider's terms.
        is_full: whether it failed for lack of room in the provider's queue.
    """

    status: str
    is_ended: bool
    done: int = 0
    detail: str | None = None
    files: tuple[str, ...] = ()
    is_full: bool = False


@dataclass(frozen=True, slots=True)
class BatchResults:
    """What became of the requests of a batch that has ended.

    Attributes:
        lines: `custom_id` to the answer as it would have come online, or to why there is none:
            "expired", "cancelled", or the provider's code. In no order, and not of all requests.
        is_whole: whether all that the provider had was fetched and read. Where it was not, a
            request without a line may have been answered, and paid.
    """

    lines: dict[str, Answer | str] = field(default_factory=dict)
    is_whole: bool = True


class BatchProvider(ABC):
    """The batch endpoint of one backend.

    It lies beside the address at which the backend's model is asked, and is called with the same
    key and headers. Redirects are not followed, and an address in an answer is never called.

    Attributes:
        backend: whose.
        response_format: the form in which structured output is asked for.
        prices: what calls cost in a batch; None where nobody says: unknown is not 0.
    """

    kind: ClassVar[ProviderKind]
    chat_path: ClassVar[str]
    """The end of the address at which a model is asked; what comes before is kept."""
    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    """Of the requests of one batch."""

    def __init__(
        self, backend: LitellmBackend, sample: Request, *, discount: float | None = None
    ) -> None:
        """Takes address, key and headers from any request to the backend.

        Args:
            backend: one that `takes_batches`.
            sample: any request to it.
            discount: see `BatchSettings`.

        Raises:
            ProviderError: its model is asked at another address.
        """
        self.backend = backend
        self.response_format: ResponseFormat = sample.structured
        self.prices = backend.pricing.in_batches(discount)
        asked = backend.translate_request(sample)
        url, self._headers = asked.url, asked.headers
        address = url.partition("?")[0]
        if not address.endswith(self.chat_path):
            raise ProviderError("bad_request", "this model is not asked at an address for batches")
        self._base = address.removesuffix(self.chat_path)

    @abstractmethod
    def line(self, custom_id: str, body: bytes) -> bytes:
        """A request as it stands in the file, with what separates it from the next."""

    async def upload(self, path: Path) -> str | None:
        """Hands the file over; nothing is asked yet. Its id; None where there is no such step.

        Raises:
            ProviderError: it was not taken.
        """
        return None

    @abstractmethod
    async def create(self, path: Path, file_id: str | None) -> str:
        """Has the requests asked; the id of the batch.

        Raises:
            ProviderError: there is no batch, or nobody knows whether there is one
                (`may_be_billed`).
        """

    async def find(self, file_id: str | None, *, since: datetime) -> tuple[bool, str | None]:
        """Whether it can be told if a batch was made of this file, and the id of that batch.

        Args:
            file_id: of the file.
            since: by this machine's clock, no batch was made of it before.

        Raises:
            ProviderError: the provider could not be asked.
        """
        return False, None

    @abstractmethod
    async def look(self, batch_id: str) -> BatchState:
        """How far a batch is.

        Raises:
            ProviderError: the provider could not be asked, or knows of no such batch.
        """

    @abstractmethod
    async def results(self, batch_id: str, state: BatchState) -> BatchResults:
        """What became of the requests of a batch that has ended.

        Raises:
            ProviderError: they could not be fetched; `not_found` where none of them is left.
        """

    async def _call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        is_json: bool = True,
        limit_s: float = CALL_S,
    ) -> bytes:
        """The body of the answer from an address beside that of the chat.

        Args:
            method: of HTTP.
            path: after the part of the address that all calls share.
            body: bytes, or a form of aiohttp's, which brings its own content type.
            is_json: whether the content type of a chat fits the body.
            limit_s: seconds for all of it.

        Raises:
            ProviderError: there is none, or no success.
        """
        from ..judges.models.connections import HttpError, RedirectedError, post
        from ..judges.models.provider_errors import one_attempt

        headers = {
            name: value
            for name, value in self._headers.items()
            if is_json or name.lower() != "content-type"
        }

        async def attempt() -> bytes:
            try:
                answer = await post(
                    self._base + path, headers, body, method=method, most_bytes=MOST_BYTES
                )
            except RedirectedError as error:
                # No "not_found": that would say there is no such batch, and buy another one.
                raise ProviderError(
                    "bad_request", "the address redirects, which is not followed"
                ) from error
            if answer.status_code != HTTPStatus.OK:
                raise HttpError(answer)
            return answer.content

        return await one_attempt(attempt(), limit_s, self.backend.secrets)


class OpenAIBatches(BatchProvider):
    """Batches at OpenAI, and at servers that have its /files and /batches."""

    kind = "openai"
    chat_path = "/chat/completions"
    most_requests = 50_000
    most_bytes = 200_000_000

    _ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
    _FULL = "token_limit_exceeded"
    _A_PAGE = 100
    _MOST_PAGES = 100
    _CLOCKS_APART = timedelta(days=2)

    def line(self, custom_id: str, body: bytes) -> bytes:
        """See `BatchProvider.line`."""
        head = json.dumps({"custom_id": custom_id, "method": "POST", "url": f"/v1{self.chat_path}"})
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
            made = await self._call("POST", "/files", form, is_json=False, limit_s=TRANSFER_S)
        return _id_of(made)

    async def create(self, path: Path, file_id: str | None) -> str:
        """See `BatchProvider.create`."""
        asked = {
            "completion_window": "24h",
            "endpoint": f"/v1{self.chat_path}",
            "input_file_id": file_id,
        }
        return _id_of(await self._call("POST", "/batches", json.dumps(asked).encode()))

    async def find(self, file_id: str | None, *, since: datetime) -> tuple[bool, str | None]:
        """See `BatchProvider.find`: batches name the files that they were made of."""
        oldest = (since - self._CLOCKS_APART).timestamp()
        after = ""
        for _ in range(self._MOST_PAGES):
            page = _object(await self._call("GET", f"/batches?limit={self._A_PAGE}{after}"))
            batches = page.get("data")
            if not isinstance(batches, list):
                return False, None
            for batch in batches:
                if isinstance(batch, dict) and batch.get("input_file_id") == file_id:
                    return True, str(batch.get("id"))
            last = _mapping(batches[-1] if batches else None)
            made = last.get("created_at")
            is_older = isinstance(made, int | float) and made < oldest
            if not page.get("has_more") or is_older:
                return True, None  # the newest come first
            if not last.get("id"):
                return False, None
            after = f"&after={_quoted(str(last['id']))}"
        return False, None

    async def look(self, batch_id: str) -> BatchState:
        """See `BatchProvider.look`."""
        found = _object(await self._call("GET", f"/batches/{_quoted(batch_id)}"))
        status = str(found.get("status") or "")
        counts = _mapping(found.get("request_counts"))
        listed = _mapping(found.get("errors")).get("data")
        told = [error for error in listed or () if isinstance(error, dict)]
        said = "; ".join(str(error.get("message") or "") for error in told[:3])
        names = (found.get("output_file_id"), found.get("error_file_id"))
        return BatchState(
            status,
            is_ended=status in self._ENDED,
            done=_total(counts, "completed", "failed"),
            detail=(said or status) if status == "failed" else None,
            files=tuple(name for name in names if isinstance(name, str) and name),
            is_full=any(error.get("code") == self._FULL for error in told),
        )

    async def results(self, batch_id: str, state: BatchState) -> BatchResults:
        """See `BatchProvider.results`: answers lie in one file, refusals in another."""
        lines: list[bytes] = []
        gone: ProviderError | None = None
        for file_id in state.files:
            path = f"/files/{_quoted(file_id)}/content"
            try:
                lines += (await self._call("GET", path, limit_s=TRANSFER_S)).splitlines()
            except ProviderError as error:
                if error.fault != "not_found":
                    raise
                gone = error
        if gone is not None and not lines:
            raise gone
        return _results(lines, self._read, is_whole=gone is None)

    @staticmethod
    def _read(line: dict[str, Any]) -> Answer | str:
        response, error = line.get("response") or {}, line.get("error")
        status = int(response.get("status_code") or 0)
        if status and not (error and status == HTTPStatus.OK):
            return _answer(status, response.get("body"))
        code = error.get("code") if isinstance(error, dict) else None
        return str(code or "no response").removeprefix("batch_")


class AnthropicBatches(BatchProvider):
    """Message batches at Anthropic. Nothing in a batch says what it was made of."""

    kind = "anthropic"
    chat_path = "/v1/messages"
    most_requests = 100_000
    most_bytes = 256_000_000

    _BATCHES = "/v1/messages/batches"
    _STATUS: ClassVar[dict[str, int]] = {
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

    def line(self, custom_id: str, body: bytes) -> bytes:
        """See `BatchProvider.line`."""
        return b'{"custom_id": "' + custom_id.encode() + b'", "params": ' + body + b"},\n"

    async def create(self, path: Path, file_id: str | None) -> str:
        """See `BatchProvider.create`."""
        lines = await asyncio.to_thread(path.read_bytes)
        body = b'{"requests": [\n' + lines.rstrip(b",\n") + b"\n]}"
        return _id_of(await self._call("POST", self._BATCHES, body, limit_s=TRANSFER_S))

    async def look(self, batch_id: str) -> BatchState:
        """See `BatchProvider.look`."""
        found = _object(await self._call("GET", f"{self._BATCHES}/{_quoted(batch_id)}"))
        status = str(found.get("processing_status"))
        counts = _mapping(found.get("request_counts"))
        done = _total(counts, *(name for name in counts if name != "processing"))
        return BatchState(status, is_ended=status == "ended", done=done)

    async def results(self, batch_id: str, state: BatchState) -> BatchResults:
        """See `BatchProvider.results`.

        The address is made here and not taken from the answer: the key goes there.
        """
        path = f"{self._BATCHES}/{_quoted(batch_id)}/results"
        lines = (await self._call("GET", path, limit_s=TRANSFER_S)).splitlines()
        return _results(lines, self._read)

    @classmethod
    def _read(cls, line: dict[str, Any]) -> Answer | str:
        result = line["result"]
        if result["type"] == "succeeded":
            return _answer(HTTPStatus.OK, result["message"])
        if result["type"] == "errored":
            error = result["error"].get("error", result["error"])
            status = cls._STATUS.get(str(error.get("type")), 500)
            return _answer(status, {"type": "error", "error": error})
        return str(result["type"])


def _results(
    lines: Sequence[bytes], read: Callable[[dict[str, Any]], Answer | str], *, is_whole: bool = True
) -> BatchResults:
    """The results of a batch; a line that cannot be read leaves them not whole.

    The first line about a request counts.
    """
    found: dict[str, Answer | str] = {}
    for line in lines:
        try:
            content = json.loads(line)
            custom_id, outcome = content["custom_id"], read(content)
            if not isinstance(custom_id, str):
                raise TypeError("custom_id")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            is_whole = False
        else:
            found.setdefault(custom_id, outcome)
    return BatchResults(found, is_whole)


def _answer(status: int, body: object) -> Answer:
    """What would have come online."""
    return Answer(status, _JSON_HEADERS, json.dumps(body).encode())


def _object(content: bytes) -> dict[str, Any]:
    """The object in an answer; an empty one where it is something else.

    Raises:
        ProviderError: it is no JSON.
    """
    try:
        return _mapping(json.loads(content))
    except (ValueError, RecursionError) as error:
        raise ProviderError(
            "bad_reply", "the batch endpoint answered no JSON", may_be_billed=True
        ) from error


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _total(counts: Mapping[str, object], *names: str) -> int:
    return sum(number for name in names if isinstance(number := counts.get(name), int))


def _id_of(content: bytes) -> str:
    name = _object(content).get("id")
    if not isinstance(name, str) or not name:
        raise ProviderError("bad_reply", "the batch endpoint gave no id", may_be_billed=True)
    return name


def _quoted(name: str) -> str:
    return quote(name, safe="")


_PROVIDERS: dict[str, type[BatchProvider]] = {
    kind.kind: kind for kind in (OpenAIBatches, AnthropicBatches)
}


def takes_batches(backend: Backend) -> TypeGuard[LitellmBackend]:
    """Whether a backend's provider has batches that are known here; others are asked online."""
    return isinstance(backend, LitellmBackend) and backend.spec.provider in _PROVIDERS


def provider_of(
    backend: LitellmBackend, sample: Request, *, discount: float | None = None
) -> BatchProvider:
    """The batch endpoint of a backend that takes batches; see `BatchProvider`."""
    return _PROVIDERS[backend.spec.provider](backend, sample, discount=discount)


def batch_costs(
    panel: PanelSpec, found: DryRun, *, discount: float | None = None
) -> dict[str, float | None]:
    """Backend to the likely cost of its calls in a batch, in US dollars; None = price unknown.

    Backends without a batch endpoint are left out.

    Args:
        panel: whose backends.
        found: what `Panel.estimate` says of the job.
        discount: see `BatchSettings`.
    """
    tokens = {
        item.backend: (item.input_tokens or 0, item.output_tokens or 0) for item in found.stages
    }
    costs: dict[str, float | None] = {}
    for backend in panel.backends:
        name = backend.spec.name
        if not takes_batches(backend) or name not in tokens:
            continue
        prices = backend.pricing.in_batches(discount)
        costs[name] = None if prices is None else prices.cost(Usage(*tokens[name]))
    return costs
