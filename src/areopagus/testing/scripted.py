"""A backend without any server: what it answers is written in the test."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import InputFault, ProviderError
from ..judges.models.backend import BackendSpec
from ..judges.models.request import Request
from ..records.types import Reply, Usage

ScriptedAnswer = str | Mapping[str, Any] | Reply | ProviderError
"""Reply text, an object to be written as JSON, a whole reply, or a fault to be raised."""


class ScriptedBackend:
    """Hand it to `Panel(models=[…])`: it takes the road of every backend, ledger and limits too.

    Attributes:
        requests: every request that was sent, in order.
    """

    def __init__(
        self,
        answer: ScriptedAnswer | Sequence[ScriptedAnswer] | Callable[[Request], ScriptedAnswer],
        *,
        name: str = "scripted/judge",
        cost_usd: float | None = 0.0,
        **settings: Any,
    ) -> None:
        """Sets the answers.

        Args:
            answer: one answer for every request, a sequence of which the last one repeats, or a
                function of the request.
            name: the backend's name, as provider/model.
            cost_usd: what a call costs; None = unknown.
            settings: further fields of `BackendSpec`.
        """
        self.spec = BackendSpec(model=name, **{"structured": "json_schema", **settings})
        self.requests: list[Request] = []
        self._answer = answer
        self._cost_usd = cost_usd

    async def send(self, request: Request) -> Reply:
        """The next answer; see `Backend.send`."""
        self.requests.append(request)
        answer = self._next(request)
        if isinstance(answer, ProviderError):
            raise answer
        if isinstance(answer, Reply):
            return answer
        text = answer if isinstance(answer, str) else json.dumps(dict(answer))
        size = sum(len(message["content"]) for message in request.messages)
        return Reply(
            text=text,
            finish_reason="stop",
            answered_by=self.spec.model,
            usage=Usage(input_tokens=size // 4, output_tokens=len(text) // 4),
            cost_usd=self._cost_usd,
            created_at=time.time(),
        )

    def prepare(self) -> None:
        """Nothing to check."""

    def access_faults(self) -> list[InputFault]:
        """None."""
        return []

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """The cost of a call, whatever its size."""
        return self._cost_usd

    def likely_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """The cost of a call, whatever its size."""
        return self._cost_usd

    def likely_tokens(self, text: str) -> int:
        """One for four characters."""
        return -(-len(text) // 4)

    def effective_parameters(self) -> dict[str, Any]:
        """The parameters as set."""
        return self.spec.parameters()

    async def close(self) -> None:
        """Nothing to close."""

    def _next(self, request: Request) -> ScriptedAnswer:
        answer = self._answer
        if callable(answer):
            return answer(request)
        if isinstance(answer, Sequence) and not isinstance(answer, str):
            return answer[min(len(self.requests), len(answer)) - 1]
        return answer
