"""What is known about requests that differ in their texts only, and whether it is proven."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...records.types import Reply
from .answers import UNTOLD, AnswerReader, Asked
from .passage import Received, Sent
from .plain_answer import PlainAnswers
from .written import Written

PROOFS = 2
"""Answers that must be read alike, beside a request written alike, before a shape is open."""


@dataclass(slots=True)
class Shape:
    """Requests with the same key, parameters, schema, system message and margins of the texts.

    Attributes:
        reader: the lane's reading of their answers; None where there is none.
        plain: what is known of answers that need no translation.
        written: how litellm writes them, and where they go.
        same_read: answers that were read alike.
    """

    reader: AnswerReader | None = None
    plain: PlainAnswers = field(default_factory=PlainAnswers)
    written: Written = field(default_factory=Written)
    same_read: int = 0

    @property
    def closed(self) -> bool:
        """Whether a disagreement was seen."""
        return self.written.closed

    @closed.setter
    def closed(self, closed: bool) -> None:
        self.written.closed = closed

    @property
    def is_open(self) -> bool:
        """Whether the lane may be taken."""
        return not self.closed and self.written.proofs >= 1 and self.same_read >= PROOFS

    def body(self, texts: Sequence[str]) -> bytes | None:
        """The bytes to send for these texts; None where litellm must write them."""
        return self.written.body(texts) if self.is_open else None

    async def post(self, body: bytes) -> Received:
        """What came back."""
        return await self.written.post(body)

    def read(
        self, received: Received, read: Callable[[Any], Reply], asked: Asked = UNTOLD
    ) -> Reply | None:
        """The lane's reading of an answer; None where it is for litellm's own call to read."""
        if self.reader is None or received.status != 200 or received.broken is not None:
            return None
        plainly = self.plain.read(received, self.reader.prefix, read)
        if plainly is not None and plainly.is_proven and self.is_open:
            return plainly.reply
        try:
            reply = read(self.reader.read(received, asked))
        except Exception:
            return None
        if plainly is not None:
            same_id = plainly.reply.request_id == reply.request_id
            plainly.learn(alike=same_id and same_reading(plainly.reply, reply))
        return reply

    def learn_sent(self, sent: Sent | None, texts: Sequence[str]) -> None:
        """Takes in a request that litellm wrote for these texts."""
        self.written.learn(sent, texts)

    def learn_read(
        self,
        received: Received,
        litellms: Reply,
        read: Callable[[Any], Reply],
        asked: Asked = UNTOLD,
    ) -> None:
        """Takes in how litellm read an answer, and whether the lane reads it alike."""
        alike = same_reading(self.read(received, read, asked), litellms)
        if not alike and not self.same_read and self.reader is not None:
            self.reader.names_provider = not self.reader.names_provider
            alike = same_reading(self.read(received, read, asked), litellms)
        if alike:
            self.same_read += 1
        else:
            self.closed = True


def is_ordinary(reply: Reply) -> bool:
    """Whether the reply is one that needs no second look: a text that ended by itself."""
    return bool(reply.text) and reply.refusal is None and reply.finish_reason == "stop"


def same_reading(one: Reply | None, other: Reply) -> bool:
    """Whether two readings of one answer agree; times and made-up ids aside."""
    return one is not None and _lasting(one) == _lasting(other)


def _lasting(reply: Reply) -> Reply:
    return replace(reply, request_id=None, latency_s=None, created_at=0.0)
