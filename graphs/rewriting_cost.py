"""The most that rewriting a prompt and having it reviewed can send and cost."""

from __future__ import annotations

from dataclasses import replace

from ..judges.models.backend import Backend
from ..judges.models.client import REPAIR_OUTPUT_FACTOR, worst_usd
from ..judges.models.request import Request
from .rewriting_brief import ECHO_CHARACTERS, REPAIR_SENTENCES

MOST_WRITING_CALLS = 2
"""The first set of variants, and one repair."""

MOST_REVIEW_CALLS = 4
"""A review before the repair and one after it, each asked once more where its form cannot be
read."""

_UTF8_BYTES = 4
_FAULT_LINES = sum(map(len, REPAIR_SENTENCES.values()))


def most_writing_usd(
    backend: Backend, request: Request, *, framings: int, is_first_paid: bool = False
) -> float | None:
    """US dollars if the set has to be repaired; None where the price is unknown.

    Args:
        backend: the rewriter.
        request: the first call.
        framings: how many are written.
        is_first_paid: whether the first reply is in the ledger.
    """
    repair = worst_usd(backend, _longer(request, (framings + 1) * _FAULT_LINES))
    first = 0.0 if is_first_paid else worst_usd(backend, request)
    return None if first is None or repair is None else first + repair


def most_review_usd(backend: Backend, request: Request) -> float | None:
    """US dollars if the variants are reviewed twice and no review can be read at first.

    Args:
        backend: the reviewer.
        request: a call that shows all variants.
    """
    first, again = worst_usd(backend, request), worst_usd(backend, _longer(request, 0))
    return None if first is None or again is None else 2 * (first + again)


def _longer(request: Request, lines: int) -> Request:
    """The request with the echo of a reply and what is said of it, and room for a longer one."""
    added = _UTF8_BYTES * ECHO_CHARACTERS + lines + len(str(request.schema)) + 1_000
    return replace(
        request,
        messages=(*request.messages, {"role": "user", "content": "x" * added}),
        params={
            **request.params,
            "max_tokens": REPAIR_OUTPUT_FACTOR * int(request.params.get("max_tokens") or 0),
        },
    )
