"""Requests as litellm writes them, and answers as litellm reads them, without sending anything.

Both ends are litellm's own call. On the way out its request is caught at the transport; on the way
back the answer of a batch is handed to it as if it had come over the wire. So a line of a batch is
byte for byte what the same request would be online, and its answer has the same one reading.

litellm takes some milliseconds for either. Where requests differ in their texts only, the bytes
around the texts are kept and filled (see `judges.wire`), once litellm has written others of the
kind exactly so; and every now and then it is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import ProviderError
from ..judges.models.credentials import without_secrets
from ..judges.models.litellm_backend import LitellmBackend
from ..judges.models.litellm_setup import litellm_module
from ..judges.models.provider_errors import classify
from ..judges.models.reply import reply_of
from ..judges.models.request import Request
from ..judges.wire import Received, Sent, Shape, Written, is_ordinary, passing
from ..judges.wire.answers import AnswerReader
from ..judges.wire.shape import PROOFS
from ..judges.wire.template import margins
from ..records.types import Reply, Usage

CHECKED_EVERY = 500
"""Of requests that are filled in, litellm writes every so many itself, to be compared."""
_NOT_SHAPE = frozenset({"model", "messages", "timeout", "max_retries", "api_base", "api_key"})


class _CaughtError(Exception):
    """Ends litellm's call once its request has been seen."""


def arguments_of(backend: LitellmBackend, request: Request) -> dict[str, Any]:
    """What `litellm.acompletion` would be called with online.

    Raises:
        ProviderError: the variable that holds the key is not set.
    """
    return backend.arguments(request)


class RequestWriter:
    """Bodies of one backend's requests.

    Attributes:
        sent: the newest request that litellm wrote: its address and its headers, keys among them.
        by_litellm, filled: bodies that litellm wrote, and that were put together from one of those.
    """

    def __init__(self, backend: LitellmBackend) -> None:
        self.sent: Sent | None = None
        self.by_litellm = self.filled = 0
        self._backend = backend
        self._patterns: dict[tuple[Any, ...], _Pattern] = {}

    async def body(self, request: Request) -> bytes:
        """The exact bytes that litellm would send for this request.

        Raises:
            ProviderError: litellm refuses the request, or sends it in no way that can be watched.
        """
        arguments = arguments_of(self._backend, request)
        texts = _texts(arguments["messages"][-1]["content"])
        pattern = self._patterns.setdefault(_kind(arguments, texts), _Pattern())
        body = pattern.fill(texts)
        if body is not None:
            self.filled += 1
            return body
        self.by_litellm += 1
        sent = await self._caught(arguments)
        self.sent = sent
        pattern.learn(sent, texts)
        return sent.body

    async def _caught(self, arguments: Mapping[str, Any]) -> Sent:
        with passing(Received(0, (), b"", _CaughtError("not sent"))) as passage:
            try:
                await litellm_module().acompletion(**arguments)
            except Exception as error:
                if passage.sent is not None:
                    return passage.sent
                raise classify(error, secrets=self._backend.secrets()) from error
        if passage.sent is not None:
            return passage.sent
        raise ProviderError("internal", "litellm's request for this model could not be seen")


class _Pattern:
    """Requests that differ in their texts only, seen again from time to time."""

    def __init__(self) -> None:
        self.written = Written()
        self.since_check = 0

    def fill(self, texts: Sequence[str]) -> bytes | None:
        if self.written.proofs < PROOFS:
            return None
        self.since_check += 1
        return self.written.body(texts) if self.since_check < CHECKED_EVERY else None

    def learn(self, sent: Sent, texts: Sequence[str]) -> None:
        self.since_check = 0
        self.written.learn(sent, texts)


class AnswerDesk:
    """Replies of one backend, read from what a batch brought."""

    def __init__(self, backend: LitellmBackend, cost: Callable[[Usage], float | None]) -> None:
        self._backend = backend
        self._cost = cost
        self._shapes: dict[str, Shape] = {}

    async def reply(self, request: Request, received: Received) -> Reply:
        """The reply to this request.

        Raises:
            ProviderError: the answer is an error, or none in the provider's form.
        """
        arguments = arguments_of(self._backend, request)
        shape = self._shape(arguments)
        if not shape.closed and shape.same_read >= PROOFS:
            quick = shape.read(received, self._read)
            if quick is not None and is_ordinary(quick):
                return quick
        try:
            with passing(received):
                reply = self._read(await litellm_module().acompletion(**arguments))
        except Exception as error:
            raise classify(error, secrets=self._backend.secrets()) from error
        if is_ordinary(reply) and not shape.closed:
            shape.learn_read(received, reply, self._read)
        return reply

    def _read(self, answer: Any) -> Reply:
        reply = reply_of(answer, cost_of=self._cost)
        return without_secrets(reply, self._backend.secrets())

    def _shape(self, arguments: Mapping[str, Any]) -> Shape:
        parameters = {k: v for k, v in arguments.items() if k not in _NOT_SHAPE}
        kind = json.dumps(parameters, sort_keys=True)
        if kind not in self._shapes:
            spec = self._backend.spec
            try:
                reader = AnswerReader(litellm_module(), spec.model, spec.api_base, parameters)
            except Exception:
                reader = None  # litellm's own call reads them all
            self._shapes[kind] = Shape(reader, written=Written(closed=reader is None))
        return self._shapes[kind]


def _kind(arguments: Mapping[str, Any], texts: Sequence[str]) -> tuple[Any, ...]:
    """All of a call but the texts of its last message, and the margins of those."""
    messages = arguments["messages"]
    last = messages[-1]
    parameters = {k: v for k, v in arguments.items() if k not in _NOT_SHAPE}
    return (
        json.dumps(messages[:-1]),
        last["role"],
        _outline(last["content"], texts),
        *map(margins, texts),
        json.dumps(parameters, sort_keys=True),
    )


def _outline(content: Any, texts: Sequence[str]) -> str:
    if any(not text or text.isspace() for text in texts):
        return json.dumps(content)  # translations have their own ways with empty texts
    if isinstance(content, str):
        return ""
    return json.dumps([{**block, "text": ""} for block in content])


def _texts(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else [block["text"] for block in content]
