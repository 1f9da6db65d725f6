"""One backend's part in one stage of a job, as a dry run counts it."""

from __future__ import annotations

from dataclasses import dataclass

from ..estimate import plus
from ..judges.models.backend import Backend
from ..judges.models.client import reserve_usd
from ..judges.models.request import Request


@dataclass(slots=True)
class StageEstimate:
    """One backend's part in one stage; the fields are those of `BackendEstimate`.

    Attributes:
        stage, backend: whose part, in what.
        planned, stored: what is planned, and what of it is in the ledger.
        calls: calls to send when nothing has to be asked for anew.
        likely_usd, most_usd: their cost; the most includes every repair and second review.
        most_calls: calls with all of those.
    """

    stage: str
    backend: str
    planned: int = 0
    stored: int = 0
    calls: int = 0
    likely_usd: float | None = 0.0
    most_usd: float | None = 0.0
    most_calls: int = 0

    def add(self, backend: Backend, request: Request, *, output_tokens: float) -> None:
        """Counts one call to send, which is not asked for anew."""
        self.add_likely(backend, request, output_tokens=output_tokens)
        self.add_most(1, reserve_usd(backend, request))

    def add_likely(self, backend: Backend, request: Request, *, output_tokens: float) -> None:
        """Counts one call to send, without its worst case."""
        self.calls += 1
        text = "\n".join(message["content"] for message in request.messages)
        output = min(round(output_tokens), backend.spec.max_tokens)
        likely = backend.likely_cost(backend.likely_tokens(text), output)
        self.likely_usd = plus(self.likely_usd, likely)

    def add_most(self, calls: int, usd: float | None) -> None:
        """Counts the worst case: so many calls, at so much altogether."""
        self.most_calls += calls
        self.most_usd = plus(self.most_usd, usd)
