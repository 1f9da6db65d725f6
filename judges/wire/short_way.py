"""Shorter ways from litellm's own call to the wire, and what is known about each.

Between what litellm has written and its pool of connections stands a client, OpenAI's library or
httpx, that takes as long as litellm's own work. What it makes of a request is soon known: the first
requests of a kind go through it and are watched, and once some came out byte for byte as foreseen
the next ones pass it by. Answers are handed on in the form that it gives them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

from .client_answer import FilledAnswers
from .connection import Connection
from .passage import Received, Sent
from .template import same_head
from .written import Written

PROOFS = 2
"""Requests that must come out as foreseen before the next ones pass their client by."""
_MOST_WAYS = 256

Given_contra = TypeVar("Given_contra", contravariant=True)
_Way = TypeVar("_Way")


class Way(Protocol[Given_contra]):
    """The way of requests of one kind, from what a client is given to what it gives back."""

    def body(self, given: Given_contra) -> bytes | None:
        """The bytes that the client would send; None where that is not proven."""

    async def post(self, body: bytes) -> Received:
        """What came back."""

    def sent(self, body: bytes) -> Sent:
        """The request that `post` sends."""

    def read(self, received: Received, seconds: float) -> Any:
        """What the client would give back; None where it is left to the client to say."""

    def learn(
        self, given: Given_contra, sent: Sent | None, received: Received | None, back: Any
    ) -> None:
        """Takes in what the client sent, what came, and what it gave back."""


@dataclass(slots=True)
class PostedBodies:
    """Bodies that litellm has written itself, given to httpx.

    Attributes:
        first: the first request seen; all others differ from it in their body alone.
        connection: where they go.
        request: the head alone of what httpx made of the first; an answer must name one.
        encoding: the last answer's content type, and how it says that texts are encoded.
        proofs: bodies that went out as they were given, by whether they were ASCII alone.
        closed: whether a request was another than foreseen.
    """

    first: Sent | None = None
    connection: Connection | None = None
    request: Any = None
    encoding: tuple[str | None, str] | None = None
    proofs: Counter[bool] = field(default_factory=Counter)
    closed: bool = False

    def body(self, given: bytes) -> bytes | None:
        """See `Way.body`."""
        if self.closed or self.connection is None or self.proofs[given.isascii()] < PROOFS:
            return None
        return given

    async def post(self, body: bytes) -> Received:
        """See `Way.post`."""
        if self.connection is None:
            raise RuntimeError("no request was seen yet")
        return await self.connection.post(body)

    def sent(self, body: bytes) -> Sent:
        """See `Way.sent`."""
        if self.first is None:
            raise RuntimeError("no request was seen yet")
        return replace(self.first, body=body)

    def read(self, received: Received, seconds: float) -> Any:
        """See `Way.read`."""
        if received.status != 200 or received.broken is not None:
            return None
        import httpx

        try:
            response = httpx.Response(
                200, headers=list(received.headers), content=received.body, request=self.request
            )
        except httpx.DecodingError:
            return None
        response.elapsed = timedelta(seconds=seconds)
        if all(name.lower() != b"content-length" for name, _ in received.headers):
            response.headers.pop("content-length", None)  # httpx counts where nobody has told it
        kind = response.headers.get("content-type")
        if self.encoding is None or self.encoding[0] != kind:
            self.encoding = kind, response.encoding or "utf-8"
        response.encoding = self.encoding[1]  # else httpx looks for it in the head once more
        return response

    def learn(self, given: bytes, sent: Sent | None, received: Received | None, back: Any) -> None:
        """See `Way.learn`."""
        if self.closed or sent is None or received is None:
            return
        if self.first is None:
            import httpx

            try:
                self.connection = Connection(sent)
            except (AttributeError, ImportError):  # a litellm whose transport is made differently
                self.closed = True
                return
            self.first = sent
            self.request = httpx.Request(sent.method, sent.url, headers=back.request.headers)
        if same_head(self.first, sent) and sent.body == given:
            self.proofs[given.isascii()] += 1
        else:
            self.closed = True


@dataclass(slots=True)
class AskedClient:
    """Questions that OpenAI's client writes, alike but for their texts."""

    written: Written = field(default_factory=Written)
    answers: FilledAnswers = field(default_factory=FilledAnswers)

    def body(self, given: Sequence[str]) -> bytes | None:
        """See `Way.body`."""
        return self.written.body(given) if self.written.proofs >= PROOFS else None

    async def post(self, body: bytes) -> Received:
        """See `Way.post`."""
        return await self.written.post(body)

    def sent(self, body: bytes) -> Sent:
        """See `Way.sent`."""
        if self.written.template is None:
            raise RuntimeError("no request was seen yet")
        return replace(self.written.template.sent, body=body)

    def read(self, received: Received, seconds: float) -> Any:
        """See `Way.read`."""
        if received.status != 200 or received.broken is not None:
            return None
        answer = self.answers.read(received)
        if answer is None:
            return None
        import httpx

        return dict(httpx.Headers(list(received.headers))), answer

    def learn(
        self, given: Sequence[str], sent: Sent | None, received: Received | None, back: Any
    ) -> None:
        """See `Way.learn`."""
        self.written.learn(sent, given)
        if received is not None:
            self.answers.learn(received, _taken_of(back[1]))


def _taken_of(answer: Any) -> Any:
    """What litellm takes of an answer of the client's."""
    try:
        from litellm.llms.openai.common_utils import model_dump_provider_response
    except ImportError:  # up to 1.106 everything, fields that the answer did not have among it
        return answer.model_dump()
    return model_dump_provider_response(answer)


class ShortWays:
    """The ways of one backend's requests, each known for as long as its client lives."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Any, dict[Hashable, Any]] = WeakKeyDictionary()

    def posted(self, client: Any, key: Hashable) -> PostedBodies:
        """The way of bodies with this client, address and head."""
        return self._way(client, ("posted", key), PostedBodies)

    def asked(self, client: Any, key: Hashable) -> AskedClient:
        """The way of questions with this client and outline."""
        return self._way(client, ("asked", key), AskedClient)

    def _way(self, client: Any, key: Hashable, new: Callable[[], _Way]) -> _Way:
        known = self._known.setdefault(client, {})
        way: _Way | None = known.get(key)
        if way is None:
            if len(known) >= _MOST_WAYS:
                del known[next(iter(known))]
            way = known[key] = new()
        return way
