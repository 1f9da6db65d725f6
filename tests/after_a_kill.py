"""What was served and what was stored when a process was killed, counted from outside of it."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from areopagus.testing import ProviderServer


def settled(server: ProviderServer) -> Counter[str]:
    """Model to the requests served, once what was on its way at a kill has arrived."""
    found: Counter[str] = Counter()
    while found != (found := Counter(server.counts.by_model)):
        time.sleep(0.2)
    return found


def stored(ledger: Path) -> Counter[str]:
    """Model to the replies that the ledger holds; nobody else has it open."""
    with closing(sqlite3.connect(ledger)) as opened:
        rows = opened.execute("SELECT backend, COUNT(*) FROM calls GROUP BY backend").fetchall()
    return Counter({str(name).removeprefix("openai/"): number for name, number in rows})


def stored_twice(ledger: Path) -> int:
    """Replies that came for a request which the ledger held already."""
    with closing(sqlite3.connect(ledger)) as opened:
        (found,) = opened.execute("SELECT SUM(duplicates) FROM calls").fetchone()
    return int(found)


def repeated(ledger: Path) -> tuple[int, int]:
    """Calls that a kill cut off and that were made again, and those that are still only noted."""
    with closing(sqlite3.connect(ledger)) as opened:
        ((again, noted),) = opened.execute(
            "SELECT sum(repeats), (SELECT count(*) FROM intents) FROM calls"
        )
    return int(again), int(noted)
