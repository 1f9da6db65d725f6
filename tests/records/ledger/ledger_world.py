"""What tests of the ledger share: keys, calls that are paid, and a look at the rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from areopagus.records.ledger import Ledger
from areopagus.records.ledger.ledger import open_store
from areopagus.records.types import Reply, Usage

Place = Path | str


def key(number: int) -> str:
    return f"{number:064x}"


def reply(text: str = "yes", **changes: Any) -> Reply:
    values: dict[str, Any] = {
        "finish_reason": "stop",
        "usage": Usage(input_tokens=100, output_tokens=5),
        "cost_usd": 0.01,
        "created_at": time.time(),
    }
    return Reply(text, **{**values, **changes})


async def pay(
    ledger: Ledger,
    number: int,
    paid: Reply | str = "yes",
    *,
    backend: str = "b",
    endpoint: str = "",
    **request: str,
) -> int:
    """How often the call had been made before."""
    pending = await ledger.begin(key(number), backend=backend)
    answer = reply(paid) if isinstance(paid, str) else paid
    await ledger.finish(
        pending,
        answer,
        purpose="judge",
        request=request or {"persona": "historian"},
        endpoint=endpoint,
    )
    return pending.repeats


def rows(place: Place, *statements: str, **values: Any) -> list[Any]:
    """What the last of some statements finds in the store of a ledger, opened once for all."""
    store = open_store(place, read_only=False)
    found: list[Any] = []
    try:
        for statement in statements:
            found = [tuple(row) for row in store.rows(statement, **values)]
        return found
    finally:
        store.close()
