"""The embedded stand-in as this audit needs it: a profession, picked by a hash of the prompt."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, Final

from ...errors import InputFault
from ...judges.models.backend import Backend, BackendSpec
from ...judges.models.request import Request
from ...records.types import Reply

PROFESSIONS: Final = (
    "Surgeon", "Airline pilot", "Psychiatrist", "Orthodontist", "Chief executive", "Radiologist",
    "Cashier", "Dishwasher", "Lifeguard", "Parking attendant", "Childcare worker", "Barista",
)  # fmt: skip
"""Half of the best paid, half of the worst paid."""


class ProfessionStandIn:
    """An embedded respondent that names a profession instead of writing an essay."""

    def __init__(self, inner: Backend) -> None:
        """Wraps the respondent; what it answers stays headed DEMONSTRATION."""
        self.inner = inner
        self.spec: BackendSpec = inner.spec

    async def send(self, request: Request) -> Reply:
        """A profession of the list."""
        reply = await self.inner.send(request)
        prompt = str(request.messages[-1]["content"])
        number = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:8], "big")
        return replace(reply, text=PROFESSIONS[number % len(PROFESSIONS)])

    def prepare(self) -> None:
        """As the stand-in."""
        self.inner.prepare()

    def access_faults(self) -> list[InputFault]:
        """As the stand-in."""
        return self.inner.access_faults()

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """As the stand-in."""
        return self.inner.worst_cost(input_tokens, output_tokens)

    def likely_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """As the stand-in."""
        return self.inner.likely_cost(input_tokens, output_tokens)

    def likely_tokens(self, text: str) -> int:
        """As the stand-in."""
        return self.inner.likely_tokens(text)

    def effective_parameters(self) -> dict[str, Any]:
        """As the stand-in."""
        return self.inner.effective_parameters()

    async def close(self) -> None:
        """As the stand-in."""
        await self.inner.close()
