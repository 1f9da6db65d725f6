"""How litellm writes requests that differ in their texts only, as far as that is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .connection import Connection
from .passage import Received, Sent
from .template import Template, template_of


@dataclass(slots=True)
class Written:
    """Requests of one outline.

    Attributes:
        template: the bytes around the texts; None until a request was seen.
        connection: where they go.
        proofs: requests that were written as `body` would have written them.
        closed: whether one was written differently; then for good.
    """

    template: Template | None = None
    connection: Connection | None = None
    proofs: int = 0
    closed: bool = False

    @property
    def sent(self) -> Sent | None:
        """A request as litellm wrote it; None until one was seen."""
        return None if self.template is None else self.template.sent

    def body(self, texts: Sequence[str]) -> bytes | None:
        """The bytes to send for these texts; None where it is not known, or not what they are."""
        return None if self.closed or self.template is None else self.template.fill(texts)

    async def post(self, body: bytes) -> Received:
        """What came back."""
        if self.connection is None:
            raise RuntimeError("no request was seen yet")
        return await self.connection.post(body)

    def learn(self, sent: Sent | None, texts: Sequence[str]) -> None:
        """Takes in a request that litellm wrote for these texts."""
        if self.closed or sent is None:
            return
        known = self.template
        if known is None:
            self._show(sent, texts)
        elif known.writing == "either" and not all(map(str.isascii, texts)):
            self._show(sent, texts)
            self.closed |= self.template is None or not self.template.same_frame(known)
        elif known.fits(sent, texts):
            self.proofs += 1
        else:
            self.closed = True

    def _show(self, sent: Sent, texts: Sequence[str]) -> None:
        self.template = template_of(sent, texts)
        if self.template is not None:
            try:
                self.connection = Connection(sent)
            except (AttributeError, ImportError):  # a litellm whose transport is made differently
                self.closed = True
