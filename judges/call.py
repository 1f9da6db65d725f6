"""One call on its way, and what it may cost."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ProviderError
from .backend import Backend
from .budget import Purse
from .request import Request

if TYPE_CHECKING:
    from tenacity import RetryCallState

    from ..records.ledger import Intent
    from .account import UnitPrices

# Spreads retries; no result depends on it.
_jitter = random.Random()  # noqa: S311 - nothing secret
_BACKOFF_FIRST_S = 0.5
_BACKOFF_MOST_S = 30.0
RETRY_AFTER_MOST_S = 60.0
_ENVELOPE_TOKENS = 600
"""Tokens that a provider may add around the texts: roles, tool wrappers, schema preambles."""
_USUAL_OUTPUT_TOKENS = 120
REPAIR_BYTES = 6_000
"""Most bytes that the one repair ask adds: the echo of the unreadable reply and the request."""
REPAIR_OUTPUT_FACTOR = 2
"""A repair of a reply that was cut off may use this many times the tokens."""


@dataclass(slots=True)
class Call:
    """One call on its way: what is asked, and what has happened to it so far."""

    backend: Backend
    request: Request
    key: str
    purse: Purse
    intent: Intent | None = None
    attempts: int = 0
    hard_failures: int = 0
    may_be_billed: bool = False
    is_sending: bool = False
    is_paid: bool = False
    last_error: ProviderError | None = None
    likely_tokens: float = 0.0
    worst_usd: float | None = None
    reserve_usd: float | None = None

    def __post_init__(self) -> None:
        size = self.request.size_bytes()
        self.likely_tokens = size / 4 + _USUAL_OUTPUT_TOKENS
        self.worst_usd = worst_usd(self.backend, self.request)
        self.reserve_usd = _with_repair(self.worst_usd, self.backend, self.request)

    @property
    def unit_prices(self) -> UnitPrices | None:
        """What a token of each kind costs, where the cost of a reply is a sum of that."""
        found: UnitPrices | None = getattr(self.backend, "unit_prices", None)
        return found

    def gives_up(self, state: RetryCallState) -> bool:
        """Rate limits are waited out for as long as the settings say; other faults are counted."""
        error = state.outcome.exception() if state.outcome else None
        rate_limited = isinstance(error, ProviderError) and error.fault == "rate_limit"
        if not rate_limited:
            self.hard_failures += 1
        spec = self.backend.spec
        # Only the pauses count: time spent in the queue of a slow backend is nobody's fault.
        paused = state.idle_for + state.upcoming_sleep
        return self.hard_failures >= spec.max_attempts or paused > spec.max_wait_s

    def waits(self, state: RetryCallState) -> float:
        """What the endpoint asked for, or exponential growth; with jitter either way."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_s if isinstance(error, ProviderError) else None
        if asked:  # "0" is no advice: asking again at once would meet the same limit
            return min(asked, RETRY_AFTER_MOST_S) + _jitter.uniform(0.0, 0.25)
        ceiling = min(_BACKOFF_MOST_S, _BACKOFF_FIRST_S * 2 ** (state.attempt_number - 1))
        return _jitter.uniform(ceiling / 2, ceiling)


def worst_usd(backend: Backend, request: Request) -> float | None:
    """The most that one attempt can cost, in US dollars; None where the price is unknown.

    No tokenizer makes more tokens of a text than it has bytes.
    """
    most_output = int(request.params.get("max_tokens") or 0)
    return backend.worst_cost(request.size_bytes() + _ENVELOPE_TOKENS, most_output)


def reserve_usd(backend: Backend, request: Request) -> float | None:
    """What is set aside before a request is sent: its worst case, and that of its repair."""
    return _with_repair(worst_usd(backend, request), backend, request)


def _with_repair(first: float | None, backend: Backend, request: Request) -> float | None:
    if request.purpose != "judge" or first is None:
        return first
    most_output = int(request.params.get("max_tokens") or 0)
    repair = backend.worst_cost(
        request.size_bytes() + _ENVELOPE_TOKENS + REPAIR_BYTES, REPAIR_OUTPUT_FACTOR * most_output
    )
    return None if repair is None else first + repair
