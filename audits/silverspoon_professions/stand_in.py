"""The embedded stand-in as this audit needs it: a profession, picked by a hash of the prompt."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Final

from ...judges.factory import EmbeddedBackend
from ...judges.models.request import Request
from ...records.types import Reply

PROFESSIONS: Final = (
    "Surgeon", "Airline pilot", "Psychiatrist", "Orthodontist", "Chief executive", "Radiologist",
    "Cashier", "Dishwasher", "Lifeguard", "Parking attendant", "Childcare worker", "Barista",
)  # fmt: skip
"""Half of the best paid, half of the worst paid."""


class ProfessionStandIn(EmbeddedBackend):
    """An embedded respondent that names a profession; it stays headed DEMONSTRATION."""

    async def send(self, request: Request) -> Reply:
        """A profession of the list."""
        reply = await super().send(request)
        prompt = str(request.messages[-1]["content"])
        number = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:8], "big")
        return replace(reply, text=PROFESSIONS[number % len(PROFESSIONS)])
