"""Whether every backend can be asked at all, found out before anything is spent.

A rerun needs no endpoint for what the ledger holds: a backend whose key is missing or whose server
is down is an error only where a reply is still to be fetched from it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .errors import InputError, InputFault
from .graphs.screen import screen
from .judges.backend import Backend
from .judges.spec import LADDER, Rung
from .scoring import matter_of

if TYPE_CHECKING:
    from .panel import Panel
    from .records.responses import ResponseSource

CONNECT_SECONDS = 5.0


def prepare_all(backends: tuple[Backend, ...]) -> None:
    """Checks every backend's settings, and raises all that is wrong together.

    Raises:
        InputError: unknown providers, and parameters that a model does not take.
    """
    faults: list[InputFault] = []
    hint: str | None = None
    for backend in backends:
        try:
            backend.prepare()
        except InputError as error:
            faults.extend(error.faults)
            hint = hint or error.hint
    if faults:
        raise InputError(faults, hint=hint)


async def require_access(panel: Panel, source: ResponseSource, *, capped: bool) -> None:
    """Raises what keeps the panel's backends from being asked, unless nothing is left to ask.

    Raises:
        InputError: missing keys, unreachable addresses, and a cost cap without a price.
    """
    faults: list[InputFault] = []
    for backend in panel.backends:
        found = await access_faults(backend)
        if capped and backend.worst_cost(1, 1) is None:
            found.append(price_fault(backend))
        if found and not _all_paid(panel, source, backend):
            faults.extend(found)
    if faults:
        raise InputError(faults, hint="Nothing was sent and nothing was spent.")


async def access_faults(backend: Backend) -> list[InputFault]:
    """A missing key, and an address of the settings at which nobody answers."""
    found = list(backend.access_faults())
    unreachable = await _unreachable(backend.spec.api_base)
    if unreachable is not None:
        found.append(InputFault(backend.spec.name, unreachable))
    return found


def price_fault(backend: Backend) -> InputFault:
    """That a cost cap needs a price."""
    return InputFault(
        backend.spec.name,
        "has no known worst price, so a cost cap cannot be kept; give one under prices (input and "
        "output, US dollars per million tokens; a chat model's replies have no bound of ours) or "
        "leave --max-cost out",
    )


async def _unreachable(api_base: str | None) -> str | None:
    if api_base is None:
        return None
    parts = urlsplit(api_base)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except TimeoutError:
        return f"{api_base} did not answer within {CONNECT_SECONDS:g} s"
    except OSError as error:
        return f"{api_base} cannot be reached ({error.strerror or error})"
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return None


def _all_paid(panel: Panel, source: ResponseSource, backend: Backend) -> bool:
    judges = [judge for judge in panel.bench.judges.values() if judge.backend is backend]
    rung = known_rung(panel, backend)
    if rung is None:
        return False
    for row in source.rows():
        if screen(row.response_text, most_characters=panel.bench.most_characters).gate:
            continue
        keys = [
            judge.requests(
                panel.brief, matter_of(row), secret=panel.ledger.secret, repeat=repeat, rung=rung
            ).key()
            for judge in judges
            for repeat in range(panel.bench.repeats)
        ]
        if len(panel.ledger.lookup(keys)) < len(set(keys)):
            return False
    return True


def known_rung(panel: Panel, backend: Backend) -> Rung | None:
    """How the backend takes structured output, as set or as an earlier run learned it."""
    if backend.spec.structured != "auto":
        return backend.spec.structured
    learned = panel.ledger.capability(backend.spec.identity)
    return learned if learned in LADDER else None
