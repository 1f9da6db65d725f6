"""What a run folder's sessions have paid, by kind: the part "cost" of every run.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from .judges.account import Account, Sums, saved

_USED = ("ledger", "repairs", "refused", "unreadable", "failed")


def cost_record(sessions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The cost over all sessions of a folder, and what the newest one worked with.

    Args:
        sessions: as run.json holds them. What each paid adds up. What it found in the ledger does
            not: a later session finds the same again, and what an earlier one paid.
    """
    accounts = [Account.from_json(one.get("replies") or {}) for one in sessions]
    online, batch = Sums(), Sums()
    for account in accounts:
        online, batch = online.plus(account.online), batch.plus(account.batch)
    newest: Mapping[str, Any] = (sessions[-1].get("replies") or {}) if sessions else {}
    return {
        "paid": {"online": asdict(online), "batch": asdict(batch)},
        "saved": saved(online, batch),
        "calls_without_reply": sum((one.get("calls") or {}).get("failed") or 0 for one in sessions),
        "possibly_spent_usd": sum(one.get("possibly_spent_usd") or 0.0 for one in sessions),
        "newest_session": {name: newest[name] for name in _USED if name in newest},
    }
