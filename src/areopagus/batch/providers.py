"""The `BatchProvider` protocol (a file of requests up, one of results down), and batch prices."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ..errors import ProviderError
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.pricing import TokenPrices
from ..records.types import Usage

if TYPE_CHECKING:
    from ..experiment.dry_run import Estimate
    from ..graphs.panel_spec import PanelSpec
    from ..judges.models.backend import Backend
    from ..judges.models.request import Request
    from ..judges.models.transport import Answer

CALL_S = 120.0
TRANSFER_S = 1800.0
"""Seconds for a call that carries requests or results."""
MOST_BYTES = 2_000_000_000
"""Of the results of a batch."""


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
class LineResult:
    """What became of one request.

    Attributes:
        custom_id: whose it is.
        received: the answer as it would have come online; None where there is none.
        problem: why there is none: "expired", "cancelled", or the provider's code.
    """

    custom_id: str
    received: Answer | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class BatchResults:
    """What became of the requests of a batch that has ended.

    Attributes:
        lines: in no order, and not of all requests.
        is_whole: whether all that the provider had was fetched and read. Where it was not, a
            request without a line may have been answered, and paid.
    """

    lines: Sequence[LineResult] = ()
    is_whole: bool = True


def results_of(lines: Iterable[LineResult | None], *, is_whole: bool = True) -> BatchResults:
    """The results of a batch, without the lines that could not be read (None)."""
    found = list(lines)
    kept = [line for line in found if line is not None]
    return BatchResults(kept, is_whole and len(kept) == len(found))


class BatchProvider(Protocol):
    """Batches of one backend."""

    kind: ProviderKind
    most_requests: int
    most_bytes: int

    def line(self, custom_id: str, body: bytes) -> bytes:
        """A request as it stands in the file, with what separates it from the next."""
        ...

    async def upload(self, path: Path) -> str | None:
        """Hands the file over; nothing is asked yet. Its id; None where there is no such step.

        Raises:
            ProviderError: it was not taken.
        """
        ...

    async def create(self, path: Path, file_id: str | None) -> str:
        """Has the requests asked; the id of the batch.

        Raises:
            ProviderError: there is no batch, or nobody knows whether there is one
                (`may_be_billed`).
        """
        ...

    async def find(self, file_id: str | None, *, since: datetime) -> tuple[bool, str | None]:
        """Whether it can be told if a batch was made of this file, and the id of that batch.

        Args:
            file_id: of the file.
            since: by this machine's clock, no batch was made of it before.

        Raises:
            ProviderError: the provider could not be asked.
        """
        ...

    async def look(self, batch_id: str) -> BatchState:
        """How far a batch is.

        Raises:
            ProviderError: the provider could not be asked, or knows of no such batch.
        """
        ...

    async def results(self, batch_id: str, state: BatchState) -> BatchResults:
        """What became of the requests of a batch that has ended.

        Raises:
            ProviderError: they could not be fetched; `not_found` where none of them is left.
        """
        ...


def provider_kind(backend: Backend) -> ProviderKind | None:
    """How a backend takes batches; None where it has to be asked online."""
    if not isinstance(backend, LitellmBackend):
        return None
    if backend.spec.provider == "openai":
        return "openai"
    if backend.spec.provider == "anthropic":
        return "anthropic"
    return None


class EndpointCalls:
    """Calls to addresses beside the one at which a model is asked, with the same key and headers.

    Redirects are not followed, and an address in an answer is never called.
    """

    def __init__(self, backend: LitellmBackend, sample: Request, *, chat_path: str) -> None:
        """Takes what it needs to know an address.

        Args:
            backend: whose.
            sample: any request to the backend; address and headers are taken from it.
            chat_path: the end of the address at which it asks; what comes before is kept.

        Raises:
            ProviderError: it is asked at another address.
        """
        self._secrets = backend.secrets
        url, headers, _ = backend.translate_request(sample)
        address = url.partition("?")[0]
        if not address.endswith(chat_path):
            raise ProviderError("bad_request", "this model is not asked at an address for batches")
        self._base = address.removesuffix(chat_path)
        self._headers = headers

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        limit_s: float = CALL_S,
    ) -> bytes:
        """The body of the answer.

        Args:
            method: of HTTP.
            path: beside that of the chat.
            body: bytes, or a form of aiohttp's.
            headers: in place of those of a chat; a None leaves them.
            limit_s: seconds for all of it.

        Raises:
            ProviderError: there is none, or no success.
        """
        from ..judges.models.provider_errors import classify
        from ..judges.models.transport import HttpError, RedirectedError, post

        try:
            async with asyncio.timeout(limit_s):
                answer = await post(
                    self._base + path,
                    self._headers if headers is None else headers,
                    body,
                    method=method,
                    most_bytes=MOST_BYTES,
                )
            if answer.status_code != HTTPStatus.OK:
                raise HttpError(answer)
        except TimeoutError as error:
            raise ProviderError(
                "timeout", f"no answer within {limit_s:g} s", may_be_billed=True
            ) from error
        except RedirectedError as error:
            # No "not_found": that would say that there is no such batch, and buy another one.
            raise ProviderError(
                "bad_request", "the address redirects, which is not followed"
            ) from error
        except Exception as error:
            raise classify(error, secrets=self._secrets()) from error
        return answer.content

    def without_body(self) -> dict[str, str]:
        """The headers of a call whose body is none of JSON."""
        return {name: v for name, v in self._headers.items() if name.lower() != "content-type"}


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


def batch_prices(backend: Backend, *, discount: float | None) -> TokenPrices | None:
    """The batch prices of a backend; None where nobody says what they are: unknown is not 0.

    Args:
        backend: whose.
        discount: share taken off the usual price, as the user states it; goes before the list.
    """
    if not isinstance(backend, LitellmBackend):
        return None
    return backend.pricing.in_batches(discount)


def batch_costs(
    panel: PanelSpec, found: Estimate, *, discount: float | None = None
) -> dict[str, float | None]:
    """Backend to the likely cost of its calls in a batch, in US dollars; None = price unknown.

    Backends without a batch endpoint are left out.

    Args:
        panel: whose backends.
        found: what `Panel.estimate` says of the job.
        discount: see `BatchSettings`.
    """
    tokens = {item.name: (item.input_tokens, item.output_tokens) for item in found.backends}
    costs: dict[str, float | None] = {}
    for backend in panel.backends:
        name = backend.spec.name
        if provider_kind(backend) is None or name not in tokens:
            continue
        prices = batch_prices(backend, discount=discount)
        costs[name] = None if prices is None else prices.cost(Usage(*tokens[name]))
    return costs
