"""Whether a run by a rule can be decided by what the ledger holds already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..graphs.state import Sitting
from ..judges.models.client import Desk
from ..records.readers.responses import ResponseRow
from ..scoring import matter_of, sit

if TYPE_CHECKING:
    from ..panel import Panel


async def is_decided(panel: Panel, rows: Iterable[ResponseRow]) -> bool:
    """Whether the rule comes to its end on every response without a further call.

    Whom the rule asks next depends on the replies before, so the panel sits on every response
    before a desk that sends nothing.
    """
    desk = Desk(panel.ledger)
    desk.stop()
    for row in rows:
        verdict = await sit(Sitting(matter_of(row), panel.bench, desk))
        if any(judgment.reason == "interrupted" for judgment in verdict.judgments):
            return False
    return True
