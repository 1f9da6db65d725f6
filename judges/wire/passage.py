"""What one call through litellm sends and receives, and the block within which that is known."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from .short_way import ShortWays


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it went to the wire.

    Attributes:
        transport: litellm's, which knows certificates, proxies and the pool of connections.
        method, url: as sent.
        headers: names and values in order, as sent; keys among them.
        body: the exact bytes.
    """

    transport: Any
    method: str
    url: str
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    body: bytes = field(repr=False)

    def carries(self, key: str) -> bool:
        """Whether a key stands in the address or the head, as it is."""
        wanted = key.encode(errors="replace")
        return key in self.url or any(wanted in value for _, value in self.headers)


@dataclass(frozen=True, slots=True)
class Received:
    """An answer as it came from the wire.

    Attributes:
        status, headers: 0 and none where nothing came.
        body: as it came, compressed or not; what had come when the connection broke.
        broken: why there is no whole answer; None where there is one.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...] = field(repr=False)
    body: bytes = field(repr=False)
    # An HTTP client's error may quote the request, and the key in its head.
    broken: BaseException | None = field(default=None, repr=False)

    @property
    def content(self) -> bytes:
        """The body, unpacked where it came compressed.

        Raises:
            httpx.DecodingError: it is not what its head says.
        """
        if all(name.lower() != b"content-encoding" for name, _ in self.headers):
            return self.body
        import httpx

        return httpx.Response(200, headers=list(self.headers), content=self.body).content


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """What tells the requests of those who are told of a call from the call's own.

    Attributes:
        origin: scheme, host and port of the endpoint.
        key: what its requests carry.
    """

    origin: tuple[str, str | None, int | None]
    key: str = field(repr=False)

    def is_bound_for(self, url: str, headers: Iterable[tuple[str, Any]]) -> bool:
        """Whether a request neither goes to the endpoint nor carries its key."""
        if origin_of(url) == self.origin or self.key in url:
            return False
        return not any(self.key in str(value) for _, value in headers)


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Scheme, host and port of an address."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


@dataclass(slots=True)
class Passage:
    """What one call through litellm sends and receives; known to the watch within its block.

    Attributes:
        replay: the answer that litellm is given instead of asking anybody; None once it has it.
        replay_to: a request that is given the replay only by the same head, and is sent where it
            has another one; None where any is given it.
        is_untold: whether litellm has nobody to tell of the call.
        ways: shorter ways to the wire that the call may take; None where it goes the whole one.
        elsewhere: what others send in the middle of the call; None where nobody is told of it, or
            theirs cannot be told from its own.
        sent: its one request; None as long as there is none.
        received: what came; None where nothing did, or more than is worth keeping.
        moved_to: the address that a redirect named, which is not followed.
        has_ended: whether the block is left; tasks that began in it may go on and tell others.
    """

    replay: Received | None = None
    replay_to: Sent | None = None
    is_untold: bool = False
    ways: ShortWays | None = None
    elsewhere: Elsewhere | None = None
    sent: Sent | None = None
    received: Received | None = None
    moved_to: str | None = None
    has_ended: bool = False
    _marks: list[tuple[ContextVar[Any], Token[Any]]] = field(default_factory=list)

    @property
    def is_mingled(self) -> bool:
        """Whether others may send in the middle of the call what cannot be told from its own."""
        return not self.is_untold and self.elsewhere is None

    def is_aside(self, url: str, headers: Iterable[tuple[str, Any]]) -> bool:
        """Whether a request is not the call's own, but that of somebody who is told of it."""
        return self.elsewhere is not None and self.elsewhere.is_bound_for(url, headers)

    def __enter__(self) -> Passage:
        self._marks.append((_passage, _passage.set(self)))
        internal = _internal_call() if self.is_untold else None
        if internal is not None:
            self._marks.append((internal, internal.set(True)))
        return self

    def __exit__(self, *_: object) -> None:
        self.has_ended = True
        while self._marks:
            variable, mark = self._marks.pop()
            variable.reset(mark)


_passage: ContextVar[Passage | None] = ContextVar("passage", default=None)


def current_passage() -> Passage | None:
    """That of the call under way; None where there is none."""
    passage = _passage.get()
    return None if passage is None or passage.has_ended else passage


def passing(
    replay: Received | None = None,
    *,
    replay_to: Sent | None = None,
    is_untold: bool = False,
    ways: ShortWays | None = None,
    elsewhere: Elsewhere | None = None,
) -> Passage:
    """A block in which litellm sends at most one request, or none where an answer is replayed."""
    return Passage(replay, replay_to, is_untold, ways, elsewhere)


@cache
def _internal_call() -> ContextVar[bool] | None:
    """Where litellm notes that a call is a step of its own, of which it tells nobody."""
    try:
        from litellm._internal_context import is_internal_call
    except ImportError:  # a litellm without it tells its empty lists
        return None
    mark: ContextVar[bool] = is_internal_call
    return mark
