"""What a backend is to the panel: something that sends one request and returns one reply."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ..errors import InputFault
from ..records.types import Reply
from .request import Request
from .spec import BackendSpec


@runtime_checkable
class Backend(Protocol):
    """One model behind one endpoint.

    `send` makes exactly one attempt; retries, limits, the ledger and the budget stand around it.
    """

    spec: BackendSpec

    async def send(self, request: Request) -> Reply:
        """The reply to one attempt.

        Raises:
            ProviderError: no reply came, whatever the reason.
        """
        ...

    def prepare(self) -> None:
        """Checks, without any network, that the settings are ones the model takes.

        Raises:
            InputError: an unknown provider, or a parameter that the model does not take.
        """
        ...

    def access_faults(self) -> list[InputFault]:
        """What would keep a call from being made at all, such as a missing key."""
        ...

    def worst_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """The most that a call with these token counts costs in US dollars; None = unknown."""
        ...

    def likely_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """What a call with these token counts usually costs, nothing cached; None = unknown."""
        ...

    def likely_tokens(self, text: str) -> int:
        """About how many tokens the text has for this model."""
        ...

    def effective_parameters(self) -> dict[str, Any]:
        """What the wire form of the requested parameters is, for the record."""
        ...

    async def close(self) -> None:
        """Releases connections."""
        ...
